// The window against a model: random changes, and scans that look at random moments.
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "lanes/ready_window.h"

namespace vestq {
namespace {

using keycodec::Order;
using keycodec::ReadyRank;

// A window above a set that plays the disk. Every change goes to both; a scan looks at the set at a
// random moment between its beginning and its end.
class Model {
 public:
  Model(uint64_t seed, size_t capacity, Order order, bool complete)
      : random_(seed),
        order_(order),
        disk_([order](const ReadyRank& a, const ReadyRank& b) {
          return keycodec::ReadyRankLess(order, a, b);
        }),
        window_(order, capacity, complete) {
    // What was there before the window, when it knows nothing.
    for (size_t n = complete ? 0 : 3 * capacity; n > 0; --n) disk_.insert(NewRank());
  }

  void Run(int steps) {
    for (int i = 0; i < steps && !::testing::Test::HasFatalFailure(); ++i) {
      // The pressure swings, so that backlogs build up and drain.
      Step(i / 3'000 % 2 == 0 ? 6 : 2);
      CheckFront();
      if (i % 64 == 0) CheckAll();
    }
    CheckAll();
    EXPECT_GT(refills_, 0u);
  }
  uint64_t merged_changes() const { return merged_changes_; }

 private:
  using Disk = std::set<ReadyRank, std::function<bool(const ReadyRank&, const ReadyRank&)>>;

  ReadyRank NewRank() {
    ++clock_;
    // Mostly later than all others, now and then anywhere.
    const bool anywhere = random_() % 4 == 0;
    return ReadyRank{static_cast<uint32_t>(anywhere ? random_() % 3 : 1),
                     static_cast<int64_t>(anywhere ? random_() % clock_ : clock_), JobId(clock_)};
  }
  ReadyRank Existing() {
    auto at = disk_.lower_bound(ReadyRank{static_cast<uint32_t>(random_() % 3),
                                          static_cast<int64_t>(random_() % clock_), JobId()});
    if (at == disk_.end()) at = disk_.begin();
    return *at;
  }

  void Add(const ReadyRank& rank) {
    ASSERT_TRUE(disk_.insert(rank).second);
    ReadyJob job;
    job.rank = rank;
    job.attempt = static_cast<uint32_t>(rank.id.value());
    if (random_() % 2) job.record = std::make_shared<const std::string>(random_() % 9, 'r');
    held_ += job.record ? job.record->size() : 0;
    held_ -= window_.Insert(std::move(job)).dropped_bytes;
    if (scan_begun_) ++changes_;
  }

  void Step(uint64_t pressure) {
    const uint64_t choice = random_() % 20;
    if (choice < pressure) return Add(NewRank());
    if (choice < 8) return Pop();
    if (choice < 9 && !disk_.empty()) return Erase(Existing());
    if (choice < 10 && !gone_.empty()) return ComeBack();
    if (choice < 12) return Begin();
    if (choice < 14) return Scan();
    if (choice < 15) return Finish();
    if (choice == 15 && random_() % 500 == 0) return Forget();
  }

  void Pop() {
    if (window_.empty()) return;
    const ReadyJob job = window_.PopFront();
    held_ -= job.record ? job.record->size() : 0;
    ASSERT_EQ(disk_.erase(job.rank), 1u);
    gone_.push_back(job.rank);
  }
  void Erase(const ReadyRank& rank) {
    disk_.erase(rank);
    held_ -= window_.EraseRank(rank).dropped_bytes;
    gone_.push_back(rank);
    if (scan_begun_) ++changes_;
  }
  // A released job goes back to the rank it had.
  void ComeBack() {
    const size_t i = random_() % gone_.size();
    const ReadyRank rank = gone_[i];
    gone_[i] = gone_.back();
    gone_.pop_back();
    if (gone_.size() > 100) gone_.erase(gone_.begin(), gone_.begin() + 50);
    Add(rank);
  }
  void Begin() {
    if (!window_.NeedsRefill()) return;
    from_ = window_.BeginRefill();
    scan_begun_ = true;
    scanned_ = false;
    changes_ = 0;
  }
  void Scan() {
    if (!scan_begun_ || scanned_) return;
    scanned_ = true;
    found_.clear();
    scanned_to_.reset();
    auto at = from_ ? disk_.upper_bound(*from_) : disk_.begin();
    for (size_t n = random_() % (2 * window_.capacity() + 2); n > 0 && at != disk_.end();
         --n, ++at) {
      ReadyJob job;
      job.rank = *at;
      job.attempt = static_cast<uint32_t>(at->id.value());
      if (random_() % 2) job.record = std::make_shared<const std::string>(3, 's');
      found_.push_back(std::move(job));
    }
    reached_end_ = at == disk_.end();
    if (!reached_end_ && !found_.empty() && random_() % 2) scanned_to_ = found_.back().rank;
  }
  void Finish() {
    if (!scanned_) return;
    if (random_() % 20 == 0) {
      held_ -= window_.AbandonRefill();
    } else {
      held_ +=
          static_cast<uint64_t>(window_.FinishRefill(std::move(found_), reached_end_, scanned_to_));
      ++refills_;
      merged_changes_ += changes_;
    }
    scan_begun_ = scanned_ = false;
    CheckAll();
  }
  void Forget() { held_ -= window_.Clear(disk_.empty()); }

  void CheckFront() {
    if (!window_.empty()) {
      ASSERT_EQ(window_.Front().rank, *disk_.begin()) << "WINDOW-2";
    }
    if (window_.complete()) {
      ASSERT_EQ(window_.size(), disk_.size()) << "WINDOW-2";
    }
  }
  void CheckAll() {
    ASSERT_LE(window_.size(), window_.capacity());  // WINDOW-1
    ASSERT_EQ(window_.record_bytes(), held_);
    size_t i = 0;
    for (const ReadyRank& rank : disk_) {
      const bool here =
          window_.complete() ||
          (window_.bound() && !keycodec::ReadyRankLess(order_, *window_.bound(), rank));
      if (!here) break;
      ASSERT_LT(i, window_.size()) << "WINDOW-2";
      ASSERT_EQ(window_.at(i).rank, rank) << "WINDOW-2 or WINDOW-3";
      ASSERT_EQ(window_.at(i).attempt, static_cast<uint32_t>(rank.id.value()));
      ++i;
    }
    ASSERT_EQ(i, window_.size()) << "WINDOW-3";
  }

  std::mt19937_64 random_;
  const Order order_;
  Disk disk_;
  ReadyWindow window_;
  uint64_t clock_ = 1;
  uint64_t held_ = 0;
  std::vector<ReadyRank> gone_;
  bool scan_begun_ = false, scanned_ = false, reached_end_ = false;
  std::optional<ReadyRank> from_, scanned_to_;
  std::vector<ReadyJob> found_;
  uint64_t refills_ = 0, changes_ = 0, merged_changes_ = 0;
};

TEST(ReadyWindowModel, AgreesWithADiskForAMillionSteps) {
  uint64_t merged = 0, seed = 1;
  for (const size_t capacity : {1, 2, 3, 8, 50, 256, 1024}) {
    for (const Order order : {Order::kPriority, Order::kTime}) {
      for (const bool complete : {true, false}) {
        SCOPED_TRACE("seed " + std::to_string(seed) + " capacity " + std::to_string(capacity));
        Model model(seed++, capacity, order, complete);
        model.Run(40'000);
        if (HasFatalFailure()) return;
        merged += model.merged_changes();
      }
    }
  }
  EXPECT_GT(merged, 10'000u);  // the interesting path was taken
}

}  // namespace
}  // namespace vestq
