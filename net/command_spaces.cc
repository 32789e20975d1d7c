// SPACES and SPACE: single spaces of a queue, and their options.
#include <iterator>
#include <optional>

#include "engine/base/limits.h"
#include "engine/space_request.h"
#include "lanes/rate_limit.h"
#include "net/command.h"
#include "net/command_words.h"
#include "net/options.h"
#include "net/session.h"
#include "net/words.h"

namespace vestq::handlers {
namespace {

constexpr OptionSpec kSpacesOptions[] = {{"CURSOR"}, {"COUNT"}};

Error FillSpaces(Args args, SpacesRequest* r) {
  r->queue.assign(args[1]);
  r->count = limits::kSpacesCountDefault;
  OptionReader options("SPACES", kSpacesOptions, args.subspan(2));
  while (options.Next()) {
    if (options.option() == 0) {
      r->cursor.assign(options.value());
      continue;
    }
    VESTQ_WORD(r->count, words::ParseNumber("COUNT", options.value(), 1, limits::kSpacesCountMax),
               static_cast<uint32_t>);
  }
  return options.error();
}

// Arguments 2 and 3 of all but HELP.
template <typename T>
Error TakeNames(Args args, T* r) {
  r->queue.assign(args[2]);
  r->space.assign(args[3]);
  return Error::Ok();
}

Error FillInfo(Args args, SpacesRequest* r) {
  if (args.size() != 4) return Error(ErrorCode::kSyntax, WrongArity("space|info"));
  r->one_space = true;
  return TakeNames(args, r);
}

enum : size_t { kConcurrency, kRate, kBurst, kWeight, kPause };
constexpr OptionSpec kSetOptions[] = {{"concurrency"}, {"rate"}, {"burst"}, {"weight"}, {"pause"}};

Error SetPause(std::string_view value, SpaceSetRequest* r) {
  const auto is = [value](std::string_view word) { return words::EqualsIgnoreCase(value, word); };
  if (is("no") || is("default")) return r->resume = true, Error::Ok();
  r->pause = true;
  if (is("yes")) return Error::Ok();
  auto span = words::ParseDuration("pause", value, Milliseconds(1), limits::kDelayMax);
  if (!span.ok() && span.error().code() == ErrorCode::kSyntax) {
    return Error(ErrorCode::kSyntax, "pause " + words::Quote(value) +
                                         ": yes, no or a duration (write 30s) is expected");
  }
  VESTQ_WORD(r->pause_for, std::move(span), Duration);
  return Error::Ok();
}

// `default`: what the queue says of its spaces; `none`: no limit, whatever it says.
Error SetOption(size_t option, std::string_view value, SpaceSetRequest* r) {
  keycodec::SpaceValue& set = r->set;
  const bool unset = words::EqualsIgnoreCase(value, "default");
  const bool none = words::EqualsIgnoreCase(value, "none");
  switch (option) {
    case kConcurrency:
      if (unset) return r->unset.concurrency = 0, Error::Ok();
      if (none) return set.concurrency = keycodec::kSlotsUnlimited, Error::Ok();
      VESTQ_WORD(set.concurrency,
                 words::ParseNumber("concurrency", value, 0, limits::kConcurrencyMax),
                 static_cast<uint32_t>);
      break;
    case kRate:
      if (unset) return r->unset.rate_micro = 0, Error::Ok();
      if (none) return set.rate_micro = 0, Error::Ok();
      VESTQ_WORD(set.rate_micro, ParseRate(value, "rate"), uint64_t);
      break;
    case kBurst:
      if (unset) return r->unset.burst = 0, Error::Ok();
      VESTQ_WORD(set.burst, words::ParseNumber("burst", value, 1, limits::kBurstMax),
                 static_cast<uint32_t>);
      break;
    case kWeight:
      if (unset) return r->unset.weight = 0, Error::Ok();
      VESTQ_WORD(set.weight, words::ParseNumber("weight", value, 1, limits::kSpaceWeightMax),
                 static_cast<uint32_t>);
      break;
    case kPause: return SetPause(value, r);
    default: break;
  }
  return Error::Ok();
}

Error FillSet(Args args, SpaceSetRequest* r) {
  VESTQ_RETURN_IF_ERROR(TakeNames(args, r));
  if (args.size() < 6) return Error(ErrorCode::kSyntax, "SPACE SET needs an option and its value");
  OptionReader options("SPACE SET", kSetOptions, args.subspan(4));
  while (options.Next()) VESTQ_RETURN_IF_ERROR(SetOption(options.option(), options.value(), r));
  return options.error();
}

constexpr OptionSpec kPauseOptions[] = {{"FOR"}};

Error FillPause(Args args, SpaceSetRequest* r) {
  VESTQ_RETURN_IF_ERROR(TakeNames(args, r));
  OptionReader options("SPACE PAUSE", kPauseOptions, args.subspan(4));
  while (options.Next()) {
    VESTQ_WORD(r->pause_for,
               words::ParseDuration("FOR", options.value(), Milliseconds(1), limits::kDelayMax),
               Duration);
  }
  r->pause = true;
  return options.error();
}

Error FillResume(Args args, SpaceSetRequest* r) {
  VESTQ_RETURN_IF_ERROR(TakeNames(args, r));
  if (args.size() != 4) return Error(ErrorCode::kSyntax, WrongArity("space|resume"));
  r->resume = true;
  return Error::Ok();
}

}  // namespace

void Spaces(Session& session, Args args) { SubmitFilled<SpacesRequest>(session, args, FillSpaces); }

void Space(Session& session, Args args) {
  if (Help(session, args)) return;
  const auto is = [&args](std::string_view sub) { return words::EqualsIgnoreCase(sub, args[1]); };
  Error (*const fill)(Args, SpaceSetRequest*) = is("SET")      ? FillSet
                                                : is("PAUSE")  ? FillPause
                                                : is("RESUME") ? FillResume
                                                               : nullptr;
  if (fill == nullptr && !is("INFO"))
    return session.Fail("ERR", UnknownSubcommand("SPACE", args[1]));
  if (args.size() < 4) return session.Fail("ERR", WrongArity("space"));
  if (is("INFO")) return SubmitFilled<SpacesRequest>(session, args, FillInfo);
  SubmitFilled<SpaceSetRequest>(session, args, fill);
}

}  // namespace vestq::handlers
