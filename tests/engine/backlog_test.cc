// Backlogs larger than the windows, and what a restart finds.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "tests/sim/world.h"

namespace vestq {
namespace {

using ::testing::IsEmpty;

// Starts many at once and settles once.
void Fill(World* world, const std::string& queue, size_t count,
          const std::function<void(size_t, EnqueueRequest*)>& set) {
  std::vector<std::unique_ptr<EnqueueRequest>> requests;
  const auto done = std::make_unique<bool[]>(count);
  for (size_t i = 0; i < count; ++i) {
    auto request = std::make_unique<EnqueueRequest>();
    request->queue = queue;
    request->payload = "job " + std::to_string(i);
    set(i, request.get());
    world->Start(request.get(), &done[i], static_cast<uint16_t>(i % world->options().cores));
    requests.push_back(std::move(request));
    if (i % 64 == 63) world->Settle();
  }
  world->Settle();
  for (size_t i = 0; i < count; ++i) {
    ASSERT_TRUE(done[i]);
    ASSERT_TRUE(requests[i]->error.ok()) << requests[i]->error.ToString();
  }
}

TEST(Backlog, LargerThanItsWindowsComesOutInOrder) {
  World world;
  world.Open();
  const size_t jobs = limits::kWindowJobs * 4 + 1500;  // four lanes
  Fill(&world, "q", jobs, [&](size_t i, EnqueueRequest*) {
    if (i % 64 == 0) world.Advance(Milliseconds(1));
  });
  size_t next = 0;
  JobId last(0);
  while (next < jobs) {
    for (const LeasedJob& job : world.Lease("q", 700)) {
      EXPECT_EQ(job.payload, "job " + std::to_string(next++));
      EXPECT_LT(last, job.receipt.id);
      last = job.receipt.id;
      ASSERT_TRUE(world.Complete(job.receipt).ok());
    }
  }
  EXPECT_THAT(world.Lease("q"), IsEmpty());
  EXPECT_EQ(world.Counts("q").ready, 0);
  EXPECT_THAT(world.Violations(), IsEmpty());
}

TEST(Backlog, APriorityThatComesLateIsServedFirst) {
  World world;
  world.Open();
  Fill(&world, "q", limits::kWindowJobs * 6, [](size_t, EnqueueRequest*) {});
  EnqueueRequest urgent;
  urgent.queue = "q";
  urgent.payload = "urgent";
  urgent.priority = 1;
  world.Run(&urgent);
  const auto jobs = world.Lease("q");
  ASSERT_EQ(jobs.size(), 1u);
  EXPECT_EQ(jobs[0].payload, "urgent");
}

TEST(Backlog, EverythingIsFoundAgainAfterAKill) {
  for (uint16_t cores_after : {1, 2, 3}) {
    WorldOptions options;
    options.cores = 2;
    auto world = std::make_unique<World>(options);
    world->Open();
    std::set<std::string> expected;
    Fill(world.get(), "q", 3000, [&](size_t i, EnqueueRequest* request) {
      request->space = i % 3 == 0 ? "" : "space " + std::to_string(i % 50);
      if (i % 5 == 0) {
        request->when = EnqueueRequest::When::kDelay;
        request->delay = Seconds(60);
      }
      expected.insert(request->payload);
    });
    for (const LeasedJob& job : world->Lease("q", 200, Seconds(30))) EXPECT_EQ(job.attempt, 1u);
    const QueueCounts before = world->Counts("q");
    world->Kill();
    EXPECT_THAT(world->CheckOffline(), IsEmpty());
    world->set_cores(cores_after);
    world->Open();
    const QueueCounts after = world->Counts("q");
    EXPECT_EQ(after.ready, before.ready);
    EXPECT_EQ(after.scheduled, before.scheduled);
    EXPECT_EQ(after.leased, 200);
    EXPECT_EQ(after.bytes, before.bytes);
    world->Advance(Seconds(60));
    world->Settle();
    std::set<std::string> found;
    for (;;) {
      const auto jobs =
          world->Lease("q", 500, Seconds(600), static_cast<uint16_t>(found.size() % cores_after));
      if (jobs.empty()) break;
      for (const LeasedJob& job : jobs) EXPECT_TRUE(found.insert(std::string(job.payload)).second);
    }
    EXPECT_EQ(found, expected) << cores_after;
    EXPECT_THAT(world->Violations(), IsEmpty());
  }
}

TEST(Backlog, TheFirstLeaseAfterARestartNeedsNoFullScan) {
  World world;
  world.Open();
  Fill(&world, "q", 5000,
       [](size_t i, EnqueueRequest* r) { r->space = "s" + std::to_string(i % 2000); });
  world.Kill();
  world.Open();
  LeaseRequest lease;
  lease.queues = {"q"};
  bool done = false;
  world.Start(&lease, &done);
  // Zones are found in slices: long before all of them are known the LEASE is answered.
  int rounds = 0;
  while (!done && rounds < 50) {
    ++rounds;
    world.core(0)->Turn();
    world.engine()->WriteDrain();
    world.engine()->SyncOnce();
    world.engine()->RunRead();
  }
  EXPECT_TRUE(done);
  EXPECT_EQ(lease.jobs.size(), 1u);
  EXPECT_LT(rounds, 40);  // a read a lane for words about edges among them
}

TEST(Backlog, AnEmptiedSpaceLeavesNoJobAndNoCount) {
  World world;
  world.Open();
  Fill(&world, "q", 500, [](size_t i, EnqueueRequest* r) { r->space = "s" + std::to_string(i); });
  for (;;) {
    const auto jobs = world.Lease("q", 100);
    if (jobs.empty()) break;
    for (const LeasedJob& job : jobs) ASSERT_TRUE(world.Complete(job.receipt).ok());
  }
  const QueueCounts counts = world.Counts("q");
  EXPECT_EQ(counts.ready + counts.leased + counts.bytes, 0);
  EXPECT_EQ(counts.completed, 500);
  EXPECT_THAT(world.Violations(), IsEmpty());
}

TEST(Backlog, LargePayloadsComeWhole) {
  World world;
  world.Open();
  std::string big(1 << 20, 'x');
  for (size_t i = 0; i < big.size(); i += 7) big[i] = static_cast<char>(i % 251);
  for (int i = 0; i < 24; ++i) world.Enqueue("q", big + std::to_string(i));
  size_t total = 0;
  for (int i = 0; total < 24; ++i) {
    ASSERT_LT(i, 24);
    const auto jobs = world.Lease("q", 1000);  // as many as fit 8 MiB
    ASSERT_FALSE(jobs.empty());
    EXPECT_LE(jobs.size(), 8u);
    for (const LeasedJob& job : jobs) EXPECT_EQ(job.payload, big + std::to_string(total++));
  }
}

}  // namespace
}  // namespace vestq
