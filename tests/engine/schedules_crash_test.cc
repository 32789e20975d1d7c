// Schedules across crashes, and under commands from all cores at once, in random order.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "engine/schedule_request.h"
#include "tests/sim/world.h"

namespace vestq {
namespace {

using keycodec::Missed;
using ::testing::IsEmpty;

// Crashes at random moments, at both kinds: in the end each slot has made exactly one job.
TEST(SchedulesCrash, OneJobPerSlotAcrossAHundredCrashes) {
  for (uint64_t seed : {1, 2, 3, 4}) {
    WorldOptions options;
    options.seed = seed;
    options.cores = 1 + seed % 2;
    World world(options);
    world.Open();
    for (int s = 0; s < 6; ++s) {
      ScheduleRequest set;
      set.op = ScheduleOp::kSet;
      set.name = "s" + std::to_string(s);
      set.timing.kind = keycodec::ScheduleKind::kEvery;
      set.timing.every = Seconds(10 + s);
      set.timing.missed = Missed::kAll;
      set.job.queue = set.name;
      if (s % 2 == 1) set.job.space = "space" + std::to_string(s);
      world.Run(&set);
      ASSERT_TRUE(set.error.ok());
    }
    const int64_t start = world.clock().wall_ms;
    for (int crash = 0; crash < 25; ++crash) {
      for (int i = 0; i < 40; ++i) {
        world.Advance(Milliseconds(static_cast<int64_t>(world.random().Below(2'000))));
        for (uint64_t steps = world.random().Below(20); steps > 0; --steps) world.Step();
      }
      if (world.random().Below(2) == 0) {
        world.Kill();
      } else {
        world.PowerCut(CrashMode::kTorn);
        world.Boot(Milliseconds(static_cast<int64_t>(world.random().Below(30'000))));
      }
      ASSERT_THAT(world.CheckOffline(), IsEmpty()) << "seed " << seed << " crash " << crash;
      world.Open();
    }
    world.Settle();
    const int64_t passed = world.clock().wall_ms - start;
    for (int s = 0; s < 6; ++s) {
      const std::string name = "s" + std::to_string(s);
      EXPECT_EQ(world.Counts(name).ready, passed / ((10 + s) * 1000)) << name << " seed " << seed;
    }
    EXPECT_THAT(world.Violations(), IsEmpty());
    EXPECT_EQ(world.discipline_breach(), "");
  }
}

// Everything at once: commands on few names from all cores, in random order, and crashes between.
TEST(SchedulesRace, CommandsFromAllCoresLeaveOneTruth) {
  for (uint64_t seed = 1; seed <= 12; ++seed) {
    WorldOptions options;
    options.seed = seed;
    options.cores = 3;
    World world(options);
    world.Open();
    for (int round = 0; round < 6; ++round) {
      std::vector<std::unique_ptr<ScheduleRequest>> requests;
      std::vector<std::unique_ptr<bool>> done;
      for (int i = 0; i < 60; ++i) {
        auto request = std::make_unique<ScheduleRequest>();
        const uint64_t what = world.random().Below(10);
        request->op = what < 5    ? ScheduleOp::kSet
                      : what == 5 ? ScheduleOp::kDelete
                      : what == 6 ? ScheduleOp::kPause
                      : what == 7 ? ScheduleOp::kResume
                      : what == 8 ? ScheduleOp::kRun
                                  : ScheduleOp::kGet;
        request->name = "s" + std::to_string(world.random().Below(3));
        request->timing.kind = keycodec::ScheduleKind::kEvery;
        request->timing.every =
            Milliseconds(static_cast<int64_t>(100 * (1 + world.random().Below(3))));
        request->job.queue = "q";
        if (world.random().Below(2) == 0)
          request->job.space = "space" + std::to_string(world.random().Below(8));
        if (world.random().Below(3) == 0)
          request->job.unique_key = "key" + std::to_string(world.random().Below(8));
        done.push_back(std::make_unique<bool>(false));
        world.Start(request.get(), done.back().get(),
                    static_cast<uint16_t>(world.random().Below(3)));
        requests.push_back(std::move(request));
        world.Advance(Milliseconds(static_cast<int64_t>(world.random().Below(60))));
        for (uint64_t steps = world.random().Below(8); steps > 0; --steps) world.Step();
      }
      if (round % 2 == 0) {
        world.Settle();
        for (size_t i = 0; i < requests.size(); ++i) {
          EXPECT_TRUE(*done[i]) << "seed " << seed;
          const ErrorCode code = requests[i]->error.code();
          EXPECT_TRUE(code == ErrorCode::kOk || code == ErrorCode::kNotFound)
              << requests[i]->error.ToString();
        }
        ASSERT_THAT(world.Violations(), IsEmpty()) << "seed " << seed;
      } else {
        world.Kill();
        ASSERT_THAT(world.CheckOffline(), IsEmpty()) << "seed " << seed;
        world.Open();
      }
    }
    EXPECT_EQ(world.discipline_breach(), "");
  }
}

}  // namespace
}  // namespace vestq
