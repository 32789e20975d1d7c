// The live leases of one core, in memory: id -> lease, and by deadline.
//
// Owned by the core's thread; no clock, no disk. It is rebuilt at start from the LEASED range and
// mirrors it, except that `deadline` is exact while the key on disk may stand later. A lease costs
// 136 bytes, a 16-byte place in a 4-ary heap and 4 bytes in a hash table at a load between 3/8 and
// 3/4: about 170 bytes with the slack of growing; names of workers and spaces are held once.
// Find is O(1); Insert, Renew, Erase and each expired lease O(log n). Insert allocates only when
// the table grows beyond its largest size so far (then the hash table, of 4 bytes a slot, is
// rehashed at once; Reserve avoids that); nothing else allocates.
//
// LEASE-1: at most one valid receipt a job: an id stands in the table at most once, and only the
// fence of that entry finds it.
// LEASE-2: a later claim of a job has a greater fence (engine/base/ids.h); so a receipt never finds
// a later lease.
// LEASE-3: a lease is over at its exact deadline, neither before nor after: the owner calls
// PopExpired(now) before it looks at a receipt in a turn.
// LEASE-4: the stored deadline is never before the exact one, so that a crash makes a lease longer,
// never shorter.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <string_view>
#include <vector>

#include "engine/base/check.h"
#include "engine/base/ids.h"
#include "engine/base/time.h"
#include "keycodec/keys.h"
#include "lease/text_pool.h"

namespace vestq {

// stored_deadline_ms of a claim that has no LEASED key (`claims volatile`): covers any renewal.
inline constexpr int64_t kLeaseNotStored = std::numeric_limits<int64_t>::max();

struct Lease {
  JobId id;
  Fence fence;
  MonoTime deadline;               // exact; changed only by Renew
  int64_t stored_deadline_ms = 0;  // of the key on disk, or kLeaseNotStored
  // In a table both views belong to it and live as long as the lease.
  std::string_view space;
  std::string_view worker;
  int64_t enqueued_ms = 0;
  int64_t ready_time_ms = 0;  // time of the READY rank it goes back to
  Duration granted;           // length last granted
  QueueId queue;
  Incarnation incarnation;
  uint32_t priority = 0;
  uint32_t flags = 0;
  uint32_t attempt = 0;  // this delivery included
  uint32_t attempts_max = 0;
  uint32_t payload_bytes = 0;
  // When it was claimed: the lower half of the engine's time. 0 of one that a start has found.
  uint32_t began_ms = 0;
  LaneId lane;
  keycodec::Order order = keycodec::Order::kPriority;
  bool ending = false;  // over, its key has not moved yet: see LeaseTable::Suspend

 private:
  friend class LeaseTable;
  uint32_t heap_index_ = 0;
};

// When it began, if that is not longer ago than 49 days. REQUIRES: not after now.
inline MonoTime BeganAt(const Lease& lease, MonoTime now) {
  return now - Duration(int64_t{static_cast<uint32_t>(now.ms()) - lease.began_ms});
}

// What a renewal means for the disk.
struct Renewal {
  // True: the key on disk still covers the new deadline; write nothing.
  bool covered = true;
  // When not covered: the key that stands there, and the later one to store instead (the table has
  // taken it over as stored_deadline_ms).
  int64_t stored_before_ms = 0;
  int64_t stored_after_ms = 0;
};

class LeaseTable {
 public:
  LeaseTable() = default;
  LeaseTable(const LeaseTable&) = delete;
  LeaseTable& operator=(const LeaseTable&) = delete;

  // Makes room, so that inserting up to `leases` in all rehashes nothing.
  void Reserve(size_t leases);

  // Takes a copy, with its own copies of the two texts. The pointer stays valid until the lease is
  // erased. The limit `max-leased` is the caller's. REQUIRES: the id is not in the table (LEASE-1),
  // stored_deadline_ms >= deadline (LEASE-4).
  Lease* Insert(const Lease& lease);

  // The lease that this receipt stands for, or null when it is over. Does not look at the deadline:
  // see LEASE-3.
  Lease* Find(JobId id, Fence fence) {
    Lease* lease = FindById(id);
    return lease != nullptr && lease->fence == fence ? lease : nullptr;
  }
  Lease* FindById(JobId id);
  const Lease* FindById(JobId id) const { return const_cast<LeaseTable*>(this)->FindById(id); }

  // Moves the deadline to now + length, which may be sooner. When the stored one does not cover it,
  // or the length is another, twice the length from now is to be stored (at most 2 kLeaseMax).
  // REQUIRES: a lease of this table that is not ending, 0 < length <= limits::kLeaseMax.
  Renewal Renew(Lease* lease, MonoTime now, Duration length);

  // REQUIRES: a lease of this table. It and its views are gone.
  void Erase(Lease* lease);

  // When PopExpired has something to do next; MonoTime::Max() when there is no lease or all of them
  // are suspended.
  MonoTime NextDeadline() const {
    return heap_.empty() ? MonoTime::Max() : MonoTime(heap_.front().deadline_ms);
  }

  // Hands up to `max` leases with deadline <= now to `expired(const Lease&)`, earliest first (those
  // of one millisecond in any order), erasing each right after its call; returns how many. The
  // callback must not touch the table. Less than `max` means that none is left.
  template <typename Expired>
  size_t PopExpired(MonoTime now, size_t max, Expired&& expired) {
    size_t count = 0;
    for (; count < max && !heap_.empty() && heap_.front().deadline_ms <= now.ms(); ++count) {
      Lease* lease = At(heap_.front().node);
      expired(static_cast<const Lease&>(*lease));
      Erase(lease);
    }
    return count;
  }

  // The earliest lease that PopExpired would hand out, or null: for an owner that must do more with
  // it than a callback may. It stays the earliest until it is erased, suspended or renewed.
  Lease* Expired(MonoTime now) {
    const bool due = !heap_.empty() && heap_.front().deadline_ms <= now.ms();
    return due ? At(heap_.front().node) : nullptr;
  }

  // A lease that is over but whose key cannot move yet (it takes a read first): marks it as ending,
  // and it does not come up as expired again until Resume says when (the move failed, try again);
  // it is still ending then. Its receipt is still found: the owner refuses one that is ending.
  // REQUIRES: a lease of this table; Resume: one that is ending.
  void Suspend(Lease* lease);
  void Resume(Lease* lease, MonoTime when);
  // Takes Suspend back, of a lease that did not end after all: it lasts until its deadline. REQUIRES: one
  // that is ending.
  void Restore(Lease* lease);

  // Calls visit(const Lease&) for each, in no particular order.
  template <typename Visit>
  void ForEach(Visit&& visit) const {
    for (const Place& place : heap_) visit(static_cast<const Lease&>(*At(place.node)));
  }

  // Passes over the table in slices, over as many calls as it takes while leases come and go: looks at
  // `max` places from `from` (0 at first), calls visit(const Lease&, place) for the leases there, and
  // returns where to go on; 0 at the end. A lease keeps its place, so one that lasts is visited once.
  template <typename Visit>
  uint32_t VisitSlice(uint32_t from, uint32_t max, Visit&& visit) const {
    if (from >= nodes_made_) return 0;
    const uint32_t end = nodes_made_ - from < max ? nodes_made_ : from + max;
    for (uint32_t node = from; node < end; ++node) {
      const Lease& lease = *At(node);
      const bool taken = lease.heap_index_ < heap_.size() && heap_[lease.heap_index_].node == node;
      if (taken) visit(lease, node);
    }
    return end == nodes_made_ ? 0 : end;
  }

  size_t size() const { return heap_.size(); }
  bool empty() const { return heap_.empty(); }
  // Estimate of the heap bytes held; it does not shrink when leases end.
  size_t memory_bytes() const;

  // Verifies order of the heap and reachability of every lease; O(n), for tests.
  void CheckInvariants() const;

 private:
  static constexpr size_t kChunk = 256;  // leases allocated together: 32 KiB
  static constexpr size_t kArity = 4;
  // A hash slot holds node + 1 in its low bits and some bits of the hash above, so that most slots
  // of other ids are told apart without touching their leases; 0 is free.
  static constexpr unsigned kNodeBits = 26;
  static constexpr uint32_t kNodeMask = (uint32_t{1} << kNodeBits) - 1;

  static constexpr uint32_t kNoNode = UINT32_MAX;

  struct Place {
    int64_t deadline_ms;
    uint32_t node;
  };
  using Chunk = std::array<Lease, kChunk>;

  static uint64_t HashOf(JobId id) { return id.value() * 0x9E3779B97F4A7C15ull; }
  size_t HomeOf(uint64_t hash) const { return static_cast<size_t>(hash >> (64 - slot_bits_)); }
  static uint32_t TagOf(uint64_t hash) { return static_cast<uint32_t>(hash) & ~kNodeMask; }
  Lease* At(uint32_t node) const { return &(*chunks_[node / kChunk])[node % kChunk]; }

  size_t FindSlot(JobId id) const;  // its slot, or the free one where the search ended
  void Rehash(unsigned slot_bits);
  void EraseSlot(size_t slot);
  uint32_t TakeNode();

  void Put(size_t index, Place place) {
    heap_[index] = place;
    At(place.node)->heap_index_ = static_cast<uint32_t>(index);
  }
  void SiftUp(size_t index, Place place);
  void SiftDown(size_t index, Place place);

  std::vector<std::unique_ptr<Chunk>> chunks_;  // leases never move
  uint32_t nodes_made_ = 0;
  uint32_t free_node_ = kNoNode;  // free leases are chained by heap_index_
  std::vector<Place> heap_;
  std::vector<uint32_t> slots_;  // linear probing, a power of two
  unsigned slot_bits_ = 0;
  TextPool texts_;
};

}  // namespace vestq
