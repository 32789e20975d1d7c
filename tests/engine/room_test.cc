// max-jobs and max-bytes: who is refused, what counts, and what gives room back.
#include <string>
#include <vector>

#include "engine/schedule_request.h"
#include "tests/engine/room_fixture.h"

namespace vestq {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

TEST_P(Room, AFullQueueRefusesAndSaysWhatStandsAndWhatToDo) {
  MaxJobs(3);
  EXPECT_EQ(Fill(5), 3);
  const Error full = Enqueue();
  EXPECT_EQ(full.code(), ErrorCode::kFull);
  EXPECT_THAT(full.text(), HasSubstr("queue 'q' holds 3 jobs of 3 bytes, max-jobs is 3: "));
  EXPECT_THAT(full.text(), HasSubstr("raise it"));
  EXPECT_EQ(world_.Counts("q").refused, 3u);
  EXPECT_EQ(world_.Counts("q").enqueued, 3);
  ExpectExact();
  Complete(Take(1)[0]);
  EXPECT_EQ(Fill(2), 1) << "one place, one job";
  EXPECT_THAT(world_.Violations(), IsEmpty());
}

TEST_P(Room, BytesAreThoseOfPayloadsAndOneThatNeverFitsIsToldSo) {
  MaxBytes(1000);
  EXPECT_TRUE(Enqueue(Bytes(600)).ok());
  EXPECT_THAT(Enqueue(Bytes(500)).text(), HasSubstr("max-bytes is 1000 and 500 more are wanted"));
  EXPECT_TRUE(Enqueue(Bytes(400)).ok());
  EXPECT_TRUE(Enqueue(Bytes(0)).ok()) << "needs none";
  EXPECT_THAT(Enqueue(Bytes(1001)).text(), HasSubstr("never has room for 1 job of 1001 bytes"));
  EXPECT_EQ(world_.Counts("q").unfinished_bytes, 1000);
  ExpectExact();
  for (const LeasedJob& job : Take()) Complete(job);
  EXPECT_TRUE(Enqueue(Bytes(1000)).ok());
  EXPECT_THAT(world_.Violations(), IsEmpty());
}

TEST_P(Room, ScheduledWaitingAndLeasedJobsCountAndMovesBetweenThemChangeNothing) {
  MaxJobs(4);
  ASSERT_TRUE(Enqueue([](EnqueueRequest* r) {
                r->when = EnqueueRequest::When::kDelay;
                r->delay = Seconds(5);
              }).ok());
  ASSERT_TRUE(Enqueue([](EnqueueRequest* r) { r->space = "a"; }).ok());
  const JobId parent = last_;
  ASSERT_TRUE(Enqueue([parent](EnqueueRequest* r) { r->after = {parent}; }).ok());
  ASSERT_TRUE(Enqueue().ok());
  EXPECT_EQ(Fill(1), 0);
  ExpectExact();
  Pass(Seconds(6));
  const auto jobs = Take();
  ASSERT_THAT(jobs, SizeIs(3));
  EXPECT_EQ(Fill(1), 0) << "vested and leased, none is done";
  for (const LeasedJob& job : jobs) {
    if (job.receipt.id == parent) Complete(job);
  }
  world_.Settle();
  EXPECT_EQ(Fill(2), 1) << "the child has only become ready";
  ReleaseRequest release;
  release.receipt = jobs[0].receipt.id == parent ? jobs[1].receipt : jobs[0].receipt;
  release.delay = Seconds(1);
  world_.Run(&release, AnyCore());
  Pass(Seconds(40));  // it vests again, the other lease expires
  EXPECT_EQ(Fill(1), 0);
  ExpectExact();
  EXPECT_THAT(world_.Violations(), IsEmpty());
}

TEST_P(Room, ManyAreTakenAllOrNone) {
  MaxJobs(10);
  EXPECT_TRUE(Many(7).ok());
  EXPECT_EQ(Many(4).code(), ErrorCode::kFull);
  EXPECT_EQ(world_.Counts("q").ready, 7);
  EXPECT_TRUE(Many(3).ok());
  EXPECT_THAT(Many(11).text(),
              HasSubstr("never has room for 11 jobs of 11 bytes: its max-jobs is 10"));
  ExpectExact();
}

TEST_P(Room, ADuplicateTakesNoRoomAndIsNeverRefused) {
  const auto unique = [](EnqueueRequest* r) { r->unique_key = "k"; };
  MaxJobs(1);
  ASSERT_TRUE(Enqueue(unique).ok());
  const JobId holder = last_;
  EXPECT_TRUE(Enqueue(unique).ok());
  EXPECT_EQ(last_, holder);
  EXPECT_EQ(Enqueue([](EnqueueRequest* r) { r->unique_key = "other"; }).code(), ErrorCode::kFull);
  ExpectExact();
}

TEST_P(Room, AReplaceThatGrowsNeedsRoomForTheDifference) {
  const auto replace = [](size_t bytes) {
    return [bytes](EnqueueRequest* r) {
      r->unique_key = "k";
      r->unique_replace = true;
      r->payload.assign(bytes, 'y');
    };
  };
  MaxBytes(100);
  ASSERT_TRUE(Enqueue(replace(60)).ok());
  ASSERT_TRUE(Enqueue(Bytes(20)).ok());
  EXPECT_EQ(Enqueue(replace(90)).code(), ErrorCode::kFull);
  EXPECT_EQ(world_.Counts("q").unfinished_bytes, 80);
  EXPECT_TRUE(Enqueue(replace(80)).ok());
  EXPECT_TRUE(Enqueue(replace(10)).ok());
  EXPECT_EQ(world_.Counts("q").unfinished_bytes, 30);
  EXPECT_TRUE(Enqueue(Bytes(70)).ok());
  ExpectExact();
  EXPECT_THAT(world_.Violations(), IsEmpty());
}

// Each way out: done, dead, cancelled, lapsed, purged (all, one space, one state, ids), revoked to death.
TEST_P(Room, WhateverLeavesGivesItsPlaceBack) {
  MaxJobs(2);
  const auto full_again = [this](const std::string& after) {
    EXPECT_EQ(Fill(3), 2) << after;
    ExpectExact();
  };
  full_again("the beginning");
  for (const LeasedJob& job : Take()) Complete(job);
  full_again("COMPLETE");
  for (const LeasedJob& job : Take()) Kill(job);
  full_again("FAIL DEAD");
  EXPECT_EQ(world_.Counts("q").unfinished_bytes, 2) << "dead letters have a bound of their own";
  CancelRequest cancel;
  cancel.id = last_;
  EXPECT_EQ(Purge(), 2u);
  full_again("PURGE");
  EXPECT_EQ(Purge([](PurgeRequest* r) { r->state = JobState::kReady; }), 2u);
  full_again("PURGE STATE ready");
  EXPECT_EQ(Purge([](PurgeRequest* r) { r->one_space = true; }), 2u);
  full_again("PURGE SPACE");
  EXPECT_THAT(Take(), SizeIs(2));
  EXPECT_EQ(Purge([](PurgeRequest* r) { r->state = JobState::kLeased; }), 2u);
  full_again("PURGE STATE leased");
  EXPECT_EQ(Purge([](PurgeRequest* r) { r->state = JobState::kDead; }), 2u);
  EXPECT_EQ(Fill(1), 0) << "dead letters took no place";
  Purge();
  ASSERT_EQ(Fill(2, [](EnqueueRequest* r) { r->expire = Seconds(1); }), 2);
  Pass(Seconds(2));
  full_again("EXPIRE");
  Purge();
  ASSERT_EQ(Fill(2,
                 [](EnqueueRequest* r) {
                   r->attempts_set = true;
                   r->attempts = 1;
                 }),
            2);
  EXPECT_THAT(Take(2, Seconds(1)), SizeIs(2));
  Pass(Seconds(2));
  full_again("the last attempt's expiry");
  cancel.id = Take(1)[0].receipt.id;
  world_.Run(&cancel, AnyCore());
  EXPECT_TRUE(cancel.cancelled);
  EXPECT_EQ(Fill(2), 1) << "CANCEL";
  EXPECT_EQ(Purge([](PurgeRequest* r) { r->drop = true; }), 4u);
  EXPECT_EQ(Fill(5), 5) << "a dropped queue has no limits";
  ExpectExact();
  EXPECT_THAT(world_.Violations(), IsEmpty());
}

TEST_P(Room, ALimitBelowWhatStandsRefusesUntilItHasDrained) {
  ASSERT_EQ(Fill(10), 10);
  MaxJobs(4);
  EXPECT_THAT(Enqueue().text(), HasSubstr("holds 10 jobs"));
  auto jobs = Take();
  for (size_t i = 0; i < 6; ++i) {
    Complete(jobs[i]);
    EXPECT_EQ(Fill(1), 0) << i;
  }
  Complete(jobs[6]);
  EXPECT_EQ(Fill(3), 1);
  ExpectExact();
  MaxJobs(0);
  for (size_t i = 7; i < jobs.size(); ++i) Complete(jobs[i]);
  EXPECT_THAT(Enqueue().text(), HasSubstr("never has room"));
  NoLimits();
  EXPECT_EQ(Fill(10), 10);
  MaxJobs(12);
  EXPECT_EQ(Fill(10), 1);
  ExpectExact();
}

TEST_P(Room, TheCountIsExactAfterARestartAndOnAnotherNumberOfCores) {
  MaxJobs(6);
  ASSERT_EQ(Fill(3), 3);
  ASSERT_EQ(Fill(3, [](EnqueueRequest* r) { r->space = std::to_string(r->payload.size()); }), 3);
  Kill(Take(1)[0]);
  EXPECT_THAT(Take(2), SizeIs(2));
  Restart();
  EXPECT_EQ(Fill(3), 1);
  world_.Kill();
  world_.set_cores(static_cast<uint16_t>(3 - GetParam() % 3));
  world_.Open();
  world_.Settle();
  ExpectExact();
  EXPECT_EQ(world_.Counts("q").held_jobs, 6);
}

TEST_P(Room, RedriveStopsWhereTheQueueIsFull) {
  ASSERT_EQ(Fill(6), 6);
  for (const LeasedJob& job : Take()) Kill(job);
  MaxJobs(4);
  EXPECT_EQ(*Redrive(), 4u);
  EXPECT_EQ(Redrive().error().code(), ErrorCode::kFull) << "not one had room";
  EXPECT_EQ(world_.Counts("q").dead, 2);
  ExpectExact();
  for (const LeasedJob& job : Take()) Complete(job);
  EXPECT_EQ(*Redrive(), 2u);
  ExpectExact();
}

TEST_P(Room, RedriveToAnotherQueueTakesRoomThereAlsoUnderANewId) {
  QueueSetRequest limit;
  limit.queue = "other";
  limit.set.max_bytes = 5;
  world_.Run(&limit);
  ASSERT_EQ(Fill(4,
                 [](EnqueueRequest* r) {
                   r->space = "tenant";
                   r->payload = "two";
                 }),
            4);
  for (const LeasedJob& job : Take()) Kill(job);
  const auto to_other = [](RedriveRequest* r) { r->to = "other"; };
  EXPECT_EQ(*Redrive(to_other), 1u) << "two of three bytes do not fit into five";
  world_.Settle();
  ExpectExact("other");
  for (const LeasedJob& job : world_.Lease("other", 9)) Complete(job);
  EXPECT_EQ(*Redrive(to_other), 1u);
  EXPECT_THAT(world_.Violations(), IsEmpty());
}

TEST_P(Room, ASlotOfAScheduleThatFindsTheQueueFullIsCountedAsMissed) {
  MaxJobs(1);
  ScheduleRequest set;
  set.op = ScheduleOp::kSet;
  set.name = "tick";
  set.timing.kind = keycodec::ScheduleKind::kEvery;
  set.timing.every = Seconds(10);
  set.job.queue = "q";
  set.job.payload = "p";
  world_.Run(&set, AnyCore());
  ASSERT_TRUE(set.error.ok()) << set.error.ToString();
  Pass(Seconds(11));
  EXPECT_EQ(world_.Counts("q").ready, 1);
  Pass(Seconds(10));
  EXPECT_EQ(world_.Counts("q").ready, 1);
  ScheduleRequest get;
  get.op = ScheduleOp::kGet;
  get.name = "tick";
  world_.Run(&get, AnyCore());
  ASSERT_EQ(get.schedules.size(), 1u);
  EXPECT_EQ(get.schedules[0].value.fired, 1u);
  EXPECT_EQ(get.schedules[0].value.missed_count, 1u);
  ScheduleRequest run;
  run.op = ScheduleOp::kRun;
  run.name = "tick";
  world_.Run(&run, AnyCore());
  EXPECT_EQ(run.error.code(), ErrorCode::kFull);
  Complete(Take()[0]);
  Pass(Seconds(10));
  EXPECT_EQ(world_.Counts("q").ready, 1);
  ExpectExact();
}

TEST_P(Room, WhatEndsAndWhatComesOnOneConnectionUseTheSamePlace) {
  MaxJobs(1);
  ASSERT_TRUE(Enqueue().ok());
  const auto jobs = world_.Lease("q", 1, Duration(0), 0);
  // Both in one turn of the core that has the job.
  Stream stream;
  const auto core = static_cast<uint16_t>(jobs[0].receipt.id.value() % 7 % GetParam());
  CompleteRequest complete;
  complete.receipt = jobs[0].receipt;
  EnqueueRequest next;
  next.queue = "q";
  next.payload = "next";
  bool first = false, second = false;
  world_.Start(&complete, &first, core, &stream);
  world_.Start(&next, &second, core, &stream);
  world_.Settle();
  ASSERT_TRUE(first && second);
  EXPECT_TRUE(complete.error.ok());
  EXPECT_TRUE(next.error.ok()) << next.error.ToString();
  EXPECT_EQ(Fill(1), 0);
  ExpectExact();
}

TEST_P(Room, AQueueWithoutLimitsIsNotCounted) {
  ASSERT_EQ(Fill(3), 3);
  EXPECT_EQ(world_.Counts("q").held_jobs, 0);
  EXPECT_EQ(world_.Counts("q").refused, 0u);
}

INSTANTIATE_TEST_SUITE_P(Cores, Room, ::testing::Values(1, 3));

// Limits that are set, changed and taken away while jobs come and go on all cores, in any order of steps:
// never more than the limit stands while it holds, and the count is exact at rest.
TEST(RoomUnderWay, NeverMoreThanTheLimitByAnyOrderOfSteps) {
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    World world(WorldOf(static_cast<uint16_t>(1 + seed % 3), 7, seed));
    world.Open();
    SimRandom& random = world.random();
    struct Asked {
      std::unique_ptr<Request> request;
      bool done = false;
    };
    std::vector<std::unique_ptr<Asked>> asked;
    const auto start = [&](std::unique_ptr<Request> request) {
      asked.push_back(std::make_unique<Asked>());
      asked.back()->request = std::move(request);
      world.Start(asked.back()->request.get(), &asked.back()->done,
                  static_cast<uint16_t>(random.Below(world.options().cores)));
    };
    constexpr uint64_t kLimit = 8;
    bool limit_answered = false;
    size_t limit_at = SIZE_MAX;
    for (int step = 0; step < 1500; ++step) {
      const uint64_t dice = random.Below(100);
      if (step == 200) {
        auto set = std::make_unique<QueueSetRequest>();
        set->queue = "q";
        set->set.max_jobs = kLimit;
        limit_at = asked.size();
        start(std::move(set));
      } else if (dice < 8) {
        auto put = std::make_unique<EnqueueRequest>();
        put->queue = "q";
        put->payload = "p";
        if (random.Chance(0.3)) put->space = std::to_string(random.Below(4));
        if (random.Chance(0.3)) put->wait = Milliseconds(50);
        start(std::move(put));
      } else if (dice < 14) {
        auto lease = std::make_unique<LeaseRequest>();
        lease->queues = {"q"};
        lease->count = 3;
        start(std::move(lease));
      } else if (dice < 16) {
        world.Advance(Milliseconds(10));
      } else {
        world.Step();
      }
      for (size_t i = 0; i < asked.size(); ++i) {
        Asked& one = *asked[i];
        if (!one.done || one.request == nullptr) continue;
        if (i == limit_at) limit_answered = true;
        auto request = std::move(one.request);
        if (request->kind != RequestKind::kLease) continue;
        for (const LeasedJob& job : static_cast<LeaseRequest&>(*request).jobs) {
          auto complete = std::make_unique<CompleteRequest>();
          complete->receipt = job.receipt;
          start(std::move(complete));
        }
      }
      if (limit_answered && step % 50 == 0) {
        world.Settle();
        const QueueCounts counts = world.Counts("q");
        EXPECT_EQ(counts.held_jobs, counts.ready + counts.leased) << "seed " << seed;
        if (step > 800) {
          EXPECT_LE(counts.held_jobs, static_cast<int64_t>(kLimit)) << "seed " << seed;
        }
      }
    }
    EXPECT_TRUE(limit_answered);
    world.Settle();
    world.Advance(Seconds(1));
    world.Settle();
    for (const auto& one : asked) EXPECT_TRUE(one->done) << "seed " << seed;
    EXPECT_THAT(world.Violations(), IsEmpty()) << "seed " << seed;
    if (testing::Test::HasFailure()) return;
  }
}

}  // namespace
}  // namespace vestq
