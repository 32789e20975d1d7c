// `vestq space` and `vestq spaces`: the spaces of a queue, what they have and what is set for one of them.
#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/limits.h"
#include "tools/call.h"
#include "tools/commands.h"
#include "tools/json.h"

namespace vestq {
namespace {

struct SpaceOptions : CallOptions {
  std::string name;  // "space info"
  std::string queue;
  std::string space;
  std::vector<std::string> words;  // set: OPTION=VALUE
  std::string pause_for;
};

int Run(const SpaceOptions& o, const std::vector<std::string_view>& words) {
  return WithDaemon(o.name, o, [&](Client* client) {
    const Result<ReplyPtr> reply = client->Call(words);
    if (!reply.ok()) return reply.error();
    if ((*reply)->type != REDIS_REPLY_ARRAY) {
      if (o.json) PrintJson({{"ok", true}});
    } else if (o.json) {
      PrintJson(JsonOfMap(**reply));
    } else {
      PrintMap(MapOf::kQueue, **reply);
    }
    return Error::Ok();
  });
}

int Info(const SpaceOptions& o) { return Run(o, {"SPACE", "INFO", o.queue, o.space}); }

int Set(const SpaceOptions& o) {
  std::vector<std::string_view> words = {"SPACE", "SET", o.queue, o.space};
  if (const Error wrong = AppendSettings(o.words, &words); !wrong.ok())
    return Complain(o.name, wrong);
  return Run(o, words);
}

int Pause(const SpaceOptions& o) {
  std::vector<std::string_view> words = {"SPACE", "PAUSE", o.queue, o.space};
  if (!o.pause_for.empty()) words.insert(words.end(), {"FOR", o.pause_for});
  return Run(o, words);
}

int Resume(const SpaceOptions& o) { return Run(o, {"SPACE", "RESUME", o.queue, o.space}); }

void PrintRow(std::string_view space, const std::vector<std::string>& cells) {
  fmt::print("{:<24}", space);
  for (const std::string& cell : cells) fmt::print(" {:>12}", cell);
  fmt::print("\n");
}

void PrintSpace(const redisReply& map) {
  const auto text = [&map](std::string_view name) {
    const redisReply* const value = FindInMap(map, name);
    return value == nullptr ? std::string("-") : ValueText(MapOf::kQueue, name, *value);
  };
  // Past so many the daemon stops counting.
  const bool exact = text("ready-exact") != "0";
  const std::string space = text("space");
  PrintRow(space.empty() ? "\"\"" : space,
           {text("ready") + (exact ? "" : "+"), text("oldest-ready"), text("leased"),
            text("weight"), text("concurrency"), text("rate"), text("paused")});
}

int List(const SpaceOptions& o) {
  return WithDaemon("spaces", o, [&o](Client* client) {
    if (!o.json) {
      PrintRow("SPACE", {"READY", "OLDEST", "LEASED", "WEIGHT", "CONCURRENCY", "RATE", "PAUSED"});
    }
    std::string cursor = "0";
    do {
      const Result<ReplyPtr> reply = client->Call({"SPACES", o.queue, "CURSOR", cursor});
      if (!reply.ok()) return reply.error();
      if ((*reply)->type != REDIS_REPLY_ARRAY || (*reply)->elements != 2)
        return Error(ErrorCode::kUnsupported, "SPACES gave another answer than [cursor, [maps]]");
      const redisReply& page = *(*reply)->element[1];
      for (size_t i = 0; i < page.elements; ++i) {
        if (o.json) {
          PrintJson(JsonOfMap(*page.element[i]));
        } else {
          PrintSpace(*page.element[i]);
        }
      }
      cursor = ReplyText(*(*reply)->element[0]);
    } while (cursor != "0");
    return Error::Ok();
  });
}

constexpr char kHelp[] =
    "Examples:\n"
    "  vestq space info mail acme\n"
    "  vestq space set mail acme weight=5 concurrency=10 rate=2.5\n"
    "  vestq space set mail acme concurrency=default       what the queue says holds again\n"
    "  vestq space pause mail acme --for 10m\n"
    "  vestq space resume mail acme\n"
    "\n"
    "\"\" is the space of the jobs without one.\n"
    "Exit status: 0; 1 the server cannot be reached or refused, stderr says why; 2 usage.";

constexpr char kListHelp[] =
    "Examples:\n"
    "  vestq spaces mail\n"
    "  vestq spaces mail --json | jq -r 'select(.leased > 100) | .space'\n"
    "\n"
    "Those with ready or leased jobs or options of their own. A + behind READY: at least so many. "
    "CONCURRENCY, RATE\n"
    "and WEIGHT are what holds, whether the space or the queue says it; OLDEST: since the oldest "
    "ready job was enqueued.\n"
    "Exit status: 0; 1 the server cannot be reached or knows no such queue; 2 usage.";

Command Add(Command parent, const char* name, const char* about,
            const std::shared_ptr<SpaceOptions>& options, Action* action,
            int (*act)(const SpaceOptions&)) {
  options->name = std::string("space ") + name;
  Command command = parent.Add(name, about);
  command.Value("QUEUE", &options->queue, "Queue").Required();
  command.Value("SPACE", &options->space, "Space; \"\" is the empty one").Required().MayBeEmpty();
  AddCallOptions(command, options.get(), "Print one JSON object");
  command.WhenGiven([options, action, act] { *action = [options, act] { return act(*options); }; });
  return command;
}

}  // namespace

void AddSpace(Command program, Action* action) {
  auto options = [] { return std::make_shared<SpaceOptions>(); };
  Command space =
      program.Add("space", "Show a space of a queue, set its options, pause or resume it", kHelp);
  Add(space, "info", "Ready and leased jobs, options", options(), action, Info);
  auto set = options();
  Add(space, "set", "Set options; `default` unsets one", set, action, Set)
      .Value("OPTION=VALUE", &set->words,
             "weight (1-1000), concurrency, rate, burst, pause (yes, no or for how long)")
      .Required()
      .MayBeEmpty();
  auto paused = options();
  Add(space, "pause", "Give no more of its jobs out", paused, action, Pause)
      .Value("--for", &paused->pause_for, "Resume by itself after this long: 30s, 10m")
      .Span(Milliseconds(1), limits::kDelayMax);
  Add(space, "resume", "Give its jobs out again", options(), action, Resume);

  auto listed = std::make_shared<SpaceOptions>();
  Command spaces = program.Add("spaces", "List the spaces of a queue", kListHelp);
  spaces.Value("QUEUE", &listed->queue, "Queue").Required();
  AddCallOptions(spaces, listed.get(), "Print one JSON object a space, a line each");
  spaces.WhenGiven([listed, action] { *action = [listed] { return List(*listed); }; });
}

}  // namespace vestq
