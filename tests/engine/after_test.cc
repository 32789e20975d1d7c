// AFTER: jobs that wait for others, with every way a parent can end, on one and several cores.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "engine/group_request.h"
#include "tests/engine/after_fixture.h"

namespace vestq {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

INSTANTIATE_TEST_SUITE_P(Cores, After, ::testing::Values(1, 3));

TEST_P(After, RunsOnceItsParentIsComplete) {
  const JobId parent = Put("p");
  const JobId child = Put("c", {parent});
  EXPECT_EQ(Job(child).state, JobState::kWaiting);
  EXPECT_EQ(Job(child).parents, 1u);
  EXPECT_EQ(world_.Counts("c").waiting, 1);
  EXPECT_EQ(world_.Counts("c").ready, 0);
  EXPECT_THAT(world_.Lease("c"), IsEmpty());
  ExpectSound();
  const Receipt receipt = Take("p");
  EXPECT_EQ(receipt.id, parent);
  EXPECT_EQ(State(child), JobState::kWaiting);
  EXPECT_TRUE(world_.Complete(receipt, Any()).ok());
  world_.Settle();
  EXPECT_EQ(State(child), JobState::kReady);
  EXPECT_EQ(world_.Counts("c").waiting, 0);
  EXPECT_EQ(Take("c").id, child);
  ExpectNoEdges();
}

TEST_P(After, AWaitingLeaseGetsTheJobWhenItsParentIsComplete) {
  const JobId parent = Put("p");
  const JobId child = Put("c", {parent});
  LeaseRequest lease;
  lease.queues = {"c"};
  lease.wait = true;
  bool done = false;
  world_.Start(&lease, &done, Any());
  world_.Settle();
  EXPECT_FALSE(done);
  Finish("p");
  EXPECT_TRUE(done);
  ASSERT_THAT(lease.jobs, SizeIs(1));
  EXPECT_EQ(lease.jobs[0].receipt.id, child);
}

TEST_P(After, OneThatIsCompleteAlreadyOrNoLongerStoredCounts) {
  const JobId parent = Put("p");
  Finish("p");
  const JobId child = Put("c", {parent});
  EXPECT_EQ(State(child), JobState::kReady) << "the answer comes when that is known";
  const JobId cancelled = Put("p");
  Cancel(cancelled);
  EXPECT_EQ(State(Put("c", {parent, cancelled})), JobState::kReady);
  ExpectNoEdges();
}

TEST_P(After, AKeptParentCountsAsComplete) {
  const JobId parent = Put("p", {}, [](EnqueueRequest* r) { r->keep = Days(1); });
  const JobId early = Put("c", {parent});
  Finish("p");
  EXPECT_EQ(State(parent), JobState::kDone);
  EXPECT_EQ(State(early), JobState::kReady);
  EXPECT_EQ(State(Put("c", {parent})), JobState::kReady);
  ExpectNoEdges();
}

TEST_P(After, OneThatWasNeverEnqueuedIsNotFound) {
  const JobId parent = Put("p");
  Put("c", {parent, JobId(uint64_t{1} << 40)});
  EXPECT_EQ(error_.code(), ErrorCode::kNotFound);
  EXPECT_THAT(error_.text(), HasSubstr("1099511627776"));
  Put("c", {JobId(0)});
  EXPECT_EQ(error_.code(), ErrorCode::kNotFound);
  Put("c", {JobId(limits::kJobIdMax)});
  EXPECT_EQ(error_.code(), ErrorCode::kNotFound);
  if (GetParam() == 1) {  // the next id, its own perhaps: exact on the core that would give it
    for (uint64_t lane = 1; lane <= 7; ++lane) {
      Put("c", {JobId(parent.value() + 7 + lane)});
      EXPECT_EQ(error_.code(), ErrorCode::kNotFound);
    }
  }
  EXPECT_EQ(world_.Counts("c").enqueued, 0);
  ExpectNoEdges();
}

TEST_P(After, TheSameParentTwiceCountsOnce) {
  const JobId parent = Put("p");
  const JobId child = Put("c", {parent, parent});
  EXPECT_EQ(Job(child).parents, 1u);
  Finish("p");
  EXPECT_EQ(State(child), JobState::kReady);
  ExpectNoEdges();
}

TEST_P(After, ADeadParentKeepsItsChildWaitingUntilItIsRedrivenAndDone) {
  const JobId parent = Put("p");
  const JobId early = Put("c", {parent});
  FailDead(Take("p"));
  const JobId late = Put("c", {parent});
  EXPECT_EQ(State(early), JobState::kWaiting);
  EXPECT_EQ(State(late), JobState::kWaiting);
  ExpectSound();
  EXPECT_EQ(Redrive(parent, "p"), 1u);
  EXPECT_EQ(State(early), JobState::kWaiting);
  Finish("p");
  EXPECT_EQ(State(early), JobState::kReady);
  EXPECT_EQ(State(late), JobState::kReady);
  ExpectNoEdges();
}

TEST_P(After, ACancelledParentMakesItsChildDeadWithTheReason) {
  struct Case {
    const char* name;
    std::function<void(JobId)> before;
  };
  const Case cases[] = {
      {"ready", [](JobId) {}},
      {"leased", [this](JobId) { Take("p"); }},
      {"dead", [this](JobId) { FailDead(Take("p")); }},
      {"scheduled",
       [this](JobId id) {
         RescheduleRequest move;
         move.id = id;
         move.delay = Seconds(10);
         world_.Run(&move);
       }},
  };
  for (const Case& one : cases) {
    for (const bool late : {false, true}) {
      SCOPED_TRACE(std::string(one.name) + (late ? ", child after" : ", child before"));
      const JobId parent = Put("p");
      if (late) one.before(parent);
      const JobId child = Put("c", {parent});
      if (!late) one.before(parent);
      EXPECT_EQ(State(child), JobState::kWaiting);
      Cancel(parent);
      EXPECT_EQ(Job(child).state, JobState::kDead);
      EXPECT_EQ(job_->reason,
                "job " + std::to_string(parent.value()) + ", which it waited for, was cancelled");
      EXPECT_EQ(world_.Counts("c").waiting, 0);
    }
  }
  EXPECT_EQ(world_.Counts("c").dead, 8);
  EXPECT_EQ(world_.Counts("c").died, 8);
  ExpectNoEdges();
}

TEST_P(After, AnExpiredOrDroppedParentMakesItsChildDead) {
  const JobId parent = Put("p", {}, [](EnqueueRequest* r) { r->expire = Seconds(5); });
  const JobId child = Put("c", {parent});
  world_.Advance(Seconds(6));
  world_.Settle();
  EXPECT_EQ(Job(child).state, JobState::kDead);
  EXPECT_THAT(job_->reason, HasSubstr("expired"));

  const JobId dead = Put("p");
  FailDead(Take("p"));
  const JobId other = Put("c", {dead});
  QueueSetRequest set;
  set.queue = "p";
  set.set.dead_max = 0;
  world_.Run(&set);
  world_.Settle();
  EXPECT_EQ(State(dead), JobState::kGone);
  EXPECT_EQ(Job(other).state, JobState::kDead);
  EXPECT_THAT(job_->reason, HasSubstr("dropped from the dead letters"));
  ExpectNoEdges();
}

TEST_P(After, ReleaseFailAndRenewOfAParentChangeNothing) {
  const JobId parent = Put("p");
  const JobId child = Put("c", {parent});
  ReleaseRequest release;
  release.receipt = Take("p");
  world_.Run(&release);
  FailRequest fail;
  fail.receipt = Take("p");
  fail.delay_set = true;
  fail.delay = Seconds(1);
  world_.Run(&fail);
  ExpectSound();
  world_.Advance(Seconds(2));
  world_.Settle();
  const Receipt receipt = Take("p");
  RenewRequest renew;
  renew.receipt = receipt;
  renew.lease = Seconds(100);
  world_.Run(&renew);
  CheckpointRequest checkpoint;
  checkpoint.receipt = receipt;
  checkpoint.checkpoint = "half";
  world_.Run(&checkpoint);
  EXPECT_TRUE(checkpoint.error.ok());
  world_.Advance(Seconds(200));
  world_.Settle();
  EXPECT_EQ(State(child), JobState::kWaiting);
  Finish("p");
  EXPECT_EQ(State(child), JobState::kReady);
  ExpectNoEdges();
}

TEST_P(After, DelayCountsFromTheEnqueue) {
  const JobId parent = Put("p");
  const auto delay = [](EnqueueRequest* r) {
    r->when = EnqueueRequest::When::kDelay;
    r->delay = Seconds(10);
  };
  const JobId soon = Put("c", {parent}, delay);
  const JobId late = Put("c", {parent}, [](EnqueueRequest* r) {
    r->when = EnqueueRequest::When::kDelay;
    r->delay = Seconds(60);
  });
  const JobId at = Put("c", {parent}, [this](EnqueueRequest* r) {
    r->when = EnqueueRequest::When::kAt;
    r->at = WallTime(world_.clock().wall_ms + 60'000);
  });
  world_.Advance(Seconds(20));
  EXPECT_EQ(State(soon), JobState::kWaiting);
  Finish("p");
  EXPECT_EQ(State(soon), JobState::kReady);
  EXPECT_EQ(Job(late).state, JobState::kScheduled);
  EXPECT_EQ(job_->vests_in, Seconds(40));
  EXPECT_EQ(Job(at).state, JobState::kScheduled);
  EXPECT_EQ(job_->vests_in, Seconds(40));
  ExpectSound();
  world_.Advance(Seconds(41));
  world_.Settle();
  EXPECT_EQ(State(late), JobState::kReady);
  EXPECT_EQ(State(at), JobState::kReady);
  EXPECT_THAT(world_.Lease("c", 10), SizeIs(3));
  ExpectNoEdges();
}

TEST_P(After, ExpireCountsFromTheFirstVesting) {
  const auto expire = [](EnqueueRequest* r) { r->expire = Seconds(10); };
  const JobId parent = Put("p");
  const JobId child = Put("c", {parent}, expire);
  const JobId later = Put("c", {parent}, [](EnqueueRequest* r) {
    r->expire = Seconds(10);
    r->when = EnqueueRequest::When::kDelay;
    r->delay = Seconds(105);
  });
  world_.Advance(Seconds(100));
  world_.Settle();
  EXPECT_EQ(State(child), JobState::kWaiting);
  Finish("p");
  ExpectSound();
  world_.Advance(Seconds(9));
  world_.Settle();
  EXPECT_EQ(State(child), JobState::kReady);
  EXPECT_EQ(State(later), JobState::kReady);
  world_.Advance(Seconds(2));
  world_.Settle();
  EXPECT_EQ(State(child), JobState::kGone);
  EXPECT_EQ(State(later), JobState::kReady);
  world_.Advance(Seconds(5));
  world_.Settle();
  EXPECT_EQ(State(later), JobState::kGone);
  EXPECT_EQ(world_.Counts("c").lapsed, 2);
  ExpectNoEdges();
}

TEST_P(After, HoldsItsUniqueKeyWhileItWaits) {
  const auto unique = [](EnqueueRequest* r) { r->unique_key = "k"; };
  const JobId parent = Put("p");
  const JobId child = Put("c", {parent}, unique);
  EXPECT_TRUE(added_);
  EXPECT_EQ(Put("c", {}, unique), child);
  EXPECT_FALSE(added_);
  EXPECT_EQ(holder_, JobState::kWaiting);
  Put("c", {}, [](EnqueueRequest* r) {
    r->unique_key = "k";
    r->unique_replace = true;
    r->payload = "other";
  });
  EXPECT_EQ(Job(child).size, 1u) << "REPLACE is for scheduled and ready holders";
  ExpectSound();
  Cancel(parent);
  EXPECT_EQ(State(child), JobState::kDead);
  EXPECT_NE(Put("c", {}, unique), child) << "a dead job holds nothing";
  ExpectNoEdges();
}

TEST_P(After, ReplacingAParentThatIsReadyKeepsItsChildren) {
  const auto unique = [](EnqueueRequest* r) {
    r->unique_key = "k";
    r->unique_replace = true;
  };
  const JobId parent = Put("p", {}, unique);
  const JobId child = Put("c", {parent});
  EXPECT_EQ(Put("p", {}, unique), parent);
  ExpectSound();
  Finish("p");
  EXPECT_EQ(State(child), JobState::kReady);
  ExpectNoEdges();
}

TEST_P(After, AWaitingJobIsCancelledListedAndNotMoved) {
  const JobId parent = Put("p");
  const JobId child = Put("c", {parent}, [](EnqueueRequest* r) { r->unique_key = "k"; });
  PeekRequest peek;
  peek.queue = "c";
  peek.state = JobState::kWaiting;
  world_.Run(&peek, Any());
  ASSERT_THAT(peek.jobs, SizeIs(1));
  EXPECT_EQ(peek.jobs[0]->id, child);
  EXPECT_EQ(peek.jobs[0]->parents, 1u);
  PromoteRequest promote;
  promote.id = child;
  world_.Run(&promote, Any());
  EXPECT_EQ(promote.error.code(), ErrorCode::kBusy);
  EXPECT_THAT(promote.error.text(), HasSubstr("is waiting"));
  RescheduleRequest move;
  move.id = child;
  world_.Run(&move, Any());
  EXPECT_EQ(move.error.code(), ErrorCode::kBusy);
  Cancel(child);
  EXPECT_EQ(State(child), JobState::kGone);
  EXPECT_EQ(world_.Counts("c").waiting, 0);
  EXPECT_EQ(world_.Counts("c").bytes, 0);
  ExpectSound();
  EXPECT_EQ(world_.last_report().unique_keys, 0u);
  Finish("p");
  ExpectNoEdges();
}

TEST_P(After, ChainsRunInOrder) {
  std::vector<JobId> chain = {Put("p")};
  for (int i = 0; i < 5; ++i) chain.push_back(Put("p", {chain.back()}));
  ExpectSound();
  for (const JobId id : chain) {
    const auto jobs = world_.Lease("p", 10, Duration(0), Any());
    ASSERT_THAT(jobs, SizeIs(1));
    EXPECT_EQ(jobs[0].receipt.id, id);
    EXPECT_TRUE(world_.Complete(jobs[0].receipt, Any()).ok());
    world_.Settle();
  }
  ExpectNoEdges();
}

TEST_P(After, ChildrenOfADeadChildWaitThoseOfACancelledOneDie) {
  const JobId parent = Put("p");
  const JobId child = Put("c", {parent});
  const JobId grandchild = Put("g", {child});
  Cancel(parent);
  EXPECT_EQ(State(child), JobState::kDead);
  EXPECT_EQ(State(grandchild), JobState::kWaiting);
  ExpectSound();
  EXPECT_EQ(Redrive(child, "c"), 1u);
  EXPECT_EQ(State(child), JobState::kReady) << "what it waited for is no more";
  Finish("c");
  EXPECT_EQ(State(grandchild), JobState::kReady);

  const JobId first = Put("p");
  const JobId second = Put("c", {first});
  const JobId third = Put("g", {second});
  Cancel(second);
  EXPECT_EQ(State(third), JobState::kDead);
  Finish("p");
  ExpectNoEdges();
}

// Its own time has not come; that goes by the wall clock as it did before, wherever the job goes.
TEST_P(After, ARedrivenChildKeepsItsTimeByTheWallClock) {
  for (const std::string to : {"", "r"}) {
    const WallTime at = WallTime(world_.clock().wall_ms) + Hours(1);
    const auto with = [at](EnqueueRequest* r) {
      r->space = "s";
      r->when = EnqueueRequest::When::kAt;
      r->at = at;
    };
    const JobId gone = Put("p"), other = Put("o");
    const JobId child = Put("c", {gone}, with);
    const JobId waits = Put("w", {gone, other}, with);
    Cancel(gone);
    ASSERT_EQ(State(child), JobState::kDead);
    ASSERT_EQ(State(waits), JobState::kDead);
    world_.StepWall(Hours(-24 * 365));
    EXPECT_EQ(Redrive(child, "c", to), 1u);
    EXPECT_EQ(Redrive(waits, "w"), 1u);
    world_.Settle();
    EXPECT_EQ(State(waits), JobState::kWaiting);
    Finish("o");
    EXPECT_EQ(Job(waits).vests, at);
    const std::string queue = to.empty() ? "c" : to;
    EXPECT_EQ(world_.Counts(queue).scheduled, 1);
    world_.StepWall(Hours(24 * 365 + 1) - Milliseconds(1));
    world_.Settle();
    EXPECT_EQ(world_.Counts(queue).scheduled, 1);
    world_.Advance(Milliseconds(1));
    world_.Settle();
    EXPECT_EQ(world_.Counts(queue).ready, 1);
    EXPECT_EQ(State(waits), JobState::kReady);
    Finish(queue);
    Finish("w");
  }
  ExpectNoEdges();
}

TEST_P(After, ARedrivenChildWaitsForItsOtherParents) {
  const JobId gone = Put("p");
  const JobId first = Put("q");
  const JobId second = Put("q");
  const JobId child = Put("c", {gone, first, second});
  const JobId grandchild = Put("g", {child});
  Cancel(gone);
  EXPECT_EQ(State(child), JobState::kDead);
  Finish("q");
  EXPECT_EQ(State(child), JobState::kDead);
  EXPECT_EQ(Redrive(child, "c"), 1u);
  EXPECT_EQ(Job(child).state, JobState::kWaiting);
  EXPECT_EQ(job_->parents, 1u);
  EXPECT_EQ(world_.Counts("c").dead, 0);
  EXPECT_EQ(world_.Counts("c").waiting, 1);
  ExpectSound();
  Finish("q");
  EXPECT_EQ(State(child), JobState::kReady);
  Finish("c");
  EXPECT_EQ(State(grandchild), JobState::kReady);
  ExpectNoEdges();
}

TEST_P(After, ARedrivenChildDoesNotComeBeforeItsTime) {
  const JobId parent = Put("p");
  const JobId delayed = Put("c", {parent}, [](EnqueueRequest* r) {
    r->when = EnqueueRequest::When::kDelay;
    r->delay = Seconds(60);
  });
  const JobId at = Put("c", {parent}, [this](EnqueueRequest* r) {
    r->when = EnqueueRequest::When::kAt;
    r->at = WallTime(world_.clock().wall_ms + 60'000);
  });
  Cancel(parent);
  EXPECT_EQ(Redrive(delayed, "c"), 1u);
  EXPECT_EQ(Redrive(at, "c"), 1u);
  for (const JobId id : {delayed, at}) {
    EXPECT_EQ(Job(id).state, JobState::kScheduled);
    EXPECT_EQ(job_->vests_in, Seconds(60));
  }
  ExpectNoEdges();
}

TEST_P(After, OneWithEdgesIsNotRedrivenToWhereItNeedsAnotherId) {
  const auto space = [](EnqueueRequest* r) { r->space = "s"; };
  const JobId parent = Put("p", {}, space);
  const JobId child = Put("c", {parent});
  FailDead(Take("p"));
  std::string to = "o";  // a queue where the space has another lane
  while (keycodec::LaneOfSpace(to, "s", 7) == keycodec::LaneOfSpace("p", "s", 7)) to += "o";
  EXPECT_EQ(Redrive(parent, "p", to), 0u);
  EXPECT_EQ(error_.code(), ErrorCode::kBusy);
  EXPECT_THAT(error_.text(), HasSubstr("wait for it"));
  EXPECT_EQ(Redrive(parent, "p"), 1u);
  Finish("p");
  EXPECT_EQ(State(child), JobState::kReady);
  ExpectNoEdges();
}

TEST_P(After, ManyJobsOfOneCommandWaitForAll) {
  const JobId a = Put("p");
  const JobId b = Put("p");
  EnqueueManyRequest many;
  many.job.queue = "c";
  many.job.after = {a, b};
  many.payloads = {"1", "2", "3"};
  world_.Run(&many, Any());
  ASSERT_TRUE(many.error.ok());
  EXPECT_EQ(world_.Counts("c").waiting, 3);
  Finish("p");
  EXPECT_EQ(world_.Counts("c").waiting, 3);
  Finish("p");
  EXPECT_EQ(world_.Counts("c").ready, 3);
  many.job.after.clear();
  for (uint64_t id = 7; id < 7 + 4000; ++id) many.job.after.push_back(JobId(id));
  world_.Run(&many, Any());
  EXPECT_EQ(many.error.code(), ErrorCode::kRange);
  many.job.after = {JobId(uint64_t{1} << 40)};
  world_.Run(&many, Any());
  EXPECT_EQ(many.error.code(), ErrorCode::kNotFound);
  EXPECT_EQ(world_.Counts("c").enqueued, 3);
  ExpectNoEdges();
}

}  // namespace
}  // namespace vestq
