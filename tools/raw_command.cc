// `vestq call`: any command of the wire, as it is written in net/PROTOCOL.md, and its answer.
#include <spdlog/fmt/fmt.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "keycodec/tuple.h"
#include "tools/call.h"
#include "tools/commands.h"
#include "tools/encoding.h"
#include "tools/exit_status.h"
#include "tools/json.h"
#include "tools/printable.h"

namespace vestq {
namespace {

struct RawOptions : CallOptions {
  std::vector<std::string> words;
};

// Arrays stay arrays: nobody but the command knows which of them are maps.
nlohmann::ordered_json JsonOf(const redisReply& reply) {
  switch (reply.type) {
    case REDIS_REPLY_INTEGER: return reply.integer;
    case REDIS_REPLY_NIL: return nullptr;
    case REDIS_REPLY_ARRAY: break;
    default: {
      const std::string text = ReplyText(reply);
      if (keycodec::IsUtf8(text)) return text;
      return {{"base64", ToBase64(text)}};
    }
  }
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (size_t i = 0; i < reply.elements; ++i) list.push_back(JsonOf(*reply.element[i]));
  return list;
}

// Every byte, for programs; on a terminal without control characters, but its lines stay lines (INFO).
std::string ForOutput(const std::string& text) {
  static const bool terminal = ::isatty(STDOUT_FILENO) != 0;
  if (!terminal) return text;
  std::string out;
  for (size_t at = 0; at <= text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    const bool cr = end > at && end < text.size() && text[end - 1] == '\r';
    out += (at == 0 ? "" : "\n") +
           Printable(std::string_view(text).substr(at, end - at - (cr ? 1 : 0)));
    at = end + 1;
  }
  return out;
}

// A line for each string, number and null; what is inside an array inside an array is indented.
void PrintPlain(const redisReply& reply, size_t indent) {
  if (reply.type != REDIS_REPLY_ARRAY) {
    fmt::print("{:{}}{}\n", "", indent,
               reply.type == REDIS_REPLY_NIL ? "(null)" : ForOutput(ReplyText(reply)));
    return;
  }
  for (size_t i = 0; i < reply.elements; ++i) {
    const bool nested = reply.element[i]->type == REDIS_REPLY_ARRAY;
    PrintPlain(*reply.element[i], nested ? indent + 2 : indent);
  }
}

int Raw(const RawOptions& o) {
  return WithDaemon("call", o, [&](Client* client) {
    const Result<ReplyPtr> reply =
        client->Call(std::vector<std::string_view>(o.words.begin(), o.words.end()));
    if (!reply.ok()) return reply.error();
    if (o.json) {
      PrintJson(JsonOf(**reply));
    } else {
      PrintPlain(**reply, 0);
    }
    return Error::Ok();
  });
}

constexpr char kHelp[] =
    "Examples:\n"
    "  vestq call INFO\n"
    "  vestq call SET greeting hello\n"
    "  vestq call RANGE result: COUNT 10 --json      [cursor, [key, value, ...]]\n"
    "  vestq call CLIENT LIST\n"
    "\n"
    "One command on a connection of its own, so that groups (MULTI) and EVENTS need a client: "
    "redis-cli, vestq tail.\n"
    "Commands and their answers: net/PROTOCOL.md. A word that begins with a dash, and what follows "
    "it, stand after `--`.\n"
    "\n"
    "A string is printed as it is, on a terminal with control characters as \\x1b.\n"
    "Exit status: 0; 1 the server cannot be reached or answered with an error, which stands on "
    "stderr; 2 usage, and\n"
    "the errors ERR and RANGE: the words are wrong.";

}  // namespace

void AddRaw(Command program, Action* action) {
  auto options = std::make_shared<RawOptions>();
  Command call =
      program.Add("call", "Send any command of net/PROTOCOL.md and print the answer", kHelp);
  call.Value("WORD", &options->words, "The command and its arguments").Required().MayBeEmpty();
  AddCallOptions(call, options.get(), "Print the answer as JSON");
  call.WhenGiven([options, action] { *action = [options] { return Raw(*options); }; });
}

}  // namespace vestq
