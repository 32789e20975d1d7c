// Engine time by table: boots, wall steps, suspended machines, restarts in each.
#include "engine/engine_clock.h"

#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include "engine/base/limits.h"

namespace vestq {
namespace {

class FakeClock : public ClockSource {
 public:
  int64_t BoottimeMs() override { return boottime.load(std::memory_order_relaxed); }
  int64_t WallMs() override { return wall; }
  std::string BootId() override { return boot; }
  int64_t NowNs() override { return boottime.load() * 1'000'000; }

  std::atomic<int64_t> boottime{1000};
  int64_t wall = 1'800'000'000'000;
  std::string boot = "boot-1";
};

constexpr int64_t kHour = 3'600'000;
constexpr int64_t kYear = 365 * 24 * kHour;

// What happens to the machine between a snapshot and the next start, and how far engine time must
// have come.
struct Case {
  std::string name;
  bool reboot = false;
  int64_t up_ms = 0;    // BOOTTIME advance (same boot), or uptime at the start (after a reboot)
  int64_t wall_ms = 0;  // wall clock's advance
  int64_t advance_ms = 0;
};

TEST(EngineClock, RestartsAdvanceByTheRightClock) {
  const std::vector<Case> cases = {
      {"restart at once", false, 0, 0, 0},
      {"restart after 5 s", false, 5000, 5000, 5000},
      {"restart while the wall stepped back an hour", false, 5000, -kHour, 5000},
      {"restart while the wall stepped ten years on", false, 5000, 10 * kYear, 5000},
      {"restart while the wall fell to 1970", false, 5000, -1'800'000'000'000, 5000},
      {"suspended for a day, then restart", false, 24 * kHour, 24 * kHour, 24 * kHour},
      {"suspended, wall wrong", false, 24 * kHour, -kHour, 24 * kHour},
      {"reboot of one minute", true, 20'000, 60'000, 60'000},
      {"reboot, wall an hour back", true, 20'000, -kHour, 0},
      {"reboot into 1970", true, 20'000, -1'800'000'000'000, 0},
      {"reboot, off for a month", true, 20'000, 30 * 24 * kHour, 30 * 24 * kHour},
      {"reboot, wall ten years on", true, 20'000, 10 * kYear, 10 * kYear},
      {"boottime went back in the same boot", false, -500, 0, 0},
  };
  for (const Case& c : cases) {
    FakeClock source;
    EngineClock before(&source, {});
    source.boottime += 123;
    const MonoTime then = before.Now();
    const keycodec::ClockValue row = before.Snapshot();
    EXPECT_EQ(row.mono_ms, then.ms());
    source.boottime = c.reboot ? c.up_ms : source.boottime + c.up_ms;
    source.wall += c.wall_ms;
    if (c.reboot) source.boot = "boot-2";
    EngineClock after(&source, {row});
    EXPECT_EQ((after.Now() - then).ms(), c.advance_ms) << c.name;
    EXPECT_EQ(after.Wall().ms(), source.wall) << c.name;
  }
}

TEST(EngineClock, WallStepsDoNotTouchARunningClock) {
  FakeClock source;
  EngineClock clock(&source, {});
  const MonoTime start = clock.Now();
  EXPECT_GT(start.ms(), 0);
  for (const int64_t step : {-kHour, 10 * kYear, -kYear, -source.wall}) {
    source.wall += step;
    source.boottime += 10;
    EXPECT_EQ(clock.Snapshot().wall_ms, source.wall);
  }
  EXPECT_EQ((clock.Now() - start).ms(), 40);
  source.boottime -= 1000;  // cannot happen; must not matter
  EXPECT_EQ((clock.Now() - start).ms(), 40);
}

TEST(EngineClock, TheGreatestRowCounts) {
  FakeClock source;
  source.boottime = 50'000;
  keycodec::ClockValue old;
  old.mono_ms = Days(10).ms();
  old.wall_ms = source.wall - 1000;
  old.boottime_ms = 7;
  old.boot_id = "boot-0";
  keycodec::ClockValue recent;
  recent.mono_ms = Days(20).ms();
  recent.wall_ms = source.wall + kYear;
  recent.boottime_ms = 40'000;
  recent.boot_id = "boot-1";
  for (const auto& rows :
       std::vector<std::vector<keycodec::ClockValue>>{{old, recent}, {recent, old}}) {
    EngineClock clock(&source, rows);
    EXPECT_EQ(clock.Now().ms(), Days(20).ms() + 10'000);
  }
}

// A core that has had nothing to write for long has a row from before a step of the wall clock. The time
// that a machine was down is told by the row that was written last.
TEST(EngineClock, ARowFromBeforeAStepOfTheWallClockTellsNothing) {
  FakeClock source;
  source.boottime = 500;
  keycodec::ClockValue before;
  before.mono_ms = Days(20).ms();
  before.wall_ms = source.wall - 10 * kYear;
  before.boottime_ms = 40'000;
  before.boot_id = "boot-0";
  keycodec::ClockValue after = before;
  after.wall_ms = source.wall - 5'000;
  for (const int64_t later : {0, 3'000}) {
    after.mono_ms = before.mono_ms + later;
    for (const auto& rows :
         std::vector<std::vector<keycodec::ClockValue>>{{before, after}, {after, before}}) {
      EngineClock clock(&source, rows);
      EXPECT_EQ(clock.Now().ms(), after.mono_ms + 5'000) << later;
    }
  }
}

TEST(EngineClock, DamagedRowsDoNotEndTime) {
  FakeClock source;
  keycodec::ClockValue row;
  row.mono_ms = INT64_MAX;
  row.wall_ms = INT64_MIN;
  row.boottime_ms = INT64_MIN;
  row.boot_id = "boot-1";
  EngineClock clock(&source, {row});
  EXPECT_GT(clock.Now().ms(), 0);
  EXPECT_LT((clock.Now() + limits::kDelayMax).ms(), limits::kKeyTimeMsMax);
  row.boot_id = "other";
  row.mono_ms = INT64_MIN;
  EngineClock second(&source, {row});
  EXPECT_GT(second.Now().ms(), 0);
  EXPECT_LT((second.Now() + limits::kDelayMax).ms(), limits::kKeyTimeMsMax);
}

TEST(EngineClock, PointsConvertByTheClocksAsTheyStand) {
  FakeClock source;
  EngineClock clock(&source, {});
  const MonoTime in_a_minute = clock.Now() + Seconds(60);
  EXPECT_EQ(clock.ToWall(in_a_minute).ms(), source.wall + 60'000);
  EXPECT_EQ(clock.ToMono(clock.ToWall(in_a_minute)), in_a_minute);
  source.wall += kHour;
  EXPECT_EQ(clock.ToWall(in_a_minute).ms(), source.wall + 60'000);
}

TEST(EngineClock, NeverBackwardsAcrossThreads) {
  FakeClock source;
  EngineClock clock(&source, {});
  std::atomic<int64_t> seen{0};
  std::atomic<bool> backwards{false};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 50'000; ++i) {
        if (t == 0) source.boottime.fetch_add(i % 3 == 0 ? -1 : 2, std::memory_order_relaxed);
        const int64_t floor = seen.load();
        const int64_t now = clock.Now().ms();
        if (now < floor) backwards.store(true);
        int64_t last = seen.load();
        while (now > last && !seen.compare_exchange_weak(last, now)) {
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_FALSE(backwards.load());
}

TEST(EngineClock, TheSystemsClocksRun) {
  ClockSource* source = SystemClockSource();
  EXPECT_GT(source->BoottimeMs(), 0);
  EXPECT_GT(source->WallMs(), 1'600'000'000'000);
  EXPECT_EQ(source->BootId().size(), 36u);
  const int64_t a = source->NowNs();
  EXPECT_GE(source->NowNs(), a);
}

}  // namespace
}  // namespace vestq
