// Limits of a queue: how many of its jobs run at once, and how often one starts. Case B24.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "tests/engine/limits_fixture.h"

namespace vestq {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

TEST_P(Limits, AQueueRunsNoMoreThanItsLimitAndAFreedSlotWakesOneWaiter) {
  Enqueue(20);
  Concurrency(3);
  auto jobs = Take();
  EXPECT_THAT(jobs, SizeIs(3));
  EXPECT_THAT(Take(), IsEmpty());
  auto first = Wait();
  auto second = Wait();
  EXPECT_FALSE(first->done);
  Complete(jobs[0]);
  EXPECT_NE(first->done, second->done);
  Complete(jobs[1]);
  EXPECT_TRUE(first->done && second->done);
  EXPECT_THAT(Take(), IsEmpty());
  EXPECT_THAT(world_.Violations(), IsEmpty());
}

TEST_P(Limits, ASpaceThatIsFullDoesNotHoldUpTheOthers) {
  SpaceConcurrency(2);
  Enqueue(10, "a");
  Enqueue(10, "b");
  Enqueue(10);
  std::map<std::string, int> taken;
  auto jobs = Take();
  for (const LeasedJob& job : jobs) ++taken[job.space];
  EXPECT_EQ(taken, (std::map<std::string, int>{{"", 2}, {"a", 2}, {"b", 2}}));
  EXPECT_THAT(Take(), IsEmpty());
  for (const LeasedJob& job : jobs) {
    auto waiter = Wait();
    EXPECT_FALSE(waiter->done);
    Complete(job);
    ASSERT_TRUE(waiter->done) << job.space;
    EXPECT_EQ(waiter->request.jobs[0].space, job.space);
  }
  EXPECT_THAT(Take(), IsEmpty());
  EXPECT_THAT(world_.Violations(), IsEmpty());
}

TEST_P(Limits, HoldAfterARestartWithLeasesOut) {
  Concurrency(5);
  SpaceConcurrency(3);
  Enqueue(10, "a");
  Enqueue(10);
  auto jobs = Take();
  ASSERT_THAT(jobs, SizeIs(5));
  Restart();
  EXPECT_THAT(Take(), IsEmpty());
  Complete(jobs[0]);
  EXPECT_THAT(Take(), SizeIs(1));
  Restart();
  EXPECT_THAT(Take(), IsEmpty());
  world_.Advance(Seconds(31));  // all of them expire
  world_.Settle();
  EXPECT_THAT(Take(), SizeIs(5));
}

// B24.1 and 2: a worker that dies frees its slot when its lease ends; what it says afterwards frees
// nothing.
TEST_P(Limits, ALateCompleteFreesNothing) {
  Concurrency(1);
  Enqueue(50);
  for (int round = 0; round < 10; ++round) {
    const auto held = Take(1, Seconds(5));
    ASSERT_THAT(held, SizeIs(1));
    auto next = Wait();
    world_.Advance(Milliseconds(5001));
    world_.Settle();
    ASSERT_TRUE(next->done);
    CompleteRequest late;
    late.receipt = held[0].receipt;
    world_.Run(&late, AnyCore());
    EXPECT_EQ(late.error.code(), ErrorCode::kLeaseLost);
    world_.Settle();
    EXPECT_THAT(Take(), IsEmpty());
    Complete(next->request.jobs[0]);
  }
  EXPECT_THAT(world_.Violations(), IsEmpty());
}

// B24.4.
TEST_P(Limits, EveryEndOfALeaseFreesOneSlotAndWakesOne) {
  Concurrency(1);
  Enqueue(20, "k");
  auto held = Take();
  const std::vector<std::function<void(const LeasedJob&)>> ends = {
      [this](const LeasedJob& job) { Complete(job); },
      [this](const LeasedJob& job) {
        CancelRequest r;
        r.id = job.receipt.id;
        world_.Run(&r, AnyCore());
        EXPECT_TRUE(r.cancelled);
      },
      [this](const LeasedJob& job) {
        FailRequest r;
        r.receipt = job.receipt;
        r.to_dead = true;
        world_.Run(&r, AnyCore());
      },
      [this](const LeasedJob& job) {
        FailRequest r;
        r.receipt = job.receipt;
        world_.Run(&r, AnyCore());
      },
      [this](const LeasedJob& job) {
        RevokeRequest r;
        r.id = job.receipt.id;
        world_.Run(&r, AnyCore());
        EXPECT_TRUE(r.revoked);
      },
      [this](const LeasedJob& job) {
        ReleaseRequest r;
        r.receipt = job.receipt;
        world_.Run(&r, AnyCore());
      },
      [this](const LeasedJob&) { world_.Advance(Seconds(31)); },
  };
  for (const auto& end : ends) {
    ASSERT_THAT(held, SizeIs(1));
    auto next = Wait();
    auto another = Wait();
    EXPECT_FALSE(next->done || another->done);
    end(held[0]);
    world_.Settle();
    ASSERT_NE(next->done, another->done);
    auto& winner = next->done ? next : another;
    auto& loser = next->done ? another : next;
    EXPECT_THAT(Take(), IsEmpty());
    Complete(winner->request.jobs[0]);
    ASSERT_TRUE(loser->done);
    held = std::move(loser->request.jobs);
  }
  EXPECT_THAT(world_.Violations(), IsEmpty());
}

// B24.5.
TEST_P(Limits, MayBeLoweredRaisedClosedAndTakenAway) {
  Enqueue(20);
  Concurrency(5);
  auto jobs = Take();
  ASSERT_THAT(jobs, SizeIs(5));
  Concurrency(2);
  for (int i = 0; i < 3; ++i) {
    EXPECT_THAT(Take(), IsEmpty());
    Complete(jobs[static_cast<size_t>(i)]);
  }
  EXPECT_THAT(Take(), IsEmpty());  // two of them still run
  Complete(jobs[3]);
  EXPECT_THAT(Take(), SizeIs(1));
  auto waiter = Wait();
  Concurrency(5);
  EXPECT_TRUE(waiter->done);
  EXPECT_THAT(Take(), SizeIs(2));
  Concurrency(0);
  Pass(Seconds(31));
  EXPECT_THAT(Take(), IsEmpty());
  auto closed = Wait();
  EXPECT_FALSE(closed->done);
  NoLimits();
  EXPECT_TRUE(closed->done);
  EXPECT_THAT(Take(), SizeIs(15));
}

// A limit that comes while leases are out counts them, on all cores.
TEST_P(Limits, ANewLimitCountsTheLeasesThereAre) {
  Enqueue(20);
  Enqueue(5, "a");
  auto jobs = Take(10);
  Concurrency(11);
  EXPECT_THAT(Take(), SizeIs(1));
  EXPECT_THAT(Take(), IsEmpty());
  for (const LeasedJob& job : jobs) Complete(job);
  EXPECT_THAT(Take(), SizeIs(10));
}

TEST_P(Limits, JobsStartAtTheirRateAndAWaiterIsWokenWhenATokenIsDue) {
  Enqueue(50);
  Rate(2, 3);
  EXPECT_THAT(Take(), SizeIs(3));
  EXPECT_THAT(Take(), IsEmpty());
  auto first = Wait();
  auto second = Wait();
  world_.Advance(Milliseconds(499));
  world_.Settle();
  EXPECT_FALSE(first->done || second->done);
  world_.Advance(Milliseconds(1));
  world_.Settle();
  EXPECT_NE(first->done, second->done);
  world_.Advance(Milliseconds(499));
  world_.Settle();
  EXPECT_NE(first->done, second->done);
  world_.Advance(Milliseconds(1));
  world_.Settle();
  EXPECT_TRUE(first->done && second->done);
  world_.Advance(Seconds(100));
  world_.Settle();
  EXPECT_THAT(Take(), SizeIs(3));
  EXPECT_THAT(world_.Violations(), IsEmpty());
}

TEST_P(Limits, AThrottledJobUsesNoAttempt) {
  Enqueue(2);
  Rate(0.1);
  EXPECT_THAT(Take(), SizeIs(1));
  for (int i = 0; i < 5; ++i) EXPECT_THAT(Take(), IsEmpty());
  world_.Advance(Seconds(10));
  world_.Settle();
  const auto jobs = Take();
  ASSERT_THAT(jobs, SizeIs(1));
  EXPECT_EQ(jobs[0].attempt, 1u);
}

TEST_P(Limits, TheRateHoldsAcrossRestarts) {
  Enqueue(50);
  Rate(0.5, 4);
  EXPECT_THAT(Take(), SizeIs(4));
  for (int i = 0; i < 5; ++i) {
    Restart();
    EXPECT_THAT(Take(), IsEmpty());
    world_.Advance(Milliseconds(2000));
    world_.Settle();
    EXPECT_THAT(Take(), SizeIs(1)) << "a slow rate goes on over restarts";
  }
  // A burst that was not used is still there.
  world_.Advance(Seconds(100));
  world_.Settle();
  EXPECT_THAT(Take(1), SizeIs(1));
  Restart();
  EXPECT_THAT(Take(), SizeIs(3));
}

TEST_P(Limits, AJobThatComesLaterFindsItsWaiterWhenTheTokenIsDue) {
  Enqueue(1);
  Rate(1);
  EXPECT_THAT(Take(), SizeIs(1));
  auto waiter = Wait();
  Enqueue(1, "late");
  EXPECT_FALSE(waiter->done);
  world_.Advance(Seconds(1));
  world_.Settle();
  EXPECT_TRUE(waiter->done);
}

// B24.6: a thousand random mixes on several cores, with crashes; then all finish.
TEST_P(Limits, RandomMixesNeverExceedTheLimitAndAllJobsRun) {
  std::mt19937_64 random(24);
  uint32_t limit = 3, space_limit = 2;
  Concurrency(limit);
  SpaceConcurrency(space_limit);
  std::map<JobId, std::string> todo;
  std::vector<LeasedJob> held;
  const auto end_of = [&](size_t i) {
    held[i] = std::move(held.back());
    held.pop_back();
  };
  for (int step = 0; step < 1000; ++step) {
    const uint64_t choice = random() % 100;
    const size_t i = held.empty() ? 0 : random() % held.size();
    if (choice < 25) {
      EnqueueRequest request;
      request.queue = "q";
      request.space = std::string(random() % 3, 's');
      world_.Run(&request, AnyCore());
      todo[request.id] = request.space;
    } else if (choice < 60) {
      auto jobs = Take(1 + random() % 3, Seconds(30));
      const bool any = !jobs.empty();
      for (LeasedJob& job : jobs) {
        const std::string space = job.space;
        held.push_back(std::move(job));
        EXPECT_LE(std::count_if(held.begin(), held.end(),
                                [&](const LeasedJob& other) { return other.space == space; }),
                  space_limit);
      }
      EXPECT_TRUE(!any || held.size() <= limit);
    } else if (choice < 80 && !held.empty()) {
      todo.erase(held[i].receipt.id);
      Complete(held[i]);
      end_of(i);
    } else if (choice < 85 && !held.empty()) {
      ReleaseRequest request;
      request.receipt = held[i].receipt;
      world_.Run(&request, AnyCore());
      end_of(i);
    } else if (choice < 90 && !held.empty()) {
      CancelRequest request;
      request.id = held[i].receipt.id;
      world_.Run(&request, AnyCore());
      todo.erase(held[i].receipt.id);
      end_of(i);
    } else if (choice < 92) {
      world_.Advance(Seconds(31));
      world_.Settle();
      held.clear();
    } else if (choice < 95) {
      Restart();
    } else if (choice < 97) {
      Concurrency(limit = static_cast<uint32_t>(random() % 5));
    } else if (choice < 99) {
      SpaceConcurrency(space_limit = static_cast<uint32_t>(random() % 4));
    }
    world_.Settle();
    ASSERT_EQ(world_.Counts("q").leased, static_cast<int64_t>(held.size()));
  }
  NoLimits();
  Finish(&todo);
}

INSTANTIATE_TEST_SUITE_P(Cores, Limits, ::testing::Values(1, 2, 4, kFewSpaces + 1, kFewSpaces + 4),
                         ::testing::PrintToStringParamName());

}  // namespace
}  // namespace vestq
