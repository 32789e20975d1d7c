// vestq: the daemon and its tools in one program. `vestq --help` and `vestq SUB-COMMAND --help`
// teach it.
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "tools/command_line.h"
#include "tools/commands.h"

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
  vestq::CommandLine line("vestq", kAbout, kFirstMinutes, std::string("vestq ") + VESTQ_VERSION);
  vestq::Command program = line.root();
  vestq::AddServe(program, &action);
  vestq::AddEnqueue(program, &action);
  vestq::AddWork(program, &command, &action);
  vestq::AddLease(program, &action);
  vestq::AddCheckpoint(program, &action);
  vestq::AddPeek(program, &action);
  vestq::AddJobs(program, &action);
  vestq::AddWatch(program, &action);
  vestq::AddRedrive(program, &action);
  vestq::AddPurge(program, &action);
  vestq::AddQueue(program, &action);
  vestq::AddSpace(program, &action);
  vestq::AddSchedule(program, &action);
  vestq::AddWorkers(program, &action);
  vestq::AddExport(program, &action);
  vestq::AddImport(program, &action);
  vestq::AddStats(program, &action);
  vestq::AddRaw(program, &action);
  vestq::AddCheck(program, &action);
  if (const std::optional<int> status = line.Parse(argc, argv)) return *status;
  return action();
}
