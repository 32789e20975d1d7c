// Value of a schedule: what it enqueues, when, and how far it has come. Pure; the rules of all
// values stand in keycodec/records.h.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "engine/base/limits.h"
#include "engine/base/result.h"
#include "keycodec/job_records.h"

namespace vestq::keycodec {

// Persisted; never renumber.
enum class ScheduleKind : uint8_t { kCron = 1, kEvery = 2 };
// What becomes of slots that passed while nothing ran. Persisted; never renumber.
enum class Missed : uint8_t { kOnce = 1, kSkip = 2, kAll = 3 };

struct ScheduleValue {
  std::string queue;  // its name, which may not exist yet; at most limits::kQueueNameBytes
  std::string space;
  std::string payload;
  ScheduleKind kind = ScheduleKind::kCron;
  std::string cron;      // kCron: the expression as given
  std::string zone;      // kCron: time zone; empty: not given
  int64_t every_ms = 0;  // kEvery
  int64_t phase_ms = 0;  // kEvery: offset of its slots
  Missed missed = Missed::kOnce;
  bool paused = false;
  int64_t next_ms = 0;  // wall time of the next slot; 0: none
  int64_t last_ms = 0;  // wall time of the last slot that enqueued a job; 0: none
  uint64_t fired = 0;
  uint64_t skipped = 0;  // since the job of the slot before still lived
  uint64_t missed_count = 0;
  int64_t created_wall_ms = 0;
  // Options of its jobs; the same meaning as in JobHeader.
  uint32_t priority = limits::kPriorityDefault;
  bool attempts_set = false;
  uint32_t attempts = 0;  // 0 while it is not set
  int64_t lease_ms = 0;
  std::string backoff;
  std::string unique_key;
  int64_t unique_ms = 0;
  int64_t expire_ms = 0;
  std::optional<int64_t> keep_ms;  // none: the queue's
  std::string type;
  UserHeaders user_headers;
  bool operator==(const ScheduleValue&) const = default;
};

void Append(const ScheduleValue& value, std::string* out);
[[nodiscard]] Result<ScheduleValue> DecodeScheduleValue(std::string_view bytes);

}  // namespace vestq::keycodec
