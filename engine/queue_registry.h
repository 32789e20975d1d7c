// The queues of a store, shared by all cores: name <-> number, and per core the words that cores
// show each other.
//
// A record lives as long as the engine, so pointers to it travel freely. A queue that is only
// waited for has a record without a row in the store; its first job stores the row. The row's batch
// is submitted, under the registry's mutex, before any batch that uses the number can be (QUEUE-1),
// so no crash leaves a job of an unknown queue. A record stands for its name for good: QUEUE DROP
// gives it another number (engine/queue_life.h), so a LEASE that waits on it goes on waiting, and a
// queue that comes and goes takes no more memory each time.
//
// What a purge or a drop has voided is erased by all cores (engine/core_erase.cc). While anything is
// left to erase, the setting `erase` stands in the store (ERASE-1), so a start knows whether to look.
//
// The mutex: making a queue is rare, and every core keeps its own map from names to records, so it
// is off the hot path; lock-free maps would buy nothing.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "engine/base/ids.h"
#include "engine/base/result.h"
#include "engine/queue_backlog.h"
#include "engine/queue_life.h"
#include "engine/request.h"
#include "engine/shared_adaptive_limit.h"
#include "keycodec/records.h"
#include "lanes/concurrency.h"
#include "lanes/rate_limit.h"

namespace vestq {

class Batch;
class WriteQueue;
struct CoreQueue;

// What one core shows the others about one queue.
struct alignas(64) QueueSlot {
  // lanes/published_head.h; kNoHead when this core has nothing to lease.
  std::atomic<uint64_t> head;
  // Wait order of this core's longest-waiting LEASE on the queue; kNoWaiter when there is none.
  std::atomic<uint64_t> oldest_waiter;
  std::atomic<uint64_t> waiters;
  // This core's place in fair sharing (FairQueue::virtual_time), and whether `head` is by tag from
  // now on: read `tagged` before `head`.
  std::atomic<uint64_t> virtual_time;
  std::atomic<bool> tagged;
  std::atomic<int64_t> touched_ms;  // engine time of the last turn that counted something here
  // Mirrors of the core's counter row, for statistics.
  std::array<std::atomic<int64_t>, keycodec::kCounters> counters;
  // Owned by the core's thread.
  CoreQueue* core_queue;

  QueueSlot();
};

inline constexpr uint64_t kNoWaiter = ~uint64_t{0};

// How long a queue outlives its last job, its last option and its last waiter.
inline constexpr Duration kVanishAfter = Seconds(60);

// What a queue's options say, for every core to read on its way. -1: not set.
struct QueueSettings {
  std::atomic<int64_t> lease_ms{-1};
  std::atomic<int64_t> attempts{-1};
  std::atomic<int64_t> keep_ms{-1};
  std::atomic<int64_t> dead_keep_ms{-1};
  std::atomic<int64_t> dead_max{-1};
  std::atomic<int64_t> paused_until_ms{-1};
  std::atomic<int64_t> concurrency{-1};
  std::atomic<int64_t> space_concurrency{-1};
  std::atomic<int64_t> rate_micro{-1};
  std::atomic<int64_t> burst{-1};
  std::atomic<int64_t> ageing_ms{-1};
  std::atomic<int64_t> space_rate_micro{-1};
  std::atomic<int64_t> space_burst{-1};
  std::atomic<int64_t> space_weight{-1};
  std::atomic<int64_t> adaptive{-1};  // its bounds in one word: see Packed
  // One of those that limit is set, here or of a space, or was in this run: there is something to look at
  // for each lease.
  std::atomic<bool> limited{false};
  std::atomic<bool> counts_spaces{false};  // the same: some space has a concurrency of its own
  std::atomic<const std::string*> backoff{nullptr};  // encoded; lives as long as the registry

  static int64_t Packed(const keycodec::AdaptiveBounds& bounds) {
    return int64_t{bounds.min} << 32 | int64_t{bounds.max};
  }
  std::optional<keycodec::AdaptiveBounds> Adaptive() const {
    const int64_t word = adaptive.load(std::memory_order_acquire);
    if (word < 0) return std::nullopt;
    return keycodec::AdaptiveBounds{static_cast<uint32_t>(word >> 32), static_cast<uint32_t>(word)};
  }
};

// Options of the empty space, which is spread over all cores, for each to read on its way; those of a space
// with a name are its owner's (engine/core_state.h). -1: not set. Written while changes are held.
struct SpaceWords {
  std::atomic<int64_t> concurrency{-1};
  std::atomic<int64_t> rate_micro{-1};
  std::atomic<int64_t> burst{-1};
  std::atomic<int64_t> weight{-1};
  std::atomic<int64_t> paused_until_ms{-1};
  keycodec::SpaceValue Load() const;
  void Store(const keycodec::SpaceValue& value);
};

// The rate limit that options say; none: not limited.
inline RateLimit RateOf(const std::optional<uint64_t>& rate_micro,
                        const std::optional<uint32_t>& burst) {
  return rate_micro.value_or(0) > 0 ? RateLimit(*rate_micro, burst.value_or(1)) : RateLimit();
}

struct QueueRecord {
  QueueRecord(std::string n, const QueueLife& first, uint16_t cores);
  ~QueueRecord();

  const std::string name;
  const uint32_t ordinal;  // its first number: decides on the core that keeps its dead letters
  const std::unique_ptr<QueueSlot[]> slots;  // one a core
  // The life that holds, of the registry's mutex; and its version, for a core to see that it is behind.
  QueueLife life;
  std::atomic<uint64_t> version{0};
  // Of jobs that are enqueued from now on; a job keeps the order in its own zone, so one that comes
  // while the order changes does no harm.
  std::atomic<keycodec::Order> ready_order{keycodec::Order::kPriority};
  std::atomic<bool> stored{false};  // its row is, or is about to be
  QueueSettings settings;
  std::atomic<bool> has_spaces{false};  // a job with a space was seen in this run
  int erasing = 0;                      // erasures of it under way; of the registry's mutex
  // What all cores share of its limits (engine/core_limits.cc).
  SharedSlots taken;                       // leases of cores that count them
  SharedSlots unnamed_taken;               // of those, without a space
  std::atomic<uint16_t> counting{0};       // cores that do
  std::atomic<uint32_t> space_waiters{0};  // LEASEs for one space that wait, over all cores
  SharedRateState rate;
  SpaceWords unnamed;  // options of the empty space
  SharedRateState unnamed_rate;
  // The empty space's adaptive limit; null until a job without a space has started under one.
  std::atomic<SharedAdaptiveLimit*> unnamed_adaptive{nullptr};
  // Rows of spaces that stand in the store, over all cores: while there are any the queue does not vanish.
  std::atomic<int64_t> space_rows{0};
  // Of max-jobs and max-bytes; null until one is set. Lives as long as the record.
  std::atomic<QueueBacklog*> backlog{nullptr};

  keycodec::Order order() const { return ready_order.load(std::memory_order_relaxed); }
  // Summed over the slots; exact at a quiet moment.
  int64_t Total(keycodec::Counter counter, uint16_t cores) const;
  // The greatest of that counter: kRateUntil, kUnnamedRateUntil.
  MonoTime RateUntil(keycodec::Counter counter, uint16_t cores) const;
  QueueCounts Counts(uint16_t cores) const;
  // Makes it if it is not there. Any thread.
  SharedAdaptiveLimit* UnnamedAdaptive(const keycodec::AdaptiveBounds& bounds, MonoTime now);
};

class QueueRegistry {
 public:
  QueueRegistry(WriteQueue* writes, uint16_t cores);
  ~QueueRegistry();

  // While opening, before the cores run. Errors: kCorruption (a number or a name twice).
  Error Restore(std::string_view name, const keycodec::QueueValue& value);
  // The same of a dropped queue that is not wholly erased, and of the least number never given.
  Error RestoreDropped(QueueId number);
  void RestoreNext(uint32_t number) { next_id_ = std::max(next_id_, number); }

  // The record of that name, made when there is none. Errors: kFull (limits::kQueuesMax).
  Result<QueueRecord*> Get(std::string_view name);
  // nullptr when there is none.
  QueueRecord* Find(std::string_view name) const;
  QueueRecord* FindById(QueueId id) const;
  QueueLife Life(const QueueRecord& record) const;
  // The life that has that number; none: it was dropped.
  std::optional<QueueLife> LifeOf(QueueId number) const;

  // PURGE: the next incarnation is the living one of these kinds. Its row is submitted before any core
  // can see it (LIFE-2). Returns its ticket.
  Ticket Purge(QueueRecord* record, KeyKinds kinds);
  // QUEUE DROP: the name gets another number, without options, and has no row until it is used again.
  // None: there is no such queue.
  struct Dropped {
    Ticket ticket;
    QueueId number;  // that it had
  };
  std::optional<Dropped> Drop(QueueRecord* record);

  // Each core says once that it has erased what a purge (`record`) or drop (null) has voided. REQUIRES:
  // its batches are submitted.
  void Erased(QueueRecord* record, QueueId number);
  // At a start: what is left to erase, by all cores. Called once, before they run; `pending`: the setting
  // says that there may be something.
  void RestoreErasing(bool pending);
  const std::vector<std::pair<QueueRecord*, QueueId>>& to_erase() const { return to_erase_; }

  // A queue without any job vanishes (core_vanish.cc): first nobody may use its row without EnsureStored,
  // then, when every core has been heard of, the row goes if nobody has used it and nothing was counted.
  bool BeginVanish(QueueRecord* record);
  // The ticket of its end; none: it stays.
  std::optional<Ticket> EndVanish(QueueRecord* record, MonoTime now);

  // Returns once a batch with the queue's row is submitted.
  void EnsureStored(QueueRecord* record);

  // Changes options: the queue's row is submitted before any core can see them. Returns its ticket.
  Ticket Set(QueueRecord* record, const std::function<void(QueueOptions*)>& change);
  // What its cores share to keep max-jobs and max-bytes; made where there is none, without a limit.
  QueueBacklog* Backlogs(QueueRecord* record);
  // A pause that is over says nothing any more.
  static bool HasOptions(const QueueRecord& record, MonoTime now);
  QueueOptions Options(const QueueRecord& record) const;

  // While it is held no option changes and nothing is purged or dropped; whoever wants to waits. For a group,
  // which happens at one moment (GROUP-2): milliseconds at most, within one call.
  [[nodiscard]] std::unique_lock<std::mutex> HoldChanges() { return std::unique_lock(changes_); }
  // How often a queue got another life in this run.
  uint64_t renewals() const { return renewals_.load(std::memory_order_acquire); }

  // All records, by name.
  std::vector<QueueRecord*> All() const;
  uint16_t cores() const { return cores_; }

 private:
  WriteQueue* const writes_;
  const uint16_t cores_;
  std::mutex changes_;  // before mutex_
  mutable std::mutex mutex_;
  std::atomic<uint64_t> renewals_{0};
  std::unordered_map<std::string_view, std::unique_ptr<QueueRecord>> by_name_;
  std::unordered_map<uint32_t, QueueRecord*> by_id_;
  std::set<std::string> backoffs_;  // of all options so far: few
  uint32_t next_id_ = 1;
  std::map<uint32_t, int> dropped_;  // numbers, and how many cores have not erased what was theirs
  int erasing_ = 0;                  // erasures of purges and drops under way, over all cores
  std::vector<std::pair<QueueRecord*, QueueId>> to_erase_;

  keycodec::QueueValue ValueOf(const QueueRecord& record) const;
  void Publish(QueueRecord* record, const keycodec::QueueValue& value);
  static QueueBacklog* MakeBacklog(QueueRecord* record);
  void PutRow(const QueueRecord& record, Batch* batch) const;
  void Renew(QueueRecord* record, const QueueLife& life);
  void BeginErasing(QueueRecord* record, QueueId number, Batch* batch);
};

}  // namespace vestq
