// A histogram of short spans: 16 buckets to the octave, so a percentile is within 5 %. Lock-free;
// recording is one relaxed add on a line the cores share only while they record the same span.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstdint>

namespace vestq {

class LatencyHistogram {
 public:
  void Record(uint64_t ns) { buckets_[Index(ns)].fetch_add(1, std::memory_order_relaxed); }

  // The span below which `fraction` of the recorded ones lie, in microseconds; 0 when there are
  // none.
  double PercentileUs(double fraction) const {
    uint64_t total = 0;
    for (const auto& bucket : buckets_) total += bucket.load(std::memory_order_relaxed);
    if (total == 0) return 0;
    const double wanted = fraction * static_cast<double>(total);
    uint64_t seen = 0;
    for (size_t i = 0; i < kBuckets; ++i) {
      seen += buckets_[i].load(std::memory_order_relaxed);
      if (static_cast<double>(seen) >= wanted) return static_cast<double>(Upper(i)) / 1000.0;
    }
    return static_cast<double>(Upper(kBuckets - 1)) / 1000.0;
  }

  void Reset() {
    for (auto& bucket : buckets_) bucket.store(0, std::memory_order_relaxed);
  }

 private:
  static constexpr size_t kSub = 16;
  static constexpr size_t kBuckets = kSub * 44;

  static size_t Index(uint64_t ns) {
    if (ns < kSub) return static_cast<size_t>(ns);
    const int octave = std::bit_width(ns) - 5;  // ns >> octave lies in 16 .. 31
    const size_t index = static_cast<size_t>(octave) * kSub + static_cast<size_t>(ns >> octave);
    return index < kBuckets ? index : kBuckets - 1;
  }
  static uint64_t Upper(size_t index) {
    if (index < 2 * kSub) return index + 1;
    const size_t octave = index / kSub - 1;
    return (static_cast<uint64_t>(index % kSub + kSub) + 1) << octave;
  }

  std::array<std::atomic<uint64_t>, kBuckets> buckets_{};
};

}  // namespace vestq
