// REVOKE, PROMOTE and RESCHEDULE: a table of what each does in every state, with a restart in
// between, and what it leaves on disk.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/engine/world_fixture.h"

namespace vestq {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

WorldOptions TwoCores() { return WorldOf(2, 5); }

class Handling : public ::testing::Test {
 protected:
  Handling() : world_(TwoCores()) { world_.Open(); }

  JobId Put(const Setter<EnqueueRequest>& set = {}) { return PutJob(&world_, set); }
  JobId PutLater(Duration delay) {
    return Put([delay](EnqueueRequest* r) {
      r->when = EnqueueRequest::When::kDelay;
      r->delay = delay;
    });
  }
  JobId PutDead() {
    const JobId id = Put();
    const auto jobs = world_.Lease("q", 1);
    EXPECT_THAT(jobs, SizeIs(1));
    FailRequest fail;
    fail.receipt = jobs[0].receipt;
    fail.reason = "bad";
    fail.to_dead = true;
    world_.Run(&fail);
    EXPECT_EQ(world_.State(id), JobState::kDead);
    return id;
  }
  bool Revoke(JobId id) {
    RevokeRequest request;
    request.id = id;
    world_.Run(&request);
    EXPECT_TRUE(request.error.ok()) << request.error.ToString();
    return request.revoked;
  }
  Error Promote(JobId id) {
    PromoteRequest request;
    request.id = id;
    world_.Run(&request);
    return request.error;
  }
  Error Reschedule(JobId id, const std::function<void(RescheduleRequest*)>& set) {
    RescheduleRequest request;
    request.id = id;
    set(&request);
    world_.Run(&request);
    return request.error;
  }
  Error Delay(JobId id, Duration delay) {
    return Reschedule(id, [delay](RescheduleRequest* r) { r->delay = delay; });
  }
  JobRequest& Job(JobId id) {
    job_ = std::make_unique<JobRequest>();
    job_->id = id;
    world_.Run(job_.get());
    return *job_;
  }
  void ExpectCounts(int64_t ready, int64_t scheduled, int64_t leased, int64_t dead) {
    const QueueCounts counts = world_.Counts("q");
    EXPECT_EQ(counts.ready, ready);
    EXPECT_EQ(counts.scheduled, scheduled);
    EXPECT_EQ(counts.leased, leased);
    EXPECT_EQ(counts.dead, dead);
  }
  // Closes, checks offline and opens; then after a kill.
  void Restart() {
    EXPECT_THAT(world_.Violations(), IsEmpty());
    world_.Kill();
    EXPECT_THAT(world_.CheckOffline(), IsEmpty());
    world_.Open();
  }

  World world_;
  std::unique_ptr<JobRequest> job_;
};

// --- REVOKE ---

TEST_F(Handling, RevokeEndsALeaseAsExpiryWould) {
  const JobId id = Put();
  const auto first = world_.Lease("q", 1);
  ASSERT_THAT(first, SizeIs(1));
  EXPECT_TRUE(Revoke(id));
  ExpectCounts(1, 0, 0, 0);
  EXPECT_EQ(world_.Complete(first[0].receipt).code(), ErrorCode::kLeaseLost);
  EXPECT_EQ(Job(id).attempt, 1u);
  EXPECT_EQ(world_.Counts("q").expired, 1);
  Restart();
  const auto second = world_.Lease("q", 1);
  ASSERT_THAT(second, SizeIs(1));
  EXPECT_EQ(second[0].attempt, 2u) << "the attempt was used";
  EXPECT_TRUE(world_.Complete(second[0].receipt).ok());
  EXPECT_THAT(world_.Violations(), IsEmpty());
}

TEST_F(Handling, RevokeOfTheLastAttemptMakesDeadAndKeepsWhatTheWorkerSaid) {
  const JobId id = Put([](EnqueueRequest* r) {
    r->attempts_set = true;
    r->attempts = 2;
  });
  FailRequest fail;
  fail.receipt = world_.Lease("q", 1).at(0).receipt;
  fail.reason = "no route";
  fail.delay_set = true;
  world_.Run(&fail);
  const auto last = world_.Lease("q", 1);
  ASSERT_THAT(last, SizeIs(1));
  EXPECT_TRUE(Revoke(id));
  EXPECT_EQ(world_.Complete(last[0].receipt).code(), ErrorCode::kLeaseLost);
  Restart();
  ExpectCounts(0, 0, 0, 1);
  EXPECT_EQ(Job(id).state, JobState::kDead);
  EXPECT_THAT(Job(id).reason, HasSubstr("revoked"));
  EXPECT_EQ(Job(id).last_error, "no route");
}

TEST_F(Handling, RevokeOfWhatIsNotLeasedSaysZeroAndChangesNothing) {
  const JobId ready = Put();
  EXPECT_FALSE(Revoke(ready));
  EXPECT_FALSE(Revoke(PutLater(Hours(1))));
  EXPECT_FALSE(Revoke(JobId(4711 * 5)));
  const auto jobs = world_.Lease("q", 1, Seconds(1));
  world_.Advance(Seconds(2));  // its lease has ended, nothing has been done about it yet
  EXPECT_FALSE(Revoke(ready));
  EXPECT_EQ(Job(ready).attempt, 1u);
  EXPECT_EQ(world_.Counts("q").expired, 1);
  EXPECT_THAT(world_.Violations(), IsEmpty());
}

// --- PROMOTE ---

TEST_F(Handling, PromoteMakesAScheduledJobReadyNow) {
  const JobId id = PutLater(Hours(5));
  const JobId wall = Put([this](EnqueueRequest* r) {
    r->when = EnqueueRequest::When::kAt;
    r->at = WallTime(world_.clock().wall_ms) + Hours(7);
    r->priority = 3;
  });
  ExpectCounts(0, 2, 0, 0);
  EXPECT_TRUE(Promote(id).ok());
  EXPECT_TRUE(Promote(wall).ok());
  EXPECT_TRUE(Promote(wall).ok()) << "ready already";
  ExpectCounts(2, 0, 0, 0);
  Restart();
  EXPECT_EQ(Job(id).state, JobState::kReady);
  const auto jobs = world_.Lease("q", 5);
  ASSERT_THAT(jobs, SizeIs(2));
  EXPECT_EQ(jobs[0].receipt.id, wall) << "its priority stays";
  EXPECT_EQ(jobs[1].receipt.id, id);
  for (const LeasedJob& job : jobs) EXPECT_TRUE(world_.Complete(job.receipt).ok());
  world_.Advance(Hours(8));
  world_.Settle();
  EXPECT_THAT(world_.Lease("q", 5), IsEmpty());
  EXPECT_THAT(world_.Violations(), IsEmpty());
}

TEST_F(Handling, PromoteOfARetryKeepsAttemptAndLastError) {
  const JobId id = Put();
  FailRequest fail;
  fail.receipt = world_.Lease("q", 1).at(0).receipt;
  fail.reason = "boom";
  world_.Run(&fail);
  EXPECT_EQ(Job(id).state, JobState::kScheduled);
  EXPECT_TRUE(Promote(id).ok());
  Restart();
  EXPECT_EQ(Job(id).state, JobState::kReady);
  EXPECT_EQ(Job(id).last_error, "boom");
  EXPECT_EQ(world_.Lease("q", 1).at(0).attempt, 2u);
}

TEST_F(Handling, PromoteAndRescheduleSayWhyNot) {
  const JobId leased = Put();
  ASSERT_THAT(world_.Lease("q", 1), SizeIs(1));
  const JobId dead = PutDead();
  const JobId gone(4711 * 5);
  for (bool promote : {true, false}) {
    auto run = [&](JobId id) { return promote ? Promote(id) : Delay(id, Seconds(1)); };
    EXPECT_EQ(run(leased).code(), ErrorCode::kBusy);
    EXPECT_THAT(run(leased).text(), HasSubstr("is leased"));
    EXPECT_EQ(run(dead).code(), ErrorCode::kBusy);
    EXPECT_THAT(run(dead).text(), HasSubstr("is dead"));
    EXPECT_EQ(run(gone).code(), ErrorCode::kNotFound);
  }
  ExpectCounts(0, 0, 1, 1);
  EXPECT_THAT(world_.Violations(), IsEmpty());
}

// --- RESCHEDULE ---

TEST_F(Handling, RescheduleMovesScheduledAndReadyJobs) {
  const JobId sooner = PutLater(Hours(5));
  const JobId later = Put();
  EXPECT_TRUE(Delay(sooner, Seconds(10)).ok());
  EXPECT_TRUE(Delay(later, Seconds(20)).ok());
  ExpectCounts(0, 2, 0, 0);
  EXPECT_EQ(Job(sooner).vests_in, Seconds(10));
  Restart();
  world_.Advance(Milliseconds(9'999));
  world_.Settle();
  EXPECT_THAT(world_.Lease("q", 5), IsEmpty());
  world_.Advance(Milliseconds(1));
  world_.Settle();
  EXPECT_EQ(world_.Lease("q", 5).at(0).receipt.id, sooner);
  world_.Advance(Seconds(10));
  world_.Settle();
  EXPECT_EQ(world_.Lease("q", 5).at(0).receipt.id, later);
  EXPECT_THAT(world_.Violations(), IsEmpty());
}

TEST_F(Handling, RescheduleAtFollowsTheWallClock) {
  const JobId id = Put();
  const WallTime at = WallTime(world_.clock().wall_ms) + Hours(2);
  EXPECT_TRUE(Reschedule(id, [at](RescheduleRequest* r) {
                r->at_set = true;
                r->at = at;
              }).ok());
  EXPECT_EQ(Job(id).vests_in, Hours(2));
  Restart();
  world_.StepWall(Hours(2));
  world_.Advance(Seconds(1));
  world_.Settle();
  EXPECT_EQ(Job(id).state, JobState::kReady);
  // In the past: at once, and with another priority.
  const JobId second = PutLater(Hours(1));
  EXPECT_TRUE(Reschedule(second, [](RescheduleRequest* r) {
                r->at_set = true;
                r->at = WallTime(1000);
                r->priority_set = true;
                r->priority = 1;
              }).ok());
  EXPECT_EQ(Job(second).state, JobState::kReady);
  EXPECT_EQ(Job(second).priority, 1u);
  EXPECT_EQ(world_.Lease("q", 1).at(0).receipt.id, second);
  EXPECT_THAT(world_.Violations(), IsEmpty());
}

TEST_F(Handling, ReschedulingToWhereItStandsIsNoWrite) {
  const JobId ready = Put();
  const uint64_t before = world_.engine()->Info().tickets_submitted;
  EXPECT_TRUE(Delay(ready, Duration(0)).ok());
  EXPECT_TRUE(Promote(ready).ok());
  EXPECT_EQ(world_.engine()->Info().tickets_submitted, before);
  EXPECT_TRUE(Reschedule(ready, [](RescheduleRequest* r) {
                r->priority_set = true;
                r->priority = 7;
              }).ok());
  EXPECT_EQ(Job(ready).priority, 7u);
  EXPECT_EQ(Job(ready).state, JobState::kReady);
  EXPECT_THAT(world_.Violations(), IsEmpty());
}

TEST_F(Handling, ATimeBeyondTheLastKeyIsRefused) {
  const JobId id = Put();
  const Error error = Delay(id, Milliseconds(limits::kKeyTimeMsMax));
  EXPECT_EQ(error.code(), ErrorCode::kRange);
  EXPECT_EQ(world_.State(id), JobState::kReady);
}

TEST_F(Handling, AJobMovedManyTimesIsDeliveredOnce) {
  std::vector<JobId> ids;
  for (int i = 0; i < 20; ++i) ids.push_back(i % 2 == 0 ? Put() : PutLater(Seconds(i)));
  for (int round = 0; round < 300; ++round) {
    const JobId id = ids[static_cast<size_t>(round) * 7 % ids.size()];
    switch (round % 5) {
      case 0: EXPECT_TRUE(Delay(id, Duration(0)).ok()); break;
      case 1: EXPECT_TRUE(Promote(id).ok()); break;
      case 2: EXPECT_TRUE(Delay(id, Milliseconds(1 + round % 9)).ok()); break;
      case 3:
        EXPECT_TRUE(Reschedule(id, [round](RescheduleRequest* r) {
                      r->delay = Seconds(3);
                      r->priority_set = true;
                      r->priority = static_cast<uint32_t>(round % 3);
                    }).ok());
        break;
      default: world_.Advance(Milliseconds(3)); break;
    }
  }
  world_.Advance(Seconds(30));
  world_.Settle();
  std::vector<JobId> out;
  for (const LeasedJob& job : world_.Lease("q", 100)) {
    out.push_back(job.receipt.id);
    EXPECT_TRUE(world_.Complete(job.receipt).ok());
  }
  EXPECT_THAT(out, testing::UnorderedElementsAreArray(ids));
  ExpectCounts(0, 0, 0, 0);
  EXPECT_THAT(world_.Violations(), IsEmpty());
}

}  // namespace
}  // namespace vestq
