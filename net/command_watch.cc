// Commands that look on: WAITFOR and EVENTS.
#include "engine/base/limits.h"
#include "net/command.h"
#include "net/command_words.h"
#include "net/options.h"
#include "net/session.h"
#include "net/words.h"

namespace vestq::handlers {
namespace {

constexpr OptionSpec kWaitForOptions[] = {{"BLOCK"}};

Error FillWaitFor(Args args, WaitForRequest* r) {
  VESTQ_WORD(r->id, ParseJobId(args[1]), JobId);
  OptionReader options("WAITFOR", kWaitForOptions, args.subspan(2));
  while (options.Next()) {
    VESTQ_WORD(r->block,
               words::ParseDuration("BLOCK", options.value(), Duration(0), limits::kBlockMax),
               Duration);
    r->wait = true;
  }
  return options.error();
}

}  // namespace

void WaitFor(Session& session, Args args) {
  SubmitFilled<WaitForRequest>(session, args, FillWaitFor);
}

void Events(Session& session, Args args) {
  const Args queues = args.subspan(1);
  if (queues.size() > limits::kQueuesPerLease) {
    return session.Fail(Error(ErrorCode::kRange, "EVENTS of " + std::to_string(queues.size()) +
                                                     " queues is outside 0 to " +
                                                     std::to_string(limits::kQueuesPerLease)));
  }
  for (std::string_view queue : queues) {
    if (const Error error = CheckQueueName(queue); !error.ok()) return session.Fail(error);
  }
  if (const Error error = session.Listen({queues.begin(), queues.end()}); !error.ok())
    return session.Fail(error);
  session.writer().Simple("OK");
}

}  // namespace vestq::handlers
