// RocksDB 9.10 in the simulated world: crashes, kills, full disks and faults, and that a seed is a
// run.
//
// VESTQ_SIM_SEED=n replays one seed, with a line for each round.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "tests/sim/rocksdb_trial.h"

namespace vestq {
namespace {

using rocksdb::Status;

#if defined(__SANITIZE_THREAD__)
constexpr uint64_t kSeeds = 10;  // one thread: there is little for it to see, and it is slow
#elif defined(__SANITIZE_ADDRESS__)
constexpr uint64_t kSeeds = 40;  // some ten times slower
#else
constexpr uint64_t kSeeds = 300;
#endif

struct Outcome {
  uint64_t history = 0;
  uint64_t disk = 0;
  uint64_t jobs = 0;
  uint64_t rounds = 0;
  uint64_t holes = 0;
};

// A whole run; gtest failures tell what went wrong.
Outcome RunSeed(uint64_t seed, bool verbose = false) {
  SCOPED_TRACE("replay: VESTQ_SIM_SEED=" + std::to_string(seed));
  RocksDbTrial run(seed);
  Outcome outcome;
  Status opened = run.Open();
  EXPECT_TRUE(opened.ok()) << opened.ToString();
  const uint64_t rounds = run.random().Between(1, 4);
  for (uint64_t round = 0; round < rounds && !testing::Test::HasFailure(); ++round) {
    const uint64_t end = run.random().Below(5);
    const CrashMode mode = run.random().Chance(0.5) ? CrashMode::kTorn : CrashMode::kLoseUnsynced;
    if (end == 0) run.fs().PowerOffAfter(run.random().Below(3000));
    const Status worked = run.Work(run.random().Between(20, 400));
    EXPECT_TRUE(worked.ok() || run.fs().down()) << worked.ToString();
    if (verbose) {
      std::printf("round %llu end %llu mode %d jobs queued %zu\n",
                  static_cast<unsigned long long>(round), static_cast<unsigned long long>(end),
                  static_cast<int>(mode), run.env().queued());
    }
    if (end <= 2 || run.fs().down()) {
      run.fs().Crash(run.random(), mode);
    } else if (end == 3) {
      run.fs().Kill();
    }
    const bool down = run.fs().down();
    run.Close();
    if (down) run.fs().Restart();
    run.SyncLogs();
    // The power may go again while recovering.
    if (run.random().Chance(0.2)) run.fs().PowerOffAfter(run.random().Below(40));
    for (opened = run.Open(); run.fs().down(); opened = run.Open()) {
      run.Close();
      run.fs().Crash(run.random(), mode);
      run.fs().Restart();
    }
    run.fs().PowerOffAfter(~uint64_t{0});
    EXPECT_TRUE(opened.ok()) << opened.ToString();
    if (!opened.ok()) break;
    const bool prefix = run.CheckRecovered(verbose);
    ++outcome.rounds;
    if (!prefix) {
      // Only the unsynced part of two logs torn apart can do this; the engine's log check cuts it
      // before opening.
      EXPECT_EQ(mode, CrashMode::kTorn);
      ++outcome.holes;
      break;
    }
  }
  run.Close();
  outcome.history = run.fs().history();
  outcome.disk = run.fs().disk().Fingerprint();
  outcome.jobs = run.env().jobs_run();
  return outcome;
}

TEST(SimRocksDb, EverySeedKeepsWhatWasSynced) {
  const char* const one = std::getenv("VESTQ_SIM_SEED");
  if (one != nullptr) {
    RunSeed(std::strtoull(one, nullptr, 10), true);
    return;
  }
  const auto start = std::chrono::steady_clock::now();
  Outcome total;
  for (uint64_t seed = 1; seed <= kSeeds && !HasFailure(); ++seed) {
    const Outcome outcome = RunSeed(seed);
    total.jobs += outcome.jobs;
    total.rounds += outcome.rounds;
    total.holes += outcome.holes;
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  std::printf(
      "%llu seeds, %llu rounds (work + end + reopen + check) in %.1f s: %.1f ms a round; %llu "
      "jobs, %llu holes\n",
      static_cast<unsigned long long>(kSeeds), static_cast<unsigned long long>(total.rounds),
      took.count(), took.count() * 1000 / static_cast<double>(total.rounds),
      static_cast<unsigned long long>(total.jobs), static_cast<unsigned long long>(total.holes));
  EXPECT_GT(total.jobs, kSeeds);
}

TEST(SimRocksDb, SameSeedSameBytes) {
  for (uint64_t seed = 1; seed <= 12; ++seed) {
    SCOPED_TRACE(seed);
    const Outcome first = RunSeed(seed);
    // Another state of the heap for the second run.
    std::vector<std::unique_ptr<std::string>> junk;
    for (size_t i = 0; i < 500; ++i)
      junk.push_back(std::make_unique<std::string>(37 * i % 5000, 'j'));
    for (size_t i = 0; i < junk.size(); i += 3) junk[i].reset();
    const Outcome second = RunSeed(seed);
    EXPECT_EQ(first.history, second.history);
    EXPECT_EQ(first.disk, second.disk);
    EXPECT_EQ(first.jobs, second.jobs);
    std::printf("seed %llu history %016llx disk %016llx\n", static_cast<unsigned long long>(seed),
                static_cast<unsigned long long>(first.history),
                static_cast<unsigned long long>(first.disk));
  }
}

TEST(SimRocksDb, ClosingWithQueuedJobsDoesNotHang) {
  RocksDbTrial run(5);
  ASSERT_TRUE(run.Open().ok());
  while (run.env().queued() == 0) ASSERT_TRUE(run.WriteBatch().ok());
  run.Close();
  EXPECT_EQ(run.env().queued(), 0u);
  ASSERT_TRUE(run.Open().ok());
  EXPECT_TRUE(run.CheckRecovered());
}

TEST(SimRocksDb, WaitingForAFlushAndACompactionRunsTheJobs) {
  RocksDbTrial run(6);
  ASSERT_TRUE(run.Open().ok());
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(run.WriteBatch().ok());
  const uint64_t before = run.env().jobs_run();
  ASSERT_TRUE(run.db()->Flush(rocksdb::FlushOptions()).ok());
  ASSERT_TRUE(run.db()->CompactRange(rocksdb::CompactRangeOptions(), nullptr, nullptr).ok());
  EXPECT_GE(run.env().jobs_run(), before + 2);
  EXPECT_TRUE(run.Scan() == run.state());
}

TEST(SimRocksDb, FullDiskLosesNothingThatWasSynced) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    RocksDbTrial run(seed);
    ASSERT_TRUE(run.Open().ok());
    run.fs().SetCapacity(200'000 + run.random().Below(400'000));
    const Status status = run.Work(5000);
    ASSERT_TRUE(status.IsIOError()) << status.ToString();
    ASSERT_EQ(status.subcode(), Status::kNoSpace) << status.ToString();
    run.fs().SetCapacity(SimDisk::kUnlimited);
    run.fs().Crash(run.random(), CrashMode::kLoseUnsynced);
    run.Close();
    run.fs().Restart();
    const Status opened = run.Open();
    ASSERT_TRUE(opened.ok()) << opened.ToString();
    EXPECT_TRUE(run.CheckRecovered());
  }
}

TEST(SimRocksDb, FailedCallsLoseNothingThatWasSynced) {
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE(seed);
    RocksDbTrial run(seed);
    ASSERT_TRUE(run.Open().ok());
    SimFault fault;
    fault.call = static_cast<SimCall>(seed % kSimCalls);
    fault.nth = run.random().Between(1, 60);
    fault.persistent = run.random().Chance(0.3);
    if (fault.call == SimCall::kRead || fault.call == SimCall::kDelete)
      continue;  // RocksDB goes on, or says so
    run.fs().Inject(fault);
    Status status = run.Work(600);
    run.fs().ClearFaults();
    run.fs().Crash(run.random(), CrashMode::kLoseUnsynced);
    run.Close();
    run.fs().Restart();
    const Status opened = run.Open();
    ASSERT_TRUE(opened.ok()) << opened.ToString() << " after " << status.ToString();
    EXPECT_TRUE(run.CheckRecovered());
  }
}

// A trap of RocksDB, and the proof that this world shows such things: batches written and not
// synced, a kill, and the reopened database builds on them; SyncWAL then syncs only its own logs,
// so a power cut takes the older batches and leaves the newer ones.
TEST(SimRocksDb, UnsyncedLogsOfAKilledProcessLeaveAHole) {
  for (const bool flush_in_recovery : {false, true}) {
    RocksDbTrial run(3, flush_in_recovery);
    ASSERT_TRUE(run.Open().ok());
    ASSERT_TRUE(run.WriteBatch().ok());
    ASSERT_TRUE(run.SyncWal().ok());
    ASSERT_TRUE(run.WriteBatch().ok());
    run.fs().Kill();
    run.Close();
    run.fs().Restart();
    ASSERT_TRUE(run.Open().ok());  // without SyncLogs
    ASSERT_TRUE(run.WriteBatch().ok());
    ASSERT_TRUE(run.SyncWal().ok());
    run.fs().Crash(run.random(), CrashMode::kLoseUnsynced);
    run.Close();
    run.fs().Restart();
    ASSERT_TRUE(run.Open().ok());
    const RocksDbTrial::State found = run.Scan();
    EXPECT_TRUE(found.contains(RocksDbTrial::Marker(1)));
    EXPECT_EQ(found.contains(RocksDbTrial::Marker(2)), flush_in_recovery);
    EXPECT_TRUE(found.contains(RocksDbTrial::Marker(3)));
  }
}

TEST(SimRocksDb, CloneTriesSeveralOutcomesOfOneCrash) {
  RocksDbTrial run(9);
  ASSERT_TRUE(run.Open().ok());
  for (int i = 0; i < 60; ++i) ASSERT_TRUE(run.WriteBatch().ok());
  std::map<uint64_t, int> outcomes;
  for (uint64_t i = 0; i < 10; ++i) {
    auto copy = run.fs().Clone();
    SimRandom random(i);
    copy->Crash(random, CrashMode::kTorn);
    ++outcomes[copy->disk().Fingerprint()];
  }
  EXPECT_GT(outcomes.size(), 3u);
  EXPECT_TRUE(run.Scan() == run.state());  // the original goes on
}

TEST(SimEnv, RunsUnschedulesAndCounts) {
  SimEnv env(std::make_shared<SimFileSystem>(), 1);
  int ran = 0;
  int dropped = 0;
  auto run = [](void* arg) { ++*static_cast<int*>(arg); };
  static int* drop_count = nullptr;
  drop_count = &dropped;
  auto drop = [](void*) { ++*drop_count; };
  int tag = 0;
  env.Schedule(run, &ran, rocksdb::Env::LOW, &tag, drop);
  env.Schedule(run, &ran, rocksdb::Env::HIGH, &tag, drop);
  env.Schedule(run, &ran, rocksdb::Env::LOW, nullptr, nullptr);
  EXPECT_EQ(env.GetThreadPoolQueueLen(rocksdb::Env::LOW), 2u);
  EXPECT_EQ(env.UnSchedule(&tag, rocksdb::Env::LOW), 1);
  EXPECT_EQ(dropped, 1);
  SimRandom random(1);
  env.RunAll(random);
  EXPECT_EQ(ran, 2);
  EXPECT_FALSE(env.RunOne(random));
  EXPECT_EQ(env.queued(), 0u);
}

TEST(SimEnvDeathTest, WhatCannotBeReplayedIsRefused) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  SimEnv env(std::make_shared<SimFileSystem>(), 1);
  EXPECT_DEATH(env.StartThread([](void*) {}, nullptr), "one thread");
  EXPECT_DEATH(
      std::thread([&] { env.fs().FileExists("/", {}, nullptr).PermitUncheckedError(); }).join(),
      "one thread");
  EXPECT_DEATH(
      {
        SimEnv left(std::make_shared<SimFileSystem>(), 2);
        left.Schedule([](void*) {}, nullptr, rocksdb::Env::LOW, nullptr, nullptr);
      },
      "close the DB");
}

// With writes held up and no job that could let them go on, RocksDB would wait for ever.
TEST(SimEnvDeathTest, WaitThatNothingEndsIsNoHang) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  RocksDbTrial run(1);
  ASSERT_TRUE(run.Open().ok());
  ASSERT_TRUE(run.WriteBatch().ok());
  ASSERT_TRUE(run.db()->PauseBackgroundWork().ok());
  EXPECT_DEATH(run.db()->Flush(rocksdb::FlushOptions()).PermitUncheckedError(), "hang for ever");
  ASSERT_TRUE(run.db()->ContinueBackgroundWork().ok());
}

TEST(SimEnv, ClockMovesOnlyWhenToldOrSleptOn) {
  SimEnv env(std::make_shared<SimFileSystem>(), 1, 5'000'000);
  EXPECT_EQ(env.NowMicros(), 5'000'000u);
  EXPECT_EQ(env.GetSystemClock()->NowMicros(), 5'000'000u);
  env.SleepForMicroseconds(1'500'000);
  env.clock().Advance(500'000);
  EXPECT_EQ(env.NowNanos(), 7'000'000'000u);
  int64_t seconds = 0;
  ASSERT_TRUE(env.GetSystemClock()->GetCurrentTime(&seconds).ok());
  EXPECT_EQ(seconds, 7);
}

}  // namespace
}  // namespace vestq
