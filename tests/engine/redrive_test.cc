// REDRIVE: dead letters live again, one, some or all, at a rate, in the same queue or in another; with
// restarts and power cuts in between.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "keycodec/keys.h"
#include "tests/engine/world_fixture.h"

namespace vestq {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

WorldOptions Cores(uint16_t cores, uint64_t seed = 1) { return WorldOf(cores, 7, seed); }

class Redrive : public ::testing::Test {
 protected:
  explicit Redrive() : world_(Cores(3)) { world_.Open(); }

  static JobId PutDead(World* world, const std::string& payload, const std::string& space = "",
                       uint32_t attempts = 3) {
    EnqueueRequest request;
    request.queue = "q";
    request.space = space;
    request.payload = payload;
    request.attempts_set = true;
    request.attempts = attempts;
    world->Run(&request, static_cast<uint16_t>(payload.size() % 3));
    FailRequest fail;
    fail.receipt = world->Lease("q", 1).at(0).receipt;
    fail.reason = "bad " + payload;
    fail.to_dead = true;
    world->Run(&fail);
    world->Advance(Milliseconds(2));
    return request.id;
  }
  uint64_t Run(const std::function<void(RedriveRequest*)>& set) {
    RedriveRequest request;
    request.queue = "q";
    set(&request);
    world_.Run(&request, 1);
    error_ = request.error;
    return request.redriven;
  }
  uint64_t All() {
    return Run([](RedriveRequest*) {});
  }
  JobRequest& Job(JobId id) {
    job_ = std::make_unique<JobRequest>();
    job_->id = id;
    job_->want_payload = true;
    world_.Run(job_.get());
    return *job_;
  }
  void ExpectCounts(const std::string& queue, int64_t ready, int64_t scheduled, int64_t dead,
                    int64_t bytes) {
    const QueueCounts counts = world_.Counts(queue);
    EXPECT_EQ(counts.ready, ready);
    EXPECT_EQ(counts.scheduled, scheduled);
    EXPECT_EQ(counts.dead, dead);
    EXPECT_EQ(counts.bytes, bytes);
  }

  World world_;
  Error error_;
  std::unique_ptr<JobRequest> job_;
};

TEST_F(Redrive, OneJobHasAllItsAttemptsAgainAndKeepsItsLastError) {
  const JobId id = PutDead(&world_, "x");
  EXPECT_EQ(Run([id](RedriveRequest* r) { r->id = id; }), 1u);
  EXPECT_EQ(Job(id).state, JobState::kReady);
  EXPECT_EQ(Job(id).last_error, "bad x");
  EXPECT_EQ(Job(id).attempt, 0u);
  ExpectCounts("q", 1, 0, 0, 1);
  EXPECT_THAT(world_.Violations(), IsEmpty());
  for (uint32_t attempt = 1; attempt <= 3; ++attempt) {
    const auto jobs = world_.Lease("q", 1);
    ASSERT_THAT(jobs, SizeIs(1)) << attempt;
    EXPECT_EQ(jobs[0].attempt, attempt);
    FailRequest fail;
    fail.receipt = jobs[0].receipt;
    fail.delay_set = true;
    world_.Run(&fail);
    EXPECT_EQ(fail.dead, attempt == 3);
  }
  EXPECT_EQ(Job(id).last_error, "bad x") << "no reason was given since";
  EXPECT_EQ(All(), 1u);
  EXPECT_THAT(world_.Lease("q", 1), SizeIs(1));
  EXPECT_THAT(world_.Violations(), IsEmpty());
}

TEST_F(Redrive, SaysWhyOneJobIsNotRedriven) {
  PutDead(&world_, "x");
  const JobId ready = world_.Enqueue("q", "y");
  Run([ready](RedriveRequest* r) { r->id = ready; });
  EXPECT_EQ(error_.code(), ErrorCode::kBusy);
  EXPECT_THAT(error_.text(), HasSubstr("is ready"));
  world_.Lease("q", 1);
  Run([ready](RedriveRequest* r) { r->id = ready; });
  EXPECT_THAT(error_.text(), HasSubstr("is leased"));
  Run([](RedriveRequest* r) { r->id = JobId(4711 * 7); });
  EXPECT_EQ(error_.code(), ErrorCode::kNotFound);
  const JobId other = world_.Enqueue("other", "y");
  Run([other](RedriveRequest* r) { r->id = other; });
  EXPECT_EQ(error_.code(), ErrorCode::kNotFound) << "it is in another queue";
  Run([](RedriveRequest* r) { r->queue = "none"; });
  EXPECT_EQ(error_.code(), ErrorCode::kNotFound);
  ExpectCounts("q", 0, 0, 1, 2);
}

TEST_F(Redrive, CountTakesTheOldestAndAllTheRest) {
  std::vector<JobId> dead;
  for (int i = 0; i < 12; ++i) dead.push_back(PutDead(&world_, std::string(i + 1u, 'x')));
  EXPECT_EQ(Run([](RedriveRequest* r) { r->count = 5; }), 5u);
  for (size_t i = 0; i < dead.size(); ++i)
    EXPECT_EQ(world_.State(dead[i]), i < 5 ? JobState::kReady : JobState::kDead) << i;
  EXPECT_THAT(world_.Violations(), IsEmpty());
  EXPECT_EQ(All(), 7u);
  EXPECT_EQ(All(), 0u);
  ExpectCounts("q", 12, 0, 0, 78);
  EXPECT_THAT(world_.Lease("q", 100), SizeIs(12));
  EXPECT_THAT(world_.Violations(), IsEmpty());
}

TEST_F(Redrive, ManySlicesAreOneCommand) {
  EnqueueManyRequest many;
  many.job.queue = "q";
  many.payloads.assign(1000, "x");
  for (uint16_t core = 0; core < 3; ++core) world_.Run(&many, core);
  std::vector<std::unique_ptr<FailRequest>> fails;
  for (int round = 0; round < 3; ++round) {
    for (const LeasedJob& job : world_.Lease("q", 1000)) {
      fails.push_back(std::make_unique<FailRequest>());
      fails.back()->receipt = job.receipt;
      fails.back()->to_dead = true;
      bool done = false;
      world_.Start(fails.back().get(), &done);
      world_.core(0)->Turn();
      if (fails.size() % 100 == 0) world_.Settle();
    }
  }
  world_.Settle();
  ExpectCounts("q", 0, 0, 3000, 3000);
  EXPECT_EQ(Run([](RedriveRequest* r) { r->count = 1700; }), 1700u);
  ExpectCounts("q", 1700, 0, 1300, 3000);
  EXPECT_EQ(All(), 1300u);
  ExpectCounts("q", 3000, 0, 0, 3000);
  EXPECT_THAT(world_.Violations(), IsEmpty());
}

TEST_F(Redrive, ARateSpreadsThemOverTime) {
  for (int i = 0; i < 10; ++i) PutDead(&world_, std::string(i + 1u, 'x'));
  EXPECT_EQ(Run([](RedriveRequest* r) { r->rate = 2; }), 10u);
  ExpectCounts("q", 0, 10, 0, 55);
  EXPECT_THAT(world_.Violations(), IsEmpty());
  for (int k = 1; k <= 10; ++k) {
    world_.Advance(Milliseconds(499));
    world_.Settle();
    EXPECT_THAT(world_.Lease("q", 10), IsEmpty()) << k;
    world_.Advance(Milliseconds(1));
    world_.Settle();
    const auto jobs = world_.Lease("q", 10);
    ASSERT_THAT(jobs, SizeIs(1)) << k;
    EXPECT_EQ(jobs[0].payload.size(), static_cast<size_t>(k)) << "oldest first";
  }
}

TEST_F(Redrive, ToAnotherQueueMovesAllOfTheJob) {
  std::vector<JobId> plain, spaced;
  for (int i = 0; i < 6; ++i) plain.push_back(PutDead(&world_, std::string(i + 1u, 'p')));
  for (int i = 0; i < 6; ++i) {
    spaced.push_back(PutDead(&world_, std::string(i + 1u, 's'), "space-" + std::to_string(i)));
  }
  EXPECT_EQ(Run([](RedriveRequest* r) { r->to = "r"; }), 12u);
  world_.Settle();
  EXPECT_THAT(world_.Violations(), IsEmpty());
  ExpectCounts("q", 0, 0, 0, 0);
  ExpectCounts("r", 12, 0, 0, 42);
  for (JobId id : plain) EXPECT_EQ(Job(id).queue, "r") << "its id stays";
  size_t moved = 0;
  for (size_t i = 0; i < spaced.size(); ++i) {
    const bool stays = keycodec::LaneOfSpace("r", "space-" + std::to_string(i), 7).value() ==
                       spaced[i].value() % 7;
    EXPECT_EQ(Job(spaced[i]).state, stays ? JobState::kReady : JobState::kGone);
    moved += stays ? 0 : 1;
  }
  EXPECT_GT(moved, 0u);
  std::multiset<std::string> payloads;
  for (const LeasedJob& job : world_.Lease("r", 100)) {
    payloads.emplace(job.payload);
    EXPECT_EQ(job.attempt, 1u);
    EXPECT_EQ(job.attempts, 3u);
    EXPECT_EQ(job.space.empty(), job.payload[0] == 'p');
    EXPECT_EQ(Job(job.receipt.id).last_error, "bad " + std::string(job.payload));
    if (job.payload[0] == 's') {
      EXPECT_EQ(keycodec::LaneOfSpace("r", job.space, 7).value(), job.receipt.id.value() % 7);
    }
    EXPECT_TRUE(world_.Complete(job.receipt).ok());
  }
  EXPECT_THAT(payloads, SizeIs(12));
  ExpectCounts("r", 0, 0, 0, 0);
  EXPECT_THAT(world_.Violations(), IsEmpty());
}

// At any moment the power may go: a job is dead in the one queue or lives in the other, once.
TEST_F(Redrive, APowerCutLeavesEachJobOnce) {
  int moved = 0, stayed = 0;
  for (uint64_t seed = 1; seed <= 80; ++seed) {
    World world(Cores(3, seed));
    world.Open();
    for (int i = 0; i < 9; ++i)
      PutDead(&world, std::string(i + 1u, 'x'), i % 3 == 0 ? "" : "s" + std::to_string(i));
    RedriveRequest request;
    request.queue = "q";
    request.to = seed % 2 == 0 ? "r" : "";
    bool done = false;
    world.Start(&request, &done, static_cast<uint16_t>(seed % 3));
    for (uint64_t i = world.random().Below(60); i > 0; --i) world.Step();
    world.PowerCut(seed % 3 == 0 ? CrashMode::kTorn : CrashMode::kLoseUnsynced);
    world.Boot(Seconds(1));
    EXPECT_THAT(world.CheckOffline(), IsEmpty()) << "seed " << seed;
    world.Open();
    world.Settle();
    EXPECT_EQ(world.discipline_breach(), "");
    const int64_t dead = world.Counts("q").dead;
    const auto alive = world.Lease(seed % 2 == 0 ? "r" : "q", 100);
    EXPECT_EQ(dead + static_cast<int64_t>(alive.size()), 9) << "seed " << seed;
    if (done) {
      EXPECT_EQ(dead, 0) << "seed " << seed;
    }
    std::set<size_t> sizes;
    for (const LeasedJob& job : alive) sizes.insert(job.payload.size());
    EXPECT_THAT(sizes, SizeIs(alive.size()));
    moved += static_cast<int>(alive.size());
    stayed += static_cast<int>(dead);
  }
  EXPECT_GT(moved, 50);
  EXPECT_GT(stayed, 50);
}

TEST_F(Redrive, AHeldUniqueKeyKeepsAJobAmongTheDead) {
  auto put = [this](const std::string& payload) {
    EnqueueRequest request;
    request.queue = "q";
    request.payload = payload;
    request.unique_key = "k";
    world_.Run(&request, 2);
    EXPECT_TRUE(request.error.ok());
    EXPECT_EQ(request.added, payload != "refused") << payload;
    return request.id;
  };
  auto kill = [this] {
    FailRequest fail;
    fail.receipt = world_.Lease("q", 1).at(0).receipt;
    fail.to_dead = true;
    world_.Run(&fail);
  };
  const JobId first = put("first");
  kill();
  world_.Advance(Milliseconds(5));
  const JobId second = put("second");
  Run([first](RedriveRequest* r) { r->id = first; });
  EXPECT_EQ(error_.code(), ErrorCode::kBusy);
  EXPECT_THAT(error_.text(), HasSubstr("holds the unique key"));
  EXPECT_EQ(All(), 0u);
  EXPECT_TRUE(error_.ok());
  kill();
  // Both are dead: the first of them takes the key, the other one stays.
  EXPECT_EQ(All(), 1u);
  EXPECT_EQ(world_.State(first), JobState::kReady);
  EXPECT_EQ(world_.State(second), JobState::kDead);
  EXPECT_EQ(put("refused"), first);
  EXPECT_THAT(world_.Violations(), IsEmpty());
  // In another queue the key does not hold.
  EXPECT_EQ(Run([](RedriveRequest* r) { r->to = "r"; }), 1u);
  EXPECT_THAT(world_.Violations(), IsEmpty());
  EXPECT_EQ(world_.Lease("r", 1).at(0).receipt.id, second);
  EXPECT_TRUE(world_.Complete(world_.Lease("q", 1).at(0).receipt).ok());
  put("third");
  EXPECT_THAT(world_.Violations(), IsEmpty());
}

TEST_F(Redrive, ACheckpointComesWithTheNextLeaseAndExpireNoLongerHolds) {
  EnqueueRequest request;
  request.queue = "q";
  request.payload = "p";
  request.type = "t";
  request.expire = Seconds(10);
  world_.Run(&request);
  CheckpointRequest checkpoint;
  checkpoint.receipt = world_.Lease("q", 1).at(0).receipt;
  checkpoint.checkpoint = "half";
  world_.Run(&checkpoint);
  FailRequest fail;
  fail.receipt = checkpoint.receipt;
  fail.to_dead = true;
  world_.Run(&fail);
  EXPECT_EQ(All(), 1u);
  EXPECT_THAT(world_.Violations(), IsEmpty());
  world_.Advance(Hours(1));
  world_.Settle();
  const auto jobs = world_.Lease("q", 1);
  ASSERT_THAT(jobs, SizeIs(1));
  EXPECT_EQ(jobs[0].checkpoint, "half");
  EXPECT_EQ(jobs[0].type, "t");
  EXPECT_EQ(jobs[0].attempt, 1u);
  EXPECT_TRUE(world_.Complete(jobs[0].receipt).ok());
  EXPECT_THAT(world_.Violations(), IsEmpty());
}

TEST_F(Redrive, TwoAtOnceTakeEachJobOnce) {
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    World world(Cores(3, seed));
    world.Open();
    for (int i = 0; i < 20; ++i) PutDead(&world, std::string(i + 1u, 'x'), i % 2 == 0 ? "" : "s");
    RedriveRequest requests[2];
    bool done[2] = {};
    for (uint16_t i = 0; i < 2; ++i) {
      requests[i].queue = "q";
      requests[i].to = i == 0 ? "" : "r";
      world.Start(&requests[i], &done[i], i);
    }
    for (int i = 0; i < 2000 && !(done[0] && done[1]); ++i) world.Step();
    world.Settle();
    EXPECT_TRUE(done[0] && done[1]);
    EXPECT_EQ(requests[0].redriven + requests[1].redriven, 20u);
    EXPECT_EQ(world.Counts("q").ready, static_cast<int64_t>(requests[0].redriven));
    EXPECT_EQ(world.Counts("r").ready, static_cast<int64_t>(requests[1].redriven));
    EXPECT_THAT(world.Violations(), IsEmpty()) << "seed " << seed;
  }
}

}  // namespace
}  // namespace vestq
