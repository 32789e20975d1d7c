// Dead letters are kept so long and so many: the oldest go, counted, in slices and by themselves.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/engine/world_fixture.h"

namespace vestq {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

class Retention : public ::testing::TestWithParam<uint16_t> {
 protected:
  Retention() : world_(Options()) { world_.Open(); }

  static WorldOptions Options() { return WorldOf(GetParam()); }
  void Set(const std::function<void(QueueOptions*)>& set) {
    QueueSetRequest request;
    request.queue = "q";
    set(&request.set);
    world_.Run(&request);
    EXPECT_TRUE(request.error.ok());
  }
  // Dies as the next one of all, a little later than the one before.
  JobId Die(const std::string& space = "") {
    world_.Advance(Milliseconds(3));
    const auto core = static_cast<uint16_t>(next_++ % GetParam());
    const JobId id = world_.Enqueue("q", "payload", space, core);
    FailRequest fail;
    fail.receipt = world_.Lease("q", 1).at(0).receipt;
    fail.to_dead = true;
    fail.reason = "bad";
    world_.Run(&fail, core);
    world_.Settle();
    return id;
  }
  // All at once.
  void Many(size_t count) {
    while (count > 0) {
      EnqueueManyRequest many;
      many.job.queue = "q";
      many.payloads.assign(std::min<size_t>(count, 500), "payload");
      count -= many.payloads.size();
      world_.Run(&many, static_cast<uint16_t>(next_++ % GetParam()));
      const auto jobs = world_.Lease("q", 500);
      std::vector<std::unique_ptr<FailRequest>> fails;
      for (const LeasedJob& job : jobs) {
        auto fail = std::make_unique<FailRequest>();
        fail->receipt = job.receipt;
        fail->to_dead = true;
        fail->done = [](Request*, void*) {};
        world_.core(0)->Start(fail.get());
        fails.push_back(std::move(fail));
      }
      world_.Settle();
    }
  }
  void ExpectDead(int64_t dead, int64_t dropped) {
    const QueueCounts counts = world_.Counts("q");
    EXPECT_EQ(counts.dead, dead);
    EXPECT_EQ(counts.dropped, dropped);
    EXPECT_EQ(counts.bytes, dead * 7);
  }

  World world_;
  uint64_t next_ = 0;
};

TEST_P(Retention, TheOldestGoWhenThereAreTooMany) {
  Set([](QueueOptions* o) { o->dead_max = 5; });
  std::vector<JobId> ids;
  for (int i = 0; i < 12; ++i) {
    ids.push_back(Die(i % 3 == 0 ? "acme" : ""));
    const int64_t dead = std::min(i + 1, 5);
    ExpectDead(dead, i + 1 - dead);
  }
  for (size_t i = 0; i < ids.size(); ++i)
    EXPECT_EQ(world_.State(ids[i]), i < 7 ? JobState::kGone : JobState::kDead) << i;
  EXPECT_THAT(world_.Violations(), IsEmpty());
  ExpectDead(5, 7);
}

TEST_P(Retention, TheyGoWhenTheirTimeIsOver) {
  Set([](QueueOptions* o) { o->dead_keep = Hours(1); });
  const JobId first = Die();
  world_.Advance(Seconds(1800));
  world_.Settle();
  const JobId second = Die();
  world_.Advance(Seconds(1799));
  world_.Settle();
  EXPECT_EQ(world_.State(first), JobState::kDead);
  world_.Advance(Seconds(2));
  world_.Settle();
  EXPECT_EQ(world_.State(first), JobState::kGone);
  EXPECT_EQ(world_.State(second), JobState::kDead);
  ExpectDead(1, 1);
  // Also when the time is over while the store is closed.
  world_.Kill();
  EXPECT_THAT(world_.CheckOffline(), IsEmpty());
  world_.clock().boottime_ms += Hours(2).ms();
  world_.clock().wall_ms += Hours(2).ms();
  world_.Open();
  world_.Settle();
  EXPECT_EQ(world_.State(second), JobState::kGone);
  ExpectDead(0, 2);
  EXPECT_THAT(world_.Violations(), IsEmpty());
  // The queue is looked after again from its next death on.
  const JobId third = Die();
  world_.Advance(Hours(2));
  world_.Settle();
  EXPECT_EQ(world_.State(third), JobState::kGone);
}

TEST_P(Retention, EachTimeAfterNothingWasDead) {
  Set([](QueueOptions* set) { set->dead_keep = Milliseconds(500); });
  for (int i = 1; i <= 12; ++i) {
    Die("space" + std::to_string(i));
    ExpectDead(1, i - 1);
    world_.Advance(Milliseconds(600));
    world_.Settle();
    ExpectDead(0, i);
  }
}

TEST_P(Retention, ByDefaultHalfAYear) {
  const JobId id = Die();
  world_.Advance(Days(180) - Seconds(1));
  world_.Settle();
  EXPECT_EQ(world_.State(id), JobState::kDead);
  world_.Advance(Seconds(2));
  world_.Settle();
  EXPECT_EQ(world_.State(id), JobState::kGone);
}

TEST_P(Retention, ManyGoInSlicesWhenAnOptionChanges) {
  Many(3000);
  ExpectDead(3000, 0);
  Set([](QueueOptions* o) { o->dead_max = 100; });
  world_.Settle();
  ExpectDead(100, 2900);
  EXPECT_THAT(world_.Violations(), IsEmpty());
  Set([](QueueOptions* o) { o->dead_max = 0; });
  world_.Settle();
  ExpectDead(0, 3000);
  Many(10);
  ExpectDead(0, 3010);
  EXPECT_THAT(world_.Violations(), IsEmpty());
}

TEST_P(Retention, WhatIsRedrivenMeanwhileIsNotDropped) {
  Set([](QueueOptions* o) { o->dead_keep = Hours(1); });
  for (int i = 0; i < 20; ++i) Die(i % 2 == 0 ? "acme" : "");
  world_.Advance(Hours(1));
  RedriveRequest redrive;
  redrive.queue = "q";
  redrive.count = 10;
  bool done = false;
  world_.Start(&redrive, &done);
  for (int i = 0; i < 20; ++i) world_.Step();
  world_.Settle();
  ASSERT_TRUE(done);
  const QueueCounts counts = world_.Counts("q");
  EXPECT_EQ(counts.ready, static_cast<int64_t>(redrive.redriven));
  EXPECT_EQ(counts.ready + counts.dead + counts.dropped, 20);
  EXPECT_EQ(counts.dead, 0);
  EXPECT_THAT(world_.Violations(), IsEmpty());
}

TEST_P(Retention, APowerCutLeavesCountersThatAgree) {
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    WorldOptions options = Options();
    options.seed = seed;
    World world(options);
    world.Open();
    QueueSetRequest set;
    set.queue = "q";
    set.set.dead_max = 3;
    world.Run(&set);
    std::vector<std::unique_ptr<FailRequest>> fails;
    for (int i = 0; i < 12; ++i) world.Enqueue("q", "payload");
    for (const LeasedJob& job : world.Lease("q", 12)) {
      fails.push_back(std::make_unique<FailRequest>());
      fails.back()->receipt = job.receipt;
      fails.back()->to_dead = true;
      fails.back()->done = [](Request*, void*) {};
      world.core(0)->Start(fails.back().get());
    }
    for (uint64_t i = world.random().Below(80); i > 0; --i) world.Step();
    world.PowerCut(seed % 2 == 0 ? CrashMode::kTorn : CrashMode::kLoseUnsynced);
    world.Boot(Seconds(1));
    EXPECT_THAT(world.CheckOffline(), IsEmpty()) << "seed " << seed;
    world.Open();
    world.Settle();
    const QueueCounts counts = world.Counts("q");
    EXPECT_LE(counts.dead, 3) << "seed " << seed;
    EXPECT_EQ(counts.dead + counts.dropped, counts.died) << "seed " << seed;
    EXPECT_THAT(world.Violations(), IsEmpty()) << "seed " << seed;
  }
}

INSTANTIATE_TEST_SUITE_P(Cores, Retention, ::testing::Values<uint16_t>(1, 3),
                         [](const auto& p) { return std::to_string(p.param) + "_cores"; });

}  // namespace
}  // namespace vestq
