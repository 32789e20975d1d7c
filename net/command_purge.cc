// PURGE and QUEUE DROP.
#include <string>

#include "engine/purge_request.h"
#include "net/command.h"
#include "net/command_words.h"
#include "net/options.h"
#include "net/session.h"

namespace vestq::handlers {
namespace {

namespace purge_options {
enum : size_t { kState, kSpace, kId };
constexpr OptionSpec kSpecs[] = {{"STATE"}, {"SPACE"}, {"ID"}};
}  // namespace purge_options

Error FillIds(Args ids, PurgeRequest* r) {
  if (ids.empty()) return Error(ErrorCode::kSyntax, "PURGE ID needs at least one id");
  for (const std::string_view text : ids) {
    JobId id;
    VESTQ_WORD(id, ParseJobId(text), JobId);
    r->ids.push_back(id);
  }
  return Error::Ok();
}

Error FillPurge(Args args, PurgeRequest* r) {
  using namespace purge_options;
  r->queue.assign(args[1]);
  if (args.size() > 2 && words::EqualsIgnoreCase(args[2], "ID")) return FillIds(args.subspan(3), r);
  OptionReader options("PURGE", kSpecs, args.subspan(2));
  while (options.Next()) {
    switch (options.option()) {
      case kState: VESTQ_WORD(r->state, words::ParseState(options.value()), JobState); break;
      case kSpace:
        r->one_space = true;
        r->space.assign(options.value());
        break;
      case kId: return Error(ErrorCode::kSyntax, "PURGE queue ID id ... takes no other options");
      default: break;
    }
  }
  return options.error();
}

Error FillDrop(Args args, PurgeRequest* r) {
  if (args.size() != 3) return Error(ErrorCode::kSyntax, WrongArity("queue|drop"));
  r->queue.assign(args[2]);
  r->drop = true;
  return Error::Ok();
}

}  // namespace

void Purge(Session& session, Args args) { SubmitFilled<PurgeRequest>(session, args, FillPurge); }
void DropQueue(Session& session, Args args) { SubmitFilled<PurgeRequest>(session, args, FillDrop); }

}  // namespace vestq::handlers
