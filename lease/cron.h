// When a repeated job is due: cron expressions, and every D.
//
// A cron expression is five fields, `minute hour day-of-month month day-of-week`, read in a time zone:
//
//   minute 0-59 · hour 0-23 · day of month 1-31 · month 1-12 or JAN-DEC · day of week 0-7 or SUN-SAT (0 and 7: Sunday)
//   *            every value            a,b,c    each of them; every item may be any of these forms
//   a-b          from a to b            a/n      every n-th from a to the field's end
//   */n  a-b/n   every n-th of those    ?        as *, in the two day fields
//   L            in day of month: the month's last day
//   @yearly @annually @monthly @weekly @daily @midnight @hourly
//
// Names and macros in any case. Where both day fields are restricted, a day matches that matches EITHER of them, as
// in Vixie cron; a field that begins with * or ? is not restricted, so with `*/2` both must match. Refused, with the
// field named: seconds, years, W, #, nL, @reboot, ranges that run backwards (but FRI-SUN), steps that never step, and
// what never comes (30 February).
//
// Daylight saving:
//   CRON-1  The next slot is strictly after the time asked about. So asking again from each answer never repeats.
//   CRON-2  Clocks forward: the slots in the gap make one, at the gap's end.
//   CRON-3  Clocks back: a slot in the repeated time comes once, in the first pass.
//   CRON-4  An expression that runs every hour goes by real time instead: in the repeated time it runs in both passes,
//           and a slot in a gap comes when it would have come had the clock not been moved (which with a gap of whole
//           hours is a slot anyway). One whose minute field begins with * (every n minutes) also runs in both passes.
//
// Pure but for TimeZone::Find in Parse. Values; const calls from any thread at any time.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "engine/base/result.h"
#include "engine/base/time.h"
#include "lease/time_zone.h"

namespace vestq {

class Cron {
 public:
  // Reads `expression` (at most limits::kCronBytes) for the zone called `zone`. Errors: kSyntax and kRange, each
  // naming the field or the zone and what was expected; kTooBig. May read zone data, once a zone and process; the
  // object then holds the zone, so Next looks nothing up.
  [[nodiscard]] static Result<Cron> Parse(std::string_view expression,
                                          std::string_view zone = "UTC");

  // The first slot strictly after `after`; nothing when that lies beyond the latest time a key can hold (year 10889).
  // Jumps from field to field: a microsecond or two, some ten for an expression that comes every four years.
  // REQUIRES: after >= 0.
  [[nodiscard]] std::optional<WallTime> Next(WallTime after) const;

 private:
  friend class CronParser;

  static constexpr uint32_t kEveryHour = (uint32_t{1} << 24) - 1;

  bool by_real_time() const { return hours_ == kEveryHour; }
  bool in_both_passes() const { return by_real_time() || minute_star_; }
  // Bit d: day d of that month matches.
  uint32_t DaysOf(int64_t year, unsigned month) const;
  // The first matching minute at or after `local_s`, in seconds of local time; kNever beyond the key limit.
  int64_t NextLocal(int64_t local_s) const;
  // The first slot of one span of the zone at or after from_s, which lies in it; `previous_s` is the offset before it.
  int64_t NextInSpan(const TimeZone::Span& span, int64_t previous_s, int64_t from_s) const;

  TimeZone zone_;
  uint64_t minutes_ = 0;  // bit n: minute n
  uint32_t hours_ = 0;
  uint32_t days_ = 0;  // bits 1 to 31
  uint16_t months_ = 0;
  uint8_t weekdays_ = 0;  // bit 0: Sunday
  bool last_day_ = false;
  bool minute_star_ = false;
  bool days_star_ = false;
  bool weekdays_star_ = false;
};

// The first of phase, phase + period, phase + 2 period ... (and phase - period ...) strictly after `after`.
// REQUIRES: period of at least 1 ms.
[[nodiscard]] WallTime NextEvery(WallTime phase, Duration period, WallTime after);

}  // namespace vestq
