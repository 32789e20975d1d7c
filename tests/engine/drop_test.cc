// QUEUE DROP, and queues that vanish by themselves.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/engine/purge_fixture.h"

namespace vestq {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

class Drop : public QueueOnCores {
 protected:
  uint64_t Run() {
    PurgeRequest request;
    request.queue = "q";
    request.drop = true;
    world_.Run(&request, 2);
    error_ = request.error;
    return request.removed;
  }
  void SetAttempts(std::optional<uint32_t> attempts) {
    QueueSetRequest request;
    request.queue = "q";
    if (attempts) {
      request.set.attempts = attempts;
    } else {
      request.unset.attempts = 0;
    }
    world_.Run(&request);
  }
  bool Exists(const std::string& name = "q") {
    QueueCounts counts;
    return world_.engine()->Queue(name, &counts);
  }
  // One of each: ready, scheduled, in a space, leased, dead, done and kept, with unique keys.
  std::vector<LeasedJob> PutOneOfEach() {
    Put([](EnqueueRequest* r) { r->keep = Hours(1); });
    EXPECT_TRUE(world_.Complete(world_.Lease("q").at(0).receipt).ok());
    Put();
    FailRequest fail;
    fail.receipt = world_.Lease("q").at(0).receipt;
    fail.to_dead = true;
    world_.Run(&fail);
    for (int i = 0; i < 6; ++i) {
      Put([i](EnqueueRequest* r) {
        r->unique_key = "leased " + std::to_string(i);
        r->unique_window = Hours(2);
      });
    }
    auto leased = world_.Lease("q", 6);
    CheckpointRequest checkpoint;
    checkpoint.receipt = leased.at(0).receipt;
    checkpoint.checkpoint = "half";
    world_.Run(&checkpoint);
    Put();
    Put([](EnqueueRequest* r) { r->space = "acme"; });
    Put([](EnqueueRequest* r) {
      r->unique_key = "k";
      r->when = EnqueueRequest::When::kDelay;
      r->delay = Hours(1);
      r->expire = Hours(1);
    });
    return leased;
  }
};

TEST_F(Drop, RemovesAllOfTheQueue) {
  SetAttempts(3);
  const auto leased = PutOneOfEach();
  ASSERT_THAT(leased, SizeIs(6));
  EXPECT_EQ(Run(), 10u) << "kept results are no jobs";
  EXPECT_FALSE(Exists());
  for (const LeasedJob& job : leased) {
    EXPECT_EQ(world_.Complete(job.receipt).code(), ErrorCode::kLeaseLost);
    EXPECT_EQ(world_.State(job.receipt.id), JobState::kGone);
  }
  Run();
  EXPECT_EQ(error_.code(), ErrorCode::kNotFound);
  ExpectClean();
  EXPECT_EQ(world_.last_report().queues, 0u);
  EXPECT_EQ(world_.last_report().unique_keys, 0u);
  EXPECT_EQ(world_.last_report().payload_bytes, 0u);
  // It begins from nothing: no option, no count, no key that is held.
  Put([](EnqueueRequest* r) { r->unique_key = "k"; });
  QueueCounts counts;
  QueueOptions options;
  ASSERT_TRUE(world_.engine()->Queue("q", &counts, &options));
  EXPECT_EQ(counts.enqueued, 1);
  EXPECT_EQ(counts.leases, 0);
  EXPECT_FALSE(options.attempts);
  EXPECT_THAT(world_.Lease("q", 9), SizeIs(1));
  ExpectClean();
}

TEST_F(Drop, ThoseThatWaitForItsJobsAreDead) {
  const JobId leased = Put();
  ASSERT_THAT(world_.Lease("q"), SizeIs(1));
  const JobId ready = Put();
  std::vector<JobId> children;
  for (const JobId parent : {leased, ready}) {
    children.push_back(Put([&](EnqueueRequest* r) {
      r->queue = "c";
      r->after = {parent};
    }));
  }
  Put([&](EnqueueRequest* r) { r->after = {leased, ready}; });
  EXPECT_EQ(Run(), 3u);
  world_.Settle();
  ExpectDead(children, "was dropped with its queue");
  ExpectClean();
}

TEST_F(Drop, NumbersAreNeverGivenTwice) {
  world_.Enqueue("other", "x");
  for (int i = 0; i < 5; ++i) {
    Put();
    EXPECT_EQ(Run(), 1u);
    ExpectClean();  // a restart
  }
  std::string text;
  for (const std::string& line : world_.log()) text += line;
  EXPECT_EQ(text, "");
  Put();
  ExpectClean();
  EXPECT_EQ(world_.last_report().queues, 2u);
}

TEST_F(Drop, AWaitingLeaseIsServedWhenTheQueueIsThereAgain) {
  SetAttempts(3);
  LeaseRequest lease;
  lease.queues = {"q"};
  lease.wait = true;
  bool done = false;
  world_.Start(&lease, &done, 1);
  world_.Settle();
  EXPECT_EQ(Run(), 0u);
  EXPECT_FALSE(done);
  const JobId id = Put();
  world_.Settle();
  ASSERT_TRUE(done);
  ASSERT_THAT(lease.jobs, SizeIs(1));
  EXPECT_EQ(lease.jobs[0].receipt.id, id);
  EXPECT_TRUE(world_.Complete(lease.jobs[0].receipt).ok());
  ExpectClean();
}

TEST_F(Drop, ACrashAtAnyMomentLeavesAllOrNothing) {
  int dropped = 0;
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    World world(Options(seed));
    world.Open();
    for (int i = 0; i < 12; ++i) world.Enqueue("q", "x", i % 3 == 0 ? "acme" : "", i % kCores);
    const auto leased = world.Lease("q", 4);
    PurgeRequest drop;
    drop.queue = "q";
    drop.drop = true;
    bool done = false;
    world.Start(&drop, &done, static_cast<uint16_t>(seed % kCores));
    CrashAndOpen(&world, seed, seed * 2);
    world.Settle();
    QueueCounts counts;
    const bool there = world.engine()->Queue("q", &counts);
    EXPECT_FALSE(done && there) << seed;
    EXPECT_EQ(world.Complete(leased.at(0).receipt).ok(), there) << seed;
    if (there) {
      EXPECT_EQ(counts.ready, 8) << seed;
      EXPECT_EQ(counts.leased, 4) << seed;
    }
    dropped += !there;
    EXPECT_THAT(world.Violations(), IsEmpty()) << seed;
    EXPECT_EQ(world.last_report().void_keys, 0u) << seed;
    EXPECT_EQ(world.discipline_breach(), "") << seed;
  }
  EXPECT_GT(dropped, 10);
  EXPECT_LT(dropped, 60);
}

// Jobs that are enqueued beside a DROP are dropped or are in the new queue, which is then as any.
TEST_F(Drop, EnqueuesBesideIt) {
  for (uint64_t seed = 1; seed <= 25; ++seed) {
    World world(Options(seed));
    world.Open();
    for (int i = 0; i < 10; ++i) world.Enqueue("q", "x", "", i % kCores);
    std::vector<std::unique_ptr<EnqueueRequest>> puts;
    PurgeRequest drop;
    drop.queue = "q";
    drop.drop = true;
    bool done[31] = {};
    for (int i = 0; i < 30; ++i) {
      auto put = std::make_unique<EnqueueRequest>();
      put->queue = "q";
      put->payload = "y";
      if (i % 5 == 0) put->unique_key = "key " + std::to_string(i);
      world.Start(put.get(), &done[i], static_cast<uint16_t>(i % kCores));
      puts.push_back(std::move(put));
      if (i == 12) world.Start(&drop, &done[30], 1);
      for (int step = 0; step < 3; ++step) world.Step();
    }
    world.Settle();
    EXPECT_TRUE(done[30]) << seed;
    EXPECT_EQ(drop.removed + static_cast<uint64_t>(world.Counts("q").ready), 40u) << seed;
    EXPECT_THAT(world.Violations(), IsEmpty()) << seed;
    EXPECT_EQ(world.last_report().void_keys, 0u) << seed;
  }
}

// --- Vanishing ---

TEST_F(Drop, AQueueVanishesAMinuteAfterItsLastJob) {
  const JobId id = Put();
  world_.Advance(Seconds(90));
  world_.Settle();
  EXPECT_TRUE(Exists()) << "it has a job";
  EXPECT_TRUE(world_.Complete(world_.Lease("q").at(0).receipt).ok());
  world_.Advance(Seconds(59));
  world_.Settle();
  EXPECT_TRUE(Exists());
  world_.Advance(Seconds(2));
  world_.Settle();
  EXPECT_FALSE(Exists());
  ExpectClean();
  EXPECT_EQ(world_.last_report().queues, 0u);
  EXPECT_EQ(world_.State(id), JobState::kGone);
  Put();
  EXPECT_EQ(world_.Counts("q").enqueued, 1);
  EXPECT_THAT(world_.Lease("q"), SizeIs(1));
  ExpectClean();
}

TEST_F(Drop, WhatKeepsAQueue) {
  const auto after_a_minute = [this] {
    world_.Advance(Seconds(61));
    world_.Settle();
    return Exists();
  };
  SetAttempts(3);
  EXPECT_TRUE(after_a_minute()) << "an option";
  LeaseRequest lease;
  lease.queues = {"q"};
  lease.wait = true;
  lease.block = Seconds(100);
  bool done = false;
  world_.Start(&lease, &done, 1);
  world_.Settle();
  SetAttempts(std::nullopt);
  EXPECT_TRUE(after_a_minute()) << "a LEASE that waits";
  world_.Advance(Seconds(40));
  world_.Settle();
  EXPECT_TRUE(done);
  EXPECT_FALSE(after_a_minute());
  Put([](EnqueueRequest* r) {
    r->keep = Seconds(200);
    r->unique_key = "k";
    r->unique_window = Seconds(400);
  });
  EXPECT_TRUE(world_.Complete(world_.Lease("q").at(0).receipt).ok());
  EXPECT_TRUE(after_a_minute()) << "a kept result";
  world_.Advance(Seconds(150));
  world_.Settle();
  EXPECT_TRUE(after_a_minute()) << "an open window";
  world_.Advance(Seconds(150));
  world_.Settle();
  EXPECT_FALSE(after_a_minute());
  ExpectClean();
  EXPECT_EQ(world_.last_report().unique_keys, 0u);
}

TEST_F(Drop, AnEmptyQueueVanishesAfterARestartToo) {
  Put();
  EXPECT_TRUE(world_.Complete(world_.Lease("q").at(0).receipt).ok());
  ExpectClean();
  EXPECT_TRUE(Exists());
  world_.Advance(Seconds(61));
  world_.Settle();
  EXPECT_FALSE(Exists());
  world_.Settle();
  for (uint16_t core = 0; core < kCores; ++core)
    EXPECT_EQ(world_.core(core)->UntilDue(), Duration::Max()) << "an idle core sleeps";
  ExpectClean();
}

// No job is lost with its queue's row, whenever it comes.
TEST_F(Drop, AJobThatComesWhileItsQueueVanishes) {
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    World world(Options(seed));
    world.Open();
    world.Enqueue("q", "x");
    EXPECT_TRUE(world.Complete(world.Lease("q").at(0).receipt).ok());
    world.Advance(Seconds(61));
    for (uint64_t step = 0; step < seed; ++step) world.Step();
    EnqueueRequest put;
    put.queue = "q";
    put.payload = "y";
    if (seed % 3 == 0) put.unique_key = "k";
    bool done = false;
    world.Start(&put, &done, static_cast<uint16_t>(seed % kCores));
    while (!done) world.Step();
    if (seed % 2 == 0) {
      world.Settle();
    } else {
      world.PowerCut(CrashMode::kLoseUnsynced);
      EXPECT_THAT(world.CheckOffline(), IsEmpty()) << seed;
      world.Open();
    }
    world.Settle();
    EXPECT_THAT(world.Lease("q"), SizeIs(1)) << seed;
    EXPECT_THAT(world.Violations(), IsEmpty()) << seed;
  }
}

}  // namespace
}  // namespace vestq
