#include "lease/cron.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "engine/base/limits.h"

namespace vestq {
namespace {

// "2026-03-08T07:00Z" or with seconds or a bare day -> wall time.
WallTime At(const std::string& text) {
  int year = 0, hour = 0, minute = 0, second = 0;
  unsigned month = 0, day = 0;
  const int read =
      std::sscanf(text.c_str(), "%d-%u-%uT%d:%d:%d", &year, &month, &day, &hour, &minute, &second);
  EXPECT_GE(read, 3) << text;
  const std::chrono::sys_days days =
      std::chrono::year(year) / std::chrono::month(month) / std::chrono::day(day);
  return WallTime(
      (days.time_since_epoch().count() * int64_t{86'400} + hour * 3600 + minute * 60 + second) *
      1000);
}

std::string Text(WallTime time) {
  const int64_t s = time.ms() / 1000;
  const std::chrono::year_month_day day{std::chrono::sys_days(std::chrono::days(s / 86'400))};
  char out[64];
  std::snprintf(out, sizeof out, "%04d-%02u-%02uT%02d:%02d:%02dZ", static_cast<int>(day.year()),
                static_cast<unsigned>(day.month()), static_cast<unsigned>(day.day()),
                static_cast<int>(s % 86'400 / 3600), static_cast<int>(s % 3600 / 60),
                static_cast<int>(s % 60));
  return out;
}

Cron Parsed(const std::string& expression, const std::string& zone = "UTC") {
  const Result<Cron> cron = Cron::Parse(expression, zone);
  EXPECT_TRUE(cron.ok()) << expression << " " << zone << ": " << cron.error().ToString();
  return cron.ok() ? *cron : *Cron::Parse("* * * * *");
}

std::vector<std::string> Slots(const Cron& cron, WallTime after, size_t count) {
  std::vector<std::string> out;
  while (out.size() < count) {
    const std::optional<WallTime> next = cron.Next(after);
    if (!next) break;
    EXPECT_GT(*next, after) << "CRON-1";
    out.push_back(Text(*next));
    after = *next;
  }
  return out;
}

struct Case {
  const char* expression;
  const char* zone;
  const char* after;
  std::vector<std::string> slots;
};

void ExpectAll(const std::vector<Case>& cases) {
  for (const Case& c : cases) {
    EXPECT_EQ(Slots(Parsed(c.expression, c.zone), At(c.after), c.slots.size()), c.slots)
        << c.expression << " in " << c.zone << " after " << c.after;
  }
}

TEST(Cron, FieldsMeanWhatTheySay) {
  const char* from = "2026-12-01T00:00:30";  // a Tuesday
  ExpectAll({
      {"* * * * *", "UTC", from, {"2026-12-01T00:01:00Z", "2026-12-01T00:02:00Z"}},
      {"*/20 * * * *",
       "UTC",
       from,
       {"2026-12-01T00:20:00Z", "2026-12-01T00:40:00Z", "2026-12-01T01:00:00Z"}},
      {"5-10/5,50 3 * * *",
       "UTC",
       from,
       {"2026-12-01T03:05:00Z", "2026-12-01T03:10:00Z", "2026-12-01T03:50:00Z"}},
      {"50/5 3 * * *", "UTC", from, {"2026-12-01T03:50:00Z", "2026-12-01T03:55:00Z"}},
      {"0 0 1 jan *", "UTC", from, {"2027-01-01T00:00:00Z", "2028-01-01T00:00:00Z"}},
      {"0 12 * * Mon", "UTC", from, {"2026-12-07T12:00:00Z", "2026-12-14T12:00:00Z"}},
      {"0 12 * * 0", "UTC", from, {"2026-12-06T12:00:00Z", "2026-12-13T12:00:00Z"}},
      {"0 12 * * 7", "UTC", from, {"2026-12-06T12:00:00Z", "2026-12-13T12:00:00Z"}},
      {"0 12 * * FRI-SUN",
       "UTC",
       from,
       {"2026-12-04T12:00:00Z", "2026-12-05T12:00:00Z", "2026-12-06T12:00:00Z"}},
      {"0 12 * * 5-7", "UTC", from, {"2026-12-04T12:00:00Z", "2026-12-05T12:00:00Z"}},
      {"0 12 ? * 1-5/2", "UTC", from, {"2026-12-02T12:00:00Z", "2026-12-04T12:00:00Z"}},
      {"0 12 3 * ?", "UTC", from, {"2026-12-03T12:00:00Z", "2027-01-03T12:00:00Z"}},
      {"30 23 L * *",
       "UTC",
       from,
       {"2026-12-31T23:30:00Z", "2027-01-31T23:30:00Z", "2027-02-28T23:30:00Z"}},
      {"0 0 l,15 feb *", "UTC", from, {"2027-02-15T00:00:00Z", "2027-02-28T00:00:00Z"}},
      {"0 0 31 * *", "UTC", from, {"2026-12-31T00:00:00Z", "2027-01-31T00:00:00Z"}},
      {"0 0 29 2 *", "UTC", from, {"2028-02-29T00:00:00Z", "2032-02-29T00:00:00Z"}},
      {"0 0 29 2 *", "UTC", "2096-03-01", {"2104-02-29T00:00:00Z"}},
      {"\t 1  2 3\t4 * ", "UTC", from, {"2027-04-03T02:01:00Z"}},
  });
}

TEST(Cron, MacrosAreTheirFiveFields) {
  const char* from = "2026-12-01T00:00:00";
  ExpectAll({
      {"@yearly", "UTC", from, {"2027-01-01T00:00:00Z", "2028-01-01T00:00:00Z"}},
      {"@annually", "UTC", from, {"2027-01-01T00:00:00Z"}},
      {"@monthly", "UTC", from, {"2027-01-01T00:00:00Z", "2027-02-01T00:00:00Z"}},
      {"@weekly", "UTC", from, {"2026-12-06T00:00:00Z", "2026-12-13T00:00:00Z"}},
      {"@daily", "UTC", from, {"2026-12-02T00:00:00Z"}},
      {"@Midnight", "UTC", from, {"2026-12-02T00:00:00Z"}},
      {"@HOURLY", "UTC", from, {"2026-12-01T01:00:00Z"}},
  });
}

// Vixie's rule: both restricted, either suffices; a field that begins with * is not restricted.
TEST(Cron, TwoRestrictedDayFieldsMatchEither) {
  const char* from = "2026-12-01T00:00:00";
  ExpectAll({
      {"0 0 13 * FRI",
       "UTC",
       from,
       {"2026-12-04T00:00:00Z", "2026-12-11T00:00:00Z", "2026-12-13T00:00:00Z",
        "2026-12-18T00:00:00Z"}},
      {"0 0 */2 * FRI",
       "UTC",
       from,
       {"2026-12-11T00:00:00Z", "2026-12-25T00:00:00Z", "2027-01-01T00:00:00Z"}},
      {"0 0 13 * */5", "UTC", from, {"2026-12-13T00:00:00Z", "2027-06-13T00:00:00Z"}},
      {"0 0 30 2 MON", "UTC", from, {"2027-02-01T00:00:00Z"}},
      {"0 0 29 2 */7", "UTC", from, {"2032-02-29T00:00:00Z", "2060-02-29T00:00:00Z"}},
  });
}

// The instants of B26, and what stands around them.
TEST(Cron, DaylightSaving) {
  const char* ny = "America/New_York";
  ExpectAll({
      {"30 2 * * *",
       ny,
       "2026-03-07",
       {"2026-03-07T07:30:00Z", "2026-03-08T07:00:00Z", "2026-03-09T06:30:00Z"}},
      {"30 1 * * *",
       ny,
       "2026-10-31T12:00",
       {"2026-11-01T05:30:00Z", "2026-11-02T06:30:00Z", "2026-11-03T06:30:00Z"}},
      {"*/15 * * * *",
       ny,
       "2026-03-08T06:40",
       {"2026-03-08T06:45:00Z", "2026-03-08T07:00:00Z", "2026-03-08T07:15:00Z"}},
      {"*/15 * * * *",
       ny,
       "2026-11-01T05:40",
       {"2026-11-01T05:45:00Z", "2026-11-01T06:00:00Z", "2026-11-01T06:15:00Z",
        "2026-11-01T06:30:00Z", "2026-11-01T06:45:00Z", "2026-11-01T07:00:00Z",
        "2026-11-01T07:15:00Z"}},
      {"0 6 * * 1", ny, "2026-11-01T10:00", {"2026-11-02T11:00:00Z", "2026-11-09T11:00:00Z"}},
      {"45 1 * * *",
       "Australia/Lord_Howe",
       "2026-04-04",
       {"2026-04-04T14:45:00Z", "2026-04-05T15:15:00Z"}},
      {"0 0 * * *",
       "America/Santiago",
       "2026-09-05",
       {"2026-09-05T04:00:00Z", "2026-09-06T04:00:00Z", "2026-09-07T03:00:00Z"}},
      // Several slots of one gap make one, at its end; none twice when a slot stands there anyway.
      {"0,20,40 2 * * *",
       ny,
       "2026-03-08T06:00",
       {"2026-03-08T07:00:00Z", "2026-03-09T06:00:00Z", "2026-03-09T06:20:00Z"}},
      {"30 2,3 * * *", ny, "2026-03-08T06:00", {"2026-03-08T07:00:00Z", "2026-03-08T07:30:00Z"}},
      {"0 2,3 * * *", ny, "2026-03-08T06:00", {"2026-03-08T07:00:00Z", "2026-03-09T06:00:00Z"}},
      // Asked inside the gap's last minute, and at its end.
      {"30 2 * * *", ny, "2026-03-08T06:59:59", {"2026-03-08T07:00:00Z"}},
      {"30 2 * * *", ny, "2026-03-08T07:00:00", {"2026-03-09T06:30:00Z"}},
      // The gap of a day that does not match is not a slot.
      {"30 2 * * MON", ny, "2026-03-08T06:00", {"2026-03-09T06:30:00Z"}},
      // Every hour: real time, at any minute and with a gap of half an hour.
      {"30 * * * *", ny, "2026-03-08T06:00", {"2026-03-08T06:30:00Z", "2026-03-08T07:30:00Z"}},
      {"0 * * * *",
       "Australia/Lord_Howe",
       "2026-10-03T14:00",
       {"2026-10-03T14:30:00Z", "2026-10-03T15:30:00Z", "2026-10-03T16:00:00Z"}},
      // Every n minutes of some hours: both passes, and no hour of silence.
      {"*/30 1 * * *",
       ny,
       "2026-11-01T04:00",
       {"2026-11-01T05:00:00Z", "2026-11-01T05:30:00Z", "2026-11-01T06:00:00Z",
        "2026-11-01T06:30:00Z", "2026-11-02T06:00:00Z"}},
      {"0,30 1 * * *",
       ny,
       "2026-11-01T04:00",
       {"2026-11-01T05:00:00Z", "2026-11-01T05:30:00Z", "2026-11-02T06:00:00Z"}},
      // Asked in the second pass.
      {"30 1 * * *", ny, "2026-11-01T06:10", {"2026-11-02T06:30:00Z"}},
      {"0 9 * * *", "Asia/Kolkata", "2026-01-01T00:00", {"2026-01-01T03:30:00Z"}},
      {"0 9 * * *", "EST5EDT", "2026-07-01T00:00", {"2026-07-01T13:00:00Z"}},
      {"0 9 * * *", "Europe/London", "2026-07-01T00:00", {"2026-07-01T08:00:00Z"}},
  });
}

TEST(Cron, EveryHourIs25RunsInAutumnAnd23InSpring) {
  const auto count = [](const char* expression, const char* from, const char* to) {
    const Cron cron = Parsed(expression, "America/New_York");
    std::vector<int64_t> steps;
    WallTime after = At(from) - Milliseconds(1);
    for (;;) {
      const WallTime next = *cron.Next(after);
      if (next >= At(to)) return steps;
      if (!steps.empty() || next > At(from)) steps.push_back((next - after).ms());
      if (steps.empty()) steps.push_back(0);
      after = next;
    }
  };
  // Local midnight to local midnight.
  const std::vector<int64_t> autumn = count("0 * * * *", "2026-11-01T04:00", "2026-11-02T05:00");
  EXPECT_EQ(autumn.size(), 25u);
  EXPECT_TRUE(
      std::all_of(autumn.begin() + 1, autumn.end(), [](int64_t ms) { return ms == 3'600'000; }));
  const std::vector<int64_t> spring = count("0 * * * *", "2026-03-08T05:00", "2026-03-09T04:00");
  EXPECT_EQ(spring.size(), 23u);
  EXPECT_TRUE(
      std::all_of(spring.begin() + 1, spring.end(), [](int64_t ms) { return ms == 3'600'000; }));
  EXPECT_EQ(count("*/15 * * * *", "2026-11-01T04:00", "2026-11-02T05:00").size(), 100u);
  EXPECT_EQ(count("*/15 * * * *", "2026-03-08T05:00", "2026-03-09T04:00").size(), 92u);
}

struct Refused {
  const char* expression;
  ErrorCode code;
  const char* says;
};

TEST(Cron, WhatIsNotSupportedIsRefusedByName) {
  const ErrorCode syntax = ErrorCode::kSyntax;
  const ErrorCode range = ErrorCode::kRange;
  const std::vector<Refused> refused = {
      {"", syntax, "five fields"},
      {"   ", syntax, "five fields"},
      {"* * * *", syntax, "not 4 fields"},
      {"*/15 * * * * *", syntax, "no field for seconds"},
      {"0 0 1 1 * 2027", syntax, "seconds or years"},
      {"@reboot", syntax, "@reboot is not a macro"},
      {"@", syntax, "is not a macro"},
      {"@daily *", syntax, "is not a macro"},
      {"60 * * * *", range, "minute: 60 is not within 0 to 59"},
      {"* 24 * * *", range, "hour: 24 is not within 0 to 23"},
      {"* * 0 * *", range, "day-of-month: 0 is not within 1 to 31"},
      {"* * 32 * *", range, "day-of-month: 32"},
      {"* * * 13 *", range, "month: 13"},
      {"* * * 0 *", range, "month: 0"},
      {"* * * * 8", range, "day-of-week: 8"},
      {"99999999999999999999 * * * *", range, "minute: 99999999999999999999"},
      {"4294967296 * * * *", range, "minute: 4294967296"},
      {"-1 * * * *", syntax, "minute: -1"},
      {"1- * * * *", syntax, "minute: 1-"},
      {"1,,2 * * * *", syntax, "minute: the list has an empty item"},
      {", * * * *", syntax, "minute: the list"},
      {"*/0 * * * *", range, "minute: */0 has a step"},
      {"*/60 * * * *", range, "minute: */60 has a step"},
      {"* */24 * * *", range, "hour: */24 has a step"},
      {"*/ * * * *", syntax, "minute: */ has no number"},
      {"*/2/2 * * * *", syntax, "minute: */2/2"},
      {"** * * * *", syntax, "minute: **"},
      {"1-5x * * * *", syntax, "minute: 1-5X"},
      {"22-2 * * * *", syntax, "minute: 22-2 runs backwards"},
      {"* * * NOV-FEB *", syntax, "month: NOV-FEB runs backwards"},
      {"? * * * *", syntax, "minute: ?"},
      {"* * ?/2 * *", syntax, "day-of-month: ?/2"},
      {"* * 15W * *", syntax, "day-of-month: 15W is not supported: there is no W"},
      {"* * LW * *", syntax, "day-of-month: LW is not supported: there is no W"},
      {"* * L-3 * *", syntax, "day-of-month: L-3 is not supported"},
      {"* * 5L * *", syntax, "day-of-month: 5L is not supported"},
      {"* * * * 5L", syntax, "day-of-week: 5L is not supported"},
      {"* * * * L", syntax, "day-of-week: L is not supported"},
      {"* * * * FRI#2", syntax, "day-of-week: FRI#2 is not supported: there is no #"},
      {"* * * * FRIDAY", syntax, "day-of-week: FRIDAY is not a weekday"},
      {"* * * JANUARY *", syntax, "month: JANUARY is not a month"},
      {"* * * MON *", syntax, "month: MON is not a month"},
      {"* JAN * * *", syntax, "hour: JAN"},
      {"* H * * *", syntax, "hour: H"},
      {"* * 30 2 *", range, "day-of-month: no month"},
      {"* * 31 2,4,6,9,11 *", range, "day-of-month: no month"},
      {"* * 30,31 FEB ?", range, "day-of-month: no month"},
  };
  for (const Refused& r : refused) {
    const Result<Cron> cron = Cron::Parse(r.expression);
    ASSERT_FALSE(cron.ok()) << r.expression;
    EXPECT_EQ(cron.error().code(), r.code) << r.expression << ": " << cron.error().ToString();
    EXPECT_NE(cron.error().text().find(r.says), std::string::npos)
        << r.expression << ": " << cron.error().text();
    EXPECT_NE(cron.error().text().find("cron"), std::string::npos) << cron.error().text();
  }
}

TEST(Cron, AnExpressionHasALongestLength) {
  std::string longest = "* * * * *";
  longest.append(limits::kCronBytes - longest.size(), ' ');
  EXPECT_TRUE(Cron::Parse(longest).ok());
  const Result<Cron> over = Cron::Parse(longest + " ");
  ASSERT_FALSE(over.ok());
  EXPECT_EQ(over.error().ToString(),
            "TOOBIG a cron expression must have at most 256 bytes, not 257");
}

TEST(Cron, ErrorsShowNoRawBytes) {
  const Result<Cron> cron = Cron::Parse(std::string("\r\n\x01\xff * * * *"));
  ASSERT_FALSE(cron.ok());
  EXPECT_NE(cron.error().text().find("minute: ????"), std::string::npos) << cron.error().text();
  const Result<Cron> zone = Cron::Parse("* * * * *", "Europe/\r\nLondon");
  ASSERT_FALSE(zone.ok());
  EXPECT_NE(zone.error().text().find("Europe/??London"), std::string::npos);
}

TEST(TimeZone, IsFoundUnderExactlyItsName) {
  for (const char* name : {"Europe/London", "EST5EDT", "UTC", "Etc/GMT+5", "America/New_York"}) {
    EXPECT_TRUE(TimeZone::Find(name).ok()) << name;
  }
  for (const char* name : {"europe/london", "EUROPE/LONDON", "utc", "GMT+5", "Mars/Olympus", " UTC",
                           "Europe", "Europe/", "../Europe/London", "zone.tab", "+01:00", "CEST"}) {
    const Result<TimeZone> zone = TimeZone::Find(name);
    ASSERT_FALSE(zone.ok()) << name;
    EXPECT_EQ(zone.error().code(), ErrorCode::kSyntax);
    if (name[0] != ' ') {
      EXPECT_NE(zone.error().text().find(name), std::string::npos) << zone.error().text();
    }
  }
  EXPECT_FALSE(TimeZone::Find("").ok());
  EXPECT_EQ(TimeZone::Find(std::string(101, 'a')).error().code(), ErrorCode::kTooBig);
}

TEST(Cron, AfterTheLastTimeOfAKeyThereIsNothing) {
  const Cron yearly = Parsed("@yearly", "America/New_York");
  EXPECT_EQ(yearly.Next(WallTime(limits::kKeyTimeMsMax)), std::nullopt);
  EXPECT_EQ(yearly.Next(WallTime::Max()), std::nullopt);
  EXPECT_TRUE(yearly.Next(WallTime(0)).has_value());
  EXPECT_TRUE(yearly.Next(WallTime(limits::kKeyTimeMsMax - Days(800).ms())).has_value());
}

TEST(Every, KeepsItsPhaseWhereverTheClockStands) {
  const WallTime phase(1'000'003);
  const Duration period = Seconds(10);
  EXPECT_EQ(NextEvery(phase, period, phase), phase + period);
  EXPECT_EQ(NextEvery(phase, period, phase - Milliseconds(1)), phase);
  EXPECT_EQ(NextEvery(phase, period, phase + Milliseconds(9'999)), phase + period);
  EXPECT_EQ(NextEvery(phase, period, phase + Days(4'000)), phase + Days(4'000) + period);
  EXPECT_EQ(NextEvery(phase, period, phase - Seconds(100)), phase - Seconds(90));
  EXPECT_EQ(NextEvery(WallTime(5), Milliseconds(1), WallTime(5)), WallTime(6));
  EXPECT_GT(NextEvery(WallTime(0), Days(36'500), WallTime(limits::kKeyTimeMsMax)),
            WallTime(limits::kKeyTimeMsMax));
}

}  // namespace
}  // namespace vestq
