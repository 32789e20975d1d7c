// Identifiers as distinct types: a LaneId is not a CoreId, and neither is a number, until `.value()` is asked for at
// the wire or on disk. All are trivially copyable and totally ordered.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>

namespace vestq {

template <typename Tag, typename Rep>
class StrongId {
 public:
  using Representation = Rep;
  constexpr StrongId() = default;
  constexpr explicit StrongId(Rep value) : value_(value) {}
  constexpr Rep value() const { return value_; }
  constexpr auto operator<=>(const StrongId&) const = default;

 private:
  Rep value_{};
};

// A job: n * lanes + lane, below 2^53 so that it survives JavaScript. 0 is no job.
using JobId = StrongId<struct JobIdTag, uint64_t>;
// A slice of the key space, 0 .. lanes-1; fixed for a job's life.
using LaneId = StrongId<struct LaneIdTag, uint16_t>;
// A reactor thread, 0 .. cores-1; owns the lanes with lane % cores == core.
using CoreId = StrongId<struct CoreIdTag, uint16_t>;
// A queue's interned number; never reused in a store.
using QueueId = StrongId<struct QueueIdTag, uint32_t>;
// Which life of a queue: raised by dropping or purging it whole, so that its old keys are void in one write.
using Incarnation = StrongId<struct IncarnationTag, uint32_t>;
// Position of a submitted batch in the one write order; 0 is "rests on nothing".
using Ticket = StrongId<struct TicketTag, uint64_t>;
// RocksDB sequence number.
using Sequence = StrongId<struct SequenceTag, uint64_t>;

// One claim of one job: `epoch` counts the starts of the store, `claim` the claims of the owning core since. A job stays
// with its owner for a run, so no two claims of one job share a fence, and a later one has the greater (LEASE-2).
struct Fence {
  uint32_t epoch = 0;
  uint64_t claim = 0;
  constexpr auto operator<=>(const Fence&) const = default;
};

}  // namespace vestq

template <typename Tag, typename Rep>
struct std::hash<vestq::StrongId<Tag, Rep>> {
  size_t operator()(const vestq::StrongId<Tag, Rep>& id) const noexcept {
    // Ids rise by a constant step; a multiplicative mix spreads them over a power-of-two table.
    return static_cast<size_t>(static_cast<uint64_t>(id.value()) * 0x9E3779B97F4A7C15ull >> 8);
  }
};
