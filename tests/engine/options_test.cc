// Options of a queue: defaults for its jobs, pausing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "lease/backoff.h"
#include "tests/sim/world.h"

namespace vestq {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

class Options : public ::testing::Test {
 protected:
  Options() : world_(TwoCores()) { world_.Open(); }

  static WorldOptions TwoCores() {
    WorldOptions options;
    options.cores = 2;
    return options;
  }
  void Set(const std::function<void(QueueSetRequest*)>& with, uint16_t core = 0) {
    QueueSetRequest request;
    request.queue = "q";
    with(&request);
    world_.Run(&request, core);
    EXPECT_TRUE(request.error.ok()) << request.error.ToString();
  }
  QueueOptions Get() {
    QueueCounts counts;
    QueueOptions options;
    EXPECT_TRUE(world_.engine()->Queue("q", &counts, &options));
    return options;
  }
  void Restart() {
    world_.Kill();
    EXPECT_THAT(world_.CheckOffline(), IsEmpty());
    world_.Open();
    world_.Settle();
  }

  World world_;
};

// The lease's own, else the job's, else the queue's, else the default; a job's own back-off before the queue's.
TEST_F(Options, TheNearestWordDecides) {
  const auto own = [this](Duration lease, const std::string& backoff) {
    EnqueueRequest job;
    job.queue = "q";
    job.lease = lease;
    job.backoff = backoff;
    world_.Run(&job);
  };
  const auto take = [this](Duration with) {
    const auto jobs = world_.Lease("q", 1, with);
    EXPECT_THAT(jobs, SizeIs(1));
    return jobs.at(0);
  };
  const auto fails = [this](const LeasedJob& job) {
    FailRequest fail;
    fail.receipt = job.receipt;
    world_.Run(&fail);
    CancelRequest cancel;
    cancel.id = job.receipt.id;
    world_.Run(&cancel);
    return fail.retry_in;
  };
  own(Duration(0), "");
  EXPECT_EQ(take(Duration(0)).lease_left, limits::kLeaseDefault);
  Set([](QueueSetRequest* r) {
    r->set.lease = Seconds(10);
    r->set.backoff = *ParseBackoff("fixed:3s");
  });
  own(Duration(0), "");
  LeasedJob job = take(Duration(0));
  EXPECT_EQ(job.lease_left, Seconds(10));
  EXPECT_EQ(fails(job), Seconds(3));
  for (const bool restart : {false, true}) {
    own(Seconds(20), *ParseBackoff("list:4s,5s"));
    if (restart) Restart();
    job = take(Duration(0));
    EXPECT_EQ(job.lease_left, Seconds(20));
    EXPECT_EQ(fails(job), Seconds(4));
    own(Seconds(20), "");
    if (restart) Restart();
    job = take(Seconds(40));
    EXPECT_EQ(job.lease_left, Seconds(40));
    EXPECT_EQ(fails(job), Seconds(3));
  }
}

TEST_F(Options, AreDefaultsOfJobsAreKeptAndUnset) {
  Set([](QueueSetRequest* r) {
    r->set.lease = Seconds(7);
    r->set.attempts = 2;
    r->set.backoff = *ParseBackoff("fixed:3s");
    r->set.keep = Seconds(50);
    r->set.dead_max = 10;
  });
  Restart();
  EXPECT_EQ(Get().lease, Seconds(7));
  EXPECT_EQ(Get().dead_max, 10u);
  EXPECT_FALSE(Get().dead_keep.has_value());
  const JobId id = world_.Enqueue("q", "p");
  const auto jobs = world_.Lease("q");
  ASSERT_THAT(jobs, SizeIs(1));
  EXPECT_EQ(jobs[0].attempts, 2u);
  EXPECT_EQ(jobs[0].lease_left, Seconds(7));
  FailRequest fail;
  fail.receipt = jobs[0].receipt;
  world_.Run(&fail);
  EXPECT_EQ(fail.retry_in, Seconds(3));
  world_.Advance(Seconds(4));
  world_.Settle();
  ASSERT_TRUE(world_.Complete(world_.Lease("q")[0].receipt).ok());
  EXPECT_EQ(world_.State(id), JobState::kDone);
  Set([](QueueSetRequest* r) {
    r->unset.lease = Duration(0);
    r->unset.keep = Duration(0);
    r->unset.backoff = "";
  });
  EXPECT_FALSE(Get().lease.has_value());
  EXPECT_FALSE(Get().backoff.has_value());
  EXPECT_EQ(Get().attempts, 2u);
  world_.Enqueue("q", "p");
  EXPECT_EQ(world_.Lease("q")[0].lease_left, limits::kLeaseDefault);
  EXPECT_THAT(world_.Violations(), IsEmpty());
}

TEST_F(Options, APausedQueueLooksEmptyAndTakesJobs) {
  world_.Enqueue("q", "one");
  Set([](QueueSetRequest* r) { r->pause = true; }, 1);
  EXPECT_THAT(world_.Lease("q"), IsEmpty());
  world_.Enqueue("q", "two");
  EXPECT_EQ(world_.Counts("q").ready, 2);
  LeaseRequest waiting;
  waiting.queues = {"q"};
  waiting.count = 5;
  waiting.wait = true;
  bool done = false;
  world_.Start(&waiting, &done);
  world_.Settle();
  EXPECT_FALSE(done);
  Restart();
  EXPECT_THAT(world_.Lease("q", 1, Duration(0), 1), IsEmpty());
  LeaseRequest again;
  again.queues = {"q"};
  again.count = 5;
  again.wait = true;
  bool again_done = false;
  world_.Start(&again, &again_done, 1);
  world_.Settle();
  EXPECT_FALSE(again_done);
  Set([](QueueSetRequest* r) { r->resume = true; });
  world_.Settle();
  EXPECT_TRUE(again_done);
  EXPECT_THAT(again.jobs, ::testing::Not(IsEmpty()));
}

TEST_F(Options, APauseWithAnEndEndsByItselfWhateverTheWallClockDoes) {
  world_.Enqueue("q", "one");
  Set([](QueueSetRequest* r) {
    r->pause = true;
    r->pause_for = Seconds(10);
  });
  LeaseRequest waiting;
  waiting.queues = {"q"};
  waiting.wait = true;
  bool done = false;
  world_.Start(&waiting, &done, 1);
  world_.StepWall(Seconds(3600));
  world_.Advance(Milliseconds(9'999));
  world_.Settle();
  EXPECT_FALSE(done);
  world_.StepWall(Seconds(-7200));
  world_.Advance(Milliseconds(1));
  world_.Settle();
  EXPECT_TRUE(done);
  EXPECT_THAT(waiting.jobs, SizeIs(1));
}

}  // namespace
}  // namespace vestq
