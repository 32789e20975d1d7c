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
#include "tools/time_text.h"

namespace vestq {

// Options that each of them has.
struct CallOptions {
  std::string server;
  bool json = false;
};
// Adds --server, which the environment variable VESTQ_SERVER stands in for: `vestq work` sets it for its
// commands.
void AddServerOption(Command command, std::string* server);
// Adds --server and --json to a sub-command; `json` is what its help says of the output.
void AddCallOptions(Command command, CallOptions* options, const char* json);

// Connects, has `act` talk to the daemon and returns the exit status; what goes wrong is one line on
// stderr that begins with "vestq NAME: ".
int WithDaemon(std::string_view name, const CallOptions& options,
               const std::function<Error(Client* client)>& act);

// What a map of the daemon says under `name`, for people: times as such, "-" for null.
[[nodiscard]] std::string ValueText(MapOf of, std::string_view name, const redisReply& value);
// A flat map of the daemon as "name value" lines, aligned.
void PrintMap(MapOf of, const redisReply& map);
// The same with a blank for each control character, so that a row of a table stays one, whatever a job's reason or
// space is.
[[nodiscard]] std::string OnOneLine(std::string text);
// "OPTION=VALUE" as two words each, as QUEUE SET and SPACE SET take them; the views live as long as the settings.
// Errors: kSyntax for one without "=".
[[nodiscard]] Error AppendSettings(const std::vector<std::string>& settings,
                                   std::vector<std::string_view>* words);
// Error of stdout, if it failed.
Error FlushOutput();

}  // namespace vestq
