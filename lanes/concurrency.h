// How many jobs may run at once: slots of a queue and of its spaces.
//
// What is counted are the leases themselves: the owner reports each lease when it comes to be
// (claimed, or restored at a start) and when it is over (completed, failed, released, cancelled,
// expired, revoked), at the two places where its lease table changes. Nothing else changes a count,
// and no count is stored; so none can drift from the leases, and after a crash it is what the
// restored leases say. A receipt that is refused ends no lease and frees no slot.
//
// A limit is looked at when a job is about to start, never later: lowering one lets the running
// finish, and none starts until fewer run than it allows; 0 lets none start. No limit costs the
// owner one branch.
//
// Whoever ends a lease is told whether that made room. Room in the queue wakes one waiter, whatever
// the limit of the space that made it: a job of another may have waited for it. Each of several slots
// that become free says so, also when there was room before: the waiter of the earlier one may still
// be on its way.
//
// CONC-1: a job starts only while fewer than the limit run; so live leases never exceed a limit that
// held when they began.
// CONC-2: the count is the number of live leases, exactly.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>

namespace vestq {

inline constexpr uint32_t kNoSlotLimit = UINT32_MAX;

// The slots of a queue, whose leases are spread over all cores. Any thread, lock-free.
class SharedSlots {
 public:
  // A job is about to start: takes a slot while fewer than `limit` are taken.
  [[nodiscard]] bool TryTake(uint32_t limit);
  // Of a lease that is there already: restored, or from before its queue was counted.
  void Take(uint32_t leases = 1) { taken_.fetch_add(leases, std::memory_order_relaxed); }
  // A lease is over, or one that a slot was taken for did not come to be. Returns how many were taken,
  // this one included: there is room when that is at most the limit, and there was none before when
  // it is just the limit. Whoever gives reads the limit after that, and looks for waiters behind a fence
  // (WAIT-1); whoever changes the limit looks again afterwards. So none waits beside a free slot.
  // REQUIRES: a slot is taken (CONC-2).
  uint32_t Give();

  bool HasRoom(uint32_t limit) const { return taken() < limit; }
  uint32_t taken() const { return taken_.load(std::memory_order_acquire); }

 private:
  std::atomic<uint32_t> taken_{0};
};

// The slots of all spaces of one queue on one core, by name: a space stands here while it has
// leases, whether or not it has ready jobs, and leaves nothing behind. Owned by the core's thread.
// A call is one look-up; the first lease of a space allocates. About 80 bytes a space and its name,
// bounded by the leases there can be.
class SpaceSlots {
 public:
  // A lease of the space has come to be, or is over. Remove returns whether there is room then: if
  // the space was set aside for its limit, it takes part again. REQUIRES: Remove: it has one (CONC-2).
  void Add(std::string_view space);
  [[nodiscard]] bool Remove(std::string_view space, uint32_t limit);

  bool HasRoom(std::string_view space, uint32_t limit) const {
    return limit == kNoSlotLimit || running(space) < limit;
  }
  uint32_t running(std::string_view space) const;
  size_t spaces() const { return running_.size(); }

 private:
  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const noexcept {
      return std::hash<std::string_view>{}(text);
    }
  };
  std::unordered_map<std::string, uint32_t, Hash, std::equal_to<>> running_;
};

}  // namespace vestq
