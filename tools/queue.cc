// `vestq queue`: shows a queue, sets its options, pauses, resumes and drops it.
#include <spdlog/fmt/fmt.h>

#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/limits.h"
#include "tools/call.h"
#include "tools/commands.h"
#include "tools/json.h"
#include "tools/purge.h"
#include "tools/queue_set.h"

namespace vestq {
namespace {

struct Options : CallOptions {
  std::string name;  // "queue info"
  std::string queue;
  std::string pause_for;
};

int Run(const Options& options, const std::vector<std::string_view>& words) {
  return WithDaemon(options.name, options, [&](Client* client) {
    const Result<ReplyPtr> reply = client->Call(words);
    if (!reply.ok()) return reply.error();
    if ((*reply)->type != REDIS_REPLY_ARRAY) {
      if (options.json) PrintJson({{"ok", true}});
    } else if (options.json) {
      PrintJson(JsonOfMap(**reply));
    } else {
      PrintMap(MapOf::kQueue, **reply);
    }
    return Error::Ok();
  });
}

int Pause(const Options& options) {
  std::vector<std::string_view> words = {"QUEUE", "PAUSE", options.queue};
  if (!options.pause_for.empty()) words.insert(words.end(), {"FOR", options.pause_for});
  return Run(options, words);
}

int List(const Options& o) {
  return WithDaemon("queue list", o, [&o](Client* client) {
    std::string cursor = "0";
    do {
      std::vector<std::string_view> words = {"QUEUES"};
      if (!o.queue.empty()) words.push_back(o.queue);
      words.insert(words.end(), {"CURSOR", cursor});
      const Result<ReplyPtr> reply = client->Call(words);
      if (!reply.ok()) return reply.error();
      const redisReply& names = *(*reply)->element[1];
      for (size_t i = 0; i < names.elements; ++i) {
        const std::string name = ReplyText(*names.element[i]);
        if (o.json) {
          PrintJson({{"queue", name}});
        } else {
          fmt::print("{}\n", name);
        }
      }
      cursor = ReplyText(*(*reply)->element[0]);
    } while (cursor != "0");
    return Error::Ok();
  });
}

constexpr char kExamples[] =
    "Examples:\n"
    "  vestq queue list \"mail-*\"\n"
    "  vestq queue info mail\n"
    "  vestq queue set mail lease=2m attempts=5 backoff=exp:10s:1h keep=1d\n"
    "  vestq queue set mail backoff=default\n"
    "  vestq queue set mail max-jobs=100000 max-bytes=1GiB rate=50/s burst=100\n"
    "  vestq queue pause mail --for 10m      takes jobs, gives none out\n"
    "  vestq queue resume mail\n"
    "  vestq queue drop mail                 with all that is in it\n"
    "\n"
    "Exit status: 0; 1 the server cannot be reached or refused, stderr says why; 2 usage.";

// A sub-command of `queue` that runs `act` on the options.
Command Add(Command parent, const char* name, const char* about,
            const std::shared_ptr<Options>& options, Action* action,
            int (*act)(const Options& options)) {
  options->name = std::string("queue ") + name;
  Command command = parent.Add(name, about);
  command.Value("QUEUE", &options->queue, "Queue").Required();
  AddCallOptions(command, options.get(), "Print one JSON object");
  command.WhenGiven([options, action, act] { *action = [options, act] { return act(*options); }; });
  return command;
}

}  // namespace

void AddQueue(Command program, Action* action) {
  auto options = [] { return std::make_shared<Options>(); };
  Command queue =
      program.Add("queue", "Show a queue, set its options, pause, resume or drop it", kExamples);
  auto listed = options();
  Command list = queue.Add("list", "Names of the queues there are");
  list.Value("PATTERN", &listed->queue, "Only those that match; * and ? as in a shell");
  AddCallOptions(list, listed.get(), "Print one JSON object a line");
  list.WhenGiven([listed, action] { *action = [listed] { return List(*listed); }; });
  Add(queue, "info", "Counts by state, what happened since it was made, options", options(), action,
      [](const Options& o) {
        return Run(o, {"QUEUE", "INFO", o.queue});
      });
  AddQueueSet(queue, action);
  auto paused = options();
  Add(queue, "pause", "Give no more jobs out; a pause there is already begins anew", paused, action,
      Pause)
      .Value("--for", &paused->pause_for, "Resume by itself after this long: 30s, 10m")
      .Span(Milliseconds(1), limits::kDelayMax);
  Add(queue, "resume", "Give jobs out again", options(), action, [](const Options& o) {
    return Run(o, {"QUEUE", "RESUME", o.queue});
  });
  AddQueueDrop(queue, action);
}

}  // namespace vestq
