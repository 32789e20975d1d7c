#include "lease/cron.h"

#include <date/date.h>

#include <algorithm>
#include <bit>
#include <limits>

#include "engine/base/limits.h"

namespace vestq {
namespace {

constexpr int64_t kMinute = 60;
constexpr int64_t kHour = 3600;
constexpr int64_t kDay = 86'400;
constexpr int64_t kNever = std::numeric_limits<int64_t>::max() / 4;
constexpr int64_t kLastSecond = limits::kKeyTimeMsMax / 1000;
// More than local times of any zone differ from UTC, and than two offsets of a zone differ.
constexpr int64_t kOffsetMost = 26 * kHour;

// Days since 1970-01-01, and the civil day that one of them is.
int64_t DayNumber(int64_t year, unsigned month, unsigned day) {
  const date::sys_days days =
      date::year(static_cast<int>(year)) / static_cast<int>(month) / static_cast<int>(day);
  return days.time_since_epoch().count();
}

struct CivilDay {
  int64_t year = 0;
  unsigned month = 0;
  unsigned day = 0;
};

CivilDay CivilDayOf(int64_t day_number) {
  const date::year_month_day day{date::sys_days(date::days(static_cast<int>(day_number)))};
  return {int64_t{static_cast<int>(day.year())}, static_cast<unsigned>(day.month()),
          static_cast<unsigned>(day.day())};
}

int64_t FloorDivide(int64_t value, int64_t by) { return value / by - (value % by < 0 ? 1 : 0); }

int64_t RoundUp(int64_t value, int64_t step) {
  const int64_t over = value % step;
  if (over == 0) return value;
  return value - over + (over > 0 ? step : 0);
}

// The lowest bit at or above `from`, or 64.
unsigned NextBit(uint64_t bits, unsigned from) {
  if (from >= 64) return 64;
  bits &= ~uint64_t{0} << from;
  return bits == 0 ? 64 : static_cast<unsigned>(std::countr_zero(bits));
}

}  // namespace

uint32_t Cron::DaysOf(int64_t year, unsigned month) const {
  const int64_t first_day = DayNumber(year, month, 1);
  const unsigned last = static_cast<unsigned>(
      DayNumber(month == 12 ? year + 1 : year, month == 12 ? 1 : month + 1, 1) - first_day);
  uint32_t by_day = days_;
  if (last_day_) by_day |= uint32_t{1} << last;
  uint32_t by_weekday = 0;
  unsigned weekday =
      date::weekday(date::sys_days(date::days(static_cast<int>(first_day)))).c_encoding();
  for (unsigned day = 1; day <= last; ++day) {
    if ((weekdays_ >> weekday & 1) != 0) by_weekday |= uint32_t{1} << day;
    weekday = weekday == 6 ? 0 : weekday + 1;
  }
  const uint32_t in_month = static_cast<uint32_t>((uint64_t{2} << last) - 2);
  const bool either = !days_star_ && !weekdays_star_;
  return (either ? by_day | by_weekday : by_day & by_weekday) & in_month;
}

int64_t Cron::NextLocal(int64_t local_s) const {
  local_s = RoundUp(local_s, kMinute);
  const int64_t day_number = FloorDivide(local_s, kDay);
  const int64_t in_day = local_s - day_number * kDay;
  CivilDay day = CivilDayOf(day_number);

  // The rest of this day, then the first slot of a later one.
  if ((months_ >> day.month & 1) != 0 && (DaysOf(day.year, day.month) >> day.day & 1) != 0) {
    auto hour = static_cast<unsigned>(in_day / kHour);
    const auto minute = NextBit(minutes_, static_cast<unsigned>(in_day % kHour / kMinute));
    if ((hours_ >> hour & 1) != 0 && minute < 64) {
      return day_number * kDay + hour * kHour + minute * kMinute;
    }
    hour = NextBit(hours_, hour + 1);
    if (hour < 64) {
      return day_number * kDay + hour * kHour + NextBit(minutes_, 0) * kMinute;
    }
  }
  const int64_t first_of_day = NextBit(hours_, 0) * kHour + NextBit(minutes_, 0) * kMinute;
  unsigned from_day = day.day + 1;
  for (;;) {
    if ((months_ >> day.month & 1) != 0) {
      const unsigned found = NextBit(DaysOf(day.year, day.month), from_day);
      if (found < 64) return DayNumber(day.year, day.month, found) * kDay + first_of_day;
    }
    from_day = 1;
    day.month = NextBit(months_, day.month + 1);
    if (day.month >= 64) {
      ++day.year;
      day.month = NextBit(months_, 1);
      if (DayNumber(day.year, 1, 1) * kDay > kLastSecond + kOffsetMost) return kNever;
    }
  }
}

int64_t Cron::NextInSpan(const TimeZone::Span& span, int64_t previous_s, int64_t from_s) const {
  const int64_t change = span.begin_s;  // local time jumped here, from change + previous_s
  const int64_t before = change + previous_s;
  const int64_t after = change + span.offset_s;
  int64_t found = kNever;
  if (before < after) {
    if (by_real_time()) {  // CRON-4
      const int64_t slot = NextLocal(std::max(before, from_s + previous_s));
      if (slot < after) found = slot - previous_s;
    } else if (from_s <= change && NextLocal(before) < after) {  // CRON-2
      found = change;
    }
  }
  int64_t local = from_s + span.offset_s;
  if (!in_both_passes()) local = std::max(local, before);  // CRON-3
  found = std::min(found, NextLocal(local) - span.offset_s);
  return found < span.end_s ? found : kNever;
}

std::optional<WallTime> Cron::Next(WallTime after) const {
  CHECK(after.ms() >= 0, "a cron expression is asked about a time from 1970 on");
  // Slots stand at whole seconds: the first one that may be the answer.
  int64_t from = after.ms() / 1000 + 1;
  while (from <= kLastSecond) {
    const TimeZone::Span span = zone_.At(from);
    const int64_t previous = zone_.At(span.begin_s - 1).offset_s;
    const int64_t found = NextInSpan(span, previous, from);
    if (found != kNever) {
      if (found > kLastSecond) return std::nullopt;
      const WallTime slot(found * 1000);
      CHECK(slot > after, "CRON-1: the next slot lies after the time asked about");
      return slot;
    }
    // Later spans have no slot before the first matching local time; skip those that end well before it.
    const int64_t offset = std::min(span.offset_s, zone_.At(span.end_s).offset_s);
    from = std::max(span.end_s, NextLocal(span.end_s + offset) - kOffsetMost);
  }
  return std::nullopt;
}

WallTime NextEvery(WallTime phase, Duration period, WallTime after) {
  CHECK(period.ms() >= 1, "a period has a length");
  const int64_t gone = FloorDivide((after - phase).ms(), period.ms());
  const WallTime slot(phase.ms() + (gone + 1) * period.ms());
  CHECK(slot > after, "the next slot lies after the time asked about");
  return slot;
}

}  // namespace vestq
