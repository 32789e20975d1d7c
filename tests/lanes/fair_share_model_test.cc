// Fair sharing over several cores, with limits, against what FAIR-1 promises: a million random steps.
//
// The model does what engine/core_lease.cc and engine/core_queues.cc do with the same parts: a space
// belongs to one core, each core publishes its queue's head as a word, a LEASE goes to the core of
// the least word and takes what that core's FairQueue says; a core that was idle catches up.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <deque>
#include <memory>
#include <random>
#include <vector>

#include "lanes/concurrency.h"
#include "lanes/fair_queue.h"
#include "lanes/published_head.h"
#include "lanes/rate_limit.h"

namespace vestq {
namespace {

struct Terms {
  uint64_t seed;
  size_t cores;
  size_t spaces;
  uint32_t weight_max;
  uint32_t count;  // the most jobs of one LEASE
  bool limits;     // concurrency and rate limits on some of the spaces
};

class Cluster {
 public:
  explicit Cluster(const Terms& terms) : terms_(terms), random_(terms.seed) {
    cores_.resize(terms.cores);
    for (size_t i = 0; i < terms.spaces; ++i) {
      auto space = std::make_unique<Space>();
      space->core = random_() % terms.cores;
      space->weight = RandomWeight();
      space->fair = cores_[space->core].fair.Add(space.get(), space->weight);
      space->name = std::to_string(i);
      space->index = i;
      spaces_.push_back(std::move(space));
    }
    pairs_.resize(terms.spaces * terms.spaces);
    if (terms.limits) AddLimits();
    for (Core& core : cores_) Publish(&core);
  }

  void Run(int steps) {
    for (step_ = 0; step_ < steps && !::testing::Test::HasFatalFailure(); ++step_) {
      // Pressure swings, so that queues build up, drain and stand empty.
      const uint64_t pressure = step_ / 5'000 % 3 == 0 ? 2 : 8;
      const uint64_t choice = random_() % 20;
      if (choice < pressure) {
        Arrive(spaces_[random_() % spaces_.size()].get(), 1 + random_() % 6);
      } else if (choice < 17) {
        Serve();
      } else if (choice == 17) {
        Tick();
      } else if (choice == 18) {
        Finish();
      } else if (random_() % 50 == 0) {
        ChangeWeight(spaces_[random_() % spaces_.size()].get());
      }
      if (step_ % 4096 == 0) {
        for (const Core& core : cores_) core.fair.CheckInvariants();  // FAIR-2
      }
    }
    EXPECT_GT(served_, static_cast<uint64_t>(steps) / 5);
    EXPECT_GT(firsts_, 100u);
  }
  // The widest spread seen between two spaces, in rounds, beyond the jobs under way of each.
  double widest() const { return widest_; }
  double longest_wait() const { return longest_wait_; }

 private:
  struct Core {
    FairQueue fair;
    uint64_t head = kNoHead;
    SpaceSlots slots;
  };
  struct Space {
    size_t index = 0;
    size_t core = 0;
    std::string name;
    FairQueue::Handle fair{};
    uint32_t weight = 1;
    // What its last job cost it, in rounds, as far as it has not paid yet: 1 / weight, by the weight
    // that held then.
    double owed = 0;
    uint64_t backlog = 0;
    bool active = false;
    uint32_t slot_limit = kNoSlotLimit;
    RateLimit rate;
    RateState state;
    double rate_per_ms = 0;
    std::deque<int64_t> starts;  // the last ones, in ms
    // Until its first job since it became active.
    bool first_waits = false;
    std::vector<uint64_t> seen;  // the others' jobs when it began to wait
    uint64_t jobs = 0;
  };
  // Normalized service of one space ahead of another since both are active.
  struct Pair {
    double ahead = 0, least = 0, most = 0;
  };

  uint32_t RandomWeight() {
    if (terms_.weight_max == 1) return 1;
    const uint32_t scale[] = {1, 2, 3, 10, 100, terms_.weight_max};
    return scale[random_() % 6];
  }
  void AddLimits() {
    for (auto& space : spaces_) {
      if (random_() % 3 == 0) space->slot_limit = static_cast<uint32_t>(random_() % 4);
      if (random_() % 3 != 0) continue;
      const uint64_t micro = 1'000'000 * (1 + random_() % 200);
      space->rate = RateLimit(micro, static_cast<uint32_t>(1 + random_() % 5));
      space->rate_per_ms = static_cast<double>(micro) / 1e9;
    }
  }

  bool Eligible(const Space& space) {
    if (space.backlog == 0) return false;
    if (!cores_[space.core].slots.HasRoom(space.name, space.slot_limit)) return false;
    return !space.rate.limited() || space.state.MayStart(space.rate, now_);
  }

  void Publish(Core* core) {
    core->head = core->fair.empty() ? kNoHead : PackHead(core->fair.TopTag(), now_.ms());
  }
  void CatchUp(Core* core) {
    if (!core->fair.empty()) return;
    uint64_t first = kNoHead, latest = 0;
    for (Core& other : cores_) {
      if (&other == core) continue;
      latest = std::max(latest, other.fair.virtual_time());
      first = std::min(first, other.head);
    }
    core->fair.AdvanceTo(first < kUnknownHead ? TagOfHead(first) : latest);
  }

  // As SpaceChanged: the space stands in its core's queue while it may be served.
  void Changed(Space* space) {
    Core& core = cores_[space->core];
    const bool eligible = Eligible(*space);
    if (eligible && !space->active) {
      CatchUp(&core);
      core.fair.Activate(space->fair);
      space->active = true;
      Restart(space);
      space->first_waits = true;
      space->seen.clear();
      for (auto& other : spaces_) space->seen.push_back(other->jobs);
    } else if (!eligible && space->active) {
      core.fair.Deactivate(space->fair);
      space->active = false;
      space->first_waits = false;
    }
    Publish(&core);
  }

  void Arrive(Space* space, uint64_t jobs) {
    space->backlog += jobs;
    Changed(space);
  }
  void Tick() {
    now_ = now_ + Milliseconds(static_cast<int64_t>(random_() % 4));
    for (auto& space : spaces_) {
      if (space->rate.limited() && space->backlog > 0 && !space->active) Changed(space.get());
    }
  }
  void Finish() {
    if (running_.empty()) return;
    std::swap(running_[random_() % running_.size()], running_.back());
    Space* const space = running_.back();
    running_.pop_back();
    const bool room = cores_[space->core].slots.Remove(space->name, space->slot_limit);
    EXPECT_EQ(room, cores_[space->core].slots.HasRoom(space->name, space->slot_limit));
    Changed(space);
  }
  void ChangeWeight(Space* space) {
    space->owed = std::max(space->owed, 1.0 / space->weight);
    space->weight = RandomWeight();
    cores_[space->core].fair.SetWeight(space->fair, space->weight);
    for (auto& other : spaces_) other->first_waits = false;
    Restart(space);
  }

  void Serve() {
    Core* best = nullptr;
    const size_t here = random_() % cores_.size();
    for (size_t i = 0; i < cores_.size(); ++i) {
      Core& core = cores_[(here + i) % cores_.size()];
      if (core.head != kNoHead && (best == nullptr || core.head < best->head)) best = &core;
    }
    // Work-conserving: something is served exactly when something may be.
    const bool any = std::any_of(spaces_.begin(), spaces_.end(),
                                 [this](const auto& space) { return Eligible(*space); });
    ASSERT_EQ(best != nullptr, any) << "step " << step_;
    if (best == nullptr) return;
    const uint64_t count = 1 + random_() % terms_.count;
    for (uint64_t i = 0; i < count && !best->fair.empty(); ++i) Claim(best);
  }

  void Claim(Core* core) {
    auto* const space = static_cast<Space*>(core->fair.TopOwner());
    ASSERT_TRUE(space->active && space->backlog > 0);
    if (space->first_waits) CheckWait(space);
    CheckLimits(space);
    --space->backlog;
    ++space->jobs;
    ++served_;
    core->slots.Add(space->name);
    running_.push_back(space);
    core->fair.Charge(space->fair);
    for (auto& other : spaces_) Ahead(space, other.get());
    // It has paid for what it had by another weight; from here on that one counts.
    if (space->owed > 1.0 / space->weight) Restart(space);
    space->owed = 1.0 / space->weight;
    Changed(space);
    if (running_.size() > 200) Finish();
  }

  // From here on the space is compared anew.
  void Restart(Space* space) {
    for (auto& other : spaces_) PairOf(*space, *other) = PairOf(*other, *space) = Pair();
  }
  static double JobOf(const Space& space) { return std::max(space.owed, 1.0 / space.weight); }
  Pair& PairOf(const Space& a, const Space& b) {
    return pairs_[a.index * spaces_.size() + b.index];
  }
  // FAIR-1.
  void Ahead(Space* space, Space* other) {
    if (space == other || !other->active) return;
    Pair& pair = PairOf(*space, *other);
    pair.ahead += 1.0 / space->weight;
    pair.most = std::max(pair.most, pair.ahead);
    Pair& mirror = PairOf(*other, *space);
    mirror.ahead = -pair.ahead;
    mirror.most = -pair.least;
    mirror.least = -pair.most;
    const bool one_core = space->core == other->core;
    const double jobs = JobOf(*space) + JobOf(*other);
    const double bound = one_core ? jobs : 4 + terms_.count * jobs;
    const double spread = pair.most - pair.least;
    ASSERT_LE(spread, bound + 1e-3) << "step " << step_ << ": weights " << space->weight << " and "
                                    << other->weight << ", one core " << one_core;
    widest_ = std::max(widest_, spread - jobs);
  }

  // The first job of a space that has just become active, at most one round behind the others.
  void CheckWait(Space* space) {
    space->first_waits = false;
    ++firsts_;
    for (auto& other : spaces_) {
      if (other.get() == space) continue;
      const double jobs = static_cast<double>(other->jobs - space->seen[other->index]);
      const double owed = std::ceil(other->weight * JobOf(*space));
      const double one_core = 1 + owed;  // it may owe the one job that it had last
      const double other_core = (2 + terms_.count) * other->weight + terms_.count + owed;
      const bool same = other->core == space->core;
      const double bound = !same ? other_core : space->jobs == 0 ? 1 : one_core;
      ASSERT_LE(jobs, bound) << "step " << step_ << ": weights " << space->weight << " and "
                             << other->weight << ", one core " << same;
      longest_wait_ = std::max(longest_wait_, jobs / other->weight);
    }
  }

  // CONC-1, RATE-1.
  void CheckLimits(Space* space) {
    ASSERT_LT(cores_[space->core].slots.running(space->name), space->slot_limit);
    if (!space->rate.limited()) return;
    space->state.Start(space->rate, now_);
    space->starts.push_back(now_.ms());
    if (space->starts.size() > 64) space->starts.pop_front();
    for (size_t i = 0; i < space->starts.size(); ++i) {
      const double span = static_cast<double>(now_.ms() - space->starts[i]);
      ASSERT_LE(static_cast<double>(space->starts.size() - i),
                space->rate.burst() + space->rate_per_ms * span + 1e-9);
    }
  }

  const Terms terms_;
  std::mt19937_64 random_;
  std::vector<Core> cores_;
  std::vector<std::unique_ptr<Space>> spaces_;
  std::vector<Pair> pairs_;
  std::vector<Space*> running_;
  MonoTime now_{1000};
  int step_ = 0;
  uint64_t served_ = 0;
  uint64_t firsts_ = 0;
  double widest_ = 0;
  double longest_wait_ = 0;
};

class FairShareModel : public ::testing::TestWithParam<Terms> {};

TEST_P(FairShareModel, AMillionRandomStepsKeepTheBound) {
  Cluster cluster(GetParam());
  cluster.Run(1'000'000);
  RecordProperty("widest_rounds", std::to_string(cluster.widest()));
  RecordProperty("longest_wait_rounds", std::to_string(cluster.longest_wait()));
}

INSTANTIATE_TEST_SUITE_P(
    All, FairShareModel,
    ::testing::Values(Terms{1, 1, 12, 1, 1, false}, Terms{2, 1, 16, 1000, 1, false},
                      Terms{3, 2, 12, 1, 1, false}, Terms{4, 2, 16, 1000, 1, false},
                      Terms{5, 4, 16, 1000, 1, true}, Terms{6, 4, 16, 10, 8, true}),
    [](const auto& test) {
      const Terms& terms = test.param;
      return std::to_string(terms.cores) + "Cores" + std::to_string(terms.spaces) + "Spaces" +
             std::to_string(terms.weight_max) + "Weight" + std::to_string(terms.count) + "Count" +
             (terms.limits ? "Limits" : "");
    });

}  // namespace
}  // namespace vestq
