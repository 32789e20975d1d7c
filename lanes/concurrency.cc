#include "lanes/concurrency.h"

#include "engine/base/check.h"

namespace vestq {

bool SharedSlots::TryTake(uint32_t limit) {
  uint32_t seen = taken_.load(std::memory_order_relaxed);
  while (seen < limit) {
    if (taken_.compare_exchange_weak(seen, seen + 1, std::memory_order_acq_rel,
                                     std::memory_order_relaxed)) {
      return true;
    }
  }
  return false;
}

uint32_t SharedSlots::Give() {
  const uint32_t before = taken_.fetch_sub(1, std::memory_order_acq_rel);
  CHECK(before > 0, "CONC-2: a slot is given back that nobody holds");
  return before;
}

void SpaceSlots::Add(std::string_view space) {
  const auto it = running_.find(space);
  if (it == running_.end()) {
    running_.emplace(std::string(space), 1);
  } else {
    ++it->second;
  }
}

bool SpaceSlots::Remove(std::string_view space, uint32_t limit) {
  const auto it = running_.find(space);
  CHECK(it != running_.end(), "CONC-2: a slot is given back that nobody holds");
  const uint32_t before = it->second--;
  if (before == 1) running_.erase(it);
  return before <= limit;
}

uint32_t SpaceSlots::running(std::string_view space) const {
  const auto it = running_.find(space);
  return it == running_.end() ? 0 : it->second;
}

}  // namespace vestq
