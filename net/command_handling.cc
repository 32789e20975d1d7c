// Commands that look at jobs and move them by hand: REVOKE, PROMOTE, RESCHEDULE.
#include "net/command.h"
#include "net/command_words.h"
#include "net/options.h"
#include "net/session.h"

namespace vestq::handlers {
namespace {

Error FillRevoke(Args args, RevokeRequest* r) {
  VESTQ_WORD(r->id, ParseJobId(args[1]), JobId);
  return Error::Ok();
}

Error FillPromote(Args args, PromoteRequest* r) {
  VESTQ_WORD(r->id, ParseJobId(args[1]), JobId);
  return Error::Ok();
}

namespace reschedule_options {
enum : size_t { kDelay, kAt, kPriority };
constexpr OptionSpec kSpecs[] = {
    {"DELAY", true, true, 1u << kAt}, {"AT", true, true, 1u << kDelay}, {"PRIORITY"}};
}  // namespace reschedule_options

Error FillReschedule(Args args, RescheduleRequest* r) {
  using namespace reschedule_options;
  VESTQ_WORD(r->id, ParseJobId(args[1]), JobId);
  OptionReader options("RESCHEDULE", kSpecs, args.subspan(2));
  while (options.Next()) {
    switch (options.option()) {
      case kDelay: VESTQ_WORD(r->delay, ParseDelay(options.value()), Duration); break;
      case kAt:
        VESTQ_WORD(r->at, words::ParseTime("AT", options.value()), WallTime);
        r->at_set = true;
        break;
      case kPriority:
        VESTQ_WORD(r->priority, words::ParseNumber("PRIORITY", options.value(), 0, kPriorityMax),
                   static_cast<uint32_t>);
        r->priority_set = true;
        break;
      default: break;
    }
  }
  if (!options.error().ok()) return options.error();
  if (!options.seen(kDelay) && !options.seen(kAt)) {
    return Error(ErrorCode::kSyntax, "RESCHEDULE needs DELAY d or AT t");
  }
  return Error::Ok();
}

namespace peek_options {
enum : size_t { kState, kSpace, kCount, kCursor, kPayload };
constexpr OptionSpec kSpecs[] = {{"STATE"}, {"SPACE"}, {"COUNT"}, {"CURSOR"}, {"PAYLOAD", false}};
}  // namespace peek_options

Error FillPeek(Args args, PeekRequest* r) {
  using namespace peek_options;
  OptionReader options("PEEK", kSpecs, args.subspan(2));
  while (options.Next()) {
    switch (options.option()) {
      case kState: VESTQ_WORD(r->state, words::ParseState(options.value()), JobState); break;
      case kSpace:
        r->one_space = true;
        r->space.assign(options.value());
        break;
      case kCount:
        VESTQ_WORD(r->count, words::ParseNumber("COUNT", options.value(), 1, limits::kPeekCountMax),
                   static_cast<uint32_t>);
        break;
      case kCursor: r->cursor.assign(options.value()); break;
      case kPayload: r->want_payload = true; break;
      default: break;
    }
  }
  r->queue.assign(args[1]);
  return options.error();
}

namespace redrive_options {
enum : size_t { kId, kCount, kAll, kTo, kRate };
constexpr OptionSpec kSpecs[] = {{"ID", true, true, 1u << kCount | 1u << kAll},
                                 {"COUNT", true, true, 1u << kId | 1u << kAll},
                                 {"ALL", false, true, 1u << kId | 1u << kCount},
                                 {"TO"},
                                 {"RATE"}};
}  // namespace redrive_options

// "100/s".
Result<uint32_t> ParseRate(std::string_view text) {
  if (!text.ends_with("/s") && !text.ends_with("/S")) {
    return Error(ErrorCode::kSyntax,
                 "RATE " + words::Quote(text) + ": jobs a second are expected, as in 100/s");
  }
  const auto rate =
      words::ParseNumber("RATE", text.substr(0, text.size() - 2), 1, limits::kRedriveRateMax);
  if (!rate.ok()) return rate.error();
  return static_cast<uint32_t>(*rate);
}

Error FillRedrive(Args args, RedriveRequest* r) {
  using namespace redrive_options;
  r->queue.assign(args[1]);
  OptionReader options("REDRIVE", kSpecs, args.subspan(2));
  while (options.Next()) {
    switch (options.option()) {
      case kId: VESTQ_WORD(r->id, ParseJobId(options.value()), JobId); break;
      case kCount:
        VESTQ_WORD(r->count, words::ParseNumber("COUNT", options.value(), 1, limits::kJobIdMax),
                   uint64_t);
        break;
      case kTo:
        VESTQ_RETURN_IF_ERROR(CheckQueueName(options.value()));
        r->to.assign(options.value());
        break;
      case kRate: VESTQ_WORD(r->rate, ParseRate(options.value()), uint32_t); break;
      default: break;
    }
  }
  return options.error();  // without a selection: all
}

Error FillWorkers(Args args, WorkersRequest* r) {
  if (args.size() > 2) return Error(ErrorCode::kSyntax, WrongArity("WORKERS"));
  if (args.size() == 1) return Error::Ok();
  VESTQ_RETURN_IF_ERROR(CheckQueueName(args[1]));
  r->queue.assign(args[1]);
  return Error::Ok();
}

}  // namespace

void Peek(Session& session, Args args) { SubmitFilled<PeekRequest>(session, args, FillPeek); }
void Redrive(Session& session, Args args) {
  SubmitFilled<RedriveRequest>(session, args, FillRedrive);
}
void Workers(Session& session, Args args) {
  SubmitFilled<WorkersRequest>(session, args, FillWorkers);
}
void Revoke(Session& session, Args args) { SubmitFilled<RevokeRequest>(session, args, FillRevoke); }
void Promote(Session& session, Args args) {
  SubmitFilled<PromoteRequest>(session, args, FillPromote);
}
void Reschedule(Session& session, Args args) {
  SubmitFilled<RescheduleRequest>(session, args, FillReschedule);
}

}  // namespace vestq::handlers
