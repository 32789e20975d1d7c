#include "net/reactor.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <utility>

#include "net/address.h"
#include "net/epoll_poller.h"
#include "net/session.h"
#include "net/uring_poller.h"

namespace vestq {
namespace {

constexpr int64_t kAcceptPauseMs = 100;
constexpr int64_t kSweepMs = 1000;
constexpr int64_t kEngineGraceMs = 5000;  // for requests under way after all connections are gone

void SetSocketOptions(int fd) {
  const int on = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  // A peer that vanished without a word is found after about two minutes.
  const int idle = 60, interval = 20, count = 3;
  setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
  setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof idle);
  setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval, sizeof interval);
  setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &count, sizeof count);
}

void Refuse(int fd) {
  constexpr std::string_view kText = "-ERR max number of clients reached\r\n";
  (void)!send(fd, kText.data(), kText.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  close(fd);
}

int OpenSpare() { return open("/dev/null", O_RDONLY | O_CLOEXEC); }

}  // namespace

Reactor::Reactor(ServerShared* shared, Core* core)
    : shared_(shared), core_(core), job_bytes_(shared->options.limits.payload_max) {
  core_->set_wake([](void* self) { static_cast<Reactor*>(self)->poller_->Wake(); }, this);
}

Reactor::~Reactor() {
  Join();
  if (spare_fd_ >= 0) close(spare_fd_);
}

int64_t Reactor::NowMs() {
  timespec ts{};
  clock_gettime(CLOCK_MONOTONIC, &ts);
  return ts.tv_sec * 1000 + ts.tv_nsec / 1'000'000;
}

// --- From any thread ---

Error Reactor::Start(IoKind io, int listen_fd) {
  std::future<Error> result = ready_.get_future();
  thread_ = std::thread([this, io, listen_fd] { Run(io, listen_fd); });
  const Error error = result.get();
  if (error.ok()) {
    shared_->running.fetch_add(1, std::memory_order_acq_rel);
  } else {
    thread_.join();
  }
  return error;
}

void Reactor::Post(const Note& note) {
  {
    const std::lock_guard lock(notes_mutex_);
    notes_.push_back(note);
  }
  has_notes_.store(true, std::memory_order_release);
  poller_->Wake();
}

void Reactor::Adopt(int fd) { Post({Note::Kind::kAdopt, fd, 0, false, Duration()}); }
void Reactor::KillClient(uint64_t id) { Post({Note::Kind::kKill, -1, id, false, Duration()}); }
void Reactor::UnblockClient(uint64_t id, bool error) {
  Post({Note::Kind::kUnblock, -1, id, error, Duration()});
}
void Reactor::Stop(Duration grace) {
  if (poller_ != nullptr) Post({Note::Kind::kStop, -1, 0, false, grace});
}
void Reactor::Join() {
  if (thread_.joinable()) thread_.join();
}

// --- The loop ---

void Reactor::Run(IoKind io, int listen_fd) {
  const std::string name = "vestq-core-" + std::to_string(core_->id().value());
  pthread_setname_np(pthread_self(), name.c_str());
  now_ms_ = NowMs();
  auto made = io == IoKind::kUring ? MakeUringPoller(shared_->options.poller, this)
                                   : MakeEpollPoller(shared_->options.poller, this);
  if (!made.ok()) {
    ready_.set_value(made.error());
    return;
  }
  poller_ = std::move(*made);
  spare_fd_ = OpenSpare();
  listen_fd_ = listen_fd;
  if (listen_fd >= 0) poller_->Listen(listen_fd);
  ready_.set_value(Error::Ok());
  bool more = true;
  while (!Finished()) {
    int64_t timeout = NextTimeout(more);
    const bool asleep = timeout != 0 && core_->PrepareSleep();
    poller_->Wait(asleep ? timeout : 0);
    if (asleep) core_->EndSleep();
    now_ms_ = NowMs();
    poller_->Dispatch();
    if (has_notes_.load(std::memory_order_acquire)) TakeNotes();
    if (stopping_) StopTurn();
    more = core_->Turn();
    ServiceDirty();
    Sweep();
    if (accept_again_ms_ != 0 && now_ms_ >= accept_again_ms_) {
      accept_again_ms_ = 0;
      if (spare_fd_ < 0) spare_fd_ = OpenSpare();
      poller_->ResumeAccept();
    }
    ReactorStats::Add(stats_.turns, 1);
  }
}

int64_t Reactor::NextTimeout(bool more) const {
  if (more || !dirty_.empty()) return 0;
  const Duration due = core_->UntilDue();
  int64_t timeout = due == Duration::Max() ? -1 : due.ms();
  const auto by = [&](int64_t at_ms) {
    const int64_t left = std::max<int64_t>(at_ms - NowMs(), 0) + 1;
    timeout = timeout < 0 ? left : std::min(timeout, left);
  };
  if (next_sweep_ms_ != 0) by(next_sweep_ms_);
  if (accept_again_ms_ != 0) by(accept_again_ms_);
  if (stopping_) by(now_ms_ >= stop_at_ms_ ? stop_at_ms_ + kEngineGraceMs : stop_at_ms_);
  return timeout;
}

bool Reactor::NothingLeft() const {
  return stopping_ && sessions_.empty() && pool_.taken() == 0 && dirty_.empty();
}

// A core that has nothing left still works for the requests of the others.
bool Reactor::Finished() {
  if (!stopping_) return false;
  if (NothingLeft() && !counted_finished_) {
    counted_finished_ = true;
    const size_t finished = shared_->finished.fetch_add(1, std::memory_order_acq_rel) + 1;
    if (finished >= shared_->running.load(std::memory_order_acquire)) {
      for (const auto& reactor : shared_->reactors) {
        if (reactor.get() != this && reactor->poller_ != nullptr) reactor->poller_->Wake();
      }
    }
  }
  if (shared_->finished.load(std::memory_order_acquire) >=
      shared_->running.load(std::memory_order_acquire)) {
    return true;
  }
  return now_ms_ > stop_at_ms_ + kEngineGraceMs;
}

void Reactor::MarkDirty(Session* session) {
  if (session->dirty) return;
  session->dirty = true;
  dirty_.push_back(session);
}

void Reactor::ServiceDirty() {
  servicing_.swap(dirty_);
  for (Session* session : servicing_) {
    session->dirty = false;
    if (next_sweep_ms_ == 0 && session->needs_timer()) {
      const SessionLimits& l = limits();
      const int64_t shortest =
          std::min({l.first_byte.ms(), l.half_command.ms(), l.stalled_reader.ms()}) / 4;
      next_sweep_ms_ = now_ms_ + std::clamp<int64_t>(shortest, 10, kSweepMs);
    }
    session->Service();
  }
  servicing_.clear();
  if (input_held > limits().input_total) EvictInput();
}

void Reactor::Sweep() {
  if (next_sweep_ms_ == 0 || now_ms_ < next_sweep_ms_) return;
  next_sweep_ms_ = 0;
  for (Session* session : sessions_) {
    session->Tick(now_ms_);
    if (session->needs_timer()) MarkDirty(session);  // which sets the next sweep
  }
}

// The connection whose unfinished command takes most pays for all.
void Reactor::EvictInput() {
  Session* greatest = nullptr;
  for (Session* session : sessions_) {
    if (session->closing()) continue;
    if (greatest == nullptr || session->input_capacity() > greatest->input_capacity())
      greatest = session;
  }
  if (greatest == nullptr) return;
  ReactorStats::Add(stats_.closed_slow, 1);
  greatest->Abort();
}

void Reactor::SeeJobBytes(size_t bytes) {
  const size_t with_fields = bytes + 640;
  job_bytes_ = std::max(with_fields, job_bytes_ - job_bytes_ / 64);
}

void Reactor::Undo(const Receipt& receipt) {
  ReleaseRequest* request = pool_.Take<ReleaseRequest>();
  request->receipt = receipt;
  request->done = [](Request* done, void* self) { static_cast<Reactor*>(self)->pool_.Put(done); };
  request->context = this;
  ReactorStats::Add(stats_.leases_undone, 1);
  core_->Start(request);
}

// --- Notes ---

void Reactor::TakeNotes() {
  std::vector<Note> notes;
  {
    const std::lock_guard lock(notes_mutex_);
    notes.swap(notes_);
    has_notes_.store(false, std::memory_order_relaxed);
  }
  for (const Note& note : notes) TakeNote(note);
}

void Reactor::TakeNote(const Note& note) {
  switch (note.kind) {
    case Note::Kind::kAdopt: AddSession(note.fd); return;
    case Note::Kind::kKill:
      if (Session* session = FindSession(note.client)) session->Abort();
      return;
    case Note::Kind::kUnblock:
      if (Session* session = FindSession(note.client)) session->Unblock(note.error);
      return;
    case Note::Kind::kStop:
      if (stopping_) return;
      stopping_ = true;
      stop_at_ms_ = now_ms_ + note.grace.ms();
      poller_->StopAccept();
      for (Session* session : sessions_) session->Stop();
      return;
  }
}

Session* Reactor::FindSession(uint64_t client) {
  for (Session* session : sessions_) {
    if (session->record().id == client) return session;
  }
  return nullptr;
}

void Reactor::StopTurn() {
  const bool out_of_time = now_ms_ >= stop_at_ms_;
  for (Session* session : sessions_) {
    session->AbandonWaits();  // also those whose turn to wait came only now
    if (out_of_time) session->Abort();
  }
}

// --- Connections ---

void Reactor::AddSession(int fd) {
  if (stopping_) {
    close(fd);
    stats_.connections.fetch_sub(1, std::memory_order_relaxed);
    return;
  }
  SetSocketOptions(fd);
  auto record = std::make_shared<ClientRecord>();
  record->id = shared_->clients.NextId();
  record->core = core_->id();
  record->address = PeerAddress(fd);
  record->local_address = LocalAddress(fd);
  record->fd = fd;
  timespec ts{};
  clock_gettime(CLOCK_REALTIME, &ts);
  record->connected_ms = ts.tv_sec * 1000 + ts.tv_nsec / 1'000'000;
  record->last_ms.store(now_ms_, std::memory_order_relaxed);
  shared_->clients.Add(record);
  Session* session = new Session(this, std::move(record));
  session->fd = fd;
  session->place = sessions_.size();
  sessions_.push_back(session);
  poller_->Add(session);
  MarkDirty(session);
}

void Reactor::Destroy(Session* session) {
  sessions_[session->place] = sessions_.back();
  sessions_[session->place]->place = session->place;
  sessions_.pop_back();
  stats_.connections.fetch_sub(1, std::memory_order_relaxed);
  delete session;
}

void Reactor::OnAccept(int fd) {
  if (spare_fd_ <
      0) {  // descriptors have run out: the one given up served to take this one and turn it away
    Refuse(fd);
    shared_->connections_rejected.fetch_add(1, std::memory_order_relaxed);
    spare_fd_ = OpenSpare();
    return;
  }
  Reactor* least = nullptr;
  uint64_t fewest = 0, total = 0;
  for (const auto& reactor : shared_->reactors) {
    const uint64_t n = reactor->stats_.connections.load(std::memory_order_relaxed);
    total += n;
    if (least == nullptr || n < fewest) {
      least = reactor.get();
      fewest = n;
    }
  }
  if (total >= shared_->options.connections_max || stopping_) {
    Refuse(fd);
    shared_->connections_rejected.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  shared_->connections_accepted.fetch_add(1, std::memory_order_relaxed);
  least->stats_.connections.fetch_add(1, std::memory_order_relaxed);
  if (least == this) {
    AddSession(fd);
  } else {
    least->Adopt(fd);
  }
}

void Reactor::OnAcceptError(int error) {
  if (stopping_) return;
  // io_uring takes a descriptor before it looks for a connection: only one that waits is worth the spare.
  pollfd waiting{listen_fd_, POLLIN, 0};
  if ((error == EMFILE || error == ENFILE) && spare_fd_ >= 0 && poll(&waiting, 1, 0) > 0) {
    close(spare_fd_);
    spare_fd_ = -1;
    poller_->ResumeAccept();
    return;
  }
  accept_again_ms_ = now_ms_ + kAcceptPauseMs;
}

void Reactor::OnData(PollConn* conn, std::string_view bytes) {
  static_cast<Session*>(conn)->OnData(bytes);
}
void Reactor::OnEnd(PollConn* conn, int error) { static_cast<Session*>(conn)->OnEnd(error); }
void Reactor::OnSent(PollConn* conn, size_t bytes, int error) {
  static_cast<Session*>(conn)->OnSent(bytes, error);
}
void Reactor::OnClosed(PollConn* conn) { static_cast<Session*>(conn)->OnClosed(); }

}  // namespace vestq
