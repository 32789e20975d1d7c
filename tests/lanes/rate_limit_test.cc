#include "lanes/rate_limit.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace vestq {
namespace {

constexpr uint64_t kPerSecond = 1'000'000;  // in millionths

TEST(RateText, Parses) {
  struct Row {
    std::string_view text;
    uint64_t micro;
    std::string_view shown;
  };
  const Row rows[] = {
      {"1", 1'000'000, "1/s"},
      {"0.5/s", 500'000, "0.5/s"},
      {"20/s", 20'000'000, "20/s"},
      {"0.000001", 1, "0.000001/s"},
      {"3.25", 3'250'000, "3.25/s"},
      {"7.10", 7'100'000, "7.1/s"},
      {"1000000", limits::kRateMicroMax, "1000000/s"},
      {"999999.999999", limits::kRateMicroMax - 1, "999999.999999/s"},
  };
  for (const Row& row : rows) {
    const Result<uint64_t> parsed = ParseRate(row.text, "rate");
    ASSERT_TRUE(parsed.ok()) << row.text << ": " << parsed.error().ToString();
    EXPECT_EQ(*parsed, row.micro) << row.text;
    EXPECT_EQ(RateToText(row.micro), row.shown);
    EXPECT_EQ(*ParseRate(row.shown, "rate"), row.micro);
  }
}

TEST(RateText, RefusesWhatIsNoRate) {
  for (const std::string_view text :
       {"", "/s", ".", ".5", "5.", "1.2.3", "-1", "+1", "1e3", " 1", "1 ", "10/m", "10/S", "1,5",
        "0.1234567", "007.10", "00", "nan", "99999999999999999999x"}) {
    const Result<uint64_t> parsed = ParseRate(text, "rate");
    ASSERT_FALSE(parsed.ok()) << text;
    EXPECT_EQ(parsed.error().code(), ErrorCode::kSyntax) << text;
    EXPECT_EQ(parsed.error().text().find("rate must be a number of jobs a second"), 0u) << text;
  }
  for (const std::string_view text :
       {"0", "0.000000", "0/s", "1000000.000001", "1000001", "18446744073709551617",
        "99999999999999999999999999999999999"}) {
    const Result<uint64_t> parsed = ParseRate(text, "space-rate");
    ASSERT_FALSE(parsed.ok()) << text;
    EXPECT_EQ(parsed.error().code(), ErrorCode::kRange) << text;
    EXPECT_EQ(parsed.error().text(), "space-rate must be from 0.000001 to 1000000 jobs a second");
  }
}

TEST(RateLimit, StartsAsTheTableSays) {
  struct Row {
    int64_t at_ms;
    bool starts;
    int64_t due_ms;  // of the next one, seen at at_ms
  };
  const auto run = [](const RateLimit& limit, const std::vector<Row>& rows) {
    RateState state;
    for (const Row& row : rows) {
      const MonoTime now(row.at_ms);
      ASSERT_EQ(state.MayStart(limit, now), row.starts) << "at " << row.at_ms;
      if (row.starts) state.Start(limit, now);
      EXPECT_EQ(state.DueAt(limit, now).ms(), row.due_ms) << "at " << row.at_ms;
    }
  };
  // One in two seconds.
  run(RateLimit(kPerSecond / 2, 1), {{5000, true, 7000},
                                     {5000, false, 7000},
                                     {6999, false, 7000},
                                     {7000, true, 9000},
                                     {60'000, true, 62'000},
                                     {60'001, false, 62'000}});
  // Ten a second, three at once.
  run(RateLimit(10 * kPerSecond, 3), {{1000, true, 1000},
                                      {1000, true, 1000},
                                      {1000, true, 1100},
                                      {1099, false, 1100},
                                      {1100, true, 1200},
                                      {1350, true, 1350},
                                      {1350, true, 1400},
                                      {1350, false, 1400}});
  // Three a second: a third of a second is no whole number of milliseconds.
  run(RateLimit(3 * kPerSecond, 1), {{1000, true, 1334}, {1333, false, 1334}, {1334, true, 1668}});
  // The greatest: a thousand a millisecond.
  const RateLimit fast(limits::kRateMicroMax, 1000);
  RateState state;
  for (int i = 0; i < 1000; ++i) state.Start(fast, MonoTime(5));
  EXPECT_FALSE(state.MayStart(fast, MonoTime(5)));
  for (int i = 0; i < 1000; ++i) state.Start(fast, MonoTime(6));
  EXPECT_EQ(state.DueAt(fast, MonoTime(6)).ms(), 7);
}

TEST(RateLimit, TheSlowestAndLongestDoNotOverflow) {
  const RateLimit slow(1, limits::kBurstMax);
  RateState state;
  const MonoTime now(WallTime(4'102'444'800'000).ms());  // engine time of the year 2100
  for (int i = 0; i < 1000; ++i) {
    if (state.MayStart(slow, now)) state.Start(slow, now);
  }
  EXPECT_GE(state.DueAt(slow, now), now);
  EXPECT_GT(state.arrival_ns(), RateState::NsOf(now));
  EXPECT_GT(RateState::Exhausted(slow, now).arrival_ns(), state.arrival_ns());
  state.Change(slow, RateLimit(limits::kRateMicroMax, 1), now);
  EXPECT_EQ(state.DueAt(RateLimit(limits::kRateMicroMax, 1), now), now + Milliseconds(1));
}

TEST(RateLimit, AChangeKeepsWhatIsOwedInJobs) {
  const MonoTime now(1'000'000);
  const RateLimit slow(kPerSecond / 1000, 5);  // one in 1000 s
  RateState state;
  for (int i = 0; i < 5; ++i) state.Start(slow, now);
  // Five jobs are owed. At a thousand a second that is 5 ms, not 5000 s.
  const RateLimit fast(1000 * kPerSecond, 5);
  RateState faster = state;
  faster.Change(slow, fast, now);
  EXPECT_FALSE(faster.MayStart(fast, now));
  EXPECT_LE(faster.DueAt(fast, now).ms(), now.ms() + 2);
  // A smaller burst cannot owe more than itself.
  const RateLimit narrow(kPerSecond, 2);
  RateState narrower = state;
  narrower.Change(slow, narrow, now);
  EXPECT_EQ(narrower.arrival_ns(), RateState::NsOf(now) + narrow.full_debt_ns());
  // A larger one has room at once.
  const RateLimit wide(kPerSecond / 1000, 7);
  RateState wider = state;
  wider.Change(slow, wide, now);
  EXPECT_TRUE(wider.MayStart(wide, now));
  // The same again changes nothing; none and back owes nothing.
  RateState same = state;
  same.Change(slow, RateLimit(kPerSecond / 1000, 5), now);
  EXPECT_EQ(same.arrival_ns(), state.arrival_ns());
  same.Change(slow, RateLimit(), now);
  same.Change(RateLimit(), slow, now);
  EXPECT_TRUE(same.MayStart(slow, now));
}

TEST(RateLimit, WhatIsStoredIsNeverLessThanWhatIsOwed) {
  const RateLimit limit(3 * kPerSecond, 2);
  RateState state;
  state.Start(limit, MonoTime(1000));
  const RateState back = RateState::Restored(limit, state.ToStore(), MonoTime(1000));
  EXPECT_GE(back.arrival_ns(), state.arrival_ns());
  EXPECT_LT(back.arrival_ns(), state.arrival_ns() + 1'000'000);
  // From a limit that was wider: no longer silence than this one can ask for.
  EXPECT_EQ(RateState::Restored(limit, MonoTime(99'000'000), MonoTime(1000)).arrival_ns(),
            RateState::Exhausted(limit, MonoTime(1000)).arrival_ns());
}

// A worker that is always there, and wakes in whole milliseconds.
uint64_t StartsIn(const RateLimit& limit, int64_t span_ms) {
  RateState state;
  MonoTime now(1000);
  uint64_t starts = 0;
  const MonoTime end = now + Milliseconds(span_ms);
  while (now <= end) {
    if (state.MayStart(limit, now)) {
      state.Start(limit, now);
      ++starts;
    } else {
      const MonoTime due = state.DueAt(limit, now);
      EXPECT_GT(due, now);
      EXPECT_FALSE(state.MayStart(limit, MonoTime(due.ms() - 1)));
      EXPECT_TRUE(state.MayStart(limit, due));  // RATE-2
      now = due;
    }
  }
  return starts;
}

TEST(RateLimit, ABurstOfTwoAndAThousandthOfTheRateReachesTheRate) {
  for (const double rate : {0.25, 1.0, 3.0, 7.7, 300.0, 999.0, 1000.0, 1001.0, 54'321.0}) {
    const auto micro = static_cast<uint64_t>(rate * 1e6);
    const auto burst = static_cast<uint32_t>(2 + rate / 1000);
    const double most = burst + rate * 100;
    const auto starts = static_cast<double>(StartsIn(RateLimit(micro, burst), 100'000));
    EXPECT_LE(starts, most + 1e-6) << rate;
    EXPECT_GE(starts, most - 2 - rate * 100 * 1e-4) << rate;
  }
}

// RATE-1 and RATE-2 over a million steps: starts, clocks, changes and restarts.
class RateModel {
 public:
  explicit RateModel(uint64_t seed) : random_(seed) {
    Set();
    bursts_ = burst_;
  }

  void Run(int steps) {
    for (int i = 0; i < steps && !::testing::Test::HasFatalFailure(); ++i) {
      const uint64_t choice = random_() % 100;
      if (choice < 60) {
        Try();
      } else if (choice < 90) {
        now_ = now_ + Milliseconds(static_cast<int64_t>(random_() % step_ms_));
      } else if (choice < 97) {
        now_ = std::max(now_, state_.DueAt(limit_, now_));
        ASSERT_TRUE(state_.MayStart(limit_, now_));
        Try();
      } else if (choice < 98) {
        Restart();
      } else if (random_() % 20 == 0) {
        Change();
      }
    }
    EXPECT_GT(starts_, static_cast<uint64_t>(steps) / 20);
  }

 private:
  static constexpr size_t kLooksBack = 200;
  struct Start {
    int64_t ms;
    double drained;          // jobs that the rate has allowed until then, since the beginning
    uint64_t bursts_before;  // of all settings before the one that held then
  };

  void Set() {
    static constexpr uint64_t kRates[] = {1'000,     333'333,    500'000,      1'000'000,
                                          3'000'000, 99'900'000, 1'000'000'000};
    rate_micro_ = kRates[random_() % 7];
    burst_ = static_cast<uint32_t>(1 + random_() % 12);
    limit_ = RateLimit(rate_micro_, burst_);
    // About as long as a few tokens take.
    step_ms_ = std::max<uint64_t>(2, 3'000'000'000 / rate_micro_);
  }
  void Change() {
    Drain();
    const RateLimit before = limit_;
    Set();
    state_.Change(before, limit_, now_);
    bursts_ += limit_.burst();
  }
  void Restart() {
    const MonoTime stored = state_.ToStore();
    const RateState before = state_;
    now_ = now_ + Milliseconds(static_cast<int64_t>(random_() % 3));
    state_ = RateState::Restored(limit_, stored, now_);
    ASSERT_TRUE(state_.arrival_ns() >= before.arrival_ns() || state_.MayStart(limit_, now_));
  }
  void Drain() {
    drained_ +=
        static_cast<double>(now_.ms() - drained_at_.ms()) * static_cast<double>(rate_micro_) / 1e9;
    drained_at_ = now_;
  }
  void Try() {
    ASSERT_EQ(state_.DueAt(limit_, now_) == now_, state_.MayStart(limit_, now_));
    if (!state_.MayStart(limit_, now_)) return;
    state_.Start(limit_, now_);
    ++starts_;
    Drain();
    seen_.push_back({now_.ms(), drained_, bursts_ - burst_});
    const size_t first = seen_.size() > kLooksBack ? seen_.size() - kLooksBack : 0;
    for (size_t i = first; i < seen_.size(); ++i) {
      const double bursts = static_cast<double>(bursts_ - seen_[i].bursts_before);
      ASSERT_LE(static_cast<double>(seen_.size() - i), bursts + drained_ - seen_[i].drained + 1e-6)
          << "in " << now_.ms() - seen_[i].ms << " ms at " << RateToText(rate_micro_);
    }
  }

  std::mt19937_64 random_;
  uint64_t rate_micro_ = 0;
  uint32_t burst_ = 0;
  uint64_t bursts_ = 0;  // of all settings so far
  uint64_t step_ms_ = 0;
  RateLimit limit_;
  RateState state_;
  MonoTime now_{77};
  double drained_ = 0;
  MonoTime drained_at_{77};
  std::vector<Start> seen_;
  uint64_t starts_ = 0;
};

TEST(RateLimit, AMillionRandomStepsStartNoJobTooMany) {
  for (const uint64_t seed : {1, 2, 3, 4}) RateModel(seed).Run(250'000);
}

TEST(SharedRateState, ManyThreadsStartNoMoreThanOne) {
  const RateLimit limit(kPerSecond, 1000);
  SharedRateState state;
  std::atomic<uint32_t> starts{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 5'000; ++i) starts += state.TryStart(limit, MonoTime(1000)) ? 1 : 0;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(starts.load(), 1000u);
  EXPECT_EQ(state.Load().DueAt(limit, MonoTime(1000)).ms(), 2000);
  EXPECT_TRUE(state.TryStart(limit, MonoTime(2000)));
  state.Store(RateState::Exhausted(limit, MonoTime(2000)));
  EXPECT_FALSE(state.TryStart(limit, MonoTime(2999)));
}

}  // namespace
}  // namespace vestq
