// `vestq queue`: shows a queue, sets its options, pauses, resumes and drops it.
#include <spdlog/fmt/fmt.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tools/call.h"
#include "tools/commands.h"
#include "tools/exit_status.h"
#include "tools/json.h"
#include "tools/purge.h"

namespace vestq {
namespace {

struct Options : CallOptions {
  std::string queue;
  std::vector<std::string> words;  // set: OPTION=VALUE
  std::string pause_for;
};

int Run(const Options& options, const std::vector<std::string_view>& words) {
  return WithDaemon("queue", options, [&](Client* client) {
    const Result<ReplyPtr> reply = client->Call(words);
    if (!reply.ok()) return reply.error();
    if ((*reply)->type != REDIS_REPLY_ARRAY) {
      if (options.json) PrintJson({{"ok", true}});
    } else if (options.json) {
      PrintJson(JsonOfMap(**reply));
    } else {
      PrintMap(**reply);
    }
    return Error::Ok();
  });
}

int Set(const Options& options) {
  std::vector<std::string_view> words = {"QUEUE", "SET", options.queue};
  for (const std::string& word : options.words) {
    const size_t equals = word.find('=');
    if (equals == std::string::npos) {
      fmt::print(stderr, "vestq queue set: \"{}\": OPTION=VALUE is expected\n", word);
      return kExitUsage;
    }
    words.push_back(std::string_view(word).substr(0, equals));
    words.push_back(std::string_view(word).substr(equals + 1));
  }
  return Run(options, words);
}

int Pause(const Options& options) {
  std::vector<std::string_view> words = {"QUEUE", "PAUSE", options.queue};
  if (!options.pause_for.empty()) words.insert(words.end(), {"FOR", options.pause_for});
  return Run(options, words);
}

constexpr char kExamples[] =
    "Examples:\n"
    "  vestq queue info mail\n"
    "  vestq queue set mail lease=2m attempts=5 backoff=exp:10s:1h keep=1d\n"
    "  vestq queue set mail backoff=default\n"
    "  vestq queue pause mail --for 10m      takes jobs, gives none out\n"
    "  vestq queue resume mail\n"
    "  vestq queue drop mail                 with all that is in it\n"
    "\n"
    "Exit status: 0; 1 the server cannot be reached or refused, stderr says why; 2 usage.";

// A sub-command of `queue` that runs `act` on the options.
CLI::App* Add(CLI::App* parent, const char* name, const char* about,
              const std::shared_ptr<Options>& options, Action* action,
              int (*act)(const Options& options)) {
  CLI::App* const command = parent->add_subcommand(name, about);
  command->add_option("QUEUE", options->queue, "Queue")->required();
  AddCallOptions(command, options.get(), "Print one JSON object");
  command->callback([options, action, act] { *action = [options, act] { return act(*options); }; });
  return command;
}

}  // namespace

void AddQueue(CLI::App* app, Action* action) {
  auto options = std::make_shared<Options>();
  CLI::App* const queue =
      app->add_subcommand("queue", "Show a queue, set its options, pause, resume or drop it");
  queue->footer(kExamples);
  queue->require_subcommand(1);
  Add(queue, "info", "Counts by state, what happened since it was made, options", options, action,
      [](const Options& o) {
        return Run(o, {"QUEUE", "INFO", o.queue});
      });
  Add(queue, "set", "Set options; `default` unsets one", options, action, Set)
      ->add_option("OPTION=VALUE", options->words,
                   "lease, attempts, backoff, keep, dead-keep, dead-max, order (priority or time), "
                   "concurrency, space-concurrency, rate, burst")
      ->required();
  Add(queue, "pause", "Give no more jobs out", options, action, Pause)
      ->add_option("--for", options->pause_for, "Resume by itself after this long: 30s, 10m");
  Add(queue, "resume", "Give jobs out again", options, action, [](const Options& o) {
    return Run(o, {"QUEUE", "RESUME", o.queue});
  });
  AddQueueDrop(queue, action);
}

}  // namespace vestq
