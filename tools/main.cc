// vestq: the daemon and its tools in one program. `vestq --help` and `vestq SUB-COMMAND --help`
// teach it.
#include <spdlog/fmt/fmt.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <csignal>
#include <cstring>
#include <set>
#include <string>
#include <vector>

#include "tools/commands.h"
#include "tools/exit_status.h"

namespace {

constexpr char kAbout[] =
    "vestq: a durable job queue for one machine.\n"
    "\n"
    "A job is a payload in a queue. A worker leases it for a while, does it, and completes it; "
    "when the worker dies\n"
    "the lease ends and the job is there again. What the server has answered survives a power cut.";

constexpr char kFirstMinutes[] =
    "First minutes:\n"
    "  vestq serve &                                          starts the daemon on ./vestq-data\n"
    "  vestq enqueue mail \"to: ann@example.com\"               puts a job into the queue mail, "
    "prints its id\n"
    "  vestq enqueue mail --delay 10m \"to: bob@example.com\"   one that may run in ten minutes\n"
    "  vestq work mail -- ./send-mail                         runs ./send-mail for each job, "
    "payload on its stdin\n"
    "  vestq stats                                            what is ready, scheduled, leased, "
    "dead\n"
    "  redis-cli -p 7733 LEASE mail BLOCK 10s                 any Redis client is a client\n"
    "\n"
    "Exit status: 0 done; 1 failed, a line on stderr says why; 2 the command line is wrong or does "
    "not fit the store,\n"
    "nothing changed; 3 (serve) the store failed, nothing was acknowledged wrongly.";

// What an option means when its value is empty is a guess, and an unset variable of a script makes it
// so: `purge q --state "$STATE"` must not purge everything. Only what may be empty may.
void RefuseEmptyValues(CLI::App* app) {
  static const std::set<std::string> may_be_empty = {"--space", "--worker", "--header", "PAYLOAD",
                                                     "OPTION=VALUE"};
  for (CLI::Option* const option : app->get_options([](const CLI::Option*) { return true; })) {
    if (option->get_items_expected_max() == 0 || may_be_empty.contains(option->get_name()))
      continue;
    option->check(
        [](const std::string& value) {
          return value.empty() ? std::string("its value is empty") : std::string();
        },
        "");
  }
  for (CLI::App* const sub : app->get_subcommands([](const CLI::App*) { return true; })) {
    RefuseEmptyValues(sub);
  }
}

// "vestq queue set": the sub-command that the command line had come to.
std::string NameOf(const CLI::App* app) {
  std::string name = "vestq";
  for (auto subs = app->get_subcommands(); !subs.empty(); subs = app->get_subcommands()) {
    app = subs.back();
    name += " " + app->get_name();
  }
  return name;
}

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);
  spdlog::set_default_logger(spdlog::stderr_logger_mt("vestq"));
  spdlog::set_pattern("%Y-%m-%dT%H:%M:%S.%e %l %v");

  // `work` runs what stands after `--`, whatever it looks like.
  std::vector<std::string> command;
  if (argc > 1 && std::strcmp(argv[1], "work") == 0) {
    char** const dashes =
        std::find_if(argv, argv + argc, [](const char* a) { return std::strcmp(a, "--") == 0; });
    if (dashes != argv + argc) {
      command.assign(dashes + 1, argv + argc);
      argc = static_cast<int>(dashes - argv);
    }
  }

  vestq::Action action;
  CLI::App app(kAbout, "vestq");
  app.set_version_flag("--version", std::string("vestq ") + VESTQ_VERSION);
  app.footer(kFirstMinutes);
  app.require_subcommand(1);
  vestq::AddServe(&app, &action);
  vestq::AddEnqueue(&app, &action);
  vestq::AddWork(&app, &command, &action);
  vestq::AddCheckpoint(&app, &action);
  vestq::AddPeek(&app, &action);
  vestq::AddJobs(&app, &action);
  vestq::AddWatch(&app, &action);
  vestq::AddRedrive(&app, &action);
  vestq::AddPurge(&app, &action);
  vestq::AddQueue(&app, &action);
  vestq::AddSchedule(&app, &action);
  vestq::AddWorkers(&app, &action);
  vestq::AddExport(&app, &action);
  vestq::AddImport(&app, &action);
  vestq::AddStats(&app, &action);
  vestq::AddCheck(&app, &action);
  RefuseEmptyValues(&app);
  if (argc > 1 && argv[1][0] != '-' &&
      app.get_subcommands([&](const CLI::App* sub) { return sub->get_name() == argv[1]; })
          .empty()) {
    fmt::print(stderr, "vestq: there is no sub-command \"{}\"; `vestq --help` lists them\n",
               argv[1]);
    return vestq::kExitUsage;
  }
  app.failure_message([](const CLI::App* root, const CLI::Error& error) {
    const std::string name = NameOf(root);
    return fmt::format("{}: {}; `{} --help` tells more\n", name, error.what(), name);
  });
  try {  // CLI11 reports by exception; none leaves this function
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? vestq::kExitOk : vestq::kExitUsage;
  }
  return action();
}
