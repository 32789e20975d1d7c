// A look for the ready jobs of a zone that are overdue (lanes/aged_jobs.h): the oldest of those up to a
// time, over all its priorities, with their records. Each priority costs a seek and as many keys as it
// gives; a slice ends between two priorities. Runs on a reader's thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "engine/read_pool.h"
#include "keycodec/keys.h"
#include "lanes/aged_jobs.h"

namespace vestq {

class AgedTask : public ReadTask {
 public:
  Error Run(const Store& store) override;

  LaneId lane;
  keycodec::Zone zone;
  AgedJobs::Look look;
  size_t max_jobs = 0;
  size_t max_keys = 0;  // looked at, and at least one priority
  uint64_t max_bytes = 0;
  uint64_t mark = 0;  // the owner's, in its log of changed jobs

  std::vector<ReadyJob> jobs;  // oldest first; those beyond max_bytes without records
  int64_t left_ms = AgedJobs::kNever;
  std::optional<uint32_t> next;

 private:
  Error Offer(const keycodec::ReadyRank& rank, std::string_view value);
};

}  // namespace vestq
