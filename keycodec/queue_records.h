// Values of a queue: its row with number, incarnation and options, its counters, and what is left
// of a dropped one. Pure; the rules of all values stand in keycodec/records.h.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "engine/base/ids.h"
#include "engine/base/result.h"
#include "keycodec/keys.h"

namespace vestq::keycodec {

// Counters of one queue in one core slot: deltas that only mean something summed over the slots,
// hence signed. Persisted order; append only.
enum class Counter : uint8_t {
  kReady = 0,
  kScheduled,
  kLeased,
  kDead,
  kWaiting,
  kBytes,
  kEnqueued,
  kLeases,
  kCompleted,
  kFailed,
  kReleased,
  kExpired,
  kDied,
  kCancelled,
  kDone,        // kept results
  kDeadBytes,   // of kBytes: payloads of dead letters, purged ones too until they are erased
  kLapsed,      // ended by EXPIRE
  kDropped,     // dead letters that their retention removed
  kDuplicates,  // refused by UNIQUE
  // No count: the engine time at which the queue's rate limit is free again (lanes/rate_limit.h), as
  // this core last saw it; the greatest over the slots holds.
  kRateUntil,
  // The same of the empty space's limit, which all cores share as they do the queue's.
  kUnnamedRateUntil,
};
inline constexpr size_t kCounters = 21;
struct CounterValue {
  Incarnation incarnation;
  std::array<int64_t, kCounters> values{};
  int64_t& operator[](Counter c) { return values[static_cast<size_t>(c)]; }
  int64_t operator[](Counter c) const { return values[static_cast<size_t>(c)]; }
  bool operator==(const CounterValue&) const = default;
};

// The one living incarnation of each kind of key: what stands below it was purged, nothing stands
// above. 0: none was ever purged, keys carry 1.
struct PurgeBounds {
  Incarnation ready;
  Incarnation scheduled;
  Incarnation waiting;
  Incarnation dead;
  Incarnation done;
  bool operator==(const PurgeBounds&) const = default;
};

// Between these a concurrency limit finds its own height (lanes/adaptive_limit.h): 1 <= min <= max <=
// limits::kConcurrencyMax.
struct AdaptiveBounds {
  uint32_t min = 1;
  uint32_t max = 1;
  bool operator==(const AdaptiveBounds&) const = default;
};

// How much of a queue may run; without a value: no limit, and a burst of 1.
struct QueueLimits {
  std::optional<uint32_t> concurrency = std::nullopt;        // leases at once; 0: none may start
  std::optional<uint32_t> space_concurrency = std::nullopt;  // of each space, the empty one too
  std::optional<uint64_t> rate_micro = std::nullopt;         // starts in 10^6 seconds, 1 and up
  std::optional<uint32_t> burst = std::nullopt;              // 1 and up
  // Of each space, unless it has its own (keycodec/space_records.h).
  std::optional<uint64_t> space_rate_micro = std::nullopt;
  std::optional<uint32_t> space_burst = std::nullopt;
  std::optional<uint32_t> space_weight = std::nullopt;  // 1 .. limits::kSpaceWeightMax
  std::optional<AdaptiveBounds> adaptive = std::nullopt;
  bool operator==(const QueueLimits&) const = default;
};

// How much may stand in a queue, of jobs that are not finished; without a value: no limit.
struct QueueRoom {
  std::optional<uint64_t> jobs = std::nullopt;   // 0 .. limits::kMaxJobsMost
  std::optional<uint64_t> bytes = std::nullopt;  // of their payloads; 0 .. limits::kMaxBytesMost
  bool operator==(const QueueRoom&) const = default;
};

struct QueueValue {
  QueueId queue;
  Incarnation incarnation;  // the newest: of the last purge, 1 before the first
  Order order = Order::kPriority;
  // Options; without a value: not set, the default holds.
  std::optional<int64_t> lease_ms = std::nullopt;
  std::optional<uint32_t> attempts = std::nullopt;    // 0: no limit
  std::optional<std::string> backoff = std::nullopt;  // encoded by lease/backoff.h
  std::optional<int64_t> keep_ms = std::nullopt;
  std::optional<int64_t> dead_keep_ms = std::nullopt;
  std::optional<uint64_t> dead_max = std::nullopt;
  // Paused until that engine time; limits::kKeyTimeMsMax: for ever.
  std::optional<int64_t> paused_until_ms = std::nullopt;
  PurgeBounds living = {};
  QueueLimits limits = {};
  std::optional<int64_t> ageing_ms = std::nullopt;
  QueueRoom room = {};
  bool operator==(const QueueValue&) const = default;
};

// A dropped queue whose keys are still being erased.
struct DroppedValue {
  std::string name;  // 1 .. limits::kQueueNameBytes
  bool operator==(const DroppedValue&) const = default;
};

void Append(const CounterValue& value, std::string* out);
void Append(const QueueValue& value, std::string* out);
void Append(const DroppedValue& value, std::string* out);

[[nodiscard]] Result<CounterValue> DecodeCounterValue(std::string_view bytes);
[[nodiscard]] Result<QueueValue> DecodeQueueValue(std::string_view bytes);
[[nodiscard]] Result<DroppedValue> DecodeDroppedValue(std::string_view bytes);

}  // namespace vestq::keycodec
