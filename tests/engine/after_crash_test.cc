// AFTER across crashes: a kill or a power cut after every single step, and many parents and children under
// them; nothing runs early, nothing waits for ever, and the check finds nothing in between.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "tests/engine/world_fixture.h"

namespace vestq {
namespace {

using ::testing::IsEmpty;

WorldOptions Cores(uint16_t cores, uint64_t seed) { return WorldOf(cores, 5, seed); }

// Crashes, checks, opens again.
void Crash(World* world, int kind) {
  if (kind == 0) {
    world->Kill();
  } else {
    world->PowerCut(kind == 1 ? CrashMode::kLoseUnsynced : CrashMode::kTorn);
    world->Boot(Seconds(1));
  }
  ASSERT_THAT(world->CheckOffline(), IsEmpty());
  world->Open();
}

// Completes everything that comes out of `queue`, in whatever order; returns the ids.
std::vector<JobId> Drain(World* world, const std::string& queue) {
  std::vector<JobId> out;
  for (;;) {
    world->Settle();
    const auto jobs = world->Lease(queue, 100);
    if (jobs.empty()) return out;
    for (const LeasedJob& job : jobs) {
      out.push_back(job.receipt.id);
      EXPECT_TRUE(world->Complete(job.receipt).ok());
    }
  }
}

// Two parents, two children of both, a grandchild of these: a crash after `steps` steps of ENQUEUE.
TEST(AfterCrash, AtEveryStepOfTheEnqueue) {
  for (const uint16_t cores : {1, 3}) {
    for (int kind = 0; kind < 3; ++kind) {
      bool done = false;
      for (int steps = 0; !done; ++steps) {
        SCOPED_TRACE("cores " + std::to_string(cores) + " kind " + std::to_string(kind) +
                     " steps " + std::to_string(steps));
        World world(Cores(cores, 11));
        world.Open();
        const JobId a = world.Enqueue("p", "a", "", 0);
        const JobId b = world.Enqueue("p", "b", "s", 0);
        EnqueueRequest child;
        child.queue = "c";
        child.space = "t";
        child.after = {a, b};
        world.Start(&child, &done);
        for (int i = 0; i < steps && !done; ++i) world.Step();
        Crash(&world, kind);
        const QueueCounts counts = world.Counts("c");
        EXPECT_TRUE(!done || counts.waiting == 1);
        EXPECT_EQ(counts.ready, 0);
        const bool there = counts.waiting == 1;
        EXPECT_THAT(world.Lease("c"), IsEmpty());
        EXPECT_EQ(Drain(&world, "p").size(), 2u);
        EXPECT_EQ(Drain(&world, "c").size(), there ? 1u : 0u);
        ASSERT_THAT(world.Violations(), IsEmpty());
        EXPECT_EQ(world.last_report().edges, 0u);
        EXPECT_EQ(world.discipline_breach(), "");
      }
    }
  }
}

TEST(AfterCrash, AtEveryStepOfTheParentsEnd) {
  for (const bool cancel : {false, true}) {
    for (const uint16_t cores : {1, 3}) {
      for (int kind = 0; kind < 3; ++kind) {
        bool quiet = false;
        for (int steps = 0; !quiet; ++steps) {
          SCOPED_TRACE("cores " + std::to_string(cores) + " kind " + std::to_string(kind) +
                       " steps " + std::to_string(steps) + (cancel ? " cancel" : ""));
          World world(Cores(cores, 12));
          world.Open();
          const JobId parent = world.Enqueue("p", "a", "s", 0);
          std::vector<JobId> children;
          for (int i = 0; i < 3; ++i) {
            EnqueueRequest child;
            child.queue = "c";
            child.space = "t" + std::to_string(i);
            child.after = {parent};
            world.Run(&child);
            children.push_back(child.id);
          }
          bool done = false;
          CompleteRequest complete;
          CancelRequest cancelled;
          if (cancel) {
            cancelled.id = parent;
            world.Start(&cancelled, &done, cores == 3 ? 1 : 0);
          } else {
            complete.receipt = world.Lease("p", 1, Hours(1)).at(0).receipt;
            world.Start(&complete, &done, cores == 3 ? 1 : 0);
          }
          for (int i = 0; i < steps && !quiet; ++i) quiet = !world.Step();
          Crash(&world, kind);
          const JobState state = world.State(parent);
          EXPECT_TRUE(!done || state == JobState::kGone);
          world.Settle();
          for (const JobId child : children) {
            EXPECT_EQ(world.State(child), state != JobState::kGone ? JobState::kWaiting
                                          : cancel                 ? JobState::kDead
                                                                   : JobState::kReady);
          }
          ASSERT_THAT(world.Violations(), IsEmpty());
          EXPECT_EQ(world.discipline_breach(), "");
        }
      }
    }
  }
}

// A thousand parents and a hundred children of all of them... in slices, with crashes in between.
TEST(AfterCrash, ManyEdgesUnderCrashes) {
  for (const uint64_t seed : {1, 2, 3, 4}) {
    SCOPED_TRACE(seed);
    World world(Cores(static_cast<uint16_t>(1 + seed % 3), seed));
    world.Open();
    EnqueueManyRequest parents;
    parents.job.queue = "p";
    parents.payloads.assign(700, "x");
    world.Run(&parents);
    std::vector<JobId> last = {world.Enqueue("last", "x", "s")};
    std::set<JobId> children;
    for (int i = 0; i < 8; ++i) {
      EnqueueRequest child;
      child.queue = "c";
      child.space = "t" + std::to_string(i);
      child.after = parents.ids;
      child.after.push_back(last[0]);
      world.Run(&child);
      ASSERT_TRUE(child.error.ok());
      children.insert(child.id);
    }
    size_t finished = 0;
    for (int round = 0; finished < 700; ++round) {
      const auto jobs = world.Lease("p", 1 + static_cast<uint32_t>(world.random().Below(200)));
      std::vector<std::unique_ptr<CompleteRequest>> ends;
      std::vector<std::unique_ptr<bool>> done;
      for (const LeasedJob& job : jobs) {
        ends.push_back(std::make_unique<CompleteRequest>());
        ends.back()->receipt = job.receipt;
        done.push_back(std::make_unique<bool>(false));
        world.Start(ends.back().get(), done.back().get());
      }
      for (uint64_t steps = world.random().Below(400); steps > 0; --steps) world.Step();
      Crash(&world, static_cast<int>(world.random().Below(3)));
      world.Advance(Seconds(120));  // what was leased and not completed comes back
      world.Settle();
      finished = 700 - static_cast<size_t>(world.Counts("p").ready);
      EXPECT_THAT(world.Lease("c"), IsEmpty());
      ASSERT_LT(round, 1000);
    }
    world.Settle();
    EXPECT_EQ(world.Counts("c").waiting, 8);
    EXPECT_EQ(Drain(&world, "last"), last);
    const std::vector<JobId> out = Drain(&world, "c");
    EXPECT_EQ(std::set<JobId>(out.begin(), out.end()), children);
    EXPECT_EQ(out.size(), 8u);
    ASSERT_THAT(world.Violations(), IsEmpty());
    EXPECT_EQ(world.last_report().edges, 0u);
    EXPECT_EQ(world.discipline_breach(), "");
  }
}

// One parent of seven hundred children ends; a crash at any moment of the telling.
TEST(AfterCrash, ManyChildrenUnderCrashes) {
  for (uint64_t seed = 1; seed <= 6; ++seed) {
    SCOPED_TRACE(seed);
    World world(Cores(static_cast<uint16_t>(1 + seed % 3), seed));
    world.Open();
    const JobId parent = world.Enqueue("p", "x", "s");
    EnqueueManyRequest many;
    many.job.queue = "c";
    many.job.after = {parent};
    many.payloads.assign(700, "x");
    world.Run(&many);
    many.job.space = "other";
    world.Run(&many, world.options().cores - 1);
    CompleteRequest complete;
    complete.receipt = world.Lease("p").at(0).receipt;
    bool done = false;
    world.Start(&complete, &done);
    while (!done) world.Step();
    for (int crash = 0; crash < 12; ++crash) {
      for (uint64_t steps = world.random().Below(60); steps > 0; --steps) world.Step();
      Crash(&world, static_cast<int>(world.random().Below(3)));
    }
    world.Settle();
    EXPECT_EQ(world.Counts("c").ready, 1400);
    EXPECT_EQ(world.Counts("c").waiting, 0);
    ASSERT_THAT(world.Violations(), IsEmpty());
    EXPECT_EQ(world.last_report().edges, 0u);
    EXPECT_EQ(world.discipline_breach(), "");
  }
}

}  // namespace
}  // namespace vestq
