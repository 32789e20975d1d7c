#include "lanes/concurrency.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace vestq {
namespace {

TEST(SharedSlots, TakesUpToTheLimitAndSaysWhenThereIsRoom) {
  SharedSlots slots;
  EXPECT_TRUE(slots.TryTake(2));
  EXPECT_TRUE(slots.TryTake(2));
  EXPECT_FALSE(slots.TryTake(2));
  EXPECT_FALSE(slots.HasRoom(2));
  EXPECT_LE(slots.Give(), 2u);
  // Each one that is freed wakes one: the first waiter may still be on its way.
  EXPECT_LE(slots.Give(), 2u);
  EXPECT_EQ(slots.taken(), 0u);
}

TEST(SharedSlots, ALimitThatWasLoweredLetsTheRunningFinish) {
  SharedSlots slots;
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(slots.TryTake(5));
  EXPECT_FALSE(slots.TryTake(2));
  EXPECT_GT(slots.Give(), 2u);  // 4
  EXPECT_GT(slots.Give(), 2u);  // 3
  EXPECT_GT(slots.Give(), 2u);  // 2
  EXPECT_LE(slots.Give(), 2u);  // 1
  EXPECT_TRUE(slots.TryTake(2));
  EXPECT_FALSE(slots.TryTake(0));
  EXPECT_GT(slots.Give(), 0u);
  EXPECT_TRUE(slots.TryTake(kNoSlotLimit));
}

TEST(SharedSlots, RestoredLeasesMayBeMoreThanTheLimit) {
  SharedSlots slots;
  slots.Take(3);
  EXPECT_FALSE(slots.TryTake(1));
  EXPECT_GT(slots.Give(), 1u);
  EXPECT_GT(slots.Give(), 1u);
  EXPECT_LE(slots.Give(), 1u);
}

TEST(SharedSlots, ManyThreadsNeverHoldMoreThanTheLimit) {
  SharedSlots slots;
  constexpr uint32_t kLimit = 3;
  std::atomic<uint32_t> running{0};
  std::atomic<uint32_t> most{0};
  std::atomic<uint64_t> taken{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 50'000; ++i) {
        if (!slots.TryTake(kLimit)) continue;
        const uint32_t now = running.fetch_add(1) + 1;
        for (uint32_t seen = most; now > seen && !most.compare_exchange_weak(seen, now);) {
        }
        ++taken;
        running.fetch_sub(1);
        slots.Give();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_LE(most.load(), kLimit);
  EXPECT_GT(taken.load(), 0u);
  EXPECT_EQ(slots.taken(), 0u);
}

TEST(SpaceSlots, ASpaceWithoutLeasesLeavesNothing) {
  SpaceSlots slots;
  EXPECT_TRUE(slots.HasRoom("a", 1));
  EXPECT_FALSE(slots.HasRoom("a", 0));
  slots.Add("a");
  slots.Add("a");
  slots.Add("");
  EXPECT_EQ(slots.running("a"), 2u);
  EXPECT_EQ(slots.spaces(), 2u);
  EXPECT_FALSE(slots.HasRoom("a", 2));
  EXPECT_TRUE(slots.HasRoom("a", kNoSlotLimit));
  EXPECT_FALSE(slots.Remove("a", 1));
  EXPECT_TRUE(slots.Remove("a", 1));
  EXPECT_TRUE(slots.Remove("", kNoSlotLimit));
  EXPECT_EQ(slots.spaces(), 0u);
  EXPECT_EQ(slots.running("a"), 0u);
}

// One queue on several cores: workers that wait, die and come back late, servers that crash, limits
// that change. What runs is known from the list of leases alone; the slots must agree with it.
class SlotModel {
 public:
  explicit SlotModel(uint64_t seed) : random_(seed) { Restart(); }

  void Run(int steps) {
    for (step_ = 0; step_ < steps && !::testing::Test::HasFatalFailure(); ++step_) {
      const uint64_t choice = random_() % 100;
      if (choice < 30) {
        ready_[random_() % kSpaces] += 1 + random_() % 3;
        WakeOne();  // the enqueue's own
      } else if (choice < 55) {
        Ask(random_() % kWorkers);
      } else if (choice < 95) {
        EndOne();
      } else if (choice < 97) {
        LateReceipt();
      } else if (random_() % 10 == 0) {
        ChangeLimit();
      } else if (random_() % 100 == 0) {
        Restart();
      }
      while (wakes_ > 0 && !waiting_.empty()) {
        --wakes_;
        const size_t worker = waiting_.front();
        waiting_.erase(waiting_.begin());
        Ask(worker);
      }
      wakes_ = 0;
      Check();
    }
    EXPECT_GT(started_, static_cast<uint64_t>(steps) / 10);
    EXPECT_GT(refused_, 1000u);
  }

 private:
  static constexpr size_t kCores = 3, kSpaces = 7, kWorkers = 12;
  struct Held {
    uint64_t id;
    size_t space;
  };

  static std::string Name(size_t space) { return space == 0 ? "" : "s" + std::to_string(space); }
  static size_t CoreOf(size_t space) { return space % kCores; }
  uint32_t SpaceLimit(size_t space) const {
    const auto own = own_limits_.find(space);
    return own != own_limits_.end() ? own->second : space_limit_;
  }

  bool MayStart(size_t space) const {
    return ready_[space] > 0 && queue_->HasRoom(queue_limit_) &&
           spaces_[CoreOf(space)].HasRoom(Name(space), SpaceLimit(space));
  }

  // LEASE with BLOCK.
  void Ask(size_t worker) {
    if (std::find(waiting_.begin(), waiting_.end(), worker) != waiting_.end()) return;
    const size_t first = random_() % kSpaces;
    for (size_t i = 0; i < kSpaces; ++i) {
      const size_t space = (first + i) % kSpaces;
      SpaceSlots& slots = spaces_[CoreOf(space)];
      if (ready_[space] == 0) continue;
      if (!slots.HasRoom(Name(space), SpaceLimit(space)) || !queue_->TryTake(queue_limit_)) {
        ++refused_;
        continue;
      }
      slots.Add(Name(space));
      --ready_[space];
      ++started_;
      leases_.push_back({++claims_, space});
      // CONC-1, by the list of leases alone.
      ASSERT_LE(leases_.size(), queue_limit_);
      ASSERT_LE(Running(space), SpaceLimit(space));
      return;
    }
    waiting_.push_back(worker);
  }

  // COMPLETE, FAIL, CANCEL, expiry of a dead worker's: all of them end a lease, once.
  void EndOne() {
    if (leases_.empty()) return;
    std::swap(leases_[random_() % leases_.size()], leases_.back());
    const Held held = leases_.back();
    leases_.pop_back();
    ended_.push_back(held.id);
    if (random_() % 4 == 0) ++ready_[held.space];  // comes back
    SpaceSlots& slots = spaces_[CoreOf(held.space)];
    const bool room = slots.Remove(Name(held.space), SpaceLimit(held.space));
    ASSERT_EQ(room, slots.HasRoom(Name(held.space), SpaceLimit(held.space)));
    // Room in the queue is room for any space, whatever this one's limit says.
    if (queue_->Give() <= queue_limit_) WakeOne();
  }
  // A worker taken for dead finishes: its receipt finds no lease, and nothing is freed.
  void LateReceipt() {
    if (ended_.empty()) return;
    const uint64_t id = ended_[random_() % ended_.size()];
    for (const Held& held : leases_) ASSERT_NE(held.id, id);
  }
  void ChangeLimit() {
    const uint32_t limits[] = {0, 1, 2, 5, 10, kNoSlotLimit};
    const uint64_t what = random_() % 4;
    if (what == 0) queue_limit_ = limits[random_() % 6];
    if (what == 1) space_limit_ = limits[random_() % 6];
    if (what == 2) own_limits_[random_() % kSpaces] = limits[random_() % 6];
    if (what == 3) own_limits_.erase(random_() % kSpaces);
    wakes_ += waiting_.size();  // all look again
  }
  // The server dies and starts: counts are what the leases on disk say.
  void Restart() {
    queue_ = std::make_unique<SharedSlots>();
    spaces_ = std::vector<SpaceSlots>(kCores);
    for (const Held& held : leases_) {
      queue_->Take();
      spaces_[CoreOf(held.space)].Add(Name(held.space));
    }
    waiting_.clear();
  }
  void WakeOne() { ++wakes_; }

  size_t Running(size_t space) const {
    return static_cast<size_t>(std::count_if(
        leases_.begin(), leases_.end(), [space](const Held& held) { return held.space == space; }));
  }
  void Check() {
    // CONC-2: no slot lost, none gained.
    ASSERT_EQ(queue_->taken(), leases_.size()) << "step " << step_;
    bool startable = false;
    for (size_t space = 0; space < kSpaces; ++space) {
      ASSERT_EQ(spaces_[CoreOf(space)].running(Name(space)), Running(space)) << "step " << step_;
      startable |= MayStart(space);
    }
    // Nobody waits while a job may start.
    ASSERT_FALSE(startable && !waiting_.empty()) << "step " << step_;
  }

  std::mt19937_64 random_;
  std::unique_ptr<SharedSlots> queue_;
  std::vector<SpaceSlots> spaces_;
  std::vector<uint64_t> ready_ = std::vector<uint64_t>(kSpaces, 0);
  std::vector<Held> leases_;
  std::vector<uint64_t> ended_;
  std::vector<size_t> waiting_;
  size_t wakes_ = 0;
  uint32_t queue_limit_ = kNoSlotLimit;
  uint32_t space_limit_ = kNoSlotLimit;
  std::map<size_t, uint32_t> own_limits_;
  uint64_t claims_ = 0;
  uint64_t started_ = 0;
  uint64_t refused_ = 0;
  int step_ = 0;
};

TEST(Slots, AMillionRandomStepsLoseNoSlotAndGainNone) {
  for (const uint64_t seed : {1, 2, 3, 4}) SlotModel(seed).Run(250'000);
}

}  // namespace
}  // namespace vestq
