#include "lanes/fair_queue.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <random>
#include <vector>

namespace vestq {
namespace {

using Handle = FairQueue::Handle;

// Serves the space whose turn it is.
uint32_t Serve(FairQueue* queue) {
  const Handle handle = queue->Top();
  queue->Charge(handle);
  return handle.value();
}
std::vector<Handle> ActiveSpaces(FairQueue* queue, size_t count, uint32_t weight = 1) {
  std::vector<Handle> handles;
  for (size_t i = 0; i < count; ++i) {
    handles.push_back(queue->Add(nullptr, weight));
    queue->Activate(handles.back());
  }
  return handles;
}

TEST(FairQueue, EqualSpacesTakeTurns) {
  FairQueue queue;
  ActiveSpaces(&queue, 3);
  std::vector<uint32_t> served;
  for (int i = 0; i < 9; ++i) served.push_back(Serve(&queue));
  EXPECT_EQ(served, (std::vector<uint32_t>{0, 1, 2, 0, 1, 2, 0, 1, 2}));
}

TEST(FairQueue, OneSpaceIsAlwaysNext) {
  FairQueue queue;
  int owner = 0;
  const Handle only = queue.Add(&owner);
  EXPECT_TRUE(queue.empty());
  queue.Activate(only);
  for (int i = 0; i < 1000; ++i) {
    ASSERT_EQ(queue.TopOwner(), &owner);
    queue.Charge(only);
  }
  EXPECT_EQ(queue.TopTag(), 1000 * FairQueue::kRound);
  queue.Deactivate(only);
  EXPECT_TRUE(queue.empty());
}

// FAIR-1: in any window the counts differ by at most one.
TEST(FairQueue, SharesAreEqualOverAnyWindow) {
  FairQueue queue;
  constexpr size_t kSpaces = 7;
  ActiveSpaces(&queue, kSpaces);
  std::vector<uint32_t> served;
  for (int i = 0; i < 500; ++i) served.push_back(Serve(&queue));
  for (size_t begin = 0; begin < served.size(); begin += 3) {
    std::vector<int> counts(kSpaces, 0);
    for (size_t i = begin; i < served.size(); ++i) {
      ++counts[served[i]];
      const auto [least, most] = std::minmax_element(counts.begin(), counts.end());
      ASSERT_LE(*most - *least, 1) << begin << " to " << i;
    }
  }
}

TEST(FairQueue, WeightsShareExactly) {
  FairQueue queue;
  const uint32_t weights[] = {1, 2, 3, 7, 1000};
  std::vector<Handle> handles;
  for (const uint32_t weight : weights) handles.push_back(queue.Add(nullptr, weight));
  for (const Handle handle : handles) queue.Activate(handle);
  std::vector<uint64_t> counts(handles.size(), 0);
  constexpr uint64_t kTotal = 1013, kRounds = 1000;
  for (uint64_t i = 0; i < kTotal * kRounds; ++i) {
    ++counts[Serve(&queue)];
    if (i % 997 != 0) continue;
    for (size_t a = 0; a < handles.size(); ++a) {
      // Within a job of its share at any time, give or take the others' one.
      const double share = static_cast<double>(i + 1) * weights[a] / kTotal;
      ASSERT_NEAR(static_cast<double>(counts[a]), share, 2.0 + weights[a] / 200.0)
          << a << " at " << i;
    }
  }
  for (size_t a = 0; a < handles.size(); ++a) {
    EXPECT_NEAR(static_cast<double>(counts[a]), static_cast<double>(weights[a] * kRounds), 5) << a;
  }
}

TEST(FairQueue, NewSpaceIsServedWithinOneRound) {
  FairQueue queue;
  const size_t kSpaces = 100;
  ActiveSpaces(&queue, kSpaces);
  for (int i = 0; i < 12'345; ++i) Serve(&queue);
  const Handle late = queue.Add();
  queue.Activate(late);
  size_t before = 0;
  while (Serve(&queue) != late.value()) ++before;
  EXPECT_LE(before, kSpaces);
  // And it has nothing to catch up: its next turn is a round later.
  size_t between = 0;
  while (Serve(&queue) != late.value()) ++between;
  EXPECT_EQ(between, kSpaces);
}

TEST(FairQueue, FloodOfOneDoesNotDelayOthers) {
  FairQueue queue;
  const Handle flood = queue.Add();
  queue.Activate(flood);
  for (int i = 0; i < 1'000'000; ++i) Serve(&queue);
  // Small tenants come with a job now and then; each is served after at most one of the flood's and
  // one of each other's that waits.
  std::vector<Handle> tenants;
  for (int i = 0; i < 10; ++i) tenants.push_back(queue.Add());
  std::mt19937_64 random(1);
  std::map<uint32_t, int> waited;
  for (int step = 0; step < 100'000; ++step) {
    const Handle tenant = tenants[random() % tenants.size()];
    if (random() % 3 == 0 && !queue.active(tenant)) {
      queue.Activate(tenant);
      waited[tenant.value()] = 0;
    }
    const uint32_t served = Serve(&queue);
    for (auto& [handle, steps] : waited) ++steps;
    if (served == flood.value()) continue;
    ASSERT_LE(waited[served], 12);
    waited.erase(served);
    queue.Deactivate(Handle(served));
  }
}

TEST(FairQueue, IdlenessSavesNothingUp) {
  FairQueue queue;
  const std::vector<Handle> handles = ActiveSpaces(&queue, 2);
  queue.Deactivate(handles[1]);
  for (int i = 0; i < 1000; ++i) Serve(&queue);
  queue.Activate(handles[1]);
  int counts[2] = {0, 0};
  for (int i = 0; i < 100; ++i) ++counts[Serve(&queue)];
  EXPECT_EQ(counts[0], 50);
  EXPECT_EQ(counts[1], 50);
}

TEST(FairQueue, ComingAndGoingGainsNothing) {
  // A space that goes idle after each job does not get more than one that stays.
  FairQueue queue;
  const std::vector<Handle> handles = ActiveSpaces(&queue, 2);
  int counts[2] = {0, 0};
  for (int i = 0; i < 1000; ++i) {
    const uint32_t served = Serve(&queue);
    ++counts[served];
    if (served != handles[1].value()) continue;
    queue.Deactivate(handles[1]);
    queue.Activate(handles[1]);
  }
  EXPECT_EQ(counts[0], 500);
  EXPECT_EQ(counts[1], 500);
}

TEST(FairQueue, TenThousandSpacesEachOnceARound) {
  FairQueue queue;
  constexpr size_t kSpaces = 10'000;
  ActiveSpaces(&queue, kSpaces);
  for (int round = 1; round <= 10; ++round) {
    std::vector<bool> seen(kSpaces, false);
    for (size_t i = 0; i < kSpaces; ++i) {
      const uint32_t served = Serve(&queue);
      ASSERT_FALSE(seen[served]) << "round " << round;
      seen[served] = true;
    }
  }
  queue.CheckInvariants();
  EXPECT_LE(queue.memory_bytes() / kSpaces, 130u);  // with the slack of doubling
}

TEST(FairQueue, RemovedHandleIsGivenOutAfresh) {
  FairQueue queue;
  const Handle a = queue.Add();
  const Handle b = queue.Add();
  queue.Activate(a);
  queue.Activate(b);
  for (int i = 0; i < 100; ++i) Serve(&queue);
  queue.Remove(a);
  EXPECT_EQ(queue.size(), 1u);
  EXPECT_EQ(queue.Top(), b);
  const Handle c = queue.Add();
  EXPECT_EQ(c, a);
  EXPECT_FALSE(queue.active(c));
  queue.Activate(c);
  EXPECT_EQ(queue.size(), 2u);
  EXPECT_GE(queue.TopTag(), queue.virtual_time());
}

TEST(FairQueue, AdvanceToMovesOnlyAnIdleQueueAndOnlyForward) {
  FairQueue queue;
  const Handle a = queue.Add();
  queue.AdvanceTo(500 * FairQueue::kRound);
  queue.AdvanceTo(3 * FairQueue::kRound);
  queue.Activate(a);
  EXPECT_EQ(queue.TopTag(), 500 * FairQueue::kRound);
  queue.AdvanceTo(900 * FairQueue::kRound);
  EXPECT_EQ(queue.virtual_time(), 500 * FairQueue::kRound);
}

TEST(FairQueue, ChargingOutOfTurnDoesNotCarryTheOthersAlong) {
  FairQueue queue;
  const std::vector<Handle> handles = ActiveSpaces(&queue, 2);
  for (int i = 0; i < 10; ++i) queue.Charge(handles[1]);
  queue.CheckInvariants();
  EXPECT_EQ(queue.virtual_time(), 0u);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(Serve(&queue), handles[0].value());
}

TEST(FairQueue, RandomUseKeepsTheInvariants) {
  FairQueue queue;
  std::vector<Handle> handles;
  std::mt19937_64 random(5);
  uint64_t virtual_before = 0;
  for (int step = 0; step < 200'000; ++step) {
    const uint64_t choice = random() % 16;
    if (handles.size() < 5 || (choice == 0 && handles.size() < 300)) {
      handles.push_back(queue.Add(nullptr, static_cast<uint32_t>(1 + random() % 10)));
    }
    const size_t at = random() % handles.size();
    if (choice == 1) {
      queue.Remove(handles[at]);
      handles[at] = handles.back();
      handles.pop_back();
    } else if (choice < 5) {
      queue.Activate(handles[at]);
    } else if (choice < 7) {
      queue.Deactivate(handles[at]);
    } else if (choice == 7) {
      queue.Charge(handles[at], static_cast<uint32_t>(random() % 5));
    } else if (!queue.empty()) {
      Serve(&queue);
    }
    ASSERT_GE(queue.virtual_time(), virtual_before);  // FAIR-2
    virtual_before = queue.virtual_time();
    if (step % 16 == 0) queue.CheckInvariants();
  }
}

}  // namespace
}  // namespace vestq
