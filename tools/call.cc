#include "tools/call.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <iterator>

#include "engine/base/limits.h"
#include "lease/duration_text.h"
#include "tools/address.h"
#include "tools/exit_status.h"
#include "tools/printable.h"

namespace vestq {
namespace {

// Option words of the wire that are --options here, under the same name.
constexpr std::string_view kWords[] = {
    "AFTER",  "AT",      "ATTEMPTS", "BACKOFF", "BLOCK", "COUNT", "CRON",   "CURSOR",   "DELAY",
    "EVERY",  "EXPIRE",  "FOR",      "HEADER",  "KEEP",  "LEASE", "MISSED", "PRIORITY", "RATE",
    "REASON", "REPLACE", "RESULT",   "SPACE",   "STATE", "TYPE",  "TZ",     "UNIQUE",   "WORKER"};

bool IsWordByte(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-'; }

// "ERR BACKOFF 'x': ..." is "--backoff 'x': ..." on a command line.
std::string InOptions(std::string_view text) {
  if (text.starts_with("ERR ")) text.remove_prefix(4);
  std::string out;
  while (!text.empty()) {
    size_t size = 0;
    while (size < text.size() && IsWordByte(text[size])) ++size;
    const std::string_view word = text.substr(0, std::max<size_t>(size, 1));
    const bool quoted = !out.empty() && out.back() == '\'';
    if (!quoted && std::find(std::begin(kWords), std::end(kWords), word) != std::end(kWords)) {
      out += "--";
      for (const char c : word) out += static_cast<char>(c - 'A' + 'a');
    } else {
      out += word;
    }
    text.remove_prefix(word.size());
  }
  return out;
}

}  // namespace

void AddServerOptions(Command command, Where* where) {
  where->server = kDefaultServer;
  where->timeout = kDefaultPatience;
  command.Value("--server", &where->server, "Where the daemon listens")
      .FromEnvironment("VESTQ_SERVER")
      .ShowDefault();
  command
      .Value("--timeout", &where->timeout,
             "How long the daemon may be silent: to connect, and for each answer; 0: for ever")
      .Span(Duration(0), limits::kBlockMax)
      .ShowDefault();
}

void AddCallOptions(Command command, CallOptions* options, const char* json) {
  AddServerOptions(command, options);
  command.Flag("--json", &options->json, json);
}

Result<Client> ConnectTo(const Where& where) {
  const Result<Address> address = ParseAddress(where.server);
  if (!address.ok()) return Error(address.error().code(), "--server: " + address.error().text());
  const Result<Duration> patience = ParseDuration(where.timeout, "--timeout");
  if (!patience.ok()) return patience.error();
  return Client::Connect(*address, *patience);
}

int Complain(std::string_view name, const Error& error) {
  const bool words = error.code() == ErrorCode::kSyntax || error.code() == ErrorCode::kRange;
  const std::string text = words && name != "call" ? InOptions(error.text()) : error.text();
  const char* const advice = error.text().starts_with("ERR unknown command") && name != "call"
                                 ? " (what listens there is no vestq, or an older one)"
                                 : "";
  fmt::print(stderr, "vestq {}: {}{}\n", name, Printable(text), advice);
  return words ? kExitUsage : kExitFailed;
}

int ComplainUsage(std::string_view name, const std::string& text) {
  fmt::print(stderr, "vestq {}: {}\n", name, Printable(text));
  return kExitUsage;
}

int WithDaemon(std::string_view name, const CallOptions& options,
               const std::function<Error(Client* client)>& act) {
  Result<Client> client = ConnectTo(options);
  Error error = client.ok() ? act(&*client) : client.error();
  if (error.ok()) error = FlushOutput();
  return error.ok() ? int{kExitOk} : Complain(name, error);
}

std::string ValueText(MapOf of, std::string_view name, const redisReply& value) {
  if (value.type == REDIS_REPLY_NIL) return "-";
  if (value.type == REDIS_REPLY_INTEGER) return NumberText(of, name, value.integer);
  return Printable(ReplyText(value));
}

void PrintMap(MapOf of, const redisReply& map) {
  size_t width = 0;
  for (size_t i = 0; i + 1 < map.elements; i += 2)
    width = std::max(width, ReplyText(*map.element[i]).size());
  for (size_t i = 0; i + 1 < map.elements; i += 2) {
    const redisReply& value = *map.element[i + 1];
    const std::string name = Printable(ReplyText(*map.element[i]));
    if (value.type != REDIS_REPLY_ARRAY) {
      fmt::print("{:<{}}  {}\n", name, width, ValueText(of, name, value));
      continue;
    }
    if (name != "headers") {
      std::string list;
      for (size_t k = 0; k < value.elements; ++k)
        list += (k == 0 ? "" : ", ") + Printable(ReplyText(*value.element[k]));
      fmt::print("{:<{}}  {}\n", name, width, list);
      continue;
    }
    for (size_t k = 0; k + 1 < value.elements; k += 2) {
      fmt::print("{:<{}}  {}: {}\n", name, width, Printable(ReplyText(*value.element[k])),
                 Printable(ReplyText(*value.element[k + 1])));
    }
  }
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
