// One adaptive limit (lanes/adaptive_limit.h) that all cores tell.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>

#include "lanes/adaptive_limit.h"

namespace vestq {

// That of leases which are spread over the cores: those without a space. Any thread; a mutex, held for some ns (for the
// end of a window a microsecond), only where a queue has such a limit.
class SharedAdaptiveLimit {
 public:
  SharedAdaptiveLimit(const AdaptiveBounds& bounds, MonoTime since)
      : limit_(bounds, since), published_(bounds.min) {}

  // Without the mutex.
  uint32_t limit() const { return published_.load(std::memory_order_acquire); }
  // As AdaptiveLimit has them; `change` returns what its last call there does.
  template <typename Change>
  bool Update(Change&& change) {
    std::lock_guard lock(mutex_);
    const bool rose = change(&limit_);
    published_.store(limit_.limit(), std::memory_order_release);
    return rose;
  }
  AdaptiveLimit Copy() {
    std::lock_guard lock(mutex_);
    return limit_;
  }

 private:
  std::mutex mutex_;
  AdaptiveLimit limit_;
  std::atomic<uint32_t> published_;
};

}  // namespace vestq
