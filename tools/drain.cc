#include "tools/drain.h"

#include <spdlog/fmt/fmt.h>

#include <utility>

#include "tools/client.h"

namespace vestq {
namespace {

int64_t Number(const redisReply& map, std::string_view name) {
  const redisReply* const value = FindInMap(map, name);
  return value == nullptr || value->type != REDIS_REPLY_INTEGER ? 0 : value->integer;
}

std::string Text(const redisReply& map, std::string_view name) {
  const redisReply* const value = FindInMap(map, name);
  return value == nullptr ? std::string() : ReplyText(*value);
}

std::string ReadyJobs(int64_t count) {
  return fmt::format("{} ready job{}", count, count == 1 ? "" : "s");
}

// Nothing but a person changes that.
bool Stands(const redisReply& map) {
  return Number(map, "paused") < 0 || Text(map, "concurrency") == "0";
}

}  // namespace

DrainCheck::DrainCheck(Link* link, std::vector<std::string> queues,
                       std::optional<std::string> space)
    : link_(link), queues_(std::move(queues)), space_(std::move(space)) {}

void DrainCheck::Ask(std::function<void(bool go_on)> done) {
  done_ = std::move(done);
  at_ = 0;
  left_.clear();
  waits_for_.clear();
  AskQueue();
}

void DrainCheck::Finish(bool go_on) {
  const std::function<void(bool)> done = std::exchange(done_, nullptr);
  done(go_on);
}

void DrainCheck::NextQueue() {
  if (++at_ == queues_.size()) return Finish(false);
  AskQueue();
}

void DrainCheck::AskQueue() {
  if (!link_->up()) return Finish(true);
  held_ = 0;
  link_->Send({"QUEUE", "INFO", queue()}, [this](const redisReply* reply) { OnQueue(reply); });
}

void DrainCheck::OnQueue(const redisReply* reply) {
  if (reply == nullptr) return Finish(true);
  if (reply->type != REDIS_REPLY_ARRAY) {
    const std::string text = ReplyText(*reply);
    left_.push_back(text.starts_with("NOTFOUND")
                        ? fmt::format("there is no queue \"{}\"", queue())
                        : fmt::format("the queue \"{}\": {}", queue(), text));
    return NextQueue();
  }
  const int64_t ready = Number(*reply, "ready");
  if (ready == 0) return NextQueue();
  if (Number(*reply, "paused") < 0) {
    left_.push_back(fmt::format(
        "the queue \"{0}\" is paused and gives no jobs out: {1} left (vestq queue resume {0})",
        queue(), ReadyJobs(ready)));
    return NextQueue();
  }
  if (Stands(*reply)) {
    left_.push_back(fmt::format("the queue \"{}\" has concurrency 0 and gives no jobs out: {} left",
                                queue(), ReadyJobs(ready)));
    return NextQueue();
  }
  limits_ = fmt::format("concurrency {}, rate {}{}", Text(*reply, "concurrency"),
                        Text(*reply, "rate"), Number(*reply, "paused") > 0 ? ", a pause" : "");
  AskSpaces("0");
}

void DrainCheck::AskSpaces(const std::string& cursor) {
  if (!link_->up()) return Finish(true);
  const auto answer = [this](const redisReply* reply) { OnSpaces(reply); };
  if (space_) return link_->Send({"SPACE", "INFO", queue(), *space_}, answer);
  link_->Send({"SPACES", queue(), "CURSOR", cursor}, answer);
}

bool DrainCheck::Starts(const redisReply& space) {
  const int64_t ready = Number(space, "ready");
  if (ready == 0) return false;
  if (Stands(space)) {
    held_ += ready;
    return false;
  }
  waits_for_ =
      fmt::format("the queue \"{}\": {}{}, held by a limit ({})", queue(), ReadyJobs(ready),
                  space_ || !Text(space, "space").empty() ? " of a space" : "", limits_);
  return true;
}

void DrainCheck::OnSpaces(const redisReply* reply) {
  if (reply == nullptr) return Finish(true);
  std::string cursor = "0";
  if (reply->type == REDIS_REPLY_ARRAY && space_) {
    if (Starts(*reply)) return Finish(true);
  } else if (reply->type == REDIS_REPLY_ARRAY && reply->elements == 2) {
    cursor = ReplyText(*reply->element[0]);
    const redisReply& page = *reply->element[1];
    for (size_t i = 0; i < page.elements; ++i) {
      if (Starts(*page.element[i])) return Finish(true);
    }
  }
  if (cursor != "0") return AskSpaces(cursor);
  if (held_ > 0) {
    left_.push_back(
        fmt::format("the queue \"{0}\": {1} left, of spaces that are paused or have concurrency 0 "
                    "(vestq spaces "
                    "{0})",
                    queue(), ReadyJobs(held_)));
  }
  NextQueue();
}

}  // namespace vestq
