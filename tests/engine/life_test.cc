// A job's life, one core: what each operation does, and what it refuses.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/sim/world.h"

namespace vestq {
namespace {

using ::testing::IsEmpty;

class Life : public ::testing::Test {
 protected:
  Life() { world_.Open(); }

  LeasedJob LeaseOne(const std::string& queue, Duration lease = Duration(0)) {
    auto jobs = world_.Lease(queue, 1, lease);
    EXPECT_EQ(jobs.size(), 1u);
    return jobs.empty() ? LeasedJob() : std::move(jobs[0]);
  }
  JobId EnqueueWith(const std::function<void(EnqueueRequest*)>& set) {
    EnqueueRequest request;
    request.queue = "q";
    request.payload = "p";
    set(&request);
    world_.Run(&request);
    EXPECT_TRUE(request.error.ok()) << request.error.ToString();
    return request.id;
  }
  void ExpectCounts(int64_t ready, int64_t scheduled, int64_t leased, int64_t dead) {
    const QueueCounts counts = world_.Counts("q");
    EXPECT_EQ(counts.ready, ready);
    EXPECT_EQ(counts.scheduled, scheduled);
    EXPECT_EQ(counts.leased, leased);
    EXPECT_EQ(counts.dead, dead);
  }

  World world_;
};

TEST_F(Life, AJobGoesInIsLeasedAndCompleted) {
  const JobId id = world_.Enqueue("q", "hello");
  ExpectCounts(1, 0, 0, 0);
  EXPECT_EQ(world_.State(id), JobState::kReady);
  const LeasedJob job = LeaseOne("q");
  EXPECT_EQ(job.receipt.id, id);
  EXPECT_EQ(job.queue, "q");
  EXPECT_EQ(job.payload, "hello");
  EXPECT_EQ(job.attempt, 1u);
  EXPECT_EQ(job.attempts, limits::kAttemptsDefault);
  EXPECT_EQ(job.priority, limits::kPriorityDefault);
  EXPECT_EQ(job.lease_left, limits::kLeaseDefault);
  EXPECT_EQ(job.enqueued.ms(), world_.clock().wall_ms);
  ExpectCounts(0, 0, 1, 0);
  EXPECT_EQ(world_.State(id), JobState::kLeased);
  EXPECT_TRUE(world_.Complete(job.receipt).ok());
  ExpectCounts(0, 0, 0, 0);
  EXPECT_EQ(world_.Counts("q").bytes, 0);
  EXPECT_EQ(world_.State(id), JobState::kGone);
  EXPECT_EQ(world_.Complete(job.receipt).code(), ErrorCode::kLeaseLost);
  EXPECT_THAT(world_.Violations(), IsEmpty());
}

TEST_F(Life, AnEmptyQueueHasNothingAndComesIntoNoBeing) {
  EXPECT_THAT(world_.Lease("nothing"), IsEmpty());
  EXPECT_THAT(world_.engine()->Queues(), IsEmpty());
}

TEST_F(Life, OrderIsByPriorityThenById) {
  std::vector<JobId> ids;
  for (uint32_t priority : {1024u, 5u, 1024u, 0u, 4294967295u, 5u}) {
    ids.push_back(EnqueueWith([&](EnqueueRequest* r) { r->priority = priority; }));
    world_.Advance(Milliseconds(3));
  }
  std::vector<JobId> order;
  for (const LeasedJob& job : world_.Lease("q", 10)) order.push_back(job.receipt.id);
  EXPECT_EQ(order, (std::vector<JobId>{ids[3], ids[1], ids[5], ids[0], ids[2], ids[4]}));
}

TEST_F(Life, ALeaseThatEndsVestsAgainAtOnceAndCountsAsAnAttempt) {
  world_.Enqueue("q", "p");
  const LeasedJob first = LeaseOne("q", Seconds(2));
  world_.Advance(Milliseconds(1999));
  world_.Settle();
  EXPECT_THAT(world_.Lease("q"), IsEmpty());
  world_.Advance(Milliseconds(1));
  EXPECT_EQ(world_.Complete(first.receipt).code(), ErrorCode::kLeaseLost);
  const LeasedJob second = LeaseOne("q");
  EXPECT_EQ(second.receipt.id, first.receipt.id);
  EXPECT_EQ(second.attempt, 2u);
  EXPECT_LT(first.receipt.fence, second.receipt.fence);
  EXPECT_EQ(world_.Complete(first.receipt).code(), ErrorCode::kLeaseLost);  // not the holder's
  EXPECT_TRUE(world_.Complete(second.receipt).ok());
  EXPECT_EQ(world_.Counts("q").expired, 1);
}

TEST_F(Life, RenewExtendsAndMostlyWritesNothing) {
  world_.Enqueue("q", "p");
  const LeasedJob job = LeaseOne("q", Seconds(3));
  uint64_t written = 0;
  for (int i = 0; i < 30; ++i) {
    world_.Advance(Seconds(1));
    const uint64_t before = world_.engine()->Info().tickets_submitted;
    RenewRequest renew;
    renew.receipt = job.receipt;
    world_.Run(&renew);
    ASSERT_TRUE(renew.error.ok()) << i;
    EXPECT_EQ(renew.left, Seconds(3));
    written += world_.engine()->Info().tickets_submitted - before;
  }
  EXPECT_LE(written, 12u);
  EXPECT_THAT(world_.Lease("q"), IsEmpty());
  world_.Advance(Milliseconds(3001));
  EXPECT_EQ(LeaseOne("q").attempt, 2u);  // the exact deadline counts, not the stored one
}

TEST_F(Life, FailRetriesAfterItsBackOffAndThenTheJobIsDead) {
  const JobId id = EnqueueWith([](EnqueueRequest* r) {
    r->attempts_set = true;
    r->attempts = 3;
  });
  for (uint32_t attempt = 1; attempt <= 3; ++attempt) {
    const LeasedJob job = LeaseOne("q");
    EXPECT_EQ(job.attempt, attempt);
    FailRequest fail;
    fail.receipt = job.receipt;
    fail.reason = "reason " + std::to_string(attempt);
    world_.Run(&fail);
    ASSERT_TRUE(fail.error.ok());
    EXPECT_EQ(fail.dead, attempt == 3);
    if (attempt == 3) break;
    EXPECT_GE(fail.retry_in, Seconds(4));
    EXPECT_LE(fail.retry_in, Seconds(24));
    EXPECT_EQ(world_.State(id), JobState::kScheduled);
    ExpectCounts(0, 1, 0, 0);
    EXPECT_THAT(world_.Lease("q"), IsEmpty());
    world_.Advance(fail.retry_in - Milliseconds(1));
    world_.Settle();
    EXPECT_THAT(world_.Lease("q"), IsEmpty());
    world_.Advance(Milliseconds(1));
    world_.Settle();
  }
  ExpectCounts(0, 0, 0, 1);
  JobRequest look;
  look.id = id;
  world_.Run(&look);
  EXPECT_EQ(look.state, JobState::kDead);
  EXPECT_EQ(look.last_error, "reason 3");
  EXPECT_EQ(look.reason, "attempts used up: the worker reported a failure");
  EXPECT_EQ(look.attempt, 3u);
  EXPECT_THAT(world_.Violations(), IsEmpty());
}

TEST_F(Life, AJobThatKillsItsWorkersEndsDeadAfterExactlyItsAttempts) {
  const JobId id = EnqueueWith([](EnqueueRequest* r) {
    r->attempts_set = true;
    r->attempts = 3;
  });
  const LeasedJob first = LeaseOne("q", Seconds(1));
  FailRequest fail;
  fail.receipt = first.receipt;
  fail.reason = "first words";
  fail.delay_set = true;
  world_.Run(&fail);
  for (int i = 0; i < 2; ++i) {
    LeaseOne("q", Seconds(1));
    world_.Advance(Seconds(1));
    world_.Settle();
  }
  EXPECT_THAT(world_.Lease("q"), IsEmpty());
  JobRequest look;
  look.id = id;
  world_.Run(&look);
  EXPECT_EQ(look.state, JobState::kDead);
  EXPECT_EQ(look.reason, "attempts used up: the lease expired");
  EXPECT_EQ(look.last_error, "first words");
  ExpectCounts(0, 0, 0, 1);
  EXPECT_THAT(world_.Violations(), IsEmpty());
}

TEST_F(Life, ReleaseGivesTheAttemptBackAndKeepsThePlace) {
  const JobId first = world_.Enqueue("q", "1");
  world_.Advance(Milliseconds(5));
  world_.Enqueue("q", "2");
  for (int i = 0; i < 50; ++i) {
    const LeasedJob job = LeaseOne("q");
    ASSERT_EQ(job.receipt.id, first);
    ASSERT_EQ(job.attempt, 1u);
    ReleaseRequest release;
    release.receipt = job.receipt;
    world_.Run(&release);
    ASSERT_TRUE(release.error.ok());
  }
  // With a delay and a new priority it stands elsewhere, and is found there.
  const LeasedJob job = LeaseOne("q");
  ReleaseRequest release;
  release.receipt = job.receipt;
  release.delay = Seconds(10);
  release.priority_set = true;
  release.priority = 4000;
  world_.Run(&release);
  EXPECT_EQ(world_.State(first), JobState::kScheduled);
  world_.Advance(Seconds(10));
  world_.Settle();
  EXPECT_EQ(world_.State(first), JobState::kReady);
  std::vector<std::string> order;
  for (const LeasedJob& next : world_.Lease("q", 2)) order.emplace_back(next.payload);
  EXPECT_EQ(order, (std::vector<std::string>{"2", "1"}));
  EXPECT_THAT(world_.Violations(), IsEmpty());
}

TEST_F(Life, CancelEndsAJobInEveryState) {
  const JobId ready = world_.Enqueue("q", "ready");
  const JobId delayed = EnqueueWith([](EnqueueRequest* r) {
    r->when = EnqueueRequest::When::kDelay;
    r->delay = Seconds(60);
  });
  const JobId leased = EnqueueWith([](EnqueueRequest* r) { r->priority = 0; });
  const LeasedJob held = LeaseOne("q");
  ASSERT_EQ(held.receipt.id, leased);
  const JobId dead = EnqueueWith([](EnqueueRequest* r) { r->priority = 0; });
  const LeasedJob dying = LeaseOne("q");
  FailRequest fail;
  fail.receipt = dying.receipt;
  fail.to_dead = true;
  world_.Run(&fail);
  EXPECT_TRUE(fail.dead);
  ExpectCounts(1, 1, 1, 1);
  for (JobId id : {ready, delayed, leased, dead}) {
    CancelRequest cancel;
    cancel.id = id;
    world_.Run(&cancel);
    EXPECT_TRUE(cancel.error.ok());
    EXPECT_TRUE(cancel.cancelled);
    world_.Run(&cancel);
    EXPECT_FALSE(cancel.cancelled);
    EXPECT_EQ(world_.State(id), JobState::kGone);
  }
  EXPECT_EQ(world_.Complete(held.receipt).code(), ErrorCode::kLeaseLost);
  ExpectCounts(0, 0, 0, 0);
  EXPECT_THAT(world_.Lease("q"), IsEmpty());
  world_.Advance(Seconds(100));
  world_.Settle();
  EXPECT_THAT(world_.Lease("q"), IsEmpty());
  EXPECT_THAT(world_.Violations(), IsEmpty());
}

TEST_F(Life, AnUnknownIdIsNoJob) {
  EXPECT_EQ(world_.State(JobId(4711)), JobState::kGone);
  CancelRequest cancel;
  cancel.id = JobId(4711);
  world_.Run(&cancel);
  EXPECT_FALSE(cancel.cancelled);
  EXPECT_EQ(world_.Complete({JobId(4711), {1, 1}}).code(), ErrorCode::kLeaseLost);
}

TEST_F(Life, SpacesTakeTurns) {
  for (int i = 0; i < 6; ++i) world_.Enqueue("q", "flood", "flood");
  world_.Enqueue("q", "a", "a");
  world_.Enqueue("q", "b", "b");
  world_.Enqueue("q", "none", "");
  // A new space's first job starts within one round of the active ones.
  std::vector<std::string> first;
  for (const LeasedJob& job : world_.Lease("q", 4)) first.emplace_back(job.payload);
  std::sort(first.begin(), first.end());
  EXPECT_EQ(first, (std::vector<std::string>{"a", "b", "flood", "none"}));
  EXPECT_EQ(world_.Lease("q", 100).size(), 5u);
}

TEST_F(Life, LeaseServesQueuesInTheOrderGivenAndFillsItsCount) {
  world_.Enqueue("b", "b1");
  world_.Enqueue("a", "a1");
  world_.Enqueue("b", "b2");
  LeaseRequest lease;
  lease.queues = {"a", "empty", "b"};
  lease.count = 2;
  world_.Run(&lease);
  ASSERT_EQ(lease.jobs.size(), 2u);
  EXPECT_EQ(lease.jobs[0].payload, "a1");
  EXPECT_EQ(lease.jobs[1].payload, "b1");
}

TEST_F(Life, AWaitingLeaseIsWokenByAJobAndByNothingElse) {
  LeaseRequest first, second;
  bool first_done = false, second_done = false;
  for (auto* lease : {&first, &second}) {
    lease->queues = {"q", "r"};
    lease->wait = true;
    world_.Start(lease, lease == &first ? &first_done : &second_done);
    world_.Settle();
    world_.Advance(Milliseconds(1));
  }
  EXPECT_FALSE(first_done || second_done);
  EXPECT_EQ(world_.engine()->Info().waiters, 4u);
  world_.Enqueue("r", "for the first");
  EXPECT_TRUE(first_done);
  EXPECT_FALSE(second_done);
  ASSERT_EQ(first.jobs.size(), 1u);
  world_.Enqueue("q", "for the second");
  EXPECT_TRUE(second_done);
  EXPECT_EQ(world_.engine()->Info().waiters, 0u);
}

TEST_F(Life, AWaitEndsInTimeOrWhenItsClientGoes) {
  LeaseRequest timed, gone;
  bool timed_done = false, gone_done = false;
  timed.queues = gone.queues = {"q"};
  timed.wait = gone.wait = true;
  timed.block = Seconds(5);
  world_.Start(&timed, &timed_done);
  world_.Start(&gone, &gone_done);
  world_.Settle();
  world_.Advance(Milliseconds(4999));
  world_.Settle();
  EXPECT_FALSE(timed_done);
  world_.Advance(Milliseconds(1));
  world_.Settle();
  EXPECT_TRUE(timed_done);
  EXPECT_THAT(timed.jobs, IsEmpty());
  world_.core(0)->Abandon(&gone);
  world_.Settle();
  EXPECT_TRUE(gone_done);
  EXPECT_EQ(world_.engine()->Info().waiters, 0u);
  world_.Enqueue("q", "p");
  EXPECT_EQ(world_.Lease("q").size(), 1u);
}

TEST_F(Life, RequestsOfAStreamKeepTheirOrder) {
  Stream stream;
  std::vector<std::unique_ptr<Request>> requests;
  bool done[5] = {};
  EnqueueRequest enqueue;
  LeaseRequest lease, empty;
  enqueue.queue = "q";
  lease.queues = empty.queues = {"q"};
  JobRequest look;
  look.id = JobId(1);
  world_.Start(&look, &done[0], 0, &stream);
  world_.Start(&enqueue, &done[1], 0, &stream);
  world_.Start(&lease, &done[2], 0, &stream);
  world_.Start(&empty, &done[3], 0, &stream);
  world_.Settle();
  EXPECT_TRUE(done[0] && done[1] && done[2] && done[3]);
  EXPECT_EQ(lease.jobs.size(), 1u);
  EXPECT_THAT(empty.jobs, IsEmpty());
}

TEST(LifeLimits, MaxLeasedIsANamedError) {
  WorldOptions options;
  options.max_leased = 2;
  World world(options);
  world.Open();
  for (int i = 0; i < 3; ++i) world.Enqueue("q", "p");
  EXPECT_EQ(world.Lease("q", 10).size(), 2u);
  LeaseRequest lease;
  lease.queues = {"q"};
  world.Run(&lease);
  EXPECT_EQ(lease.error.code(), ErrorCode::kFull);
  EXPECT_THAT(lease.error.text(), ::testing::HasSubstr("max-leased"));
}

// What a plain job writes, to the record and the byte, so that nobody makes it dearer unnoticed. Each of the
// three turns writes the queue's counters and the clock, two records, beside what is said here.
TEST_F(Life, APlainJobWritesSixRecordsOfItsOwn) {
  struct Cost {
    uint64_t records;
    uint64_t bytes;
  };
  const auto cost = [this](const std::function<void()>& run) {
    const Cost before{world_.records_written(), world_.bytes_written()};
    run();
    world_.Settle();
    return Cost{world_.records_written() - before.records, world_.bytes_written() - before.bytes};
  };
  // The first of a queue makes the queue, too.
  world_.Enqueue("q", "first");
  ASSERT_TRUE(world_.Complete(LeaseOne("q").receipt).ok());
  const std::string payload(100, 'p');
  LeasedJob job;
  const Cost enqueue = cost([&] { world_.Enqueue("q", payload); });
  const Cost lease = cost([&] { job = LeaseOne("q"); });
  const Cost complete = cost([&] { EXPECT_TRUE(world_.Complete(job.receipt).ok()); });
  EXPECT_EQ(job.payload, payload);
  // READY and the record; READY out, LEASED in; LEASED out, the record out
  EXPECT_EQ(enqueue.records, 2u + 2);
  EXPECT_EQ(lease.records, 2u + 2);
  EXPECT_EQ(complete.records, 2u + 2);
  EXPECT_EQ(enqueue.bytes, 241u);
  EXPECT_EQ(lease.bytes, 147u);
  EXPECT_EQ(complete.bytes, 98u);
}

TEST(ReceiptText, RoundTripsAndRefusesEverythingElse) {
  const Receipt receipt{JobId(4711), {3, 12}};
  EXPECT_EQ(receipt.ToString(), "4711.3.12");
  const Result<Receipt> parsed = Receipt::Parse("4711.3.12");
  ASSERT_TRUE(parsed.ok());
  EXPECT_EQ(*parsed, receipt);
  const Receipt longest{JobId(limits::kJobIdMax), {UINT32_MAX, UINT64_MAX}};
  EXPECT_LE(longest.ToString().size(), 60u);
  EXPECT_EQ(*Receipt::Parse(longest.ToString()), longest);
  for (const char* bad :
       {"", ".", "1", "1.2", "1.2.", "1.2.3.", "01.2.3", "1.02.3", "+1.2.3", "-1.2.3", " 1.2.3",
        "1.2.3 ", "0.1.1", "1.4294967296.1", "1.1.18446744073709551616", "9007199254740992.1.1",
        "99999999999999999999.1.1", "1.2.0x3", "a.b.c"}) {
    EXPECT_FALSE(Receipt::Parse(bad).ok()) << bad;
  }
}

}  // namespace
}  // namespace vestq
