// ENQUEUE … WAIT: first come, first served, over all cores; who is woken, and how a wait ends.
#include <string>
#include <vector>

#include "tests/engine/room_fixture.h"

namespace vestq {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class RoomWait : public Room {
 protected:
  // A job that has left the queue.
  void OneLess() {
    const auto jobs = Take(1);
    ASSERT_THAT(jobs, SizeIs(1));
    Complete(jobs[0]);
    world_.Settle();
  }
};

TEST_P(RoomWait, OneFreedPlaceWakesOneWaiterTheFirst) {
  MaxJobs(2);
  ASSERT_EQ(Fill(2), 2);
  auto first = Wait();
  auto second = Wait([](EnqueueRequest* r) { r->space = "other"; });
  auto third = Wait();
  EXPECT_FALSE(first->done || second->done || third->done);
  EXPECT_TRUE(first->request.waiting);
  EXPECT_EQ(world_.Counts("q").enqueues_waiting, 3u);
  OneLess();
  EXPECT_TRUE(first->taken());
  EXPECT_FALSE(second->done || third->done);
  OneLess();
  EXPECT_TRUE(second->taken());
  EXPECT_FALSE(third->done);
  OneLess();
  EXPECT_TRUE(third->taken());
  EXPECT_EQ(world_.Counts("q").enqueues_waiting, 0u);
  EXPECT_EQ(world_.Counts("q").refused, 0u);
  ExpectExact();
  EXPECT_THAT(world_.Violations(), IsEmpty());
}

TEST_P(RoomWait, AtItsTimeItIsRefusedAndNothingIsEnqueued) {
  MaxJobs(1);
  ASSERT_EQ(Fill(1), 1);
  auto waiter = Wait([](EnqueueRequest* r) { r->wait = Seconds(5); });
  Pass(Milliseconds(4999));
  EXPECT_FALSE(waiter->done);
  Pass(Milliseconds(1));
  EXPECT_TRUE(waiter->refused());
  EXPECT_THAT(waiter->request.error.text(), HasSubstr("max-jobs is 1"));
  EXPECT_EQ(world_.Counts("q").enqueued, 1);
  EXPECT_EQ(world_.Counts("q").refused, 1u);
  OneLess();
  EXPECT_EQ(Fill(2), 1);
  ExpectExact();
}

TEST_P(RoomWait, NobodyOvertakesThoseWhoWait) {
  MaxBytes(100);
  ASSERT_TRUE(Enqueue(Bytes(60)).ok());
  ASSERT_TRUE(Enqueue(Bytes(30)).ok());
  auto big = Wait([](EnqueueRequest* r) { r->payload.assign(80, 'b'); });
  const Error small = Enqueue(Bytes(5));
  EXPECT_EQ(small.code(), ErrorCode::kFull);
  EXPECT_THAT(small.text(), HasSubstr("1 ENQUEUEs wait for room there"));
  auto behind = Wait([](EnqueueRequest* r) { r->payload.assign(5, 's'); });
  EXPECT_FALSE(big->done || behind->done);
  OneLess();  // 60 bytes: 30 are there
  EXPECT_FALSE(big->done || behind->done);
  OneLess();
  EXPECT_TRUE(big->taken());
  EXPECT_TRUE(behind->taken()) << "as many as fit";
  ExpectExact();
}

TEST_P(RoomWait, ABigOneThatGivesUpLetsThoseBehindItIn) {
  MaxBytes(100);
  ASSERT_TRUE(Enqueue(Bytes(60)).ok());
  auto big = Wait([](EnqueueRequest* r) {
    r->payload.assign(80, 'b');
    r->wait = Seconds(2);
  });
  auto small = Wait([](EnqueueRequest* r) { r->payload.assign(40, 's'); });
  EXPECT_FALSE(small->done);
  Pass(Seconds(2));
  EXPECT_TRUE(big->refused());
  EXPECT_TRUE(small->taken());
  ExpectExact();
}

TEST_P(RoomWait, WhatNeverFitsDoesNotWait) {
  MaxBytes(100);
  auto waiter = Wait([](EnqueueRequest* r) { r->payload.assign(101, 'x'); });
  EXPECT_TRUE(waiter->refused());
  ASSERT_TRUE(Enqueue(Bytes(80)).ok());
  waiter = Wait([](EnqueueRequest* r) { r->payload.assign(90, 'x'); });
  auto behind = Wait([](EnqueueRequest* r) { r->payload.assign(15, 'x'); });
  EXPECT_FALSE(waiter->done || behind->done);
  MaxBytes(80);  // lowered below what the first needs
  EXPECT_TRUE(waiter->refused());
  EXPECT_THAT(waiter->request.error.text(), HasSubstr("never has room"));
  EXPECT_FALSE(behind->done);
  OneLess();
  EXPECT_TRUE(behind->taken());
}

TEST_P(RoomWait, ARaisedOrRemovedLimitWakesAtOnce) {
  MaxJobs(1);
  ASSERT_EQ(Fill(1), 1);
  auto first = Wait();
  auto second = Wait();
  auto third = Wait();
  MaxJobs(2);
  EXPECT_TRUE(first->taken());
  EXPECT_FALSE(second->done);
  NoLimits();
  EXPECT_TRUE(second->taken() && third->taken());
  ExpectExact();
}

TEST_P(RoomWait, PurgeLetsInAndDropTakesTheLimitAway) {
  MaxJobs(2);
  ASSERT_EQ(Fill(2, [](EnqueueRequest* r) { r->space = "s"; }), 2);
  std::vector<std::unique_ptr<Waiter>> waiters;
  for (int i = 0; i < 5; ++i) waiters.push_back(Wait());
  EXPECT_EQ(Purge(), 2u);
  world_.Settle();
  EXPECT_TRUE(waiters[0]->taken() && waiters[1]->taken());
  EXPECT_FALSE(waiters[2]->done);
  EXPECT_EQ(Purge([](PurgeRequest* r) { r->drop = true; }), 2u);
  world_.Settle();
  for (const auto& waiter : waiters) EXPECT_TRUE(waiter->taken());
  EXPECT_EQ(world_.Counts("q").ready, 3) << "in the queue that has begun anew";
  ExpectExact();
  EXPECT_THAT(world_.Violations(), IsEmpty());
}

TEST_P(RoomWait, WhoGivesUpEndsWithNothingEnqueued) {
  MaxJobs(1);
  ASSERT_EQ(Fill(1), 1);
  auto gone = Wait([](EnqueueRequest* r) { r->space = "far"; });
  auto next = Wait();
  world_.core(gone->core)->Abandon(&gone->request);
  world_.Settle();
  EXPECT_TRUE(gone->refused());
  OneLess();
  EXPECT_TRUE(next->taken());
  EXPECT_EQ(world_.Counts("q").enqueued, 2);
  ExpectExact();
}

// One that was let in at the moment when its caller gives up: nothing, and the place goes to the next.
TEST_P(RoomWait, APlaceThatComesTooLateIsPassedOn) {
  for (uint64_t steps = 0; steps < 60; ++steps) {
    MaxJobs(1);
    ASSERT_EQ(Fill(1), 1);
    auto gone = Wait([](EnqueueRequest* r) { r->space = "far"; });
    auto next = Wait();
    CompleteRequest complete;
    complete.receipt = Take(1)[0].receipt;
    bool completed = false;
    world_.Start(&complete, &completed, AnyCore());
    for (uint64_t i = 0; i < steps; ++i) world_.Step();
    if (!gone->done) world_.core(gone->core)->Abandon(&gone->request);
    world_.Settle();
    ASSERT_TRUE(gone->done);
    EXPECT_EQ(next->done, gone->refused()) << steps << ": one of them has the place";
    ExpectExact();
    if (!next->done) {
      world_.core(next->core)->Abandon(&next->request);
      world_.Settle();
    }
    Purge();
  }
}

TEST_P(RoomWait, AUniqueOneThatWaitsMayFindItsKeyHeldInTheEnd) {
  const auto unique = [](EnqueueRequest* r) { r->unique_key = "k"; };
  MaxJobs(2);
  ASSERT_EQ(Fill(2), 2);
  auto first = Wait(unique);
  auto second = Wait(unique);
  OneLess();
  EXPECT_TRUE(first->taken() && first->request.added);
  EXPECT_FALSE(second->done);
  OneLess();
  EXPECT_TRUE(second->taken());
  EXPECT_FALSE(second->request.added);
  EXPECT_EQ(second->request.id, first->request.id);
  EXPECT_EQ(Fill(2), 1) << "the place that it did not need";
  ExpectExact();
}

TEST_P(RoomWait, NothingThatGoesOnWaitsForRoomNorForThoseWhoDo) {
  ASSERT_EQ(Fill(3), 3);
  MaxJobs(1);  // below what stands
  auto waiter = Wait();
  for (int round = 0; round < 2; ++round) {
    const auto jobs = Take();
    ASSERT_THAT(jobs, SizeIs(3));
    for (const LeasedJob& job : jobs) {
      FailRequest fail;
      fail.receipt = job.receipt;
      fail.delay_set = true;
      fail.delay = Seconds(5);
      world_.Run(&fail, AnyCore());
      EXPECT_TRUE(fail.error.ok()) << fail.error.ToString();
    }
    PromoteRequest promote;
    promote.id = jobs[0].receipt.id;
    world_.Run(&promote, AnyCore());
    EXPECT_TRUE(promote.error.ok()) << promote.error.ToString();
    RescheduleRequest later;
    later.id = jobs[1].receipt.id;
    later.delay = Seconds(2);
    world_.Run(&later, AnyCore());
    EXPECT_TRUE(later.error.ok()) << later.error.ToString();
    Pass(Seconds(6));
  }
  EXPECT_FALSE(waiter->done);
  ExpectExact();
  for (int i = 0; i < 3; ++i) {
    EXPECT_FALSE(waiter->done);
    OneLess();
  }
  EXPECT_TRUE(waiter->taken());
  ExpectExact();
}

TEST_P(RoomWait, AReplaceThatWaitsTakesWhatItFindsInTheEnd) {
  MaxBytes(10);
  const auto unique = [](size_t bytes) {
    return [bytes](EnqueueRequest* r) {
      r->unique_key = "k";
      r->unique_replace = true;
      r->payload.assign(bytes, 'x');
    };
  };
  const auto cancel = [this](JobId id) {
    CancelRequest request;
    request.id = id;
    world_.Run(&request, AnyCore());
    EXPECT_TRUE(request.cancelled);
    world_.Settle();
  };
  ASSERT_TRUE(Enqueue(unique(4)).ok());
  const JobId holder = last_;
  ASSERT_TRUE(Enqueue(Bytes(4)).ok());
  auto grows = Wait(unique(8));
  EXPECT_FALSE(grows->done) << "twelve bytes are more than ten";
  cancel(last_);
  EXPECT_TRUE(grows->taken()) << "four more have room";
  EXPECT_FALSE(grows->request.added);
  EXPECT_EQ(grows->request.id, holder);
  ExpectExact();

  auto never = Wait(unique(11));
  EXPECT_THAT(never->request.error.text(), HasSubstr("never has room for 11 bytes"));
  ASSERT_TRUE(Enqueue(Bytes(2)).ok());
  const JobId two = last_;
  grows = Wait(unique(9));
  EXPECT_FALSE(grows->done);
  cancel(holder);  // now it is a job of its own, and nine fit no more than one did
  EXPECT_FALSE(grows->done);
  EXPECT_EQ(world_.Counts("q").enqueues_waiting, 1u);
  cancel(two);
  EXPECT_TRUE(grows->taken() && grows->request.added);
  EXPECT_EQ(world_.Counts("q").unfinished_bytes, 9);
  ExpectExact();
  EXPECT_THAT(world_.Violations(), IsEmpty());
}

TEST_P(RoomWait, ManyWaitForRoomForAllOfThem) {
  MaxJobs(3);
  ASSERT_EQ(Fill(3), 3);
  EnqueueManyRequest many;
  many.job.queue = "q";
  many.job.wait = Seconds(60);
  many.payloads.assign(3, "m");
  bool done = false;
  world_.Start(&many, &done, AnyCore());
  world_.Settle();
  OneLess();
  OneLess();
  EXPECT_FALSE(done);
  OneLess();
  EXPECT_TRUE(done && many.error.ok());
  EXPECT_THAT(many.ids, SizeIs(3));
  ExpectExact();
}

TEST_P(RoomWait, OneThatWaitsHoldsUpItsStream) {
  MaxJobs(1);
  ASSERT_EQ(Fill(1), 1);
  Stream stream;
  auto waiter = Wait({}, &stream);
  EnqueueRequest other;
  other.queue = "elsewhere";
  bool done = false;
  world_.Start(&other, &done, waiter->core, &stream);
  world_.Settle();
  EXPECT_FALSE(done);
  OneLess();
  EXPECT_TRUE(waiter->taken() && done);
}

TEST_P(RoomWait, PayloadsThatWaitAreBounded) {
  MaxBytes(uint64_t{2} << 20);
  ASSERT_TRUE(Enqueue(Bytes(size_t{2} << 20)).ok());
  // A sixteenth of 32 MiB.
  const auto half = [](EnqueueRequest* r) { r->payload.assign(900 << 10, 'x'); };
  auto first = Wait(half);
  auto second = Wait(half);
  auto third = Wait(half);
  EXPECT_FALSE(first->done || second->done);
  EXPECT_TRUE(third->refused());
  EXPECT_THAT(third->request.error.text(), HasSubstr("at most 2097152 may"));
  OneLess();
  EXPECT_TRUE(first->taken() && second->taken());
  auto alone = Wait([](EnqueueRequest* r) { r->payload.assign(size_t{2} << 20, 'x'); });
  EXPECT_FALSE(alone->done) << "one may wait whatever its size";
}

TEST_P(RoomWait, WhatARestartEndsLeavesNothingBehind) {
  MaxJobs(1);
  ASSERT_EQ(Fill(1), 1);
  auto waiter = Wait();
  Restart();
  EXPECT_FALSE(waiter->done);
  EXPECT_EQ(world_.Counts("q").enqueues_waiting, 0u);
  OneLess();
  EXPECT_EQ(Fill(2), 1);
  EXPECT_EQ(world_.Counts("q").enqueued, 2);
}

// BACKLOG-3, by any order of steps: whoever waits while there is room is woken, and in the order in which
// they came to rest.
TEST_P(RoomWait, NobodyWaitsBesideRoomByAnyOrderOfSteps) {
  for (int round = 0; round < 40; ++round) {
    MaxJobs(3);
    ASSERT_EQ(Fill(3), 3);
    std::vector<std::unique_ptr<Waiter>> waiters;
    for (int i = 0; i < 6; ++i)
      waiters.push_back(Wait([i](EnqueueRequest* r) { r->space = i % 2 ? "odd" : ""; }));
    std::vector<std::unique_ptr<CompleteRequest>> ends;
    bool ended[3];
    for (const LeasedJob& job : Take(3)) {
      ends.push_back(std::make_unique<CompleteRequest>());
      ends.back()->receipt = job.receipt;
    }
    for (size_t i = 0; i < ends.size(); ++i) {
      world_.Start(ends[i].get(), &ended[i], AnyCore());
      for (uint64_t steps = world_.random().Below(30); steps > 0; --steps) world_.Step();
    }
    world_.Settle();
    for (size_t i = 0; i < waiters.size(); ++i)
      EXPECT_EQ(waiters[i]->done, i < 3) << "round " << round << ", waiter " << i;
    ExpectExact();
    NoLimits();
    world_.Settle();
    for (const auto& waiter : waiters) EXPECT_TRUE(waiter->taken());
    EXPECT_EQ(Purge(), 6u);
  }
  EXPECT_THAT(world_.Violations(), IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(Cores, RoomWait, ::testing::Values(1, 3));

}  // namespace
}  // namespace vestq
