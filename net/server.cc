#include "net/server.h"

#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <random>
#include <utility>

#include "net/address.h"
#include "net/reactor.h"
#include "net/uring_poller.h"

namespace vestq {
namespace {

constexpr uint64_t kMemoryPerNet =
    8;  // input, and output, of all connections: an eighth of the budget each

// Table files that the store keeps open, logs, and what the reactors hold.
constexpr size_t kStoreDescriptors = 640;

std::string MakeRunId() {
  constexpr char kHex[] = "0123456789abcdef";
  std::random_device random;
  std::string id;
  for (int i = 0; i < 40; ++i) id.push_back(kHex[random() % 16]);
  return id;
}

void FitToMemory(const Engine& engine, SessionLimits* limits) {
  limits->payload_max = std::min<size_t>(limits->payload_max, engine.max_payload());
  const size_t share = engine.memory() / kMemoryPerNet / std::max<size_t>(engine.cores(), 1);
  // A command of the greatest length must always fit, and its buffer grows by doubling.
  const size_t least = 2 * (limits->payload_max + (size_t{4} << 20));
  limits->input_total = std::max(std::min(limits->input_total, share), least);
  limits->output_total = std::min(limits->output_total, std::max<size_t>(share, 1 << 20));
}

// Connections and the store share the process's descriptors. A store that cannot open its next log
// ends the daemon, so clients get only what it leaves: without this, idle connections would end it.
void FitToDescriptors(size_t* connections_max, const std::function<void(std::string_view)>& log) {
  rlimit files{};
  if (getrlimit(RLIMIT_NOFILE, &files) != 0 || files.rlim_cur == RLIM_INFINITY) return;
  const size_t limit = files.rlim_cur;
  const size_t most = std::max<size_t>(limit - std::min(kStoreDescriptors, limit / 2), 1);
  if (*connections_max <= most) return;
  *connections_max = most;
  if (log) {
    log("at most " + std::to_string(most) + " connections: the process may open " +
        std::to_string(limit) + " files (ulimit -n), and the store needs its part of them");
  }
}

}  // namespace

ServerShared::ServerShared() = default;
ServerShared::~ServerShared() = default;

Result<std::unique_ptr<Server>> Server::Start(Engine* engine, ServerOptions options) {
  std::unique_ptr<Server> server(new Server(engine));
  ServerShared& shared = server->shared_;
  FitToMemory(*engine, &options.limits);
  FitToDescriptors(&options.connections_max, options.log);
  shared.options = std::move(options);
  const Result<BoundSocket> bound = ListenOn(shared.options.resp);
  if (!bound.ok()) return bound.error();
  server->listen_fd_ = bound->fd;
  shared.address = bound->address;
  shared.port = bound->port;
  shared.run_id = MakeRunId();
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  shared.started_ms = now.tv_sec * 1000 + now.tv_nsec / 1'000'000;
  const auto log = [&shared](const std::string& line) {
    if (shared.options.log) shared.options.log(line);
  };
  if (!bound->loopback) {
    log("listening on " + bound->address + " without a login: whoever can reach it can use it");
  }
  engine->set_on_failure([&shared] {
    if (shared.options.on_failure) shared.options.on_failure(shared.engine->failure());
  });

  Error error = Error::Ok();
  if (shared.options.io != IoKind::kEpoll) {
    error = TryUring();
    if (error.ok()) error = server->StartReactors(IoKind::kUring);
    if (error.ok()) return server;
    if (shared.options.io == IoKind::kUring) return error;
    log("epoll is used: " + error.text());
  }
  error = server->StartReactors(IoKind::kEpoll);
  if (!error.ok()) return error;
  return server;
}

// All stand, or none does. The accepting one starts last, when those it hands connections to are
// there.
Error Server::StartReactors(IoKind io) {
  shared_.io_name = io == IoKind::kUring ? "io_uring" : "epoll";
  shared_.reactors.clear();
  shared_.running = 0;
  shared_.finished = 0;
  const uint16_t cores = shared_.engine->cores();
  for (uint16_t i = 0; i < cores; ++i) {
    shared_.reactors.push_back(
        std::make_unique<Reactor>(&shared_, shared_.engine->core(CoreId(i))));
  }
  for (uint16_t i = cores; i-- > 0;) {
    const Error error = shared_.reactors[i]->Start(io, i == 0 ? listen_fd_ : -1);
    if (error.ok()) continue;
    for (auto& reactor : shared_.reactors) reactor->Stop(Duration(0));
    for (auto& reactor : shared_.reactors) reactor->Join();
    return error;
  }
  return Error::Ok();
}

void Server::Stop(Duration grace) {
  if (stopped_) return;
  stopped_ = true;
  shared_.stopping.store(true, std::memory_order_relaxed);
  for (auto& reactor : shared_.reactors) reactor->Stop(grace);
  for (auto& reactor : shared_.reactors) reactor->Join();
  if (listen_fd_ >= 0) close(listen_fd_);
  listen_fd_ = -1;
}

Server::~Server() { Stop(Duration(0)); }

}  // namespace vestq
