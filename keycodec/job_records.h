// Values of a job that is not in the vesting family alone: its header with the payload, its job
// row, and what stands for it while it is dead, waits for others, or is done and kept. Pure; the
// rules of all values stand in keycodec/records.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/base/ids.h"
#include "engine/base/result.h"
#include "keycodec/keys.h"

namespace vestq::keycodec {

// Which extras a job has, so that a plain COMPLETE reads nothing. Persisted bits; never renumber.
enum JobFlags : uint32_t {
  kFlagNone = 0,
  kFlagJobRow = 1u << 0,      // a job row exists
  kFlagBackoff = 1u << 1,     // the header holds its own back-off
  kFlagUnique = 1u << 2,      // holds a unique key
  kFlagKeep = 1u << 3,        // result kept after completion
  kFlagParent = 1u << 4,      // other jobs wait for it
  kFlagExpire = 1u << 5,      // EXPIRE given
  kFlagExtra = 1u << 6,       // the header has a type or user headers: LEASE shows them
  kFlagCheckpoint = 1u << 7,  // the job row has a checkpoint: LEASE brings it
};
// All of the above; another bit is refused in decoding and a bug in encoding. Raise it with every
// flag that is added.
inline constexpr uint32_t kFlagsKnown = (kFlagCheckpoint << 1) - 1;

// HEADER k v: as given, order and repeats included.
using UserHeaders = std::vector<std::pair<std::string, std::string>>;

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
  int64_t lease_ms = 0;            // 0: the queue's
  std::string backoff;             // encoded by lease/backoff.h; empty: the queue's
  std::string unique_key;          // at most limits::kUniqueKeyBytes; empty: none
  int64_t unique_ms = 0;           // UNIQUE ... FOR, from the enqueue; 0: none
  int64_t expire_ms = 0;           // EXPIRE, from the first vesting; 0: none
  std::optional<int64_t> keep_ms;  // KEEP, from the completion; none: the queue's
  std::string type;
  UserHeaders user_headers;
  bool operator==(const JobHeader&) const = default;
};

struct JobRecord {
  JobHeader header;
  std::string_view payload;  // into the decoded bytes
};

// Where a job stands when its header does not tell. Persisted; never renumber.
enum class Place : uint8_t { kVesting = 1, kDead = 2, kDone = 3, kWaiting = 4 };
struct JobRow {
  Place place = Place::kVesting;
  // kVesting: its SCHEDULED or READY key; else the key of its dead letter, kept result or waiting
  // row.
  std::string key;
  uint32_t attempt = 0;
  uint32_t priority = 0;
  std::string last_error;
  std::string checkpoint;
  // When EXPIRE ends the job, where that no longer follows from the header; 0: it does.
  Clock expires_clock = Clock::kEngine;  // kEngine while expires_ms is 0
  int64_t expires_ms = 0;
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
  std::string type;
  bool operator==(const DeadValue&) const = default;
};

// A job that is done and kept (KEEP): all that is left of it.
struct DoneValue {
  Zone zone;
  LaneId lane;
  uint32_t attempt = 0;
  uint32_t attempts_max = 0;
  uint32_t priority = 0;
  int64_t enqueued_wall_ms = 0;
  int64_t done_wall_ms = 0;
  int64_t keep_until_ms = 0;  // engine time
  uint32_t payload_bytes = 0;
  std::string last_error;
  std::string result;
  std::string type;
  bool operator==(const DoneValue&) const = default;
};

// A job that waits for others (AFTER): enough to let it go without reading its header.
struct WaitingValue {
  uint32_t flags = 0;
  Zone zone;
  LaneId lane;
  uint32_t priority = 0;
  int64_t enqueued_ms = 0;  // engine time
  Clock clock = Clock::kEngine;
  int64_t vests_ms = 0;  // by `clock`; 0: ready at once when let go
  uint32_t pending = 0;  // parents that are not complete
  bool operator==(const WaitingValue&) const = default;
};

void AppendJobRecord(const JobHeader& header, std::string_view payload, std::string* out);
void Append(const JobRow& value, std::string* out);
void Append(const DeadValue& value, std::string* out);
void Append(const DoneValue& value, std::string* out);
void Append(const WaitingValue& value, std::string* out);

[[nodiscard]] Result<JobRecord> DecodeJobRecord(std::string_view bytes);
[[nodiscard]] Result<JobRow> DecodeJobRow(std::string_view bytes);
[[nodiscard]] Result<DeadValue> DecodeDeadValue(std::string_view bytes);
[[nodiscard]] Result<DoneValue> DecodeDoneValue(std::string_view bytes);
[[nodiscard]] Result<WaitingValue> DecodeWaitingValue(std::string_view bytes);

}  // namespace vestq::keycodec
