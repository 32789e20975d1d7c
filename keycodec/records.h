// Values of the ordered store. Each starts with a version byte; integers are LEB128 varints, signed
// ones zigzag; strings are length-prefixed. Byte tables and how to change them: keycodec/FORMAT.md.
// Pure.
//
// Decoding checks everything (lengths, ranges, enum values, nothing left over) and allocates
// nothing larger than the input. Errors: kCorruption for bytes that are damaged, kUnsupported for a
// newer version.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/ids.h"
#include "engine/base/result.h"
#include "keycodec/keys.h"

namespace vestq::keycodec {

// Which extras a job has, so that a plain COMPLETE reads nothing. Persisted bits; never renumber.
enum JobFlags : uint32_t {
  kFlagNone = 0,
  kFlagJobRow = 1u << 0,   // a job row exists
  kFlagBackoff = 1u << 1,  // the header holds its own back-off
  kFlagUnique = 1u << 2,   // holds a unique key
  kFlagKeep = 1u << 3,     // result kept after completion
  kFlagParent = 1u << 4,   // other jobs wait for it
  kFlagExpire = 1u << 5,   // EXPIRE given
};
// All of the above; another bit is refused in decoding and a bug in encoding. Raise it with every
// flag that is added.
inline constexpr uint32_t kFlagsKnown = (kFlagExpire << 1) - 1;

// Value of a READY key.
struct ReadyValue {
  uint32_t flags = 0;
  uint32_t attempt = 0;  // deliveries so far
  bool operator==(const ReadyValue&) const = default;
};

// Value of a SCHEDULED key: enough to vest without reading the job.
struct ScheduledValue {
  uint32_t flags = 0;
  uint32_t attempt = 0;
  Zone zone;
  uint32_t priority = 0;
  int64_t enqueued_ms = 0;  // engine time
  bool operator==(const ScheduledValue&) const = default;
};

// Value of a LEASED key: enough to expire, and to rebuild the lease table, without reading the job.
struct LeasedValue {
  uint32_t flags = 0;
  uint32_t attempt = 0;       // this delivery included
  uint32_t attempts_max = 0;  // 0: no limit
  Zone zone;
  uint32_t priority = 0;
  int64_t enqueued_ms = 0;
  int64_t ready_time_ms = 0;  // time_ms of its READY rank: where it goes back to
  Fence fence;
  int64_t lease_ms = 0;  // length last granted
  uint32_t payload_bytes = 0;
  std::string worker;
  bool operator==(const LeasedValue&) const = default;
};

// A job's immutable header; the payload follows it in the same value.
struct JobHeader {
  Zone zone;
  uint32_t flags = 0;
  uint32_t priority = 0;
  int64_t enqueued_ms = 0;       // engine time
  int64_t enqueued_wall_ms = 0;  // wall time, for people
  // The first key: READY when vests_ms is 0, else SCHEDULED at vests_ms by `clock`.
  Clock clock = Clock::kEngine;
  int64_t vests_ms = 0;
  uint32_t attempts_max = 0;
  int64_t lease_ms = 0;  // 0: the queue's
  std::string backoff;   // encoded by lease/backoff.h; empty: the queue's
  bool operator==(const JobHeader&) const = default;
};

struct JobRecord {
  JobHeader header;
  std::string_view payload;  // into the decoded bytes
};

// Where a job stands when its header does not tell.
enum class Place : uint8_t { kVesting = 1, kDead = 2 };  // persisted; never renumber
struct JobRow {
  Place place = Place::kVesting;
  std::string key;  // kVesting: its SCHEDULED or READY key; kDead: its dead-letter key
  uint32_t attempt = 0;
  uint32_t priority = 0;
  std::string last_error;
  std::string checkpoint;
  bool operator==(const JobRow&) const = default;
};

struct DeadValue {
  Zone zone;
  LaneId lane;
  uint32_t attempt = 0;
  uint32_t attempts_max = 0;
  uint32_t priority = 0;
  int64_t enqueued_ms = 0;
  int64_t died_wall_ms = 0;
  uint32_t payload_bytes = 0;
  std::string reason;      // why it is dead: "attempts used up: lease expired"
  std::string last_error;  // what the worker said last
  bool operator==(const DeadValue&) const = default;
};

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
};
inline constexpr size_t kCounters = 14;
struct CounterValue {
  Incarnation incarnation;
  std::array<int64_t, kCounters> values{};
  int64_t& operator[](Counter c) { return values[static_cast<size_t>(c)]; }
  int64_t operator[](Counter c) const { return values[static_cast<size_t>(c)]; }
  bool operator==(const CounterValue&) const = default;
};

struct QueueValue {
  QueueId queue;
  Incarnation incarnation;
  Order order = Order::kPriority;
  bool operator==(const QueueValue&) const = default;
};

struct ClockValue {
  int64_t mono_ms = 0;      // engine time
  int64_t wall_ms = 0;      // wall time at that moment
  int64_t boottime_ms = 0;  // CLOCK_BOOTTIME at that moment
  std::string boot_id;      // /proc/sys/kernel/random/boot_id
  bool operator==(const ClockValue&) const = default;
};

// Log data of a batch (not a key): vouches that everything up to `durable` was synced when the
// batch was made, and tells what the batch itself is. The check before opening reads it
// (engine/wal_check.h).
struct VouchValue {
  Sequence durable;
  bool operator==(const VouchValue&) const = default;
};

// Append the encoded value to *out. For a job record the payload is appended after the header.
// REQUIRES: times and spans in 0 .. limits::kKeyTimeMsMax, spaces at most limits::kSpaceBytes,
// flags within kFlagsKnown. The length of free text (worker, reason, checkpoint ...) is the
// caller's to limit. Never fails.
void Append(const ReadyValue& value, std::string* out);
void Append(const ScheduledValue& value, std::string* out);
void Append(const LeasedValue& value, std::string* out);
void AppendJobRecord(const JobHeader& header, std::string_view payload, std::string* out);
void Append(const JobRow& value, std::string* out);
void Append(const DeadValue& value, std::string* out);
void Append(const CounterValue& value, std::string* out);
void Append(const QueueValue& value, std::string* out);
void Append(const ClockValue& value, std::string* out);
void Append(const VouchValue& value, std::string* out);

[[nodiscard]] Result<ReadyValue> DecodeReadyValue(std::string_view bytes);
[[nodiscard]] Result<ScheduledValue> DecodeScheduledValue(std::string_view bytes);
[[nodiscard]] Result<LeasedValue> DecodeLeasedValue(std::string_view bytes);
[[nodiscard]] Result<JobRecord> DecodeJobRecord(std::string_view bytes);
[[nodiscard]] Result<JobRow> DecodeJobRow(std::string_view bytes);
[[nodiscard]] Result<DeadValue> DecodeDeadValue(std::string_view bytes);
[[nodiscard]] Result<CounterValue> DecodeCounterValue(std::string_view bytes);
[[nodiscard]] Result<QueueValue> DecodeQueueValue(std::string_view bytes);
[[nodiscard]] Result<ClockValue> DecodeClockValue(std::string_view bytes);
[[nodiscard]] Result<VouchValue> DecodeVouchValue(std::string_view bytes);

// A plain number in a settings row.
std::string EncodeNumber(uint64_t value);
[[nodiscard]] Result<uint64_t> DecodeNumber(std::string_view bytes);

}  // namespace vestq::keycodec
