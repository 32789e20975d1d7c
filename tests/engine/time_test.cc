// Delays, run-at times and stepped clocks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "tests/sim/world.h"

namespace vestq {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

JobId EnqueueDelayed(World* world, Duration delay) {
  EnqueueRequest request;
  request.queue = "q";
  request.when = EnqueueRequest::When::kDelay;
  request.delay = delay;
  world->Run(&request);
  EXPECT_TRUE(request.error.ok());
  return request.id;
}
JobId EnqueueAt(World* world, WallTime at) {
  EnqueueRequest request;
  request.queue = "q";
  request.when = EnqueueRequest::When::kAt;
  request.at = at;
  world->Run(&request);
  EXPECT_TRUE(request.error.ok());
  return request.id;
}

TEST(EngineTime, AStartThatNothingIsWrittenAfterTakesNothingBack) {
  World world;
  world.Open();
  world.Enqueue("q", "p");
  world.PowerCut(CrashMode::kLoseUnsynced);
  world.StepWall(Milliseconds(-3'600'000));
  world.Boot(Seconds(1));
  world.Open();
  world.Advance(Seconds(5));
  const MonoTime before = world.engine()->clock()->Now();
  world.Kill();
  world.Open();
  EXPECT_EQ(world.engine()->clock()->Now().ms(), before.ms());
}

TEST(EngineTime, ADelayLastsItsRealTimeWhateverTheWallClockDoes) {
  for (int64_t step : {-3'600'000LL, 3'600'000LL, -315'360'000'000LL, 315'360'000'000LL}) {
    World world;
    world.Open();
    EnqueueDelayed(&world, Seconds(5));
    world.Advance(Seconds(1));
    world.StepWall(Milliseconds(step));
    world.Settle();
    world.Advance(Milliseconds(3999));
    world.Settle();
    EXPECT_THAT(world.Lease("q"), IsEmpty()) << step;
    world.Advance(Milliseconds(1));
    world.Settle();
    EXPECT_THAT(world.Lease("q"), SizeIs(1)) << step;
  }
}

TEST(EngineTime, ALeaseLastsItsRealTimeWhateverTheWallClockDoes) {
  for (int64_t step : {-3'600'000LL, 3'600'000LL}) {
    World world;
    world.Open();
    world.Enqueue("q", "p");
    const auto held = world.Lease("q", 1, Seconds(60));
    ASSERT_THAT(held, SizeIs(1));
    world.Advance(Seconds(2));
    world.StepWall(Milliseconds(step));
    world.Settle();
    RenewRequest renew;
    renew.receipt = held[0].receipt;
    world.Run(&renew);
    EXPECT_TRUE(renew.error.ok());
    world.Advance(Milliseconds(59'999));
    world.Settle();
    EXPECT_THAT(world.Lease("q"), IsEmpty());
    world.Advance(Milliseconds(1));
    world.Settle();
    EXPECT_THAT(world.Lease("q"), SizeIs(1));
  }
}

TEST(EngineTime, RunAtFollowsTheWallClock) {
  World world;
  world.Open();
  const WallTime start(world.clock().wall_ms);
  EnqueueAt(&world, start + Hours(1));
  world.StepWall(Hours(-1));
  world.Advance(Hours(1));
  world.Settle();
  EXPECT_THAT(world.Lease("q"), IsEmpty());
  // A time before the bound of what was scanned: the clock had been stepped back.
  EnqueueAt(&world, start + Seconds(10));
  world.Advance(Seconds(10));
  world.Settle();
  EXPECT_THAT(world.Lease("q"), SizeIs(1));
  world.StepWall(Hours(1));
  world.Settle();
  EXPECT_THAT(world.Lease("q"), SizeIs(1));
}

TEST(EngineTime, ATimeThatHasPassedIsReadyAtOnce) {
  World world;
  world.Open();
  EnqueueAt(&world, WallTime(world.clock().wall_ms));
  EnqueueAt(&world, WallTime(0));
  EnqueueDelayed(&world, Duration(0));
  EXPECT_THAT(world.Lease("q", 10), SizeIs(3));
}

TEST(EngineTime, TimesBeyondTheLastKeyAreRefusedAndLeaveNothing) {
  World world;
  world.Open();
  for (int64_t at : {limits::kKeyTimeMsMax + 1, int64_t{1} << 60}) {
    EnqueueRequest request;
    request.queue = "q";
    request.when = EnqueueRequest::When::kAt;
    request.at = WallTime(at);
    world.Run(&request);
    EXPECT_EQ(request.error.code(), ErrorCode::kRange);
  }
  EXPECT_EQ(world.Counts("q").enqueued, 0);
  EXPECT_THAT(world.Violations(), IsEmpty());
}

TEST(EngineTime, DelaysAndLeasesGoOnAcrossARestart) {
  World world;
  world.Open();
  EnqueueDelayed(&world, Seconds(100));
  world.Enqueue("r", "held");
  const auto held = world.Lease("r", 1, Seconds(100));
  ASSERT_THAT(held, SizeIs(1));
  world.Advance(Seconds(10));
  world.Kill();
  world.Advance(Seconds(10));  // the machine stays up
  world.Open();
  world.Advance(Seconds(10));
  world.PowerCut(CrashMode::kTorn);
  world.Boot(Seconds(10));  // another boot: the wall clock tells
  world.Open();
  world.Settle();
  EXPECT_EQ(world.Counts("r").leased, 1);
  RenewRequest renew;  // the receipt of before is still good
  renew.receipt = held[0].receipt;
  renew.lease = Seconds(60);
  world.Run(&renew);
  EXPECT_TRUE(renew.error.ok());
  world.Advance(Milliseconds(59'000));
  world.Settle();
  EXPECT_THAT(world.Lease("q"), IsEmpty());
  world.Advance(Milliseconds(3'000));
  world.Settle();
  EXPECT_THAT(world.Lease("q"), SizeIs(1));
  EXPECT_THAT(world.Lease("r"), SizeIs(1));
}

TEST(EngineTime, AMachineThatBootsIn1970KeepsItsOrder) {
  World world;
  world.clock().wall_ms = 5'000;
  world.Open();
  world.Enqueue("q", "first");
  world.StepWall(Days(20'000));
  world.Enqueue("q", "second");
  world.Kill();
  world.clock().wall_ms = 7'000;
  world.Boot(Seconds(1));
  world.Open();
  world.Enqueue("q", "third");
  std::vector<std::string> order;
  for (const LeasedJob& job : world.Lease("q", 3)) order.emplace_back(job.payload);
  EXPECT_EQ(order, (std::vector<std::string>{"first", "second", "third"}));
}

// A step of the wall clock that nothing is written after: a power cut soon after it must not take it for
// time that the machine was down, nor a step back for none.
TEST(EngineTime, AStepOfTheWallClockIsNoDowntime) {
  for (const Duration step : {Days(3650), Days(-3650), Hours(1), Hours(-1)}) {
    World world;
    world.Open();
    EnqueueDelayed(&world, Days(30));
    world.Advance(Seconds(5));
    world.StepWall(step);
    world.Settle();
    const MonoTime before = world.engine()->clock()->Now();
    world.PowerCut(CrashMode::kLoseUnsynced);
    world.Boot(Hours(1));
    world.Open();
    EXPECT_EQ(world.engine()->clock()->Now(), before + Hours(1)) << step.ms();
    EXPECT_EQ(world.Counts("q").scheduled, 1);
  }
}

TEST(EngineTime, NothingIsWrittenWhileTheWallClockGoesAsItShould) {
  World world;
  world.Open();
  EnqueueDelayed(&world, Days(30));
  world.Settle();
  const uint64_t written = world.records_written();
  for (int i = 0; i < 100; ++i) {
    world.Advance(Seconds(30));
    world.Settle();
  }
  EXPECT_EQ(world.records_written(), written);
  world.StepWall(Hours(1));
  world.Settle();
  EXPECT_EQ(world.records_written(), written + 1);
}

// What a machine noted before it knew the year is shown by the clock as it is now.
TEST(EngineTime, WhatHasEndedIsShownByTheClockAsItStandsNow) {
  World world;
  world.clock().wall_ms = 5'000;
  world.Open();
  std::vector<JobId> ids;
  for (int i = 0; i < 3; ++i) {
    EnqueueRequest job;
    job.queue = "q";
    job.keep = Days(30);
    world.Run(&job);
    ids.push_back(job.id);
    world.Advance(Seconds(1));
  }
  EXPECT_TRUE(world.Complete(world.Lease("q").at(0).receipt).ok());
  FailRequest fail;
  fail.receipt = world.Lease("q").at(0).receipt;
  fail.to_dead = true;
  world.Run(&fail);
  world.Advance(Hours(1));
  world.StepWall(Days(20'000));
  world.Settle();
  const WallTime ended = WallTime(world.clock().wall_ms) - Hours(1);
  const auto job = [&](size_t i) {
    auto out = std::make_unique<JobRequest>();
    out->id = ids[i];
    world.Run(out.get());
    return out;
  };
  const auto done = job(0), dead = job(1), ready = job(2);
  ASSERT_EQ(done->state, JobState::kDone);
  EXPECT_EQ(done->finished, ended);
  EXPECT_EQ(done->enqueued, ended - Seconds(3));
  ASSERT_EQ(dead->state, JobState::kDead);
  EXPECT_EQ(dead->died, ended);
  EXPECT_EQ(dead->enqueued, ended - Seconds(2));
  ASSERT_EQ(ready->state, JobState::kReady);
  EXPECT_EQ(ready->vests, ended - Seconds(1));
}

TEST(EngineTime, AnIdleEngineSleepsUntilItsNextDueTime) {
  World world;
  world.Open();
  world.Settle();
  EXPECT_EQ(world.core(0)->UntilDue(), Duration::Max());
  EnqueueDelayed(&world, Milliseconds(700));
  world.Settle();
  EXPECT_GT(world.core(0)->UntilDue(), Milliseconds(600));
  EXPECT_LE(world.core(0)->UntilDue(), Milliseconds(700));
}

TEST(EngineTime, ManyJobsDueTogetherAllVest) {
  World world;
  world.Open();
  for (int i = 0; i < 3000; ++i) EnqueueDelayed(&world, Seconds(10));
  EXPECT_EQ(world.Counts("q").scheduled, 3000);
  world.Advance(Seconds(10));
  world.Settle();
  EXPECT_EQ(world.Counts("q").ready, 3000);
  EXPECT_EQ(world.Counts("q").scheduled, 0);
  size_t leased = 0;
  for (;;) {
    const auto jobs = world.Lease("q", 1000);
    if (jobs.empty()) break;
    leased += jobs.size();
  }
  EXPECT_EQ(leased, 3000u);
  EXPECT_THAT(world.Violations(), IsEmpty());
}

}  // namespace
}  // namespace vestq
