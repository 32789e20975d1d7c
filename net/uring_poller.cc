#include "net/uring_poller.h"

#include <liburing.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "engine/base/check.h"

namespace vestq {
namespace {

enum class Op : uint8_t { kAccept, kReceive, kSend, kCancel, kWake, kIgnored };

// user_data: generation of the slot (32 bits), slot (24), operation (8). A completion that outlives
// its connection is told by its generation (kernels 6.1 to 6.10 post such ones after ECONNRESET).
uint64_t Tag(Op op, uint32_t index, uint32_t generation) {
  return uint64_t{generation} << 32 | uint64_t{index} << 8 | static_cast<uint64_t>(op);
}

constexpr uint16_t kBufferGroup = 1;

Error Refused(const char* what, int error) {
  std::string text = std::string("io_uring: ") + what + ": " + std::strerror(error);
  switch (error) {
    case EPERM:
      text += " (EPERM: seccomp, as in containers, or sysctl kernel.io_uring_disabled)";
      break;
    case ENOSYS: text += " (ENOSYS: the kernel has none, or seccomp hides it)"; break;
    case ENOMEM: text += " (ENOMEM: raise the memlock limit)"; break;
    case EINVAL: text += " (EINVAL: Linux 6.0 or later is needed)"; break;
    default: break;
  }
  return Error(ErrorCode::kUnsupported, text);
}

class UringPoller final : public Poller {
 public:
  explicit UringPoller(PollHandler* handler) : handler_(handler) {}
  ~UringPoller() override;

  Error Open(const PollerOptions& options);

  std::string_view name() const override { return "io_uring"; }
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
  struct Seat {
    PollConn* conn = nullptr;
    uint32_t generation = 1;
  };

  Error OpenRing(const PollerOptions& options);
  Error OpenBuffers(const PollerOptions& options);
  io_uring_sqe* Sqe();
  uint64_t TagOf(Op op, const PollConn* conn) const {
    return Tag(op, conn->index, seats_[conn->index].generation);
  }
  void ArmAccept();
  void ArmWake();
  void ArmReceive(PollConn* conn);
  void CancelReceive(PollConn* conn);
  void Handle(uint64_t tag, int32_t result, uint32_t flags);
  void HandleReceive(PollConn* conn, int32_t result, uint32_t flags);
  void HandleAccept(int32_t result);
  void FinishClose(PollConn* conn);
  void ReturnBuffer(uint16_t id);

  PollHandler* const handler_;
  io_uring ring_{};
  bool ring_open_ = false;
  io_uring_buf_ring* buffer_ring_ = nullptr;
  size_t buffer_ring_bytes_ = 0;
  char* buffers_ = nullptr;
  size_t buffers_bytes_ = 0;
  size_t buffer_bytes_ = 0;
  unsigned buffer_count_ = 0;
  int wake_fd_ = -1;
  uint64_t wake_value_ = 0;
  int listen_fd_ = -1;
  bool accepting_ = false;  // an accept is under way
  std::vector<Seat> seats_;
  std::vector<uint32_t> free_seats_;
  std::vector<PollConn*> starved_;  // no buffer was left for them
  std::vector<PollConn*> closed_;   // nothing is under way any more
};

UringPoller::~UringPoller() {
  if (ring_open_) io_uring_queue_exit(&ring_);
  if (buffer_ring_ != nullptr) munmap(buffer_ring_, buffer_ring_bytes_);
  if (buffers_ != nullptr) munmap(buffers_, buffers_bytes_);
  if (wake_fd_ >= 0) close(wake_fd_);
}

Error UringPoller::Open(const PollerOptions& options) {
  VESTQ_RETURN_IF_ERROR(OpenRing(options));
  VESTQ_RETURN_IF_ERROR(OpenBuffers(options));
  wake_fd_ = eventfd(0, EFD_CLOEXEC);
  if (wake_fd_ < 0) return Error(ErrorCode::kIo, std::string("eventfd: ") + std::strerror(errno));
  ArmWake();
  return Error::Ok();
}

Error UringPoller::OpenRing(const PollerOptions& options) {
  constexpr unsigned kFlagSets[] = {
      IORING_SETUP_DEFER_TASKRUN | IORING_SETUP_SINGLE_ISSUER,
      IORING_SETUP_COOP_TASKRUN | IORING_SETUP_TASKRUN_FLAG,
      0,
  };
  int error = EINVAL;
  for (unsigned flags : kFlagSets) {
    io_uring_params params{};
    params.flags = flags | IORING_SETUP_CQSIZE;
    params.cq_entries = options.completion_entries;
    error = -io_uring_queue_init_params(options.ring_entries, &ring_, &params);
    if (error != EINVAL) break;
  }
  if (error != 0) return Refused("no ring", error);
  ring_open_ = true;
  io_uring_ring_dontfork(&ring_);
  // Saves a descriptor look-up an entry; optional.
  (void)io_uring_register_ring_fd(&ring_);
  return Error::Ok();
}

Error UringPoller::OpenBuffers(const PollerOptions& options) {
  CHECK((options.buffers & (options.buffers - 1)) == 0 && options.buffers <= 32768);
  buffer_count_ = options.buffers;
  buffer_bytes_ = options.buffer_bytes;
  const auto map = [](size_t bytes) -> void* {
    void* p = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return p == MAP_FAILED ? nullptr : p;
  };
  buffer_ring_bytes_ = buffer_count_ * sizeof(io_uring_buf);
  buffer_ring_ = static_cast<io_uring_buf_ring*>(map(buffer_ring_bytes_));
  buffers_bytes_ = buffer_count_ * buffer_bytes_;
  buffers_ = static_cast<char*>(map(buffers_bytes_));
  if (buffer_ring_ == nullptr || buffers_ == nullptr)
    return Refused("no memory for buffers", ENOMEM);
  io_uring_buf_ring_init(buffer_ring_);
  io_uring_buf_reg reg{};
  reg.ring_addr = reinterpret_cast<uintptr_t>(buffer_ring_);
  reg.ring_entries = buffer_count_;
  reg.bgid = kBufferGroup;
  const int result = io_uring_register_buf_ring(&ring_, &reg, 0);
  if (result < 0) return Refused("no buffer ring", -result);
  for (unsigned i = 0; i < buffer_count_; ++i) ReturnBuffer(static_cast<uint16_t>(i));
  return Error::Ok();
}

void UringPoller::ReturnBuffer(uint16_t id) {
  io_uring_buf_ring_add(buffer_ring_, buffers_ + size_t{id} * buffer_bytes_,
                        static_cast<unsigned>(buffer_bytes_), id,
                        io_uring_buf_ring_mask(buffer_count_), 0);
  io_uring_buf_ring_advance(buffer_ring_, 1);
}

io_uring_sqe* UringPoller::Sqe() {
  io_uring_sqe* sqe = io_uring_get_sqe(&ring_);
  while (sqe == nullptr) {
    // The queue is full: hand it over. EBUSY means that completions wait to be seen; the kernel
    // keeps them (NODROP).
    io_uring_submit_and_get_events(&ring_);
    sqe = io_uring_get_sqe(&ring_);
  }
  return sqe;
}

void UringPoller::Listen(int fd) {
  listen_fd_ = fd;
  ArmAccept();
}

void UringPoller::ArmAccept() {
  if (accepting_ || listen_fd_ < 0) return;
  io_uring_sqe* sqe = Sqe();
  io_uring_prep_accept(sqe, listen_fd_, nullptr, nullptr, SOCK_CLOEXEC);
  io_uring_sqe_set_data64(sqe, Tag(Op::kAccept, 0, 0));
  accepting_ = true;
}

void UringPoller::ResumeAccept() { ArmAccept(); }

void UringPoller::StopAccept() {
  listen_fd_ = -1;
  if (!accepting_) return;
  io_uring_sqe* sqe = Sqe();
  io_uring_prep_cancel64(sqe, Tag(Op::kAccept, 0, 0), 0);
  io_uring_sqe_set_data64(sqe, Tag(Op::kIgnored, 0, 0));
}

void UringPoller::ArmWake() {
  io_uring_sqe* sqe = Sqe();
  io_uring_prep_read(sqe, wake_fd_, &wake_value_, sizeof wake_value_, 0);
  io_uring_sqe_set_data64(sqe, Tag(Op::kWake, 0, 0));
}

void UringPoller::Add(PollConn* conn) {
  if (free_seats_.empty()) {
    free_seats_.push_back(static_cast<uint32_t>(seats_.size()));
    seats_.emplace_back();
  }
  conn->index = free_seats_.back();
  free_seats_.pop_back();
  CHECK(conn->index < (1u << 24));
  seats_[conn->index].conn = conn;
  conn->reading = true;
  ArmReceive(conn);
}

void UringPoller::ArmReceive(PollConn* conn) {
  if (conn->receiving || conn->closing || conn->ended || !conn->reading) return;
  io_uring_sqe* sqe = Sqe();
  io_uring_prep_recv_multishot(sqe, conn->fd, nullptr, 0, 0);
  sqe->flags |= IOSQE_BUFFER_SELECT;
  sqe->buf_group = kBufferGroup;
  // Without it, arming an idle socket while no buffer is free ends at once with ENOBUFS.
  sqe->ioprio |= IORING_RECVSEND_POLL_FIRST;
  io_uring_sqe_set_data64(sqe, TagOf(Op::kReceive, conn));
  conn->receiving = true;
}

void UringPoller::CancelReceive(PollConn* conn) {
  io_uring_sqe* sqe = Sqe();
  io_uring_prep_cancel64(sqe, TagOf(Op::kReceive, conn), 0);
  io_uring_sqe_set_data64(sqe, TagOf(Op::kCancel, conn));
  ++conn->cancels;
}

void UringPoller::SetReading(PollConn* conn, bool on) {
  if (conn->closing || conn->reading == on) return;
  conn->reading = on;
  if (on) {
    ArmReceive(conn);  // a cancelled one that is still under way is armed again at its end
  } else if (conn->receiving) {
    CancelReceive(conn);
  }
}

void UringPoller::Send(PollConn* conn, std::string_view bytes) {
  CHECK(!conn->sending && !conn->closing && !bytes.empty(), "POLL-2");
  io_uring_sqe* sqe = Sqe();
  io_uring_prep_send(sqe, conn->fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
  io_uring_sqe_set_data64(sqe, TagOf(Op::kSend, conn));
  conn->sending = true;
}

void UringPoller::Close(PollConn* conn) {
  if (conn->closing) return;
  conn->closing = true;
  conn->reading = false;
  if (conn->receiving || conn->sending) {
    // The cancellation is looked up when it is submitted, after the operations that were queued
    // before it.
    shutdown(conn->fd, SHUT_RDWR);
    io_uring_sqe* sqe = Sqe();
    io_uring_prep_cancel_fd(sqe, conn->fd, IORING_ASYNC_CANCEL_ALL);
    io_uring_sqe_set_data64(sqe, TagOf(Op::kCancel, conn));
    ++conn->cancels;
  }
  FinishClose(conn);
}

void UringPoller::FinishClose(PollConn* conn) {
  if (!conn->closing || conn->receiving || conn->sending || conn->cancels > 0) return;
  if (conn->released)
    return;  // closed from inside a call to the handler, which is followed by another look
  conn->released = true;
  closed_.push_back(conn);
}

void UringPoller::Wait(int64_t timeout_ms) {
  if (!closed_.empty() || !starved_.empty()) timeout_ms = 0;
  if (timeout_ms == 0) {
    io_uring_submit_and_get_events(&ring_);
    return;
  }
  io_uring_cqe* cqe = nullptr;
  if (timeout_ms < 0) {
    io_uring_submit_and_wait(&ring_, 1);
    return;
  }
  __kernel_timespec ts{};
  ts.tv_sec = timeout_ms / 1000;
  ts.tv_nsec = timeout_ms % 1000 * 1'000'000;
  // ETIME and EINTR end the wait; EBUSY and EAGAIN (completions overflowed) end with the dispatch
  // that follows.
  io_uring_submit_and_wait_timeout(&ring_, &cqe, 1, &ts, nullptr);
}

void UringPoller::Dispatch() {
  // Those starved a turn ago: buffers have been returned since.
  std::vector<PollConn*> again;
  again.swap(starved_);
  for (PollConn* conn : again) {
    if (conn != nullptr) ArmReceive(conn);
  }
  io_uring_cqe* cqe = nullptr;
  while (io_uring_peek_cqe(&ring_, &cqe) == 0) {
    const uint64_t tag = cqe->user_data;
    const int32_t result = cqe->res;
    const uint32_t flags = cqe->flags;
    io_uring_cqe_seen(&ring_, cqe);
    Handle(tag, result, flags);
  }
  std::vector<PollConn*> closed;
  closed.swap(closed_);
  for (PollConn* conn : closed) {
    for (PollConn*& starved : starved_) {
      if (starved == conn) starved = nullptr;
    }
    close(conn->fd);
    conn->fd = -1;
    seats_[conn->index].conn = nullptr;
    ++seats_[conn->index].generation;
    free_seats_.push_back(conn->index);
    handler_->OnClosed(conn);
  }
}

void UringPoller::Handle(uint64_t tag, int32_t result, uint32_t flags) {
  const Op op = static_cast<Op>(tag & 0xff);
  switch (op) {
    case Op::kIgnored: return;
    case Op::kWake: ArmWake(); return;
    case Op::kAccept: HandleAccept(result); return;
    case Op::kReceive:
    case Op::kSend:
    case Op::kCancel: break;
  }
  const uint32_t index = static_cast<uint32_t>(tag >> 8) & 0xffffff;
  const Seat& seat = seats_[index];
  PollConn* conn = seat.generation == static_cast<uint32_t>(tag >> 32) ? seat.conn : nullptr;
  if (conn == nullptr) {
    if ((flags & IORING_CQE_F_BUFFER) != 0) {
      ReturnBuffer(static_cast<uint16_t>(flags >> IORING_CQE_BUFFER_SHIFT));
    }
    return;
  }
  if (op == Op::kReceive) {
    HandleReceive(conn, result, flags);
  } else if (op == Op::kSend) {
    conn->sending = false;
    handler_->OnSent(conn, result > 0 ? static_cast<size_t>(result) : 0, result < 0 ? -result : 0);
  } else {
    --conn->cancels;
  }
  FinishClose(conn);
}

void UringPoller::HandleReceive(PollConn* conn, int32_t result, uint32_t flags) {
  if ((flags & IORING_CQE_F_MORE) == 0)
    conn->receiving = false;  // ended, perhaps by an overflow: armed again below
  const bool buffer = (flags & IORING_CQE_F_BUFFER) != 0;
  const uint16_t id = static_cast<uint16_t>(flags >> IORING_CQE_BUFFER_SHIFT);
  if (result > 0 && buffer && !conn->closing) {
    handler_->OnData(
        conn, std::string_view(buffers_ + size_t{id} * buffer_bytes_, static_cast<size_t>(result)));
  }
  if (buffer) ReturnBuffer(id);
  if (conn->closing) return;
  if (result == 0 || (result < 0 && result != -ENOBUFS && result != -ECANCELED &&
                      result != -EINTR && result != -EAGAIN)) {
    if (!conn->ended) {
      conn->ended = true;
      handler_->OnEnd(conn, -result);
    }
    return;
  }
  if (conn->receiving) return;
  if (result == -ENOBUFS) {
    starved_.push_back(conn);
  } else {
    ArmReceive(conn);
  }
}

void UringPoller::HandleAccept(int32_t result) {
  accepting_ = false;
  if (result >= 0) {
    handler_->OnAccept(result);
    ArmAccept();
  } else if (result == -ECONNABORTED || result == -EINTR || result == -EAGAIN) {
    ArmAccept();
  } else if (listen_fd_ >= 0) {
    handler_->OnAcceptError(-result);
  }
}

void UringPoller::Wake() {
  const uint64_t one = 1;
  (void)!write(wake_fd_, &one, sizeof one);
}

}  // namespace

Result<std::unique_ptr<Poller>> MakeUringPoller(const PollerOptions& options,
                                                PollHandler* handler) {
  auto poller = std::make_unique<UringPoller>(handler);
  VESTQ_RETURN_IF_ERROR(poller->Open(options));
  return std::unique_ptr<Poller>(std::move(poller));
}

}  // namespace vestq
