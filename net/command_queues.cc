// QUEUES and QUEUE: what the engine counts of queues, and their options.
#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/limits.h"
#include "lanes/rate_limit.h"
#include "lease/backoff.h"
#include "net/command.h"
#include "net/command_words.h"
#include "net/options.h"
#include "net/reactor.h"
#include "net/replies.h"
#include "net/session.h"
#include "net/words.h"

namespace vestq {
namespace handlers {
namespace {

constexpr size_t kQueuesAPage = 1000;
constexpr OptionSpec kQueuesOptions[] = {{"CURSOR"}};

// What a person sees of an option: its value, or the default in its place.
void WriteOptions(const QueueOptions& o, MonoTime now, RespWriter w) {
  const auto span = [&w](std::string_view name, const std::optional<Duration>& set,
                         Duration preset) {
    w.Bulk(name);
    w.Bulk(words::FormatDuration(set.value_or(preset)));
  };
  span("lease", o.lease, limits::kLeaseDefault);
  w.Bulk("attempts");
  w.Int(o.attempts.value_or(limits::kAttemptsDefault));
  w.Bulk("backoff");
  w.Bulk(o.backoff ? BackoffToText(*o.backoff) : std::string(kBackoffDefaultText));
  span("keep", o.keep, Duration(0));
  w.Bulk("order");
  w.Bulk(o.order == keycodec::Order::kTime ? "time" : "priority");
  span("dead-keep", o.dead_keep, limits::kDeadKeepDefault);
  w.Bulk("dead-max");
  w.Int(static_cast<int64_t>(o.dead_max.value_or(limits::kDeadMaxDefault)));
  const auto number = [&w](std::string_view name, const auto& set) {
    w.Bulk(name);
    if (set) {
      w.Int(static_cast<int64_t>(*set));
    } else {
      w.Bulk("none");
    }
  };
  number("concurrency", o.concurrency);
  number("space-concurrency", o.space_concurrency);
  w.Bulk("rate");
  w.Bulk(o.rate_micro ? RateToText(*o.rate_micro) : "none");
  w.Bulk("burst");
  w.Int(o.burst.value_or(1));
  w.Bulk("ageing");
  w.Bulk(o.ageing ? words::FormatDuration(*o.ageing) : "none");
  w.Bulk("space-rate");
  w.Bulk(o.space_rate_micro ? RateToText(*o.space_rate_micro) : "none");
  w.Bulk("space-burst");
  w.Int(o.space_burst.value_or(1));
  w.Bulk("space-weight");
  w.Int(o.space_weight.value_or(1));
  w.Bulk("adaptive");
  w.Bulk(AdaptiveToText(o.adaptive));
  number("max-jobs", o.max_jobs);
  number("max-bytes", o.max_bytes);
  // Milliseconds that the pause still lasts; -1: until it is resumed; 0: it is not paused.
  w.Bulk("paused");
  const bool paused = o.paused_until && *o.paused_until > now;
  w.Int(!paused ? 0 : *o.paused_until == MonoTime::Max() ? -1 : (*o.paused_until - now).ms());
}
constexpr size_t kOptionFields = 19;

constexpr std::string_view kAgeNames[] = {"oldest-ready-urgent", "oldest-ready-normal",
                                          "oldest-ready-low"};

// Milliseconds since the oldest ready job stands there; null where there is none.
void WriteAges(const QueueInfoRequest& info, RespWriter w) {
  const auto age = [&](std::string_view name, const std::optional<MonoTime>& since) {
    w.Bulk(name);
    if (!since) return w.Null();
    w.Int(std::max<int64_t>(0, (info.at - *since).ms()));
  };
  std::optional<MonoTime> oldest;
  for (const auto& since : info.oldest) {
    if (since) oldest = std::min(oldest.value_or(*since), *since);
  }
  age("oldest-ready", oldest);
  for (size_t i = 0; i < QueueInfoRequest::kBands; ++i) age(kAgeNames[i], info.oldest[i]);
  w.Bulk("oldest-ready-exact");
  w.Int(info.whole ? 1 : 0);
}
constexpr size_t kAgeFields = 2 + QueueInfoRequest::kBands;

void WriteInfo(const QueueInfoRequest& info, RespWriter w) {
  const QueueCounts& c = info.counts;
  const std::pair<std::string_view, int64_t> fields[] = {
      {"ready", c.ready},
      {"scheduled", c.scheduled},
      {"waiting", c.waiting},
      {"leased", c.leased},
      {"dead", c.dead},
      {"done", c.done},
      {"bytes", c.bytes},
      {"unfinished-bytes", c.unfinished_bytes},
      {"enqueued", c.enqueued},
      {"leases", c.leases},
      {"completed", c.completed},
      {"failed", c.failed},
      {"released", c.released},
      {"expired", c.expired},
      {"died", c.died},
      {"cancelled", c.cancelled},
      {"lapsed", c.lapsed},
      {"dropped", c.dropped},
      {"duplicates", c.duplicates},
      {"waiters", static_cast<int64_t>(c.waiters)},
      {"enqueues-waiting", static_cast<int64_t>(c.enqueues_waiting)},
      {"refused", static_cast<int64_t>(c.refused)},
  };
  w.Map(1 + std::size(fields) + kAgeFields + kOptionFields);
  w.Bulk("queue");
  w.Bulk(c.name);
  for (const auto& [name, value] : fields) {
    w.Bulk(name);
    w.Int(value);
  }
  WriteAges(info, w);
  WriteOptions(info.options, info.at, w);
}

Error FillInfo(Args args, QueueInfoRequest* r) {
  if (args.size() != 3) return Error(ErrorCode::kSyntax, WrongArity("queue|info"));
  r->queue.assign(args[2]);
  return Error::Ok();
}

namespace set_options {
enum : size_t {
  kLease,
  kAttempts,
  kBackoff,
  kKeep,
  kDeadKeep,
  kDeadMax,
  kOrder,
  kConcurrency,
  kSpaceConcurrency,
  kRate,
  kBurst,
  kAgeing,
  kSpaceRate,
  kSpaceBurst,
  kSpaceWeight,
  kAdaptive,
  kMaxJobs,
  kMaxBytes
};
constexpr OptionSpec kSpecs[] = {{"lease"},
                                 {"attempts"},
                                 {"backoff"},
                                 {"keep"},
                                 {"dead-keep"},
                                 {"dead-max"},
                                 {"order"},
                                 {"concurrency"},
                                 {"space-concurrency"},
                                 {"rate"},
                                 {"burst"},
                                 {"ageing"},
                                 {"space-rate"},
                                 {"space-burst"},
                                 {"space-weight"},
                                 {"adaptive"},
                                 {"max-jobs"},
                                 {"max-bytes"},
                                 // Of the contract; later.
                                 {"claims", true, false}};
}  // namespace set_options

Result<keycodec::Order> ParseOrder(std::string_view text) {
  if (words::EqualsIgnoreCase(text, "priority")) return keycodec::Order::kPriority;
  if (words::EqualsIgnoreCase(text, "time")) return keycodec::Order::kTime;
  return Error(ErrorCode::kSyntax,
               "order " + words::Quote(text) + ": priority or time is expected");
}

// `concurrency` and `space-concurrency`: a number, or `none`, which is their default.
Error SetSlots(std::string_view name, std::string_view value, bool unset,
               std::optional<uint32_t>* set, std::optional<uint32_t>* unset_one) {
  if (unset || words::EqualsIgnoreCase(value, "none")) return *unset_one = 0, Error::Ok();
  VESTQ_WORD(*set, words::ParseNumber(name, value, 0, limits::kConcurrencyMax),
             static_cast<uint32_t>);
  return Error::Ok();
}

// `min:max`.
Result<keycodec::AdaptiveBounds> ParseAdaptive(std::string_view text) {
  const size_t colon = text.find(':');
  if (colon == std::string_view::npos) {
    return Error(ErrorCode::kSyntax, "adaptive " + words::Quote(text) +
                                         ": min:max is expected, two numbers as in 2:50, or none");
  }
  keycodec::AdaptiveBounds out;
  VESTQ_WORD(out.min,
             words::ParseNumber("adaptive min", text.substr(0, colon), 1, limits::kConcurrencyMax),
             static_cast<uint32_t>);
  VESTQ_WORD(out.max,
             words::ParseNumber("adaptive max", text.substr(colon + 1), 1, limits::kConcurrencyMax),
             static_cast<uint32_t>);
  return out;
}

// `max-jobs` and `max-bytes`: the same of a number and of a size.
Error SetRoom(size_t option, std::string_view value, bool unset, QueueSetRequest* r) {
  const bool jobs = option == set_options::kMaxJobs;
  if (unset || words::EqualsIgnoreCase(value, "none"))
    return (jobs ? r->unset.max_jobs : r->unset.max_bytes) = 0, Error::Ok();
  if (jobs) {
    VESTQ_WORD(r->set.max_jobs, words::ParseNumber("max-jobs", value, 0, limits::kMaxJobsMost),
               uint64_t);
  } else {
    VESTQ_WORD(r->set.max_bytes, words::ParseSize("max-bytes", value, 0, limits::kMaxBytesMost),
               uint64_t);
  }
  return Error::Ok();
}

// `none` is no limit of other options. Of these it might as well mean that none is kept.
Error NotNone(const char* name, std::string_view value, const char* advice) {
  if (!words::EqualsIgnoreCase(value, "none")) return Error::Ok();
  return Error(ErrorCode::kSyntax, std::string(name) + " 'none': " + advice);
}

// `default` unsets. Each option appears once, so the other side of it is not set.
Error SetOption(size_t option, std::string_view value, QueueSetRequest* r) {
  using namespace set_options;
  QueueOptions& set = r->set;
  const bool unset = words::EqualsIgnoreCase(value, "default");
  switch (option) {
    case kLease:
      if (unset) return r->unset.lease = Duration(0), Error::Ok();
      VESTQ_WORD(set.lease, ParseLease("lease", value), Duration);
      break;
    case kAttempts:
      if (unset) return r->unset.attempts = 0, Error::Ok();
      VESTQ_RETURN_IF_ERROR(NotNone("attempts", value, "write 0 for no limit"));
      VESTQ_WORD(set.attempts, words::ParseNumber("attempts", value, 0, limits::kAttemptsMax),
                 static_cast<uint32_t>);
      break;
    case kBackoff:
      if (unset) return r->unset.backoff = "", Error::Ok();
      VESTQ_WORD(set.backoff, words::ParseBackoff("backoff", value), std::string);
      break;
    case kKeep:
      if (unset) return r->unset.keep = Duration(0), Error::Ok();
      VESTQ_WORD(set.keep, words::ParseDuration("keep", value, Duration(0), limits::kDelayMax),
                 Duration);
      break;
    case kDeadKeep:
      if (unset) return r->unset.dead_keep = Duration(0), Error::Ok();
      VESTQ_RETURN_IF_ERROR(
          NotNone("dead-keep", value, "write 36500d to keep them for ever; 0 keeps none"));
      VESTQ_WORD(set.dead_keep,
                 words::ParseDuration("dead-keep", value, Duration(0), limits::kDelayMax),
                 Duration);
      break;
    case kDeadMax:
      if (unset) return r->unset.dead_max = 0, Error::Ok();
      VESTQ_RETURN_IF_ERROR(
          NotNone("dead-max", value, "write 281474976710656 to keep all of them; 0 keeps none"));
      VESTQ_WORD(set.dead_max, words::ParseNumber("dead-max", value, 0, limits::kDeadMaxMost),
                 uint64_t);
      break;
    case kOrder:
      if (unset) return r->unset.order = keycodec::Order::kPriority, Error::Ok();
      VESTQ_WORD(set.order, ParseOrder(value), keycodec::Order);
      break;
    case kConcurrency:
      return SetSlots("concurrency", value, unset, &set.concurrency, &r->unset.concurrency);
    case kSpaceConcurrency:
      return SetSlots("space-concurrency", value, unset, &set.space_concurrency,
                      &r->unset.space_concurrency);
    case kRate:
      if (unset || words::EqualsIgnoreCase(value, "none"))
        return r->unset.rate_micro = 0, Error::Ok();
      VESTQ_WORD(set.rate_micro, ParseRate(value, "rate"), uint64_t);
      break;
    case kBurst:
      if (unset) return r->unset.burst = 0, Error::Ok();
      VESTQ_WORD(set.burst, words::ParseNumber("burst", value, 1, limits::kBurstMax),
                 static_cast<uint32_t>);
      break;
    case kAgeing:
      if (unset || words::EqualsIgnoreCase(value, "none"))
        return r->unset.ageing = Duration(0), Error::Ok();
      VESTQ_WORD(set.ageing,
                 words::ParseDuration("ageing", value, limits::kAgeingMin, limits::kAgeingMax),
                 Duration);
      break;
    case kSpaceRate:
      if (unset || words::EqualsIgnoreCase(value, "none"))
        return r->unset.space_rate_micro = 0, Error::Ok();
      VESTQ_WORD(set.space_rate_micro, ParseRate(value, "space-rate"), uint64_t);
      break;
    case kSpaceBurst:
      if (unset) return r->unset.space_burst = 0, Error::Ok();
      VESTQ_WORD(set.space_burst, words::ParseNumber("space-burst", value, 1, limits::kBurstMax),
                 static_cast<uint32_t>);
      break;
    case kSpaceWeight:
      if (unset) return r->unset.space_weight = 0, Error::Ok();
      VESTQ_WORD(set.space_weight,
                 words::ParseNumber("space-weight", value, 1, limits::kSpaceWeightMax),
                 static_cast<uint32_t>);
      break;
    case kAdaptive:
      if (unset || words::EqualsIgnoreCase(value, "none"))
        return r->unset.adaptive.emplace(), Error::Ok();
      VESTQ_WORD(set.adaptive, ParseAdaptive(value), keycodec::AdaptiveBounds);
      break;
    case kMaxJobs:
    case kMaxBytes: return SetRoom(option, value, unset, r);
    default: break;
  }
  return Error::Ok();
}

Error FillSet(Args args, QueueSetRequest* r) {
  if (args.size() < 5) return Error(ErrorCode::kSyntax, "QUEUE SET needs an option and its value");
  OptionReader options("QUEUE SET", set_options::kSpecs, args.subspan(3));
  while (options.Next()) VESTQ_RETURN_IF_ERROR(SetOption(options.option(), options.value(), r));
  r->queue.assign(args[2]);
  return options.ErrorWithNames();
}

constexpr OptionSpec kPauseOptions[] = {{"FOR"}};

Error FillPause(Args args, QueueSetRequest* r) {
  OptionReader options("QUEUE PAUSE", kPauseOptions, args.subspan(3));
  while (options.Next()) {
    VESTQ_WORD(r->pause_for,
               words::ParseDuration("FOR", options.value(), Milliseconds(1), limits::kDelayMax),
               Duration);
  }
  r->queue.assign(args[2]);
  r->pause = true;
  return options.error();
}

Error FillResume(Args args, QueueSetRequest* r) {
  if (args.size() != 3) return Error(ErrorCode::kSyntax, WrongArity("queue|resume"));
  r->queue.assign(args[2]);
  r->resume = true;
  return Error::Ok();
}

}  // namespace
}  // namespace handlers

void WriteQueueInfo(const QueueInfoRequest& request, RespWriter* writer) {
  handlers::WriteInfo(request, *writer);
}

namespace handlers {

// The cursor is the last name given, behind a colon: names are listed in byte order.
void Queues(Session& session, Args args) {
  const bool pattern = args.size() > 1 && OptionReader::Find(kQueuesOptions, args[1]) < 0;
  std::string_view after;
  OptionReader options("QUEUES", kQueuesOptions, args.subspan(pattern ? 2 : 1));
  while (options.Next()) {
    if (options.value() == "0") continue;
    if (!options.value().starts_with(':')) {
      return session.Fail("ERR", "CURSOR " + words::Quote(options.value()) +
                                     ": 0 or what the last call gave is expected");
    }
    after = options.value().substr(1);
  }
  if (!options.error().ok()) return session.Fail(options.error());
  std::vector<std::string> names;
  for (QueueCounts& counts : session.shared().engine->Queues()) {
    if (counts.name > after && (!pattern || words::MatchGlob(args[1], counts.name))) {
      names.push_back(std::move(counts.name));
    }
  }
  std::sort(names.begin(), names.end());
  const bool more = names.size() > kQueuesAPage;
  if (more) names.resize(kQueuesAPage);
  RespWriter w = session.writer();
  w.Array(2);
  w.Bulk(more ? ":" + names.back() : std::string("0"));
  w.Array(names.size());
  for (const std::string& name : names) w.Bulk(name);
}

void Queue(Session& session, Args args) {
  if (Help(session, args)) return;
  const auto is = [&args](std::string_view sub) { return words::EqualsIgnoreCase(sub, args[1]); };
  if (is("INFO")) return SubmitFilled<QueueInfoRequest>(session, args, FillInfo);
  Error (*const fill)(Args, QueueSetRequest*) = is("SET")      ? FillSet
                                                : is("PAUSE")  ? FillPause
                                                : is("RESUME") ? FillResume
                                                               : nullptr;
  if (fill == nullptr && !is("DROP"))
    return session.Fail("ERR", UnknownSubcommand("QUEUE", args[1]));
  if (args.size() < 3) return session.Fail("ERR", WrongArity("queue"));
  if (is("DROP")) return DropQueue(session, args);
  SubmitFilled<QueueSetRequest>(session, args, fill);
}

}  // namespace handlers
}  // namespace vestq
