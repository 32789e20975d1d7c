// What the sub-commands that ask the daemon one thing have in common: the option --server, --json,
// one command and its answer, errors on stderr. Blocking; one thread.
#pragma once

#include <hiredis/hiredis.h>

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/result.h"
#include "tools/client.h"
#include "tools/commands.h"

namespace vestq {

// Options that each of them has.
struct CallOptions {
  std::string server;
  bool json = false;
};
// Adds --server, which the environment variable VESTQ_SERVER stands in for: `vestq work` sets it for its
// commands.
void AddServerOption(CLI::App* command, std::string* server);
// Adds --server and --json to a sub-command; `json` is what its help says of the output.
void AddCallOptions(CLI::App* command, CallOptions* options, const char* json);

// Connects, has `act` talk to the daemon and returns the exit status; what goes wrong is one line on
// stderr that begins with "vestq NAME: ".
int WithDaemon(std::string_view name, const CallOptions& options,
               const std::function<Error(Client* client)>& act);

// A flat map of the daemon as "name value" lines, aligned.
void PrintMap(const redisReply& map);
// Error of stdout, if it failed.
Error FlushOutput();

}  // namespace vestq
