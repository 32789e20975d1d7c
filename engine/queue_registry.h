// The queues of a store, shared by all cores: name <-> number, and per core the words that cores
// show each other.
//
// A record lives as long as the engine, so pointers to it travel freely. A queue that is only
// waited for has a record without a row in the store; its first job stores the row. The row's batch
// is submitted, under the registry's mutex, before any batch that uses the number can be (QUEUE-1),
// so no crash leaves a job of an unknown queue.
//
// The mutex: making a queue is rare, and every core keeps its own map from names to records, so it
// is off the hot path; lock-free maps would buy nothing.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "engine/base/ids.h"
#include "engine/base/result.h"
#include "engine/request.h"
#include "keycodec/records.h"

namespace vestq {

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
  // Mirrors of the core's counter row, for statistics.
  std::array<std::atomic<int64_t>, keycodec::kCounters> counters;
  // Owned by the core's thread.
  CoreQueue* core_queue;

  QueueSlot();
};

inline constexpr uint64_t kNoWaiter = ~uint64_t{0};

// What a queue's options say, for every core to read on its way. -1: not set.
struct QueueSettings {
  std::atomic<int64_t> lease_ms{-1};
  std::atomic<int64_t> attempts{-1};
  std::atomic<int64_t> keep_ms{-1};
  std::atomic<int64_t> dead_keep_ms{-1};
  std::atomic<int64_t> dead_max{-1};
  std::atomic<int64_t> paused_until_ms{-1};
  std::atomic<const std::string*> backoff{nullptr};  // encoded; lives as long as the registry
};

struct QueueRecord {
  QueueRecord(std::string n, QueueId number, uint16_t cores);

  const std::string name;
  const QueueId id;
  const std::unique_ptr<QueueSlot[]> slots;  // one a core
  std::atomic<uint32_t> incarnation{1};
  // Of jobs that are enqueued from now on; a job keeps the order in its own zone, so one that comes
  // while the order changes does no harm.
  std::atomic<keycodec::Order> ready_order{keycodec::Order::kPriority};
  std::atomic<bool> stored{false};
  QueueSettings settings;
  std::atomic<bool> has_spaces{false};  // a job with a space was seen in this run
  // Counters of core slots that no core of this run owns (the store ran with more cores before).
  // Constant after Open.
  keycodec::CounterValue rest;

  keycodec::Order order() const { return ready_order.load(std::memory_order_relaxed); }
  Incarnation current() const { return Incarnation(incarnation.load(std::memory_order_relaxed)); }
  // Summed over the slots; exact at a quiet moment.
  int64_t Total(keycodec::Counter counter, uint16_t cores) const;
  QueueCounts Counts(uint16_t cores) const;
};

class QueueRegistry {
 public:
  QueueRegistry(WriteQueue* writes, uint16_t cores);
  ~QueueRegistry();

  // While opening, before the cores run. Errors: kCorruption (a number or a name twice).
  Error Restore(std::string_view name, const keycodec::QueueValue& value);

  // The record of that name, made when there is none. Errors: kFull (limits::kQueuesMax).
  Result<QueueRecord*> Get(std::string_view name);
  // nullptr when there is none.
  QueueRecord* Find(std::string_view name) const;
  QueueRecord* FindById(QueueId id) const;
  // Returns once a batch with the queue's row is submitted.
  void EnsureStored(QueueRecord* record);

  // Changes options: the queue's row is submitted before any core can see them. Returns its ticket.
  Ticket Set(QueueRecord* record, const std::function<void(QueueOptions*)>& change);
  QueueOptions Options(const QueueRecord& record) const;

  // All records, by name.
  std::vector<QueueRecord*> All() const;
  uint16_t cores() const { return cores_; }

 private:
  WriteQueue* const writes_;
  const uint16_t cores_;
  mutable std::mutex mutex_;
  std::unordered_map<std::string_view, std::unique_ptr<QueueRecord>> by_name_;
  std::unordered_map<uint32_t, QueueRecord*> by_id_;
  std::set<std::string> backoffs_;  // of all options so far: few
  uint32_t next_id_ = 1;

  keycodec::QueueValue ValueOf(const QueueRecord& record) const;
  void Publish(QueueRecord* record, const keycodec::QueueValue& value);
};

}  // namespace vestq
