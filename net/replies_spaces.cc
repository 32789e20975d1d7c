// Replies to SPACES and SPACE INFO.
#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/limits.h"
#include "engine/space_request.h"
#include "lanes/rate_limit.h"
#include "net/replies.h"

namespace vestq {
namespace {

// What holds: its own option, else the queue's for each of its spaces.
void WriteLimits(const keycodec::SpaceValue& own, const QueueOptions& queue,
                 const std::optional<SpacesRequest::Row::Adaptive>& adaptive, RespWriter* w) {
  w->Bulk("weight");
  w->Int(own.weight.value_or(queue.space_weight.value_or(1)));
  w->Bulk("concurrency");
  const auto slots = own.concurrency ? own.concurrency : queue.space_concurrency;
  if (adaptive) {  // what it is now
    w->Int(std::min(slots.value_or(keycodec::kSlotsUnlimited), adaptive->limit));
  } else if (slots && *slots != keycodec::kSlotsUnlimited) {
    w->Int(*slots);
  } else {
    w->Bulk("none");
  }
  w->Bulk("rate");
  const auto rate = own.rate_micro ? own.rate_micro : queue.space_rate_micro;
  w->Bulk(rate.value_or(0) > 0 ? RateToText(*rate) : "none");
  w->Bulk("burst");
  w->Int(own.burst.value_or(queue.space_burst.value_or(1)));
}

// Milliseconds that the pause still lasts; -1: until it is resumed; 0: it is not paused.
int64_t PauseLeft(const keycodec::SpaceValue& own, MonoTime now) {
  const int64_t until = own.paused_until_ms.value_or(0);
  if (until >= limits::kKeyTimeMsMax) return -1;
  return std::max<int64_t>(0, until - now.ms());
}

void WriteSpace(const std::string& name, const SpacesRequest::Row& row, const SpacesRequest& r,
                RespWriter* w) {
  const int64_t pause = PauseLeft(row.own, r.at);
  w->Map(14u + r.one_space);
  if (r.one_space) {
    w->Bulk("queue");
    w->Bulk(r.queue);
  }
  w->Bulk("space");
  w->Bulk(name);
  w->Bulk("ready");
  w->Int(static_cast<int64_t>(row.ready));
  w->Bulk("ready-exact");
  w->Int(row.exact ? 1 : 0);
  w->Bulk("oldest-ready");
  if (row.oldest) {
    w->Int(std::max<int64_t>(0, (r.at - *row.oldest).ms()));
  } else {
    w->Null();
  }
  w->Bulk("leased");
  w->Int(static_cast<int64_t>(row.leased));
  // A concurrency of its own switches it off.
  std::optional<SpacesRequest::Row::Adaptive> adaptive;
  if (r.options.adaptive && !row.own.concurrency) {
    adaptive = row.adaptive.value_or(
        SpacesRequest::Row::Adaptive{r.options.adaptive->min, Duration(0), 0});
    adaptive->limit = std::clamp(adaptive->limit, r.options.adaptive->min, r.options.adaptive->max);
  }
  WriteLimits(row.own, r.options, adaptive, w);
  w->Bulk("adaptive");
  w->Bulk(AdaptiveToText(adaptive ? r.options.adaptive : std::nullopt));
  w->Bulk("usual-lease");
  if (adaptive && adaptive->usual > Duration(0)) {
    w->Int(adaptive->usual.ms());
  } else {
    w->Null();
  }
  w->Bulk("halvings");
  w->Int(adaptive ? static_cast<int64_t>(adaptive->halvings) : 0);
  w->Bulk("paused");
  w->Int(pause);
  std::vector<std::string_view> own;
  if (row.own.weight) own.push_back("weight");
  if (row.own.concurrency) own.push_back("concurrency");
  if (row.own.rate_micro) own.push_back("rate");
  if (row.own.burst) own.push_back("burst");
  if (pause != 0) own.push_back("pause");
  w->Bulk("own");
  w->Array(own.size());
  for (const std::string_view option : own) w->Bulk(option);
}

}  // namespace

std::string AdaptiveToText(const std::optional<keycodec::AdaptiveBounds>& bounds) {
  if (!bounds) return "none";
  return std::to_string(bounds->min) + ":" + std::to_string(bounds->max);
}

void WriteSpaces(const SpacesRequest& request, RespWriter* w) {
  if (!request.one_space) {
    w->Array(2);
    w->Bulk(request.cursor);
    w->Array(request.spaces.size());
  }
  for (const auto& [name, row] : request.spaces) WriteSpace(name, row, request, w);
}

size_t SpacesBytes(const SpacesRequest& request) {
  size_t bytes = 64 + request.cursor.size();
  for (const auto& [name, row] : request.spaces) bytes += kSpaceReplyBytes + name.size();
  return bytes;
}

}  // namespace vestq
