// Thousands of spaces with ready jobs, with memory for a handful (engine/core_hidden.cc): every job comes once,
// none is left behind, and turns stay fair, through restarts, pauses, purges and limits.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "engine/purge_request.h"
#include "engine/space_request.h"
#include "tests/engine/world_fixture.h"

namespace vestq {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr int kSpaces = 2000;

std::string Name(int i) { return "s" + std::to_string(i); }

// Parameter: cores; room for two spaces on each.
class ManySpaces : public ::testing::TestWithParam<uint16_t> {
 protected:
  ManySpaces() : world_(WorldOfParam(static_cast<uint16_t>(kFewSpaces + GetParam()))) {
    world_.Open();
  }

  uint16_t AnyCore() { return static_cast<uint16_t>(++asked_ % GetParam()); }
  // Not waiting for each: that many in every space.
  void Fill(int spaces, int jobs = 1) {
    std::vector<std::unique_ptr<EnqueueRequest>> requests;
    std::unique_ptr<bool[]> done(new bool[static_cast<size_t>(spaces * jobs)]());
    for (int k = 0; k < jobs; ++k) {
      for (int i = 0; i < spaces; ++i) {
        auto request = std::make_unique<EnqueueRequest>();
        request->queue = "q";
        request->space = Name(i);
        request->payload = std::to_string(k);
        world_.Start(request.get(), &done[requests.size()], AnyCore());
        requests.push_back(std::move(request));
        if (requests.size() % 64 == 0) world_.Settle();
      }
    }
    world_.Settle();
    for (size_t i = 0; i < requests.size(); ++i) {
      ASSERT_TRUE(done[i] && requests[i]->error.ok());
      left_.emplace(requests[i]->id, requests[i]->space);
    }
  }
  // Of a space each the payloads in the order in which they came; at most `most` jobs in all.
  std::map<std::string, std::vector<std::string>> Drain(uint32_t count, size_t most = SIZE_MAX) {
    std::map<std::string, std::vector<std::string>> out;
    for (size_t taken = 0; taken < most;) {
      const auto room = static_cast<uint32_t>(std::min<size_t>(count, most - taken));
      const auto jobs = world_.Lease("q", room, Hours(10), AnyCore());
      if (jobs.empty()) break;
      taken += jobs.size();
      for (const LeasedJob& job : jobs) {
        EXPECT_EQ(left_.erase(job.receipt.id), 1u) << "a job comes twice, or nobody enqueued it";
        out[job.space].emplace_back(job.payload);
        EXPECT_TRUE(world_.Complete(job.receipt, AnyCore()).ok());
      }
    }
    return out;
  }
  void Restart() {
    world_.Kill();
    EXPECT_THAT(world_.CheckOffline(), IsEmpty());
    world_.Open();
    world_.Settle();
  }
  // The job of a LEASE that waits until `event`, and no longer.
  LeasedJob WokenBy(const std::function<void()>& event) {
    LeaseRequest waits;
    waits.queues = {"q"};
    waits.wait = true;
    bool done = false;
    world_.Start(&waits, &done, AnyCore());
    world_.Settle();
    EXPECT_FALSE(done);
    event();
    world_.Settle();
    EXPECT_TRUE(done);
    EXPECT_THAT(waits.jobs, SizeIs(1));
    if (waits.jobs.empty()) return {};
    EXPECT_EQ(left_.erase(waits.jobs[0].receipt.id), 1u);
    return std::move(waits.jobs[0]);
  }
  void SetQueue(const std::function<void(QueueSetRequest*)>& with) {
    QueueSetRequest request;
    request.queue = "q";
    with(&request);
    world_.Run(&request, AnyCore());
    ASSERT_TRUE(request.error.ok()) << request.error.ToString();
    world_.Settle();
  }
  void SetSpace(const std::string& space, const std::function<void(SpaceSetRequest*)>& with) {
    SpaceSetRequest request;
    request.queue = "q";
    request.space = space;
    with(&request);
    world_.Run(&request, AnyCore());
    ASSERT_TRUE(request.error.ok()) << request.error.ToString();
    world_.Settle();
  }
  size_t LeftIn(const std::string& space) const {
    return static_cast<size_t>(std::count_if(left_.begin(), left_.end(),
                                             [&](const auto& job) { return job.second == space; }));
  }

  World world_;
  uint64_t asked_ = 0;
  std::map<JobId, std::string> left_;
};
INSTANTIATE_TEST_SUITE_P(Cores, ManySpaces, ::testing::Values(1, 3));

TEST_P(ManySpaces, EveryJobComesOnceAndInItsSpacesOrder) {
  Fill(kSpaces, 3);
  const auto before = Drain(7, kSpaces);
  Restart();
  const auto after = Drain(50, kSpaces * 3 / 2);
  Restart();
  const auto rest = Drain(1000);
  EXPECT_THAT(left_, IsEmpty());
  for (int i = 0; i < kSpaces; ++i) {
    std::vector<std::string> all;
    for (const auto* part : {&before, &after, &rest}) {
      const auto it = part->find(Name(i));
      if (it != part->end()) all.insert(all.end(), it->second.begin(), it->second.end());
    }
    ASSERT_EQ(all, (std::vector<std::string>{"0", "1", "2"})) << Name(i);
  }
  EXPECT_THAT(world_.Lease("q"), IsEmpty());
  EXPECT_THAT(world_.Violations(), IsEmpty());
}

// FAIR-4: in the course of a sweep a space is served once, or twice. So when a third of the jobs have come no
// space lacks its turn and none has had more than its rounds.
TEST_P(ManySpaces, NoneGetsMoreThanTwoTurnsBeforeEachHadOne) {
  Fill(kSpaces, 6);
  std::map<std::string, size_t> turns;
  size_t served = 0;
  while (turns.size() < kSpaces) {
    for (const auto& [space, payloads] : Drain(1, 1)) {
      turns[space] += payloads.size();
      served += payloads.size();
    }
    ASSERT_LE(served, size_t{3} * kSpaces) << turns.size() << " spaces had a turn";
  }
  size_t most = 0;
  for (const auto& [space, count] : turns) most = std::max(most, count);
  EXPECT_LE(most, GetParam() == 1 ? 2u : 6u);
}

TEST_P(ManySpaces, WeightsHoldWhereverASpaceStands) {
  SetSpace(Name(3), [](SpaceSetRequest* r) { r->set.weight = 5; });
  SetSpace(Name(150), [](SpaceSetRequest* r) { r->set.weight = 3; });
  Fill(200, 40);
  Restart();
  const auto served = Drain(1, 200 * 8);
  std::vector<size_t> plain;
  for (const auto& [space, payloads] : served) {
    if (space != Name(3) && space != Name(150)) plain.push_back(payloads.size());
  }
  ASSERT_THAT(plain, SizeIs(198)) << "each has had its turn";
  const auto [least, most] = std::minmax_element(plain.begin(), plain.end());
  EXPECT_LE(*most, 2 * *least + 4 * GetParam());
  const double usual = 200.0 * 8 / (198 + 5 + 3);
  EXPECT_GE(static_cast<double>(served.at(Name(3)).size()), 5 * usual / 2);
  EXPECT_GE(static_cast<double>(served.at(Name(150)).size()), 3 * usual / 2);
}

TEST_P(ManySpaces, APausedQueueGivesNothingAndAllOfItWhenItGoesOn) {
  Fill(500, 2);
  Drain(10, 300);
  SetQueue([](QueueSetRequest* r) { r->pause = true; });
  EXPECT_THAT(Drain(10), IsEmpty());
  Fill(500);
  WokenBy([this] { SetQueue([](QueueSetRequest* r) { r->resume = true; }); });
  Drain(100);
  EXPECT_THAT(left_, IsEmpty());
}

TEST_P(ManySpaces, PausedSpacesAreLeftOutAndGoOnByThemselvesOrByCommand) {
  Fill(300, 2);
  for (const int i : {1, 100, 299}) SetSpace(Name(i), [](SpaceSetRequest* r) { r->pause = true; });
  SetSpace(Name(7), [](SpaceSetRequest* r) {
    r->pause = true;
    r->pause_for = Seconds(20);
  });
  Drain(20, 100);
  Restart();
  Drain(20);
  EXPECT_THAT(left_, SizeIs(8));
  EXPECT_EQ(WokenBy([this] { world_.Advance(Seconds(21)); }).space, Name(7)) << "its pause is over";
  for (const int i : {1, 100, 299}) SetSpace(Name(i), [](SpaceSetRequest* r) { r->resume = true; });
  Drain(1);
  EXPECT_THAT(left_, IsEmpty());
  EXPECT_THAT(world_.Violations(), IsEmpty());
}

// One job a second of each space, whether or not the space is in memory; across a restart too.
TEST_P(ManySpaces, EachKeepsToItsRate) {
  SetQueue([](QueueSetRequest* r) {
    r->set.space_rate_micro = 1'000'000;
    r->set.space_burst = 1;
  });
  Fill(200, 4);
  for (int second = 0; second < 4; ++second) {
    std::map<std::string, size_t> turns;
    if (second > 0) {
      ++turns[WokenBy([this] { world_.Advance(Milliseconds(1001)); }).space];  // a token is due
    }
    for (const auto& [space, payloads] : Drain(second % 2 == 0 ? 1 : 30))
      turns[space] += payloads.size();
    EXPECT_THAT(turns, SizeIs(200)) << second;
    for (const auto& [space, count] : turns) ASSERT_EQ(count, 1u) << space;
    if (second == 1) Restart();
    EXPECT_THAT(Drain(5), IsEmpty());
  }
  EXPECT_THAT(left_, IsEmpty());
}

TEST_P(ManySpaces, APurgeOrADropLeavesNoneBehind) {
  Fill(1000, 2);
  Drain(10, 100);
  PurgeRequest purge;
  purge.queue = "q";
  purge.one_space = true;
  purge.space = Name(777);
  const size_t there = LeftIn(Name(777));
  world_.Run(&purge, AnyCore());
  EXPECT_EQ(purge.removed, there);
  std::erase_if(left_, [](const auto& job) { return job.second == Name(777); });
  Drain(10, 100);
  const size_t left = left_.size();
  PurgeRequest all;
  all.queue = "q";
  world_.Run(&all, AnyCore());
  EXPECT_EQ(all.removed, left);
  left_.clear();
  EXPECT_THAT(Drain(10), IsEmpty());
  world_.Settle();
  EXPECT_EQ(world_.engine()->Info().space_bytes, 0u);
  Fill(1000);
  Drain(10, 100);
  PurgeRequest drop;
  drop.queue = "q";
  drop.drop = true;
  world_.Run(&drop, AnyCore());
  left_.clear();
  EXPECT_THAT(Drain(10), IsEmpty());
  Fill(400);
  Restart();
  Drain(10);
  EXPECT_THAT(left_, IsEmpty());
  EXPECT_THAT(world_.Violations(), IsEmpty());
}

// More LEASEs of one space wait than a queue keeps emptied spaces for: each has its own, none spins.
TEST_P(ManySpaces, ManyWaitForSpacesOfTheirOwn) {
  Fill(300);
  std::vector<std::unique_ptr<LeaseRequest>> waits;
  std::unique_ptr<bool[]> done(new bool[150]());
  for (int i = 0; i < 150; ++i) {
    auto request = std::make_unique<LeaseRequest>();
    request->queues = {"q"};
    request->one_space = true;
    request->space = "nobody-" + std::to_string(i);
    request->wait = true;
    world_.Start(request.get(), &done[static_cast<size_t>(i)], AnyCore());
    waits.push_back(std::move(request));
  }
  world_.Settle();
  for (size_t i = 0; i < waits.size(); ++i) {
    ASSERT_FALSE(done[i]);
    world_.Enqueue("q", "p", waits[i]->space, AnyCore());
    world_.Settle();
    ASSERT_TRUE(done[i]) << waits[i]->space;
    ASSERT_THAT(waits[i]->jobs, SizeIs(1));
    ASSERT_TRUE(world_.Complete(waits[i]->jobs[0].receipt).ok());
  }
  Drain(10);
  EXPECT_THAT(left_, IsEmpty());
}

// Each is taken in when one of its leases ends; the last one closes the sweeps, and new jobs go straight in.
TEST_P(ManySpaces, HeldByALimitOfOneTheyComeOneAfterTheOther) {
  SetQueue([](QueueSetRequest* r) { r->set.space_concurrency = 1; });
  Fill(400, 3);
  for (int round = 0; round < 3; ++round) {
    std::vector<LeasedJob> running;
    for (;;) {
      auto jobs = world_.Lease("q", 13, Hours(10), AnyCore());
      if (jobs.empty()) break;
      for (LeasedJob& job : jobs) running.push_back(std::move(job));
    }
    ASSERT_THAT(running, SizeIs(400)) << round;
    if (round == 1) Restart();
    for (const LeasedJob& job : running) {
      left_.erase(job.receipt.id);
      ASSERT_TRUE(world_.Complete(job.receipt, AnyCore()).ok());
    }
  }
  EXPECT_THAT(left_, IsEmpty());
  EXPECT_EQ(world_.Counts("q").ready, 0);
  EXPECT_THAT(world_.Violations(), IsEmpty());
}

}  // namespace
}  // namespace vestq
