#include "tools/call.h"

#include <spdlog/fmt/fmt.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>

#include "tools/address.h"
#include "tools/exit_status.h"

namespace vestq {

void AddServerOption(CLI::App* command, std::string* server) {
  *server = kDefaultServer;
  command->add_option("--server", *server, "Where the daemon listens")
      ->envname("VESTQ_SERVER")
      ->capture_default_str();
}

void AddCallOptions(CLI::App* command, CallOptions* options, const char* json) {
  AddServerOption(command, &options->server);
  command->add_flag("--json", options->json, json);
}

int WithDaemon(std::string_view name, const CallOptions& options,
               const std::function<Error(Client* client)>& act) {
  const Result<Address> address = ParseAddress(options.server);
  if (!address.ok()) {
    fmt::print(stderr, "vestq {}: --server: {}\n", name, address.error().text());
    return kExitUsage;
  }
  Result<Client> client = Client::Connect(*address);
  Error error = client.ok() ? act(&*client) : client.error();
  if (error.ok()) error = FlushOutput();
  if (error.ok()) return kExitOk;
  fmt::print(stderr, "vestq {}: {}\n", name, error.text());
  return kExitFailed;
}

void PrintMap(const redisReply& map) {
  size_t width = 0;
  for (size_t i = 0; i + 1 < map.elements; i += 2)
    width = std::max(width, ReplyText(*map.element[i]).size());
  for (size_t i = 0; i + 1 < map.elements; i += 2) {
    const redisReply& value = *map.element[i + 1];
    const std::string name = ReplyText(*map.element[i]);
    if (value.type != REDIS_REPLY_ARRAY) {
      fmt::print("{:<{}}  {}\n", name, width, ReplyText(value));
      continue;
    }
    for (size_t k = 0; k + 1 < value.elements; k += 2) {
      fmt::print("{:<{}}  {}: {}\n", name, width, ReplyText(*value.element[k]),
                 ReplyText(*value.element[k + 1]));
    }
  }
}

Error FlushOutput() {
  return std::fflush(stdout) == 0 ? Error::Ok() : Error(ErrorCode::kIo, "cannot write to stdout");
}

}  // namespace vestq
