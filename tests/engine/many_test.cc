// ENQUEUEMANY and WORKERS.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/engine/world_fixture.h"

namespace vestq {
namespace {

using ::testing::ElementsAreArray;
using ::testing::IsEmpty;
using ::testing::SizeIs;

WorldOptions Cores(uint16_t cores) { return WorldOf(cores); }

std::vector<JobId> Many(World* world, size_t count, const std::string& space = "",
                        uint16_t core = 0, Duration delay = Duration(0)) {
  EnqueueManyRequest request;
  request.job.queue = "q";
  request.job.space = space;
  request.job.priority = 9;
  if (delay > Duration(0)) {
    request.job.when = EnqueueRequest::When::kDelay;
    request.job.delay = delay;
  }
  for (size_t i = 0; i < count; ++i) request.payloads.push_back("p" + std::to_string(i));
  world->Run(&request, core);
  EXPECT_TRUE(request.error.ok()) << request.error.ToString();
  return request.ids;
}

TEST(EnqueueMany, JobsComeInTheOrderOfTheirPayloadsFromOneLane) {
  World world(Cores(3));
  world.Open();
  for (const char* space : {"", "acme"}) {
    const std::vector<JobId> ids = Many(&world, 1000, space, 1);
    ASSERT_THAT(ids, SizeIs(1000));
    for (JobId id : ids) EXPECT_EQ(id.value() % 7, ids[0].value() % 7);
    EXPECT_EQ(world.Counts("q").ready, 1000);
    std::vector<JobId> leased;
    for (size_t i = 0; const LeasedJob& job : world.Lease("q", 1000, Duration(0), 2)) {
      EXPECT_EQ(job.payload, "p" + std::to_string(i++));
      EXPECT_EQ(job.priority, 9u);
      leased.push_back(job.receipt.id);
      EXPECT_TRUE(world.Complete(job.receipt).ok());
    }
    EXPECT_THAT(leased, ElementsAreArray(ids));
    EXPECT_THAT(world.Violations(), IsEmpty());
  }
  Many(&world, 10, "", 0, Hours(1));
  EXPECT_EQ(world.Counts("q").scheduled, 10);
  EXPECT_THAT(world.Violations(), IsEmpty());
}

TEST(EnqueueMany, AllOrNoneAcrossAPowerCut) {
  int all = 0, none = 0;
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    WorldOptions options = Cores(2);
    options.seed = seed;
    World world(options);
    world.Open();
    world.Enqueue("q", "before");
    EnqueueManyRequest request;
    request.job.queue = "q";
    request.payloads.assign(200, "x");
    bool done = false;
    world.Start(&request, &done, static_cast<uint16_t>(seed % 2));
    for (uint64_t i = world.random().Below(20); i > 0; --i) world.Step();
    world.PowerCut(seed % 3 == 0 ? CrashMode::kTorn : CrashMode::kLoseUnsynced);
    world.Boot(Seconds(1));
    EXPECT_THAT(world.CheckOffline(), IsEmpty());
    world.Open();
    const int64_t ready = world.Counts("q").ready;
    EXPECT_TRUE(ready == 1 || ready == 201) << ready;
    if (done) {
      EXPECT_EQ(ready, 201) << "seed " << seed;
    }
    ++(ready == 1 ? none : all);
  }
  EXPECT_GT(all, 0);
  EXPECT_GT(none, 0);
}

TEST(EnqueueMany, WhatIsRefusedLeavesNothing) {
  World world(Cores(1));
  world.Open();
  EnqueueManyRequest request;
  request.job.queue = "q";
  request.job.when = EnqueueRequest::When::kDelay;
  request.job.delay = Milliseconds(limits::kKeyTimeMsMax);
  request.payloads.assign(3, "x");
  world.Run(&request);
  EXPECT_EQ(request.error.code(), ErrorCode::kRange);
  EXPECT_THAT(request.ids, IsEmpty());
  EXPECT_EQ(world.Counts("q").scheduled, 0);
  EXPECT_THAT(world.Violations(), IsEmpty());
}

TEST(Workers, CountsTheLeasesOfAllCores) {
  World world(Cores(3));
  world.Open();
  for (uint16_t core = 0; core < 3; ++core) Many(&world, 3, "", core);
  for (const auto& [worker, count] : {std::pair{"ann", 4u}, {"bob", 5u}}) {
    LeaseRequest lease;
    lease.queues = {"q"};
    lease.count = count;
    lease.worker = worker;
    lease.lease = Seconds(60);
    world.Run(&lease, 1);
    ASSERT_THAT(lease.jobs, SizeIs(count));
    if (worker == std::string("ann")) world.Advance(Seconds(7));
  }
  world.Advance(Seconds(2));
  for (uint16_t core = 0; core < 3; ++core) {
    WorkersRequest workers;
    workers.queue = core == 0 ? "" : "q";
    world.Run(&workers, core);
    ASSERT_TRUE(workers.error.ok());
    ASSERT_THAT(workers.rows, SizeIs(2));
    EXPECT_EQ((workers.rows[{"q", "ann"}].leases), 4u);
    EXPECT_EQ((workers.rows[{"q", "ann"}].oldest), Seconds(9));
    EXPECT_EQ((workers.rows[{"q", "bob"}].leases), 5u);
    EXPECT_EQ((workers.rows[{"q", "bob"}].oldest), Seconds(2));
    EXPECT_EQ(workers.others, 0u);
  }
  WorkersRequest none;
  none.queue = "r";
  world.Run(&none);
  EXPECT_EQ(none.error.code(), ErrorCode::kNotFound);
}

TEST(Workers, ShowsTheFirstAndCountsTheRest) {
  WorldOptions options = Cores(2);
  options.memory = uint64_t{64} << 20;
  World world(options);
  world.Open();
  constexpr int kWorkers = 1300;
  for (int i = 0; i < 2; ++i) Many(&world, 1000, "", static_cast<uint16_t>(i));
  for (int i = 0; i < kWorkers; ++i) {
    LeaseRequest lease;
    lease.queues = {"q"};
    lease.worker = "w" + std::to_string(10'000 + i * 7919 % kWorkers);
    lease.lease = Hours(1);
    bool done = false;
    world.Start(&lease, &done);
    world.core(0)->Turn();
    while (!done) world.Settle();
  }
  WorkersRequest workers;
  world.Run(&workers);
  ASSERT_TRUE(workers.error.ok());
  EXPECT_THAT(workers.rows, SizeIs(limits::kWorkerRows));
  EXPECT_EQ(workers.rows.begin()->first.second, "w10000");
  EXPECT_EQ(workers.rows.rbegin()->first.second, "w10999");
  EXPECT_EQ(workers.others, 300u);
}

}  // namespace
}  // namespace vestq
