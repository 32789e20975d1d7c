#include "lease/slots.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/base/limits.h"

namespace vestq {
namespace {

using keycodec::Missed;

constexpr int64_t kStart = 1'700'000'000'000;  // 2023-11-14T22:13:20Z

Slots Every(Duration period, WallTime phase = WallTime(kStart)) {
  keycodec::ScheduleValue schedule;
  schedule.kind = keycodec::ScheduleKind::kEvery;
  schedule.every_ms = period.ms();
  schedule.phase_ms = phase.ms();
  const Result<Slots> slots = Slots::Of(schedule);
  EXPECT_TRUE(slots.ok());
  return *slots;
}

Slots OfCron(const char* expression, const char* zone = "") {
  keycodec::ScheduleValue schedule;
  schedule.cron = expression;
  schedule.zone = zone;
  const Result<Slots> slots = Slots::Of(schedule);
  EXPECT_TRUE(slots.ok()) << slots.error().ToString();
  return *slots;
}

struct Case {
  Missed missed;
  int64_t late_ms;  // now, behind the slot that is due
  uint32_t jobs;
  uint64_t passed;
  int64_t last;  // slots from the first: the last one run
  int64_t next;  // and the next one
};

// Every 10 s; by each policy, after being late by various times.
TEST(Slots, EachPolicyTakesEverySlotOnce) {
  const Case cases[] = {
      {Missed::kOnce, 0, 1, 0, 0, 1},
      {Missed::kSkip, 0, 1, 0, 0, 1},
      {Missed::kAll, 0, 1, 0, 0, 1},
      // A late tick is no miss.
      {Missed::kSkip, 2'000, 1, 0, 0, 1},
      {Missed::kSkip, 2'001, 0, 1, -1, 1},
      {Missed::kOnce, 2'001, 1, 0, 0, 1},
      {Missed::kAll, 9'999, 1, 0, 0, 1},
      // Several slots.
      {Missed::kOnce, 35'000, 1, 3, 3, 4},
      {Missed::kSkip, 35'000, 0, 4, -1, 4},
      {Missed::kSkip, 30'500, 1, 3, 3, 4},
      {Missed::kOnce, 30'500, 1, 3, 3, 4},
      {Missed::kAll, 35'000, 4, 0, 3, 4},
      {Missed::kSkip, 31'999, 1, 3, 3, 4},
      // A year.
      {Missed::kOnce, 31'536'000'000, 1, 3'153'600, 3'153'600, 3'153'601},
      {Missed::kSkip, 31'536'005'000, 0, 3'153'601, -1, 3'153'601},
      // The first slice of 4,096 slots; of more, and older than a month, some are left out.
      {Missed::kAll, 40'959'000, kSlotJobs, 0, kSlotJobs - 1, kSlotJobs},
      {Missed::kAll, 2'678'400'000, kSlotJobs, 0, kSlotJobs - 1, kSlotJobs},
      {Missed::kAll, 2'678'410'000, 0, 2, -1, 2},
      {Missed::kAll, 31'536'000'000, 0, 2'885'761, -1, 2'885'761},
  };
  const WallTime first = WallTime(kStart) + Seconds(10);
  for (const Case& c : cases) {
    const Slots::Due due =
        Every(Seconds(10)).TakeDue(c.missed, first, first + Milliseconds(c.late_ms));
    const auto name = [&] {
      return "policy " + std::to_string(static_cast<int>(c.missed)) + " late " +
             std::to_string(c.late_ms);
    };
    EXPECT_EQ(due.jobs, c.jobs) << name();
    EXPECT_EQ(due.missed, c.passed) << name();
    if (c.jobs > 0) {
      EXPECT_EQ(due.last, first + Seconds(10 * c.last)) << name();
    }
    ASSERT_TRUE(due.next) << name();
    EXPECT_EQ(*due.next, first + Seconds(10 * c.next)) << name();
  }
}

// Slices until nothing is due: together every slot is run or counted, and none twice.
TEST(Slots, SlicesAddUp) {
  for (const bool cron : {true, false}) {
    const Slots slots = cron ? OfCron("* * * * *") : Every(Seconds(60), WallTime(0));
    for (const Missed missed : {Missed::kOnce, Missed::kSkip, Missed::kAll}) {
      const WallTime first = *slots.Next(WallTime(kStart));
      const WallTime now = first + Days(10) + Seconds(30);
      uint64_t jobs = 0, passed = 0, slices = 0;
      WallTime next = first;
      while (next <= now) {
        const Slots::Due due = slots.TakeDue(missed, next, now, 50);
        EXPECT_LE(due.jobs, 50u);
        EXPECT_LE(due.jobs + due.missed, cron ? kSlotsSeen : UINT64_MAX);
        ASSERT_GT(*due.next, next) << "SLOT-1";
        jobs += due.jobs;
        passed += due.missed;
        next = *due.next;
        ++slices;
      }
      EXPECT_EQ(jobs + passed, 10u * 1440 + 1) << "SLOT-2";
      EXPECT_EQ(jobs, missed == Missed::kAll ? 14'401u : missed == Missed::kOnce ? 1u : 0u);
      EXPECT_LE(slices, missed == Missed::kAll ? 289u : 4u);
    }
  }
}

TEST(Slots, AClockThatBeganIn1970CostsLittle) {
  const Slots slots = OfCron("* * * * *");
  const WallTime now(kStart);
  WallTime next(60'000);
  uint64_t jobs = 0;
  int slices = 0;
  for (; next <= now; ++slices) {
    const Slots::Due due = slots.TakeDue(Missed::kOnce, next, now);
    jobs += due.jobs;
    next = *due.next;
  }
  EXPECT_EQ(jobs, 1u);
  EXPECT_LE(slices, 13);
}

// `all` too: what is older than a month is left out, once and all of it, and the rest is run.
TEST(Slots, OfTooManyThoseOlderThanAMonthAreLeftOut) {
  for (const bool cron : {true, false}) {
    const Slots slots = cron ? OfCron("* * * * *") : Every(Seconds(60), WallTime(0));
    const WallTime now(kStart);
    WallTime next(60'000);
    uint64_t jobs = 0, missed = 0, left_out = 0;
    std::optional<WallTime> first_run;
    while (next <= now) {
      const Slots::Due due = slots.TakeDue(Missed::kAll, next, now, kSlotJobs);
      if (due.jobs > 0 && !first_run) first_run = next;
      ASSERT_GT(*due.next, next) << "SLOT-1";
      jobs += due.jobs;
      missed += due.missed;
      left_out += due.left_out;
      next = *due.next;
    }
    EXPECT_EQ(left_out, 1u);
    EXPECT_EQ(*first_run, *slots.Next(now - kSlotsCounted));
    EXPECT_EQ(jobs, 31u * 1440);
    EXPECT_EQ(missed, cron ? kSlotsSeen + 1 : kStart / 60'000 - 31 * 1440) << "SLOT-2";
  }
}

// Few slots are all run, however long ago: a yearly report after ten years is ten reports.
TEST(Slots, FewSlotsAreRunHoweverOld) {
  const Slots slots = OfCron("@yearly");
  const WallTime now(kStart);
  const WallTime first = *slots.Next(now - Days(3653));
  const Slots::Due due = slots.TakeDue(Missed::kAll, first, now);
  EXPECT_EQ(due.jobs, 10u);
  EXPECT_EQ(due.missed, 0u);
  EXPECT_FALSE(due.left_out);
}

TEST(Slots, ShortPeriodsLoseNothingToALateTick) {
  const WallTime first(kStart);
  const Slots::Due due =
      Every(Milliseconds(100)).TakeDue(Missed::kSkip, first, first + Milliseconds(950));
  EXPECT_EQ(due.jobs, 10u);
  EXPECT_EQ(due.missed, 0u);
}

TEST(Slots, ShortPeriodsDoNotBurstAfterADowntime) {
  const WallTime first(kStart);
  for (const Missed missed : {Missed::kOnce, Missed::kSkip}) {
    const Slots::Due due = Every(Milliseconds(100)).TakeDue(missed, first, first + Seconds(60));
    EXPECT_EQ(due.jobs, 1u);
    EXPECT_EQ(due.missed, 600u);
  }
}

TEST(Slots, ACronSlotFollowsItsZone) {
  const Slots slots = OfCron("30 2 * * *", "America/New_York");
  EXPECT_EQ(*slots.Next(WallTime(1'772'929'800'000)),
            WallTime(1'772'953'200'000));  // the gap's end
  EXPECT_EQ(*OfCron("@hourly").Next(WallTime(0)), WallTime(3'600'000));
}

TEST(Slots, NothingComesAfterTheLastTimeOfAKey) {
  EXPECT_EQ(Every(Days(36'500)).Next(WallTime(limits::kKeyTimeMsMax)), std::nullopt);
  EXPECT_TRUE(Every(Days(1)).Next(WallTime(-5)).has_value());  // before 1970
  const Slots daily = Every(Days(1));
  const WallTime last(limits::kKeyTimeMsMax - Days(1).ms() / 2);
  const Slots::Due due = daily.TakeDue(Missed::kOnce, WallTime(kStart), last);
  EXPECT_EQ(due.jobs, 1u);
  EXPECT_LE(due.next.value_or(WallTime(0)).ms(), limits::kKeyTimeMsMax);
}

TEST(Slots, WhatDoesNotParseIsRefusedByName) {
  keycodec::ScheduleValue schedule;
  schedule.cron = "* * * * *";
  schedule.zone = "Mars/Olympus";
  EXPECT_NE(Slots::Of(schedule).error().text().find("Mars/Olympus"), std::string::npos);
}

}  // namespace
}  // namespace vestq
