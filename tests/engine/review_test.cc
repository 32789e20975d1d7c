// Corner cases of the cores that a review found: failures at awkward moments, wake-ups that must go
// on, fairness between cores, bounds of one turn.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "engine/base/limits.h"
#include "engine/purge_request.h"
#include "keycodec/keys.h"
#include "tests/engine/world_fixture.h"

namespace vestq {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

WorldOptions Cores(uint16_t cores) { return WorldOf(cores, 8); }

// A space of the queue that `core` of `cores` owns.
std::string SpaceOn(uint16_t core, uint16_t cores, const std::string& queue, int skip = 0) {
  for (int i = 0;; ++i) {
    std::string space = "space-" + std::to_string(i);
    if (keycodec::LaneOfSpace(queue, space, 8).value() % cores == core && skip-- == 0) return space;
  }
}

size_t FromSpace(const std::vector<LeasedJob>& jobs, const std::string& space) {
  size_t count = 0;
  for (const LeasedJob& job : jobs) count += job.space == space;
  return count;
}

// --- Failures ---

TEST(FailedStore, AnswersLookupsThatWereNotReadYet) {
  World world;
  world.Open();
  const JobId id = world.Enqueue("q", "p");
  world.fs().Inject({SimCall::kAppend, 1, true, SimErrno::kIo, ".log"});
  EnqueueRequest lost;
  bool lost_done = false;
  lost.queue = "q";
  world.Start(&lost, &lost_done);
  world.core(0)->Turn();
  // Its lookup is handed to the readers by the next turn, which finds the store failed.
  CancelRequest cancel;
  bool cancel_done = false;
  cancel.id = id;
  world.Start(&cancel, &cancel_done);
  world.engine()->WriteDrain();
  ASSERT_TRUE(world.engine()->failed());
  world.Settle();
  ASSERT_TRUE(lost_done);
  ASSERT_TRUE(cancel_done) << "a CANCEL is never answered";
  EXPECT_FALSE(cancel.error.ok());
}

TEST(FailedStore, AnswersLookupsThatOtherCoresSentMeanwhile) {
  World world(Cores(2));
  world.Open();
  const JobId id = world.Enqueue("q", "p", "", 1);
  world.fs().Inject({SimCall::kAppend, 1, true, SimErrno::kIo, ".log"});
  EnqueueRequest lost;
  bool lost_done = false;
  lost.queue = "q";
  world.Start(&lost, &lost_done);
  JobRequest look;
  bool look_done = false;
  look.id = id;
  world.Start(&look, &look_done);
  world.core(0)->Turn();
  world.engine()->WriteDrain();
  ASSERT_TRUE(world.engine()->failed());
  world.Settle();
  ASSERT_TRUE(lost_done);
  ASSERT_TRUE(look_done) << "a JOB is never answered";
  EXPECT_FALSE(look.error.ok());
}

TEST(FailedStore, IsNoticedByACoreWhereOnlyLeasesWait) {
  World world(Cores(2));
  world.Open();
  LeaseRequest waits;
  bool done = false;
  waits.queues = {"q"};
  waits.wait = true;
  world.Start(&waits, &done, 1);
  world.Settle();
  EnqueueRequest lost;
  bool lost_done = false;
  lost.queue = "other";
  world.Start(&lost, &lost_done, 0);
  world.core(0)->Turn();
  world.fs().Inject({SimCall::kAppend, 1, true, SimErrno::kIo, ".log"});
  world.engine()->WriteDrain();
  // The failure came after the turn and before the core went to sleep: its wake-up woke nobody.
  EXPECT_FALSE(world.core(1)->PrepareSleep());
  world.Settle();
  EXPECT_TRUE(done && lost_done);
}

// Whoever ends it calls back into the core that has made it: another core must not be the one.
TEST(FailedStore, EndsAWordThatWasNotSentOnItsOwnCore) {
  World world(Cores(2));
  world.Open();
  const JobId parent = world.Enqueue("q", "p");
  world.fs().Inject({SimCall::kAppend, 1, true, SimErrno::kIo, ".log"});
  EnqueueRequest lost, child;
  bool lost_done = false, child_done = false;
  lost.queue = child.queue = "q";
  world.Start(&lost, &lost_done);
  world.core(0)->Turn();
  child.after = {parent};
  world.Start(&child, &child_done, 1);
  world.engine()->WriteDrain();
  ASSERT_TRUE(world.engine()->failed());
  for (int i = 0; i < 3; ++i) world.core(1)->Turn();
  EXPECT_TRUE(child_done) << "the word was given to core 0";
  EXPECT_FALSE(child.error.ok());
  world.Settle();
  EXPECT_TRUE(lost_done);
}

// A LEASE of a space has probes with other cores when the store fails, and stands still for a read.
TEST(FailedStore, LeavesNoProbesOfALeaseThatItEnds) {
  World world(Cores(2));
  world.Open();
  PutJob(
      &world,
      [](EnqueueRequest* job) {
        job->when = EnqueueRequest::When::kDelay;
        job->delay = Seconds(60);
      },
      0);
  LeaseRequest lease;
  bool done = false;
  lease.queues = {"q"};
  lease.one_space = true;
  lease.wait = true;
  world.Start(&lease, &done);
  world.Settle();
  ASSERT_THAT(lease.probes, SizeIs(2));
  world.Advance(Seconds(60));
  world.core(0)->Turn();
  while (world.engine()->RunRead()) {
  }
  world.core(0)->Turn();  // the job vests, its record must be read
  ASSERT_TRUE(lease.under_way);
  world.fs().Inject({SimCall::kAppend, 1, true, SimErrno::kIo, ".log"});
  world.engine()->WriteDrain();
  ASSERT_TRUE(world.engine()->failed());
  world.core(0)->Turn();
  ASSERT_TRUE(done);
  EXPECT_FALSE(lease.error.ok());
  EXPECT_THAT(lease.probes, IsEmpty()) << "they come home to a request that is gone";
  world.Settle();
}

TEST(ReadError, DoesNotLeaveWaitingLeasesBesideAReadyJob) {
  WorldOptions options;
  options.lanes = 1;  // all jobs vest at once, and wake one
  World world(options);
  world.Open();
  for (int i = 0; i < 400; ++i) {  // enough for the first of them to be in table files
    EnqueueRequest job;
    job.queue = i < 3 ? "q" : "other";
    if (i < 3) job.when = EnqueueRequest::When::kDelay;
    job.delay = Seconds(60);
    job.payload.resize(16384);
    for (char& c : job.payload) c = static_cast<char>(world.random().Next());
    world.Run(&job);
    ASSERT_TRUE(job.error.ok());
  }
  ASSERT_TRUE(world.Close().ok());
  world.Open();
  LeaseRequest waits[3];
  bool done[3] = {};
  for (int i = 0; i < 3; ++i) {
    waits[i].queues = {"q"};
    waits[i].wait = true;
    world.Start(&waits[i], &done[i]);
    world.Settle();
  }
  // The jobs vest, their records cannot be read: the first to wait is told.
  world.fs().Inject({SimCall::kRead, 1, true, SimErrno::kIo, ".blob"});
  world.Advance(Seconds(60));
  world.Settle();
  ASSERT_TRUE(done[0]);
  ASSERT_EQ(waits[0].error.code(), ErrorCode::kIo) << waits[0].error.ToString();
  world.fs().ClearFaults();
  for (int i = 0; i < 3; ++i) {
    world.Advance(Seconds(1));
    world.Settle();
  }
  EXPECT_TRUE(done[1] && done[2]) << "LEASEs wait although jobs are ready (WAIT-1)";
}

// What is behind a LEASE in its stream runs as soon as that has its error.
class ReadErrorInAStream : public ::testing::Test {
 protected:
  ReadErrorInAStream() : world_(WorldOf(1, 1)) {  // one lane: one read
    world_.Open();
    for (int i = 0; i < 400; ++i) {  // enough for the first of them to be in table files
      EnqueueRequest job;
      job.queue = i < 3 ? "q" : "other";
      job.payload.resize(16384);
      for (char& c : job.payload) c = static_cast<char>(world_.random().Next());
      world_.Run(&job);
      EXPECT_TRUE(job.error.ok());
    }
    EXPECT_TRUE(world_.Close().ok());
    world_.Open();
    world_.Settle();
    world_.fs().Inject({SimCall::kRead, 1, true, SimErrno::kIo, ".blob"});
  }

  World world_;
  Stream stream_;
};

TEST_F(ReadErrorInAStream, TheNextLeaseIsAnsweredToo) {
  LeaseRequest leases[3];
  bool done[3] = {};
  for (int i = 0; i < 3; ++i) {
    leases[i].queues = {"q"};
    world_.Start(&leases[i], &done[i], 0, &stream_);
  }
  world_.Settle();
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(done[i]) << "LEASE " << i << " waits for a read that is over";
    EXPECT_EQ(leases[i].error.code(), ErrorCode::kIo);
  }
  world_.fs().ClearFaults();
  EXPECT_THAT(world_.Lease("q", 3), SizeIs(3));
}

TEST_F(ReadErrorInAStream, APurgeMayFollow) {
  LeaseRequest lease;
  PurgeRequest purge;
  bool leased = false, purged = false;
  lease.queues = {"q"};
  purge.queue = "q";
  world_.Start(&lease, &leased, 0, &stream_);
  world_.Start(&purge, &purged, 0, &stream_);
  world_.Settle();
  ASSERT_TRUE(leased && purged);
  EXPECT_EQ(lease.error.code(), ErrorCode::kIo);
  EXPECT_EQ(purge.removed, 3u);
  world_.fs().ClearFaults();
  EXPECT_THAT(world_.Lease("q"), IsEmpty());
  world_.Enqueue("q", "p");
  EXPECT_THAT(world_.Lease("q"), SizeIs(1));
}

// --- Answers ---

TEST(Answers, ALostLeaseIsNotReportedBeforeWhatEndedItIsDurable) {
  World world;
  world.Open();
  world.Enqueue("q", "p");
  const auto jobs = world.Lease("q");
  ASSERT_THAT(jobs, SizeIs(1));
  CompleteRequest first, second;
  bool first_done = false, second_done = false;
  first.receipt = second.receipt = jobs[0].receipt;
  world.Start(&first, &first_done);
  world.core(0)->Turn();
  world.engine()->WriteDrain();
  world.Start(&second, &second_done);
  world.core(0)->Turn();
  world.core(0)->Turn();
  EXPECT_FALSE(first_done);
  EXPECT_FALSE(second_done) << "it shows a COMPLETE that a power cut would undo";
  world.Settle();
  EXPECT_TRUE(first_done && second_done);
  EXPECT_TRUE(first.error.ok());
  EXPECT_EQ(second.error.code(), ErrorCode::kLeaseLost);
}

TEST(Answers, AFullLeaseTableEndsTheLeaseBeforeItTakesJobsElsewhere) {
  WorldOptions options = Cores(2);
  options.max_leased = 1;
  World world(options);
  world.Open();
  world.Enqueue("q", "a", "", 0);
  const auto held = world.Lease("q");
  ASSERT_THAT(held, SizeIs(1));
  world.Enqueue("q", "b", "", 0);
  world.Enqueue("q", "c", "", 1);
  LeaseRequest lease;
  bool done = false;
  lease.queues = {"q"};
  lease.count = 2;
  world.Start(&lease, &done, 0);  // finds the table full here
  world.core(0)->Turn();
  CompleteRequest complete;  // makes room before the other core would be asked
  bool completed = false;
  complete.receipt = held[0].receipt;
  world.Start(&complete, &completed, 0);
  world.Settle();
  ASSERT_TRUE(done && completed);
  EXPECT_EQ(lease.error.code(), ErrorCode::kFull);
  EXPECT_THAT(lease.jobs, IsEmpty()) << "jobs and an error: nobody would ever work on them";
  EXPECT_EQ(world.Counts("q").leased, 0);
}

// --- Streams ---

TEST(Streams, ALongQueueBehindAWaitingLeaseIsCarriedOutWithoutDepth) {
  World world;
  world.Open();
  Stream stream;
  LeaseRequest waits;
  bool waits_done = false;
  waits.queues = {"q"};
  waits.wait = true;
  world.Start(&waits, &waits_done, 0, &stream);
  constexpr size_t kHeld = 100'000;
  std::vector<std::unique_ptr<CompleteRequest>> held;
  const auto done = std::make_unique<bool[]>(kHeld);
  for (size_t i = 0; i < kHeld; ++i) {
    held.push_back(std::make_unique<CompleteRequest>());
    held[i]->receipt.id = JobId(4);
    world.Start(held[i].get(), &done[i], 0, &stream);
  }
  world.core(0)->Abandon(&waits);
  world.Settle();
  EXPECT_TRUE(waits_done);
  size_t answered = 0;
  for (size_t i = 0; i < kHeld; ++i) answered += done[i];
  EXPECT_EQ(answered, kHeld);
}

TEST(Streams, ALeaseAbandonedWhileHeldBackDoesNotWaitLater) {
  World world;
  world.Open();
  Stream stream;
  LeaseRequest first, second;
  bool first_done = false, second_done = false;
  first.queues = second.queues = {"q"};
  first.wait = second.wait = true;
  world.Start(&first, &first_done, 0, &stream);
  world.Start(&second, &second_done, 0, &stream);
  world.Settle();
  world.core(0)->Abandon(&second);
  world.core(0)->Abandon(&first);
  world.Settle();
  EXPECT_TRUE(first_done);
  EXPECT_TRUE(second_done);
}

// --- Wake-ups ---

TEST(WakeUps, OneForAWaiterWhoseTimeIsUpIsPassedOn) {
  World world(Cores(3));
  world.Open();
  LeaseRequest brief, patient;
  bool brief_done = false, patient_done = false;
  brief.queues = patient.queues = {"q"};
  brief.wait = patient.wait = true;
  brief.block = Milliseconds(100);
  world.Start(&brief, &brief_done, 1);
  world.Settle();
  world.Advance(Milliseconds(5));
  world.Start(&patient, &patient_done, 2);
  world.Settle();
  EnqueueRequest job;
  bool enqueued = false;
  job.queue = "q";
  world.Start(&job, &enqueued, 0);
  world.core(0)->Turn();  // wakes core 1, where the longest waiter is
  world.Advance(Milliseconds(100));
  world.core(1)->Turn();  // whose time is up in the same turn
  world.Settle();
  ASSERT_TRUE(brief_done && enqueued);
  EXPECT_THAT(brief.jobs, IsEmpty());
  EXPECT_TRUE(patient_done) << "a LEASE waits although a job is ready (WAIT-1)";
}

TEST(WakeUps, OneForAWaiterThatFoundAJobAtHomeIsPassedOn) {
  World world(Cores(3));
  world.Open();
  LeaseRequest older, younger;
  bool older_done = false, younger_done = false;
  older.queues = younger.queues = {"q"};
  older.wait = younger.wait = true;
  world.Start(&older, &older_done, 1);
  world.Settle();
  world.Advance(Milliseconds(5));
  world.Start(&younger, &younger_done, 2);
  world.Settle();
  EnqueueRequest far, near;
  bool far_done = false, near_done = false;
  far.queue = near.queue = "q";
  near.priority = 0;
  world.Start(&far, &far_done, 0);
  world.core(0)->Turn();
  world.Start(&near, &near_done, 1);
  world.core(1)->Turn();
  world.Settle();
  EXPECT_TRUE(older_done);
  EXPECT_TRUE(younger_done) << "a LEASE waits although a job is ready (WAIT-1)";
}

// --- Fairness between cores ---

TEST(Fairness, TheFirstSpacesOfAQueueTakeTurnsWithItsJobsWithoutSpace) {
  for (const uint16_t backlog : {uint16_t{0}, uint16_t{1}}) {
    World world(Cores(2));
    world.Open();
    const std::string space = SpaceOn(1 - backlog, 2, "q");
    for (int i = 0; i < 30; ++i) world.Enqueue("q", "p", "", backlog);
    for (int i = 0; i < 30; ++i) world.Enqueue("q", "p", space);
    size_t of_space = 0;
    for (int i = 0; i < 20; ++i) of_space += FromSpace(world.Lease("q"), space);
    EXPECT_GE(of_space, 8u) << "jobs with a space starve";
    EXPECT_LE(of_space, 12u) << "jobs without a space starve";
  }
}

TEST(Fairness, ASpaceOwesNothingForWhatItHadWhileTheOthersWereIdle) {
  World world(Cores(2));
  world.Open();
  const std::string busy = SpaceOn(0, 2, "q"), late = SpaceOn(1, 2, "q");
  for (int i = 0; i < 100; ++i) world.Enqueue("q", "p", busy);
  ASSERT_THAT(world.Lease("q", 100), SizeIs(100));
  for (int i = 0; i < 30; ++i) world.Enqueue("q", "p", late);
  for (int i = 0; i < 30; ++i) world.Enqueue("q", "p", busy);
  size_t of_busy = 0;
  for (int i = 0; i < 20; ++i) of_busy += FromSpace(world.Lease("q"), busy);
  EXPECT_GE(of_busy, 8u);
  EXPECT_LE(of_busy, 12u);
}

// --- Bounds ---

TEST(Cold, OneLeaseDoesNotReadEverySpaceOfItsQueue) {
  World world;
  world.Open();
  constexpr int kSpaces = 200;
  for (int i = 0; i < kSpaces; ++i) world.Enqueue("q", "p", "s" + std::to_string(i));
  ASSERT_TRUE(world.Close().ok());
  world.Open();
  world.Settle();  // the zones are found
  const uint64_t before = world.engine()->Info().cold_reads;
  EXPECT_THAT(world.Lease("q"), SizeIs(1));
  EXPECT_LE(world.engine()->Info().cold_reads - before, 40u);
  // And all of them have their turn.
  size_t jobs = 1;
  for (int i = 0; i < kSpaces; ++i) jobs += world.Lease("q").size();
  EXPECT_EQ(jobs, size_t{kSpaces});
  EXPECT_THAT(world.Violations(), IsEmpty());
}

}  // namespace
}  // namespace vestq
