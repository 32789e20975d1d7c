// The order of a queue's ready jobs, `order time`, and the ages of QUEUE INFO.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/watch_request.h"
#include "tests/sim/world.h"

namespace vestq {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class OrderTime : public ::testing::Test {
 protected:
  OrderTime() { world_.Open(); }

  Error SetOrder(std::optional<keycodec::Order> order) {
    QueueSetRequest set;
    set.queue = "q";
    if (order) set.set.order = *order;
    if (!order) set.unset.order = keycodec::Order::kPriority;
    world_.Run(&set);
    return set.error;
  }
  JobId Put(const std::string& payload, uint32_t priority = 1024, Duration delay = Duration(0),
            const std::string& space = "") {
    EnqueueRequest request;
    request.queue = "q";
    request.payload = payload;
    request.priority = priority;
    request.space = space;
    if (delay > Duration(0)) {
      request.when = EnqueueRequest::When::kDelay;
      request.delay = delay;
    }
    world_.Run(&request);
    EXPECT_TRUE(request.error.ok());
    return request.id;
  }
  void Advance(Duration time) {
    world_.Advance(time);
    world_.Settle();
  }
  std::vector<std::string> TakeAll() {
    std::vector<std::string> out;
    for (const LeasedJob& job : world_.Lease("q", 100)) out.emplace_back(job.payload);
    return out;
  }

  World world_;
};

TEST_F(OrderTime, ByVestingTimeThenPriorityThenId) {
  ASSERT_TRUE(SetOrder(keycodec::Order::kTime).ok());
  Put("later", 1, Seconds(20));
  Put("d10-low", 2000, Seconds(10));
  Put("first", 5000);
  Put("second", 5000);
  Put("urgent", 0);
  Put("d10-high", 5, Seconds(10));
  Advance(Seconds(5));
  Put("at5", 0);
  Advance(Seconds(25));
  Put("at30", 0);
  EXPECT_THAT(world_.Violations(), IsEmpty());  // and across a restart
  EXPECT_THAT(TakeAll(), ElementsAre("urgent", "first", "second", "at5", "d10-high", "d10-low",
                                     "later", "at30"));
}

TEST_F(OrderTime, WhereAJobStandsThatComesBack) {
  ASSERT_TRUE(SetOrder(keycodec::Order::kTime).ok());
  Put("a");
  Advance(Seconds(1));
  Put("b");
  Advance(Seconds(1));
  Put("c");
  // Given back or expired: its old place. Failed: when it vests anew.
  auto jobs = world_.Lease("q", 2, Seconds(10));
  ReleaseRequest release;
  release.receipt = jobs[1].receipt;
  world_.Run(&release);
  Advance(Seconds(11));
  EXPECT_THAT(world_.Violations(), IsEmpty());
  jobs = world_.Lease("q", 1);
  ASSERT_THAT(jobs, SizeIs(1));
  EXPECT_EQ(jobs[0].payload, "a");
  FailRequest fail;
  fail.receipt = jobs[0].receipt;
  fail.delay_set = true;
  world_.Run(&fail);
  EXPECT_THAT(world_.Violations(), IsEmpty());
  jobs = world_.Lease("q", 1);
  EXPECT_EQ(jobs[0].payload, "b");
  fail.receipt = jobs[0].receipt;
  fail.delay = Seconds(5);
  world_.Run(&fail);
  Advance(Seconds(2));
  Put("d");
  Advance(Seconds(4));
  EXPECT_THAT(TakeAll(), ElementsAre("c", "a", "d", "b"));
  EXPECT_THAT(world_.Violations(), IsEmpty());
}

TEST_F(OrderTime, RescheduledPromotedAtWallTimeAndCancelled) {
  ASSERT_TRUE(SetOrder(keycodec::Order::kTime).ok());
  EnqueueRequest at;
  at.queue = "q";
  at.payload = "wall";
  at.when = EnqueueRequest::When::kAt;
  at.at = WallTime(world_.clock().wall_ms + 7000);
  world_.Run(&at);
  const JobId moved = Put("moved");
  const JobId promoted = Put("promoted", 1024, Hours(1));
  const JobId gone = Put("gone", 1024, Seconds(3));
  RescheduleRequest move;
  move.id = moved;
  move.delay = Seconds(9);
  world_.Run(&move);
  Advance(Seconds(2));
  PromoteRequest promote;
  promote.id = promoted;
  world_.Run(&promote);
  Advance(Seconds(10));
  EXPECT_THAT(world_.Violations(), IsEmpty());
  CancelRequest cancel;
  cancel.id = gone;
  world_.Run(&cancel);
  EXPECT_TRUE(cancel.cancelled);
  EXPECT_EQ(world_.State(moved), JobState::kReady);
  // All that vested between two turns by wall time stand where they were seen.
  EXPECT_THAT(TakeAll(), ElementsAre("promoted", "moved", "wall"));
  EXPECT_THAT(world_.Violations(), IsEmpty());
}

TEST_F(OrderTime, ChangesOnlyWhileThereIsNoJob) {
  ASSERT_TRUE(SetOrder(keycodec::Order::kTime).ok());
  const JobId id = Put("p", 1024, Hours(1));
  Error error = SetOrder(std::nullopt);
  EXPECT_EQ(error.code(), ErrorCode::kBusy);
  EXPECT_THAT(error.text(), HasSubstr("1 jobs"));
  EXPECT_TRUE(SetOrder(keycodec::Order::kTime).ok()) << "it is that already";
  CancelRequest cancel;
  cancel.id = id;
  world_.Run(&cancel);
  EXPECT_TRUE(SetOrder(std::nullopt).ok());
  Put("low", 9);
  Put("high", 1);
  EXPECT_EQ(SetOrder(keycodec::Order::kTime).code(), ErrorCode::kBusy);
  EXPECT_THAT(world_.Violations(), IsEmpty());
  EXPECT_EQ(SetOrder(keycodec::Order::kTime).code(), ErrorCode::kBusy);
  EXPECT_THAT(TakeAll(), ElementsAre("high", "low"));
}

// --- Ages ---

std::vector<int64_t> Ages(World* world, bool* whole = nullptr) {
  QueueInfoRequest info;
  info.queue = "q";
  world->Run(&info);
  EXPECT_TRUE(info.error.ok());
  if (whole != nullptr) *whole = info.whole;
  std::vector<int64_t> ages;
  for (const auto& since : info.oldest) ages.push_back(since ? (info.at - *since).ms() : -1);
  return ages;
}

TEST_F(OrderTime, TheOldestReadyJobByPriorityBand) {
  QueueInfoRequest none;
  none.queue = "nowhere";
  world_.Run(&none);
  EXPECT_EQ(none.error.code(), ErrorCode::kNotFound);
  Put("scheduled", 0, Hours(1));
  EXPECT_THAT(Ages(&world_), ElementsAre(-1, -1, -1));
  Put("low", 5000, Duration(0), "a");
  Advance(Seconds(10));
  Put("urgent", 7, Duration(0), "b");
  Advance(Seconds(10));
  Put("more urgent", 3, Duration(0), "c");
  Put("normal");
  Put("lower", UINT32_MAX, Duration(0), "a");
  Advance(Seconds(10));
  EXPECT_THAT(Ages(&world_), ElementsAre(20'000, 10'000, 30'000));
  EXPECT_THAT(world_.Violations(), IsEmpty());
  EXPECT_THAT(Ages(&world_), ElementsAre(20'000, 10'000, 30'000)) << "after a restart";
  LeaseRequest lease;
  lease.queues = {"q"};
  lease.one_space = true;
  lease.space = "b";
  world_.Run(&lease);
  EXPECT_THAT(Ages(&world_), ElementsAre(10'000, 10'000, 30'000)) << "leased ones do not count";
}

TEST_F(OrderTime, TheOldestReadyJobByTimeOrder) {
  ASSERT_TRUE(SetOrder(keycodec::Order::kTime).ok());
  Put("a", 5, Seconds(10));
  Put("b", 5000);
  Advance(Seconds(15));
  EXPECT_THAT(Ages(&world_), ElementsAre(5'000, -1, 15'000)) << "since it vested";
}

TEST_F(OrderTime, TheSearchForTheOldestIsBounded) {
  EnqueueManyRequest many;
  many.job.queue = "q";
  ASSERT_TRUE(SetOrder(keycodec::Order::kTime).ok());
  for (int i = 0; i < 11; ++i) {
    many.payloads.assign(1000, "p");
    world_.Run(&many);
    ASSERT_TRUE(many.error.ok());
  }
  bool whole = true;
  EXPECT_EQ(Ages(&world_, &whole)[1], 0);
  EXPECT_FALSE(whole);
}

}  // namespace
}  // namespace vestq
