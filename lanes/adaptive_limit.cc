#include "lanes/adaptive_limit.h"

#include <algorithm>
#include <bit>

#include "engine/base/check.h"

namespace vestq {
namespace {
constexpr uint32_t kOctave = 4;    // buckets from a length to its double
constexpr uint32_t kShorter = 2;   // buckets that a halving must win: a third, or a half of its due
constexpr uint32_t kHalveAt = 10;  // one failure in so many of a window, and more, halve
constexpr uint32_t kRiseAt = 50;   // at most one in so many still lets it rise
}  // namespace

AdaptiveLimit::AdaptiveLimit(const AdaptiveBounds& bounds, MonoTime since)
    : bounds_(bounds), limit_(bounds.min), since_(since) {
  CHECK(1 <= bounds.min && bounds.min <= bounds.max);
}

void AdaptiveLimit::SetBounds(const AdaptiveBounds& bounds) {
  CHECK(1 <= bounds.min && bounds.min <= bounds.max);
  bounds_ = bounds;
  limit_ = std::clamp(limit_, bounds.min, bounds.max);
}

uint32_t AdaptiveLimit::BucketOf(Duration length) {
  const auto ms = static_cast<uint64_t>(std::clamp<int64_t>(length.ms(), 1, INT32_MAX));
  const auto octave = static_cast<uint32_t>(std::bit_width(ms)) - 1;
  const auto quarter = static_cast<uint32_t>((ms << 2 >> octave) & 3);
  return octave * kOctave + quarter;
}

Duration AdaptiveLimit::BucketTime(uint32_t bucket_plus_one) {
  if (bucket_plus_one == 0) return Duration(0);
  const uint32_t bucket = bucket_plus_one - 1;
  return Duration(int64_t{4 + bucket % kOctave} << (bucket / kOctave) >> 2);
}

uint32_t AdaptiveLimit::window() const { return std::clamp(limit_, kWindowMin, kWindowMax); }

uint32_t AdaptiveLimit::Median() const {
  uint32_t below = 0;
  for (uint32_t bucket = 0; bucket < kBuckets; ++bucket) {
    below += lengths_[bucket];
    if (2 * below > successes_) return bucket + 1;
  }
  return 0;
}

void AdaptiveLimit::BeginWindow() {
  reached_ = false;
  successes_ = 0;
  failures_ = 0;
  lengths_.fill(0);
}

void AdaptiveLimit::Halve(MonoTime now) {
  limit_ = std::max(bounds_.min, limit_ / 2);
  ++halvings_;
  since_ = now;
  BeginWindow();
}

bool AdaptiveLimit::Succeeded(MonoTime began, MonoTime now) {
  if (began < since_) return false;
  ++successes_;
  ++lengths_[BucketOf(now - began)];
  return in_window() >= window() && EndWindow(now);
}

bool AdaptiveLimit::Failed(MonoTime began, MonoTime now) {
  if (began < since_) return false;
  ++failures_;
  if (failures_ * kHalveAt > window()) {
    halved_at_ = 0;
    Halve(now);
    return false;
  }
  return in_window() >= window() && EndWindow(now);
}

// Returns whether the limit rose.
bool AdaptiveLimit::EndWindow(MonoTime now) {
  const uint32_t median = Median();
  const bool long_ones = usual_ > 0 && median >= usual_ + kOctave;
  const bool no_use = halved_at_ > 0 && median + kShorter > halved_at_;
  if (long_ones && limit_ > bounds_.min && !no_use) {
    halved_at_ = median;
    Halve(now);
    return false;
  }
  halved_at_ = 0;
  if (usual_ == 0 || median < usual_ || long_ones) usual_ = median;
  const bool rises = reached_ && failures_ * kRiseAt <= window() && limit_ < bounds_.max;
  if (rises) ++limit_;
  BeginWindow();
  return rises;
}

}  // namespace vestq
