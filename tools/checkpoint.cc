// `vestq checkpoint`: what a command of `vestq work` has got done so far, kept with its job.
#include <spdlog/fmt/fmt.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/limits.h"
#include "tools/call.h"
#include "tools/commands.h"
#include "tools/exit_status.h"
#include "tools/json.h"
#include "tools/payload.h"

namespace vestq {
namespace {

struct CheckpointOptions : CallOptions {
  PayloadOptions bytes;
  std::string receipt;
  std::string lease;
};

int Checkpoint(const CheckpointOptions& o) {
  if (o.bytes.sources() != 1)
    return ComplainUsage("checkpoint", "give one of PAYLOAD, --stdin or --file");
  const Result<std::string> bytes = ReadPayload(o.bytes, limits::kCheckpointBytes);
  if (!bytes.ok()) return Complain("checkpoint", bytes.error());
  return WithDaemon("checkpoint", o, [&](Client* client) {
    std::vector<std::string_view> words = {"CHECKPOINT", o.receipt, *bytes};
    if (!o.lease.empty()) words.insert(words.end(), {"FOR", o.lease});
    const Result<ReplyPtr> reply = client->Call(words);
    if (!reply.ok()) return reply.error();
    // Without --json nothing: stdout may be the job's result (`vestq work --result`).
    if (o.json) PrintJson({{"lease-left", (*reply)->integer}});
    return Error::Ok();
  });
}

constexpr char kHelp[] =
    "Examples, in a command that `vestq work` runs (the receipt is in its environment):\n"
    "  vestq checkpoint \"page 17\"            the next delivery finds it in VESTQ_CHECKPOINT\n"
    "  vestq checkpoint --file state.bin      any bytes, up to 64 KiB\n"
    "  vestq checkpoint \"\"                   takes it back\n"
    "\n"
    "Once it returns the checkpoint survives a crash, a failure and a redrive; it replaces the one "
    "before. The\n"
    "lease lasts from now as with a renewal.\n"
    "Exit status: 0; 1 the server cannot be reached or refused (LEASELOST: stop, the job is "
    "someone "
    "else's);\n"
    "2 usage.";

}  // namespace

void AddCheckpoint(Command program, Action* action) {
  auto options = std::make_shared<CheckpointOptions>();
  Command command =
      program.Add("checkpoint", "Save how far a leased job has come, for its next delivery", kHelp);
  AddPayloadOptions(command, &options->bytes, "The checkpoint", "The checkpoint");
  command.Value("--receipt", &options->receipt, "Of the lease")
      .FromEnvironment("VESTQ_RECEIPT")
      .Required();
  command.Value("--for", &options->lease, "The lease lasts this long from now")
      .Span(limits::kLeaseMin, limits::kLeaseMax);
  AddCallOptions(command, options.get(), "Print one JSON object: ms left of the lease");
  command.WhenGiven([options, action] { *action = [options] { return Checkpoint(*options); }; });
}

}  // namespace vestq
