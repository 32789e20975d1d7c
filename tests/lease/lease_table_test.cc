#include "lease/lease_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "engine/base/limits.h"

namespace vestq {
namespace {

Lease MakeLease(uint64_t id, uint64_t claim, int64_t deadline_ms) {
  Lease lease;
  lease.id = JobId(id);
  lease.fence = Fence{1, claim};
  lease.deadline = MonoTime(deadline_ms);
  lease.stored_deadline_ms = deadline_ms;
  return lease;
}

std::vector<uint64_t> Expired(LeaseTable* table, int64_t now_ms, size_t max = SIZE_MAX) {
  std::vector<uint64_t> ids;
  table->PopExpired(MonoTime(now_ms), max, [&](const Lease& l) { ids.push_back(l.id.value()); });
  return ids;
}

// Semantics as a table: what happens, then which jobs' leases have ended by it, then which receipts
// (id, claim) are good.
struct Step {
  enum What { kTake, kRenew, kComplete, kTick } what;
  uint64_t id;     // kTake, kRenew, kComplete
  uint64_t claim;  // likewise
  int64_t ms;      // kTake, kRenew: the lease's length; kTick: how far
  std::vector<uint64_t> expired;
  std::vector<std::pair<uint64_t, uint64_t>> good;
};
struct Script {
  const char* name;
  std::vector<Step> steps;
};

const Script kScripts[] = {
    {"an expired lease is over exactly at its deadline",
     {{Step::kTake, 1, 1, 30'000, {}, {{1, 1}}},
      {Step::kTick, 0, 0, 29'999, {}, {{1, 1}}},
      {Step::kTick, 0, 0, 1, {1}, {}}}},
    {"a completed lease does not expire",
     {{Step::kTake, 1, 1, 30'000, {}, {{1, 1}}},
      {Step::kComplete, 1, 1, 0, {}, {}},
      {Step::kTick, 0, 0, 60'000, {}, {}}}},
    {"a renewal counts from now",
     {{Step::kTake, 1, 1, 30'000, {}, {{1, 1}}},
      {Step::kTick, 0, 0, 20'000, {}, {{1, 1}}},
      {Step::kRenew, 1, 1, 30'000, {}, {{1, 1}}},
      {Step::kTick, 0, 0, 29'999, {}, {{1, 1}}},
      {Step::kTick, 0, 0, 1, {1}, {}}}},
    {"a renewal may shorten a lease",
     {{Step::kTake, 1, 1, 30'000, {}, {}},
      {Step::kRenew, 1, 1, 1'000, {}, {{1, 1}}},
      {Step::kTick, 0, 0, 1'000, {1}, {}}}},
    {"the receipt of an earlier claim is not good for a later one",
     {{Step::kTake, 1, 1, 1'000, {}, {{1, 1}}},
      {Step::kTick, 0, 0, 1'000, {1}, {}},
      {Step::kTake, 1, 2, 1'000, {}, {{1, 2}}}}},
    {"leases expire earliest first, whatever their order of taking",
     {{Step::kTake, 1, 1, 3'000, {}, {}},
      {Step::kTake, 2, 2, 1'000, {}, {}},
      {Step::kTake, 3, 3, 2'000, {}, {{1, 1}, {2, 2}, {3, 3}}},
      {Step::kTick, 0, 0, 2'500, {2, 3}, {{1, 1}}},
      {Step::kTick, 0, 0, 500, {1}, {}}}},
};

TEST(LeaseTable, Scripts) {
  for (const Script& script : kScripts) {
    SCOPED_TRACE(script.name);
    LeaseTable table;
    MonoTime now(1'000'000);
    std::set<std::pair<uint64_t, uint64_t>> seen;
    for (const Step& step : script.steps) {
      seen.emplace(step.id, step.claim);
      Lease* lease = table.Find(JobId(step.id), Fence{1, step.claim});
      switch (step.what) {
        case Step::kTake: table.Insert(MakeLease(step.id, step.claim, now.ms() + step.ms)); break;
        case Step::kRenew:
          ASSERT_NE(lease, nullptr);
          table.Renew(lease, now, Duration(step.ms));
          break;
        case Step::kComplete:
          ASSERT_NE(lease, nullptr);
          table.Erase(lease);
          break;
        case Step::kTick: now = now + Duration(step.ms); break;
      }
      EXPECT_EQ(Expired(&table, now.ms()), step.expired);
      for (const auto& receipt : step.good) {
        EXPECT_NE(table.Find(JobId(receipt.first), Fence{1, receipt.second}), nullptr);
      }
      if (step.good.empty()) continue;
      for (const auto& receipt : seen) {
        const bool good = std::count(step.good.begin(), step.good.end(), receipt) > 0;
        EXPECT_EQ(table.Find(JobId(receipt.first), Fence{1, receipt.second}) != nullptr, good);
      }
    }
    table.CheckInvariants();
  }
}

TEST(LeaseTable, Lease2LaterClaimHasAGreaterFence) {
  EXPECT_LT((Fence{1, 5}), (Fence{1, 6}));
  EXPECT_LT((Fence{1, UINT64_MAX}), (Fence{2, 0}));
  EXPECT_LT((Fence{1, (7u << 6) | 63}), (Fence{1, (8u << 6) | 0}));  // core in the low bits
  EXPECT_EQ((Fence{3, 4}), (Fence{3, 4}));
}

TEST(LeaseTable, RenewalWritesOnlyWhenTheStoredDeadlineNoLongerCovers) {
  LeaseTable table;
  Lease* lease = table.Insert(MakeLease(1, 1, 30'000));
  // 20 s later: the key at 30 s does not cover 50 s; one at 80 s is stored.
  Renewal renewal = table.Renew(lease, MonoTime(20'000), Seconds(30));
  EXPECT_FALSE(renewal.covered);
  EXPECT_EQ(renewal.stored_before_ms, 30'000);
  EXPECT_EQ(renewal.stored_after_ms, 80'000);
  EXPECT_EQ(lease->deadline.ms(), 50'000);
  EXPECT_EQ(lease->stored_deadline_ms, 80'000);
  // 40 s: 70 s is covered; 50 s: exactly.
  EXPECT_TRUE(table.Renew(lease, MonoTime(40'000), Seconds(30)).covered);
  EXPECT_EQ(lease->deadline.ms(), 70'000);
  EXPECT_TRUE(table.Renew(lease, MonoTime(50'000), Seconds(30)).covered);
  EXPECT_FALSE(table.Renew(lease, MonoTime(50'001), Seconds(30)).covered);
  EXPECT_EQ(lease->granted, Seconds(30));
}

TEST(LeaseTable, AnotherLengthIsStoredAtOnceSinceLaterRenewalsGoByIt) {
  LeaseTable table;
  Lease* lease = table.Insert(MakeLease(1, 1, 30'000));
  table.Renew(lease, MonoTime(20'000), Seconds(30));  // stored: 80 s
  const Renewal shorter = table.Renew(lease, MonoTime(21'000), Seconds(5));
  EXPECT_FALSE(shorter.covered);
  EXPECT_EQ(shorter.stored_before_ms, 80'000);
  EXPECT_EQ(shorter.stored_after_ms, 31'000);
  EXPECT_TRUE(table.Renew(lease, MonoTime(22'000), Seconds(5)).covered);
  // Within 31 s, but longer.
  EXPECT_FALSE(table.Renew(lease, MonoTime(23'000), Seconds(6)).covered);
  EXPECT_EQ(lease->granted, Seconds(6));
}

TEST(LeaseTable, RenewalAtAThirdOfTheLeaseWritesNothingMostOfTheTime) {
  LeaseTable table;
  Lease* lease = table.Insert(MakeLease(1, 1, 30'000));
  int writes = 0;
  for (int64_t now = 10'000; now <= 1'000'000; now += 10'000) {
    writes += !table.Renew(lease, MonoTime(now), Seconds(30)).covered;
  }
  EXPECT_LE(writes, 25);  // of 100
}

TEST(LeaseTable, LongestLeaseStoresAtMostTwiceTheLimit) {
  LeaseTable table;
  Lease* lease = table.Insert(MakeLease(1, 1, 1'000));
  const Renewal renewal = table.Renew(lease, MonoTime(500), limits::kLeaseMax);
  EXPECT_EQ(renewal.stored_after_ms, 500 + 2 * limits::kLeaseMax.ms());
  // Near the end of representable key times the deadline itself still stands.
  lease = table.Insert(MakeLease(2, 2, limits::kKeyTimeMsMax - 1'000));
  const MonoTime late(limits::kKeyTimeMsMax - 10'000);
  EXPECT_EQ(table.Renew(lease, late, Seconds(10)).stored_after_ms, limits::kKeyTimeMsMax);
}

TEST(LeaseTable, VolatileClaimNeverWritesARenewal) {
  LeaseTable table;
  Lease lease = MakeLease(1, 1, 1'000);
  lease.stored_deadline_ms = kLeaseNotStored;
  Lease* taken = table.Insert(lease);
  EXPECT_TRUE(table.Renew(taken, MonoTime(900), limits::kLeaseMax).covered);
  EXPECT_EQ(taken->stored_deadline_ms, kLeaseNotStored);
}

TEST(LeaseTable, KeepsItsOwnCopiesOfTexts) {
  LeaseTable table;
  std::string worker = "worker-with-a-name-longer-than-a-small-string";
  std::string space = "tenant";
  for (uint64_t id = 1; id <= 3; ++id) {
    Lease lease = MakeLease(id, id, 1'000);
    lease.worker = worker;
    lease.space = space;
    table.Insert(lease);
  }
  worker.assign(worker.size(), 'x');
  space.assign(space.size(), 'x');
  table.Erase(table.FindById(JobId(1)));
  table.Erase(table.FindById(JobId(2)));
  EXPECT_EQ(table.FindById(JobId(3))->worker, "worker-with-a-name-longer-than-a-small-string");
  std::string seen;
  table.PopExpired(MonoTime(1'000), 10, [&](const Lease& l) { seen = std::string(l.space); });
  EXPECT_EQ(seen, "tenant");
  EXPECT_TRUE(table.empty());
}

TEST(LeaseTable, EmptyTableHasNoDeadline) {
  LeaseTable table;
  EXPECT_EQ(table.NextDeadline(), MonoTime::Max());
  EXPECT_EQ(table.FindById(JobId(1)), nullptr);
  EXPECT_TRUE(Expired(&table, INT64_MAX / 4).empty());
  table.Insert(MakeLease(1, 1, 77));
  EXPECT_EQ(table.NextDeadline(), MonoTime(77));
}

TEST(LeaseTable, PopExpiredStopsAtItsSlice) {
  LeaseTable table;
  for (uint64_t id = 1; id <= 10; ++id) table.Insert(MakeLease(id, id, static_cast<int64_t>(id)));
  EXPECT_EQ(Expired(&table, 100, 4), (std::vector<uint64_t>{1, 2, 3, 4}));
  EXPECT_EQ(Expired(&table, 6, 4), (std::vector<uint64_t>{5, 6}));
  EXPECT_EQ(table.size(), 4u);
}

TEST(LeaseTable, ARestoredLeaseLastsUntilItsDeadline) {
  LeaseTable table;
  table.Insert(MakeLease(1, 1, 100));
  table.Insert(MakeLease(2, 2, 200));
  Lease* const first = table.FindById(JobId(1));
  table.Suspend(first);
  EXPECT_EQ(table.NextDeadline(), MonoTime(200));
  table.Restore(first);
  table.CheckInvariants();
  EXPECT_FALSE(first->ending);
  EXPECT_EQ(table.NextDeadline(), MonoTime(100));
  EXPECT_EQ(Expired(&table, 150), (std::vector<uint64_t>{1}));
}

TEST(LeaseTable, SuspendedLeaseStaysOutOfTheWayUntilItIsResumed) {
  LeaseTable table;
  for (uint64_t id = 1; id <= 20; ++id) {
    table.Insert(MakeLease(id, id, static_cast<int64_t>(100 * id)));
  }
  EXPECT_EQ(table.Expired(MonoTime(99)), nullptr);
  Lease* first = table.Expired(MonoTime(100));
  ASSERT_EQ(first, table.FindById(JobId(1)));
  table.Suspend(first);
  table.CheckInvariants();
  EXPECT_TRUE(first->ending);
  EXPECT_EQ(table.Expired(MonoTime(100)), nullptr);
  EXPECT_EQ(table.NextDeadline(), MonoTime(200));
  EXPECT_EQ(table.Find(JobId(1), Fence{1, 1}), first);
  table.Resume(first, MonoTime(350));
  table.CheckInvariants();
  EXPECT_EQ(Expired(&table, 400), (std::vector<uint64_t>{2, 3, 1, 4}));
  Lease* last = table.FindById(JobId(20));
  table.Suspend(last);
  EXPECT_EQ(Expired(&table, 1'000'000).size(), 15u);
  EXPECT_EQ(table.NextDeadline(), MonoTime::Max());
  EXPECT_EQ(table.size(), 1u);
  table.Erase(last);
  EXPECT_TRUE(table.empty());
}

TEST(LeaseTable, CostsAtMost170BytesALease) {
  LeaseTable table;
  size_t worst = 0;
  for (uint64_t n = 1; n <= 200'000; ++n) {
    Lease lease = MakeLease(n * 16 + 3, n, static_cast<int64_t>(n * 7919 % 100'000));
    lease.worker = "one of a few workers";
    table.Insert(lease);
    if (n >= 100'000) worst = std::max(worst, table.memory_bytes() / n);
  }
  EXPECT_LE(worst, 170u);
  EXPECT_GE(worst, 140u);
}

TEST(LeaseTableDeathTest, SecondReceiptOfAJobIsABug) {
  LeaseTable table;
  table.Insert(MakeLease(1, 1, 1'000));
  EXPECT_DEATH(table.Insert(MakeLease(1, 2, 2'000)), "LEASE-1");
  Lease lease = MakeLease(2, 2, 1'000);
  lease.stored_deadline_ms = 999;
  EXPECT_DEATH(table.Insert(lease), "LEASE-4");
}

struct ModelLease {
  uint64_t claim;
  int64_t deadline_ms, stored_ms;
  std::string worker, space;
  int64_t granted_ms = 0;  // the length of the last renewal
};

class Model {
 public:
  explicit Model(uint64_t seed) : random_(seed) {}

  void Run(int steps, uint64_t ids) {
    for (int i = 0; i < steps; ++i) {
      Step(ids);
      if (::testing::Test::HasFatalFailure()) return;
      if (i % 65'536 == 0) table_.CheckInvariants();
    }
    table_.CheckInvariants();
    ASSERT_EQ(table_.size(), model_.size());
    size_t visited = 0;
    table_.ForEach([&](const Lease& lease) { visited += model_.count(lease.id.value()); });
    ASSERT_EQ(visited, model_.size());
  }

 private:
  void Step(uint64_t ids) {
    const uint64_t id = random_() % ids * 16 + 5;
    switch (random_() % 8) {
      case 0:
      case 1:
      case 2: return Take(id);
      case 3:
      case 4: return Renew(id);
      case 5: return Complete(id);
      case 6: return Stale(id);
      case 7: return Tick();
    }
  }

  void Take(uint64_t id) {
    if (model_.count(id) > 0) {
      ASSERT_NE(table_.FindById(JobId(id)), nullptr);
      return;
    }
    ASSERT_EQ(table_.FindById(JobId(id)), nullptr);
    const auto length = static_cast<int64_t>(1 + random_() % 5'000);
    ModelLease lease{
        ++claims_, now_ + length, now_ + length, "w" + std::to_string(random_() % 20),
        random_() % 2 ? "" : "a space of some length " + std::to_string(random_() % 9)};
    Lease taken = MakeLease(id, lease.claim, lease.deadline_ms);
    taken.worker = lease.worker;
    taken.space = lease.space;
    table_.Insert(taken);
    model_[id] = lease;
  }

  void Renew(uint64_t id) {
    const auto at = model_.find(id);
    if (at == model_.end()) return;
    Lease* lease = table_.Find(JobId(id), Fence{1, at->second.claim});
    ASSERT_NE(lease, nullptr);
    const int64_t before = at->second.granted_ms;  // 0: never renewed
    const int64_t length =
        before > 0 && random_() % 2 ? before : static_cast<int64_t>(1 + random_() % 5'000);
    const Renewal renewal = table_.Renew(lease, MonoTime(now_), Duration(length));
    at->second.deadline_ms = now_ + length;
    at->second.granted_ms = length;
    ASSERT_EQ(renewal.covered, length == before && at->second.stored_ms >= now_ + length);
    if (renewal.covered) return;
    ASSERT_EQ(renewal.stored_before_ms, at->second.stored_ms);
    at->second.stored_ms = now_ + 2 * length;
    ASSERT_EQ(renewal.stored_after_ms, at->second.stored_ms);
  }

  void Complete(uint64_t id) {
    const auto at = model_.find(id);
    if (at == model_.end()) return;
    Lease* lease = table_.Find(JobId(id), Fence{1, at->second.claim});
    ASSERT_NE(lease, nullptr);
    ASSERT_EQ(lease->worker, at->second.worker);
    ASSERT_EQ(lease->space, at->second.space);
    ASSERT_EQ(lease->deadline.ms(), at->second.deadline_ms);
    table_.Erase(lease);
    model_.erase(at);
  }

  void Stale(uint64_t id) {
    const auto at = model_.find(id);
    const uint64_t claim = at == model_.end() ? claims_ : at->second.claim - 1;
    ASSERT_EQ(table_.Find(JobId(id), Fence{1, claim}), nullptr);
  }

  void Tick() {
    now_ += static_cast<int64_t>(random_() % 40);
    int64_t before = 0;
    table_.PopExpired(MonoTime(now_), SIZE_MAX, [&](const Lease& lease) {
      const auto at = model_.find(lease.id.value());
      ASSERT_NE(at, model_.end());
      ASSERT_EQ(lease.fence.claim, at->second.claim);
      ASSERT_EQ(lease.deadline.ms(), at->second.deadline_ms);
      ASSERT_LE(lease.deadline.ms(), now_);
      ASSERT_GE(lease.deadline.ms(), before);
      before = lease.deadline.ms();
      model_.erase(at);
    });
    ASSERT_GT(table_.NextDeadline().ms(), now_);
    // Nothing is left behind; looking at all of them each time would take too long.
    if (random_() % 256 != 0) return;
    for (const auto& [id, lease] : model_) ASSERT_GT(lease.deadline_ms, now_) << id;
  }

  std::mt19937_64 random_;
  LeaseTable table_;
  std::map<uint64_t, ModelLease> model_;
  uint64_t claims_ = 1;
  int64_t now_ = 1'000'000;
};

TEST(LeaseTable, AgreesWithAModelForAMillionSteps) {
  Model(1).Run(600'000, 2'000);
  if (HasFatalFailure()) return;
  Model(2).Run(300'000, 40);
  if (HasFatalFailure()) return;
  Model(3).Run(100'000, 1'000'000);
}

}  // namespace
}  // namespace vestq
