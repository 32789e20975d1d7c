// Keys of the ordered store. Byte order equals tuple order (KEY-1): fixed-width fields are
// big-endian, a space is escaped and terminated. The byte tables stand in keycodec/FORMAT.md. Pure:
// no clock, no store, no threads.
//
// The vesting family holds one key per live job (JOB-1), in one of three ranges a lane:
//
//   SCHEDULED  lane 10 clock time id                      vests at `time`, engine or wall clock
//   READY      lane 20 queue incarnation order space ...  vested: (priority, enqueued, id), or
//                                                         (time, priority, id) by order time
//   LEASED     lane 30 deadline id                        claimed: the deadline is its vesting time
//
// The job family holds (lane, id) -> header and payload. The rows family (default column family)
// holds everything that is overwritten, by a one-letter prefix.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "engine/base/ids.h"
#include "engine/base/result.h"

namespace vestq::keycodec {

// Persisted; never renumber.
enum class Range : uint8_t { kScheduled = 0x10, kReady = 0x20, kLeased = 0x30 };
// Which clock a SCHEDULED time belongs to. Persisted; never renumber.
enum class Clock : uint8_t { kEngine = 1, kWall = 2 };
// How READY jobs of a space are ordered. Persisted; never renumber.
enum class Order : uint8_t { kPriority = 1, kTime = 2 };

// (queue, space) in one life of the queue.
struct Zone {
  QueueId queue;
  Incarnation incarnation;
  Order order = Order::kPriority;
  std::string space;
  bool operator==(const Zone&) const = default;
};

// Where a READY job stands in its zone. Comparison follows the zone's order (KEY-1), see
// ReadyRankLess.
struct ReadyRank {
  uint32_t priority = 0;
  // Order priority: engine time of the enqueue. Order time: engine time of the vesting.
  int64_t time_ms = 0;
  JobId id;
  bool operator==(const ReadyRank&) const = default;
};
// Tuple order: (priority, time, id) for Order::kPriority, (time, priority, id) for Order::kTime.
[[nodiscard]] bool ReadyRankLess(Order order, const ReadyRank& a, const ReadyRank& b);

struct ScheduledKey {
  LaneId lane;
  Clock clock = Clock::kEngine;
  int64_t time_ms = 0;
  JobId id;
  bool operator==(const ScheduledKey&) const = default;
};

struct ReadyKey {
  LaneId lane;
  Zone zone;
  ReadyRank rank;
  bool operator==(const ReadyKey&) const = default;
};

struct LeasedKey {
  LaneId lane;
  int64_t deadline_ms = 0;
  JobId id;
  bool operator==(const LeasedKey&) const = default;
};

// Sizes in bytes of the fields (see FORMAT.md).
inline constexpr size_t kLaneBytes = 2;
inline constexpr size_t kTimeBytes = 6;
inline constexpr size_t kIdBytes = 7;

// Appends the encoded key to *out. REQUIRES: times in 0 .. limits::kKeyTimeMsMax, id below 2^53,
// space at most limits::kSpaceBytes. Never fails.
void AppendScheduledKey(LaneId lane, Clock clock, int64_t time_ms, JobId id, std::string* out);
void AppendReadyKey(LaneId lane, QueueId queue, Incarnation incarnation, Order order,
                    std::string_view space, const ReadyRank& rank, std::string* out);
void AppendLeasedKey(LaneId lane, int64_t deadline_ms, JobId id, std::string* out);
std::string Encode(const ScheduledKey& key);
std::string Encode(const ReadyKey& key);
std::string Encode(const LeasedKey& key);

// The range that any vesting key stands in. Errors: kCorruption.
[[nodiscard]] Result<Range> RangeOf(std::string_view key);
// Decode a whole key of that range, nothing may be left over. Errors: kCorruption, naming the
// field.
[[nodiscard]] Result<ScheduledKey> DecodeScheduledKey(std::string_view key);
[[nodiscard]] Result<ReadyKey> DecodeReadyKey(std::string_view key);
[[nodiscard]] Result<LeasedKey> DecodeLeasedKey(std::string_view key);

// Scan bounds, [lower, upper). A prefix's upper bound is the next prefix of the same length.
void AppendRangePrefix(LaneId lane, Range range, std::string* out);
void AppendScheduledPrefix(LaneId lane, Clock clock, std::string* out);
// All READY keys of the zone start with this; upper bound: PrefixSuccessor of it.
void AppendZonePrefix(LaneId lane, QueueId queue, Incarnation incarnation, Order order,
                      std::string_view space, std::string* out);
void AppendQueuePrefix(LaneId lane, QueueId queue, std::string* out);
// All READY keys of one life of a queue start with this.
void AppendLifePrefix(LaneId lane, QueueId queue, Incarnation incarnation, std::string* out);
// The length of a READY key's zone prefix, without looking at the rank (which may be missing).
// Errors: kCorruption.
[[nodiscard]] Result<size_t> ZonePrefixLength(std::string_view ready_key);
// The smallest string greater than every string that starts with `prefix`; empty when there is
// none (all FF).
[[nodiscard]] std::string PrefixSuccessor(std::string_view prefix);

// The job family: lane, id.
void AppendJobKey(LaneId lane, JobId id, std::string* out);
[[nodiscard]] Result<JobId> DecodeJobKey(std::string_view key);

// The rows family. Prefix letters are persisted; never reuse one.
//   s name              settings: format, lanes, epoch, ids ...
//   k slot              clock, one per core slot
//   q name              a queue: number, incarnation, options
//   x queue             a dropped queue whose keys are still being erased
//   c slot queue        counters, only the sum over slots means something
//   j lane id           job row: where a job stands when its header does not tell
//   d queue incarnation time id     dead letter
//   r queue incarnation time id     kept result, by the engine time it was finished
//   w queue incarnation id          job that waits for others
//   u queue space key               unique key, held by a job or by its window
//   t lane clock time kind rest     timer: something of the lane ends or is due at that time
//   a lane child parent             `child` (of that lane) waits for `parent`
//   p lane parent child             the same edge, where the parent (of that lane) finds it
//   m lane epoch number             word for another lane, not taken in yet
//   h name              a schedule
//   o queue space       options of a space (keycodec/space_records.h)
//   g queue space       where a space's rate limit stands (there too)

// What a timer is about. Persisted; never renumber.
enum class TimerKind : uint8_t { kUniqueWindow = 1, kKept = 2, kExpire = 3, kSchedule = 4 };

// REQUIRES: names of queues and schedules have 1 .. limits::kQueueNameBytes and kScheduleNameBytes,
// unique keys 1 .. limits::kUniqueKeyBytes; spaces, times and ids as above.
std::string SettingKey(std::string_view name);
std::string ClockKey(uint16_t slot);
std::string QueueKey(std::string_view name);
std::string DroppedKey(QueueId queue);
std::string CounterKey(uint16_t slot, QueueId queue);
std::string JobRowKey(LaneId lane, JobId id);
std::string DeadKey(QueueId queue, Incarnation incarnation, int64_t time_ms, JobId id);
std::string DoneKey(QueueId queue, Incarnation incarnation, int64_t finished_ms, JobId id);
std::string WaitingKey(QueueId queue, Incarnation incarnation, JobId id);
std::string UniqueKey(QueueId queue, std::string_view space, std::string_view key);
// A timer of a job. REQUIRES: not kSchedule.
std::string TimerKey(LaneId lane, Clock clock, int64_t time_ms, TimerKind kind, JobId id);
// A timer of a schedule: kSchedule.
std::string TimerKey(LaneId lane, Clock clock, int64_t time_ms, std::string_view schedule);
// Both sides of an edge; the lane is the child's, or the parent's.
std::string ChildEdgeKey(LaneId lane, JobId child, JobId parent);
std::string ParentEdgeKey(LaneId lane, JobId parent, JobId child);
// `lane` is the one that takes it in; (epoch, number) is never used twice in a store.
std::string HandoverKey(LaneId lane, uint32_t epoch, uint64_t number);
std::string ScheduleKey(std::string_view name);

struct CounterRowKey {
  uint16_t slot = 0;
  QueueId queue;
};
struct DeadRowKey {
  QueueId queue;
  Incarnation incarnation;
  int64_t time_ms = 0;
  JobId id;
};
struct DoneRowKey {
  QueueId queue;
  Incarnation incarnation;
  int64_t finished_ms = 0;
  JobId id;
};
struct WaitingRowKey {
  QueueId queue;
  Incarnation incarnation;
  JobId id;
};
struct UniqueRowKey {
  QueueId queue;
  std::string space;
  std::string key;
};
struct TimerRowKey {
  LaneId lane;
  Clock clock = Clock::kEngine;
  int64_t time_ms = 0;
  TimerKind kind = TimerKind::kUniqueWindow;
  JobId id;              // of all kinds but kSchedule
  std::string schedule;  // kSchedule: its name
};
struct EdgeRowKey {
  LaneId lane;
  JobId child;
  JobId parent;
};
struct HandoverRowKey {
  LaneId lane;
  uint32_t epoch = 0;
  uint64_t number = 0;
};
// Errors of all: kCorruption, naming the field.
[[nodiscard]] Result<std::string> DecodeQueueKey(std::string_view key);  // the name
[[nodiscard]] Result<QueueId> DecodeDroppedKey(std::string_view key);
[[nodiscard]] Result<uint16_t> DecodeClockKey(std::string_view key);
[[nodiscard]] Result<CounterRowKey> DecodeCounterKey(std::string_view key);
[[nodiscard]] Result<std::pair<LaneId, JobId>> DecodeJobRowKey(std::string_view key);
[[nodiscard]] Result<DeadRowKey> DecodeDeadKey(std::string_view key);
[[nodiscard]] Result<DoneRowKey> DecodeDoneKey(std::string_view key);
[[nodiscard]] Result<WaitingRowKey> DecodeWaitingKey(std::string_view key);
[[nodiscard]] Result<UniqueRowKey> DecodeUniqueKey(std::string_view key);
[[nodiscard]] Result<TimerRowKey> DecodeTimerKey(std::string_view key);
[[nodiscard]] Result<EdgeRowKey> DecodeChildEdgeKey(std::string_view key);
[[nodiscard]] Result<EdgeRowKey> DecodeParentEdgeKey(std::string_view key);
[[nodiscard]] Result<HandoverRowKey> DecodeHandoverKey(std::string_view key);
[[nodiscard]] Result<std::string> DecodeScheduleKey(std::string_view key);  // the name

// Scan prefixes of the rows family; upper bound: PrefixSuccessor.
//
// The rows of a queue, in all its lives, or in one.
enum class QueueRows : char {
  kDead = 'd',
  kDone = 'r',
  kUnique = 'u',
  kWaiting = 'w',
  kSpaceOptions = 'o',
  kSpaceRates = 'g',
};
void AppendQueueRowsPrefix(QueueRows rows, QueueId queue, std::string* out);
// REQUIRES: not kUnique or those of spaces, whose keys outlive an incarnation.
void AppendQueueRowsPrefix(QueueRows rows, QueueId queue, Incarnation incarnation,
                           std::string* out);
// A space's unique keys.
void AppendUniqueSpacePrefix(QueueId queue, std::string_view space, std::string* out);
// A lane's timers by one clock, soonest first.
void AppendTimerPrefix(LaneId lane, Clock clock, std::string* out);
// What a job waits for, and what waits for it.
void AppendChildEdgePrefix(LaneId lane, JobId child, std::string* out);
void AppendParentEdgePrefix(LaneId lane, JobId parent, std::string* out);
// What a lane has to take in, by epoch and number.
void AppendHandoverPrefix(LaneId lane, std::string* out);

// The lane that owns a non-empty space's fairness: XXH3 of (queue name, space) modulo lanes.
// Persisted by effect: never change. REQUIRES: a name of at most limits::kQueueNameBytes, at least
// one lane. `space` may also be a unique key.
[[nodiscard]] LaneId LaneOfSpace(std::string_view queue_name, std::string_view space,
                                 uint16_t lanes);

}  // namespace vestq::keycodec
