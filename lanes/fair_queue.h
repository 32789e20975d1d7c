// Whose turn it is: fair sharing of one queue among the spaces that have ready work.
//
// Start-time fair queueing (Goyal, Vin, Cheng 1996). Each space has a tag, the virtual time at
// which its next job starts; the smallest tag is served, and serving moves it on by cost / weight.
// A space that becomes active starts at the larger of its own tag and the virtual time (the tag
// served last): it has saved nothing up by being idle, and owes at most the one job it had last.
// Spaces of one tag are served in the order in which they came to it, so equal weights are plain
// round robin. Owned by the core's thread; no clock. A call is O(log active spaces), O(1) with one
// space; only Add and an Activate beyond the most spaces so far allocate. An idle space costs 32
// bytes.
//
// FAIR-1: over any stretch in which two spaces are active, jobs served / weight differ by at most
// one job of each, 1 / weight + 1 / other weight; before the first job of a new space at most one of
// each other is served. (After SetWeight the job served before it counts by its old weight.)
// FAIR-2: the virtual time never goes back, and no active space's tag lies before it.
// FAIR-3: where several cores each have a FairQueue of one queue and serve by lanes/published_head.h,
// up to k jobs at a time, two spaces of different cores differ by at most 4 + k / weight + k / other
// weight, and before the first job of a new space at most (2 + k) weight + k jobs of another are
// served: words tell whole rounds, and a virtual time may lag by one and lead by k.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/base/check.h"
#include "engine/base/ids.h"

namespace vestq {

class FairQueue {
 public:
  // A space that was added and not removed.
  using Handle = StrongId<struct FairQueueHandleTag, uint32_t>;

  // Virtual time of one job of a space of weight 1. What a weight does not divide is carried over
  // to the space's next job, so shares are exact. A tag lasts for 2^48 jobs of one space: nine
  // years at a million a second.
  static constexpr uint64_t kRound = uint64_t{1} << 16;

  // A new space, idle; `owner` comes back from TopOwner. REQUIRES: weight >= 1.
  Handle Add(void* owner = nullptr, uint32_t weight = 1);
  // Takes the space out, active or not; its handle may be given out again.
  void Remove(Handle handle);
  // Holds from the space's next job on. REQUIRES: weight >= 1.
  void SetWeight(Handle handle, uint32_t weight);
  uint32_t weight(Handle handle) const { return flow(handle).weight; }

  // The space has ready work, or has none any more. Nothing happens when it is so already.
  void Activate(Handle handle);
  void Deactivate(Handle handle);
  // As Activate, of a space that was set aside when it stood first: it comes before the others of its
  // tag, whose turn it had.
  void Reactivate(Handle handle);
  bool active(Handle handle) const { return flow(handle).heap_index != kIdle; }

  // A job of the space was served, or `cost` of them; active or not.
  void Charge(Handle handle, uint32_t cost = 1);

  bool empty() const { return heap_.empty(); }
  size_t size() const { return heap_.size(); }  // active spaces
  // The space to serve, its owner and its tag. REQUIRES: !empty().
  Handle Top() const { return Handle(top().flow); }
  void* TopOwner() const { return flows_[top().flow].owner; }
  uint64_t TopTag() const { return top().tag; }
  uint64_t tag(Handle handle) const { return flow(handle).tag; }

  // Moves the virtual time on to another core's, so that heads of one queue on several cores
  // compare (lanes/published_head.h): call it, before Activate, when the queue has been idle here.
  // Spaces that are active keep their tags.
  void AdvanceTo(uint64_t tag) {
    if (heap_.empty() && tag > virtual_time_) virtual_time_ = tag;
  }
  uint64_t virtual_time() const { return virtual_time_; }

  // The space's next job starts at `tag` at the earliest. REQUIRES: it is not active.
  void Defer(Handle handle, uint64_t tag) {
    Flow& deferred = flow(handle);
    DCHECK(deferred.heap_index == kIdle);
    if (tag > deferred.tag) deferred.tag = tag;
  }
  // Serving does not carry the virtual time beyond `tag` until another one, or UINT64_MAX, is set: who comes
  // to the round that began at `tag` takes part from its beginning (lanes/space_cursor.h).
  void HoldTime(uint64_t tag) { held_time_ = tag; }

  size_t memory_bytes() const {
    return flows_.capacity() * sizeof(Flow) + heap_.capacity() * sizeof(Place);
  }

  // Verifies the order of the heap and FAIR-2; O(n), for tests.
  void CheckInvariants() const;

 private:
  static constexpr uint32_t kIdle = UINT32_MAX;

  struct Flow {
    uint64_t tag = 0;
    void* owner = nullptr;
    uint32_t weight = 0;     // 0: not in use
    uint32_t remainder = 0;  // of cost * kRound / weight, carried to the next job
    uint32_t heap_index = kIdle;
    uint32_t next_free = kIdle;
  };
  struct Place {
    uint64_t tag = 0;
    uint64_t arrival = 0;
    uint32_t flow = 0;
    bool operator<(const Place& other) const {
      return tag != other.tag ? tag < other.tag : arrival < other.arrival;
    }
  };

  Flow& flow(Handle handle) {
    DCHECK(handle.value() < flows_.size() && flows_[handle.value()].weight > 0);
    return flows_[handle.value()];
  }
  const Flow& flow(Handle handle) const { return const_cast<FairQueue*>(this)->flow(handle); }
  const Place& top() const {
    DCHECK(!heap_.empty());
    return heap_.front();
  }
  void Put(size_t index, const Place& place) {
    heap_[index] = place;
    flows_[place.flow].heap_index = static_cast<uint32_t>(index);
  }
  void Enter(Handle handle, uint64_t arrival);
  void SiftUp(size_t index, const Place& place);
  void SiftDown(size_t index, const Place& place);

  std::vector<Flow> flows_;
  uint32_t free_flow_ = kIdle;
  std::vector<Place> heap_;  // the active ones, binary
  uint64_t virtual_time_ = 0;
  uint64_t held_time_ = UINT64_MAX;
  // Upwards and downwards from the middle.
  uint64_t arrivals_ = uint64_t{1} << 63;
  uint64_t returns_ = uint64_t{1} << 63;
};

}  // namespace vestq
