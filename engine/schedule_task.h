// Reads of schedules' rows: one by its name, or some of them in order. Run on a reader's thread.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/read_pool.h"
#include "engine/schedule_request.h"

namespace vestq {

class ScheduleTask : public ReadTask {
 public:
  Error Run(const Store& store) override;

  std::string name;
  uint64_t mark = 0;  // the owner's, in its log of changed rows

  std::optional<keycodec::ScheduleValue> schedule;
};

class ScheduleListTask : public ReadTask {
 public:
  Error Run(const Store& store) override;

  std::string after_name;  // exclusive; empty: from the first
  size_t count = 0;

  std::vector<ScheduleInfo> schedules;  // without payloads
  bool more = false;
};

}  // namespace vestq
