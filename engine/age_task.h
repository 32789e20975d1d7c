// Since when the oldest ready job of a queue stands there, by priority band: read from the store, from
// one (space, priority) to the next by seeks. Runs on a reader's thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "engine/base/ids.h"
#include "engine/read_pool.h"
#include "engine/watch_request.h"

namespace vestq {

class AgeTask : public ReadTask {
 public:
  Error Run(const Store& store) override;

  QueueId queue;
  Incarnation incarnation;  // jobs of an earlier one are void
  uint16_t lanes = 0;
  size_t max_seeks = 0;  // keys looked at, whether by a seek or as the next one

  std::array<std::optional<int64_t>, QueueInfoRequest::kBands> oldest_ms;
  bool whole = true;

 private:
  Error RunLane(const Store& store, LaneId lane);
  size_t seeks_ = 0;
};

}  // namespace vestq
