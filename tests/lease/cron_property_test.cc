// Cron::Next against a walk over every minute of the days around clock changes: random expressions, many zones.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "lease/cron.h"

namespace vestq {
namespace {

constexpr int64_t kMinute = 60;
constexpr int64_t kDay = 86'400;

// An expression as sets and flags, made beside its text and independent of the parser.
struct Expression {
  std::string text;
  std::set<unsigned> minutes, hours, days, months, weekdays;
  bool minute_star = false, days_star = false, weekdays_star = false;

  bool Matches(int64_t local_s) const {
    const int64_t day_number = local_s / kDay;
    const std::chrono::sys_days day{std::chrono::days(day_number)};
    const std::chrono::year_month_day date(day);
    const bool day_of_month = days.count(static_cast<unsigned>(date.day())) != 0;
    const bool weekday = weekdays.count(std::chrono::weekday(day).c_encoding()) != 0;
    const bool either = !days_star && !weekdays_star;
    return minutes.count(static_cast<unsigned>(local_s % 3600 / 60)) != 0 &&
           hours.count(static_cast<unsigned>(local_s % kDay / 3600)) != 0 &&
           months.count(static_cast<unsigned>(date.month())) != 0 &&
           (either ? day_of_month || weekday : day_of_month && weekday);
  }
};

class Random {
 public:
  explicit Random(uint32_t seed) : engine_(seed) {}
  unsigned Below(unsigned n) { return static_cast<unsigned>(engine_() % n); }

 private:
  std::mt19937 engine_;
};

// Adds a random field to the text and gives its values.
std::set<unsigned> RandomField(Random* random, unsigned least, unsigned most, unsigned star_of_ten,
                               std::string* text, bool* star) {
  std::set<unsigned> out;
  if (!text->empty()) text->push_back(' ');
  *star = random->Below(10) < star_of_ten;
  if (*star) {
    const unsigned step = random->Below(2) == 0 ? 1 : 1 + random->Below(most);
    for (unsigned v = least; v <= most; v += step) out.insert(v);
    text->append(step == 1 ? "*" : "*/" + std::to_string(step));
    return out;
  }
  for (unsigned items = 1 + random->Below(3); items > 0; --items) {
    const unsigned from = least + random->Below(most - least + 1);
    const unsigned to = from + random->Below(most - from + 1);
    switch (random->Below(3)) {
      case 0:
        out.insert(from);
        text->append(std::to_string(from));
        break;
      case 1:
        for (unsigned v = from; v <= to; ++v) out.insert(v);
        text->append(std::to_string(from) + "-" + std::to_string(to));
        break;
      default: {
        const unsigned step = 1 + random->Below(most);
        for (unsigned v = from; v <= to; v += step) out.insert(v);
        text->append(std::to_string(from) + "-" + std::to_string(to) + "/" + std::to_string(step));
      }
    }
    if (items > 1) text->push_back(',');
  }
  return out;
}

Expression RandomExpression(Random* random) {
  Expression out;
  bool ignored = false;
  out.minutes = RandomField(random, 0, 59, 4, &out.text, &out.minute_star);
  // Often the small hours, where clocks change.
  if (random->Below(3) == 0) {
    const unsigned hour = random->Below(4);
    out.hours = {hour};
    out.text += " " + std::to_string(hour);
  } else {
    out.hours = RandomField(random, 0, 23, 5, &out.text, &ignored);
  }
  out.days = RandomField(random, 1, 31, 7, &out.text, &out.days_star);
  out.months = RandomField(random, 1, 12, 9, &out.text, &ignored);
  out.weekdays = RandomField(random, 0, 6, 7, &out.text, &out.weekdays_star);
  return out;
}

// Every slot in [from_s, to_s), by looking at each minute, with the rules CRON-2 to CRON-4 read off their text.
std::set<int64_t> Walk(const Expression& e, const TimeZone& zone, int64_t from_s, int64_t to_s) {
  std::set<int64_t> slots;
  std::set<int64_t> seen;  // local minutes
  const bool every_hour = e.hours.size() == 24;
  std::optional<int64_t> previous;
  for (int64_t at = from_s; at < to_s; at += kMinute) {
    const int64_t local = at + zone.At(at).offset_s;
    for (int64_t gone = previous ? *previous + kMinute : local; gone < local; gone += kMinute) {
      if (!e.Matches(gone)) continue;
      slots.insert(every_hour ? at + (gone - *previous) - kMinute : at);
    }
    const bool first_pass = seen.insert(local).second;
    if (e.Matches(local) && (first_pass || every_hour || e.minute_star)) slots.insert(at);
    previous = local;
  }
  return slots;
}

// The clock changes of a zone between two times.
std::vector<int64_t> Changes(const TimeZone& zone, int64_t from_s, int64_t to_s) {
  std::vector<int64_t> out;
  for (int64_t at = zone.At(from_s).end_s; at < to_s; at = zone.At(at).end_s) out.push_back(at);
  return out;
}

TEST(CronProperty, NextIsWhatAWalkOverEveryMinuteFinds) {
  const char* const kZones[] = {"America/New_York", "Europe/London",        "Australia/Lord_Howe",
                                "America/Santiago", "Antarctica/Troll",     "Africa/Casablanca",
                                "Atlantic/Azores",  "America/St_Johns",     "Asia/Kathmandu",
                                "Pacific/Apia",     "America/Scoresbysund", "UTC"};
  constexpr int64_t k2010 = 1'262'304'000, k2030 = 1'893'456'000;
  Random random(26);
  uint64_t compared = 0;
  for (const char* name : kZones) {
    const Result<TimeZone> zone = TimeZone::Find(name);
    ASSERT_TRUE(zone.ok()) << zone.error().ToString();
    std::vector<int64_t> changes = Changes(*zone, k2010, k2030);
    if (changes.empty()) changes.push_back(k2010 + kDay);
    for (int round = 0; round < 60; ++round) {
      const Expression e = RandomExpression(&random);
      const Result<Cron> cron = Cron::Parse(e.text, name);
      if (!cron.ok()) {  // a day that none of its months has
        ASSERT_EQ(cron.error().code(), ErrorCode::kRange) << e.text << cron.error().ToString();
        continue;
      }
      const int64_t change = changes[random.Below(static_cast<unsigned>(changes.size()))];
      const int64_t from = change - 2 * kDay, to = change + 3 * kDay;
      const std::set<int64_t> slots = Walk(e, *zone, from, to);
      for (int64_t at = from + kDay + random.Below(600); at < to;
           at += 60 + random.Below(at > change - 7200 && at < change + 7200 ? 600 : 7200)) {
        const auto want = slots.upper_bound(at);
        const std::optional<WallTime> got = cron->Next(WallTime(at * 1000 + random.Below(1000)));
        ASSERT_TRUE(got.has_value()) << e.text;
        ++compared;
        if (want == slots.end()) {
          ASSERT_GE(got->ms() / 1000, to) << e.text << " in " << name << " after " << at;
        } else {
          ASSERT_EQ(got->ms() / 1000, *want) << e.text << " in " << name << " after " << at;
        }
      }
    }
  }
  EXPECT_GT(compared, 50'000u);
}

// Asking again from each answer gives the same slots as the walk, over a whole year: nothing is skipped or repeated.
TEST(CronProperty, AYearOfSlotsIsTheWalks) {
  constexpr int64_t k2026 = 1'767'225'600;
  Random random(27);
  for (const char* name : {"America/New_York", "Australia/Lord_Howe", "America/Santiago"}) {
    const Result<TimeZone> zone = TimeZone::Find(name);
    ASSERT_TRUE(zone.ok());
    for (int round = 0; round < 3; ++round) {
      const Expression e = RandomExpression(&random);
      const Result<Cron> cron = Cron::Parse(e.text, name);
      if (!cron.ok()) continue;
      const std::set<int64_t> slots = Walk(e, *zone, k2026, k2026 + 366 * kDay);
      WallTime at(k2026 * 1000 + kDay * 1000);
      for (auto want = slots.upper_bound(at.ms() / 1000); want != slots.end(); ++want) {
        at = *cron->Next(at);
        ASSERT_EQ(at.ms() / 1000, *want) << e.text << " in " << name;
      }
    }
  }
}

}  // namespace
}  // namespace vestq
