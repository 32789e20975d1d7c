// SCHEDULE and its sub-commands.
#include <algorithm>
#include <array>
#include <iterator>
#include <string>

#include "engine/base/limits.h"
#include "engine/schedule_request.h"
#include "lease/cron.h"
#include "net/command.h"
#include "net/command_words.h"
#include "net/job_options.h"
#include "net/options.h"
#include "net/reactor.h"
#include "net/session.h"
#include "net/words.h"

namespace vestq::handlers {
namespace {

constexpr uint64_t kListDefault = 100;
constexpr uint64_t kNextMost = 1000;

// The options of a job, and behind them those that say when.
constexpr size_t kJobOptions = std::size(job_options::kSpecs);
enum : size_t { kCron = kJobOptions, kTz, kEvery, kMissed, kSetOptions };
constexpr std::array<OptionSpec, kSetOptions> SetSpecs() {
  std::array<OptionSpec, kSetOptions> specs{};
  std::copy(std::begin(job_options::kSpecs), std::end(job_options::kSpecs), specs.begin());
  specs[kCron] = {"CRON", true, true, 1u << kEvery};
  specs[kTz] = {"TZ", true, true, 1u << kEvery};
  specs[kEvery] = {"EVERY", true, true, (1u << kCron) | (1u << kTz)};
  specs[kMissed] = {"MISSED"};
  return specs;
}
constexpr std::array<OptionSpec, kSetOptions> kSetSpecs = SetSpecs();

Error ParseMissed(std::string_view value, keycodec::Missed* missed) {
  constexpr std::pair<std::string_view, keycodec::Missed> kNames[] = {
      {"once", keycodec::Missed::kOnce},
      {"skip", keycodec::Missed::kSkip},
      {"all", keycodec::Missed::kAll}};
  for (const auto& [name, meaning] : kNames) {
    if (!words::EqualsIgnoreCase(name, value)) continue;
    *missed = meaning;
    return Error::Ok();
  }
  return Error(ErrorCode::kSyntax, "MISSED " + words::Quote(value) + ": once, skip or all");
}

Error SetOption(const OptionReader& options, ScheduleRequest* r) {
  const std::string_view value = options.value();
  ScheduleRequest::Timing& timing = r->timing;
  switch (options.option()) {
    case kCron:
      timing.kind = keycodec::ScheduleKind::kCron;
      timing.cron.assign(value);
      return Error::Ok();
    case kTz:
      if (value.empty()) return Error(ErrorCode::kSyntax, "TZ: the time zone's name is empty");
      timing.zone.assign(value);
      return Error::Ok();
    case kEvery:
      timing.kind = keycodec::ScheduleKind::kEvery;
      VESTQ_WORD(timing.every,
                 words::ParseDuration("EVERY", value, limits::kEveryMin, limits::kEveryMax),
                 Duration);
      return Error::Ok();
    case kMissed: return ParseMissed(value, &timing.missed);
    // When a job runs is what the schedule says; a slot that finds the key held, or the queue full, is skipped.
    case job_options::kDelay:
    case job_options::kAt:
    case job_options::kReplace:
    case job_options::kAfter:
    case job_options::kWait:
      return Error(ErrorCode::kSyntax, "option " + std::string(kSetSpecs[options.option()].name) +
                                           " does not go with SCHEDULE SET");
    default: return job_options::Apply(options.option(), options, &r->job);
  }
}

Error FillSet(Args args, ScheduleRequest* r) {
  if (args.size() < 5) return Error(ErrorCode::kSyntax, WrongArity("schedule|set"));
  OptionReader options("SCHEDULE SET", kSetSpecs, args.subspan(5));
  while (options.Next()) VESTQ_RETURN_IF_ERROR(SetOption(options, r));
  VESTQ_RETURN_IF_ERROR(job_options::Check(options));
  if (!options.seen(kCron) && !options.seen(kEvery)) {
    return Error(ErrorCode::kSyntax, options.seen(kTz)
                                         ? "option TZ belongs to CRON, which is missing"
                                         : "SCHEDULE SET needs CRON or EVERY");
  }
  r->op = ScheduleOp::kSet;
  r->name.assign(args[2]);
  r->job.queue.assign(args[3]);
  r->job.payload.assign(args[4]);
  return Error::Ok();
}

Error FillNamed(Args args, ScheduleRequest* r) {
  if (args.size() != 3) return Error(ErrorCode::kSyntax, WrongArity("schedule"));
  r->name.assign(args[2]);
  return Error::Ok();
}

template <ScheduleOp kOp>
Error FillOp(Args args, ScheduleRequest* r) {
  r->op = kOp;
  return FillNamed(args, r);
}

constexpr OptionSpec kListOptions[] = {{"CURSOR"}, {"COUNT"}};

// The cursor is the last name given, behind a colon: names are listed in byte order.
Error FillList(Args args, ScheduleRequest* r) {
  r->op = ScheduleOp::kList;
  r->count = kListDefault;
  OptionReader options("SCHEDULE LIST", kListOptions, args.subspan(2));
  while (options.Next()) {
    if (options.option() == 1) {
      VESTQ_WORD(r->count,
                 words::ParseNumber("COUNT", options.value(), 1, limits::kScheduleListMax),
                 static_cast<size_t>);
      continue;
    }
    if (options.value() == "0") continue;
    if (!options.value().starts_with(':') ||
        options.value().size() > limits::kScheduleNameBytes + 1) {
      return Error(ErrorCode::kSyntax, "CURSOR " + words::Quote(options.value()) +
                                           ": 0 or what the last call gave is expected");
    }
    r->after.assign(options.value().substr(1));
  }
  return options.error();
}

constexpr OptionSpec kNextOptions[] = {{"TZ"}, {"COUNT"}};

// The next slots of an expression, by the server's clock. Touches no schedule.
Error Next(Session& session, Args args) {
  if (args.size() < 3) return Error(ErrorCode::kSyntax, WrongArity("schedule|next"));
  std::string_view zone = "UTC";
  uint64_t count = 1;
  OptionReader options("SCHEDULE NEXT", kNextOptions, args.subspan(3));
  while (options.Next()) {
    if (options.option() == 0) {
      zone = options.value();
    } else {
      VESTQ_WORD(count, words::ParseNumber("COUNT", options.value(), 1, kNextMost), uint64_t);
    }
  }
  if (!options.error().ok()) return options.error();
  const Result<Cron> cron = Cron::Parse(args[2], zone);
  if (!cron.ok()) return cron.error();
  std::vector<WallTime> slots;
  WallTime after = std::max(WallTime(0), session.shared().engine->clock()->Wall());
  while (slots.size() < count) {
    const std::optional<WallTime> slot = cron->Next(after);
    if (!slot) break;
    after = *slot;
    slots.push_back(after);
  }
  RespWriter w = session.writer();
  w.Array(slots.size());
  for (const WallTime slot : slots) w.Int(slot.ms());
  return Error::Ok();
}

}  // namespace

void Schedule(Session& session, Args args) {
  constexpr std::pair<std::string_view, Error (*)(Args, ScheduleRequest*)> kSubs[] = {
      {"SET", FillSet},
      {"LIST", FillList},
      {"GET", FillOp<ScheduleOp::kGet>},
      {"DEL", FillOp<ScheduleOp::kDelete>},
      {"PAUSE", FillOp<ScheduleOp::kPause>},
      {"RESUME", FillOp<ScheduleOp::kResume>},
      {"RUN", FillOp<ScheduleOp::kRun>},
  };
  for (const auto& [name, fill] : kSubs) {
    if (words::EqualsIgnoreCase(name, args[1]))
      return SubmitFilled<ScheduleRequest>(session, args, fill);
  }
  if (Help(session, args)) return;
  if (!words::EqualsIgnoreCase("NEXT", args[1]))
    return session.Fail("ERR", UnknownSubcommand("SCHEDULE", args[1]));
  if (const Error error = Next(session, args); !error.ok()) session.Fail(error);
}

}  // namespace vestq::handlers
