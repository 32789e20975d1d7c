// `vestq queue set`. An option that keeps fewer dead letters, or keeps them for less long, drops at once those that it
// does not keep: with some there, a person is asked, and a script says --yes.
#include "tools/queue_set.h"

#include <spdlog/fmt/fmt.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/limits.h"
#include "lease/duration_text.h"
#include "net/words.h"
#include "tools/call.h"
#include "tools/confirm.h"
#include "tools/exit_status.h"
#include "tools/json.h"

namespace vestq {
namespace {

struct SetOptions : CallOptions {
  std::string queue;
  std::vector<std::string> words;  // OPTION=VALUE
  bool yes = false;
};

// The value that is set for `option`, in whatever case it was written; nothing when it is not among the settings.
// `command` is QUEUE SET queue option value ...
std::optional<std::string> Setting(const std::vector<std::string_view>& command,
                                   std::string_view option, const std::string& standard) {
  for (size_t i = 3; i + 1 < command.size(); i += 2) {
    if (!words::EqualsIgnoreCase(command[i], option)) continue;
    return words::EqualsIgnoreCase(command[i + 1], "default") ? standard
                                                              : std::string(command[i + 1]);
  }
  return std::nullopt;
}
std::optional<std::string> DeadKeep(const std::vector<std::string_view>& command) {
  return Setting(command, "dead-keep", DurationToText(limits::kDeadKeepDefault));
}
std::optional<std::string> DeadMax(const std::vector<std::string_view>& command) {
  return Setting(command, "dead-max", std::to_string(limits::kDeadMaxDefault));
}

std::string TextOf(const redisReply& info, std::string_view name) {
  const redisReply* const value = FindInMap(info, name);
  return value == nullptr ? std::string() : ReplyText(*value);
}

// How many dead letters go, in words; empty when none does. A value that is wrong is the server's to refuse.
std::string Dropped(const redisReply& info, const std::vector<std::string_view>& command) {
  const redisReply* const dead = FindInMap(info, "dead");
  if (dead == nullptr || dead->integer == 0) return "";
  const int64_t count = dead->integer;
  const std::optional<std::string> keep = DeadKeep(command), most = DeadMax(command);
  const Result<Duration> shorter = ParseDuration(keep.value_or(""));
  if (shorter.ok() && *shorter == Duration(0)) return fmt::format("all {}", count);
  const Result<uint64_t> kept = words::ParseNumber("dead-max", most.value_or(""), 0, UINT64_MAX);
  if (kept.ok() && *kept == 0) return fmt::format("all {}", count);
  if (kept.ok() && *kept < static_cast<uint64_t>(count))
    return fmt::format("the {} oldest of {}", static_cast<uint64_t>(count) - *kept, count);
  const Result<Duration> now = ParseDuration(TextOf(info, "dead-keep"));
  if (!shorter.ok() || (now.ok() && *shorter >= *now)) return "";
  return fmt::format("those of {} that died more than {} ago", count, *keep);
}

// Errors: kBusy when dead letters would go that nobody gave up.
Error AskForDeadLetters(Client* client, const SetOptions& o,
                        const std::vector<std::string_view>& command) {
  if (!DeadKeep(command) && !DeadMax(command)) return Error::Ok();
  const Result<ReplyPtr> info = client->Call({"QUEUE", "INFO", o.queue});
  if (!info.ok())  // a queue that is not there has no dead letters
    return info.error().code() == ErrorCode::kNotFound ? Error::Ok() : info.error();
  const std::string dropped = Dropped(**info, command);
  if (dropped.empty()) return Error::Ok();
  const std::string what =
      fmt::format("this drops dead letters of the queue \"{}\" for good: {}", o.queue, dropped);
  if (!o.yes && !CanAsk())
    return Error(ErrorCode::kBusy, what + "; nothing was changed (--yes does it)");
  if (!o.yes && !AskedAndYes("vestq queue set: " + what + ". Do it?"))
    return Error(ErrorCode::kBusy, "nothing was changed");
  if (o.yes) fmt::print(stderr, "vestq queue set: {}\n", what);
  return Error::Ok();
}

int Set(const SetOptions& o) {
  std::vector<std::string_view> command = {"QUEUE", "SET", o.queue};
  if (const Error wrong = AppendSettings(o.words, &command); !wrong.ok())
    return Complain("queue set", wrong);
  return WithDaemon("queue set", o, [&](Client* client) {
    VESTQ_RETURN_IF_ERROR(AskForDeadLetters(client, o, command));
    const Result<ReplyPtr> reply = client->Call(command);
    if (!reply.ok()) return reply.error();
    if (o.json) PrintJson({{"ok", true}});
    return Error::Ok();
  });
}

constexpr char kHelp[] =
    "  lease           how long a job is a worker's without a renewal: 100ms to 7d\n"
    "  attempts        deliveries before a job is dead; 0: no limit\n"
    "  backoff         exp:10s:1h, fixed:30s, list:1s,10s,1m\n"
    "  keep            how long results of done jobs stay; 0: not at all\n"
    "  dead-max        so many dead letters stay, the oldest are dropped; 0: NONE, each job that "
    "dies is gone\n"
    "  dead-keep       they stay so long, 180d unless set; 0: NOT AT ALL\n"
    "  order           priority, or time; only while the queue has no job\n"
    "  ageing          a job that waited so long is served before others; none: never\n"
    "  max-jobs        so many jobs at most, then ENQUEUE is refused (FULL); none: no limit. "
    "max-bytes: of payloads\n"
    "  concurrency     jobs leased at once; 0: none may start; none: no limit. space-concurrency: "
    "of each space\n"
    "  rate, burst     starts a second, 5 or 0.5, and so many at once; none: no limit. "
    "space-rate, space-burst\n"
    "                  of each space. A minute's 30 is rate=0.5\n"
    "  space-weight    1 to 1000\n"
    "  adaptive        min:max, as 2:50: leases at once of each space, found by how it fares; "
    "none: "
    "off\n"
    "\n"
    "`default` unsets any of them. To keep all dead letters write dead-max=281474976710656 "
    "dead-keep=36500d.\n"
    "A smaller dead-max or dead-keep drops dead letters at once, for good. If there are some that "
    "go, you are asked;\n"
    "without a terminal it is refused unless --yes stands there.\n"
    "\n"
    "Examples:\n"
    "  vestq queue set mail lease=2m attempts=5 backoff=exp:10s:1h keep=1d\n"
    "  vestq queue set mail backoff=default\n"
    "  vestq queue set mail rate=50/s burst=100 space-concurrency=2\n"
    "\n"
    "Exit status: 0; 1 the server cannot be reached or refused, or dead letters would have gone, "
    "stderr says why;\n"
    "2 usage, a value that an option does not take too. Nothing was changed after 1 and 2.";

}  // namespace

void AddQueueSet(Command queue, Action* action) {
  auto options = std::make_shared<SetOptions>();
  Command set = queue.Add("set", "Set options; `default` unsets one", kHelp);
  set.Value("QUEUE", &options->queue, "Queue; made where there is none").Required();
  set.Value("OPTION=VALUE", &options->words, "Options, see below").Required().MayBeEmpty();
  set.Flag("--yes,-y", &options->yes, "Drop dead letters that the new options do not keep");
  AddCallOptions(set, options.get(), "Print one JSON object");
  set.WhenGiven([options, action] { *action = [options] { return Set(*options); }; });
}

}  // namespace vestq
