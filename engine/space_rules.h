// What holds for a space: its own options where it has them, else what its queue says of each of its
// spaces. Those of a named space are its owner's (SpaceTerms), those of the empty one words that all cores
// share. Reads only; internal to engine/.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <optional>

#include "engine/core_state.h"
#include "engine/queue_registry.h"
#include "lanes/concurrency.h"
#include "lanes/rate_limit.h"

namespace vestq {

inline uint32_t SlotLimit(const std::atomic<int64_t>& setting) {
  const int64_t value = setting.load(std::memory_order_acquire);
  return value < 0 ? kNoSlotLimit : static_cast<uint32_t>(value);
}

// -1: not paused; it may also lie in the past.
inline int64_t PausedUntilMs(const QueueRecord& record, const SpaceTerms* terms, bool unnamed) {
  if (unnamed) return record.unnamed.paused_until_ms.load(std::memory_order_acquire);
  return terms == nullptr ? -1 : terms->options.paused_until_ms.value_or(-1);
}

inline uint32_t SlotLimitOf(const QueueRecord& record, const SpaceTerms* terms, bool unnamed) {
  static_assert(keycodec::kSlotsUnlimited == kNoSlotLimit);
  if (unnamed) {
    const int64_t own = record.unnamed.concurrency.load(std::memory_order_acquire);
    if (own >= 0) return static_cast<uint32_t>(own);
  } else if (terms != nullptr && terms->options.concurrency) {
    return *terms->options.concurrency;
  }
  return SlotLimit(record.settings.space_concurrency);
}

// The bounds between which its concurrency finds its own height; none: it has a fixed one of its own, or the
// queue's is not adaptive.
inline std::optional<keycodec::AdaptiveBounds> AdaptiveOf(const QueueRecord& record,
                                                          const SpaceTerms* terms, bool unnamed) {
  const std::optional<keycodec::AdaptiveBounds> bounds = record.settings.Adaptive();
  if (!bounds) return bounds;
  const bool own = unnamed ? record.unnamed.concurrency.load(std::memory_order_acquire) >= 0
                           : terms != nullptr && terms->options.concurrency.has_value();
  return own ? std::nullopt : bounds;
}

// `rate` 0 and below: no limit.
inline RateLimit LimitOfRate(int64_t rate, int64_t burst) {
  if (rate < 1) return RateLimit();
  return RateLimit(static_cast<uint64_t>(rate), static_cast<uint32_t>(std::max<int64_t>(1, burst)));
}

inline RateLimit SpaceRateOf(const QueueRecord& record, const keycodec::SpaceValue& own) {
  const int64_t rate = own.rate_micro
                           ? static_cast<int64_t>(*own.rate_micro)
                           : record.settings.space_rate_micro.load(std::memory_order_acquire);
  if (rate < 1) return RateLimit();
  return LimitOfRate(rate, own.burst ? int64_t{*own.burst}
                                     : record.settings.space_burst.load(std::memory_order_acquire));
}

inline RateLimit SpaceRateOf(const QueueRecord& record, const SpaceTerms* terms, bool unnamed) {
  if (unnamed) return SpaceRateOf(record, record.unnamed.Load());
  if (terms != nullptr) return SpaceRateOf(record, terms->options);
  return LimitOfRate(record.settings.space_rate_micro.load(std::memory_order_acquire),
                     record.settings.space_burst.load(std::memory_order_acquire));
}

inline uint32_t WeightOf(const QueueRecord& record, const SpaceTerms* terms, bool unnamed) {
  if (unnamed) {
    const int64_t own = record.unnamed.weight.load(std::memory_order_relaxed);
    if (own > 0) return static_cast<uint32_t>(own);
  } else if (terms != nullptr && terms->options.weight) {
    return *terms->options.weight;
  }
  const int64_t preset = record.settings.space_weight.load(std::memory_order_relaxed);
  return preset > 0 ? static_cast<uint32_t>(preset) : 1;
}

}  // namespace vestq
