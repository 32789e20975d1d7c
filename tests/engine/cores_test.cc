// Several cores: owners, streams, and waiters on one core for jobs of another.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "engine/handling_request.h"
#include "tests/engine/world_fixture.h"

namespace vestq {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

WorldOptions ThreeCores() { return WorldOf(3, 8); }

TEST(Cores, AJobOfAnyCoreIsLeasedFromAnyAndCompletedFromAny) {
  World world(ThreeCores());
  world.Open();
  for (uint16_t in = 0; in < 3; ++in) {
    for (uint16_t out = 0; out < 3; ++out) {
      for (const char* space : {"", "acme", "bolt"}) {
        world.Enqueue("q", "p", space, in);
        const auto jobs = world.Lease("q", 1, Duration(0), out);
        ASSERT_THAT(jobs, SizeIs(1));
        EXPECT_TRUE(world.Complete(jobs[0].receipt, static_cast<uint16_t>((out + 1) % 3)).ok());
      }
    }
  }
  EXPECT_EQ(world.Counts("q").completed, 27);
  EXPECT_THAT(world.Violations(), IsEmpty());
}

TEST(Cores, LeaseFillsItsCountFromAllCores) {
  World world(ThreeCores());
  world.Open();
  for (int i = 0; i < 30; ++i) world.Enqueue("q", "p", "", static_cast<uint16_t>(i % 3));
  EXPECT_THAT(world.Lease("q", 100, Duration(0), 1), SizeIs(30));
}

// A LEASE of many jobs does not drain one core first: it looks at the other heads after 16 jobs, or a sixteenth
// of them.
TEST(Cores, ALeaseOfManyJobsGoesWhereTheOrderSays) {
  World world(WorldOf(2, 8));
  world.Open();
  constexpr uint32_t kJobs = 500;
  for (uint32_t i = 0; i < 2 * kJobs; ++i) {
    EnqueueRequest job;
    job.queue = "q";
    job.priority = i;
    world.Run(&job, static_cast<uint16_t>(i % 2));
  }
  for (const uint16_t core : {0, 1}) {
    const auto jobs = world.Lease("q", kJobs / 2, Hours(1), core);
    ASSERT_THAT(jobs, SizeIs(kJobs / 2));
    uint32_t last = 0;
    for (const LeasedJob& job : jobs) last = std::max(last, job.priority);
    EXPECT_LE(last, (core + 1) * kJobs / 2 + 4 * 16);
  }
}

TEST(Cores, ALeaseOfManyJobsSharesThemBetweenSpacesOfAllCores) {
  World world(WorldOf(2, 8));
  world.Open();
  std::string spaces[2];
  for (int i = 0; spaces[0].empty() || spaces[1].empty(); ++i) {
    const std::string name = "s" + std::to_string(i);
    spaces[keycodec::LaneOfSpace("q", name, 8).value() % 2] = name;
  }
  for (const std::string& space : spaces) {
    EnqueueManyRequest many;
    many.job.queue = "q";
    many.job.space = space;
    many.payloads.assign(1000, "p");
    world.Run(&many);
  }
  const auto jobs = world.Lease("q", 1000, Hours(1), 1);
  ASSERT_THAT(jobs, SizeIs(1000));
  const auto first = std::count_if(jobs.begin(), jobs.end(),
                                   [&](const auto& job) { return job.space == spaces[0]; });
  EXPECT_NEAR(static_cast<double>(first), 500, 2 * (1000 / 16) + 16);
}

TEST(Cores, OneJobWakesOneWaiterWhereverItWaits) {
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    WorldOptions options = ThreeCores();
    options.seed = seed;
    World world(options);
    world.Open();
    constexpr int kWaiters = 9;
    LeaseRequest waiters[kWaiters];
    bool done[kWaiters] = {};
    EnqueueRequest jobs[kWaiters];
    bool enqueued[kWaiters] = {};
    // Waiters and jobs in any order, the engine's steps in any order between them.
    int waiting = 0, put = 0;
    while (waiting < kWaiters || put < kWaiters) {
      const uint64_t dice = world.random().Below(10);
      if (dice < 3 && waiting < kWaiters) {
        LeaseRequest& lease = waiters[waiting];
        lease.queues = {"q"};
        lease.wait = true;
        world.Start(&lease, &done[waiting], static_cast<uint16_t>(world.random().Below(3)));
        ++waiting;
      } else if (dice < 6 && put < kWaiters) {
        EnqueueRequest& job = jobs[put];
        job.queue = "q";
        if (world.random().Chance(0.5)) job.space = "s" + std::to_string(world.random().Below(4));
        world.Start(&job, &enqueued[put], static_cast<uint16_t>(world.random().Below(3)));
        ++put;
      } else {
        world.Step();
      }
    }
    while (world.Step()) {
    }
    for (int i = 0; i < kWaiters; ++i) {
      EXPECT_TRUE(enqueued[i]) << seed;
      EXPECT_TRUE(done[i]) << "seed " << seed << ": a LEASE waits although a job is ready (WAIT-1)";
      EXPECT_THAT(waiters[i].jobs, SizeIs(1)) << seed;
    }
  }
}

// Right after a start, before the lanes' zones are known, a LEASE stands still at its first queue. When it goes on, its
// core meets queues that it did not know while it goes through those that it does.
TEST(Cores, ALeaseOfManyQueuesRightAfterAStart) {
  World world(ThreeCores());
  world.Open();
  for (int i = 0; i < 4; ++i) world.Enqueue("q" + std::to_string(i), "p", "other");
  ASSERT_TRUE(world.Close().ok());
  world.Boot(Duration(0));
  world.Open();
  LeaseRequest leases[3];
  bool done[3] = {};
  for (uint16_t core = 0; core < 3; ++core) {
    leases[core].queues = {"q0"};
    for (int i = 0; i < 40; ++i)
      leases[core].queues.push_back("new" + std::to_string(core) + "-" + std::to_string(i));
    leases[core].one_space = true;
    leases[core].space = "mine";
    leases[core].wait = true;
    world.Start(&leases[core], &done[core], core);
  }
  world.Settle();
  for (uint16_t core = 0; core < 3; ++core) {
    EXPECT_FALSE(done[core]) << leases[core].error.ToString();
    world.Enqueue("new" + std::to_string(core) + "-39", "p", "mine", 1);
    world.Settle();
    EXPECT_TRUE(done[core]);
    EXPECT_THAT(leases[core].jobs, SizeIs(1));
  }
}

TEST(Cores, AWakeUpWhoseWaiterHasGoneIsPassedOn) {
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    WorldOptions options = ThreeCores();
    options.seed = seed;
    World world(options);
    world.Open();
    LeaseRequest gone, stays;
    bool gone_done = false, stays_done = false;
    gone.queues = stays.queues = {"q"};
    gone.wait = stays.wait = true;
    world.Start(&gone, &gone_done, 1);
    world.Settle();
    world.Advance(Milliseconds(5));
    world.Start(&stays, &stays_done, 2);
    world.Settle();
    EnqueueRequest job;
    bool enqueued = false;
    job.queue = "q";
    world.Start(&job, &enqueued, 0);
    const uint64_t steps = world.random().Below(12);
    for (uint64_t i = 0; i < steps; ++i) world.Step();
    if (!gone_done) world.core(1)->Abandon(&gone);
    while (world.Step()) {
    }
    ASSERT_TRUE(gone_done);
    // Whoever got it, the job is not left lying while a LEASE waits for it.
    if (gone.jobs.empty()) {
      EXPECT_TRUE(stays_done) << seed;
      EXPECT_THAT(stays.jobs, SizeIs(1)) << seed;
    } else {
      EXPECT_FALSE(stays_done);
    }
  }
}

TEST(Cores, AStreamSeesItsOwnJobsWhateverCoreOwnsThem) {
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    WorldOptions options = ThreeCores();
    options.seed = seed;
    World world(options);
    world.Open();
    Stream stream;
    constexpr int kPairs = 12;
    EnqueueRequest puts[kPairs];
    LeaseRequest takes[kPairs];
    bool done[2 * kPairs] = {};
    for (int i = 0; i < kPairs; ++i) {
      puts[i].queue = takes[i].queues.emplace_back("q" + std::to_string(i % 2));
      puts[i].space = i % 3 == 0 ? "" : "s" + std::to_string(i);
      puts[i].payload = std::to_string(i);
      world.Start(&puts[i], &done[2 * i], 1, &stream);
      world.Start(&takes[i], &done[2 * i + 1], 1, &stream);
    }
    while (world.Step()) {
    }
    for (int i = 0; i < kPairs; ++i) {
      ASSERT_TRUE(done[2 * i] && done[2 * i + 1]) << seed;
      ASSERT_THAT(takes[i].jobs, SizeIs(1)) << seed << " " << i;
      EXPECT_EQ(takes[i].jobs[0].payload, std::to_string(i));
    }
  }
}

TEST(Cores, ADroppedStreamAnswersWhatItHeldBack) {
  World world(ThreeCores());
  world.Open();
  Stream stream;
  LeaseRequest waits;
  EnqueueRequest behind;
  bool waits_done = false, behind_done = false;
  waits.queues = {"q"};
  waits.wait = true;
  behind.queue = "q";
  world.Start(&waits, &waits_done, 0, &stream);
  world.Start(&behind, &behind_done, 0, &stream);
  world.Settle();
  EXPECT_FALSE(waits_done || behind_done);
  world.core(0)->DropStream(&stream);
  world.core(0)->Abandon(&waits);
  world.Settle();
  EXPECT_TRUE(waits_done && behind_done);
  EXPECT_EQ(behind.error.code(), ErrorCode::kShutdown);
  EXPECT_EQ(world.Counts("q").enqueued, 0);
}

}  // namespace
}  // namespace vestq
