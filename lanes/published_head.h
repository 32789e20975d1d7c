// A queue's head on one core as a single atomic word, so that another core which answers a LEASE
// can pick the best core without asking.
//
// Smaller is served first; kNoHead, the largest, means that nothing is ready. A word is a hint: it
// may be stale by the time it is read, and it rounds. The core that is asked then compares its
// lanes by full key; a wrong guess costs a retry. Words compare only between cores of one queue,
// and within one of the two forms, which the queue's kind decides: by tag when spaces share it, by
// rank when the order of the jobs is all that counts. Pure arithmetic, any thread.
//
//   by tag             round 48 bits | time 16 bits      time: units of 1024 ms, modulo 2^16
//   by rank, priority  priority 16 bits | time 48 bits   time: engine ms
//   by rank, time      time 48 bits | priority 16 bits
//
// HEAD-1: of two words of one form, neither kNoHead, the one of the smaller tag (by whole rounds)
// or of the lesser rank (as far as the bits show) is not the larger. The time beside a tag only
// tells apart heads of one round, and wrongly once in 18 hours, when it wraps. HEAD-2: no packed
// head is kNoHead or kUnknownHead.
#pragma once

#include <bit>
#include <cstdint>

#include "engine/base/check.h"
#include "keycodec/keys.h"
#include "lanes/fair_queue.h"

namespace vestq {

inline constexpr uint64_t kNoHead = UINT64_MAX;
// Something may be ready but must be read first: after all known heads.
inline constexpr uint64_t kUnknownHead = kNoHead - 1;
// Nobody has looked yet, and whoever compares must: before all others.
inline constexpr uint64_t kUnseenHead = 0;

// A 32-bit priority in 16 bits, in order: exact below 4096 and within 1/2048 of it above, as a
// floating-point number with a mantissa of 12 bits would be. At most 45055.
constexpr uint64_t PackPriority(uint32_t priority) {
  if (priority < 4096) return priority;
  const auto shift = static_cast<uint32_t>(std::bit_width(priority)) - 12;
  return uint64_t{2048} * shift + (priority >> shift);
}

// Head of a queue whose spaces take turns: FairQueue::TopTag, and the time of its job or of now.
// REQUIRES: time_ms >= 0.
constexpr uint64_t PackHead(uint64_t tag, int64_t time_ms) {
  const uint64_t round = tag / FairQueue::kRound;
  DCHECK(time_ms >= 0 && round < (uint64_t{1} << 48) - 1);
  return round << 16 | (static_cast<uint64_t>(time_ms) >> 10 & 0xFFFF);
}
// The tag of such a head, to the round: what FairQueue::AdvanceTo takes. REQUIRES: a packed tag.
constexpr uint64_t TagOfHead(uint64_t head) { return (head >> 16) * FairQueue::kRound; }

// Head of a queue that is served by rank alone. REQUIRES: 0 <= rank.time_ms < 2^48.
constexpr uint64_t PackHead(keycodec::Order order, const keycodec::ReadyRank& rank) {
  const auto time = static_cast<uint64_t>(rank.time_ms);
  DCHECK(rank.time_ms >= 0 && time < uint64_t{1} << 48);
  const uint64_t priority = PackPriority(rank.priority);
  return order == keycodec::Order::kTime ? time << 16 | priority : priority << 48 | time;
}

}  // namespace vestq
