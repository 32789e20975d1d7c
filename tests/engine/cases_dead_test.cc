// Cases B04 and B19 as far as dead letters and their listing go; see cases_test.cc.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "tests/sim/world.h"

namespace vestq {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

class CasesOfDeadLetters : public ::testing::Test {
 protected:
  CasesOfDeadLetters() : world_(TwoCores()) { world_.Open(); }

  static WorldOptions TwoCores() {
    WorldOptions options;
    options.cores = 2;
    return options;
  }
  JobId Enqueue(uint32_t attempts) {
    EnqueueRequest request;
    request.queue = "q";
    request.payload = "p";
    request.attempts_set = true;
    request.attempts = attempts;
    world_.Run(&request, static_cast<uint16_t>(next_++ % 2));
    EXPECT_TRUE(request.error.ok());
    return request.id;
  }
  // Leases one job and fails it; true when it is dead then.
  bool FailOne(bool to_dead) {
    const auto jobs = world_.Lease("q", 1);
    EXPECT_THAT(jobs, SizeIs(1));
    if (jobs.empty()) return false;
    FailRequest fail;
    fail.receipt = jobs[0].receipt;
    fail.delay_set = true;
    fail.to_dead = to_dead;
    fail.reason = "no";
    world_.Run(&fail);
    EXPECT_TRUE(fail.error.ok());
    world_.Advance(Milliseconds(2));
    return fail.dead;
  }
  uint64_t Redrive(uint64_t count) {
    RedriveRequest request;
    request.queue = "q";
    request.count = count;
    world_.Run(&request);
    EXPECT_TRUE(request.error.ok());
    return request.redriven;
  }
  std::vector<JobId> Listed(JobState state) {
    PeekRequest request;
    request.queue = "q";
    request.state = state;
    request.count = limits::kPeekCountMax;
    world_.Run(&request);
    EXPECT_TRUE(request.error.ok());
    EXPECT_EQ(request.cursor, "0");
    std::vector<JobId> ids;
    for (const auto& job : request.jobs) ids.push_back(job->id);
    return ids;
  }
  void ExpectAllViewsEqual() {
    const QueueCounts counts = world_.Counts("q");
    EXPECT_EQ(static_cast<int64_t>(Listed(JobState::kReady).size()), counts.ready);
    EXPECT_EQ(static_cast<int64_t>(Listed(JobState::kScheduled).size()), counts.scheduled);
    EXPECT_EQ(static_cast<int64_t>(Listed(JobState::kLeased).size()), counts.leased);
    EXPECT_EQ(static_cast<int64_t>(Listed(JobState::kDead).size()), counts.dead);
    const EngineInfo info = world_.engine()->Info();
    EXPECT_EQ(static_cast<int64_t>(info.jobs_ready), counts.ready);
    EXPECT_EQ(static_cast<int64_t>(info.jobs_leased), counts.leased);
    EXPECT_EQ(static_cast<int64_t>(info.jobs_scheduled), counts.scheduled);
    EXPECT_EQ(static_cast<int64_t>(info.jobs_dead), counts.dead);
  }
  void Kill() {
    world_.Kill();
    EXPECT_THAT(world_.CheckOffline(), IsEmpty());
    world_.Open();
    world_.Settle();
  }

  World world_;
  uint64_t next_ = 0;
};

TEST_F(CasesOfDeadLetters, B04_ARedrivenJobHasThreeFurtherTries) {
  const JobId id = Enqueue(3);
  for (int i = 1; i <= 3; ++i) EXPECT_EQ(FailOne(false), i == 3);
  EXPECT_EQ(Redrive(1), 1u);
  Kill();
  for (int i = 1; i <= 3; ++i) EXPECT_EQ(FailOne(false), i == 3) << "no bounce at the first";
  EXPECT_EQ(world_.State(id), JobState::kDead);
  EXPECT_EQ(world_.Counts("q").leases, 6);
  EXPECT_EQ(world_.Counts("q").died, 2);
}

TEST_F(CasesOfDeadLetters, B19_RestartsChangeNoCounterAndNoOrder) {
  std::vector<JobId> dead;
  for (int half = 0; half < 2; ++half) {
    for (int i = 0; i < 10; ++i) {
      dead.push_back(Enqueue(25));
      EXPECT_TRUE(FailOne(true));
    }
    Kill();
  }
  Kill();
  EXPECT_THAT(world_.Violations(), IsEmpty());  // an orderly restart
  Kill();
  EXPECT_EQ(Listed(JobState::kDead), dead);
  const QueueCounts counts = world_.Counts("q");
  EXPECT_EQ(counts.leases, 20);
  EXPECT_EQ(counts.failed, 20);
  EXPECT_EQ(counts.died, 20);
  EXPECT_EQ(counts.expired, 0);
  EXPECT_EQ(counts.released, 0);
  for (JobId id : dead) {
    JobRequest job;
    job.id = id;
    world_.Run(&job);
    EXPECT_EQ(job.attempt, 1u);
  }
  for (size_t i = 0; i < dead.size(); ++i) {
    EXPECT_EQ(Redrive(1), 1u);
    const auto jobs = world_.Lease("q", 5);
    ASSERT_THAT(jobs, SizeIs(1));
    EXPECT_EQ(jobs[0].receipt.id, dead[i]) << "one at a time, in the order they died";
    ExpectAllViewsEqual();
  }
}

TEST_F(CasesOfDeadLetters, B19_LeasesOutliveAKillAndEndOnce) {
  for (int i = 0; i < 100; ++i) Enqueue(25);
  const auto jobs = world_.Lease("q", 100);
  ASSERT_THAT(jobs, SizeIs(100));
  Kill();
  EXPECT_EQ(world_.Counts("q").leased, 100);
  ExpectAllViewsEqual();
  for (const LeasedJob& job : jobs) {
    EXPECT_TRUE(world_.Complete(job.receipt, static_cast<uint16_t>(next_++ % 2)).ok());
    EXPECT_GE(world_.Counts("q").leased, 0);
  }
  ExpectAllViewsEqual();
  EXPECT_EQ(world_.Counts("q").leased, 0);
  EXPECT_EQ(world_.Counts("q").ready, 0);
  EXPECT_EQ(world_.Counts("q").completed, 100);
  EXPECT_THAT(world_.Violations(), IsEmpty());
}

TEST_F(CasesOfDeadLetters, B19_AfterAnyLoadAllViewsAreEqual) {
  for (int round = 0; round < 4; ++round) {
    for (int i = 0; i < 30; ++i) Enqueue(3);
    for (int i = 0; i < 25; ++i) FailOne(i % 3 == 0);
    for (const LeasedJob& job : world_.Lease("q", 12, Seconds(5))) {
      if (job.receipt.id.value() % 2 == 0) {
        EXPECT_TRUE(world_.Complete(job.receipt).ok());
      }
    }
    ExpectAllViewsEqual();
    world_.Advance(Seconds(6));  // the others' leases end
    world_.Settle();
    EXPECT_EQ(world_.Counts("q").leased, 0) << "counted as ready in the same instant";
    Redrive(3);
    ExpectAllViewsEqual();
    Kill();
    ExpectAllViewsEqual();
  }
  for (const LeasedJob& job : world_.Lease("q", 1000))
    EXPECT_TRUE(world_.Complete(job.receipt).ok());
  EXPECT_EQ(world_.Counts("q").ready, 0) << "a drained queue says 0";
  ExpectAllViewsEqual();
}

}  // namespace
}  // namespace vestq
