// LEASE of one space: what it takes, what wakes it and what does not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/engine/world_fixture.h"

namespace vestq {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

WorldOptions Cores(uint16_t cores, uint64_t seed = 1) { return WorldOf(cores, 7, seed); }

void Of(LeaseRequest* lease, const std::string& space, bool wait,
        std::vector<std::string> queues = {"q"}) {
  lease->queues = std::move(queues);
  lease->one_space = true;
  lease->space = space;
  lease->wait = wait;
}

std::vector<std::string> Payloads(const LeaseRequest& lease) {
  std::vector<std::string> out;
  for (const LeasedJob& job : lease.jobs) out.emplace_back(job.payload);
  return out;
}

TEST(LeaseOfASpace, TakesOnlyItsJobsInTheirOrder) {
  for (const uint16_t cores : {1, 3}) {
    World world(Cores(cores));
    world.Open();
    for (int i = 0; i < 4; ++i) {
      for (const char* space : {"", "a", "b"}) {
        world.Enqueue("q", space + std::to_string(i), space);
      }
    }
    for (const bool restart : {false, true}) {
      if (restart) {
        EXPECT_THAT(world.Violations(), IsEmpty());
      }
      for (const char* space : {"a", "", "b"}) {
        LeaseRequest lease;
        Of(&lease, space, false);
        lease.count = 2;
        world.Run(&lease, static_cast<uint16_t>(cores - 1));
        ASSERT_TRUE(lease.error.ok());
        const std::string s = space;
        if (!restart) {
          EXPECT_THAT(Payloads(lease), ElementsAre(s + "0", s + "1")) << cores;
        } else {
          EXPECT_THAT(Payloads(lease), ElementsAre(s + "2", s + "3")) << cores;
        }
        LeaseRequest none;
        Of(&none, "other", false);
        world.Run(&none);
        EXPECT_THAT(none.jobs, IsEmpty());
      }
    }
    EXPECT_EQ(world.Counts("q").ready, 0);
  }
}

TEST(LeaseOfASpace, IsWokenByAJobOfItsSpaceAndByNoOther) {
  for (const uint16_t cores : {1, 3}) {
    for (const char* space : {"a", ""}) {
      for (uint16_t at = 0; at < cores; ++at) {
        World world(Cores(cores));
        world.Open();
        LeaseRequest lease;
        bool done = false;
        world.Enqueue("q", "other", "x");
        Of(&lease, space, true);
        world.Start(&lease, &done, at);
        world.Settle();
        EXPECT_EQ(world.Counts("q").waiters, 1u);
        for (int i = 0; i < 3; ++i) world.Enqueue("q", "other", "x");
        EXPECT_FALSE(done);
        // Those behind it that can use the others' jobs get them.
        EXPECT_THAT(world.Lease("q", 1), SizeIs(1));
        world.Enqueue("q", "mine", space, static_cast<uint16_t>(cores - 1));
        ASSERT_TRUE(done);
        EXPECT_THAT(Payloads(lease), ElementsAre("mine"));
        EXPECT_EQ(world.Counts("q").waiters, 0u);
        EXPECT_EQ(world.Counts("q").ready, 3);
      }
    }
  }
}

TEST(LeaseOfASpace, DoesNotHoldUpOthersThatWait) {
  World world(Cores(3));
  world.Open();
  LeaseRequest narrow, wide;
  bool narrow_done = false, wide_done = false;
  Of(&narrow, "a", true);
  world.Start(&narrow, &narrow_done, 1);
  wide.queues = {"q"};
  wide.wait = true;
  world.Start(&wide, &wide_done, 1);
  world.Settle();
  world.Enqueue("q", "b", "b");
  EXPECT_FALSE(narrow_done);
  EXPECT_TRUE(wide_done);
  world.Enqueue("q", "a", "a", 2);
  EXPECT_TRUE(narrow_done);
}

TEST(LeaseOfASpace, WaitsForSeveralQueues) {
  World world(Cores(3));
  world.Open();
  for (const char* queue : {"one", "two"}) {
    LeaseRequest lease;
    bool done = false;
    Of(&lease, "a", true, {"one", "two"});
    world.Start(&lease, &done, 0);
    world.Settle();
    world.Enqueue(queue, queue, "a", 1);
    ASSERT_TRUE(done) << queue;
    EXPECT_THAT(Payloads(lease), ElementsAre(queue));
  }
}

TEST(LeaseOfASpace, EndsAfterItsTimeAndWhenAbandonedAndLeavesNothing) {
  World world(Cores(3));
  world.Open();
  for (uint16_t at = 0; at < 3; ++at) {
    LeaseRequest lease;
    bool done = false;
    Of(&lease, "a", true);
    lease.block = Seconds(1);
    world.Start(&lease, &done, at);
    world.Settle();
    world.Advance(Seconds(1));
    world.Settle();
    EXPECT_TRUE(done);
    EXPECT_THAT(lease.jobs, IsEmpty());
    lease.block = Duration(0);
    world.Start(&lease, &done, at);
    world.Settle();
    world.core(at)->Abandon(&lease);
    world.Settle();
    EXPECT_TRUE(done);
    EXPECT_EQ(world.Counts("q").waiters, 0u);
  }
}

TEST(LeaseOfASpace, FollowsAPause) {
  World world(Cores(3));
  world.Open();
  QueueSetRequest pause;
  pause.queue = "q";
  pause.pause = true;
  world.Run(&pause);
  constexpr int kMany = 5;
  LeaseRequest leases[kMany];
  bool done[kMany] = {};
  for (int i = 0; i < kMany; ++i) {
    Of(&leases[i], "a", true);
    world.Start(&leases[i], &done[i], static_cast<uint16_t>(i % 3));
  }
  world.Settle();
  for (int i = 0; i < kMany; ++i) world.Enqueue("q", "p", "a");
  for (const bool d : done) EXPECT_FALSE(d);
  QueueSetRequest resume;
  resume.queue = "q";
  resume.resume = true;
  world.Run(&resume);
  for (const bool d : done) EXPECT_TRUE(d) << "each passes its wake-up on";
}

// SPACE-1, in any order of events: in the end nobody waits beside a job that it could have.
TEST(LeaseOfASpace, NoWakeUpIsLost) {
  const std::string spaces[] = {"", "a", "b"};
  for (uint64_t seed = 1; seed <= 150; ++seed) {
    World world(Cores(seed % 2 == 0 ? 3 : 2, seed));
    world.Open();
    constexpr int kLeases = 12;
    constexpr int kJobs = 18;
    LeaseRequest leases[kLeases];
    uint16_t at[kLeases] = {};
    bool done[kLeases] = {}, gone[kLeases] = {};
    EnqueueRequest jobs[kJobs];
    bool put[kJobs] = {};
    int started = 0, enqueued = 0;
    while (started < kLeases || enqueued < kJobs) {
      const uint64_t dice = world.random().Below(14);
      if (dice < 3 && started < kLeases) {
        std::vector<std::string> queues = {"q"};
        if (world.random().Chance(0.3)) queues.emplace_back("r");
        Of(&leases[started], spaces[world.random().Below(3)], true, queues);
        if (world.random().Chance(0.2)) leases[started].one_space = false;
        if (world.random().Chance(0.3)) leases[started].count = 3;
        if (world.random().Chance(0.2)) leases[started].block = Seconds(1);
        at[started] = static_cast<uint16_t>(world.random().Below(world.options().cores));
        world.Start(&leases[started], &done[started], at[started]);
        ++started;
      } else if (dice < 6 && enqueued < kJobs) {
        EnqueueRequest& job = jobs[enqueued];
        job.queue = world.random().Chance(0.7) ? "q" : "r";
        job.space = spaces[world.random().Below(3)];
        world.Start(&job, &put[enqueued],
                    static_cast<uint16_t>(world.random().Below(world.options().cores)));
        ++enqueued;
      } else if (dice == 6 && started > 0) {
        const auto i = world.random().Below(static_cast<uint64_t>(started));
        if (!done[i] && !gone[i] && world.random().Chance(0.3)) {
          gone[i] = true;
          world.core(at[i])->Abandon(&leases[i]);
        }
      } else {
        world.Step();
      }
    }
    while (world.Step()) {
    }
    world.Advance(Seconds(2));
    world.Settle();
    for (int i = 0; i < kLeases; ++i) {
      if (done[i]) continue;
      ASSERT_FALSE(gone[i]) << "seed " << seed;
      // What is left can be had by none that still waits.
      for (const std::string& queue : leases[i].queues) {
        LeaseRequest look;
        look.queues = {queue};
        look.one_space = leases[i].one_space;
        look.space = leases[i].space;
        world.Run(&look);
        EXPECT_THAT(look.jobs, IsEmpty()) << "seed " << seed << ": SPACE-1";
      }
    }
    for (int i = 0; i < kLeases; ++i) {
      if (!done[i]) world.core(at[i])->Abandon(&leases[i]);
    }
    world.Settle();
    for (int i = 0; i < kLeases; ++i) EXPECT_TRUE(done[i]) << seed;
  }
}

}  // namespace
}  // namespace vestq
