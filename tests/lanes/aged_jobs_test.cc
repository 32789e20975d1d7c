// AGE-1 and AGE-2 of the pure part: tables of what happens between looks, and a model that reads a zone as
// the engine does, with looks in slices and jobs that come and go while one is in flight.
#include "lanes/aged_jobs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace vestq {
namespace {

using keycodec::ReadyRank;
using IdList = std::vector<uint64_t>;
constexpr int64_t kNever = AgedJobs::kNever;

ReadyJob Job(uint32_t priority, int64_t time_ms, uint64_t id, size_t bytes = 1) {
  ReadyJob job;
  job.rank = {priority, time_ms, JobId(id)};
  job.record = std::make_shared<const std::string>(bytes, 'x');
  return job;
}
std::vector<ReadyJob> List(std::initializer_list<std::pair<int64_t, uint64_t>> jobs) {
  std::vector<ReadyJob> out;
  for (const auto& [time_ms, id] : jobs) out.push_back(Job(9, time_ms, id));
  return out;
}
IdList Drain(AgedJobs* aged) {
  IdList ids;
  while (!aged->empty()) ids.push_back(aged->PopFront().rank.id.value());
  return ids;
}

TEST(AgedJobs, ALookIsWantedWhenSomethingMayBeOverdue) {
  AgedJobs aged(4, true);
  EXPECT_FALSE(aged.WantsLook(1'000'000));
  EXPECT_EQ(aged.WantedFrom(), kNever);
  aged.Note(50);
  aged.Note(70);
  EXPECT_EQ(aged.first_ms(), 50);
  EXPECT_FALSE(aged.WantsLook(49));
  EXPECT_TRUE(aged.WantsLook(50));
  EXPECT_EQ(aged.BeginLook(60).until_ms, 60);
  EXPECT_FALSE(aged.WantsLook(60)) << "one at a time";
  aged.FinishLook(List({{50, 1}}), 70, std::nullopt);
  EXPECT_EQ(aged.first_ms(), 70);
  EXPECT_FALSE(aged.more());
  EXPECT_EQ(Drain(&aged), IdList{1});
}

TEST(AgedJobs, OfAZoneThatIsNotKnownItIsWantedAtOnce) {
  AgedJobs aged(4, false);
  EXPECT_TRUE(aged.WantsLook(0));
  aged.BeginLook(0);
  aged.FinishLook({}, kNever, std::nullopt);
  EXPECT_FALSE(aged.WantsLook(1'000'000));
}

TEST(AgedJobs, StandOldestFirstWhateverTheirPriority) {
  AgedJobs aged(8, false);
  aged.BeginLook(100);
  std::vector<ReadyJob> found;
  found.push_back(Job(1, 30, 3));
  found.push_back(Job(9, 10, 1));
  found.push_back(Job(5, 30, 2));
  aged.FinishLook(std::move(found), kNever, std::nullopt);
  EXPECT_EQ(Drain(&aged), (IdList{1, 3, 2})) << "of one age the more urgent";
}

TEST(AgedJobs, WhatDoesNotFitIsKnownToBeMissing) {
  AgedJobs aged(2, false);
  aged.BeginLook(100);
  aged.FinishLook(List({{10, 1}, {20, 2}, {30, 3}}), 40, std::nullopt);
  EXPECT_TRUE(aged.more());
  EXPECT_EQ(aged.first_ms(), 30);
  EXPECT_FALSE(aged.WantsLook(100)) << "there is no room";
  aged.PopFront();
  EXPECT_FALSE(aged.WantsLook(100));
  aged.PopFront();
  EXPECT_TRUE(aged.WantsLook(100));
  aged.BeginLook(100);
  aged.FinishLook(List({{30, 3}, {40, 4}}), kNever, std::nullopt);
  EXPECT_FALSE(aged.more());
  EXPECT_EQ(Drain(&aged), (IdList{3, 4}));
}

TEST(AgedJobs, WithoutMemoryForMoreALookIsWantedWhenThoseThatAreHereHaveGone) {
  AgedJobs aged(8, false);
  aged.BeginLook(100);
  aged.FinishLook(List({{10, 1}}), 20, std::nullopt, true);
  EXPECT_TRUE(aged.more());
  EXPECT_FALSE(aged.WantsLook(100)) << "it would bring the same one";
  aged.PopFront();
  EXPECT_TRUE(aged.WantsLook(100));
}

TEST(AgedJobs, AnOlderOneThatComesIsLookedForAlsoWithoutRoom) {
  AgedJobs aged(2, false);
  aged.BeginLook(100);
  aged.FinishLook(List({{10, 1}, {20, 2}}), kNever, std::nullopt);
  aged.Note(20);
  EXPECT_FALSE(aged.WantsLook(100)) << "it would not go before any of them";
  aged.Note(5);
  ASSERT_TRUE(aged.WantsLook(100));
  aged.BeginLook(100);
  aged.FinishLook(List({{5, 3}, {10, 1}}), 20, std::nullopt);
  EXPECT_EQ(Drain(&aged), (IdList{3, 1}));
  EXPECT_TRUE(aged.more());
}

TEST(AgedJobs, OneThatComesDuringALookIsLookedForAgain) {
  AgedJobs aged(4, false);
  aged.BeginLook(100);
  aged.Note(80);
  aged.FinishLook({}, 150, std::nullopt);
  EXPECT_EQ(aged.first_ms(), 80);
  EXPECT_FALSE(aged.more());
  EXPECT_TRUE(aged.WantsLook(100));
}

TEST(AgedJobs, APassInSlicesGoesOnWhereItStopped) {
  AgedJobs aged(2, false);
  EXPECT_EQ(aged.BeginLook(100).from, 0u);
  aged.FinishLook(List({{50, 1}, {60, 2}}), 70, 7);
  EXPECT_TRUE(aged.WantsLook(0)) << "a pass is finished, room or not";
  EXPECT_EQ(aged.WantedFrom(), std::numeric_limits<int64_t>::min());
  const AgedJobs::Look look = aged.BeginLook(200);
  EXPECT_EQ(look.from, 7u);
  EXPECT_EQ(look.until_ms, 100) << "one bound for the whole pass";
  aged.FinishLook(List({{10, 3}}), kNever, std::nullopt);
  EXPECT_EQ(aged.first_ms(), 60);
  EXPECT_TRUE(aged.more());
  EXPECT_EQ(Drain(&aged), (IdList{3, 1}));
}

TEST(AgedJobs, OneThatIsReadyNoLongerIsForgotten) {
  AgedJobs aged(4, false);
  aged.BeginLook(100);
  EXPECT_EQ(aged.FinishLook(List({{10, 1}, {20, 2}}), kNever, std::nullopt), 2);
  EXPECT_EQ(aged.Erase({9, 10, JobId(1)}), 1u);
  EXPECT_EQ(aged.Erase({9, 10, JobId(1)}), 0u);
  EXPECT_EQ(Drain(&aged), IdList{2});
}

TEST(AgedJobs, ALookThatFailedOrIsVoidBeginsAnew) {
  AgedJobs aged(4, false);
  aged.BeginLook(100);
  aged.AbandonLook();
  EXPECT_TRUE(aged.WantsLook(0));
  aged.BeginLook(100);
  EXPECT_EQ(aged.FinishLook(List({{10, 1}}), kNever, 5), 1);
  aged.BeginLook(100);
  EXPECT_EQ(aged.Clear(), 1u);
  EXPECT_EQ(aged.FinishLook(List({{20, 2}}), kNever, std::nullopt), 0) << "of another span";
  EXPECT_TRUE(aged.empty());
  EXPECT_TRUE(aged.WantsLook(0));
  EXPECT_EQ(aged.BeginLook(30).from, 0u);
}

// A zone, a clock, and an owner that does what engine/core_ageing.cc does.
class Model {
 public:
  Model(uint64_t seed, size_t capacity, int64_t span)
      : random_(seed), span_(span), aged_(capacity, true) {}

  void Step() {
    now_ += static_cast<int64_t>(Below(4));
    switch (Below(8)) {
      case 0:
      case 1:
      case 2: return Put(now_);
      case 3: return Put(std::max<int64_t>(0, now_ - static_cast<int64_t>(Below(200))));  // a retry
      case 4: return Remove();
      case 5: return Finish();
      default: return Look();
    }
  }
  // Takes what is to be served: an overdue one if any is known, else the most urgent.
  void Serve() {
    if (zone_.empty()) return;
    ReadyRank rank = zone_.begin()->second;
    if (!aged_.empty()) {
      rank = aged_.Front().rank;
      ASSERT_EQ(zone_.count(Key(rank)), 1u) << "AGE-1: it is ready";
    }
    Erase(rank);
  }
  // Everything found that can be, and AGE-2.
  void Settle() {
    while (looking_ || aged_.WantsLook(now_ - span_)) looking_ ? Finish() : Look();
    std::vector<ReadyRank> overdue;
    for (const auto& [key, rank] : zone_) {
      if (rank.time_ms <= now_ - span_) overdue.push_back(rank);
    }
    std::sort(overdue.begin(), overdue.end(), [](const auto& a, const auto& b) {
      return keycodec::ReadyRankLess(keycodec::Order::kTime, a, b);
    });
    if (overdue.empty()) {
      EXPECT_TRUE(aged_.empty());
    } else {
      ASSERT_FALSE(aged_.empty()) << "AGE-2: something is overdue and not known";
      EXPECT_EQ(aged_.Front().rank.time_ms, overdue.front().time_ms)
          << "the oldest is served first";
    }
  }

 private:
  using KeyOf = std::tuple<uint32_t, int64_t, uint64_t>;
  static KeyOf Key(const ReadyRank& rank) { return {rank.priority, rank.time_ms, rank.id.value()}; }
  uint64_t Below(uint64_t n) { return random_() % n; }

  void Put(int64_t time_ms) {
    const ReadyRank rank{static_cast<uint32_t>(Below(6)), time_ms, JobId(++ids_)};
    zone_[Key(rank)] = rank;
    aged_.Note(time_ms);
  }
  void Erase(const ReadyRank& rank) {
    zone_.erase(Key(rank));
    aged_.Erase(rank);
    changed_.insert(rank.id.value());
  }
  void Remove() {
    if (zone_.empty()) return;
    auto it = zone_.begin();
    std::advance(it, Below(zone_.size()));
    Erase(ReadyRank(it->second));
  }
  // The look sees the zone as it is when it begins, or a little later.
  void Look() {
    if (looking_ || !aged_.WantsLook(now_ - span_)) return;
    const AgedJobs::Look look = aged_.BeginLook(now_ - span_);
    looking_ = true;
    changed_.clear();
    found_.clear();
    left_ms_ = kNever;
    next_.reset();
    std::set<uint32_t> priorities;
    for (const auto& [key, rank] : zone_) {
      if (rank.priority < look.from) continue;
      if (priorities.size() == 2 && !priorities.contains(rank.priority)) {
        next_ = rank.priority;
        break;
      }
      priorities.insert(rank.priority);
      if (rank.time_ms <= look.until_ms) {
        found_.push_back(Job(rank.priority, rank.time_ms, rank.id.value()));
      } else {
        left_ms_ = std::min(left_ms_, rank.time_ms);
      }
    }
    // The oldest of them only.
    std::sort(found_.begin(), found_.end(), [](const auto& a, const auto& b) {
      return keycodec::ReadyRankLess(keycodec::Order::kTime, a.rank, b.rank);
    });
    while (found_.size() > aged_.capacity()) {
      left_ms_ = std::min(left_ms_, found_.back().rank.time_ms);
      found_.pop_back();
    }
  }
  void Finish() {
    if (!looking_) return;
    looking_ = false;
    std::vector<ReadyJob> jobs;
    for (ReadyJob& job : found_) {
      if (changed_.contains(job.rank.id.value())) {
        left_ms_ = std::min(left_ms_, job.rank.time_ms);
      } else {
        jobs.push_back(std::move(job));
      }
    }
    aged_.FinishLook(std::move(jobs), left_ms_, next_);
  }

  std::mt19937_64 random_;
  const int64_t span_;
  AgedJobs aged_;
  std::map<KeyOf, ReadyRank> zone_;
  int64_t now_ = 1000;
  uint64_t ids_ = 0;
  bool looking_ = false;
  std::set<uint64_t> changed_;
  std::vector<ReadyJob> found_;
  int64_t left_ms_ = kNever;
  std::optional<uint32_t> next_;
};

TEST(AgedJobsModel, TheOldestOverdueJobIsKnownWheneverAllLooksAreDone) {
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    Model model(seed, 2 + seed % 7, 20 + static_cast<int64_t>(seed % 5) * 30);
    for (int step = 0; step < 4000; ++step) {
      model.Step();
      if (step % 3 == 0) model.Serve();
      if (step % 11 == 0) model.Settle();
      if (::testing::Test::HasFailure()) FAIL() << "seed " << seed << ", step " << step;
    }
  }
}

}  // namespace
}  // namespace vestq
