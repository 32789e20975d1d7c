// `vestq serve`: the daemon. Opens the store, starts the server, waits for a signal, closes.
#include <poll.h>
#include <sched.h>
#include <spdlog/spdlog.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>

#include "engine/base/limits.h"
#include "engine/engine.h"
#include "lease/duration_text.h"
#include "net/address.h"
#include "net/server.h"
#include "tools/address.h"
#include "tools/commands.h"
#include "tools/exit_status.h"
#include "tools/json.h"
#include "tools/units.h"

namespace vestq {
namespace {

// SIGTERM ends the process within a second. What was answered is safe in the log by then, so after
// this long the rest of the closing (which only makes the next start quicker) is left out.
constexpr suseconds_t kCloseMicroseconds = 850'000;
// Of it, for what is under way to be answered.
constexpr Duration kAnswerGrace = Milliseconds(300);
// Of --max-payload, which bounds every argument of a command: a checkpoint fits.
constexpr uint64_t kMaxPayloadLeast = limits::kCheckpointBytes;
// Of --max-leased: far more leases than memory has room for.
constexpr uint64_t kMaxLeasedMost = 1'000'000'000;

struct Options {
  std::string data = "./vestq-data";
  std::string resp = "127.0.0.1:7733";
  uint32_t cores = 0;  // 0: as many as the process may use
  std::string memory = "256MiB";
  std::string durability = "sync";
  std::string io = "auto";
  uint32_t lanes = 0;
  size_t max_leased = 0;  // 0: by memory
  std::string max_payload = "1MiB";
  bool accept_data_loss = false;
  bool json = false;
};

int Complain(int status, const std::string& text) {
  fmt::print(stderr, "vestq serve: {}\n", text);
  return status;
}

// --- From words to options ---

Error ParseDurability(const std::string& text, EngineOptions* engine) {
  constexpr std::string_view kInterval = "interval:";
  if (text == "sync") {
    engine->durability = Durability::kSync;
    return Error::Ok();
  }
  if (text == "os") {
    engine->durability = Durability::kOs;
    return Error::Ok();
  }
  if (std::string_view(text).substr(0, kInterval.size()) == kInterval) {
    const Result<Duration> interval =
        ParseDuration(std::string_view(text).substr(kInterval.size()), "interval");
    if (!interval.ok()) return interval.error();
    if (*interval < Milliseconds(1) || *interval > Hours(1)) {
      return Error(ErrorCode::kRange, "the interval must be 1ms to 1h");
    }
    engine->durability = Durability::kInterval;
    engine->sync_interval = *interval;
    return Error::Ok();
  }
  return Error(ErrorCode::kSyntax,
               "\"" + text + "\" is not a mode: write sync, interval:50ms or os");
}

Error ParseEngine(const Options& options, EngineOptions* engine) {
  engine->path = options.data;
  if (options.data.empty()) return Error(ErrorCode::kRange, "--data: the name is empty");
  const Result<uint64_t> memory = ParseSize(options.memory);
  if (!memory.ok()) return Error(ErrorCode::kSyntax, "--memory: " + memory.error().text());
  if (*memory < limits::kMemoryMin) {
    return Error(ErrorCode::kRange, "--memory must be at least " + FormatSize(limits::kMemoryMin));
  }
  engine->memory = *memory;
  const auto pages = static_cast<uint64_t>(std::max(0L, ::sysconf(_SC_PHYS_PAGES)));
  const uint64_t machine = pages * static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
  if (pages > 0 && *memory > machine) {
    spdlog::warn("--memory {} is more than this machine has, {}MiB", FormatSize(*memory),
                 machine >> 20);
  }
  if (Error error = ParseDurability(options.durability, engine); !error.ok()) {
    return Error(error.code(), "--durability: " + error.text());
  }
  if (options.cores > limits::kCoresMax) {
    return Error(ErrorCode::kRange, "--cores must be 1 to " + std::to_string(limits::kCoresMax));
  }
  if (options.lanes > limits::kLanesMax) {
    return Error(ErrorCode::kRange, "--lanes must be 1 to " + std::to_string(limits::kLanesMax));
  }
  if (options.lanes != 0 && options.cores > options.lanes) {
    return Error(ErrorCode::kRange, "--cores " + std::to_string(options.cores) +
                                        " is more than --lanes " + std::to_string(options.lanes) +
                                        ": a core without a lane has nothing to do");
  }
  engine->lanes = static_cast<uint16_t>(options.lanes);
  engine->max_leased = options.max_leased;
  engine->accept_data_loss = options.accept_data_loss;
  return Error::Ok();
}

// `memory` is the engine's.
Error ParseMaxPayload(const std::string& text, uint64_t memory, size_t* bytes) {
  const Result<uint64_t> size = ParseSize(text);
  if (!size.ok()) return Error(ErrorCode::kSyntax, "--max-payload: " + size.error().text());
  const uint64_t most =
      std::min<uint64_t>(limits::kPayloadHardMax, memory / limits::kMemoryPerPayload);
  if (*size < kMaxPayloadLeast || *size > most) {
    return Error(ErrorCode::kRange, "--max-payload " + text + " must be " +
                                        FormatSize(kMaxPayloadLeast) + " to " + FormatSize(most) +
                                        ": with --memory " + FormatSize(memory) +
                                        " a sixteenth of it, and never more than 64MiB");
  }
  *bytes = *size;
  return Error::Ok();
}

Error ParseIo(const std::string& text, IoKind* io) {
  if (text == "auto") {
    *io = IoKind::kAuto;
  } else if (text == "uring") {
    *io = IoKind::kUring;
  } else if (text == "epoll") {
    *io = IoKind::kEpoll;
  } else {
    return Error(ErrorCode::kSyntax,
                 "--io: \"" + text + "\" is not a way to do I/O: write auto, uring or epoll");
  }
  return Error::Ok();
}

// --- Before the store is touched ---

// A connection needs a file; the soft limit is often 1024.
void RaiseFileLimit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

uint16_t UsableCores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  const int count = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
  return static_cast<uint16_t>(std::clamp<int>(count, 1, limits::kCoresMax));
}

// Listens for a moment, so that an address that cannot be had is told before a data directory is
// made or opened. ListenOn asks again for a second while a port is in use: the kernel closes the sockets
// of a killed daemon's io_uring only some time after the process is gone, and a supervisor is quicker.
Error ProbeAddress(const std::string& address) {
  const Result<BoundSocket> bound = ListenOn(address);
  if (!bound.ok()) return bound.error();
  ::close(bound->fd);
  return Error::Ok();
}

Result<std::unique_ptr<Engine>> OpenEngine(const Options& options, EngineOptions engine) {
  if (options.cores != 0) {
    engine.cores = static_cast<uint16_t>(options.cores);
    return Engine::Open(engine);
  }
  // Not asked for: at most the lanes, which a store that exists knows better than we do.
  engine.cores = std::min(UsableCores(), engine.lanes != 0 ? engine.lanes : limits::kLanesDefault);
  while (true) {
    Result<std::unique_ptr<Engine>> opened = Engine::Open(engine);
    if (opened.ok() || engine.cores == 1 || opened.error().code() != ErrorCode::kRange)
      return opened;
    engine.cores = static_cast<uint16_t>(engine.cores / 2);
  }
}

// --- Running ---

// What ends the daemon, from any thread.
class EndEvents {
 public:
  EndEvents() : fd_(::eventfd(0, EFD_CLOEXEC)) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    // Blocked in every thread that is started from here on; a second one stays pending and does
    // nothing.
    pthread_sigmask(SIG_BLOCK, &set, nullptr);
    signals_ = ::signalfd(-1, &set, SFD_CLOEXEC);
    CHECK(fd_ >= 0 && signals_ >= 0, "eventfd, signalfd");
  }
  ~EndEvents() {
    ::close(fd_);
    ::close(signals_);
  }
  void Raise() const {
    const uint64_t one = 1;
    if (::write(fd_, &one, sizeof one) < 0) return;  // raised already
  }
  // Blocks. The signal's name, or nothing for Raise.
  std::string Wait() const {
    while (true) {
      pollfd entries[] = {{fd_, POLLIN, 0}, {signals_, POLLIN, 0}};
      if (::poll(entries, 2, -1) < 0) continue;
      if (entries[0].revents != 0) return "";
      signalfd_siginfo info{};
      if (entries[1].revents != 0 && ::read(signals_, &info, sizeof info) == sizeof info) {
        return info.ssi_signo == SIGINT ? "SIGINT" : "SIGTERM";
      }
    }
  }

 private:
  int fd_ = -1;
  int signals_ = -1;
};

void OnCloseTimer(int) {
  constexpr char kText[] =
      "vestq: closing takes long, leaving now; the next start reads the log instead\n";
  if (::write(STDERR_FILENO, kText, sizeof kText - 1) < 0) ::_exit(kExitOk);
  ::_exit(kExitOk);
}

void StartCloseTimer() {
  std::signal(SIGALRM, OnCloseTimer);
  itimerval timer{};
  timer.it_value.tv_usec = kCloseMicroseconds;
  setitimer(ITIMER_REAL, &timer, nullptr);
}

void LogStart(const Engine& engine, const Options& options) {
  const EngineInfo info = engine.Info();
  const OpenReport& open = info.open;
  spdlog::info("{} {}: {} lanes, {} cores, memory {}, durability {}, start {}",
               open.created ? "made" : "opened", info.path, info.lanes, info.cores,
               FormatSize(info.memory), options.durability, info.epoch);
  if (!open.created) {
    spdlog::info("{} jobs ready, {} scheduled, {} waiting, {} leased, {} dead", info.jobs_ready,
                 info.jobs_scheduled, info.jobs_waiting, info.jobs_leased, info.jobs_dead);
  }
}

int Run(const Options& options, EngineOptions engine_options, ServerOptions server_options) {
  const auto log = [](std::string_view line) { spdlog::warn("{}", line); };
  const EndEvents end;
  engine_options.log = log;
  server_options.log = log;
  server_options.on_shutdown = [&end] { end.Raise(); };
  server_options.on_failure = [&end](const Error&) { end.Raise(); };

  Result<std::unique_ptr<Engine>> opened = OpenEngine(options, engine_options);
  if (!opened.ok()) {
    return Complain(opened.error().code() == ErrorCode::kRange ? kExitUsage : kExitFailed,
                    opened.error().text());
  }
  const std::unique_ptr<Engine> engine = std::move(*opened);
  LogStart(*engine, options);
  Result<std::unique_ptr<Server>> started = Server::Start(engine.get(), server_options);
  if (!started.ok()) return Complain(kExitFailed, started.error().text());
  const std::unique_ptr<Server> server = std::move(*started);
  if (options.json) {
    PrintJson({{"listening", {{"resp", server->address()}}}});
  } else {
    fmt::print("listening resp {}\n", server->address());
  }
  std::fflush(stdout);

  const std::string signal = end.Wait();
  if (engine->failed()) {
    // The answers that say so are on their way; nothing is synced or written any more.
    const Error failure = engine->failure();
    StartCloseTimer();
    server->Stop(kAnswerGrace);
    spdlog::critical(
        "the store has failed: {}; nothing was acknowledged that is not safe, and nothing is until "
        "a "
        "restart with "
        "room and a working disk",
        failure.text());
    std::fflush(nullptr);
    ::_exit(kExitEngine);
  }
  spdlog::info("{}: stopping", signal.empty() ? "SHUTDOWN" : signal);
  StartCloseTimer();
  server->Stop(kAnswerGrace);
  if (const Error error = engine->Close(); !error.ok()) {
    spdlog::critical("closing failed: {}", error.text());
    std::fflush(nullptr);
    ::_exit(kExitEngine);
  }
  return kExitOk;
}

int Serve(const Options& options) {
  EngineOptions engine;
  ServerOptions server;
  if (const Error error = ParseEngine(options, &engine); !error.ok())
    return Complain(kExitUsage, error.text());
  if (const Error error = ParseIo(options.io, &server.io); !error.ok())
    return Complain(kExitUsage, error.text());
  if (const Error error =
          ParseMaxPayload(options.max_payload, engine.memory, &server.limits.payload_max);
      !error.ok())
    return Complain(kExitUsage, error.text());
  if (const Result<Address> address = ParseAddress(options.resp); !address.ok()) {
    return Complain(kExitUsage, "--resp: " + address.error().text());
  }
  server.resp = options.resp;
  server.version = VESTQ_VERSION;
  RaiseFileLimit();
  if (const Error error = ProbeAddress(options.resp); !error.ok())
    return Complain(kExitFailed, error.text());
  return Run(options, engine, server);
}

constexpr char kHelp[] =
    "Durability: what has been answered before a power cut, and is there after it\n"
    "  sync            everything (the default; one sync serves all that wait for it)\n"
    "  interval:50ms   everything but the last 50 ms; answered at once\n"
    "  os              what the kernel had written; answered at once\n"
    "A crash of the daemon alone loses nothing in any mode.\n"
    "\n"
    "Examples:\n"
    "  vestq serve\n"
    "  vestq serve --data /var/lib/vestq --memory 1GiB --cores 4\n"
    "  vestq serve --resp 127.0.0.1:0        prints the port that the kernel picked\n"
    "\n"
    "Prints `listening resp HOST:PORT` on stdout once clients can connect; everything else goes to "
    "stderr. SIGTERM and\n"
    "SIGINT stop it within a second.\n"
    "Exit status: 0 stopped; 1 it could not start (address, data directory: a line says why, "
    "nothing is changed);\n"
    "2 an option is wrong or does not fit the store; 3 the store failed, mostly since the disk "
    "is full: nothing was\n"
    "acknowledged wrongly, start it again when there is room.";

}  // namespace

void AddServe(Command program, Action* action) {
  auto options = std::make_shared<Options>();
  Command serve = program.Add("serve", "Run the daemon", kHelp);
  serve.Value("--data", &options->data, "Data directory, made when missing").ShowDefault();
  serve.Value("--resp", &options->resp, "Where Redis clients connect; port 0: the kernel picks")
      .ShowDefault();
  serve
      .Value("--cores", &options->cores,
             "Reactor threads, each on its own lanes (as many as there are CPUs)")
      .Between(1, limits::kCoresMax);
  serve
      .Value("--memory", &options->memory,
             "One budget for everything; resident size stays within 1.25 times it (great MULTI "
             "groups: about 2)")
      .ShowDefault();
  serve.Value("--durability", &options->durability, "sync, interval:DURATION or os").ShowDefault();
  serve.Value("--io", &options->io, "auto, uring or epoll").ShowDefault();
  serve
      .Value("--lanes", &options->lanes,
             "Slices of the key space, fixed when the store is made (16)")
      .Between(1, limits::kLanesMax);
  serve
      .Value("--max-leased", &options->max_leased,
             "Leases in flight at most (one for each KiB of --memory)")
      .Between(1, kMaxLeasedMost);
  serve
      .Value(
          "--max-payload", &options->max_payload,
          "The longest payload, or other argument of a command: 64KiB to a sixteenth of --memory, "
          "at most 64MiB")
      .ShowDefault();
  serve.Flag("--accept-data-loss", &options->accept_data_loss,
             "Open although the log check found acknowledged changes missing");
  serve.Flag(
      "--json", &options->json,
      "Print where clients can connect as a JSON object, {\"listening\": {\"resp\": \"...\"}}");
  serve.WhenGiven([options, action] { *action = [options] { return Serve(*options); }; });
}

}  // namespace vestq
