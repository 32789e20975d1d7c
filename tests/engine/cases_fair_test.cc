// Case B21 of the public bug reports of other queues: one tenant's flood stands before everyone else's. Ten
// workers take one job at a time, as real ones do; a tick is the time that a job takes. What is shared is
// starts (FAIR-1).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "engine/handling_request.h"
#include "engine/space_request.h"
#include "tests/sim/world.h"

namespace vestq {
namespace {

using ::testing::IsEmpty;

constexpr size_t kWorkers = 10;
constexpr Duration kJob = Milliseconds(10);

class Flood : public ::testing::TestWithParam<uint16_t> {
 protected:
  Flood() : world_(With(GetParam())) { world_.Open(); }

  static WorldOptions With(uint16_t cores) {
    WorldOptions options;
    options.cores = cores;
    options.lanes = 8;
    return options;
  }
  uint16_t AnyCore() { return static_cast<uint16_t>(++asked_ % GetParam()); }
  void Enqueue(const std::string& space, size_t jobs, uint32_t priority = 1024,
               Duration delay = Duration(0)) {
    while (jobs > 0) {
      EnqueueManyRequest request;
      request.job.queue = "q";
      request.job.space = space;
      request.job.priority = priority;
      if (delay > Duration(0)) {
        request.job.when = EnqueueRequest::When::kDelay;
        request.job.delay = delay;
      }
      request.payloads.assign(std::min<size_t>(jobs, 1000), "p");
      jobs -= request.payloads.size();
      world_.Run(&request, AnyCore());
      ASSERT_TRUE(request.error.ok()) << request.error.ToString();
    }
  }
  void Weight(const std::string& space, uint32_t weight) {
    SpaceSetRequest request;
    request.queue = "q";
    request.space = space;
    request.set.weight = weight;
    world_.Run(&request, AnyCore());
    ASSERT_TRUE(request.error.ok()) << request.error.ToString();
  }
  // Starts of two tenants with enough to do, over so many ticks.
  std::map<std::string, size_t> Starts(int over,
                                       const std::function<int(const std::string&)>& ticks) {
    std::map<std::string, size_t> out;
    for (int i = 0; i < over; ++i) {
      for (const std::string& space : Tick(ticks)) ++out[space];
    }
    return out;
  }
  static std::string Tenant(int i) { return "t" + std::to_string(i); }
  void EnqueueTenants(int tenants, size_t jobs) {
    for (int i = 0; i < tenants; ++i) Enqueue(Tenant(i), jobs);
  }

  // One tick: whoever has finished says so and takes the next job. Returns the spaces of those that
  // started. `ticks`: how long a job of the space takes.
  std::vector<std::string> Tick(const std::function<int(const std::string&)>& ticks) {
    for (auto it = running_.begin(); it != running_.end();) {
      if (--it->left > 0) {
        ++it;
        continue;
      }
      EXPECT_TRUE(world_.Complete(it->job.receipt, AnyCore()).ok());
      it = running_.erase(it);
    }
    std::vector<std::string> started;
    while (running_.size() < kWorkers) {
      auto jobs = world_.Lease("q", 1, Hours(1), AnyCore());
      if (jobs.empty()) break;
      started.push_back(jobs[0].space);
      running_.push_back({std::move(jobs[0]), ticks(started.back())});
    }
    world_.Advance(kJob);
    return started;
  }
  // Runs until the tenants' jobs have all started. Per tenant the ticks of its first and last start, from 1.
  struct Outcome {
    std::map<std::string, std::pair<int, int>> tenants;
    int ticks = 0;
    size_t starts = 0;
    size_t flood = 0;
  };
  Outcome RunUntil(size_t jobs, const std::function<int(const std::string&)>& ticks) {
    Outcome out;
    size_t seen = 0;
    while (seen < jobs && out.ticks < 5000) {
      ++out.ticks;
      for (const std::string& space : Tick(ticks)) {
        ++out.starts;
        if (space == "flood") {
          ++out.flood;
          continue;
        }
        ++seen;
        auto& tenant = out.tenants.try_emplace(space, out.ticks, 0).first->second;
        tenant.second = out.ticks;
      }
    }
    EXPECT_EQ(seen, jobs);
    return out;
  }
  Outcome RunUntil(size_t jobs) {
    return RunUntil(jobs, [](const std::string&) { return 1; });
  }
  // 20 tenants with 10 jobs each beside the flood: 21 share ten starts a tick.
  void ExpectFairToTwenty(const Outcome& out) {
    ASSERT_EQ(out.tenants.size(), 20u);
    constexpr int kIdeal = 21;  // ticks until all of a tenant's ten jobs have started
    for (const auto& [tenant, when] : out.tenants) {
      EXPECT_LE(when.first, 2 * 3) << tenant << ": a round of 21 is three ticks";
      EXPECT_LE(when.second, 2 * kIdeal) << tenant;
    }
    EXPECT_EQ(out.starts, kWorkers * static_cast<size_t>(out.ticks)) << "no worker was idle";
  }

  World world_;
  struct Running {
    LeasedJob job;
    int left;
  };
  std::deque<Running> running_;
  uint64_t asked_ = 0;
};

// B21.1.
TEST_P(Flood, SmallTenantsStartWithinARound) {
  Enqueue("flood", 20'000);
  for (int i = 0; i < 100; ++i) Tick([](const std::string&) { return 1; });
  EnqueueTenants(20, 10);
  ExpectFairToTwenty(RunUntil(200));
}

// B21.2.
TEST_P(Flood, ManyTenantsWithOneJobEachWaitForEachOtherOnly) {
  Enqueue("flood", 5'000);
  EnqueueTenants(2'000, 1);
  const Outcome out = RunUntil(2'000);
  // Each round gives the flood one start, over several cores up to four rounds more (FAIR-3); the last tick
  // has the workers that no tenant needs any more.
  EXPECT_LE(out.flood, kWorkers + size_t{GetParam()} * 8);
  EXPECT_EQ(out.tenants.size(), 2'000u);
}

// B21.3: the most urgent numbers there are win nothing.
TEST_P(Flood, PrioritiesOfOneTenantTakeNothingFromOthers) {
  for (uint32_t priority = 0; priority < 20; ++priority) Enqueue("flood", 500, priority);
  EnqueueTenants(20, 10);
  ExpectFairToTwenty(RunUntil(200));
}

// B21.4: what is shared is starts, so a tenant whose jobs take long has more of them running.
TEST_P(Flood, StartsAreSharedWhateverAJobTakes) {
  Enqueue("flood", 1'000);
  Enqueue("quick", 1'000);
  size_t flood = 0, quick = 0;
  for (int i = 0; i < 2'000; ++i) {
    for (const std::string& space :
         Tick([](const std::string& of) { return of == "flood" ? 100 : 1; })) {
      ++(space == "flood" ? flood : quick);
    }
  }
  EXPECT_NEAR(static_cast<double>(flood), static_cast<double>(quick), 4.0 * GetParam());
  EXPECT_GT(flood, 100u);
}

// B21.4 with weight 3: three starts for one, whatever a job takes, so far more than three times as many of its
// jobs run when they take long.
TEST_P(Flood, AWeightOfThreeGivesThreeStartsForOneWhateverAJobTakes) {
  Weight("flood", 3);
  Enqueue("flood", 3'000);
  Enqueue("quick", 3'000);
  const auto same = Starts(150, [](const std::string&) { return 1; });
  const double slack = 6.0 * GetParam();  // FAIR-3
  EXPECT_NEAR(static_cast<double>(same.at("flood")), 3.0 * static_cast<double>(same.at("quick")),
              3 * slack);
  const auto long_ones =
      Starts(2'000, [](const std::string& of) { return of == "flood" ? 100 : 1; });
  EXPECT_NEAR(static_cast<double>(long_ones.at("flood")),
              3.0 * static_cast<double>(long_ones.at("quick")), 3 * slack);
  EXPECT_GT(long_ones.at("flood"), 100u);
  const size_t running = static_cast<size_t>(std::count_if(
      running_.begin(), running_.end(), [](const auto& r) { return r.job.space == "flood"; }));
  EXPECT_GE(running, kWorkers - 1);  // what is shared is starts, not workers
}

// A weight that comes, changes and goes while both have jobs; the queue's for each space as well.
TEST_P(Flood, WeightsMayChangeAtAnyTime) {
  const auto one = [](const std::string&) { return 1; };
  Enqueue("flood", 9'000);
  Enqueue("quick", 9'000);
  const auto expect = [&](double ratio) {
    auto starts = Starts(150, one);
    EXPECT_NEAR(static_cast<double>(starts["flood"]), ratio * static_cast<double>(starts["quick"]),
                ratio * 6 * GetParam() + 6)
        << ratio;
  };
  expect(1);
  Weight("flood", 5);
  expect(5);
  QueueSetRequest set;
  set.queue = "q";
  set.set.space_weight = 10;  // of quick, then: flood keeps its own
  world_.Run(&set, AnyCore());
  world_.Settle();
  expect(0.5);
  world_.Kill();
  world_.Open();
  world_.Settle();
  running_.clear();
  expect(0.5);
  SpaceSetRequest unset;
  unset.queue = "q";
  unset.space = "flood";
  unset.unset.weight = 0;
  world_.Run(&unset, AnyCore());
  expect(1);
}

// B21.3, over queues: fairness is within a queue, and a worker names its queues in order, so what a tenant puts
// into other queues takes nothing from those who share this one.
TEST_P(Flood, SplittingOverQueuesWinsNothing) {
  for (int i = 0; i < 500; ++i) world_.Enqueue("flood-" + std::to_string(i), "p", "flood");
  Enqueue("flood", 2'000);
  EnqueueTenants(20, 10);
  ExpectFairToTwenty(RunUntil(200));
}

// B21.5: the backlog was there before the weights were.
TEST_P(Flood, ABacklogFromBeforeTheOptionsIsSharedByThem) {
  Enqueue("flood", 5'000);
  EnqueueTenants(20, 30);
  for (int i = 0; i < 20; ++i) Weight(Tenant(i), 4);
  const Outcome out = RunUntil(600);
  // A round is 81 starts, of which the flood has one.
  EXPECT_LE(out.flood, 600 / 80 + kWorkers + 8 * size_t{GetParam()});
}

// B21.5.
TEST_P(Flood, ABacklogFromBeforeARestartIsShared) {
  Enqueue("flood", 20'000);
  EnqueueTenants(10, 10);
  world_.Kill();
  EXPECT_THAT(world_.CheckOffline(), IsEmpty());
  world_.Open();
  world_.Settle();
  for (int i = 10; i < 20; ++i) Enqueue(Tenant(i), 10);
  ExpectFairToTwenty(RunUntil(200));
}

// B21.6: jobs that come back or have just become due stand in line as new ones do.
TEST_P(Flood, RetriesReleasedAndDueJobsAreSharedAsWell) {
  Enqueue("flood", 1'500);
  auto back = world_.Lease("q", 1'000, Hours(1));
  Enqueue("flood", 3'000, 1024, Milliseconds(500));
  for (size_t i = 0; i < back.size(); ++i) {
    if (i % 2 == 0) {
      ReleaseRequest release;
      release.receipt = back[i].receipt;
      world_.Run(&release, AnyCore());
    } else {
      FailRequest fail;
      fail.receipt = back[i].receipt;
      fail.delay_set = true;
      fail.delay = Milliseconds(500);
      world_.Run(&fail, AnyCore());
    }
  }
  EnqueueTenants(20, 10);
  world_.Advance(Milliseconds(500));
  world_.Settle();
  ExpectFairToTwenty(RunUntil(200));
}

// A tenant without jobs leaves no state.
TEST_P(Flood, EmptiedSpacesLeaveNothing) {
  EnqueueTenants(500, 2);
  RunUntil(1'000);
  Tick([](const std::string&) { return 1; });
  EXPECT_THAT(world_.Violations(), IsEmpty());
  EXPECT_EQ(world_.last_report().ready, 0u);
}

INSTANTIATE_TEST_SUITE_P(Cores, Flood, ::testing::Values(1, 3),
                         ::testing::PrintToStringParamName());

}  // namespace
}  // namespace vestq
