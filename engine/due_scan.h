// Where scans for what is due start (DueScan of engine/core_state.h): scheduled jobs and timers of a lane, by
// one clock. A scan takes a slice; the next one starts with the first key that it left, so that many that are
// due in one moment are not waded through again, deleted ones and all, for each slice. What comes meanwhile
// at or before that key's time may stand before it: then the scan starts with all of its time again.
//
// Pure; called by the lane's owner.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

#include "engine/core_state.h"

namespace vestq {

// A key has been put at that time, or is to be looked at again.
inline void NoteDue(DueScan* due, int64_t time_ms) {
  due->next_ms = std::min(due->next_ms, time_ms);
  due->from_ms = std::min(due->from_ms, time_ms);  // the wall clock may have stepped back
  if (!due->from_key.empty() && due->next_ms == time_ms) due->from_key.clear();
}

// A scan starts; what is put meanwhile is noted. `task` takes from_ms, and from_key where there is one.
template <typename Task>
void BeginScan(DueScan* due, Task* task) {
  task->from_ms = std::max<int64_t>(0, due->from_ms);
  task->from_key = std::exchange(due->from_key, std::string());
  due->scanning = true;
  due->next_ms = MonoTime::Max().ms();
}

// It has found things, the last of them at last_ms, or nothing (`any` false), and left `task->next_key`.
template <typename Task>
void EndScan(DueScan* due, Task* task, bool any, int64_t last_ms) {
  if (due->next_ms > task->next_ms) due->from_key = std::move(task->next_key);
  due->next_ms = std::min(due->next_ms, task->next_ms);
  if (any) due->from_ms = std::min(due->next_ms, last_ms);
}

}  // namespace vestq
