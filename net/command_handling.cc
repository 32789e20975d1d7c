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

}  // namespace

void Revoke(Session& session, Args args) { SubmitFilled<RevokeRequest>(session, args, FillRevoke); }
void Promote(Session& session, Args args) {
  SubmitFilled<PromoteRequest>(session, args, FillPromote);
}
void Reschedule(Session& session, Args args) {
  SubmitFilled<RescheduleRequest>(session, args, FillReschedule);
}

}  // namespace vestq::handlers
