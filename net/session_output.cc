// A session's output: finished requests, replies, the socket, its end.
#include <sys/socket.h>

#include <algorithm>
#include <utility>

#include "net/reactor.h"
#include "net/replies.h"
#include "net/session.h"

namespace vestq {
namespace {

constexpr size_t kKeptOutput = 32 << 10;
constexpr int64_t kLingerMs = 1000;
constexpr int64_t kSlowestBytesPerMs = 16;  // of a half command, about 16 KiB/s

void Recycle(std::string* buffer) {
  if (buffer->capacity() > kKeptOutput) {
    std::string().swap(*buffer);
  } else {
    buffer->clear();
  }
}

}  // namespace

// --- Answers ---

void Session::Drain() {
  while (head_ != nullptr && head_->done) {
    Slot* slot = head_;
    head_ = slot->next;
    if (head_ == nullptr) tail_ = nullptr;
    --slots_;
    charge_ -= slot->charge;
    Answer(slot);
    if (slot->request != nullptr) {
      if (IsHeavy(*slot->request)) --heavy_;
      if (MayWait(*slot->request)) SetBlocking(-1);
      if (slot->request->kind == RequestKind::kGroup) ReleaseGroup(slot->charge);
      pool().Put(slot->request);
    }
    pool().PutSlot(slot);
  }
  reactor_->MarkDirty(this);
}

void Session::Answer(Slot* slot) {
  if (state_ <= State::kDraining && Unsent() > reactor_->limits().output_hard) {
    ReactorStats::Add(reactor_->stats().closed_slow, 1);
    Abort();
  }
  // What an ENQUEUE has done is told as long as anybody may listen.
  const bool waited =
      slot->request != nullptr && MayWait(*slot->request) && JobOf(*slot->request) == nullptr;
  if (state_ > State::kDraining || slot->silent || (peer_ended_ && waited)) {
    if (slot->request != nullptr) UndoLeases(slot->request);
    return;
  }
  MakeRoom(ReplyBytes(*slot));
  RespWriter w = writer();
  WriteReply(*slot, &w);
  if (slot->request == nullptr || !slot->request->error.ok()) {
    if (slot->request != nullptr) ReactorStats::Add(reactor_->stats().errors, 1);
    return;
  }
  NoteLeases(*slot);
}

void Session::MakeRoom(size_t bytes) {
  const size_t need = out_.size() + bytes;
  if (bytes > 1024 && need > out_.capacity()) out_.reserve(std::max(need, 2 * out_.capacity()));
}

void Session::NoteLeases(const Slot& slot) {
  if (slot.request->kind == RequestKind::kJob || slot.request->kind == RequestKind::kWaitFor) {
    reactor_->SeeJobBytes(VariableBytes(*static_cast<const JobRequest*>(slot.request)));
    return;
  }
  if (slot.request->kind != RequestKind::kLease) return;
  const auto* lease = static_cast<const LeaseRequest*>(slot.request);
  const uint64_t end = sent_total_ + Unsent();
  for (const LeasedJob& job : lease->jobs) {
    unsent_leases_.push_back({end, job.receipt});
    reactor_->SeeJobBytes(job.payload.size() + job.checkpoint.size() + HeaderBytes(job.headers));
  }
}

void Session::UndoLeases(const Request* request) {
  if (request->kind != RequestKind::kLease || !request->error.ok()) return;
  for (const LeasedJob& job : static_cast<const LeaseRequest*>(request)->jobs)
    reactor_->Undo(job.receipt);
}

// --- The socket ---

void Session::Flush() {
  if (sending || fd < 0) return;
  if (sending_at_ == sending_.size()) {
    if (out_.empty()) return;
    std::swap(sending_, out_);
    Recycle(&out_);
    sending_at_ = 0;
    sent_ms_ = reactor_->now_ms();
  }
  reactor_->poller().Send(this, std::string_view(sending_).substr(sending_at_));
}

void Session::OnSent(size_t bytes, int error) {
  reactor_->MarkDirty(this);
  sending_at_ += bytes;
  sent_total_ += bytes;
  if (bytes > 0) sent_ms_ = reactor_->now_ms();
  ReactorStats::Add(reactor_->stats().output_bytes, bytes);
  record_->output_bytes.store(sent_total_, std::memory_order_relaxed);
  while (unsent_leases_at_ < unsent_leases_.size() &&
         unsent_leases_[unsent_leases_at_].end <= sent_total_) {
    ++unsent_leases_at_;
  }
  if (unsent_leases_at_ == unsent_leases_.size() || unsent_leases_at_ > limits::kLeaseCountMax) {
    unsent_leases_.erase(unsent_leases_.begin(),
                         unsent_leases_.begin() + static_cast<ptrdiff_t>(unsent_leases_at_));
    unsent_leases_at_ = 0;
  }
  if (error != 0) return Abort();
  if (sending_at_ == sending_.size()) {
    Recycle(&sending_);
    sending_at_ = 0;
  }
}

void Session::OnClosed() {
  state_ = State::kClosed;
  DropMulti();
  for (size_t i = unsent_leases_at_; i < unsent_leases_.size(); ++i) {
    reactor_->Undo(unsent_leases_[i].receipt);  // SESSION-3
  }
  unsent_leases_.clear();
  unsent_leases_at_ = 0;
  shared().clients.Remove(record_->id);
  std::string().swap(out_);
  std::string().swap(sending_);
  sending_at_ = 0;
  reactor_->MarkDirty(this);
}

// --- The end ---

void Session::CloseAfterReplies() {
  if (state_ == State::kOpen) state_ = State::kDraining;
  StopListening();
  reactor_->MarkDirty(this);
}

// What the peer still sends would turn our close into a reset, which takes the last reply away from
// it: so the write side closes first, and the rest a little later.
void Session::StartLinger() {
  state_ = State::kLingering;
  shutdown(fd, SHUT_WR);
  linger_until_ms_ = reactor_->now_ms() + kLingerMs;
}

void Session::CloseNow() {
  if (state_ >= State::kClosing) return;
  state_ = State::kClosing;
  reactor_->poller().Close(this);
}

void Session::Abort() {
  if (state_ >= State::kClosing) return;
  CloseNow();
  StopListening();
  if (!dropped_) {
    dropped_ = true;
    core_->DropStream(&stream_);
  }
  AbandonWaits();
  group_ = nullptr;
  reactor_->MarkDirty(this);
}

void Session::Stop() {
  stopping_ = true;
  AbandonWaits();
  if (state_ == State::kLingering) CloseNow();
  CloseAfterReplies();
}

void Session::Service() {
  if (state_ == State::kOpen) Pump();
  if (state_ == State::kOpen) PumpEvents();
  if (state_ <= State::kDraining) Flush();
  const bool idle = slots_ == 0 && Unsent() == 0;
  if (state_ == State::kOpen && peer_ended_ && idle && (starved_ || dropped_)) CloseNow();
  if (state_ == State::kDraining && idle) {
    if (peer_ended_ || stopping_) {
      CloseNow();
    } else {
      StartLinger();
    }
  }
  SettleReading();
  SettleAccounts();
  if (state_ == State::kClosed && slots_ == 0 && event_streams_ == 0) {
    reactor_->input_held -= accounted_in_;
    reactor_->Destroy(this);
  }
}

bool Session::needs_timer() const {
  if (state_ >= State::kClosing) return false;
  return state_ == State::kLingering || !said_something_ || command_began_ms_ != 0 || Unsent() > 0;
}

void Session::Tick(int64_t now_ms) {
  if (state_ >= State::kClosing) return;
  const SessionLimits& limits = reactor_->limits();
  if (state_ == State::kLingering) {
    if (now_ms >= linger_until_ms_) CloseNow();
    return;
  }
  const bool stalled = Unsent() > 0 && now_ms - sent_ms_ > limits.stalled_reader.ms();
  const bool silent = !said_something_ && now_ms - opened_ms_ > limits.first_byte.ms();
  if (stalled || silent) {
    ReactorStats::Add(reactor_->stats().closed_slow, 1);
    return Abort();
  }
  if (state_ == State::kOpen && starved_ && command_began_ms_ != 0) {
    const int64_t allowed =
        limits.half_command.ms() + static_cast<int64_t>(command_bytes_) / kSlowestBytesPerMs;
    if (now_ms - command_began_ms_ > allowed) {
      ReactorStats::Add(reactor_->stats().closed_slow, 1);
      command_began_ms_ = 0;
      ProtocolError("Protocol error: timed out inside a command");
      reactor_->MarkDirty(this);
    }
  }
}

}  // namespace vestq
