// Every span that a user can give lasts its real length: whatever the wall clock does, while the
// process stands still, and across restarts (case B28; ARCHITECTURE.md, TIME-1).
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "lease/backoff.h"
#include "tests/sim/world.h"

namespace vestq {
namespace {

constexpr Duration kSpan = Seconds(10);

// One kind of span: begins it in a world, then tells whether it is over. `over` is asked twice, just
// before its end and at it.
struct Span {
  std::string name;
  std::function<void(World*)> begin;
  std::function<bool(World*)> over;
  bool survives = true;  // a restart
};

JobId Enqueue(World* world, const std::function<void(EnqueueRequest*)>& with) {
  EnqueueRequest request;
  request.queue = "q";
  with(&request);
  world->Run(&request);
  EXPECT_TRUE(request.error.ok()) << request.error.ToString();
  return request.id;
}

void SetQueue(World* world, const std::function<void(QueueSetRequest*)>& with) {
  QueueSetRequest request;
  request.queue = "q";
  with(&request);
  world->Run(&request);
  EXPECT_TRUE(request.error.ok()) << request.error.ToString();
}

Receipt LeaseOne(World* world, Duration lease = Hours(1)) {
  const auto jobs = world->Lease("q", 1, lease);
  EXPECT_EQ(jobs.size(), 1u);
  return jobs.empty() ? Receipt() : jobs[0].receipt;
}

void FailOne(
    World* world, const std::function<void(FailRequest*)>& with = [](FailRequest*) {}) {
  FailRequest request;
  request.receipt = LeaseOne(world);
  with(&request);
  world->Run(&request);
  EXPECT_TRUE(request.error.ok()) << request.error.ToString();
}

// What the closures of a span share: the job it is about.
std::vector<Span> Spans() {
  const auto id = std::make_shared<JobId>();
  const auto is = [id](JobState state) {
    return [id, state](World* world) { return world->State(*id) == state; };
  };
  const auto blocked = std::make_shared<LeaseRequest>();
  const auto answered = std::make_shared<bool>();
  return {
      {"delay",
       [id](World* world) {
         *id = Enqueue(world, [](EnqueueRequest* r) {
           r->when = EnqueueRequest::When::kDelay;
           r->delay = kSpan;
         });
       },
       is(JobState::kReady)},
      {"lease",
       [id](World* world) {
         *id = world->Enqueue("q", "p");
         LeaseOne(world, kSpan);
       },
       is(JobState::kReady)},
      {"renewed",
       [id](World* world) {
         *id = world->Enqueue("q", "p");
         RenewRequest renew;
         renew.receipt = LeaseOne(world, Seconds(1));
         renew.lease = kSpan;
         world->Run(&renew);
       },
       is(JobState::kReady), false},  // after a crash it may be longer (LEASE-4)
      {"back-off",
       [id](World* world) {
         SetQueue(world,
                  [](QueueSetRequest* r) { r->set.backoff = ParseBackoff("fixed:10s").value(); });
         *id = world->Enqueue("q", "p");
         FailOne(world);
       },
       is(JobState::kReady)},
      {"retry",
       [id](World* world) {
         *id = world->Enqueue("q", "p");
         FailOne(world, [](FailRequest* r) {
           r->delay_set = true;
           r->delay = kSpan;
         });
       },
       is(JobState::kReady)},
      {"expiry",
       [id](World* world) { *id = Enqueue(world, [](EnqueueRequest* r) { r->expire = kSpan; }); },
       is(JobState::kGone)},
      {"kept",
       [id](World* world) {
         *id = Enqueue(world, [](EnqueueRequest* r) { r->keep = kSpan; });
         EXPECT_TRUE(world->Complete(LeaseOne(world)).ok());
       },
       is(JobState::kGone)},
      {"window",
       [](World* world) {
         Enqueue(world, [](EnqueueRequest* r) {
           r->unique_key = "k";
           r->unique_window = kSpan;
         });
         EXPECT_TRUE(world->Complete(LeaseOne(world)).ok());
       },
       [](World* world) {
         EnqueueRequest request;
         request.queue = "q";
         request.unique_key = "k";
         world->Run(&request);
         return request.added;
       }},
      {"pause",
       [](World* world) {
         SetQueue(world, [](QueueSetRequest* r) {
           r->pause = true;
           r->pause_for = kSpan;
         });
         world->Enqueue("q", "p");
       },
       [](World* world) { return !world->Lease("q").empty(); }},
      {"wait",
       [blocked, answered](World* world) {
         *answered = false;
         blocked->queues = {"q"};
         blocked->wait = true;
         blocked->block = kSpan;
         world->Start(blocked.get(), answered.get());
       },
       [answered](World*) { return *answered; }, false},
  };
}

enum class Between { kNothing, kSuspended, kKilled, kRebooted };
struct Step {
  std::string name;
  int64_t wall_ms;  // at the beginning
  Duration by;
};

class SpanTest : public ::testing::TestWithParam<std::tuple<size_t, size_t, Between>> {};

constexpr int64_t kToday = 1'700'000'000'000;
const std::vector<Step>& Steps() {
  static const std::vector<Step> steps = {
      {"Still", kToday, Duration(0)},
      {"HourBack", kToday, Hours(-1)},
      {"HourOn", kToday, Hours(1)},
      {"TenYearsBack", kToday, Hours(-24 * 3650)},
      {"TenYearsOn", kToday, Hours(24 * 3650)},
      {"From1970", 5'000, Milliseconds(kToday)},
  };
  return steps;
}

TEST_P(SpanTest, LastsItsRealLength) {
  const Span span = Spans()[std::get<0>(GetParam())];
  const Step& step = Steps()[std::get<1>(GetParam())];
  const Between between = std::get<2>(GetParam());
  if (!span.survives && between >= Between::kKilled) return;  // it ends with the process
  World world;
  world.clock().wall_ms = step.wall_ms;
  world.Open();
  span.begin(&world);
  world.Advance(Seconds(1));
  world.Settle();
  world.StepWall(step.by);
  Duration left = kSpan - Seconds(1);
  switch (between) {
    case Between::kNothing: world.Settle(); break;
    case Between::kSuspended:  // no turn in between
      world.Advance(left - Milliseconds(1));
      left = Milliseconds(1);
      break;
    case Between::kKilled:  // the same boot: the time it was down is known
      world.Kill();
      world.Advance(Seconds(2));
      world.StepWall(step.by);  // also while it is down
      world.Open();
      left = left - Seconds(2);
      break;
    case Between::kRebooted:
      world.Enqueue("other", "a turn that stores both clocks");
      world.PowerCut(CrashMode::kLoseUnsynced);
      world.Boot(Seconds(2));
      world.Open();
      left = left - Seconds(2);
      break;
  }
  world.Settle();
  if (left > Milliseconds(1)) world.Advance(left - Milliseconds(1));
  world.Settle();
  EXPECT_FALSE(span.over(&world)) << "too early";
  world.Advance(Milliseconds(1));
  world.Settle();
  EXPECT_TRUE(span.over(&world)) << "not at its time";
  EXPECT_TRUE(world.Violations().empty());
}

std::string NameOf(const ::testing::TestParamInfo<SpanTest::ParamType>& info) {
  static const char* const kBetween[] = {"", "Suspended", "Killed", "Rebooted"};
  std::string name = Spans()[std::get<0>(info.param)].name + Steps()[std::get<1>(info.param)].name +
                     kBetween[static_cast<size_t>(std::get<2>(info.param))];
  std::erase(name, '-');
  return name;
}

INSTANTIATE_TEST_SUITE_P(All, SpanTest,
                         ::testing::Combine(::testing::Range(size_t{0}, Spans().size()),
                                            ::testing::Range(size_t{0}, Steps().size()),
                                            ::testing::Values(Between::kNothing,
                                                              Between::kSuspended, Between::kKilled,
                                                              Between::kRebooted)),
                         NameOf);

}  // namespace
}  // namespace vestq
