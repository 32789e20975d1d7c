// Public bug reports of other queues as scenarios with the right outcome; a test's name begins with the
// case's number. Those of the wire's words stand in tests/net, of cron in tests/lease/cron_test.cc.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "tests/sim/world.h"

namespace vestq {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class Cases : public ::testing::Test {
 protected:
  Cases() : world_(TwoCores()) { world_.Open(); }

  static WorldOptions TwoCores() {
    WorldOptions options;
    options.cores = 2;
    return options;
  }
  JobId Enqueue(const std::function<void(EnqueueRequest*)>& with) {
    EnqueueRequest request;
    request.queue = "q";
    request.payload = "p";
    with(&request);
    world_.Run(&request);
    EXPECT_TRUE(request.error.ok()) << request.error.ToString();
    return request.id;
  }
  LeasedJob One(Duration lease = Seconds(30)) {
    std::vector<LeasedJob> jobs = world_.Lease("q", 1, lease);
    EXPECT_THAT(jobs, SizeIs(1));
    return jobs.empty() ? LeasedJob() : jobs[0];
  }
  ErrorCode Renew(const Receipt& receipt, Duration lease = Duration(0)) {
    RenewRequest request;
    request.receipt = receipt;
    request.lease = lease;
    world_.Run(&request);
    return request.error.code();
  }
  ErrorCode Fail(const Receipt& receipt, const std::string& reason, FailRequest* request) {
    request->receipt = receipt;
    request->reason = reason;
    world_.Run(request);
    return request->error.code();
  }
  ErrorCode Fail(const Receipt& receipt, const std::string& reason) {
    FailRequest request;
    return Fail(receipt, reason, &request);
  }
  ErrorCode Release(const Receipt& receipt) {
    ReleaseRequest request;
    request.receipt = receipt;
    world_.Run(&request);
    return request.error.code();
  }
  ErrorCode Checkpoint(const Receipt& receipt, const std::string& bytes) {
    CheckpointRequest request;
    request.receipt = receipt;
    request.checkpoint = bytes;
    world_.Run(&request);
    return request.error.code();
  }
  void Describe(JobId id, JobRequest* job) {
    job->id = id;
    world_.Run(job);
  }
  void Pass(Duration time) {
    world_.Advance(time);
    world_.Settle();
  }
  void Restart() {
    world_.Kill();
    EXPECT_THAT(world_.CheckOffline(), IsEmpty());
    world_.Open();
    world_.Settle();
  }

  World world_;
};

TEST_F(Cases, B01_ALeaseEndsAtItsTimeWhateverTheHolderWaitsFor) {
  for (const int wait : {4, 5, 6}) {
    world_.Enqueue("q", "p");
    const LeasedJob held = One(Seconds(5));
    LeaseRequest elsewhere, waiting;
    bool elsewhere_done = false, waiting_done = false;
    elsewhere.queues = {"empty"};
    elsewhere.wait = true;
    elsewhere.block = Seconds(wait);
    waiting.queues = {"q"};
    waiting.wait = true;
    waiting.block = Seconds(30);
    world_.Start(&elsewhere, &elsewhere_done, 0);
    world_.Start(&waiting, &waiting_done, 1);
    Pass(Milliseconds(4'999));
    EXPECT_FALSE(waiting_done) << wait;
    Pass(Milliseconds(1));
    ASSERT_TRUE(waiting_done) << wait;
    ASSERT_THAT(waiting.jobs, SizeIs(1));
    EXPECT_EQ(waiting.jobs[0].attempt, 2u);
    EXPECT_TRUE(world_.Complete(waiting.jobs[0].receipt).ok());
    Pass(Seconds(10));
    EXPECT_TRUE(elsewhere_done);
  }
}

TEST_F(Cases, B02_AHolderWhoseLeaseIsOverIsRefusedEverything) {
  world_.Enqueue("q", "p");
  const LeasedJob a = One(Seconds(2));
  for (const bool taken_over : {false, true}) {
    Pass(Seconds(3));
    LeasedJob b;
    if (taken_over) b = One(Seconds(30));
    EXPECT_EQ(Renew(a.receipt), ErrorCode::kLeaseLost);
    EXPECT_EQ(Release(a.receipt), ErrorCode::kLeaseLost);
    EXPECT_EQ(Fail(a.receipt, "too late"), ErrorCode::kLeaseLost);
    EXPECT_EQ(Checkpoint(a.receipt, "p=50"), ErrorCode::kLeaseLost);
    EXPECT_EQ(world_.Complete(a.receipt).code(), ErrorCode::kLeaseLost);
    if (!taken_over) continue;
    EXPECT_EQ(Checkpoint(b.receipt, "p=90"), ErrorCode::kOk);
    JobRequest job;
    Describe(b.receipt.id, &job);
    EXPECT_EQ(job.checkpoint, "p=90");
    EXPECT_EQ(job.attempt, 2u);
    EXPECT_EQ(job.last_error, "");
    EXPECT_EQ(job.priority, limits::kPriorityDefault);
    EXPECT_TRUE(world_.Complete(b.receipt).ok());
  }
}

TEST_F(Cases, B02_ARenewedLeaseIsHonouredAndAnOldReceiptNeverComesBack) {
  world_.Enqueue("q", "p");
  const LeasedJob first = One(Seconds(2));
  Pass(Milliseconds(1'500));
  EXPECT_EQ(Renew(first.receipt, Seconds(5)), ErrorCode::kOk);
  Pass(Milliseconds(2'500));
  EXPECT_THAT(world_.Lease("q"), IsEmpty());
  Pass(Seconds(10));
  const LeasedJob again = One();  // the same worker
  EXPECT_EQ(world_.Complete(first.receipt).code(), ErrorCode::kLeaseLost);
  EXPECT_TRUE(world_.Complete(again.receipt).ok());
}

TEST_F(Cases, B04_AttemptsEndAlsoWhereNobodyReportsAFailure) {
  for (const bool killed : {false, true}) {
    const JobId id = Enqueue([](EnqueueRequest* r) {
      r->attempts_set = true;
      r->attempts = 3;
      r->backoff = "";
    });
    One(Seconds(2));
    Pass(Seconds(2));
    One(Seconds(2));
    if (killed) Restart();
    Pass(Seconds(5));
    EXPECT_EQ(Fail(One().receipt, "the last straw"), ErrorCode::kOk);
    Pass(Days(2));
    EXPECT_THAT(world_.Lease("q"), IsEmpty());
    JobRequest job;
    Describe(id, &job);
    EXPECT_EQ(job.state, JobState::kDead);
    EXPECT_EQ(job.attempt, 3u);
    EXPECT_THAT(job.reason, HasSubstr("attempts used up"));
    EXPECT_EQ(job.last_error, "the last straw");
  }
}

TEST_F(Cases, B04_AReleaseIsNoFailedTry) {
  Enqueue([](EnqueueRequest* r) {
    r->attempts_set = true;
    r->attempts = 3;
  });
  for (int i = 0; i < 50; ++i) EXPECT_EQ(Release(One().receipt), ErrorCode::kOk);
  const LeasedJob job = One();
  EXPECT_EQ(job.attempt, 1u);
  FailRequest fail;
  EXPECT_EQ(Fail(job.receipt, "once", &fail), ErrorCode::kOk);
  EXPECT_FALSE(fail.dead);
  EXPECT_GE(fail.retry_in, Milliseconds(4'000));  // 5 s, jitter 20 %
  EXPECT_LE(fail.retry_in, Milliseconds(6'000));
}

TEST_F(Cases, B04_OneAttemptIsOneDeliveryAndZeroIsNoLimit) {
  const JobId once = Enqueue([](EnqueueRequest* r) {
    r->attempts_set = true;
    r->attempts = 1;
  });
  FailRequest fail;
  EXPECT_EQ(Fail(One().receipt, "no", &fail), ErrorCode::kOk);
  EXPECT_TRUE(fail.dead);
  EXPECT_EQ(world_.State(once), JobState::kDead);
  const JobId ever = Enqueue([](EnqueueRequest* r) { r->attempts_set = true; });
  for (int i = 0; i < 100; ++i) {
    One(Seconds(1));
    Pass(Seconds(1));
  }
  EXPECT_EQ(world_.State(ever), JobState::kReady);
}

TEST_F(Cases, B25_AKeyOfAJobInBackOffIsHeldAndOnesOfOthersComeOnTime) {
  auto unique = [&](EnqueueRequest* r) { r->unique_key = "k1"; };
  const JobId first = Enqueue(unique);
  EXPECT_EQ(Fail(One().receipt, "retry"), ErrorCode::kOk);
  for (int i = 0; i < 1000; ++i) {
    EnqueueRequest delayed;
    delayed.queue = "other" + std::to_string(i % 7);
    delayed.payload = "p";
    delayed.when = EnqueueRequest::When::kDelay;
    delayed.delay = Seconds(60);
    world_.Run(&delayed);
    ASSERT_TRUE(delayed.error.ok());
  }
  EXPECT_EQ(Enqueue(unique), first);
  Pass(Seconds(60));
  size_t came = 0;
  for (int i = 0; i < 7; ++i) came += world_.Lease("other" + std::to_string(i), 1000).size();
  EXPECT_EQ(came, 1000u);
  EXPECT_EQ(One().receipt.id, first);
  EXPECT_THAT(world_.Violations(), IsEmpty());
}

TEST_F(Cases, B25_ACrashAfterTheAnswerKeepsTheKeyOneBeforeItTakesBoth) {
  auto unique = [&](EnqueueRequest* r) { r->unique_key = "k1"; };
  const JobId first = Enqueue(unique);
  world_.PowerCut(CrashMode::kLoseUnsynced);
  world_.Boot(Seconds(1));
  EXPECT_THAT(world_.CheckOffline(), IsEmpty());
  world_.Open();
  EXPECT_EQ(Enqueue(unique), first);
  EnqueueRequest cut;
  bool done = false;
  cut.queue = "q";
  cut.payload = "p";
  cut.unique_key = "k2";
  world_.Start(&cut, &done);
  for (int i = 0; i < 3; ++i) world_.Step();
  ASSERT_FALSE(done);
  world_.PowerCut(CrashMode::kLoseUnsynced);
  world_.Boot(Seconds(1));
  EXPECT_THAT(world_.CheckOffline(), IsEmpty());  // UNIQUE-1: the key and its job, or neither
  world_.Open();
  Enqueue([&](EnqueueRequest* r) { r->unique_key = "k2"; });
  EXPECT_EQ(world_.Counts("q").ready, 2);
}

TEST_F(Cases, B28_SpansLastTheirRealLengthWhateverTheWallClockDoes) {
  for (const int64_t step : {-3'600, 3'600}) {
    const JobId delayed = Enqueue([](EnqueueRequest* r) {
      r->when = EnqueueRequest::When::kDelay;
      r->delay = Seconds(5);
    });
    Pass(Seconds(1));
    world_.StepWall(Seconds(step));
    Pass(Milliseconds(3'999));
    EXPECT_EQ(world_.State(delayed), JobState::kScheduled) << step;
    JobRequest job;
    Describe(delayed, &job);
    EXPECT_EQ(job.vests_in, Milliseconds(1));
    Pass(Milliseconds(1));
    const LeasedJob held = One(Seconds(60));
    world_.StepWall(Seconds(-2 * step));
    Pass(Seconds(2));
    EXPECT_EQ(Renew(held.receipt), ErrorCode::kOk);
    Pass(Milliseconds(59'999));
    EXPECT_THAT(world_.Lease("q"), IsEmpty());
    Pass(Milliseconds(1));
    EXPECT_TRUE(world_.Complete(One().receipt).ok());
  }
}

TEST_F(Cases, B28_IdsAndOrderDoNotFollowTheWallClock) {
  std::vector<JobId> put;
  for (const int64_t step : {0, -3'600, 7'200}) {
    world_.StepWall(Seconds(step));
    for (int i = 0; i < 100; ++i) {
      put.push_back(world_.Enqueue("q", "p"));
      world_.Advance(Milliseconds(1));
    }
    Restart();
  }
  std::vector<JobId> came;
  while (came.size() < put.size()) {
    const auto jobs = world_.Lease("q", 50);
    ASSERT_THAT(jobs, ::testing::Not(IsEmpty()));
    for (const LeasedJob& job : jobs) came.push_back(job.receipt.id);
  }
  EXPECT_EQ(came, put);
}

}  // namespace
}  // namespace vestq
