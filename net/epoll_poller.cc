#include "net/epoll_poller.h"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "engine/base/check.h"

namespace vestq {
namespace {

constexpr size_t kAcceptsATurn = 64;
constexpr size_t kReadBytes = 64 << 10;

void SetNonBlocking(int fd) {
  const int flags = fcntl(fd, F_GETFL);
  if (flags >= 0) fcntl(fd, F_SETFL, flags | O_NONBLOCK);
}

class EpollPoller final : public Poller {
 public:
  explicit EpollPoller(PollHandler* handler) : handler_(handler), buffer_(kReadBytes) {}
  ~EpollPoller() override;

  Error Open();

  std::string_view name() const override { return "epoll"; }
  void Listen(int fd) override;
  void ResumeAccept() override;
  void StopAccept() override;
  void Add(PollConn* conn) override;
  void SetReading(PollConn* conn, bool on) override;
  void Send(PollConn* conn, std::string_view bytes) override;
  void Close(PollConn* conn) override;
  void Wait(int64_t timeout_ms) override;
  void Dispatch() override;
  void Wake() override;

 private:
  struct Sent {
    PollConn* conn;
    size_t bytes;
    int error;
  };

  void Interest(PollConn* conn);
  void Write(PollConn* conn);
  void Accept();
  void Receive(PollConn* conn);

  PollHandler* const handler_;
  int epoll_fd_ = -1;
  int wake_fd_ = -1;
  int listen_fd_ = -1;
  bool listening_ = false;
  int ready_ = 0;
  std::array<epoll_event, 512> events_{};
  std::vector<char> buffer_;
  std::vector<PollConn*> to_send_;
  std::vector<Sent> sent_;
  std::vector<PollConn*> closed_;
};

EpollPoller::~EpollPoller() {
  if (epoll_fd_ >= 0) close(epoll_fd_);
  if (wake_fd_ >= 0) close(wake_fd_);
}

Error EpollPoller::Open() {
  epoll_fd_ = epoll_create1(EPOLL_CLOEXEC);
  if (epoll_fd_ >= 0) wake_fd_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (wake_fd_ < 0) return Error(ErrorCode::kIo, std::string("epoll: ") + std::strerror(errno));
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.ptr = &wake_fd_;
  epoll_ctl(epoll_fd_, EPOLL_CTL_ADD, wake_fd_, &event);
  return Error::Ok();
}

void EpollPoller::Listen(int fd) {
  listen_fd_ = fd;
  SetNonBlocking(fd);
  ResumeAccept();
}

void EpollPoller::ResumeAccept() {
  if (listening_ || listen_fd_ < 0) return;
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.ptr = &listen_fd_;
  epoll_ctl(epoll_fd_, EPOLL_CTL_ADD, listen_fd_, &event);
  listening_ = true;
}

void EpollPoller::StopAccept() {
  if (listening_) epoll_ctl(epoll_fd_, EPOLL_CTL_DEL, listen_fd_, nullptr);
  listening_ = false;
  listen_fd_ = -1;
}

void EpollPoller::Accept() {
  for (size_t n = 0; n < kAcceptsATurn && listening_; ++n) {
    const int fd = accept4(listen_fd_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd >= 0) {
      handler_->OnAccept(fd);
      continue;
    }
    if (errno == EAGAIN) return;
    if (errno == EINTR || errno == ECONNABORTED) continue;
    const int error = errno;
    epoll_ctl(epoll_fd_, EPOLL_CTL_DEL, listen_fd_, nullptr);
    listening_ = false;
    handler_->OnAcceptError(error);
  }
}

void EpollPoller::Add(PollConn* conn) {
  SetNonBlocking(conn->fd);
  conn->reading = true;
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.ptr = conn;
  conn->receiving = epoll_ctl(epoll_fd_, EPOLL_CTL_ADD, conn->fd, &event) == 0;
  CHECK(conn->receiving || errno == ENOMEM || errno == ENOSPC);
}

void EpollPoller::Interest(PollConn* conn) {
  if (!conn->receiving) return;
  epoll_event event{};
  event.events =
      (conn->reading && !conn->ended ? EPOLLIN : 0u) | (conn->send_waits ? EPOLLOUT : 0u);
  event.data.ptr = conn;
  epoll_ctl(epoll_fd_, EPOLL_CTL_MOD, conn->fd, &event);
}

void EpollPoller::SetReading(PollConn* conn, bool on) {
  if (conn->closing || conn->reading == on) return;
  conn->reading = on;
  Interest(conn);
}

void EpollPoller::Send(PollConn* conn, std::string_view bytes) {
  CHECK(!conn->sending && !conn->closing && !bytes.empty(), "POLL-2");
  conn->sending = true;
  conn->send_left = bytes;
  to_send_.push_back(conn);
}

void EpollPoller::Write(PollConn* conn) {
  if (!conn->sending || conn->closing) return;
  const ssize_t n = send(conn->fd, conn->send_left.data(), conn->send_left.size(), MSG_NOSIGNAL);
  const int error = n < 0 ? errno : 0;
  if (error == EAGAIN || error == EINTR) {
    if (!conn->send_waits) {
      conn->send_waits = true;
      Interest(conn);
    }
    return;
  }
  if (conn->send_waits) {
    conn->send_waits = false;
    Interest(conn);
  }
  conn->sending = false;
  sent_.push_back({conn, n > 0 ? static_cast<size_t>(n) : 0, error});
}

void EpollPoller::Close(PollConn* conn) {
  if (conn->closing) return;
  conn->closing = true;
  if (conn->receiving) epoll_ctl(epoll_fd_, EPOLL_CTL_DEL, conn->fd, nullptr);
  conn->receiving = false;
  if (conn->sending) {
    conn->sending = false;
    sent_.push_back({conn, 0, ECANCELED});
  }
  closed_.push_back(conn);
}

void EpollPoller::Wait(int64_t timeout_ms) {
  for (PollConn* conn : to_send_) Write(conn);
  to_send_.clear();
  if (!sent_.empty() || !closed_.empty()) timeout_ms = 0;
  const int timeout =
      timeout_ms < 0 ? -1 : static_cast<int>(std::min<int64_t>(timeout_ms, INT_MAX));
  ready_ = epoll_wait(epoll_fd_, events_.data(), static_cast<int>(events_.size()), timeout);
}

void EpollPoller::Receive(PollConn* conn) {
  if (conn->closing || conn->ended || !conn->reading) return;
  const ssize_t n = recv(conn->fd, buffer_.data(), buffer_.size(), 0);
  if (n > 0) {
    handler_->OnData(conn, std::string_view(buffer_.data(), static_cast<size_t>(n)));
    return;
  }
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
  const int error = n < 0 ? errno : 0;
  conn->ended = true;
  Interest(conn);
  handler_->OnEnd(conn, error);
}

void EpollPoller::Dispatch() {
  // Connections that close meanwhile stay in memory until the end of this call, so the events'
  // pointers stay good.
  for (int i = 0; i < ready_; ++i) {
    const epoll_event& event = events_[static_cast<size_t>(i)];
    if (event.data.ptr == &wake_fd_) {
      uint64_t value = 0;
      (void)!read(wake_fd_, &value, sizeof value);
    } else if (event.data.ptr == &listen_fd_) {
      Accept();
    } else {
      PollConn* conn = static_cast<PollConn*>(event.data.ptr);
      const bool failed = (event.events & (EPOLLERR | EPOLLHUP)) != 0;
      if ((event.events & EPOLLOUT) != 0 || (failed && conn->send_waits)) Write(conn);
      if ((event.events & EPOLLIN) != 0 || (failed && conn->reading)) Receive(conn);
      // A connection that has failed while nothing is read or written would be reported for ever.
      if (failed && !conn->closing && !conn->ended && !conn->reading) {
        conn->ended = true;
        handler_->OnEnd(conn, ECONNRESET);
      }
      if (failed && !conn->closing && conn->ended && conn->receiving) {
        epoll_ctl(epoll_fd_, EPOLL_CTL_DEL, conn->fd, nullptr);
        conn->receiving = false;
      }
    }
  }
  ready_ = 0;
  std::vector<Sent> sent;
  sent.swap(sent_);
  for (const Sent& s : sent) handler_->OnSent(s.conn, s.bytes, s.error);
  std::vector<PollConn*> closed;
  closed.swap(closed_);
  for (PollConn* conn : closed) {
    // What a Close from the calls above left to say comes before OnClosed (POLL-1).
    for (Sent& s : sent_) {
      if (s.conn == conn) {
        handler_->OnSent(conn, s.bytes, s.error);
        s.conn = nullptr;
      }
    }
    std::erase_if(sent_, [](const Sent& s) { return s.conn == nullptr; });
    std::erase(to_send_, conn);
    close(conn->fd);
    conn->fd = -1;
    handler_->OnClosed(conn);
  }
}

void EpollPoller::Wake() {
  const uint64_t one = 1;
  (void)!write(wake_fd_, &one, sizeof one);
}

}  // namespace

Result<std::unique_ptr<Poller>> MakeEpollPoller(const PollerOptions&, PollHandler* handler) {
  auto poller = std::make_unique<EpollPoller>(handler);
  VESTQ_RETURN_IF_ERROR(poller->Open());
  return std::unique_ptr<Poller>(std::move(poller));
}

}  // namespace vestq
