#include "engine/write_queue.h"

#include <chrono>
#include <mutex>
#include <thread>
#include <utility>

#include "engine/base/check.h"
#include "engine/base/limits.h"
#include "engine/store.h"
#include "engine/wal_vouch.h"

namespace vestq {
namespace {

constexpr size_t kRing = 256;
// A slot keeps its buffer for the next batch up to this; the ring holds at most 4 MiB of them.
constexpr size_t kRecycledBytesMax = 16 << 10;

}  // namespace

struct WriteQueue::Slot {
  // The ticket whose batch lies here; written by its submitter, read by the token's holder.
  std::atomic<uint64_t> ready{0};
  Batch batch;
};

struct WriteQueueState {
  // Tickets whose batches have left the ring. Written by the token's holder, read by submitters
  // waiting for a slot.
  std::atomic<uint64_t> taken{0};
  std::atomic<bool> syncing{false};

  // Owned by the token's holder: the group being written, kept while RocksDB is busy so that the
  // same bytes are tried again and nothing is executed twice.
  Batch group;
  uint64_t group_last = 0;  // its last ticket; 0: no group
  std::string vouch;
  std::string bytes;

  // Owned by the syncer: what the newest idle vouch covers.
  Sequence idle_vouched;

  mutable std::mutex mutex;  // guards `failure`; taken only once a failure is known
  Error failure;
};

WriteQueue::WriteQueue(Store* store)
    : store_(store), slots_(new Slot[kRing]), state_(std::make_unique<WriteQueueState>()) {
  // What was there at opening is durable: Store::Open syncs the live logs.
  durable_sequence_.store(store->LatestSequence().value(), std::memory_order_relaxed);
}

WriteQueue::~WriteQueue() = default;

Ticket WriteQueue::Submit(Batch* batch) {
  CHECK(!batch->empty());
  const uint64_t ticket = next_ticket_.fetch_add(1, std::memory_order_relaxed);
  Slot& slot = slots_[ticket % kRing];
  // The slot's last user was ticket - kRing.
  while (ticket > state_->taken.load(std::memory_order_acquire) + kRing) {
    if (failed()) {
      batch->Clear();
      return Ticket(ticket);
    }
    Drain();
    std::this_thread::yield();
  }
  std::swap(slot.batch, *batch);
  slot.ready.store(ticket, std::memory_order_release);
  return Ticket(ticket);
}

Ticket WriteQueue::submitted() const {
  return Ticket(next_ticket_.load(std::memory_order_acquire) - 1);
}

// Nobody's batch is left behind. A submitter stores its slot, then fences, then finds the token
// taken and leaves. The holder releases the token, then fences, then looks at the next slot again.
// The two fences have an order. If the submitter's is first, the holder's look sees the slot. If
// the holder's is first, the submitter's exchange, which comes after its own fence, cannot see this
// holder's taking any more: it gets the token, or it sees a later holder's taking, of whom the same
// holds.
bool WriteQueue::Drain() {
  for (;;) {
    std::atomic_thread_fence(std::memory_order_seq_cst);
    if (token_.exchange(true, std::memory_order_acquire)) return false;
    const bool busy = WriteReady();
    const uint64_t next = state_->taken.load(std::memory_order_relaxed) + 1;
    token_.store(false, std::memory_order_release);
    if (busy) return true;
    if (failed()) return false;
    std::atomic_thread_fence(std::memory_order_seq_cst);
    if (slots_[next % kRing].ready.load(std::memory_order_acquire) != next) return false;
  }
}

// Joins waiting batches to groups and writes them until none is left; true when RocksDB was busy.
bool WriteQueue::WriteReady() {
  WriteQueueState& state = *state_;
  while (!failed()) {
    if (state.group_last == 0) {
      uint64_t next = state.taken.load(std::memory_order_relaxed) + 1;
      CHECK(next == written_.load(std::memory_order_relaxed) + 1,
            "WRITE-1: groups follow each other");
      if (slots_[next % kRing].ready.load(std::memory_order_acquire) != next) return false;
      state.group.Clear();
      state.vouch.clear();
      AppendVouch(Sequence(durable_sequence_.load(std::memory_order_acquire)), &state.vouch);
      const bool great = slots_[next % kRing].batch.bytes() >= limits::kBatchBytes;
      if (!great) state.group.LogData(state.vouch);
      do {
        Slot& slot = slots_[next % kRing];
        state.group.Take(&slot.batch);
        if (great) state.group.LogDataFirst(state.vouch);
        slot.batch.Recycle(kRecycledBytesMax);
        state.taken.store(next, std::memory_order_release);
        state.group_last = next++;
      } while (state.group.bytes() < limits::kBatchBytes &&
               slots_[next % kRing].ready.load(std::memory_order_acquire) == next);
    }
    const Result<Store::WriteOutcome> outcome = store_->Write(state.group.mutable_rep());
    if (!outcome.ok()) {
      Fail(outcome.error());
      return false;
    }
    if (*outcome == Store::WriteOutcome::kBusy) return true;
    CHECK(state.group_last > written_.load(std::memory_order_relaxed),
          "WRITE-1: tickets are written in order");
    written_.store(state.group_last, std::memory_order_release);
    state.group_last = 0;
    if (observer_) observer_(state.group.rep());
    state.group.Recycle(4 * limits::kBatchBytes);
    if (plant_answer_before_sync_)
      durable_.store(written_.load(std::memory_order_relaxed), std::memory_order_release);
    if (on_written_) on_written_();
    if (plant_answer_before_sync_ && on_durable_) on_durable_();
  }
  return false;
}

bool WriteQueue::SyncOnce() {
  if (failed()) return false;
  const uint64_t written = written_.load(std::memory_order_acquire);
  if (written == durable_.load(std::memory_order_relaxed) && !plant_answer_before_sync_)
    return false;
  CHECK(!state_->syncing.exchange(true, std::memory_order_acquire), "WRITE-3: exactly one syncer");
  // Read after `written`, so it covers every written ticket; before the sync, so the sync covers
  // it.
  const Sequence sequence = store_->LatestSequence();
  if (plant_answer_before_sync_ &&
      sequence.value() == durable_sequence_.load(std::memory_order_relaxed)) {
    state_->syncing.store(false, std::memory_order_release);
    return false;
  }
  const Error error = store_->SyncWal();
  state_->syncing.store(false, std::memory_order_release);
  if (!error.ok()) {
    Fail(error);
    return false;
  }
  syncs_.fetch_add(1, std::memory_order_relaxed);
  durable_sequence_.store(sequence.value(), std::memory_order_release);
  if (!plant_answer_before_sync_) {
    CHECK(written >= durable_.load(std::memory_order_relaxed), "WRITE-4: durable only rises");
    CHECK(written <= written_.load(std::memory_order_acquire),
          "WRITE-4: durable is never ahead of written");
    durable_.store(written, std::memory_order_release);
    if (on_durable_) on_durable_();
  }
  return true;
}

bool WriteQueue::VouchIdle() {
  if (failed()) return false;
  const Sequence durable(durable_sequence_.load(std::memory_order_relaxed));
  if (durable.value() == 0 || durable == state_->idle_vouched || submitted() != this->durable())
    return false;
  if (token_.exchange(true, std::memory_order_acquire)) return false;
  // The group's buffer is free: nothing is submitted and not durable. If something came in
  // meanwhile it waits.
  bool vouched = false;
  if (state_->group_last == 0) {
    Batch batch;
    std::string vouch;
    AppendVouch(durable, &vouch);
    batch.LogData(vouch);
    const Result<Store::WriteOutcome> outcome = store_->Write(batch.mutable_rep());
    if (!outcome.ok()) Fail(outcome.error());
    vouched = outcome.ok() && *outcome == Store::WriteOutcome::kWritten;
  }
  token_.store(false, std::memory_order_release);
  // For a submitter that found the token taken; as in Drain, with its fence. It has left the rest to
  // this thread, so RocksDB's being busy is waited for here.
  while (Drain()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  if (!vouched || failed()) return false;
  state_->idle_vouched = durable;
  CHECK(!state_->syncing.exchange(true, std::memory_order_acquire), "WRITE-3: exactly one syncer");
  const Error error = store_->SyncWal();
  state_->syncing.store(false, std::memory_order_release);
  if (!error.ok()) Fail(error);
  return error.ok();
}

void WriteQueue::Fail(const Error& error) {
  {
    const std::lock_guard lock(state_->mutex);
    if (state_->failure.ok()) state_->failure = error;
  }
  failed_.store(true, std::memory_order_release);
  if (on_written_) on_written_();
  if (on_durable_) on_durable_();
}

Error WriteQueue::failure() const {
  const std::lock_guard lock(state_->mutex);
  return state_->failure;
}

}  // namespace vestq
