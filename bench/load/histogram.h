// A histogram of durations in nanoseconds with logarithmic buckets: 64 buckets for each power of
// two, so a percentile is off by at most 1.6 %. Owned by one thread. Recording is a count of
// leading zeros and an add; nothing is allocated after construction.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace vestq::bench {

class Histogram {
 public:
  void Record(uint64_t ns) {
    ++counts_[BucketOf(ns)];
    ++total_;
    if (ns > max_) max_ = ns;
  }
  uint64_t total() const { return total_; }
  uint64_t max_ns() const { return max_; }

  // The smallest recorded value (rounded up to its bucket's end) that at least `share` (0 .. 1) of
  // all values do not exceed; 0 when nothing was recorded.
  uint64_t Percentile(double share) const {
    if (total_ == 0) return 0;
    const double wanted = share * static_cast<double>(total_);
    uint64_t seen = 0;
    for (size_t i = 0; i < counts_.size(); ++i) {
      seen += counts_[i];
      if (seen != 0 && static_cast<double>(seen) >= wanted) {
        const uint64_t end = EndOf(i);
        return end < max_ ? end : max_;
      }
    }
    return max_;
  }

  static size_t BucketOf(uint64_t ns) {
    if (ns < kSub) return static_cast<size_t>(ns);
    const unsigned shift = static_cast<unsigned>(std::bit_width(ns)) - kSubBits - 1;
    const size_t bucket =
        static_cast<size_t>(shift + 1) * kSub + static_cast<size_t>((ns >> shift) - kSub);
    return bucket < kBuckets ? bucket : kBuckets - 1;
  }
  // The greatest value that falls into the bucket.
  static uint64_t EndOf(size_t bucket) {
    if (bucket < kSub) return bucket;
    const unsigned shift = static_cast<unsigned>(bucket / kSub) - 1;
    return ((static_cast<uint64_t>(bucket % kSub + kSub) + 1) << shift) - 1;
  }

 private:
  static constexpr unsigned kSubBits = 6;
  static constexpr size_t kSub = size_t{1} << kSubBits;
  static constexpr size_t kBuckets = kSub * 36;  // up to 2^41 ns, about 36 minutes
  std::array<uint64_t, kBuckets> counts_{};
  uint64_t total_ = 0;
  uint64_t max_ = 0;
};

}  // namespace vestq::bench
