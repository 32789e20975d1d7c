#include "tools/call.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cstdio>

#include "tools/address.h"
#include "tools/exit_status.h"

namespace vestq {

void AddServerOption(Command command, std::string* server) {
  *server = kDefaultServer;
  command.Value("--server", server, "Where the daemon listens")
      .FromEnvironment("VESTQ_SERVER")
      .ShowDefault();
}

void AddCallOptions(Command command, CallOptions* options, const char* json) {
  AddServerOption(command, &options->server);
  command.Flag("--json", &options->json, json);
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

std::string ValueText(MapOf of, std::string_view name, const redisReply& value) {
  if (value.type == REDIS_REPLY_NIL) return "-";
  if (value.type == REDIS_REPLY_INTEGER) return NumberText(of, name, value.integer);
  return ReplyText(value);
}

void PrintMap(MapOf of, const redisReply& map) {
  size_t width = 0;
  for (size_t i = 0; i + 1 < map.elements; i += 2)
    width = std::max(width, ReplyText(*map.element[i]).size());
  for (size_t i = 0; i + 1 < map.elements; i += 2) {
    const redisReply& value = *map.element[i + 1];
    const std::string name = ReplyText(*map.element[i]);
    if (value.type != REDIS_REPLY_ARRAY) {
      fmt::print("{:<{}}  {}\n", name, width, ValueText(of, name, value));
      continue;
    }
    if (name != "headers") {
      std::string list;
      for (size_t k = 0; k < value.elements; ++k)
        list += (k == 0 ? "" : ", ") + ReplyText(*value.element[k]);
      fmt::print("{:<{}}  {}\n", name, width, list);
      continue;
    }
    for (size_t k = 0; k + 1 < value.elements; k += 2) {
      fmt::print("{:<{}}  {}: {}\n", name, width, ReplyText(*value.element[k]),
                 ReplyText(*value.element[k + 1]));
    }
  }
}

std::string OnOneLine(std::string text) {
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
  }
  return text;
}

Error AppendSettings(const std::vector<std::string>& settings,
                     std::vector<std::string_view>* words) {
  for (const std::string& setting : settings) {
    const size_t equals = setting.find('=');
    if (equals == std::string::npos)
      return Error(ErrorCode::kSyntax, "\"" + setting + "\": OPTION=VALUE is expected");
    words->push_back(std::string_view(setting).substr(0, equals));
    words->push_back(std::string_view(setting).substr(equals + 1));
  }
  return Error::Ok();
}

Error FlushOutput() {
  return std::fflush(stdout) == 0 ? Error::Ok() : Error(ErrorCode::kIo, "cannot write to stdout");
}

}  // namespace vestq
