// Values of the ordered store. Each starts with a version byte; integers are LEB128 varints, signed
// ones zigzag; strings are length-prefixed. Byte tables and how to change them: keycodec/FORMAT.md.
// Pure.
//
// Decoding checks everything (lengths, ranges, enum values, nothing left over) and allocates no more
// than a small multiple of the input (VALUE-1). Errors: kCorruption for bytes that are damaged,
// kUnsupported for a newer version.
//
// This file holds the values of the vesting family, the clock and the settings, and brings in the
// others: keycodec/job_records.h, link_records.h, queue_records.h, schedule_records.h, space_records.h.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "engine/base/ids.h"
#include "engine/base/result.h"
#include "keycodec/job_records.h"
#include "keycodec/keys.h"
#include "keycodec/link_records.h"
#include "keycodec/queue_records.h"
#include "keycodec/schedule_records.h"
#include "keycodec/space_records.h"

namespace vestq::keycodec {

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

// Append, of these and of the other values: appends the encoded value to *out. For a job record the
// payload is appended after the header. REQUIRES: times and spans in 0 .. limits::kKeyTimeMsMax,
// spaces, unique keys and names of queues within their limits, flags within kFlagsKnown. The length
// of free text (worker, reason, checkpoint, type, headers ...) is the caller's to limit. Never
// fails.
void Append(const ReadyValue& value, std::string* out);
void Append(const ScheduledValue& value, std::string* out);
void Append(const LeasedValue& value, std::string* out);
void Append(const ClockValue& value, std::string* out);
void Append(const VouchValue& value, std::string* out);

[[nodiscard]] Result<ReadyValue> DecodeReadyValue(std::string_view bytes);
[[nodiscard]] Result<ScheduledValue> DecodeScheduledValue(std::string_view bytes);
[[nodiscard]] Result<LeasedValue> DecodeLeasedValue(std::string_view bytes);
[[nodiscard]] Result<ClockValue> DecodeClockValue(std::string_view bytes);
[[nodiscard]] Result<VouchValue> DecodeVouchValue(std::string_view bytes);

// A plain number in a settings row.
std::string EncodeNumber(uint64_t value);
[[nodiscard]] Result<uint64_t> DecodeNumber(std::string_view bytes);

}  // namespace vestq::keycodec
