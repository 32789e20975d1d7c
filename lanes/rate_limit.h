// How often jobs may start: the generic cell rate algorithm (ITU-T I.371) as virtual scheduling.
//
// All state is one number, the theoretical arrival time: the engine time at which the bucket will
// be full again. A job may start while that time lies at most (burst - 1) intervals ahead, and
// starting it moves the time on by one interval. So there is nothing to refill, no timer for an
// idle limit, and a row of eight bytes keeps it over a restart. Pure arithmetic on engine time, O(1),
// no allocation; a wall clock that steps is not seen. A starting job is what counts: a lease that is
// given back has used its token.
//
// RATE-1: in any span of t, ends included, at most burst + rate * t jobs start, also when the state is
// stored and restored in it. When the limit is changed in it, each setting counts for its part, with
// its burst: what is owed stays owed, but never more than the new burst.
// RATE-2: DueAt is the first millisecond at which a job may start; so whoever waits until then and
// tries gets the token, unless another took it.
//
// Rounding is always to the strict side: the interval up to a nanosecond (0.1 % of the greatest
// rate, nothing at the usual ones), due times up to a millisecond, which is what engine time counts
// in. Therefore a burst of 1 loses up to a millisecond a job; one of 2 + rate / 1000 reaches the rate
// exactly. A burst that lasts longer than 73 years at its rate is cut to that.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>

#include "engine/base/limits.h"
#include "engine/base/result.h"
#include "engine/base/time.h"

namespace vestq {

// A rate from text: a decimal number of jobs a second, with or without "/s", in millionths of a job
// a second: "0.5/s" is 500,000. Errors, each naming `field`: kSyntax for another form or more than
// six decimals, kRange for 0 or more than limits::kRateMicroMax.
[[nodiscard]] Result<uint64_t> ParseRate(std::string_view text, std::string_view field);
// The same as text, in its shortest form, with "/s".
[[nodiscard]] std::string RateToText(uint64_t rate_micro);

// The parameters of a limit.
class RateLimit {
 public:
  // No limit: no state is looked at for it.
  constexpr RateLimit() = default;
  // REQUIRES: 1 <= rate_micro <= limits::kRateMicroMax, 1 <= burst <= limits::kBurstMax.
  RateLimit(uint64_t rate_micro, uint32_t burst);

  bool limited() const { return interval_ns_ > 0; }
  bool operator==(const RateLimit&) const = default;

  int64_t interval_ns() const { return interval_ns_; }    // from one token to the next
  int64_t tolerance_ns() const { return tolerance_ns_; }  // (burst - 1) intervals
  // How far the theoretical arrival time can lie ahead: burst intervals.
  int64_t full_debt_ns() const { return tolerance_ns_ + interval_ns_; }
  uint32_t burst() const { return burst_; }

 private:
  int64_t interval_ns_ = 0;
  int64_t tolerance_ns_ = 0;
  uint32_t burst_ = 0;
};

// How much of a limit is used up, as a value: what is loaded, stored and computed with. A default
// one owes nothing.
class RateState {
 public:
  constexpr RateState() = default;
  constexpr explicit RateState(int64_t arrival_ns) : arrival_ns_(arrival_ns) {}
  constexpr int64_t arrival_ns() const { return arrival_ns_; }

  // Whether a job may start now; and that it does. REQUIRES, all below: limit.limited(); Start:
  // MayStart (RATE-1).
  bool MayStart(const RateLimit& limit, MonoTime now) const {
    return arrival_ns_ - NsOf(now) <= limit.tolerance_ns();
  }
  void Start(const RateLimit& limit, MonoTime now);

  // When the next job may start; `now` when it may at once (RATE-2).
  MonoTime DueAt(const RateLimit& limit, MonoTime now) const;

  // The limit changes: what is owed in jobs stays owed, at most the new burst. Nothing changes when
  // the two are equal. From no limit: nothing is owed.
  void Change(const RateLimit& from, const RateLimit& to, MonoTime now);

  // What to store: rounded up to a millisecond. Restored is never less than what was owed: a time
  // further ahead than the limit can owe is cut to that.
  MonoTime ToStore() const;
  static RateState Restored(const RateLimit& limit, MonoTime stored, MonoTime now);
  // Where what was stored may be out of date: as if the whole burst had just been used.
  static RateState Exhausted(const RateLimit& limit, MonoTime now) {
    return RateState(NsOf(now) + limit.full_debt_ns());
  }

  static constexpr int64_t NsOf(MonoTime time) { return time.ms() * 1'000'000; }

 private:
  int64_t arrival_ns_ = 0;
};

// One limit that several cores share, any thread, lock-free: of a queue, whose jobs start on all
// cores. The owner of the parameters passes them in; while they change, cores may for a moment go by
// the old ones and the new.
class SharedRateState {
 public:
  RateState Load() const { return RateState(arrival_ns_.load(std::memory_order_acquire)); }
  void Store(RateState state) { arrival_ns_.store(state.arrival_ns(), std::memory_order_release); }
  // Starts a job if one may start now.
  bool TryStart(const RateLimit& limit, MonoTime now);
  // As RateState::Change; jobs that start on other cores meanwhile are counted.
  void Change(const RateLimit& from, const RateLimit& to, MonoTime now);

 private:
  std::atomic<int64_t> arrival_ns_{0};
};

}  // namespace vestq
