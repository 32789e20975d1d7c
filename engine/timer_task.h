// Timers of a lane whose time has come (rows `t`), with the rows they are about, as many as
// `max_timers` and some megabytes of rows allow. Runs on a reader's thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/read_pool.h"
#include "keycodec/keys.h"
#include "keycodec/records.h"

namespace vestq {

class TimerTask : public ReadTask {
 public:
  Error Run(const Store& store) override;

  struct Hit {
    std::string key;  // the timer's own
    keycodec::TimerRowKey timer;
    // The row it is about and what stands there; none: nothing does, it is about none, or that was not
    // read (kKept: a result may be large, and goes together with its timer).
    std::string row_key;
    bool reads = false;
    std::optional<std::string> row;
  };

  LaneId lane;
  keycodec::Clock clock = keycodec::Clock::kEngine;
  int64_t from_ms = 0;
  int64_t until_ms = 0;  // inclusive
  size_t max_timers = 0;
  std::string from_key;  // instead of from_ms, where it is not empty
  uint64_t mark = 0;     // the owner's, in its log of changed rows

  std::vector<Hit> hits;
  std::string next_key;  // of the first timer beyond them; empty when there is none
  int64_t next_ms = 0;   // of the first timer beyond them; MonoTime::Max().ms() when there is none

 private:
  static Error ReadRow(const Store& store, Hit* hit);
};

}  // namespace vestq
