// PURGE: what it takes and leaves, that its answer is exact, what comes back afterwards, and that nothing
// of it is left; with restarts, kills and power cuts in between.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/engine/purge_fixture.h"

namespace vestq {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class Purge : public QueueOnCores {
 protected:
  JobId PutDelayed(Duration delay = Seconds(600)) {
    return Put([delay](EnqueueRequest* r) {
      r->when = EnqueueRequest::When::kDelay;
      r->delay = delay;
    });
  }
  JobId PutAt(Duration later) {
    return Put([&](EnqueueRequest* r) {
      r->when = EnqueueRequest::When::kAt;
      r->at = WallTime(world_.clock().wall_ms) + later;
    });
  }
  JobId PutDead(const std::string& queue = "q") {
    const JobId id = Put([&](EnqueueRequest* r) {
      r->queue = queue;
      r->priority = 0;
    });
    FailRequest fail;
    fail.receipt = world_.Lease(queue).at(0).receipt;
    fail.to_dead = true;
    world_.Run(&fail);
    return id;
  }
  JobId PutDone() {
    Put([](EnqueueRequest* r) {
      r->keep = Hours(1);
      r->priority = 0;
    });
    const Receipt receipt = world_.Lease("q").at(0).receipt;
    EXPECT_TRUE(world_.Complete(receipt).ok());
    return receipt.id;
  }
  uint64_t Run(const std::function<void(PurgeRequest*)>& set = [](PurgeRequest*) {}) {
    PurgeRequest request;
    request.queue = "q";
    set(&request);
    world_.Run(&request, 1);
    error_ = request.error;
    return request.removed;
  }
  uint64_t RunState(JobState state) {
    return Run([state](PurgeRequest* r) { r->state = state; });
  }
  static std::vector<int64_t> States(const QueueCounts& c) {
    return {c.ready, c.scheduled, c.leased, c.dead, c.done};
  }
  void ExpectCounts(std::vector<int64_t> ready_scheduled_leased_dead_done, int64_t bytes) {
    world_.Settle();
    const QueueCounts counts = world_.Counts("q");
    EXPECT_EQ(States(counts), ready_scheduled_leased_dead_done);
    EXPECT_EQ(counts.bytes, bytes);
  }
};

TEST_F(Purge, TakesWhatIsReadyAndScheduledAndLeavesTheRest) {
  PutDead();
  const JobId done = PutDone();
  Put([](EnqueueRequest* r) { r->priority = 0; });
  const auto leased = world_.Lease("q");
  ASSERT_THAT(leased, SizeIs(1));
  std::vector<JobId> ids;
  for (int i = 0; i < 5; ++i) ids.push_back(Put());
  for (int i = 0; i < 3; ++i) ids.push_back(PutDelayed());
  ids.push_back(PutAt(Seconds(600)));
  ids.push_back(Put([](EnqueueRequest* r) { r->space = "acme"; }));
  EXPECT_EQ(Run(), 10u);
  ExpectCounts({0, 0, 1, 1, 1}, 14);
  for (const JobId id : ids) EXPECT_EQ(world_.State(id), JobState::kGone) << id.value();
  EXPECT_EQ(world_.State(leased[0].receipt.id), JobState::kLeased);
  EXPECT_EQ(world_.State(done), JobState::kDone);
  EXPECT_EQ(world_.Counts("q").cancelled, 10);
  EXPECT_THAT(world_.Lease("q"), IsEmpty());
  EXPECT_EQ(Run(), 0u);
  ExpectClean();
  EXPECT_TRUE(world_.Complete(leased[0].receipt).ok());
  Put();
  EXPECT_THAT(world_.Lease("q"), SizeIs(1));
  ExpectClean();
}

TEST_F(Purge, OneStateAtATime) {
  for (int i = 0; i < 4; ++i) Put();
  for (int i = 0; i < 3; ++i) PutDelayed(Seconds(5));
  PutDead();
  PutDead();
  PutDone();
  EXPECT_EQ(RunState(JobState::kReady), 4u);
  ExpectCounts({0, 3, 0, 2, 1}, 35);
  ExpectClean();
  world_.Advance(Seconds(6));
  ExpectCounts({3, 0, 0, 2, 1}, 35);
  EXPECT_THAT(world_.Lease("q", 1), SizeIs(1)) << "what was scheduled vests into the new life";
  PutDelayed();
  EXPECT_EQ(RunState(JobState::kScheduled), 1u);
  ExpectCounts({2, 0, 1, 2, 1}, 35);
  EXPECT_EQ(RunState(JobState::kDead), 2u);
  ExpectCounts({2, 0, 1, 0, 1}, 21);
  EXPECT_EQ(RunState(JobState::kDone), 1u);
  ExpectCounts({2, 0, 1, 0, 0}, 21);
  EXPECT_EQ(RunState(JobState::kLeased), 1u);
  ExpectCounts({2, 0, 0, 0, 0}, 14);
  EXPECT_THAT(world_.Lease("q", 5), SizeIs(2));
  ExpectClean();
}

TEST_F(Purge, LeasedJobsComeBackIntoTheNewLife) {
  for (int i = 0; i < 5; ++i) Put();
  const auto leased = world_.Lease("q", 5, Seconds(30));
  ASSERT_THAT(leased, SizeIs(5));
  EXPECT_EQ(Run(), 0u);
  Put();
  EXPECT_EQ(Run(), 1u);
  FailRequest fail;
  fail.receipt = leased[0].receipt;
  fail.delay_set = true;
  fail.delay = Seconds(5);
  world_.Run(&fail);
  ReleaseRequest release;
  release.receipt = leased[1].receipt;
  world_.Run(&release);
  fail.receipt = leased[2].receipt;
  fail.to_dead = true;
  world_.Run(&fail);
  CheckpointRequest checkpoint;
  checkpoint.receipt = leased[3].receipt;
  checkpoint.checkpoint = "half";
  world_.Run(&checkpoint);
  ExpectClean();  // a restart
  EXPECT_EQ(world_.State(leased[0].receipt.id), JobState::kScheduled);
  EXPECT_EQ(world_.State(leased[1].receipt.id), JobState::kReady);
  EXPECT_EQ(world_.State(leased[2].receipt.id), JobState::kDead);
  world_.Advance(Seconds(40));  // [0] vests, [3] and [4] expire
  ExpectCounts({4, 0, 0, 1, 0}, 35);
  EXPECT_THAT(world_.Lease("q", 9), SizeIs(4));
  ExpectClean();
  RedriveRequest redrive;
  redrive.queue = "q";
  world_.Run(&redrive);
  EXPECT_EQ(redrive.redriven, 1u);
  EXPECT_THAT(world_.Lease("q", 9), SizeIs(1));
  ExpectClean();
}

TEST_F(Purge, UniqueKeysAreFreeAtOnceWindowsIncluded) {
  const auto unique = [](EnqueueRequest* r) {
    r->unique_key = "k";
    r->unique_window = Hours(1);
    r->expire = Hours(2);
  };
  const JobId first = Put(unique);
  EXPECT_EQ(Put(unique), first);
  // Nothing of the background yet: the key is free by the answer.
  PurgeRequest purge;
  purge.queue = "q";
  bool done = false;
  world_.Start(&purge, &done, 1);
  while (!done) world_.Step();
  EXPECT_EQ(purge.removed, 1u);
  const JobId second = Put(unique);
  EXPECT_NE(second, first);
  EXPECT_TRUE(added_);
  EXPECT_EQ(Put(unique), second) << "the eraser leaves the new holder its key";
  ExpectClean();
  EXPECT_EQ(Put(unique), second);
  EXPECT_THAT(world_.Lease("q", 2), SizeIs(1));
  EXPECT_EQ(Run(), 0u);
  EXPECT_EQ(Put(unique), second) << "a leased job keeps it";
  EXPECT_EQ(RunState(JobState::kLeased), 1u);
  EXPECT_NE(Put(unique), second);
  ExpectClean();
}

TEST_F(Purge, OneSpace) {
  const auto in = [](const std::string& space) {
    return [space](EnqueueRequest* r) { r->space = space; };
  };
  for (int i = 0; i < 700; ++i) Put(in("acme"));
  for (int i = 0; i < 5; ++i) Put(in("bolt"));
  for (int i = 0; i < 4; ++i) Put();
  Put([](EnqueueRequest* r) {
    r->space = "acme";
    r->when = EnqueueRequest::When::kDelay;
    r->delay = Seconds(60);
  });
  const auto space = [](const std::string& name, std::optional<JobState> state = std::nullopt) {
    return [name, state](PurgeRequest* r) {
      r->one_space = true;
      r->space = name;
      r->state = state;
    };
  };
  EXPECT_EQ(Run(space("acme", JobState::kScheduled)), 1u);
  EXPECT_EQ(Run(space("acme")), 700u);
  ExpectCounts({9, 0, 0, 0, 0}, 63);
  EXPECT_THAT(world_.Lease("q", 1), SizeIs(1));
  EXPECT_EQ(Run(space("")) + Run(space("bolt")), 8u);
  EXPECT_EQ(Run(space("bolt", JobState::kLeased)) + Run(space("", JobState::kLeased)), 1u);
  ExpectCounts({0, 0, 0, 0, 0}, 0);
  ExpectClean();
}

TEST_F(Purge, ByIdAsCancelWould) {
  const JobId ready = Put();
  const JobId scheduled = PutDelayed();
  const JobId dead = PutDead("other");
  const JobId done = PutDone();
  const JobId stays = Put();
  EXPECT_EQ(Run([&](PurgeRequest* r) {
              r->ids = {ready, scheduled, dead, done, JobId(4711)};
            }),
            2u);
  EXPECT_EQ(world_.State(dead), JobState::kDead) << "of another queue";
  EXPECT_EQ(world_.State(done), JobState::kDone);
  EXPECT_EQ(world_.State(stays), JobState::kReady);
  const auto leased = world_.Lease("q");
  EXPECT_EQ(Run([&](PurgeRequest* r) { r->ids = {leased.at(0).receipt.id}; }), 1u);
  EXPECT_EQ(world_.Complete(leased[0].receipt).code(), ErrorCode::kLeaseLost);
  ExpectClean();
  Run([](PurgeRequest* r) { r->queue = "nobody's"; });
  EXPECT_EQ(error_.code(), ErrorCode::kNotFound);
  EXPECT_THAT(error_.text(), HasSubstr("there is no queue 'nobody's'"));
}

TEST_F(Purge, IsNotSlowedByWhatItHasMadeVoid) {
  for (int i = 0; i < 3000; ++i) Put();
  PurgeRequest purge;
  purge.queue = "q";
  bool done = false;
  world_.Start(&purge, &done, 1);
  while (!done) world_.Step();
  EXPECT_EQ(purge.removed, 3000u);
  // The eraser has hardly begun; nothing void stands in the way of a new job.
  const JobId fresh = Put();
  const auto leased = world_.Lease("q", 10);
  ASSERT_THAT(leased, SizeIs(1));
  EXPECT_EQ(leased[0].receipt.id, fresh);
  ExpectClean();
}

// Records are read by stepping where ids follow each other, else one by one.
TEST_F(Purge, FindsEveryRecordInWhateverOrderJobsStand) {
  int64_t left = 0;
  for (int i = 0; i < 1'500; ++i) {
    Put([i](EnqueueRequest* r) {
      r->priority =
          i < 500 ? 1 : static_cast<uint32_t>(i * 7919 % 1000);  // first in order, then not
      r->space = i % 3 == 0 ? "" : "s" + std::to_string(i % 40);
    });
    for (int k = 0; k < (i % 50 == 0 ? 20 : i % 2); ++k, ++left)
      Put([](EnqueueRequest* r) { r->queue = "other"; });
  }
  const int64_t others = world_.Counts("other").bytes;
  EXPECT_EQ(Run(), 1'500u);
  ExpectCounts({0, 0, 0, 0, 0}, 0);
  EXPECT_EQ(world_.Counts("other").ready, left);
  EXPECT_EQ(world_.Counts("other").bytes, others);
  ExpectClean();
}

TEST_F(Purge, AWaitingLeaseGoesOnWaiting) {
  LeaseRequest lease;
  lease.queues = {"q"};
  lease.wait = true;
  bool done = false;
  world_.Start(&lease, &done, 2);
  world_.Settle();
  EXPECT_EQ(Run(), 0u);
  EXPECT_FALSE(done);
  const JobId id = Put();
  world_.Settle();
  ASSERT_TRUE(done);
  ASSERT_THAT(lease.jobs, SizeIs(1));
  EXPECT_EQ(lease.jobs[0].receipt.id, id);
}

// A job of another queue that waits for one that is purged.
TEST_F(Purge, ThoseThatWaitForWhatIsPurgedAreDead) {
  const auto child_of = [this](JobId parent, const std::string& queue = "c") {
    return Put([&](EnqueueRequest* r) {
      r->queue = queue;
      r->after = {parent};
      if (queue == "q") {
        r->unique_key = "k";
        r->expire = Hours(1);
      }
    });
  };
  const JobId ready = Put();
  const JobId scheduled = PutDelayed();
  const JobId waiting = child_of(ready, "q");
  const std::vector<JobId> children = {child_of(ready), child_of(scheduled), child_of(waiting)};
  const JobId dead = PutDead();
  EXPECT_EQ(world_.State(ready), JobState::kReady);
  const JobId of_dead = child_of(dead);
  EXPECT_EQ(world_.Counts("q").waiting, 1);
  EXPECT_EQ(Run(), 3u);
  world_.Settle();
  ExpectDead(children, "was purged");
  EXPECT_EQ(world_.State(of_dead), JobState::kWaiting);
  EXPECT_EQ(RunState(JobState::kDead), 1u);
  world_.Settle();
  EXPECT_EQ(world_.State(of_dead), JobState::kDead);
  EXPECT_TRUE(Put([](EnqueueRequest* r) { r->unique_key = "k"; }) != waiting && added_);
  ExpectClean();
  RedriveRequest redrive;
  redrive.queue = "c";
  world_.Run(&redrive);
  EXPECT_EQ(redrive.redriven, 4u);
  EXPECT_THAT(world_.Lease("c", 9), SizeIs(4));
  ExpectClean();
}

TEST_F(Purge, ThoseThatWaitForWhatIsPurgedOneByOneAreDeadToo) {
  const JobId leased = Put();
  ASSERT_THAT(world_.Lease("q"), SizeIs(1));
  const JobId by_id = Put();
  const JobId by_space = Put([](EnqueueRequest* r) { r->space = "acme"; });
  std::vector<JobId> children;
  for (const JobId parent : {leased, by_id, by_space}) {
    children.push_back(Put([&](EnqueueRequest* r) {
      r->queue = "c";
      r->after = {parent};
    }));
  }
  EXPECT_EQ(RunState(JobState::kLeased), 1u);
  EXPECT_EQ(Run([&](PurgeRequest* r) { r->ids = {by_id}; }), 1u);
  EXPECT_EQ(Run([](PurgeRequest* r) {
              r->one_space = true;
              r->space = "acme";
            }),
            1u);
  world_.Settle();
  ExpectDead(children, "was purged");
  EXPECT_EQ(world_.Counts("q").cancelled, 3) << "counted as before";
  ExpectClean();
}

TEST_F(Purge, AWaitingJobThatWasPurgedStaysGoneWhenItsParentEnds) {
  const JobId parent = Put([](EnqueueRequest* r) { r->queue = "p"; });
  for (int i = 0; i < 3; ++i) {
    Put([&](EnqueueRequest* r) {
      r->after = {parent};
      if (i == 1) r->space = "acme";
      if (i == 2) r->unique_key = "k";
    });
  }
  EXPECT_EQ(Run([](PurgeRequest* r) {
              r->one_space = true;
              r->space = "acme";
            }),
            1u);
  EXPECT_EQ(RunState(JobState::kWaiting), 2u);
  ExpectClean();
  EXPECT_TRUE(world_.Complete(world_.Lease("p").at(0).receipt).ok());
  world_.Settle();
  EXPECT_THAT(world_.Lease("q", 9), IsEmpty());
  ExpectClean();
}

// Two purges at once, and jobs that are enqueued beside them: each job is counted once.
TEST(PurgeRaces, EachJobIsCountedOnceWhateverHappensBesideIt) {
  for (uint64_t seed = 1; seed <= 25; ++seed) {
    World world(Options(seed));
    world.Open();
    for (int i = 0; i < 20; ++i) world.Enqueue("q", "x", i % 3 == 0 ? "acme" : "", i % kCores);
    std::vector<std::unique_ptr<EnqueueRequest>> puts;
    PurgeRequest purges[2];
    bool done[2 + 30] = {};
    size_t started = 0;
    for (int i = 0; i < 30; ++i) {
      auto put = std::make_unique<EnqueueRequest>();
      put->queue = "q";
      put->payload = "y";
      if (i % 4 == 0) {
        put->when = EnqueueRequest::When::kDelay;
        put->delay = Seconds(60);
      }
      world.Start(put.get(), &done[2 + i], static_cast<uint16_t>(i % kCores));
      puts.push_back(std::move(put));
      if (i % 15 == 7) {
        purges[started].queue = "q";
        world.Start(&purges[started], &done[started], static_cast<uint16_t>(started));
        ++started;
      }
      for (int step = 0; step < 3; ++step) world.Step();
    }
    world.Settle();
    const QueueCounts counts = world.Counts("q");
    EXPECT_EQ(purges[0].removed + purges[1].removed +
                  static_cast<uint64_t>(counts.ready + counts.scheduled),
              50u)
        << seed;
    EXPECT_THAT(world.Violations(), IsEmpty()) << seed;
    EXPECT_EQ(world.last_report().void_keys, 0u) << seed;
  }
}

// A crash at any moment between the purge's row, the switches and the erasing comes out right: all of it is
// purged, or nothing is.
TEST(PurgeRaces, ACrashAtAnyMomentLeavesAllOrNothing) {
  int purged = 0;
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    World world(Options(seed));
    world.Open();
    for (int i = 0; i < 12; ++i) world.Enqueue("q", "x", i % 3 == 0 ? "acme" : "", i % kCores);
    EnqueueRequest unique;
    unique.queue = "q";
    unique.payload = "u";
    unique.unique_key = "k";
    unique.expire = Hours(1);
    world.Run(&unique);
    const auto leased = world.Lease("q", 2);
    PurgeRequest purge;
    purge.queue = "q";
    bool done = false;
    world.Start(&purge, &done, static_cast<uint16_t>(seed % kCores));
    CrashAndOpen(&world, seed, seed * 2);
    world.Settle();
    const QueueCounts counts = world.Counts("q");
    EXPECT_TRUE(counts.ready == 0 || counts.ready == 11) << seed << ": " << counts.ready;
    if (done) {
      EXPECT_EQ(counts.ready, 0) << seed;
    }
    purged += counts.ready == 0;
    EXPECT_EQ(counts.leased, 2) << seed;
    EXPECT_EQ(counts.bytes, counts.ready == 0 ? 2 : 13) << seed;
    EXPECT_THAT(world.Violations(), IsEmpty()) << seed;
    EXPECT_EQ(world.last_report().void_keys, 0u) << seed;
    EXPECT_EQ(world.discipline_breach(), "") << seed;
  }
  EXPECT_GT(purged, 10);
  EXPECT_LT(purged, 60);
}

}  // namespace
}  // namespace vestq
