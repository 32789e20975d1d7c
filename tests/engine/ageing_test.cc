// `ageing` of a queue: what has waited that long is served whatever its priority, the oldest first, and
// how long it waits at most; on one core and on several, across restarts and clock steps.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "engine/handling_request.h"
#include "engine/purge_request.h"
#include "tests/engine/world_fixture.h"

namespace vestq {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Parameter: as CoresOf.
class Ageing : public ::testing::TestWithParam<uint16_t> {
 protected:
  Ageing() : world_(WorldOfParam(GetParam())) { world_.Open(); }

  void Set(Duration span, const std::string& queue = "q") {
    QueueSetRequest request;
    request.queue = queue;
    if (span > Duration(0)) {
      request.set.ageing = span;
    } else {
      request.unset.ageing = Duration(0);
    }
    world_.Run(&request, AnyCore());
    ASSERT_TRUE(request.error.ok()) << request.error.text();
    world_.Settle();
  }
  JobId Put(uint32_t priority, const std::string& space = "one", Duration delay = Duration(0)) {
    return PutJob(
        &world_,
        [&](EnqueueRequest* r) {
          r->priority = priority;
          r->space = space;
          if (delay > Duration(0)) {
            r->when = EnqueueRequest::When::kDelay;
            r->delay = delay;
          }
        },
        AnyCore());
  }
  uint16_t AnyCore() { return static_cast<uint16_t>(++asked_ % CoresOf(GetParam())); }
  // The next job, whose lease lasts.
  LeasedJob Next(Duration lease = Hours(10)) {
    const std::vector<LeasedJob> jobs = world_.Lease("q", 1, lease, AnyCore());
    EXPECT_EQ(jobs.size(), 1u);
    return jobs.empty() ? LeasedJob() : jobs[0];
  }
  JobId NextId() { return Next().receipt.id; }
  void Pass(Duration time) {
    world_.Advance(time);
    world_.Settle();
  }
  void Reopen() {
    ASSERT_TRUE(world_.Close().ok());
    world_.Open();
    world_.Settle();
  }
  void ExpectSound() {
    EXPECT_THAT(world_.Violations(), IsEmpty());
    EXPECT_EQ(world_.discipline_breach(), "");
  }

  World world_;
  uint64_t asked_ = 0;
};

TEST_P(Ageing, AJobThatHasWaitedLongEnoughIsServedBeforeAllOthers) {
  Set(Seconds(60));
  const JobId low = Put(9000);
  Pass(Seconds(30));
  const JobId later = Put(5000);
  const JobId urgent = Put(1);
  Pass(Milliseconds(29'999));
  EXPECT_EQ(NextId(), urgent) << "not a millisecond before its time";
  const JobId urgent_too = Put(1);
  Pass(Milliseconds(1));
  EXPECT_EQ(NextId(), low);
  EXPECT_EQ(NextId(), urgent_too);
  EXPECT_EQ(NextId(), later);
  ExpectSound();
}

TEST_P(Ageing, TheOldestIsFirstAmongThoseThatHave) {
  Set(Seconds(10));
  std::vector<JobId> ids;
  for (uint32_t i = 0; i < 12; ++i) {
    ids.push_back(Put(9000 - i * 700));  // the later the more urgent
    Pass(Milliseconds(100));
  }
  Pass(Seconds(20));
  for (const JobId id : ids) EXPECT_EQ(NextId(), id);
  ExpectSound();
}

TEST_P(Ageing, WithoutTheOptionAndAfterItWasTakenAwayPriorityIsStrict) {
  const JobId low = Put(9000);
  const JobId low_too = Put(9001);
  Pass(Hours(5));
  const JobId urgent = Put(1);
  EXPECT_EQ(NextId(), urgent);
  Set(Seconds(1));
  const JobId again = Put(1);
  EXPECT_EQ(NextId(), low);
  Set(Duration(0));
  EXPECT_EQ(NextId(), again);
  EXPECT_EQ(NextId(), low_too);
  ExpectSound();
}

TEST_P(Ageing, AChangedSpanHoldsAtOnce) {
  Set(Hours(1));
  const JobId low = Put(9000);
  const JobId low_too = Put(9001);
  Pass(Seconds(30));
  const JobId urgent = Put(1);
  Set(Seconds(20));
  EXPECT_EQ(NextId(), low);
  Set(Seconds(40));
  EXPECT_EQ(NextId(), urgent);
  EXPECT_EQ(NextId(), low_too);
}

TEST_P(Ageing, HoldsAcrossRestartsAndWhateverTheWallClockDoes) {
  Set(Seconds(60));
  const JobId low = Put(9000);
  const JobId low_too = Put(9001);
  Put(1);
  world_.StepWall(Hours(100));
  Pass(Seconds(30));
  Put(1);
  EXPECT_NE(NextId(), low);
  world_.StepWall(Hours(-200));
  Reopen();
  Pass(Seconds(31));
  Put(1);
  EXPECT_EQ(NextId(), low);
  world_.PowerCut(CrashMode::kLoseUnsynced);
  world_.Boot(Seconds(1));
  EXPECT_THAT(world_.CheckOffline(), IsEmpty());
  world_.Open();
  world_.Settle();
  EXPECT_EQ(NextId(), low_too);
  ExpectSound();
}

TEST_P(Ageing, BeyondTheWindowToo) {
  Set(Seconds(60));
  const JobId low = Put(9000);
  Pass(Seconds(30));
  for (int i = 0; i < 2500; ++i) Put(10);
  Pass(Seconds(31));
  EXPECT_EQ(NextId(), low);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(Next().priority, 10u);
  Reopen();
  for (int i = 0; i < 3; ++i) Put(1);
  Pass(Seconds(31));
  // Everything but the last three is overdue now, far more than are kept in memory.
  std::map<uint32_t, int> priorities;
  for (int i = 0; i < 2497; ++i) ++priorities[Next().priority];
  EXPECT_EQ(priorities[10], 2497);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(Next().priority, 1u);
  ExpectSound();
}

TEST_P(Ageing, ARetryAndADelayedJobCountFromTheirEnqueue) {
  Set(Seconds(60));
  const JobId retried = Put(9000);
  const JobId delayed = Put(9001, "one", Seconds(100));
  const Receipt receipt = Next().receipt;
  ASSERT_EQ(receipt.id, retried);
  Pass(Seconds(59));
  FailRequest fail;
  fail.receipt = receipt;
  fail.delay_set = true;
  fail.delay = Seconds(2);
  world_.Run(&fail);
  Put(1);
  const JobId urgent = Put(1);
  EXPECT_NE(NextId(), retried);
  Pass(Seconds(3));
  EXPECT_EQ(NextId(), retried);
  EXPECT_EQ(NextId(), urgent);
  Put(1);
  Pass(Seconds(40));
  EXPECT_EQ(NextId(), delayed) << "its delay was part of its wait";
}

TEST_P(Ageing, WhatIsCancelledMovedOrPurgedIsNotServed) {
  Set(Seconds(10));
  const JobId cancelled = Put(9000);
  const JobId moved = Put(9001);
  const JobId stays = Put(9002);
  Pass(Seconds(11));
  CancelRequest cancel;
  cancel.id = cancelled;
  world_.Run(&cancel);
  RescheduleRequest later;
  later.id = moved;
  later.delay = Hours(1);
  world_.Run(&later);
  ASSERT_TRUE(later.error.ok());
  Put(1);
  EXPECT_EQ(NextId(), stays);
  Put(9003);
  Pass(Seconds(11));
  PurgeRequest purge;
  purge.queue = "q";
  purge.state = JobState::kReady;
  world_.Run(&purge);
  const JobId fresh = Put(5);
  EXPECT_EQ(NextId(), fresh);
  Pass(Hours(1));
  EXPECT_EQ(NextId(), moved);
  Put(9003);
  Pass(Seconds(11));
  PurgeRequest drop;
  drop.queue = "q";
  drop.drop = true;
  world_.Run(&drop);
  const JobId first = Put(9000);
  Pass(Seconds(11));
  const JobId second = Put(1);
  EXPECT_EQ(NextId(), second) << "the option went with the queue";
  EXPECT_EQ(NextId(), first);
  ExpectSound();
}

TEST_P(Ageing, ByOrderTimeItChangesNothing) {
  QueueSetRequest order;
  order.queue = "q";
  order.set.order = keycodec::Order::kTime;
  order.set.ageing = Seconds(1);
  world_.Run(&order);
  const JobId first = Put(9000);
  Pass(Seconds(5));
  const JobId second = Put(1);
  EXPECT_EQ(NextId(), first);
  EXPECT_EQ(NextId(), second);
  ExpectSound();
}

// The turns of spaces stay what they are: an old backlog of one does not stand before the other's jobs.
TEST_P(Ageing, ActsWithinASpace) {
  Set(Seconds(10));
  for (int i = 0; i < 20; ++i) Put(9000, "flood");
  Pass(Seconds(11));
  for (int i = 0; i < 5; ++i) Put(5, "small");
  int small = 0;
  for (int i = 0; i < 12; ++i) small += Next().space == "small";
  EXPECT_GE(small, 2) << "of different cores they differ by some rounds (FAIR-3)";
}

TEST_P(Ageing, OfJobsWithoutASpaceOverCores) {
  Set(Seconds(10));
  for (int i = 0; i < 12; ++i) Put(9000, "");
  Pass(Seconds(11));
  for (int i = 0; i < 12; ++i) Put(1, "");
  for (int i = 0; i < 12; ++i) EXPECT_EQ(Next().priority, 9000u) << i;
  for (int i = 0; i < 12; ++i) EXPECT_EQ(Next().priority, 1u) << i;
  ExpectSound();
}

// The bound: a job waits for `ageing`, and then at most for those of its space that were enqueued before it.
TEST_P(Ageing, NoJobWaitsLongerThanTheSpanAndThoseBeforeIt) {
  for (uint64_t seed = 1; seed <= 4; ++seed) {
    World world(WorldOfParam(GetParam(), 7, seed));
    world.Open();
    std::mt19937_64 random(seed);
    const int64_t span_ms = 5000;
    QueueSetRequest set;
    set.queue = "q";
    set.set.ageing = Milliseconds(span_ms);
    world.Run(&set);
    struct Waiting {
      int64_t since_ms;
      uint32_t priority;
    };
    std::map<uint64_t, Waiting> waiting;  // by id
    int aged = 0;
    for (int step = 0; step < 700; ++step) {
      // More come than are served, and the urgent ones alone would keep the workers busy.
      for (uint64_t i = random() % 4 == 0 ? 2 : 1; i > 0; --i) {
        const auto priority = static_cast<uint32_t>(random() % 4 == 0 ? 5000 + random() % 9 : 7);
        const JobId id = PutJob(
            &world,
            [priority](EnqueueRequest* r) {
              r->priority = priority;
              r->space = "one";
            },
            static_cast<uint16_t>(random() % CoresOf(GetParam())));
        waiting[id.value()] = {world.clock().boottime_ms, priority};
      }
      if (random() % 40 == 0) {
        if (random() % 2 == 0) {
          world.Kill();
        } else {
          ASSERT_TRUE(world.Close().ok());
        }
        world.Open();
      }
      world.Advance(Milliseconds(static_cast<int64_t>(random() % 300)));
      world.Settle();
      const auto jobs =
          world.Lease("q", 1, Hours(10), static_cast<uint16_t>(random() % CoresOf(GetParam())));
      if (waiting.empty()) {
        ASSERT_THAT(jobs, IsEmpty());
        continue;
      }
      ASSERT_EQ(jobs.size(), 1u);
      const auto got = waiting.find(jobs[0].receipt.id.value());
      ASSERT_NE(got, waiting.end());
      const Waiting taken = got->second;
      waiting.erase(got);
      const int64_t now_ms = world.clock().boottime_ms;
      const bool overdue = now_ms - taken.since_ms >= span_ms;
      aged += overdue && taken.priority != 7;
      for (const auto& [id, other] : waiting) {
        const bool other_overdue = now_ms - other.since_ms >= span_ms;
        if (other_overdue) {
          ASSERT_TRUE(overdue) << "seed " << seed << ", step " << step << ": job " << id;
          ASSERT_GE(other.since_ms, taken.since_ms) << "seed " << seed << ", step " << step;
        } else if (!overdue) {
          ASSERT_GE(other.priority, taken.priority) << "seed " << seed << ", step " << step;
        }
      }
    }
    EXPECT_GT(aged, 20) << seed;
    EXPECT_THAT(world.Violations(), IsEmpty()) << seed;
  }
}

INSTANTIATE_TEST_SUITE_P(Cores, Ageing, ::testing::Values(1, 3, kFewSpaces + 1, kFewSpaces + 3));

}  // namespace
}  // namespace vestq
