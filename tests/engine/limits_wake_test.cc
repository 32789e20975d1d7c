// Limits beside PURGE, DROP and groups, and whom a freed slot or a due token wakes: LEASEs of one space too,
// wherever they wait.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/group_request.h"
#include "engine/purge_request.h"
#include "tests/engine/limits_fixture.h"

namespace vestq {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

class LimitsWake : public Limits {
 protected:
  void Purge(std::optional<JobState> state, bool drop = false) {
    PurgeRequest request;
    request.queue = "q";
    request.state = state;
    request.drop = drop;
    world_.Run(&request, AnyCore());
    ASSERT_TRUE(request.error.ok()) << request.error.ToString();
    world_.Settle();
  }
  int64_t Leased() { return world_.Counts("q").leased; }
};

TEST_P(LimitsWake, ASlotOfTheQueueWakesALeaseOfOneSpace) {
  Concurrency(1);
  Enqueue(3, "a");
  Enqueue(3, "b");
  Enqueue(3);
  auto held = Take();
  ASSERT_THAT(held, SizeIs(1));
  for (const std::string space : {"a", "b", "", "b", "a", ""}) {
    auto waiter = Wait(space);
    ASSERT_FALSE(waiter->done);
    Complete(held[0]);
    ASSERT_TRUE(waiter->done) << "'" << space << "'";
    held = std::move(waiter->request.jobs);
    EXPECT_EQ(held[0].space, space);
    EXPECT_THAT(Take(), IsEmpty());
  }
  EXPECT_THAT(world_.Violations(), IsEmpty());
}

TEST_P(LimitsWake, ASlotOfTheSpaceWakesALeaseOfThatSpace) {
  SpaceConcurrency(1);
  Enqueue(4, "a");
  Enqueue(4, "b");
  Enqueue(4);
  for (const LeasedJob& job : Take()) {
    auto first = Wait(job.space);
    auto second = Wait(job.space);
    auto other = Wait(job.space == "a" ? "b" : "a");
    ASSERT_FALSE(first->done || second->done);
    Complete(job);
    ASSERT_NE(first->done, second->done) << "'" << job.space << "'";
    EXPECT_FALSE(other->done);
    auto& winner = first->done ? first : second;
    auto& loser = first->done ? second : first;
    Complete(winner->request.jobs[0]);
    ASSERT_TRUE(loser->done);
    ASSERT_FALSE(other->done);
    GiveUp(other.get());
  }
}

TEST_P(LimitsWake, ALimitThatIsRaisedWakesLeasesOfOneSpace) {
  Concurrency(0);
  Enqueue(2, "a");
  Enqueue(2, "b");
  std::vector<std::unique_ptr<Waiter>> waiters;
  for (const char* space : {"a", "b", "b", "a"}) waiters.push_back(Wait(space));
  for (const auto& waiter : waiters) EXPECT_FALSE(waiter->done);
  Concurrency(3);
  EXPECT_EQ(std::count_if(waiters.begin(), waiters.end(), [](auto& w) { return w->done; }), 3);
  NoLimits();
  for (const auto& waiter : waiters) EXPECT_TRUE(waiter->done);
}

TEST_P(LimitsWake, ATokenWakesLeasesOfOneSpaceOneAfterTheOther) {
  Enqueue(4, "a");
  Enqueue(4, "b");
  Enqueue(4);
  Rate(2);
  ASSERT_THAT(Take(), SizeIs(1));
  std::vector<std::unique_ptr<Waiter>> waiters;
  for (const char* space : {"a", "b", "", "a", "b", "", "a"}) waiters.push_back(Wait(space));
  const auto done = [&] {
    return std::count_if(waiters.begin(), waiters.end(), [](auto& w) { return w->done; });
  };
  for (int64_t i = 0; i < static_cast<int64_t>(waiters.size()); ++i) {
    Pass(Milliseconds(499));
    EXPECT_EQ(done(), i);
    Pass(Milliseconds(1));
    ASSERT_EQ(done(), i + 1);
  }
}

// The one that watched for the token has gone: another core's waiter gets it.
TEST_P(LimitsWake, ATokenFindsAWaiterWhenTheOneBeforeHasGivenUp) {
  Rate(0.5);
  Enqueue(1);
  ASSERT_THAT(Take(), SizeIs(1));
  std::vector<std::unique_ptr<Waiter>> brief, patient;
  for (int i = 0; i < 4; ++i) brief.push_back(Wait(std::nullopt, Milliseconds(500)));
  Pass(Milliseconds(100));
  for (int i = 0; i < 4; ++i) patient.push_back(Wait());
  Enqueue(4);
  Pass(Milliseconds(400));
  for (auto& waiter : brief) {
    EXPECT_TRUE(waiter->done);
    EXPECT_THAT(waiter->request.jobs, IsEmpty());
  }
  for (int64_t due = 0; due < 4; ++due) {
    Pass(Milliseconds(due == 0 ? 1500 : 2000));
    EXPECT_EQ(std::count_if(patient.begin(), patient.end(), [](auto& w) { return w->done; }),
              due + 1);
  }
}

TEST_P(LimitsWake, WhatIsPurgedWhileLeasedGivesItsSlotsBack) {
  Concurrency(4);
  SpaceConcurrency(2);
  Enqueue(6, "a");
  Enqueue(6, "b");
  Enqueue(6);
  ASSERT_THAT(Take(), SizeIs(4));
  auto waiter = Wait("a");
  Purge(JobState::kLeased);
  EXPECT_TRUE(waiter->done);
  EXPECT_THAT(Take(), SizeIs(3));
  Purge(std::nullopt);  // the ready ones: leases stay, and their slots
  Enqueue(6, "a");
  EXPECT_THAT(Take(), IsEmpty());
  EXPECT_EQ(Leased(), 4);
  Restart();
  EXPECT_THAT(Take(), IsEmpty());
  Pass(Seconds(31));
  EXPECT_THAT(Take(), SizeIs(4));
  EXPECT_THAT(world_.Violations(), IsEmpty());
}

TEST_P(LimitsWake, ADroppedQueueLeavesNoLimitAndNoSlot) {
  Concurrency(3);
  SpaceConcurrency(1);
  Rate(0.01, 3);
  Enqueue(6, "a");
  Enqueue(6, "b");
  Enqueue(6);
  ASSERT_THAT(Take(), SizeIs(3));
  auto waiter = Wait();
  Purge(std::nullopt, true);
  EXPECT_FALSE(waiter->done);
  Enqueue(9, "a");
  EXPECT_TRUE(waiter->done);  // no limit is left
  EXPECT_THAT(Take(), SizeIs(8));
  EXPECT_EQ(Leased(), 9);
  Concurrency(10);  // counts the leases of the new queue, and not those of the old one
  Enqueue(9, "b");
  EXPECT_THAT(Take(), SizeIs(1));
  Purge(std::nullopt, true);
  Concurrency(2);
  Enqueue(5);
  EXPECT_THAT(Take(), SizeIs(2));
  Restart();
  EXPECT_THAT(Take(), IsEmpty());
  EXPECT_THAT(world_.Violations(), IsEmpty());
}

// A limit that comes before the leases of a dropped queue are swept away counts none of them.
TEST_P(LimitsWake, ALimitAtOnceAfterADrop) {
  Enqueue(40);
  ASSERT_THAT(Take(), SizeIs(40));
  PurgeRequest drop;
  drop.queue = "q";
  drop.drop = true;
  QueueSetRequest set;
  set.queue = "q";
  set.set.concurrency = 2;
  bool dropped = false, was_set = false;
  world_.Start(&drop, &dropped, AnyCore());
  world_.Start(&set, &was_set, AnyCore());
  while (world_.Step()) {
  }
  world_.Settle();
  ASSERT_TRUE(dropped && was_set);
  Concurrency(2);  // whichever was first
  Enqueue(5);
  auto jobs = Take();
  EXPECT_THAT(jobs, SizeIs(2));
  Complete(jobs[0]);
  EXPECT_THAT(Take(), SizeIs(1));
}

// What a group ends, on any core, frees its slots; what it does not carry out frees none.
TEST_P(LimitsWake, AGroupThatEndsLeasesFreesTheirSlots) {
  Concurrency(4);
  SpaceConcurrency(2);
  for (const char* space : {"a", "b", "c", ""}) Enqueue(30, space);
  for (int round = 0; round < 6; ++round) {
    auto jobs = Take();
    ASSERT_THAT(jobs, SizeIs(4));
    auto first = Wait();
    auto second = Wait(jobs[1].space);
    GroupRequest group;
    for (const LeasedJob& job : jobs) {
      auto complete = std::make_unique<CompleteRequest>();
      complete->receipt = job.receipt;
      group.members.push_back(std::move(complete));
    }
    if (round % 2 == 1) {  // one that cannot be: the same lease twice
      auto again = std::make_unique<CompleteRequest>();
      again->receipt = jobs[0].receipt;
      group.members.push_back(std::move(again));
    }
    world_.Run(&group, AnyCore());
    world_.Settle();
    if (round % 2 == 1) {
      EXPECT_FALSE(group.error.ok());
      EXPECT_FALSE(first->done || second->done);
      EXPECT_THAT(Take(), IsEmpty());
      for (const LeasedJob& job : jobs) Complete(job);
    }
    ASSERT_TRUE(first->done) << round;
    ASSERT_TRUE(second->done) << round;
    Complete(first->request.jobs[0]);
    Complete(second->request.jobs[0]);
  }
  EXPECT_THAT(world_.Violations(), IsEmpty());
}

// A queue with limits does not vanish: they are options.
TEST_P(LimitsWake, AQueueWithALimitStays) {
  Rate(5);
  Pass(Seconds(200));
  Restart();
  Enqueue(3);
  EXPECT_THAT(Take(), SizeIs(1));
}

// With other cores than before, the rate's words are those of cores that are no more.
TEST_P(LimitsWake, TheRateHoldsWhenTheNumberOfCoresChanges) {
  Enqueue(20);
  Rate(0.1, 5);
  for (int i = 0; i < 5; ++i) ASSERT_THAT(Take(1), SizeIs(1));
  for (const uint16_t cores : {1, 3, 2, 4, 1}) {
    world_.Kill();
    world_.set_cores(cores);
    world_.Open();
    world_.Settle();
    EXPECT_THAT(world_.Lease("q", 10), IsEmpty());
    Pass(Seconds(10));
    EXPECT_THAT(world_.Lease("q", 10), SizeIs(1));
  }
}

INSTANTIATE_TEST_SUITE_P(Cores, LimitsWake,
                         ::testing::Values(1, 2, 4, kFewSpaces + 1, kFewSpaces + 4),
                         ::testing::PrintToStringParamName());

}  // namespace
}  // namespace vestq
