// `vestq work`: runs a command for each job of some queues.
#include <spdlog/fmt/fmt.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/limits.h"
#include "lease/duration_text.h"
#include "tools/address.h"
#include "tools/call.h"
#include "tools/client.h"
#include "tools/commands.h"
#include "tools/exit_status.h"
#include "tools/json.h"
#include "tools/worker.h"

namespace vestq {
namespace {

// Three pipes each; more than this from one process is better served by several.
constexpr uint32_t kConcurrencyMax = 1000;

struct Options {
  WorkerOptions worker;
  std::string server;
  std::string space;
  CommandOption space_option;
  std::string give_up;
  bool json = false;
};

// With --drain, unless --give-up says something else: somebody waits for its end.
constexpr Duration kDrainGiveUp = Seconds(60);

int Usage(const std::string& text) {
  fmt::print(stderr, "vestq work: {}\n", text);
  return kExitUsage;
}

bool IsProgram(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) &&
         ::access(path.c_str(), X_OK) == 0;
}

// Finds the program now, so that a misspelt one does not use up the attempts of every job.
bool CanExecute(const std::string& program) {
  if (program.find('/') != std::string::npos) return IsProgram(program);
  const char* const variable = std::getenv("PATH");
  std::string_view path = variable == nullptr ? "/bin:/usr/bin" : variable;
  while (true) {
    const size_t colon = path.find(':');
    const std::string folder(path.substr(0, colon));
    if (IsProgram((folder.empty() ? "." : folder) + "/" + program)) return true;
    if (colon == std::string_view::npos) return false;
    path.remove_prefix(colon + 1);
  }
}

std::string DefaultName() {
  char host[256] = {};
  ::gethostname(host, sizeof host - 1);
  return std::string(host).substr(0, 150) + ":" + std::to_string(::getpid());
}

// What a drained worker has left: a paused queue looks empty to it.
void TellPaused(Client* client, const std::vector<std::string>& queues) {
  for (const std::string& queue : queues) {
    const Result<ReplyPtr> reply = client->Call({"QUEUE", "INFO", queue});
    if (!reply.ok()) {
      if (reply.error().text().starts_with("NOTFOUND"))
        fmt::print(stderr, "vestq work: there is no queue \"{}\"\n", queue);
      continue;
    }
    const redisReply* const paused = FindInMap(**reply, "paused");
    const redisReply* const ready = FindInMap(**reply, "ready");
    if (paused == nullptr || ready == nullptr || paused->integer == 0) continue;
    fmt::print(
        stderr,
        "vestq work: the queue \"{}\" is paused and gives no jobs out: {} ready ones are left "
        "(vestq queue resume {})\n",
        queue, ready->integer, queue);
  }
}

// On stderr: stdout has what the commands print.
void PrintCounts(const Worker::Counts& counts) {
  const nlohmann::ordered_json out = {{"completed", counts.completed},
                                      {"failed", counts.failed},
                                      {"lost", counts.lost},
                                      {"released", counts.released}};
  fmt::print(stderr, "{}\n", out.dump());
}

int Work(Options* options, const std::vector<std::string>& command) {
  WorkerOptions& worker = options->worker;
  if (command.empty())
    return Usage("after the queues stands `--` and the command: vestq work mail -- ./send-mail");
  if (!CanExecute(command[0]))
    return Usage("\"" + command[0] + "\" cannot be executed: no file of that name is a program");
  if (worker.queues.size() > limits::kQueuesPerLease) {
    return Usage("at most " + std::to_string(limits::kQueuesPerLease) + " queues");
  }
  if (worker.concurrency < 1 || worker.concurrency > kConcurrencyMax) {
    return Usage("--concurrency must be 1 to " + std::to_string(kConcurrencyMax));
  }
  if (!worker.lease.empty()) {
    const Result<Duration> lease = ParseDuration(worker.lease, "lease");
    if (!lease.ok()) return Usage("--lease: " + lease.error().text());
    if (*lease < limits::kLeaseMin || *lease > limits::kLeaseMax) {
      return Usage("--lease must be " + DurationToText(limits::kLeaseMin) + " to " +
                   DurationToText(limits::kLeaseMax));
    }
  }
  const Result<Duration> give_up = options->give_up.empty()
                                       ? (worker.drain ? kDrainGiveUp : Duration(0))
                                       : ParseDuration(options->give_up, "--give-up");
  if (!give_up.ok()) return Usage(give_up.error().text());
  worker.give_up_ms = give_up->ms();
  if (options->space_option.given()) worker.space = options->space;
  const Result<Address> address = ParseAddress(options->server);
  if (!address.ok()) return Usage("--server: " + address.error().text());
  worker.server = *address;
  // A server that has never been there is a wrong address more often than one that will come.
  if (const Result<Client> client = Client::Connect(*address); !client.ok()) {
    fmt::print(stderr, "vestq work: {}\n", client.error().text());
    return kExitFailed;
  }
  worker.command = command;
  if (worker.name.empty()) worker.name = DefaultName();

  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGTERM, SIGINT, SIGCHLD}) sigaddset(&set, signal);
  sigprocmask(SIG_BLOCK, &set, nullptr);
  Worker loop(worker);
  const int status = loop.Run();
  if (options->json) PrintCounts(loop.counts());
  if (status != kExitOk || !worker.drain) return status;
  if (Result<Client> client = Client::Connect(*address); client.ok())
    TellPaused(&*client, worker.queues);
  return status;
}

constexpr char kHelp[] =
    "The command gets the payload on stdin and the job in its environment: VESTQ_ID, VESTQ_QUEUE, "
    "VESTQ_SPACE,\n"
    "VESTQ_ATTEMPT (1 at the first delivery), VESTQ_ATTEMPTS (0: no limit), VESTQ_PRIORITY, "
    "VESTQ_RECEIPT,\n"
    "VESTQ_SERVER; where the job has one VESTQ_TYPE, VESTQ_CHECKPOINT, and VESTQ_HEADER_NAME for "
    "each "
    "header\n"
    "(trace-id: VESTQ_HEADER_TRACE_ID). Values with a zero byte are left out.\n"
    "\n"
    "  exit status 0     the job is completed, once what the command printed is written\n"
    "  --result          what it printed on stdout, byte for byte and at most 1 MiB, is the job's "
    "RESULT "
    "instead: waitfor\n"
    "                    and job show it if the job is kept (enqueue --keep, queue set keep=)\n"
    "  anything else     the job fails, the end of stderr (4 KiB) is its reason; it runs again "
    "after its back-off\n"
    "  while it runs     the lease is renewed each third of its length, also after the daemon was "
    "away\n"
    "  vestq checkpoint  run by the command: saves how far it is, for the next delivery\n"
    "  lease lost        (cancelled, revoked, expired) the command's process group is killed: "
    "someone "
    "else may have the\n"
    "                    job. It is noticed at the next renewal, 10 s with a lease of 30 s; "
    "--lease 3s: "
    "within 1 s\n"
    "  server away       it is tried again, for ever or --give-up; one that was never there: exit "
    "1\n"
    "  SIGTERM, SIGINT   leases no more, finishes the running jobs, exits 0; a second one kills "
    "the commands and gives\n"
    "                    their jobs back, attempts not used\n"
    "\n"
    "A job may run twice, if its worker or the machine dies at the wrong moment: let VESTQ_ID tell "
    "you.\n"
    "\n"
    "Examples:\n"
    "  vestq work mail -- ./send-mail\n"
    "  vestq work urgent mail --concurrency 8 --lease 2m -- sh -c 'convert - "
    "\"out/$VESTQ_ID.png\"'\n"
    "  vestq work sums --result -- ./sum          then: vestq waitfor 4711 --json | jq -r .result\n"
    "\n"
    "Exit status: 0 told to stop, or drained; 1 the server was not there or stayed away, it "
    "refused a "
    "LEASE, or jobs\n"
    "were left unanswered; 2 usage.";

}  // namespace

void AddWork(Command program, const std::vector<std::string>* command, Action* action) {
  auto options = std::make_shared<Options>();
  Command work = program.Add(
      "work", "Run a command for each job: vestq work QUEUE... [options] -- COMMAND...", kHelp);
  work.Value("QUEUE", &options->worker.queues, "Queues, served in this order").Required();
  work.Value("--concurrency", &options->worker.concurrency, "Commands at a time").ShowDefault();
  work.Value("--lease", &options->worker.lease,
             "How long a job is ours without a renewal: 100ms to 7d (the job's)");
  work.Value("--worker", &options->worker.name, "Name shown beside the jobs it holds (host:pid)")
      .MayBeEmpty();
  options->space_option =
      work.Value("--space", &options->space, "Only jobs of this space; \"\" is the empty one")
          .MayBeEmpty();
  work.Flag("--result", &options->worker.result,
            "The command's stdout becomes its job's RESULT and is not printed");
  work.Value("--give-up", &options->give_up,
             "Exit 1 when the server has been away this long and nothing runs; 0: never (1m "
             "with --drain, else 0)");
  AddServerOption(work, &options->server);
  work.Flag("--drain", &options->worker.drain,
            "Exit 0 once nothing is ready and nothing runs; says which queues are paused");
  work.Flag("--json", &options->json,
            "At the end print how many jobs were completed, failed, lost and released on stderr");
  work.Flag("--verbose", &options->worker.verbose,
            "Log the start and the end of each job on stderr");
  work.WhenGiven([options, command, action] {
    *action = [options, command] { return Work(options.get(), *command); };
  });
}

}  // namespace vestq
