// WAITFOR: what ends it, wherever it is asked; and KEEP 0.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/purge_request.h"
#include "engine/watch_request.h"
#include "tests/engine/world_fixture.h"

namespace vestq {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

WorldOptions ThreeCores() { return WorldOf(3, 6); }

class WaitFor : public ::testing::Test {
 protected:
  WaitFor() : world_(ThreeCores()) { world_.Open(); }

  JobId Put(const Setter<EnqueueRequest>& set = {}) { return PutJob(&world_, set); }
  void Start(JobId id, uint16_t core = 0, Duration block = Duration(0)) {
    request_.id = id;
    request_.wait = true;
    request_.block = block;
    world_.Start(&request_, &done_, core);
    world_.Settle();
  }
  Receipt Take() {
    auto jobs = world_.Lease("q", 1);
    EXPECT_THAT(jobs, SizeIs(1));
    return jobs.at(0).receipt;
  }

  World world_;
  WaitForRequest request_;
  bool done_ = false;
};

TEST_F(WaitFor, EveryEndOfAJobEndsItAndNothingElseDoes) {
  struct Case {
    std::string name;
    std::function<void(EnqueueRequest*)> put;
    std::function<void(JobId)> end;
    JobState state;
  };
  const auto nothing = [](EnqueueRequest*) {};
  const Case cases[] = {
      {"complete", nothing, [&](JobId) { EXPECT_TRUE(world_.Complete(Take()).ok()); },
       JobState::kGone},
      {"complete, kept", [](EnqueueRequest* r) { r->keep = Seconds(9); },
       [&](JobId) {
         CompleteRequest complete;
         complete.receipt = Take();
         complete.result = "42";
         world_.Run(&complete);
       },
       JobState::kDone},
      {"dead", nothing,
       [&](JobId) {
         FailRequest fail;
         fail.receipt = Take();
         fail.reason = "bad";
         fail.to_dead = true;
         world_.Run(&fail);
       },
       JobState::kDead},
      {"the last attempt expires",
       [](EnqueueRequest* r) { r->attempts = 1, r->attempts_set = true; },
       [&](JobId) {
         Take();
         world_.Advance(Seconds(31));
         world_.Settle();
       },
       JobState::kDead},
      {"cancelled while ready", nothing,
       [&](JobId id) {
         CancelRequest cancel;
         cancel.id = id;
         world_.Run(&cancel);
       },
       JobState::kGone},
      {"cancelled while leased", nothing,
       [&](JobId id) {
         Take();
         CancelRequest cancel;
         cancel.id = id;
         world_.Run(&cancel);
       },
       JobState::kGone},
      {"lapsed", [](EnqueueRequest* r) { r->expire = Seconds(2); },
       [&](JobId) {
         world_.Advance(Seconds(3));
         world_.Settle();
       },
       JobState::kGone},
      {"scheduled, failed once, then done",
       [](EnqueueRequest* r) { r->when = EnqueueRequest::When::kDelay, r->delay = Seconds(5); },
       [&](JobId) {
         world_.Advance(Seconds(5));
         world_.Settle();
         EXPECT_FALSE(done_);
         FailRequest fail;
         fail.receipt = Take();
         fail.delay_set = true;
         fail.delay = Seconds(1);
         world_.Run(&fail);
         EXPECT_FALSE(done_) << "a retry is no end";
         world_.Advance(Seconds(1));
         world_.Settle();
         EXPECT_TRUE(world_.Complete(Take()).ok());
       },
       JobState::kGone},
  };
  for (const Case& c : cases) {
    for (uint16_t core = 0; core < 3; ++core) {
      SCOPED_TRACE(c.name + " on core " + std::to_string(core));
      const JobId id = Put(c.put);
      Start(id, core);
      EXPECT_FALSE(done_);
      c.end(id);
      world_.Settle();
      ASSERT_TRUE(done_);
      EXPECT_TRUE(request_.error.ok());
      EXPECT_TRUE(request_.ended);
      EXPECT_EQ(request_.state, c.state);
      if (c.state == JobState::kDone) {
        EXPECT_EQ(request_.result, "42");
      }
      CancelRequest cancel;
      cancel.id = id;
      world_.Run(&cancel);
    }
  }
  EXPECT_THAT(world_.Violations(), IsEmpty());
}

TEST_F(WaitFor, LooksOnceWithoutBlock) {
  const JobId id = Put();
  WaitForRequest look;
  look.id = id;
  world_.Run(&look, 2);
  EXPECT_FALSE(look.ended);
  EXPECT_TRUE(world_.Complete(Take()).ok());
  world_.Run(&look, 2);
  EXPECT_TRUE(look.ended);
  EXPECT_EQ(look.state, JobState::kGone);
  WaitForRequest never;
  never.id = JobId(4711);
  world_.Run(&never);
  EXPECT_TRUE(never.ended) << "a job that never was is gone";
}

TEST_F(WaitFor, EndsAfterItsTimeAndWhenAbandoned) {
  for (uint16_t core = 0; core < 3; ++core) {
    const JobId id = Put();
    Start(id, core, Seconds(5));
    world_.Advance(Milliseconds(4999));
    world_.Settle();
    EXPECT_FALSE(done_);
    world_.Advance(Milliseconds(1));
    world_.Settle();
    EXPECT_TRUE(done_);
    EXPECT_FALSE(request_.ended);

    Start(id, core);
    EXPECT_FALSE(done_);
    world_.core(core)->Abandon(&request_);
    world_.Settle();
    EXPECT_TRUE(done_);
    EXPECT_FALSE(request_.ended);
    // Abandoned behind another one in its stream: it does not wait when its turn comes.
    Stream stream;
    WaitForRequest first;
    first.id = id;
    first.wait = true;
    bool first_done = false;
    world_.Start(&first, &first_done, core, &stream);
    world_.Start(&request_, &done_, core, &stream);
    world_.Settle();
    world_.core(core)->Abandon(&request_);
    world_.core(core)->Abandon(&first);
    world_.Settle();
    EXPECT_TRUE(first_done);
    EXPECT_TRUE(done_);
    EXPECT_FALSE(request_.ended);
  }
}

TEST_F(WaitFor, AnswersOnlyWhenTheEndIsDurable) {
  const JobId id = Put();
  const Receipt receipt = Take();
  Start(id, 0);
  CompleteRequest complete;
  complete.receipt = receipt;
  bool completed = false;
  world_.Start(&complete, &completed);
  // All but the sync.
  for (int i = 0; i < 50; ++i) {
    for (uint16_t core = 0; core < 3; ++core) world_.core(core)->Turn();
    world_.engine()->WriteDrain();
    world_.engine()->RunRead();
  }
  EXPECT_FALSE(completed);
  EXPECT_FALSE(done_);
  world_.Settle();
  EXPECT_TRUE(completed);
  EXPECT_TRUE(done_);
}

TEST_F(WaitFor, ManyWaitForOneJob) {
  const JobId id = Put();
  constexpr size_t kMany = 300;
  std::vector<std::unique_ptr<WaitForRequest>> requests;
  const auto done = std::make_unique<bool[]>(kMany);
  for (size_t i = 0; i < kMany; ++i) {
    requests.push_back(std::make_unique<WaitForRequest>());
    requests[i]->id = id;
    requests[i]->wait = true;
    world_.Start(requests[i].get(), &done[i], static_cast<uint16_t>(i % 3));
  }
  world_.Settle();
  EXPECT_TRUE(world_.Complete(Take()).ok());
  world_.Settle();
  for (size_t i = 0; i < kMany; ++i) EXPECT_TRUE(done[i] && requests[i]->ended) << i;
}

// What is behind the first in its stream runs when that has its answer, and the second has its own.
TEST(TwoWaitFors, TheQueueMayBeDroppedBehindOne) {
  World world(WorldOf(1));
  world.Open();
  const JobId id = PutJob(
      &world, [](EnqueueRequest* job) { job->keep = Seconds(9); }, 0);
  Stream stream;
  WaitForRequest waits[2];
  PurgeRequest drop;
  bool done[3] = {};
  for (WaitForRequest& wait : waits) {
    wait.id = id;
    wait.wait = true;
  }
  drop.queue = "q";
  drop.drop = true;
  world.Start(&waits[0], &done[0], 0, &stream);
  world.Start(&drop, &done[1], 0, &stream);
  world.Start(&waits[1], &done[2]);
  world.Settle();
  const auto jobs = world.Lease("q");
  ASSERT_THAT(jobs, SizeIs(1));
  EXPECT_TRUE(world.Complete(jobs[0].receipt).ok());
  world.Settle();
  ASSERT_TRUE(done[0] && done[1] && done[2]);
  for (const WaitForRequest& wait : waits) {
    EXPECT_EQ(wait.state, JobState::kDone);
    EXPECT_EQ(wait.queue, "q");
  }
}

TEST_F(WaitFor, RandomEndsAbandonsAndTimeoutsAreAllAnswered) {
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    WorldOptions options = ThreeCores();
    options.seed = seed;
    World world(options);
    world.Open();
    constexpr int kJobs = 12;
    EnqueueRequest puts[kJobs];
    bool put[kJobs] = {}, waited[kJobs] = {}, cancelled[kJobs] = {};
    WaitForRequest waits[kJobs];
    CancelRequest cancels[kJobs];
    for (int i = 0; i < kJobs; ++i) {
      puts[i].queue = "q";
      world.Start(&puts[i], &put[i], static_cast<uint16_t>(world.random().Below(3)));
    }
    world.Settle();
    std::vector<uint16_t> cores(kJobs);
    for (int i = 0; i < kJobs; ++i) {
      waits[i].id = cancels[i].id = puts[i].id;
      waits[i].wait = true;
      waits[i].block = world.random().Chance(0.3) ? Seconds(1) : Duration(0);
      cores[static_cast<size_t>(i)] = static_cast<uint16_t>(world.random().Below(3));
      world.Start(&waits[i], &waited[i], cores[static_cast<size_t>(i)]);
      for (int k = 0; k < 3; ++k) world.Step();
    }
    for (int i = 0; i < kJobs; ++i) {
      if (world.random().Chance(0.5)) {
        world.Start(&cancels[i], &cancelled[i], static_cast<uint16_t>(world.random().Below(3)));
      }
      for (uint64_t k = world.random().Below(6); k > 0; --k) world.Step();
      if (!waited[i] && world.random().Chance(0.7))
        world.core(cores[static_cast<size_t>(i)])->Abandon(&waits[i]);
      else if (!waited[i] && waits[i].block == Duration(0) && cancels[i].origin == CoreId())
        world.core(cores[static_cast<size_t>(i)])->Abandon(&waits[i]);
    }
    world.Advance(Seconds(2));
    while (world.Step()) {
    }
    for (int i = 0; i < kJobs; ++i) {
      if (waited[i]) continue;
      // Neither cancelled, abandoned nor timed out: still there to be ended.
      world.core(cores[static_cast<size_t>(i)])->Abandon(&waits[i]);
      world.Settle();
      EXPECT_TRUE(waited[i]) << "seed " << seed << " job " << i;
    }
  }
}

// --- KEEP 0 ---

TEST_F(WaitFor, KeepZeroOverridesTheQueuesKeep) {
  QueueSetRequest set;
  set.queue = "q";
  set.set.keep = Seconds(60);
  world_.Run(&set);
  const JobId kept = Put();
  EXPECT_TRUE(world_.Complete(Take()).ok());
  EXPECT_EQ(world_.State(kept), JobState::kDone);
  const JobId not_kept = Put([](EnqueueRequest* r) { r->keep = Duration(0); });
  EXPECT_THAT(world_.Violations(), IsEmpty());  // also across a restart
  EXPECT_TRUE(world_.Complete(Take()).ok());
  EXPECT_EQ(world_.State(not_kept), JobState::kGone);
  EXPECT_THAT(world_.Violations(), IsEmpty());
}

}  // namespace
}  // namespace vestq
