#include "lanes/backlog.h"

#include <gtest/gtest.h>

#include <random>
#include <thread>
#include <vector>

namespace vestq {
namespace {

constexpr BacklogLimits kTen{10, kNoRoomLimit};

// Takes room for so many jobs and bytes, with nothing of its own to use.
bool Take(SharedBacklog* backlog, Backlog want, const BacklogLimits& limits) {
  Backlog taken;
  const bool fits = backlog->TryTake(want, Backlog(), limits, &taken);
  EXPECT_EQ(taken, fits ? want : Backlog());
  return fits;
}

TEST(Backlog, TakesUpToTheLimitAndNotOneMore) {
  SharedBacklog backlog;
  EXPECT_TRUE(Take(&backlog, {7, 0}, kTen));
  EXPECT_FALSE(Take(&backlog, {4, 0}, kTen));
  EXPECT_TRUE(Take(&backlog, {3, 0}, kTen));
  EXPECT_FALSE(Take(&backlog, {1, 0}, kTen));
  EXPECT_EQ(backlog.held(), (Backlog{10, 0}));
  backlog.Add({-1, 0});
  EXPECT_TRUE(Take(&backlog, {1, 0}, kTen));
}

TEST(Backlog, WhatDoesNotFitTakesNothingOfTheOtherLimit) {
  SharedBacklog backlog;
  const BacklogLimits both{10, 100};
  EXPECT_TRUE(Take(&backlog, {1, 90}, both));
  EXPECT_FALSE(Take(&backlog, {1, 11}, both));
  EXPECT_EQ(backlog.held(), (Backlog{1, 90}));
  EXPECT_TRUE(Take(&backlog, {1, 10}, both));
}

TEST(Backlog, NobodyIsRefusedForWhatHeDoesNotWant) {
  SharedBacklog backlog;
  backlog.Add({20, 500});
  const BacklogLimits both{10, 100};
  EXPECT_FALSE(Take(&backlog, {1, 0}, both));
  EXPECT_FALSE(Take(&backlog, {0, 1}, both));
  EXPECT_TRUE(Take(&backlog, {0, 0}, both));
  EXPECT_TRUE(Take(&backlog, {1, 1}, BacklogLimits()));
  EXPECT_FALSE(both.Concern({0, 0}));
  EXPECT_TRUE(both.Concern({0, 1}));
  EXPECT_FALSE((BacklogLimits{10, kNoRoomLimit}.Concern({0, 1})));
  EXPECT_TRUE(both.Exceeded({11, 0}));
  EXPECT_FALSE(both.Exceeded({10, 100}));
}

TEST(Backlog, CreditIsUsedFirstAlsoWhenTheQueueIsFull) {
  SharedBacklog backlog;
  backlog.Add({10, 0});
  Backlog taken;
  // Two jobs have ended here, that room is still held: it is used again.
  EXPECT_TRUE(backlog.TryTake({2, 0}, {2, 0}, kTen, &taken));
  EXPECT_EQ(taken, Backlog());
  EXPECT_FALSE(backlog.TryTake({3, 0}, {2, 0}, kTen, &taken));
  backlog.Add({-1, 0});
  EXPECT_TRUE(backlog.TryTake({3, 0}, {2, 0}, kTen, &taken));
  EXPECT_EQ(taken, (Backlog{1, 0}));
}

TEST(Backlog, ALimitBelowWhatStandsIsNotGoneBeyondWithCredit) {
  SharedBacklog backlog;
  backlog.Add({20, 0});
  Backlog taken;
  EXPECT_FALSE(backlog.TryTake({1, 0}, {10, 0}, kTen, &taken));  // 20 - 10 + 1
  EXPECT_TRUE(backlog.TryTake({1, 0}, {11, 0}, kTen, &taken));
  EXPECT_EQ(taken, Backlog());
}

// BACKLOG-1 and 2, by several threads: each holds at least what stands with it.
TEST(Backlog, NeverMoreThanTheLimitStandsByAnyOrderOfThreads) {
  constexpr int kThreads = 4;
  constexpr int kRounds = 20'000;
  SharedBacklog backlog;
  std::atomic<int64_t> standing{0};
  std::atomic<bool> over{false};
  const BacklogLimits limits{50, 400};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      std::mt19937 random(static_cast<uint32_t>(t));
      Backlog held, here;
      for (int i = 0; i < kRounds; ++i) {
        const Backlog want{1 + static_cast<int64_t>(random() % 3),
                           static_cast<int64_t>(random() % 20)};
        Backlog taken;
        const bool fits = backlog.TryTake(want, held - here, limits, &taken);
        held += taken;
        if (fits) {
          here += want;
          if (standing.fetch_add(want.jobs) + want.jobs > limits.jobs) over = true;
        }
        if (!fits || random() % 4 == 0) {
          const Backlog gone{here.jobs / 2, here.bytes / 2};
          here -= gone;
          standing.fetch_sub(gone.jobs);
          if (random() % 2 == 0) {  // the turn ends
            backlog.Add(here - held);
            held = here;
          }
        }
      }
      standing.fetch_sub(here.jobs);
      backlog.Add(Backlog() - held);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_FALSE(over);
  EXPECT_EQ(backlog.held(), Backlog());
}

}  // namespace
}  // namespace vestq
