// The one write order of a store. Cores submit the batch of each loop turn; whoever holds the write
// token writes for all, joining waiting batches to about limits::kBatchBytes; the syncer makes them
// durable behind.
//
// WRITE-1: batches are written in ticket order, whole. WRITE-2: one writer at a time. WRITE-3:
// exactly one syncer, and no synced write beside it. WRITE-4: durable() never exceeds what a
// finished SyncWal covers. Submit is lock-free and never blocks on the disk (it spins only if the
// ring of waiting batches is full).
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "engine/base/ids.h"
#include "engine/base/result.h"
#include "engine/batch.h"

namespace vestq {

class Store;

class WriteQueue {
 public:
  // REQUIRES: store outlives the queue. All that is in the store counts as durable (Store::Open
  // sees to it).
  explicit WriteQueue(Store* store);
  ~WriteQueue();

  // Takes over the batch's bytes (*batch is cleared, with a recycled capacity) and gives its place
  // in the order. REQUIRES: !batch->empty(). Any thread.
  Ticket Submit(Batch* batch);

  // Writes every submitted batch that is next in order, unless another thread is doing so. Returns
  // true when there is something left that could not be written now (RocksDB busy): call again
  // soon. Any thread.
  bool Drain();

  // One round of the syncer: syncs what is written and not durable; false when there was nothing to
  // do. One thread.
  bool SyncOnce();
  // For the syncer when nothing has come in for a while: writes and syncs a record that vouches for
  // all that is durable, so that damage to the last group before an idle time is seen too. False
  // when there was nothing to vouch for. The thread of SyncOnce.
  bool VouchIdle();
  Ticket submitted() const;  // last ticket handed out
  Ticket written() const { return Ticket(written_.load(std::memory_order_acquire)); }
  Ticket durable() const { return Ticket(durable_.load(std::memory_order_acquire)); }

  uint64_t syncs() const { return syncs_.load(std::memory_order_relaxed); }  // finished ones

  // As a failed write: what memory says is not what the store says any more. Any thread.
  void FailWith(const Error& error) { Fail(error); }
  // True after a failed write or sync; then written() and durable() stand still for ever.
  bool failed() const { return failed_.load(std::memory_order_acquire); }
  Error failure() const;

  // Called (from the writing or syncing thread) after written() or durable() rose or failed()
  // became true. REQUIRES: set before the first Submit.
  void set_on_written(std::function<void()> f) { on_written_ = std::move(f); }
  void set_on_durable(std::function<void()> f) { on_durable_ = std::move(f); }

  // Called with the bytes of each group that was written, by the writing thread: the simulation checks
  // the families' discipline (FAMILY-1). REQUIRES: set before the first Submit.
  void set_observer(std::function<void(const std::string& rep)> f) { observer_ = std::move(f); }

  // Plants a bug for the simulation to find: durable() follows written() without a sync.
  void set_plant_answer_before_sync(bool on) { plant_answer_before_sync_ = on; }

 private:
  struct Slot;
  bool WriteReady();
  void Fail(const Error& error);

  Store* const store_;
  std::unique_ptr<Slot[]> slots_;
  std::atomic<uint64_t> next_ticket_{1};
  std::atomic<uint64_t> written_{0};
  std::atomic<uint64_t> durable_{0};
  std::atomic<uint64_t> durable_sequence_{0};
  std::atomic<uint64_t> syncs_{0};
  std::atomic<bool> token_{false};
  std::atomic<bool> failed_{false};
  std::unique_ptr<struct WriteQueueState> state_;
  std::function<void()> on_written_;
  std::function<void()> on_durable_;
  std::function<void(const std::string&)> observer_;
  bool plant_answer_before_sync_ = false;
};

}  // namespace vestq
