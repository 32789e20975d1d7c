// Which jobs of a queue stand in one state: a bounded stretch of their keys, in key order. Runs on a
// reader's thread; what the jobs are beyond their ids is asked of their owners afterwards
// (engine/core_peek.cc).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/ids.h"
#include "engine/batch.h"
#include "engine/read_pool.h"
#include "engine/request.h"
#include "keycodec/keys.h"

namespace vestq {

class PeekTask : public ReadTask {
 public:
  Error Run(const Store& store) override;

  // What is looked for: ready, scheduled, waiting, dead or done jobs of one life of a queue.
  JobState state = JobState::kReady;
  keycodec::Zone zone;  // the space counts only with `one_space`
  bool one_space = false;
  std::optional<LaneId> only_lane;  // of a space that has one
  uint16_t lanes = 0;
  std::string from;   // the first key that counts; empty: from the start
  std::string until;  // the first key that does not; empty: to the end
  size_t max_jobs = 0;
  size_t max_keys = 0;  // looked at, whether they match or not

  struct Found {
    JobId id;
    std::string next;  // where to go on behind this one
  };
  std::vector<Found> jobs;
  // Where to go on; empty: there is nothing more.
  std::string next;

 private:
  Error Scan(const Store& store, Family family, const std::string& lower, const std::string& upper,
             bool* stop);
  // The job that a key stands for, if it is one that is looked for.
  Result<std::optional<JobId>> Match(std::string_view key, std::string_view value) const;
  size_t keys_ = 0;
};

}  // namespace vestq
