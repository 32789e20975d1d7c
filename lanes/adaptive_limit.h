// A concurrency limit that finds its own height: additive increase, multiplicative decrease, by what
// becomes of a space's leases.
//
// For the space of a tenant whose jobs call something that can take only so much, and nobody knows
// how much. A *window* is as many ended leases as the limit allows to run, at least kWindowMin, so
// that a tenth of it means something, at most kWindowMax. The rules, `adaptive min:max`:
//
//   rise     by one after a full window of successes. A few failures (at most one in fifty) do not
//            count against it: jobs fail for reasons of their own. Only when the limit was reached in
//            the window: one that nobody runs into says nothing.
//   hold     with more failures than that.
//   halve    as soon as failures and expiries pass a tenth of a window, without waiting for its end;
//            or when the median lease of a window has doubled.
//
// Bounded by min and max; min is where it starts. A lease that began before the last halving tells of the
// limit from before it and is not counted, so one overload halves once, not once for each job in it.
//
// Doubled against what: the least median of any window so far. When a halving has not made leases
// shorter, load was not what made them long; then the new length is taken for the usual one, as it is
// at `min`, below which there is nothing to learn. Medians come from a histogram of four steps an
// octave, so "doubled" is meant within a fifth.
//
// Owned by one thread; no clock, no chance; O(1) a lease, O(128) a window; 320 bytes. Not
// stored: after a restart it begins at `min` and has found its height again after as many windows as
// that is above it.
//
// ADAPT-1: the limit is never below min nor above max.
// ADAPT-2: it rises by at most one a window, and after a halving nothing halves it again but leases
// that began since.
#pragma once

#include <array>
#include <cstdint>

#include "engine/base/time.h"
#include "keycodec/queue_records.h"

namespace vestq {

using keycodec::AdaptiveBounds;

class AdaptiveLimit {
 public:
  static constexpr uint32_t kWindowMin = 100;
  static constexpr uint32_t kWindowMax = 1000;

  // Leases that began before `since` are not counted.
  explicit AdaptiveLimit(const AdaptiveBounds& bounds, MonoTime since = MonoTime());
  // Other bounds: the limit moves only as far as they make it, and what was learned stays.
  void SetBounds(const AdaptiveBounds& bounds);

  // What may run at once now.
  uint32_t limit() const { return limit_; }
  // For statistics: the median lease that counts as usual (0: none yet), and how far the window is.
  Duration usual() const { return BucketTime(usual_); }
  uint32_t in_window() const { return successes_ + failures_; }
  uint64_t halvings() const { return halvings_; }

  // A lease has begun, with which `running` run.
  void Started(uint32_t running) { reached_ |= running >= limit_; }
  // A lease has ended that began then: by COMPLETE; or by FAIL, expiry or REVOKE. One that was given
  // back or cancelled is not told: it says nothing about how the work went. True: the limit rose, so
  // there may be room for one that waits.
  bool Succeeded(MonoTime began, MonoTime now);
  bool Failed(MonoTime began, MonoTime now);

 private:
  // Bucket 4 k + r: lengths from (4 + r) 2^k / 4 ms; the last takes all above 2^31 ms, 24 days.
  static constexpr uint32_t kBuckets = 128;
  static uint32_t BucketOf(Duration length);
  static Duration BucketTime(uint32_t bucket_plus_one);

  uint32_t window() const;
  bool EndWindow(MonoTime now);
  void Halve(MonoTime now);
  void BeginWindow();
  uint32_t Median() const;  // of the window's successes, as bucket + 1

  AdaptiveBounds bounds_;
  uint32_t limit_;
  uint64_t halvings_ = 0;
  MonoTime since_;  // leases that began before it are not counted

  // The window.
  bool reached_ = false;
  uint32_t successes_ = 0;
  uint32_t failures_ = 0;
  std::array<uint16_t, kBuckets> lengths_{};  // of successes

  // Medians as bucket + 1; 0 is none.
  uint32_t usual_ = 0;
  uint32_t halved_at_ = 0;  // the median for which the last window halved the limit
};

}  // namespace vestq
