// Concurrency limits of spaces that find their own height: that the engine tells them what becomes of leases, obeys
// them, and wakes who waits. How they find it is tested in tests/lanes/adaptive_limit_test.cc.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "lanes/adaptive_limit.h"
#include "tests/engine/space_fixture.h"

namespace vestq {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

class Adaptive : public SpaceLimits {
 protected:
  void Bounds(uint32_t min, uint32_t max) {
    Set([=](QueueSetRequest* r) { r->set.adaptive = keycodec::AdaptiveBounds{min, max}; });
  }
  void NotAdaptive() {
    Set([](QueueSetRequest* r) { r->unset.adaptive.emplace(); });
  }
  uint32_t LimitOf(const std::string& space) {
    const auto shown = Info(space).adaptive;
    return shown ? shown->limit : 0;
  }
  void Fail(const LeasedJob& job) {
    FailRequest request;
    request.receipt = job.receipt;
    request.delay_set = true;
    request.delay = Hours(1);
    world_.Run(&request, AnyCore());
    EXPECT_TRUE(request.error.ok()) << request.error.ToString();
    world_.Settle();
  }
  // Takes and completes, as many at once as the limit allows, until a whole window is over.
  void Window(const std::string& space) {
    for (uint32_t ended = 0; ended < AdaptiveLimit::kWindowMin;) {
      const uint32_t limit = LimitOf(space);
      std::vector<LeasedJob> jobs = Take();
      ASSERT_THAT(jobs, ::testing::Not(IsEmpty()));
      if (limit > 0) {
        ASSERT_LE(jobs.size(), limit);
      }
      Pass(Milliseconds(10));
      for (const LeasedJob& job : jobs) {
        ASSERT_EQ(job.space, space);
        Complete(job);
        ++ended;
      }
    }
  }
};

INSTANTIATE_TEST_SUITE_P(Cores, Adaptive, ::testing::Values(1, 3));

TEST_P(Adaptive, ASpaceBeginsAtMinAndRisesByOneAWindow) {
  for (const std::string space : {"a", ""}) {
    Bounds(2, 4);
    Enqueue(450, space);
    EXPECT_EQ(LimitOf(space), 0u) << "nothing has started";
    Window(space);
    EXPECT_EQ(LimitOf(space), 3u);
    Window(space);
    EXPECT_EQ(LimitOf(space), 4u);
    Window(space);
    EXPECT_EQ(LimitOf(space), 4u) << "max";
    const auto running = Take();
    EXPECT_THAT(running, SizeIs(4));
    EXPECT_GE(Info(space).adaptive->usual, Milliseconds(8));
    NotAdaptive();
    EXPECT_FALSE(Info(space).own.concurrency);
    EXPECT_THAT(Take(), SizeIs(::testing::Gt(5u)));
    PurgeRequest purge;
    purge.queue = "q";
    world_.Run(&purge);
    Pass(Seconds(31));
    for (const LeasedJob& job : Take()) Complete(job);
  }
  EXPECT_THAT(world_.Violations(), IsEmpty());
}

TEST_P(Adaptive, ARiseWakesOneWaiterMore) {
  for (const std::string space : {"a", ""}) {
    Bounds(1, 5);
    Enqueue(120, space);
    // One runs, and two wait, all the while.
    auto held = Take();
    ASSERT_THAT(held, SizeIs(1));
    std::vector<std::unique_ptr<Waiter>> waiters;
    for (uint32_t ended = 1; ended < AdaptiveLimit::kWindowMin; ++ended) {
      while (waiters.size() < 2) waiters.push_back(Wait());
      Pass(Milliseconds(5));
      Complete(held[0]);
      ASSERT_NE(waiters[0]->done, waiters[1]->done) << ended;
      const size_t served = waiters[0]->done ? 0 : 1;
      held = std::move(waiters[served]->request.jobs);
      ASSERT_THAT(held, SizeIs(1));
      waiters.erase(waiters.begin() + static_cast<ptrdiff_t>(served));
    }
    while (waiters.size() < 3) waiters.push_back(Wait());
    Complete(held[0]);
    int done = 0;
    for (const auto& waiter : waiters) done += waiter->done ? 1 : 0;
    EXPECT_EQ(done, 2) << "the slot that was freed, and the new one";
    EXPECT_EQ(LimitOf(space), 2u);
    for (const auto& waiter : waiters) {
      if (!waiter->done) GiveUp(waiter.get());
      for (const LeasedJob& job : waiter->request.jobs) Complete(job);
    }
    NotAdaptive();
    for (const LeasedJob& job : Take()) Complete(job);
  }
  EXPECT_THAT(world_.Violations(), IsEmpty());
}

TEST_P(Adaptive, FailuresHalveItAndNoneStartsUntilFewerRun) {
  for (const std::string space : {"a", ""}) {
    Bounds(8, 8);
    Enqueue(60, space);
    const auto running = Take();
    ASSERT_THAT(running, SizeIs(8));
    Bounds(1, 8);
    EXPECT_EQ(LimitOf(space), 8u) << "what was learned stays";
    uint32_t failed = 0;
    for (const LeasedJob& job : running) {
      Pass(Milliseconds(1));
      Fail(job);
      if (++failed == 8) break;
    }
    for (; failed <= AdaptiveLimit::kWindowMin / 10; ++failed) {
      EXPECT_EQ(LimitOf(space), 8u) << failed;
      const auto next = Take(1);
      ASSERT_THAT(next, SizeIs(1));
      Fail(next[0]);
    }
    EXPECT_EQ(LimitOf(space), 4u);
    EXPECT_EQ(Info(space).adaptive->halvings, 1u);
    EXPECT_THAT(Take(), SizeIs(4));
    EXPECT_THAT(Take(), IsEmpty());
    Pass(Seconds(31));  // expired: four are no tenth of a window
    EXPECT_EQ(LimitOf(space), 4u);
    for (int i = 0; i < 2; ++i) {
      EXPECT_THAT(Take(), SizeIs(4));
      Pass(Seconds(31));
    }
    EXPECT_EQ(LimitOf(space), 2u) << "twelve are";
    NotAdaptive();
    Pass(Hours(2));
    for (const LeasedJob& job : Take()) Complete(job);
  }
  EXPECT_THAT(world_.Violations(), IsEmpty());
}

TEST_P(Adaptive, WhatGivesAJobBackSaysNothing) {
  Bounds(2, 4);
  Enqueue(10, "a");
  for (uint32_t i = 0; i < AdaptiveLimit::kWindowMin; ++i) {
    for (const LeasedJob& job : Take()) {
      ReleaseRequest request;
      request.receipt = job.receipt;
      world_.Run(&request, AnyCore());
      ASSERT_TRUE(request.error.ok());
    }
  }
  EXPECT_EQ(LimitOf("a"), 2u);
  EXPECT_EQ(Info("a").adaptive->halvings, 0u);
}

TEST_P(Adaptive, AConcurrencyOfItsOwnSwitchesItOff) {
  Bounds(1, 4);
  Enqueue(10, "a");
  Enqueue(10);
  Own("a", 3);
  Own("", 2);
  EXPECT_EQ(TakenBySpace(), (std::map<std::string, int>{{"", 2}, {"a", 3}}));
  Pass(Seconds(31));
  UnsetAll("a");
  UnsetAll("");
  EXPECT_EQ(TakenBySpace(), (std::map<std::string, int>{{"", 1}, {"a", 1}}));
  EXPECT_THAT(world_.Violations(), IsEmpty());
}

TEST_P(Adaptive, TheSmallerOfItAndSpaceConcurrencyHolds) {
  Bounds(3, 9);
  SpaceConcurrency(2);
  Enqueue(10, "a");
  Enqueue(10);
  EXPECT_EQ(TakenBySpace(), (std::map<std::string, int>{{"", 2}, {"a", 2}}));
  SpaceConcurrency(5);
  EXPECT_EQ(TakenBySpace(), (std::map<std::string, int>{{"", 1}, {"a", 1}}));
}

TEST_P(Adaptive, BeginsAtMinAfterARestartAndKeepsToItWithLeasesOut) {
  Bounds(2, 9);
  Enqueue(500, "a");
  Window("a");
  EXPECT_EQ(LimitOf("a"), 3u);
  const auto before = Take();
  ASSERT_THAT(before, SizeIs(3));
  Restart();
  EXPECT_THAT(Take(), IsEmpty()) << "three run already";
  for (const LeasedJob& job : before) Complete(job);
  const auto after = Take();
  EXPECT_THAT(after, SizeIs(2));
  for (const LeasedJob& job : after) Complete(job);
  Window("a");
  EXPECT_EQ(LimitOf("a"), 3u);
  EXPECT_THAT(world_.Violations(), IsEmpty());
}

}  // namespace
}  // namespace vestq
