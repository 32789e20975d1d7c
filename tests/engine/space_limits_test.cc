// Options of single spaces: limits, rates and pauses of their own, beside what the queue says of each. Case
// B24 for a space with a limit of its own. Weights: cases_fair_test.cc.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "tests/engine/space_fixture.h"

namespace vestq {
namespace {

using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

TEST_P(SpaceLimits, ASpacesOwnLimitHoldsInsteadOfTheQueues) {
  SpaceConcurrency(2);
  Own("a", 4);
  Own("b", keycodec::kSlotsUnlimited);
  Own("", 1);
  for (const char* space : {"a", "b", "c", ""}) Enqueue(10, space);
  using Taken = std::map<std::string, int>;
  EXPECT_EQ(TakenBySpace(), (Taken{{"", 1}, {"a", 4}, {"b", 10}, {"c", 2}}));
  Restart();
  EXPECT_THAT(Take(), IsEmpty());
  UnsetAll("a");
  EXPECT_THAT(Take(), IsEmpty());  // four still run
  Own("c", 5);
  Own("", 3);
  EXPECT_EQ(TakenBySpace(), (Taken{{"", 2}, {"c", 3}}));
  Pass(Seconds(31));
  EXPECT_EQ(TakenBySpace(), (Taken{{"", 3}, {"a", 2}, {"b", 10}, {"c", 5}}));
  EXPECT_THAT(world_.Violations(), IsEmpty());
}

// Without any limit of the queue: what runs already is counted.
TEST_P(SpaceLimits, ALimitThatComesLaterCountsTheLeasesThereAre) {
  for (const char* space : {"a", "b", ""}) Enqueue(10, space);
  std::map<std::string, int> running;
  for (const LeasedJob& job : Take(9)) ++running[job.space];
  Own("a", 3);
  Own("", 4);
  for (const auto& [space, count] : TakenBySpace()) {
    const int limit = space == "a" ? 3 : space.empty() ? 4 : 10;
    EXPECT_LE(running[space] + count, limit) << "'" << space << "'";
  }
  Pass(Seconds(31));
  EXPECT_EQ(TakenBySpace(), (std::map<std::string, int>{{"", 4}, {"a", 3}, {"b", 10}}));
}

TEST_P(SpaceLimits, AFreedSlotWakesWhoWaitsForTheSpaceOrForAny) {
  Own("a", 1);
  Own("", 1);
  for (const std::string space : {"a", ""}) {
    Enqueue(6, space);
    auto held = Take();
    ASSERT_THAT(held, SizeIs(1));
    for (int i = 0; i < 4; ++i) {
      auto waiter = i % 2 == 0 ? Wait(space) : Wait();
      ASSERT_FALSE(waiter->done);
      Complete(held[0]);
      ASSERT_TRUE(waiter->done) << "'" << space << "' " << i;
      held = std::move(waiter->request.jobs);
      EXPECT_THAT(Take(), IsEmpty());
    }
    Complete(held[0]);
    EXPECT_THAT(Take(1), SizeIs(1));
    Pass(Seconds(31));
    while (true) {
      const auto left = Take();
      if (left.empty()) break;
      for (const LeasedJob& job : left) Complete(job);
    }
  }
}

TEST_P(SpaceLimits, ALimitThatIsRaisedWakesAsManyAsThereIsRoomFor) {
  for (const std::string space : {"a", ""}) {
    Own(space, 0);
    Enqueue(6, space);
    std::vector<std::unique_ptr<Waiter>> waiters;
    for (int i = 0; i < 6; ++i) waiters.push_back(i % 2 == 0 ? Wait(space) : Wait());
    const auto done = [&] {
      return std::count_if(waiters.begin(), waiters.end(), [](auto& w) { return w->done; });
    };
    EXPECT_EQ(done(), 0);
    Own(space, 4);
    EXPECT_EQ(done(), 4) << "'" << space << "'";
    UnsetAll(space);
    EXPECT_EQ(done(), 6) << "'" << space << "'";
  }
}

TEST_P(SpaceLimits, APausedSpaceHoldsUpNobodyAndGoesOnWhenItIsResumed) {
  for (const std::string space : {"a", ""}) {
    Pause(space);
    Enqueue(2, space);
    Enqueue(2, "other");
    EXPECT_EQ(TakenBySpace(), (std::map<std::string, int>{{"other", 2}}));
    auto any = Wait();
    auto one = Wait(space);
    Restart();
    EXPECT_THAT(Take(), IsEmpty());
    any = Wait();
    one = Wait(space);
    EXPECT_FALSE(any->done || one->done);
    Resume(space);
    EXPECT_TRUE(any->done && one->done) << "'" << space << "'";
  }
}

TEST_P(SpaceLimits, APauseEndsByItself) {
  for (const std::string space : {"a", ""}) {
    Pause(space, Seconds(20));
    Enqueue(3, space);
    auto any = Wait();
    auto one = Wait(space);
    Pass(Milliseconds(19'900));
    EXPECT_FALSE(any->done || one->done);
    Pass(Milliseconds(101));
    EXPECT_TRUE(any->done && one->done) << "'" << space << "'";
    EXPECT_THAT(Take(), SizeIs(1));
    Pause(space, Seconds(40));
    Enqueue(1, space);
    Restart();
    one = Wait(space);
    Pass(Seconds(41));
    EXPECT_TRUE(one->done);
    UnsetAll(space);
    Pass(Seconds(31));
    for (const LeasedJob& job : Take()) Complete(job);
  }
}

TEST_P(SpaceLimits, JobsOfASpaceStartAtItsRateAndAWaiterIsWokenWhenATokenIsDue) {
  for (const std::string space : {"a", ""}) {
    OwnRate(space, 2, 3);
    Enqueue(20, space);
    Enqueue(1, "other");
    EXPECT_EQ(TakenBySpace(), (std::map<std::string, int>{{"other", 1}, {space, 3}}));
    EXPECT_THAT(Take(), IsEmpty());
    auto first = Wait();
    auto second = Wait(space);
    for (const int done : {1, 2}) {
      Pass(Milliseconds(499));
      EXPECT_EQ(first->done + second->done, done - 1) << "'" << space << "'";
      Pass(Milliseconds(1));
      EXPECT_EQ(first->done + second->done, done) << "'" << space << "'";
    }
    const auto jobs = Take();
    EXPECT_THAT(jobs, IsEmpty());
    UnsetAll(space);
    EXPECT_THAT(Take(), SizeIs(15));
  }
  EXPECT_THAT(world_.Violations(), IsEmpty());
}

TEST_P(SpaceLimits, TheQueueGivesEachSpaceARate) {
  Set([](QueueSetRequest* r) {
    r->set.space_rate_micro = 1'000'000;
    r->set.space_burst = 2;
  });
  OwnRate("b", 1, 5);
  SetSpace("c", [](SpaceSetRequest* r) { r->set.rate_micro = 0; });
  for (const char* space : {"a", "b", "c", ""}) Enqueue(8, space);
  using Taken = std::map<std::string, int>;
  EXPECT_EQ(TakenBySpace(), (Taken{{"", 2}, {"a", 2}, {"b", 5}, {"c", 8}}));
  Pass(Seconds(1));
  EXPECT_EQ(TakenBySpace(), (Taken{{"", 1}, {"a", 1}, {"b", 1}}));
  // Faster from now on: what was slow holds nobody up longer than the new rate does.
  Set([](QueueSetRequest* r) { r->set.space_rate_micro = 1'000'000'000; });
  Pass(Milliseconds(2));
  EXPECT_EQ(TakenBySpace(), (Taken{{"", 2}, {"a", 2}}));
}

TEST_P(SpaceLimits, ARateHoldsAcrossRestartsAndASlowOneGoesOn) {
  for (const std::string space : {"a", ""}) {
    OwnRate(space, 0.5, 4);
    Enqueue(20, space);
    EXPECT_THAT(Take(1000, Hours(1)), SizeIs(4));
    for (int i = 0; i < 5; ++i) {
      Restart();
      EXPECT_THAT(Take(1000, Hours(1)), IsEmpty());
      world_.StepWall(Days(i - 2));
      EXPECT_THAT(Take(1000, Hours(1)), IsEmpty());
      Pass(Milliseconds(2000));
      EXPECT_THAT(Take(1000, Hours(1)), SizeIs(1)) << "'" << space << "'";
    }
    Pass(Seconds(6));
    EXPECT_THAT(Take(1, Hours(1)), SizeIs(1));  // two are left of the burst
    Restart();
    EXPECT_THAT(Take(1000, Hours(1)), SizeIs(2));
    UnsetAll(space);
    EXPECT_THAT(Take(1000, Hours(1)), Not(IsEmpty()));
  }
}

TEST_P(SpaceLimits, HoldWithAnotherNumberOfCores) {
  OwnRate("a", 0.1, 5);
  OwnRate("", 0.1, 5);
  Own("b", 2);
  for (const char* space : {"a", "b", ""}) Enqueue(30, space);
  EXPECT_THAT(Take(1000, Hours(1)), SizeIs(12));
  for (const uint16_t cores : {1, 3, 2, 4, 1}) {
    world_.Kill();
    world_.set_cores(cores);
    world_.Open();
    world_.Settle();
    EXPECT_THAT(world_.Lease("q", 20), IsEmpty());
    Pass(Seconds(10));
    EXPECT_THAT(world_.Lease("q", 20, Hours(1)), SizeIs(2));
  }
}

// B24.6 for a space with limits of its own: random mixes with crashes; in the end all jobs run.
TEST_P(SpaceLimits, RandomMixesNeverExceedTheLimitsAndAllJobsRun) {
  std::mt19937_64 random(24);
  const std::vector<std::string> names = {"", "s", "ss"};
  std::map<std::string, uint32_t> limit;
  std::map<std::string, bool> paused;
  for (const std::string& name : names) Own(name, limit[name] = 2);
  std::map<JobId, std::string> todo;
  std::vector<LeasedJob> held;
  const auto end_of = [&](size_t i) {
    held[i] = std::move(held.back());
    held.pop_back();
  };
  for (int step = 0; step < 700; ++step) {
    const uint64_t choice = random() % 100;
    const std::string& name = names[random() % names.size()];
    const size_t i = held.empty() ? 0 : random() % held.size();
    if (choice < 25) {
      EnqueueRequest request;
      request.queue = "q";
      request.space = name;
      world_.Run(&request, AnyCore());
      todo[request.id] = name;
    } else if (choice < 60) {
      for (LeasedJob& job : Take(1 + random() % 4, Seconds(30))) {
        const std::string space = job.space;
        EXPECT_FALSE(paused[space]);
        held.push_back(std::move(job));
        EXPECT_LE(std::count_if(held.begin(), held.end(),
                                [&](const LeasedJob& other) { return other.space == space; }),
                  limit[space]);
      }
    } else if (choice < 80 && !held.empty()) {
      todo.erase(held[i].receipt.id);
      Complete(held[i]);
      end_of(i);
    } else if (choice < 85 && !held.empty()) {
      ReleaseRequest request;
      request.receipt = held[i].receipt;
      world_.Run(&request, AnyCore());
      end_of(i);
    } else if (choice < 88) {
      Pass(Seconds(31));
      held.clear();
    } else if (choice < 91) {
      Restart();
    } else if (choice < 96) {
      limit[name] = static_cast<uint32_t>(random() % 4);
      Own(name, limit[name]);
    } else if (paused[name]) {
      paused[name] = false;
      Resume(name);
    } else {
      paused[name] = true;
      Pause(name);
    }
    world_.Settle();
    ASSERT_EQ(world_.Counts("q").leased, static_cast<int64_t>(held.size()));
  }
  for (const std::string& name : names) UnsetAll(name);
  Finish(&todo);
}

INSTANTIATE_TEST_SUITE_P(Cores, SpaceLimits,
                         ::testing::Values(1, 2, 4, kFewSpaces + 1, kFewSpaces + 4),
                         ::testing::PrintToStringParamName());

}  // namespace
}  // namespace vestq
