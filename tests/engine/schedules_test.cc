// Schedules: one job per slot, across crashes, restarts, stepped clocks and moves between cores.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <string>

#include "engine/schedule_request.h"
#include "tests/sim/world.h"

namespace vestq {
namespace {

using keycodec::Missed;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr int64_t kMinuteMs = 60'000;

class Schedules : public ::testing::Test {
 protected:
  explicit Schedules(uint16_t cores = 1) : world_(Options(cores)) { world_.Open(); }
  static WorldOptions Options(uint16_t cores) {
    WorldOptions options;
    options.cores = cores;
    return options;
  }

  // SET; `change` fills in what is not by default: every minute, queue "q", payload the name.
  Error Set(const std::string& name, const std::function<void(ScheduleRequest*)>& change = {},
            uint16_t core = 0) {
    ScheduleRequest request;
    request.op = ScheduleOp::kSet;
    request.name = name;
    request.timing.cron = "* * * * *";
    request.job.queue = "q";
    request.job.payload = name;
    if (change) change(&request);
    world_.Run(&request, core);
    return request.error;
  }
  static void Every(ScheduleRequest* request, Duration period, Missed missed = Missed::kOnce) {
    request->timing.kind = keycodec::ScheduleKind::kEvery;
    request->timing.cron.clear();
    request->timing.every = period;
    request->timing.missed = missed;
  }
  ScheduleRequest& Do(ScheduleOp op, const std::string& name, uint16_t core = 0) {
    last_ = std::make_unique<ScheduleRequest>();
    last_->op = op;
    last_->name = name;
    world_.Run(last_.get(), core);
    return *last_;
  }
  keycodec::ScheduleValue Get(const std::string& name, uint16_t core = 0) {
    ScheduleRequest& request = Do(ScheduleOp::kGet, name, core);
    EXPECT_TRUE(request.error.ok()) << request.error.ToString();
    EXPECT_TRUE(request.found) << name;
    return request.found ? request.schedules[0].value : keycodec::ScheduleValue();
  }
  int64_t Ready(const std::string& queue = "q") { return world_.Counts(queue).ready; }
  // Time passes in small steps, so that nothing is late.
  void Pass(Duration time, Duration step = Milliseconds(500)) {
    for (int64_t left = time.ms(); left > 0; left -= step.ms()) {
      world_.Advance(std::min(Milliseconds(left), step));
      world_.Settle();
    }
  }
  int64_t wall() { return world_.clock().wall_ms; }
  // To the next whole minute of the wall clock, and one second beyond.
  void ToMinute() { Pass(Milliseconds(kMinuteMs - wall() % kMinuteMs + 1'000)); }

  World world_;
  std::unique_ptr<ScheduleRequest> last_;
};

TEST_F(Schedules, EachSlotMakesOneJob) {
  ASSERT_TRUE(Set("s").ok());
  ToMinute();
  EXPECT_EQ(Ready(), 1);
  Pass(Seconds(600));
  EXPECT_EQ(Ready(), 11);
  const auto jobs = world_.Lease("q", 1);
  ASSERT_THAT(jobs, SizeIs(1));
  EXPECT_EQ(jobs[0].payload, "s");
  const keycodec::ScheduleValue value = Get("s");
  EXPECT_EQ(value.fired, 11u);
  EXPECT_EQ(value.missed_count, 0u);
  EXPECT_EQ(value.last_ms % kMinuteMs, 0);
  EXPECT_EQ(value.next_ms, value.last_ms + kMinuteMs);
  EXPECT_THAT(world_.Violations(), IsEmpty());
}

// By the clocks of a place, through the night in which they are put back, with a restart inside the hour.
TEST_F(Schedules, ASlotComesByTheClocksOfItsZone) {
  const auto by = [](const char* zone, const char* cron) {
    return [=](ScheduleRequest* r) {
      r->timing.zone = zone;
      r->timing.cron = cron;
      r->job.queue = zone;
    };
  };
  constexpr int64_t kMidnightUtc =
      1'729'987'200'000;  // 2024-10-27; London: 02:00 is 01:00 again at 01:00 UTC
  world_.StepWall(Milliseconds(kMidnightUtc - 1'800'000 - wall()));
  ASSERT_TRUE(Set("london", by("Europe/London", "30 1 * * *")).ok());
  ASSERT_TRUE(Set("york", by("America/New_York", "30 20 * * *")).ok());
  Pass(Milliseconds(kMidnightUtc + 1'000 - wall()), Seconds(60));
  EXPECT_EQ(Ready("Europe/London"), 0);
  Pass(Seconds(1800), Seconds(30));
  EXPECT_EQ(Ready("Europe/London"), 1) << "00:30 UTC is 01:30 in summer";
  EXPECT_EQ(Ready("America/New_York"), 1) << "and 20:30 the day before";
  world_.Kill();
  world_.Open();
  Pass(Seconds(7200), Seconds(30));
  EXPECT_EQ(Ready("Europe/London"), 1) << "01:30 comes again, the job does not";
  EXPECT_EQ(Get("london").next_ms, kMidnightUtc + (25 * 60 + 30) * kMinuteMs)
      << "tomorrow, by winter time";
  EXPECT_EQ(Ready("America/New_York"), 1);
  EXPECT_THAT(world_.Violations(), IsEmpty());
}

TEST_F(Schedules, AJobHasTheOptionsOfItsSchedule) {
  ASSERT_TRUE(Set("s", [](ScheduleRequest* r) {
                Every(r, Seconds(10));
                r->job.space = "tenant";
                r->job.priority = 7;
                r->job.attempts_set = true;
                r->job.attempts = 3;
                r->job.type = "report";
                r->job.headers = {{"a", "b"}};
              }).ok());
  Pass(Seconds(10));
  const auto jobs = world_.Lease("q");
  ASSERT_THAT(jobs, SizeIs(1));
  EXPECT_EQ(jobs[0].space, "tenant");
  EXPECT_EQ(jobs[0].priority, 7u);
  EXPECT_EQ(jobs[0].attempts, 3u);
  EXPECT_EQ(jobs[0].type, "report");
  EXPECT_THAT(jobs[0].headers, SizeIs(1));
}

TEST_F(Schedules, SetAgainUnchangedKeepsPhaseAndCounters) {
  const auto every = [](ScheduleRequest* r) { Every(r, Seconds(60)); };
  ASSERT_TRUE(Set("s", every).ok());
  const int64_t start = wall();
  Pass(Seconds(90));
  const keycodec::ScheduleValue before = Get("s");
  EXPECT_EQ(before.fired, 1u);
  EXPECT_EQ(before.next_ms, start + 120'000);
  ASSERT_TRUE(Set("s", every).ok());
  EXPECT_EQ(Get("s"), before);
  // Another payload: what it enqueues changes, when does not.
  ASSERT_TRUE(Set("s", [&](ScheduleRequest* r) {
                every(r);
                r->job.payload = "new";
              }).ok());
  EXPECT_EQ(Get("s").next_ms, before.next_ms);
  EXPECT_EQ(Get("s").fired, 1u);
  Pass(Seconds(30));
  EXPECT_EQ(world_.Lease("q", 2)[1].payload, "new");
  // Another period: a new phase.
  ASSERT_TRUE(Set("s", [](ScheduleRequest* r) { Every(r, Seconds(50)); }).ok());
  EXPECT_EQ(Get("s").next_ms, wall() + 50'000);
  EXPECT_EQ(Get("s").fired, 2u);
  Pass(Seconds(100));
  EXPECT_EQ(Get("s").fired, 4u);
  EXPECT_THAT(world_.Violations(), IsEmpty());
}

TEST_F(Schedules, PauseVoidsItsSlotsAndResumeGoesOnInPhase) {
  ASSERT_TRUE(Set("s", [](ScheduleRequest* r) { Every(r, Seconds(60)); }).ok());
  const int64_t start = wall();
  EXPECT_TRUE(Do(ScheduleOp::kPause, "s").error.ok());
  EXPECT_EQ(Get("s").next_ms, 0);
  Pass(Seconds(200));
  EXPECT_EQ(Ready(), 0);
  EXPECT_TRUE(Set("s", [](ScheduleRequest* r) { Every(r, Seconds(60)); }).ok());
  EXPECT_TRUE(Get("s").paused) << "SET leaves it paused";
  EXPECT_TRUE(Do(ScheduleOp::kResume, "s").error.ok());
  EXPECT_EQ(Get("s").next_ms, start + 240'000);
  EXPECT_EQ(Get("s").missed_count, 0u);
  Pass(Seconds(40));
  EXPECT_EQ(Ready(), 1);
  EXPECT_EQ(Do(ScheduleOp::kPause, "none").error.code(), ErrorCode::kNotFound);
  EXPECT_EQ(Do(ScheduleOp::kResume, "none").error.code(), ErrorCode::kNotFound);
  EXPECT_THAT(world_.Violations(), IsEmpty());
}

TEST_F(Schedules, DeleteEndsIt) {
  ASSERT_TRUE(Set("s").ok());
  EXPECT_TRUE(Do(ScheduleOp::kDelete, "s").found);
  EXPECT_FALSE(Do(ScheduleOp::kDelete, "s").found);
  EXPECT_FALSE(Do(ScheduleOp::kGet, "s").found);
  Pass(Seconds(130));
  EXPECT_EQ(world_.Counts("q").ready, 0);
  ASSERT_TRUE(Set("s").ok());
  EXPECT_EQ(Get("s").fired, 0u);
  ToMinute();
  EXPECT_EQ(Ready(), 1);
  EXPECT_THAT(world_.Violations(), IsEmpty());
}

TEST_F(Schedules, RunIsAJobBesideAllSlots) {
  ASSERT_TRUE(Set("s").ok());
  const int64_t next = Get("s").next_ms;
  const ScheduleRequest& run = Do(ScheduleOp::kRun, "s");
  ASSERT_TRUE(run.error.ok());
  EXPECT_EQ(world_.State(run.job.id), JobState::kReady);
  Do(ScheduleOp::kPause, "s");
  EXPECT_TRUE(Do(ScheduleOp::kRun, "s").error.ok());
  EXPECT_EQ(Ready(), 2);
  Do(ScheduleOp::kResume, "s");
  EXPECT_EQ(Get("s").next_ms, next);
  EXPECT_EQ(Get("s").fired, 0u);
  EXPECT_EQ(Do(ScheduleOp::kRun, "none").error.code(), ErrorCode::kNotFound);
}

TEST_F(Schedules, UniqueSkipsASlotWhosePredecessorLives) {
  ASSERT_TRUE(Set("s", [](ScheduleRequest* r) { r->job.unique_key = "k"; }).ok());
  ToMinute();
  Pass(Seconds(120));
  EXPECT_EQ(Ready(), 1);
  EXPECT_EQ(Get("s").fired, 1u);
  EXPECT_EQ(Get("s").skipped, 2u);
  const ScheduleRequest& run = Do(ScheduleOp::kRun, "s");
  EXPECT_FALSE(run.job.added);
  EXPECT_EQ(run.job.holder_state, JobState::kReady);
  const auto jobs = world_.Lease("q", 1, Seconds(600));
  ASSERT_THAT(jobs, SizeIs(1));
  Pass(Seconds(60));
  EXPECT_EQ(Get("s").skipped, 3u);
  ASSERT_TRUE(world_.Complete(jobs[0].receipt).ok());
  Pass(Seconds(60));
  EXPECT_EQ(Ready(), 1);
  EXPECT_EQ(Get("s").fired, 2u);
  EXPECT_THAT(world_.Violations(), IsEmpty());
}

TEST_F(Schedules, WhatPassedWhileNothingRanIsUpToThePolicy) {
  const std::map<std::string, Missed> policies = {
      {"once", Missed::kOnce}, {"skip", Missed::kSkip}, {"all", Missed::kAll}};
  for (const auto& [name, missed] : policies) {
    ASSERT_TRUE(Set(name, [&](ScheduleRequest* r) {
                  r->timing.missed = missed;
                  r->job.queue = r->job.payload;
                }).ok());
  }
  ToMinute();
  ASSERT_TRUE(world_.Close().ok());
  world_.Advance(Seconds(600) + Seconds(20));
  world_.Open();
  world_.Settle();
  EXPECT_EQ(Ready("once"), 2);
  EXPECT_EQ(Ready("skip"), 1);
  EXPECT_EQ(Ready("all"), 11);
  EXPECT_EQ(Get("once").missed_count, 9u);
  EXPECT_EQ(Get("skip").missed_count, 10u);
  EXPECT_EQ(Get("all").missed_count, 0u);
  Pass(Seconds(60));
  EXPECT_EQ(Ready("once"), 3);
  EXPECT_EQ(Ready("skip"), 2);
  EXPECT_EQ(Ready("all"), 12);
  EXPECT_THAT(world_.Violations(), IsEmpty());
}

TEST_F(Schedules, AllIsWorkedOffInSlices) {
  ASSERT_TRUE(Set("s", [](ScheduleRequest* r) { Every(r, Seconds(1), Missed::kAll); }).ok());
  world_.Advance(Seconds(1'000));
  const uint64_t before = world_.engine()->Info().tickets_submitted;
  world_.Settle();
  EXPECT_EQ(Ready(), 1'000);
  EXPECT_GE(world_.engine()->Info().tickets_submitted - before, 1'000u / 64);
  EXPECT_EQ(Get("s").fired, 1'000u);
}

// The wall clock decides; each slot comes once.
TEST_F(Schedules, ASteppedClockRepeatsNothing) {
  ASSERT_TRUE(Set("s").ok());
  ToMinute();
  EXPECT_EQ(Ready(), 1);
  world_.StepWall(Seconds(-600));
  Pass(Seconds(540));
  EXPECT_EQ(Ready(), 1) << "these minutes have been";
  Pass(Seconds(180));
  EXPECT_EQ(Ready(), 3);
  world_.StepWall(Seconds(600));
  Pass(Seconds(1));
  EXPECT_EQ(Ready(), 4) << "once for what was stepped over";
  EXPECT_EQ(Get("s").missed_count, 9u);
  Pass(Seconds(60));
  EXPECT_EQ(Ready(), 5);
  EXPECT_THAT(world_.Violations(), IsEmpty());
}

// A clock that was wrong by years and is put right: what it skipped comes, what it ran does not silence
// the schedule for years; also when it is put right while nothing runs.
TEST_F(Schedules, AClockThatWasYearsAheadSilencesNothing) {
  const Duration years = Days(7'300);
  for (const bool running : {true, false}) {
    world_.StepWall(years);
    const std::string name = running ? "s" : "t";
    ASSERT_TRUE(Set(name, [&](ScheduleRequest* r) { r->job.queue = name; }).ok());
    ToMinute();
    Pass(Seconds(60));
    EXPECT_EQ(Ready(name), 2);
    if (!running) {
      ASSERT_TRUE(world_.Close().ok());
    }
    world_.StepWall(Milliseconds(-years.ms()));
    if (!running) world_.Open();
    ToMinute();
    Pass(Seconds(60));
    EXPECT_EQ(Ready(name), 4);
    EXPECT_EQ(Get(name).missed_count, 0u);
  }
  EXPECT_THAT(world_.Violations(), IsEmpty());
}

// More schedules than a scan takes at once, all at the same moment.
// MISSED all, set while the clock said 1970: no job for each slot of half a century.
TEST_F(Schedules, AClockThatBeganIn1970MakesNoFloodWhenItIsCorrected) {
  const int64_t today = wall();
  world_.StepWall(Milliseconds(5'000 - today));
  ASSERT_TRUE(Set("every", [](ScheduleRequest* r) { Every(r, Seconds(600), Missed::kAll); }).ok());
  ASSERT_TRUE(Set("cron", [](ScheduleRequest* r) {
                r->job.queue = "r";
                r->timing.cron = "*/10 * * * *";
                r->timing.missed = Missed::kAll;
              }).ok());
  Pass(Seconds(1200));
  EXPECT_EQ(Ready("q"), 2);
  EXPECT_EQ(Ready("r"), 2);
  world_.StepWall(Milliseconds(today - wall()));
  world_.Settle();
  constexpr int64_t kOfAMonth = 31 * 144;
  EXPECT_EQ(Ready("q"), 2 + kOfAMonth);
  EXPECT_EQ(Ready("r"), 2 + kOfAMonth);
  const keycodec::ScheduleValue every = Get("every");
  EXPECT_EQ(every.fired, static_cast<uint64_t>(2 + kOfAMonth));
  EXPECT_EQ(every.fired + every.missed_count, static_cast<uint64_t>((today - 5'000) / 600'000));
  EXPECT_EQ(Get("cron").missed_count, 4097u) << "not all of them are counted one by one";
  EXPECT_GT(every.next_ms, today);
  EXPECT_TRUE(std::any_of(world_.log().begin(), world_.log().end(), [](const std::string& line) {
    return line.find("older than 31 days are passed over") != std::string::npos;
  }));
  EXPECT_THAT(world_.Violations(), IsEmpty());
}

TEST_F(Schedules, ManyAtTheSameMoment) {
  constexpr int kMany = 1'300;
  for (int i = 0; i < kMany; ++i) {
    ASSERT_TRUE(
        Set("s" + std::to_string(i), [](ScheduleRequest* r) { r->timing.cron = "@hourly"; }).ok());
  }
  world_.StepWall(Seconds(-10));
  world_.Settle();
  world_.Advance(Hours(1));
  world_.Settle();
  EXPECT_EQ(Ready(), kMany);
  world_.Settle();
  EXPECT_EQ(Ready(), kMany);
  EXPECT_THAT(world_.Violations(), IsEmpty());
}

TEST_F(Schedules, TheListIsInOrderAndInPages) {
  for (const char* name : {"b", "a", "d", "c"}) ASSERT_TRUE(Set(name).ok());
  ScheduleRequest list;
  list.op = ScheduleOp::kList;
  list.count = 3;
  world_.Run(&list);
  ASSERT_THAT(list.schedules, SizeIs(3));
  EXPECT_TRUE(list.more);
  EXPECT_EQ(list.schedules[0].name, "a");
  EXPECT_EQ(list.schedules[0].payload_bytes, 1u);
  EXPECT_EQ(list.schedules[2].name, "c");
  list.after = "c";
  world_.Run(&list);
  ASSERT_THAT(list.schedules, SizeIs(1));
  EXPECT_EQ(list.schedules[0].name, "d");
  EXPECT_FALSE(list.more);
}

TEST_F(Schedules, WhatDoesNotParseLeavesNothing) {
  EXPECT_EQ(Set("s", [](ScheduleRequest* r) { r->timing.cron = "61 * * * *"; }).code(),
            ErrorCode::kRange);
  EXPECT_EQ(Set("s", [](ScheduleRequest* r) { r->timing.zone = "europe/london"; }).code(),
            ErrorCode::kSyntax);
  EXPECT_FALSE(Do(ScheduleOp::kGet, "s").found);
  EXPECT_EQ(Do(ScheduleOp::kRun, "s").error.code(), ErrorCode::kNotFound);
}

class SchedulesOnCores : public Schedules {
 protected:
  SchedulesOnCores() : Schedules(3) {}
};

// SET with another space or key moves the schedule between lanes and owners; commands come from every core.
TEST_F(SchedulesOnCores, SetMovesItAndNoSlotIsLostOrTwice) {
  const int64_t start = wall();
  for (int i = 0; i < 60; ++i) {
    ASSERT_TRUE(Set(
                    "s",
                    [&](ScheduleRequest* r) {
                      Every(r, Seconds(10), Missed::kAll);
                      r->job.space = i % 3 == 0 ? "" : "space" + std::to_string(i);
                    },
                    static_cast<uint16_t>(i % 3))
                    .ok());
    Pass(Seconds(7));
    EXPECT_EQ(Get("s", static_cast<uint16_t>((i + 1) % 3)).fired,
              static_cast<uint64_t>((wall() - start) / 10'000));
  }
  EXPECT_EQ(Ready(), (wall() - start) / 10'000);
  EXPECT_THAT(world_.Violations(), IsEmpty());
  Pass(Seconds(20));
  EXPECT_EQ(Ready(), (wall() - start) / 10'000);
}

}  // namespace
}  // namespace vestq
