// What a job may have beyond its payload: type and headers, a checkpoint, a unique key, an EXPIRE, a
// result that is kept.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "engine/kv_request.h"
#include "tests/sim/world.h"

namespace vestq {
namespace {

using ::testing::IsEmpty;

class Extras : public ::testing::Test {
 protected:
  Extras() : world_(Options()) { world_.Open(); }

  static WorldOptions Options() {
    WorldOptions options;
    options.cores = 2;
    return options;
  }

  struct Added {
    JobId id;
    bool added;
    JobState state;
  };
  Added Enqueue(const std::function<void(EnqueueRequest*)>& with, uint16_t core = 0) {
    EnqueueRequest request;
    request.queue = "q";
    request.payload = "p";
    with(&request);
    world_.Run(&request, core);
    EXPECT_TRUE(request.error.ok()) << request.error.ToString();
    return {request.id, request.added, request.holder_state};
  }
  Added Unique(const std::string& key, Duration window = Duration(0), uint16_t core = 0) {
    return Enqueue(
        [&](EnqueueRequest* r) {
          r->unique_key = key;
          r->unique_window = window;
        },
        core);
  }
  LeasedJob One(Duration lease = Seconds(30)) {
    std::vector<LeasedJob> jobs = world_.Lease("q", 1, lease);
    EXPECT_EQ(jobs.size(), 1u);
    return jobs.empty() ? LeasedJob() : jobs[0];
  }
  Error Checkpoint(const Receipt& receipt, const std::string& bytes) {
    CheckpointRequest request;
    request.receipt = receipt;
    request.checkpoint = bytes;
    world_.Run(&request);
    return request.error;
  }
  void Fail(const Receipt& receipt, const std::string& reason, bool dead = false) {
    FailRequest request;
    request.receipt = receipt;
    request.reason = reason;
    request.to_dead = dead;
    world_.Run(&request);
    EXPECT_TRUE(request.error.ok()) << request.error.ToString();
    EXPECT_EQ(request.dead, dead);
  }
  bool Cancel(JobId id) {
    CancelRequest request;
    request.id = id;
    world_.Run(&request);
    EXPECT_TRUE(request.error.ok());
    return request.cancelled;
  }
  void Pass(Duration time) {
    world_.Advance(time);
    world_.Settle();
  }
  void Describe(JobId id, JobRequest* job) {
    job->id = id;
    world_.Run(job);
    EXPECT_TRUE(job->error.ok()) << job->error.ToString();
  }
  void Restart() {
    world_.Kill();
    EXPECT_THAT(world_.CheckOffline(), IsEmpty());
    world_.Open();
    world_.Settle();
  }

  World world_;
};

TEST_F(Extras, TypeAndHeadersComeWithEachLeaseAndWithJob) {
  const JobId id = Enqueue([](EnqueueRequest* r) {
                     r->type = "resize";
                     r->headers = {{"trace", "abc"}, {"trace", "def"}, {"", std::string("\0", 1)}};
                   }).id;
  const LeasedJob job = One();
  EXPECT_EQ(job.type, "resize");
  ASSERT_EQ(job.headers.size(), 3u);
  EXPECT_EQ(job.headers[1].second, "def");
  EXPECT_EQ(job.headers[2].second.size(), 1u);
  Fail(job.receipt, "boom", true);
  JobRequest dead;
  Describe(id, &dead);
  EXPECT_EQ(dead.state, JobState::kDead);
  EXPECT_EQ(dead.type, "resize");
  EXPECT_EQ(dead.headers.size(), 3u);
  EXPECT_THAT(world_.Violations(), IsEmpty());
}

// --- CHECKPOINT (case B02, step 4) ---

TEST_F(Extras, ExactlyTheLastCheckpointComesWithTheNextLease) {
  world_.Enqueue("q", "p");
  LeasedJob job = One(Seconds(2));
  EXPECT_EQ(job.checkpoint, "");
  for (int i = 1; i <= 57; ++i) {
    world_.Advance(Seconds(1));
    ASSERT_TRUE(Checkpoint(job.receipt, "c" + std::to_string(i)).ok()) << i;
  }
  Pass(Seconds(2));
  LeasedJob next = One(Seconds(2));
  EXPECT_EQ(next.checkpoint, "c57");
  EXPECT_EQ(next.attempt, 2u);
  EXPECT_EQ(Checkpoint(job.receipt, "old").code(), ErrorCode::kLeaseLost);
  ASSERT_TRUE(Checkpoint(next.receipt, "c58").ok());
  Restart();
  JobRequest described;
  Describe(next.receipt.id, &described);
  EXPECT_EQ(described.state, JobState::kLeased);
  EXPECT_EQ(described.checkpoint, "c58");
  Pass(Seconds(10));  // after a crash a lease may last longer
  EXPECT_EQ(One().checkpoint, "c58");
  EXPECT_THAT(world_.Violations(), IsEmpty());
}

TEST_F(Extras, ACheckpointOutlivesFailureReleaseAndDeathAndIsTakenBackByAnEmptyOne) {
  world_.Enqueue("q", "p");
  LeasedJob job = One();
  ASSERT_TRUE(Checkpoint(job.receipt, "half").ok());
  Fail(job.receipt, "first");
  Pass(Days(1));
  job = One();
  EXPECT_EQ(job.checkpoint, "half");
  ReleaseRequest release;
  release.receipt = job.receipt;
  world_.Run(&release);
  ASSERT_TRUE(release.error.ok());
  job = One();
  EXPECT_EQ(job.checkpoint, "half");
  JobRequest described;
  Describe(job.receipt.id, &described);
  EXPECT_EQ(described.last_error, "first");
  ASSERT_TRUE(Checkpoint(job.receipt, "").ok());
  Fail(job.receipt, "second");
  Pass(Days(1));
  job = One();
  EXPECT_EQ(job.checkpoint, "");
  ASSERT_TRUE(Checkpoint(job.receipt, "kept").ok());
  Fail(job.receipt, "third", true);
  JobRequest dead;
  Describe(job.receipt.id, &dead);
  EXPECT_EQ(dead.checkpoint, "kept");
  EXPECT_EQ(dead.last_error, "third");
  EXPECT_THAT(world_.Violations(), IsEmpty());
}

TEST_F(Extras, AJobThatIsCompletedTakesItsCheckpointWithIt) {
  world_.Enqueue("q", "p");
  const LeasedJob job = One();
  ASSERT_TRUE(Checkpoint(job.receipt, "x").ok());
  ASSERT_TRUE(world_.Complete(job.receipt).ok());
  EXPECT_EQ(world_.State(job.receipt.id), JobState::kGone);
  EXPECT_THAT(world_.Violations(), IsEmpty());  // no row is left over
}

// --- UNIQUE (case B25) ---

TEST_F(Extras, AKeyIsHeldWhileItsJobIsUnfinished) {
  const Added first = Unique("k");
  EXPECT_TRUE(first.added);
  Added again = Unique("k", Duration(0), 1);
  EXPECT_FALSE(again.added);
  EXPECT_EQ(again.id, first.id);
  EXPECT_EQ(again.state, JobState::kReady);
  const LeasedJob job = One();
  EXPECT_EQ(Unique("k").state, JobState::kLeased);
  Fail(job.receipt, "later");
  EXPECT_EQ(Unique("k").state, JobState::kScheduled);
  Restart();
  EXPECT_EQ(Unique("k").id, first.id);
  Pass(Days(1));
  ASSERT_TRUE(world_.Complete(One().receipt).ok());
  const Added second = Unique("k");
  EXPECT_TRUE(second.added);
  EXPECT_NE(second.id, first.id);
  EXPECT_EQ(world_.Counts("q").duplicates, 4);
  EXPECT_THAT(world_.Violations(), IsEmpty());
}

TEST_F(Extras, ACancelledOrDeadJobHoldsNoKey) {
  const Added first = Enqueue([](EnqueueRequest* r) {
    r->unique_key = "k";
    r->unique_window = Seconds(120);
    r->when = EnqueueRequest::When::kDelay;
    r->delay = Seconds(60);
  });
  EXPECT_TRUE(Cancel(first.id));
  const Added second = Unique("k", Seconds(120));
  EXPECT_TRUE(second.added);
  Fail(One().receipt, "dead", true);
  const Added third = Unique("k", Seconds(120));
  EXPECT_TRUE(third.added);
  One();
  EXPECT_TRUE(Cancel(third.id));  // while it is leased
  EXPECT_TRUE(Unique("k").added);
  EXPECT_TRUE(Cancel(second.id));  // the dead one: the key is another's by now
  EXPECT_FALSE(Unique("k").added);
  EXPECT_THAT(world_.Violations(), IsEmpty());
}

TEST_F(Extras, AWindowHoldsTheKeyAfterTheJobIsDoneWhateverTheWallClockDoes) {
  const Added first = Unique("k", Seconds(120));
  Pass(Seconds(1));
  ASSERT_TRUE(world_.Complete(One().receipt).ok());
  world_.StepWall(Seconds(3600));
  Pass(Seconds(29));
  Added held = Unique("k", Seconds(120));
  EXPECT_FALSE(held.added);
  EXPECT_EQ(held.id, first.id);
  EXPECT_EQ(held.state, JobState::kGone);
  world_.StepWall(Seconds(-7200));
  Restart();
  EXPECT_FALSE(Unique("k", Seconds(120)).added);
  Pass(Seconds(89));
  EXPECT_FALSE(Unique("k", Seconds(120)).added);
  Pass(Seconds(2));
  EXPECT_TRUE(Unique("k", Seconds(120)).added);
  EXPECT_THAT(world_.Violations(), IsEmpty());
}

TEST_F(Extras, KeysRunOutOfTheirWindowAndLeaveNothing) {
  for (int i = 0; i < 3000; ++i) Unique("key" + std::to_string(i), Seconds(60));
  for (int i = 0; i < 3; ++i) {
    for (const LeasedJob& job : world_.Lease("q", 1000))
      ASSERT_TRUE(world_.Complete(job.receipt).ok());
  }
  EXPECT_FALSE(Unique("key7").added);
  for (int i = 0; i < 20; ++i) Pass(Seconds(5));
  EXPECT_THAT(world_.Violations(), IsEmpty());
  EXPECT_EQ(world_.last_report().unique_keys, 0u);
  EXPECT_EQ(world_.last_report().timers, 0u);
}

TEST_F(Extras, SpacesAndQueuesHaveKeysOfTheirOwn) {
  EXPECT_TRUE(Unique("k").added);
  EXPECT_TRUE(Enqueue([](EnqueueRequest* r) { r->unique_key = "k", r->space = "a"; }).added);
  EXPECT_TRUE(Enqueue([](EnqueueRequest* r) { r->unique_key = "k", r->space = "b"; }).added);
  EXPECT_FALSE(Enqueue([](EnqueueRequest* r) { r->unique_key = "k", r->space = "b"; }).added);
  EXPECT_TRUE(Enqueue([](EnqueueRequest* r) { r->unique_key = "k", r->queue = "other"; }).added);
  EXPECT_TRUE(Unique(std::string("k\0", 2)).added);
  EXPECT_TRUE(Unique(std::string(512, 'x')).added);
}

TEST_F(Extras, TheSameKeyFromTwoCoresAtOnceMakesOneJob) {
  for (int i = 0; i < 200; ++i) {
    EnqueueRequest a, b;
    bool a_done = false, b_done = false;
    for (EnqueueRequest* r : {&a, &b}) {
      r->queue = "q";
      r->payload = "p";
      r->unique_key = "k" + std::to_string(i);
    }
    world_.Start(&a, &a_done, 0);
    world_.Start(&b, &b_done, 1);
    while (!(a_done && b_done)) {
      if (!world_.Step()) world_.Settle();
    }
    EXPECT_NE(a.added, b.added) << i;
    EXPECT_EQ(a.id, b.id) << i;
  }
  EXPECT_EQ(world_.Counts("q").ready, 200);
}

TEST_F(Extras, ReplaceLeavesTheCheckpoint) {
  for (const Duration delay : {Duration(0), Seconds(5)}) {
    Unique("k");
    LeasedJob job = One();
    ASSERT_TRUE(Checkpoint(job.receipt, "half").ok());
    ReleaseRequest release;
    release.receipt = job.receipt;
    release.delay = delay;
    world_.Run(&release);
    ASSERT_TRUE(release.error.ok());
    const Added replaced = Enqueue([](EnqueueRequest* r) {
      r->payload = "new";
      r->unique_key = "k";
      r->unique_replace = true;
    });
    EXPECT_EQ(replaced.state, JobState::kReady);
    job = One();
    EXPECT_EQ(job.payload, "new");
    EXPECT_EQ(job.checkpoint, "half");
    ASSERT_TRUE(world_.Complete(job.receipt).ok());
  }
}

TEST_F(Extras, ReplaceGivesTheHolderPayloadTimeAndPriority) {
  auto replace = [&](const std::string& payload, Duration delay, uint32_t priority) {
    return Enqueue([&](EnqueueRequest* r) {
      r->payload = payload;
      r->unique_key = "k";
      r->unique_replace = true;
      r->priority = priority;
      if (delay > Duration(0)) {
        r->when = EnqueueRequest::When::kDelay;
        r->delay = delay;
      }
    });
  };
  const JobId id = replace("one", Seconds(10), 5).id;
  Pass(Seconds(8));
  Added added = replace("twenty", Seconds(10), 7);
  EXPECT_FALSE(added.added);
  EXPECT_EQ(added.id, id);
  EXPECT_EQ(added.state, JobState::kScheduled);
  Pass(Seconds(8));
  EXPECT_THAT(world_.Lease("q"), IsEmpty());
  JobRequest job;
  job.want_payload = true;
  Describe(id, &job);
  EXPECT_EQ(job.payload, "twenty");
  EXPECT_EQ(job.priority, 7u);
  EXPECT_EQ(job.vests_in, Seconds(2));
  EXPECT_EQ(world_.Counts("q").bytes, 6);
  EXPECT_EQ(replace("now", Duration(0), 1).state, JobState::kReady);
  EXPECT_EQ(replace("now!", Duration(0), 2).state, JobState::kReady);
  Restart();
  const LeasedJob leased = One();
  EXPECT_EQ(leased.payload, "now!");
  EXPECT_EQ(leased.priority, 2u);
  EXPECT_EQ(replace("too late", Duration(0), 1).state, JobState::kLeased);
  ASSERT_TRUE(world_.Complete(leased.receipt).ok());
  EXPECT_EQ(world_.Counts("q").bytes, 0);
  EXPECT_THAT(world_.Lease("q"), IsEmpty());
  EXPECT_THAT(world_.Violations(), IsEmpty());
}

// --- EXPIRE ---

TEST_F(Extras, AJobThatNobodyTookInTimeIsGone) {
  const JobId now = Enqueue([](EnqueueRequest* r) { r->expire = Seconds(10); }).id;
  const JobId later = Enqueue([](EnqueueRequest* r) {
                        r->expire = Seconds(10);
                        r->when = EnqueueRequest::When::kDelay;
                        r->delay = Seconds(60);
                        r->unique_key = "k";
                      }).id;
  Pass(Milliseconds(9'999));
  EXPECT_EQ(world_.State(now), JobState::kReady);
  Pass(Milliseconds(1));
  EXPECT_EQ(world_.State(now), JobState::kGone);
  EXPECT_EQ(world_.State(later), JobState::kScheduled);
  Pass(Seconds(55));
  EXPECT_EQ(world_.State(later), JobState::kReady);
  Restart();
  Pass(Seconds(5));
  EXPECT_EQ(world_.State(later), JobState::kGone);
  EXPECT_TRUE(Unique("k").added);
  EXPECT_EQ(world_.Counts("q").lapsed, 2);
  EXPECT_EQ(world_.Counts("q").dead, 0);
  EXPECT_THAT(world_.Violations(), IsEmpty());
}

TEST_F(Extras, OnceLeasedAJobDoesNotExpireAnyMore) {
  const JobId id = Enqueue([](EnqueueRequest* r) { r->expire = Seconds(10); }).id;
  LeasedJob job = One(Seconds(20));
  ReleaseRequest release;
  release.receipt = job.receipt;
  world_.Run(&release);
  ASSERT_TRUE(release.error.ok());
  Pass(Seconds(60));
  EXPECT_EQ(world_.State(id), JobState::kReady);
  job = One();
  EXPECT_EQ(job.attempt, 1u);
  EXPECT_TRUE(world_.Complete(job.receipt).ok());
  EXPECT_THAT(world_.Violations(), IsEmpty());
}

TEST_F(Extras, ALeaseAfterALongStopTakesNoExpiredJob) {
  for (int i = 0; i < 5; ++i) Enqueue([](EnqueueRequest* r) { r->expire = Seconds(10); });
  world_.Enqueue("q", "fresh");
  world_.Kill();
  world_.Advance(Days(1));
  world_.Open();
  EXPECT_EQ(One().payload, "fresh");
  EXPECT_EQ(world_.Counts("q").lapsed, 5);
}

// --- KEEP and RESULT ---

TEST_F(Extras, AKeptResultIsReadableForItsTimeAndThenGone) {
  const JobId id = Enqueue([](EnqueueRequest* r) {
                     r->keep = Seconds(100);
                     r->type = "sum";
                     r->unique_key = "k";
                     r->unique_window = Seconds(30);
                   }).id;
  Fail(One().receipt, "once");
  Pass(Days(1));
  CompleteRequest complete;
  complete.receipt = One().receipt;
  complete.result = "42";
  world_.Run(&complete);
  ASSERT_TRUE(complete.error.ok());
  EXPECT_EQ(world_.Counts("q").done, 1);
  EXPECT_EQ(world_.Counts("q").bytes, 0);
  Restart();
  Pass(Seconds(99));
  JobRequest job;
  Describe(id, &job);
  EXPECT_EQ(job.state, JobState::kDone);
  EXPECT_EQ(job.result, "42");
  EXPECT_EQ(job.type, "sum");
  EXPECT_EQ(job.last_error, "once");
  EXPECT_EQ(job.attempt, 2u);
  EXPECT_EQ(job.kept_for, Seconds(1));
  EXPECT_FALSE(Cancel(id));  // it is finished
  EXPECT_TRUE(Unique("k").added);
  Pass(Seconds(2));
  EXPECT_EQ(world_.State(id), JobState::kGone);
  EXPECT_EQ(world_.Counts("q").done, 0);
  EXPECT_THAT(world_.Violations(), IsEmpty());
}

TEST_F(Extras, ACompleteThatReadsIsOverAtOnceForAllOthers) {
  Enqueue([](EnqueueRequest* r) { r->keep = Seconds(100); });
  const LeasedJob job = One();
  CompleteRequest first, second;
  RenewRequest renew;
  bool first_done = false, second_done = false, renew_done = false;
  first.receipt = second.receipt = renew.receipt = job.receipt;
  world_.Start(&first, &first_done);
  world_.Start(&second, &second_done);
  world_.Start(&renew, &renew_done);
  world_.Settle();
  ASSERT_TRUE(first_done && second_done && renew_done);
  EXPECT_TRUE(first.error.ok());
  EXPECT_EQ(second.error.code(), ErrorCode::kLeaseLost);
  EXPECT_EQ(renew.error.code(), ErrorCode::kLeaseLost);
  EXPECT_EQ(world_.Counts("q").completed, 1);
}

TEST_F(Extras, WhatFollowsACompleteInItsStreamComesAfterIt) {
  Enqueue([](EnqueueRequest* r) { r->keep = Seconds(100); });
  const LeasedJob job = One();
  Stream stream;
  CompleteRequest complete;
  complete.receipt = job.receipt;
  DataSetRequest set;
  set.key = "done";
  set.value = "1";
  bool complete_done = false, set_done = false;
  world_.Start(&complete, &complete_done, 0, &stream);
  world_.Start(&set, &set_done, 0, &stream);
  world_.Settle();
  ASSERT_TRUE(complete_done && set_done);
  EXPECT_LE(complete.ticket, set.ticket);  // the same batch, or a later one
}

TEST_F(Extras, ReplaceKeepsTheCheckpointOfARetry) {
  Unique("k");
  const LeasedJob job = One();
  ASSERT_TRUE(Checkpoint(job.receipt, "half").ok());
  Fail(job.receipt, "once");
  const Added replaced = Enqueue([](EnqueueRequest* r) {
    r->payload = "new";
    r->unique_key = "k";
    r->unique_replace = true;
  });
  EXPECT_EQ(replaced.state, JobState::kReady);
  Restart();
  const LeasedJob again = One();
  EXPECT_EQ(again.payload, "new");
  EXPECT_EQ(again.checkpoint, "half");
  EXPECT_EQ(again.attempt, 2u);
  EXPECT_THAT(world_.Violations(), IsEmpty());
}

TEST_F(Extras, AHolderPastItsTimeTurnsNobodyAway) {
  Enqueue([](EnqueueRequest* r) {
    r->unique_key = "k";
    r->expire = Seconds(10);
  });
  world_.Kill();
  world_.Advance(Seconds(60));
  world_.Open();
  EXPECT_TRUE(Unique("k").added);
  EXPECT_EQ(world_.Counts("q").lapsed, 1);
  EXPECT_THAT(world_.Violations(), IsEmpty());
}

TEST_F(Extras, AMovedJobExpiresByItsNewTimeAlsoAtALease) {
  const JobId id = Enqueue([](EnqueueRequest* r) { r->expire = Seconds(10); }).id;
  RescheduleRequest later;
  later.id = id;
  later.delay = Seconds(30);
  world_.Run(&later);
  ASSERT_TRUE(later.error.ok());
  Pass(Seconds(35));
  EXPECT_EQ(world_.State(id), JobState::kReady);
  world_.Kill();
  world_.Advance(Seconds(60));
  world_.Open();
  EXPECT_THAT(world_.Lease("q"), IsEmpty());
  EXPECT_EQ(world_.Counts("q").lapsed, 1);
  EXPECT_THAT(world_.Violations(), IsEmpty());
}

}  // namespace
}  // namespace vestq
