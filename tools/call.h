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

// Where the daemon is, and how long it may be silent.
struct Where {
  std::string server;
  std::string timeout;
};
// Options that each of them has.
struct CallOptions : Where {
  bool json = false;
};
// Adds --server, which the environment variable VESTQ_SERVER stands in for: `vestq work` sets it for its
// commands; and --timeout.
void AddServerOptions(Command command, Where* where);
// Adds them and --json to a sub-command; `json` is what its help says of the output.
void AddCallOptions(Command command, CallOptions* options, const char* json);

// Errors: kSyntax for an address that is none; those of Client::Connect.
[[nodiscard]] Result<Client> ConnectTo(const Where& where);

// One line on stderr that begins with "vestq NAME: ", and the exit status: kExitUsage when the words of the command
// line are wrong, found by the program or by the server (kSyntax, kRange), else kExitFailed. The server's option
// words become those of the command line.
int Complain(std::string_view name, const Error& error);
// The same for a mistake on the command line.
int ComplainUsage(std::string_view name, const std::string& text);

// Connects, has `act` talk to the daemon and returns the exit status; what goes wrong is told as Complain does.
int WithDaemon(std::string_view name, const CallOptions& options,
               const std::function<Error(Client* client)>& act);

// What a map of the daemon says under `name`, for people: times as such, "-" for null, nothing that a terminal obeys.
[[nodiscard]] std::string ValueText(MapOf of, std::string_view name, const redisReply& value);
// A flat map of the daemon as "name value" lines, aligned.
void PrintMap(MapOf of, const redisReply& map);
// "OPTION=VALUE" as two words each, as QUEUE SET and SPACE SET take them; the views live as long as the settings.
// Errors: kSyntax for one without "=".
[[nodiscard]] Error AppendSettings(const std::vector<std::string>& settings,
                                   std::vector<std::string_view>* words);
// Error of stdout, if it failed.
Error FlushOutput();

}  // namespace vestq
