// More spaces with ready jobs than memory has room for (engine/core_hidden.cc), with room for a few.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "engine/purge_request.h"
#include "tests/engine/world_fixture.h"

namespace vestq {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// About what a space takes.
constexpr uint64_t kSpace = 900;

WorldOptions RoomFor(uint64_t spaces, uint16_t cores = 1, uint64_t seed = 1) {
  WorldOptions options = WorldOf(cores, 7, seed);
  options.space_memory = std::max<uint64_t>(1, spaces * kSpace * cores);
  return options;
}

std::string Name(int i) { return "space-" + std::to_string(i); }

std::vector<LeasedJob> LeaseSpace(World* world, const std::string& space, uint16_t core = 0) {
  LeaseRequest lease;
  lease.queues = {"q"};
  lease.one_space = true;
  lease.space = space;
  world->Run(&lease, core);
  EXPECT_TRUE(lease.error.ok()) << lease.error.ToString();
  return lease.jobs;
}

class HiddenSpaces : public ::testing::TestWithParam<uint16_t> {};
INSTANTIATE_TEST_SUITE_P(Cores, HiddenSpaces, ::testing::Values(1, 2, 3));

TEST_P(HiddenSpaces, AreAllServedAndLeaveNothingBehind) {
  for (const uint64_t room : {0, 1, 4}) {
    for (const bool restart : {false, true}) {
      World world(RoomFor(room, GetParam()));
      world.Open();
      const uint64_t before = world.engine()->Info().space_bytes;
      for (int i = 0; i < 10; ++i) world.Enqueue("q", Name(i), Name(i));
      EXPECT_LE(world.engine()->Info().space_bytes - before, (room + 1) * kSpace * GetParam());
      if (restart) {
        EXPECT_THAT(world.Violations(), IsEmpty());
      }
      std::set<std::string> seen;
      for (int i = 0; i < 10; ++i) {
        const auto jobs = world.Lease("q", 1, Duration(0), static_cast<uint16_t>(i % GetParam()));
        ASSERT_THAT(jobs, SizeIs(1)) << "a LEASE says that nothing is there beside a ready job";
        EXPECT_TRUE(seen.insert(std::string(jobs[0].space)).second);
        ASSERT_TRUE(world.Complete(jobs[0].receipt).ok());
      }
      EXPECT_THAT(world.Lease("q"), IsEmpty());
      EXPECT_LE(world.engine()->Info().space_bytes, before + kSpace * GetParam());
      EXPECT_THAT(world.Violations(), IsEmpty());
    }
  }
}

TEST_P(HiddenSpaces, AFloodGetsItsShareOfEachRound) {
  World world(RoomFor(3, GetParam()));
  world.Open();
  for (int i = 0; i < 60; ++i) world.Enqueue("q", "flood", "flood");
  for (int i = 0; i < 20; ++i) world.Enqueue("q", "one", Name(i));
  int flood = 0, others = 0;
  while (others < 20) {
    const auto jobs = world.Lease("q");
    ASSERT_THAT(jobs, SizeIs(1));
    ++(jobs[0].space == "flood" ? flood : others);
    ASSERT_LE(flood, 2 + 4 * (GetParam() - 1)) << "after " << others << " of the others";
  }
  while (!world.Lease("q").empty()) ++flood;
  EXPECT_EQ(flood, 60);
}

TEST_P(HiddenSpaces, ANewOneWaitsForNoMoreThanARound) {
  World world(RoomFor(3, GetParam()));
  world.Open();
  for (int i = 0; i < 20; ++i) {
    for (int k = 0; k < 5; ++k) world.Enqueue("q", "p", Name(i));
  }
  for (int i = 0; i < 33; ++i) ASSERT_THAT(world.Lease("q"), SizeIs(1));
  world.Enqueue("q", "new", "new");
  int before = 0;
  for (;; ++before) {
    const auto jobs = world.Lease("q");
    ASSERT_THAT(jobs, SizeIs(1));
    if (jobs[0].space == "new") break;
  }
  EXPECT_LE(before, 41) << "two jobs of each other space (FAIR-4)";
}

TEST_P(HiddenSpaces, NothingIsReadAtAStartUntilSomebodyAsks) {
  World world(RoomFor(4, GetParam()));
  world.Open();
  for (int i = 0; i < 50; ++i) {
    EnqueueRequest request;
    request.queue = "queue-" + std::to_string(i);
    request.payload = "p";
    request.space = i % 2 == 0 ? "" : "s";
    world.Run(&request);
  }
  EXPECT_THAT(world.Violations(), IsEmpty());
  world.Settle();
  const EngineInfo info = world.engine()->Info();
  EXPECT_EQ(info.space_bytes, 0u);
  for (int i = 0; i < 50; ++i) {
    EXPECT_THAT(world.Lease("queue-" + std::to_string(i)), SizeIs(1)) << i;
  }
}

TEST_P(HiddenSpaces, AJobOfOneWakesALeaseThatWaits) {
  World world(RoomFor(0, GetParam()));
  world.Open();
  for (int i = 0; i < 6; ++i) {
    LeaseRequest lease;
    lease.queues = {"q"};
    lease.wait = true;
    bool done = false;
    world.Start(&lease, &done, static_cast<uint16_t>(i % GetParam()));
    world.Settle();
    ASSERT_FALSE(done);
    world.Enqueue("q", "p", i == 3 ? "" : Name(i));
    world.Settle();
    ASSERT_TRUE(done) << i;
    ASSERT_THAT(lease.jobs, SizeIs(1));
  }
}

TEST_P(HiddenSpaces, ALeaseOfOneReadsItAndWaitsOnlyWhenItIsEmpty) {
  const uint16_t last = static_cast<uint16_t>(GetParam() - 1);
  World world(RoomFor(2, GetParam()));
  world.Open();
  for (int i = 0; i < 10; ++i) world.Enqueue("q", Name(i), Name(i));
  for (uint16_t i = 0; i < GetParam(); ++i) world.Enqueue("q", "unnamed", "", i);
  EXPECT_THAT(world.Violations(), IsEmpty());
  for (const int i : {7, 2, 9}) {
    const auto jobs = LeaseSpace(&world, Name(i), last);
    ASSERT_THAT(jobs, SizeIs(1));
    EXPECT_EQ(jobs[0].payload, Name(i));
    EXPECT_THAT(LeaseSpace(&world, Name(i)), IsEmpty());
  }
  EXPECT_THAT(LeaseSpace(&world, "nobody"), IsEmpty());
  for (uint16_t i = 0; i < GetParam(); ++i) EXPECT_THAT(LeaseSpace(&world, "", last), SizeIs(1));
  EXPECT_THAT(LeaseSpace(&world, ""), IsEmpty());
  for (const std::string space : {"nobody", "", "space-7"}) {
    LeaseRequest lease;
    lease.queues = {"q"};
    lease.one_space = true;
    lease.space = space;
    lease.wait = true;
    bool done = false;
    world.Start(&lease, &done, last);
    world.Settle();
    ASSERT_FALSE(done) << space;
    world.Enqueue("q", "later", space);
    world.Settle();
    ASSERT_TRUE(done) << space;
    EXPECT_EQ(lease.jobs.at(0).payload, "later");
  }
  EXPECT_EQ(world.Counts("q").ready, 7);
}

TEST_P(HiddenSpaces, ThatALimitHoldsStartWhenItHasRoom) {
  World world(RoomFor(2, GetParam()));
  world.Open();
  QueueSetRequest set;
  set.queue = "q";
  set.set.space_concurrency = 1;
  world.Run(&set);
  world.Settle();
  for (int i = 0; i < 8; ++i) {
    for (int k = 0; k < 3; ++k) world.Enqueue("q", "p", Name(i));
  }
  std::vector<LeasedJob> running;
  for (;;) {
    auto jobs = world.Lease("q");
    if (jobs.empty()) break;
    running.push_back(std::move(jobs[0]));
  }
  ASSERT_THAT(running, SizeIs(8));
  // One that ends makes room for one of its own.
  for (const int i : {3, 3, 5, 0}) {
    const std::string space(running[static_cast<size_t>(i)].space);
    LeaseRequest waits;
    waits.queues = {"q"};
    waits.wait = true;
    bool done = false;
    world.Start(&waits, &done, static_cast<uint16_t>(i % GetParam()));
    world.Settle();
    ASSERT_FALSE(done);
    ASSERT_TRUE(world.Complete(running[static_cast<size_t>(i)].receipt).ok());
    world.Settle();
    ASSERT_TRUE(done) << space;
    ASSERT_EQ(waits.jobs.at(0).space, space);
    running[static_cast<size_t>(i)] = std::move(waits.jobs[0]);
  }
  EXPECT_THAT(world.Lease("q"), IsEmpty());
  QueueSetRequest more;
  more.queue = "q";
  more.set.space_concurrency = 10;
  world.Run(&more);
  world.Settle();
  size_t rest = 0;
  while (!world.Lease("q").empty()) ++rest;
  EXPECT_EQ(rest, 24u - 8u - 4u);
  EXPECT_EQ(world.Counts("q").ready, 0);
}

TEST_P(HiddenSpaces, OfAQueueThatNobodyAsksForMakeRoomForThoseThatAreAskedFor) {
  World world(RoomFor(4, GetParam()));
  world.Open();
  for (int i = 0; i < 12; ++i) world.Enqueue("idle", "p", Name(i));
  for (int round = 0; round < 30; ++round) {
    for (int i = 0; i < 3; ++i) world.Enqueue("busy", "p", Name(i));
    for (int i = 0; i < 3; ++i) {
      const auto jobs = world.Lease("busy");
      ASSERT_THAT(jobs, SizeIs(1));
      ASSERT_TRUE(world.Complete(jobs[0].receipt).ok());
    }
  }
  // Once there is room its jobs go straight in: nothing more is read.
  const uint64_t reads = world.engine()->Info().cold_reads;
  for (int i = 0; i < 20; ++i) {
    world.Enqueue("busy", "p", Name(i % 3));
    ASSERT_THAT(world.Lease("busy"), SizeIs(1));
  }
  EXPECT_EQ(world.engine()->Info().cold_reads, reads);
  std::set<std::string> seen;
  for (int i = 0; i < 12; ++i) {
    const auto jobs = world.Lease("idle");
    ASSERT_THAT(jobs, SizeIs(1));
    EXPECT_TRUE(seen.insert(std::string(jobs[0].space)).second);
  }
}

TEST_P(HiddenSpaces, OfTheEmptySpaceTheOrderOverLanesIsExactAfterAStart) {
  World world(RoomFor(4, GetParam()));
  world.Open();
  for (int i = 0; i < 30; ++i) {
    EnqueueRequest request;
    request.queue = "q";
    request.payload = "p";
    request.priority = static_cast<uint32_t>(i * 7 % 30);
    world.Run(&request, static_cast<uint16_t>(i % GetParam()));
  }
  EXPECT_THAT(world.Violations(), IsEmpty());
  for (uint32_t i = 0; i < 30; ++i) {
    const auto jobs = world.Lease("q", 1, Duration(0), static_cast<uint16_t>(i % GetParam()));
    ASSERT_THAT(jobs, SizeIs(1));
    EXPECT_EQ(jobs[0].priority, i);
  }
}

TEST_P(HiddenSpaces, MemoryDoesNotGrowWithTheirNumber) {
  WorldOptions options = RoomFor(50, GetParam());
  World world(options);
  world.Open();
  const int kSpaces = 3000;
  for (int i = 0; i < kSpaces; ++i) {
    EnqueueRequest request;
    request.queue = "q";
    request.payload = "p";
    request.space = Name(i);
    bool done = false;
    world.Start(&request, &done);
    world.Settle();
    ASSERT_TRUE(done);
  }
  const uint64_t most = options.space_memory + 2 * kSpace * 256 * GetParam();  // HIDDEN-2
  EXPECT_LE(world.engine()->Info().space_bytes, options.space_memory + kSpace * GetParam());
  int served = 0;
  for (;;) {
    auto jobs = world.Lease("q", 7, Duration(0), static_cast<uint16_t>(served % GetParam()));
    if (jobs.empty()) break;
    served += static_cast<int>(jobs.size());
    ASSERT_LE(world.engine()->Info().space_bytes, most);
  }
  EXPECT_EQ(served, kSpaces);
  EXPECT_LE(world.engine()->Info().space_bytes, kSpace * GetParam());
}

TEST_P(HiddenSpaces, WindowsStayNarrowWhileThereIsNoRoom) {
  WorldOptions options = RoomFor(4, GetParam());
  World world(options);
  world.Open();
  for (int i = 0; i < 3000; ++i) {
    EnqueueRequest request;
    request.queue = "q" + std::to_string(i % 6);
    request.payload = std::to_string(i);
    world.Run(&request);
  }
  EXPECT_LE(world.engine()->Info().space_bytes,
            options.space_memory + 12 * 2 * kSpace * GetParam());
  for (int q = 0; q < 6; ++q) {
    for (int i = q; i < 3000; i += 6) {
      const auto jobs = world.Lease("q" + std::to_string(q));
      ASSERT_THAT(jobs, SizeIs(1));
      if (GetParam() == 1) {
        ASSERT_EQ(jobs[0].payload, std::to_string(i));
      }
    }
  }
}

// Everything at random against a count: a LEASE never says that there is nothing beside a ready job, also
// right after a start, a purge, a drop.
TEST_P(HiddenSpaces, ALeaseNeverMissesAJob) {
  for (uint64_t seed = 1; seed <= 25; ++seed) {
    SCOPED_TRACE(seed);
    World world(RoomFor(seed % 6, GetParam(), seed));
    world.Open();
    SimRandom random(seed * 77);
    std::map<JobId, std::string> ready;
    std::vector<Receipt> leased;
    for (int step = 0; step < 400; ++step) {
      const uint64_t dice = random.Below(100);
      const auto core = static_cast<uint16_t>(random.Below(GetParam()));
      const std::string space = random.Chance(0.2) ? "" : Name(static_cast<int>(random.Below(12)));
      if (dice < 45) {
        ready.emplace(world.Enqueue("q", "p", space, core), space);
      } else if (dice < 75) {
        const auto jobs =
            world.Lease("q", 1 + static_cast<uint32_t>(random.Below(3)), Duration(0), core);
        ASSERT_EQ(jobs.empty(), ready.empty()) << step;
        for (const LeasedJob& job : jobs) {
          ASSERT_EQ(ready.erase(job.receipt.id), 1u) << step;
          leased.push_back(job.receipt);
        }
      } else if (dice < 85) {
        const auto jobs = LeaseSpace(&world, space, core);
        const bool some = std::any_of(ready.begin(), ready.end(),
                                      [&](const auto& job) { return job.second == space; });
        ASSERT_EQ(!jobs.empty(), some) << step << " " << space;
        for (const LeasedJob& job : jobs) ASSERT_EQ(ready.erase(job.receipt.id), 1u);
      } else if (dice < 90 && !ready.empty()) {
        CancelRequest cancel;
        cancel.id = ready.begin()->first;
        world.Run(&cancel, core);
        ready.erase(ready.begin());
      } else if (dice < 95 && !leased.empty()) {
        ReleaseRequest release;
        release.receipt = leased.back();
        world.Run(&release, core);
        if (release.error.ok()) ready.emplace(leased.back().id, "?");
        leased.pop_back();
        // Its space is told by the next look at it.
        if (release.error.ok()) {
          JobRequest job;
          job.id = release.receipt.id;
          world.Run(&job, core);
          ready[job.id] = job.space;
        }
      } else if (dice < 97) {
        ASSERT_THAT(world.Violations(), IsEmpty());
        leased.clear();
      } else if (dice < 98) {
        PurgeRequest purge;
        purge.queue = "q";
        purge.drop = random.Chance(0.3);
        purge.one_space = !purge.drop && random.Chance(0.5);
        purge.space = space;
        world.Run(&purge, core);
        if (purge.drop) leased.clear();
        std::erase_if(ready,
                      [&](const auto& job) { return !purge.one_space || job.second == space; });
      }
    }
    size_t rest = 0;
    while (true) {
      const auto jobs = world.Lease("q", 5);
      if (jobs.empty()) break;
      rest += jobs.size();
    }
    EXPECT_EQ(rest, ready.size());
    EXPECT_THAT(world.Violations(), IsEmpty());
  }
}

}  // namespace
}  // namespace vestq
