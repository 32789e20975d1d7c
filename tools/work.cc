// `vestq work`: runs a command for each job of some queues.
#include <spdlog/fmt/fmt.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
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
#include "tools/printable.h"
#include "tools/worker.h"

namespace vestq {
namespace {

// Three pipes each; more than this from one process is better served by several.
constexpr uint32_t kConcurrencyMax = 1000;

struct Options : Where {
  WorkerOptions worker;
  std::string space;
  CommandOption space_option;
  std::string give_up;
  bool json = false;
};

// With --drain, unless --give-up says something else: somebody waits for its end.
constexpr Duration kDrainGiveUp = Seconds(60);

int Usage(const std::string& text) { return ComplainUsage("work", text); }

// Why a file is no program; empty when it is one.
std::string WhyNoProgram(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return std::strerror(errno);
  if (!S_ISREG(status.st_mode)) return "it is no file";
  return ::access(path.c_str(), X_OK) == 0 ? "" : "it is not executable (chmod +x)";
}

// Looks for the program now, so that a misspelt one does not use up the attempts of every job. Empty when it is there.
std::string WhyNot(const std::string& program) {
  if (program.find('/') != std::string::npos) return WhyNoProgram(program);
  const char* const variable = std::getenv("PATH");
  std::string_view path = variable == nullptr ? "/bin:/usr/bin" : variable;
  while (true) {
    const size_t colon = path.find(':');
    const std::string folder(path.substr(0, colon));
    if (WhyNoProgram((folder.empty() ? "." : folder) + "/" + program).empty()) return "";
    if (colon == std::string_view::npos) return "no folder of PATH has a program of that name";
    path.remove_prefix(colon + 1);
  }
}

std::string DefaultName() {
  char host[256] = {};
  ::gethostname(host, sizeof host - 1);
  return std::string(host).substr(0, 150) + ":" + std::to_string(::getpid());
}

// On stderr: stdout has what the commands print.
void PrintCounts(const Worker::Counts& counts) {
  const nlohmann::ordered_json out = {{"completed", counts.completed},
                                      {"failed", counts.failed},
                                      {"lost", counts.lost},
                                      {"released", counts.released}};
  fmt::print(stderr, "{}\n", out.dump());
}

// Whether a vestq answers there. One that waits for a queue that is not there is told: it may be misspelt.
Error CheckServer(const Where& where, const WorkerOptions& worker) {
  Result<Client> client = ConnectTo(where);
  if (!client.ok()) return client.error();
  VESTQ_RETURN_IF_ERROR(client->Call({"PING"}).error());
  for (size_t i = 0; !worker.drain && i < worker.queues.size(); ++i) {
    const Result<ReplyPtr> info = client->Call({"QUEUE", "INFO", worker.queues[i]});
    if (info.ok() || info.error().code() == ErrorCode::kIo) continue;
    if (info.error().code() != ErrorCode::kNotFound) return info.error();
    fmt::print(stderr, "vestq work: there is no queue \"{}\" yet: waiting for its first job\n",
               worker.queues[i]);
  }
  return Error::Ok();
}

int Work(Options* options, const std::vector<std::string>& command) {
  WorkerOptions& worker = options->worker;
  if (command.empty())
    return Usage("after the queues stands `--` and the command: vestq work mail -- ./send-mail");
  if (const std::string why = WhyNot(command[0]); !why.empty())
    return Usage("\"" + command[0] + "\" cannot be executed: " + why);
  if (worker.queues.size() > limits::kQueuesPerLease) {
    return Usage("at most " + std::to_string(limits::kQueuesPerLease) + " queues");
  }
  const Result<Duration> give_up = options->give_up.empty()
                                       ? (worker.drain ? kDrainGiveUp : Duration(0))
                                       : ParseDuration(options->give_up, "--give-up");
  if (!give_up.ok()) return Usage(give_up.error().text());
  worker.give_up_ms = give_up->ms();
  if (const Result<Duration> patience = ParseDuration(options->timeout); patience.ok())
    worker.patience_ms = patience->ms();
  if (options->space_option.given()) worker.space = options->space;
  const Result<Address> address = ParseAddress(options->server);
  if (!address.ok()) return Usage("--server: " + address.error().text());
  worker.server = *address;
  // A server that has never been there is a wrong address more often than one that will come.
  if (const Error wrong = CheckServer(*options, worker); !wrong.ok())
    return Complain("work", wrong);
  worker.command = command;
  if (worker.name.empty()) worker.name = DefaultName();

  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGTERM, SIGINT, SIGCHLD}) sigaddset(&set, signal);
  sigprocmask(SIG_BLOCK, &set, nullptr);
  Worker loop(worker);
  const int status = loop.Run();
  if (options->json) PrintCounts(loop.counts());
  for (const std::string& line : loop.left())
    fmt::print(stderr, "vestq work: {}\n", Printable(line));
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
    "(trace-id: VESTQ_HEADER_TRACE_ID; of names that are the same then, the last). Values with a "
    "zero "
    "byte are left out.\n"
    "\n"
    "  exit status 0     the job is completed, once what the command printed is written\n"
    "  --result          what it printed on stdout, byte for byte and at most 1 MiB, is the job's "
    "RESULT "
    "instead: waitfor\n"
    "                    and job show it if the job is kept (enqueue --keep, queue set keep=)\n"
    "  65, EX_DATAERR    the job is dead at once; --dead-on says which statuses do that\n"
    "  75, EX_TEMPFAIL   the job fails and runs again after --again-in, whatever its back-off "
    "says; "
    "--again-on\n"
    "  anything else     the job fails and runs again after its back-off; the end of stderr (4 "
    "KiB) "
    "is the reason of any\n"
    "                    failure. Each uses an attempt, and the last one makes the job dead\n"
    "  vestq fail, complete, release $VESTQ_RECEIPT   run by the command, end the lease there and "
    "then, with a delay or\n"
    "                    a reason of its own; then it ends soon, and its exit status counts for "
    "nothing\n"
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
  work.Value("--concurrency", &options->worker.concurrency, "Commands at a time")
      .Between(1, kConcurrencyMax)
      .ShowDefault();
  work.Value("--lease", &options->worker.lease,
             "How long a job is ours without a renewal: 100ms to 7d (the job's)")
      .Span(limits::kLeaseMin, limits::kLeaseMax);
  work.Value("--worker", &options->worker.name, "Name shown beside the jobs it holds (host:pid)")
      .MayBeEmpty();
  options->space_option =
      work.Value("--space", &options->space, "Only jobs of this space; \"\" is the empty one")
          .MayBeEmpty();
  work.Flag("--result", &options->worker.result,
            "The command's stdout becomes its job's RESULT and is not printed");
  work.Value("--dead-on", &options->worker.exits.dead,
             "Exit statuses that make the job dead at once, with commas between; 0: none (65)")
      .OneValue()
      .Commas()
      .Between(0, 255);
  work.Value("--again-on", &options->worker.exits.again,
             "Exit statuses after which it runs again after --again-in; 0: none (75)")
      .OneValue()
      .Commas()
      .Between(0, 255);
  work.Value("--again-in", &options->worker.exits.again_in, "How long that is: 30s, 10m")
      .Span(Duration(0), limits::kDelayMax)
      .ShowDefault();
  work.Value("--give-up", &options->give_up,
             "Exit 1 when the server has been away this long and nothing runs; 0: never (1m "
             "with --drain, else 0)")
      .Span(Duration(0), limits::kBlockMax);
  AddServerOptions(work, options.get());
  work.Flag(
      "--drain", &options->worker.drain,
      "Exit 0 once nothing is ready and nothing runs. Jobs that a limit holds are waited for; "
      "those of a queue or space that is paused, or has concurrency 0, are left and named");
  work.Flag("--json", &options->json,
            "At the end print how many jobs were completed, failed, lost and released on stderr");
  work.Flag("--verbose", &options->worker.verbose,
            "Log the start and the end of each job on stderr");
  work.WhenGiven([options, command, action] {
    *action = [options, command] { return Work(options.get(), *command); };
  });
}

}  // namespace vestq
