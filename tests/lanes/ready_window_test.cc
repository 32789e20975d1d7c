#include "lanes/ready_window.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace vestq {
namespace {

using keycodec::Order;
using keycodec::ReadyRank;
using Placement = ReadyWindow::Placement;

ReadyRank Rank(uint64_t n) { return ReadyRank{1024, static_cast<int64_t>(n), JobId(n)}; }
ReadyJob Job(uint64_t n, size_t bytes = 0) {
  ReadyJob job;
  job.rank = Rank(n);
  job.attempt = static_cast<uint32_t>(n);
  if (bytes > 0) job.record = std::make_shared<const std::string>(bytes, 'x');
  return job;
}
std::vector<uint64_t> Ids(const ReadyWindow& window) {
  std::vector<uint64_t> ids;
  for (size_t i = 0; i < window.size(); ++i) ids.push_back(window.at(i).rank.id.value());
  return ids;
}
std::vector<ReadyJob> Jobs(const std::vector<uint64_t>& ids) {
  std::vector<ReadyJob> jobs;
  for (const uint64_t id : ids) jobs.push_back(Job(id));
  return jobs;
}
using IdList = std::vector<uint64_t>;

TEST(ReadyWindow, KeepsRankOrderWhateverTheOrderOfArrival) {
  ReadyWindow window(Order::kPriority, 8, true);
  for (const uint64_t n : {5, 1, 3, 2, 4}) {
    EXPECT_EQ(window.Insert(Job(n)).placement, Placement::kInserted);
  }
  EXPECT_EQ(Ids(window), (IdList{1, 2, 3, 4, 5}));
  EXPECT_EQ(window.PopFront().rank.id, JobId(1));
  EXPECT_EQ(window.Front().rank.id, JobId(2));
  EXPECT_TRUE(window.complete());
}

TEST(ReadyWindow, OrderFollowsTheZone) {
  const ReadyRank early_but_minor{9, 1, JobId(1)}, late_but_urgent{1, 9, JobId(2)};
  for (const Order order : {Order::kPriority, Order::kTime}) {
    ReadyWindow window(order, 8, true);
    ReadyJob a, b;
    a.rank = early_but_minor;
    b.rank = late_but_urgent;
    window.Insert(a);
    window.Insert(b);
    EXPECT_EQ(window.Front().rank, order == Order::kTime ? early_but_minor : late_but_urgent);
  }
}

TEST(ReadyWindow, FullWindowLeavesTheLastOnDisk) {
  ReadyWindow window(Order::kPriority, 3, true);
  for (const uint64_t n : {10, 20, 30}) window.Insert(Job(n, n));
  EXPECT_TRUE(window.complete());
  ReadyWindow::InsertOutcome outcome = window.Insert(Job(40, 40));
  EXPECT_EQ(outcome.placement, Placement::kBeyond);
  EXPECT_EQ(outcome.dropped_bytes, 40u);
  EXPECT_FALSE(window.complete());
  EXPECT_EQ(window.bound(), Rank(30));
  outcome = window.Insert(Job(15, 15));
  EXPECT_EQ(outcome.placement, Placement::kInserted);
  EXPECT_EQ(outcome.dropped_bytes, 30u);
  EXPECT_EQ(Ids(window), (IdList{10, 15, 20}));
  EXPECT_EQ(window.bound(), Rank(20));
  // Room or not: what comes after the bound is only on disk, what comes before it goes in.
  window.PopFront();
  window.PopFront();
  EXPECT_EQ(window.Insert(Job(25)).placement, Placement::kBeyond);
  EXPECT_EQ(window.Insert(Job(18)).placement, Placement::kInserted);
  EXPECT_EQ(Ids(window), (IdList{18, 20}));
}

TEST(ReadyWindow, EraseTellsWhatItHeld) {
  ReadyWindow window(Order::kPriority, 8, true);
  for (const uint64_t n : {1, 2, 3}) window.Insert(Job(n, 100 * n));
  ReadyWindow::EraseOutcome outcome = window.EraseRank(Rank(2));
  EXPECT_TRUE(outcome.erased);
  EXPECT_EQ(outcome.dropped_bytes, 200u);
  EXPECT_FALSE(window.EraseRank(Rank(2)).erased);
  EXPECT_EQ(Ids(window), (IdList{1, 3}));
  EXPECT_EQ(window.record_bytes(), 400u);
}

TEST(ReadyWindow, UnreadJobsGetTheirRecordsLater) {
  ReadyWindow window(Order::kPriority, 8, true);
  window.Insert(Job(1, 10));
  for (const uint64_t n : {2, 3, 4}) window.Insert(Job(n));
  std::vector<ReadyJob> unread;
  window.Unread(2, &unread);
  ASSERT_EQ(unread.size(), 2u);
  EXPECT_EQ(unread[0].rank, Rank(2));
  EXPECT_EQ(unread[1].rank, Rank(3));
  EXPECT_EQ(window.FindRecordless(Rank(1)), nullptr);
  EXPECT_EQ(window.FindRecordless(Rank(9)), nullptr);
  ReadyJob* job = window.FindRecordless(Rank(3));
  ASSERT_NE(job, nullptr);
  job->record = std::make_shared<const std::string>("abc");
  EXPECT_EQ(window.FindRecordless(Rank(3)), nullptr);
  EXPECT_EQ(*window.Find(Rank(3))->record, "abc");
}

TEST(ReadyWindow, RefillFromTheZonesStart) {
  ReadyWindow window(Order::kPriority, 4, false);
  EXPECT_TRUE(window.NeedsRefill());
  EXPECT_EQ(window.Insert(Job(7)).placement, Placement::kBeyond);
  EXPECT_EQ(window.BeginRefill(), std::nullopt);
  EXPECT_FALSE(window.NeedsRefill());
  window.FinishRefill(Jobs({3, 5, 7}), true);
  EXPECT_EQ(Ids(window), (IdList{3, 5, 7}));
  EXPECT_TRUE(window.complete());
}

TEST(ReadyWindow, EmptyZoneIsCompleteAfterItsScan) {
  ReadyWindow window(Order::kPriority, 4, false);
  window.BeginRefill();
  EXPECT_EQ(window.FinishRefill({}, true), 0);
  EXPECT_TRUE(window.complete());
  EXPECT_FALSE(window.NeedsRefill());
}

TEST(ReadyWindow, RefillThatDidNotReachTheEndSetsTheBound) {
  ReadyWindow window(Order::kPriority, 4, false);
  window.BeginRefill();
  window.FinishRefill(Jobs({1, 2}), false);
  EXPECT_EQ(window.bound(), Rank(2));
  EXPECT_FALSE(window.NeedsRefill());
  window.PopFront();
  EXPECT_TRUE(window.NeedsRefill());
  EXPECT_EQ(window.BeginRefill(), Rank(2));
  // More than fits: the rest stays on disk.
  window.FinishRefill(Jobs({3, 4, 5, 6}), true);
  EXPECT_EQ(Ids(window), (IdList{2, 3, 4, 5}));
  EXPECT_FALSE(window.complete());
  EXPECT_EQ(window.bound(), Rank(5));
}

TEST(ReadyWindow, ScanOfMaskedJobsStillGetsOn) {
  ReadyWindow window(Order::kPriority, 4, false);
  window.BeginRefill();
  window.FinishRefill({}, false, Rank(50));
  EXPECT_EQ(window.bound(), Rank(50));
  EXPECT_TRUE(window.NeedsRefill());
  EXPECT_EQ(window.Insert(Job(40)).placement, Placement::kInserted);
  EXPECT_EQ(window.BeginRefill(), Rank(50));
}

TEST(ReadyWindow, ScanThatGotNowhereChangesNothing) {
  ReadyWindow window(Order::kPriority, 4, false);
  window.BeginRefill();
  window.Insert(Job(9, 9));
  EXPECT_EQ(window.record_bytes(), 9u);
  EXPECT_EQ(window.FinishRefill({}, false), -9);
  EXPECT_TRUE(window.empty());
  EXPECT_TRUE(window.NeedsRefill());
  EXPECT_EQ(window.record_bytes(), 0u);
}

TEST(ReadyWindow, ChangesDuringARefillOutweighTheScan) {
  ReadyWindow window(Order::kPriority, 8, false);
  window.BeginRefill();
  window.Insert(Job(2, 20));  // the scan does not see it
  window.Insert(Job(4, 40));  // it does
  window.EraseRank(Rank(3));  // it still sees it
  window.Insert(Job(6));      // comes and goes
  window.EraseRank(Rank(6));
  window.EraseRank(Rank(7));  // goes and comes back
  window.Insert(Job(7));
  EXPECT_EQ(window.FinishRefill(Jobs({1, 3, 4, 5, 6}), true), 0);
  EXPECT_EQ(Ids(window), (IdList{1, 2, 4, 5, 7}));
  EXPECT_TRUE(window.complete());
  EXPECT_EQ(window.Find(Rank(4))->record->size(), 40u);
}

TEST(ReadyWindow, ChangesBeyondTheScanStayOnDisk) {
  ReadyWindow window(Order::kPriority, 8, false);
  window.BeginRefill();
  window.Insert(Job(100, 7));
  EXPECT_EQ(window.FinishRefill(Jobs({1, 2}), false), -7);
  EXPECT_EQ(Ids(window), (IdList{1, 2}));
  EXPECT_EQ(window.bound(), Rank(2));
}

TEST(ReadyWindow, MoreChangesThanCapacityBoundTheTrustInTheScan) {
  ReadyWindow window(Order::kPriority, 2, false);
  window.BeginRefill();
  for (const uint64_t n : {30, 10, 20, 5}) window.Insert(Job(n));
  // Recorded are 5 and 10; the scan began before 20 and 30 were there.
  window.FinishRefill(Jobs({40}), true);
  EXPECT_EQ(Ids(window), (IdList{5, 10}));
  EXPECT_FALSE(window.complete());
  EXPECT_EQ(window.bound(), Rank(10));
}

TEST(ReadyWindow, RefillIsDroppedWhenTheBoundMovedAway) {
  ReadyWindow window(Order::kPriority, 2, false);
  window.BeginRefill();
  window.FinishRefill(Jobs({50}), false);
  EXPECT_EQ(window.BeginRefill(), Rank(50));
  for (const uint64_t n : {30, 20}) window.Insert(Job(n));
  EXPECT_EQ(Ids(window), (IdList{20, 30}));  // 50 is only on disk now, and before the scan's start
  window.FinishRefill(Jobs({60}), true);
  EXPECT_EQ(Ids(window), (IdList{20, 30}));
  EXPECT_EQ(window.bound(), Rank(30));
}

TEST(ReadyWindow, ClearVoidsTheRefillInFlight) {
  ReadyWindow window(Order::kPriority, 4, false);
  window.BeginRefill();
  window.Insert(Job(1, 5));
  EXPECT_EQ(window.Clear(true), 5u);
  EXPECT_TRUE(window.complete());
  window.Insert(Job(9));
  window.FinishRefill(Jobs({1, 2}), false);
  EXPECT_TRUE(window.complete());
  EXPECT_EQ(Ids(window), (IdList{9}));
}

TEST(ReadyWindow, EmptiedWindowGivesItsMemoryBack) {
  ReadyWindow window(Order::kPriority, 1024, true);
  EXPECT_EQ(window.memory_bytes(), 0u);
  for (uint64_t n = 0; n < 1000; ++n) window.Insert(Job(n));
  EXPECT_GT(window.memory_bytes(), 40'000u);
  while (!window.empty()) window.PopFront();
  EXPECT_EQ(window.memory_bytes(), 0u);
}

TEST(ReadyWindow, SteadyStateKeepsItsBuffer) {
  ReadyWindow window(Order::kPriority, 1024, true);
  for (uint64_t n = 0; n < 20; ++n) window.Insert(Job(n));
  const size_t bytes = window.memory_bytes();
  for (uint64_t n = 20; n < 10'000; ++n) {
    window.Insert(Job(n));
    ASSERT_EQ(window.PopFront().rank.id.value(), n - 20);
    ASSERT_EQ(window.memory_bytes(), bytes);
  }
}

TEST(ReadyWindowDeathTest, SameJobTwiceIsABug) {
  ReadyWindow window(Order::kPriority, 4, true);
  window.Insert(Job(1));
  EXPECT_DEATH(window.Insert(Job(1)), "WINDOW-3");
}

}  // namespace
}  // namespace vestq
