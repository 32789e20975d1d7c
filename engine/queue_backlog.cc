#include "engine/queue_backlog.h"

namespace vestq {

void EnqueueLine::Join(EnqueueWait* wait) {
  std::lock_guard lock(mutex_);
  wait->place = ++last_;
  wait->has_room = false;
  line_.emplace(wait->place, wait);
  waiting_.store(static_cast<uint32_t>(line_.size()), std::memory_order_release);
}

bool EnqueueLine::Leave(EnqueueWait* wait) {
  std::lock_guard lock(mutex_);
  if (wait->place == 0) return false;
  line_.erase(wait->place);
  wait->place = 0;
  waiting_.store(static_cast<uint32_t>(line_.size()), std::memory_order_release);
  return true;
}

std::vector<EnqueueWait*> EnqueueLine::LetIn(SharedBacklog* backlog, const BacklogLimits& limits) {
  std::vector<EnqueueWait*> out;
  std::lock_guard lock(mutex_);
  while (!line_.empty()) {
    EnqueueWait* const first = line_.begin()->second;
    if (!limits.Exceeded(first->room)) {
      Backlog taken;
      if (!backlog->TryTake(first->room, Backlog(), limits, &taken)) break;
      first->has_room = true;
    }
    line_.erase(line_.begin());
    first->place = 0;
    out.push_back(first);
  }
  waiting_.store(static_cast<uint32_t>(line_.size()), std::memory_order_release);
  return out;
}

}  // namespace vestq
