// The reads behind windows and due times (engine/core_vesting.cc). Each runs on a reader's thread
// over a fixed range and hands its findings to the core that asked.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/read_pool.h"
#include "keycodec/keys.h"
#include "keycodec/records.h"
#include "lanes/ready_window.h"

namespace vestq {

// A LEASE needs what the job's row says: a checkpoint, or when EXPIRE ends a job that was moved.
inline bool NeedsJobRow(uint32_t flags) {
  constexpr uint32_t kMovedExpiry = keycodec::kFlagExpire | keycodec::kFlagJobRow;
  return (flags & keycodec::kFlagCheckpoint) != 0 || (flags & kMovedExpiry) == kMovedExpiry;
}

// Records for jobs whose keys are known, at most about `bytes` of them, at least one; with the job rows
// of those that need them. A record is null where it was not read. A job without a record is kCorruption (JOB-2), or left out where it may
// have been cancelled since its key was seen.
enum class Missing : uint8_t { kIsCorrupt, kIsLeftOut };
Error ReadRecords(const Store& store, LaneId lane, uint64_t bytes, Missing missing,
                  std::vector<ReadyJob>* jobs);

// The next ready jobs of a zone after a rank, with records for the first of them.
class RefillTask : public ReadTask {
 public:
  Error Run(const Store& store) override;

  LaneId lane;
  keycodec::Zone zone;
  std::optional<keycodec::ReadyRank> from;  // exclusive; none: the zone's start
  size_t max_jobs = 0;
  uint64_t max_bytes = 0;
  uint64_t mark = 0;  // the owner's, in its log of changed jobs

  std::vector<ReadyJob> jobs;
  bool reached_end = false;
};

// Records for the first jobs of a window.
class FetchTask : public ReadTask {
 public:
  Error Run(const Store& store) override {
    return ReadRecords(store, lane, max_bytes, Missing::kIsCorrupt, &jobs);
  }

  LaneId lane;
  uint64_t max_bytes = 0;
  uint64_t mark = 0;           // as in RefillTask
  std::vector<ReadyJob> jobs;  // ranks known, records missing
};

// SCHEDULED jobs up to a time, from a remembered bound.
class DueTask : public ReadTask {
 public:
  Error Run(const Store& store) override;

  LaneId lane;
  keycodec::Clock clock = keycodec::Clock::kEngine;
  int64_t from_ms = 0;
  std::string from_key;  // where to start instead, unless it is empty
  int64_t until_ms = 0;  // inclusive
  size_t max_jobs = 0;
  uint64_t mark = 0;  // as in RefillTask

  std::vector<std::pair<keycodec::ScheduledKey, keycodec::ScheduledValue>> jobs;
  int64_t next_ms = 0;   // of the first key beyond them; MonoTime::Max().ms() when there is none
  std::string next_key;  // that key
  // Of those by wall time in an order by time: the job rows they have. Such a row must name the key
  // that the job gets now, and keeps what else it says.
  std::map<JobId, keycodec::JobRow> rows;
};

}  // namespace vestq
