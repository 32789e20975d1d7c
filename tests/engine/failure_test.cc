// What the engine refuses to open, and what it answers once its disk has failed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/sim/world.h"

namespace vestq {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(Opening, LanesAreFixedAndCoresFitInThem) {
  WorldOptions options;
  options.lanes = 4;
  World world(options);
  world.Open();
  world.Enqueue("q", "p");
  ASSERT_TRUE(world.Close().ok());

  world.set_lanes(8);
  Error error = world.TryOpen();
  EXPECT_EQ(error.code(), ErrorCode::kRange);
  EXPECT_THAT(error.text(), HasSubstr("has 4 lanes, not 8"));

  world.set_lanes(0);
  world.set_cores(5);
  error = world.TryOpen();
  EXPECT_EQ(error.code(), ErrorCode::kRange);
  EXPECT_THAT(error.text(), HasSubstr("5 cores are more than the 4 lanes"));

  world.set_cores(4);
  world.Open();
  EXPECT_EQ(world.engine()->Info().lanes, 4);
  EXPECT_EQ(world.Lease("q", 1, Duration(0), 3).size(), 1u);
}

TEST(Opening, OptionsOutOfRangeAreNamed) {
  for (auto [cores, lanes, memory, text] :
       {std::tuple<int, int, uint64_t, const char*>{0, 0, limits::kMemoryDefault, "cores"},
        {65, 0, limits::kMemoryDefault, "cores"},
        {1, 1025, limits::kMemoryDefault, "lanes"},
        {1, 0, 1 << 20, "memory"}}) {
    EngineOptions options;
    options.path = "/nonexistent/never-made";
    options.cores = static_cast<uint16_t>(cores);
    options.lanes = static_cast<uint16_t>(lanes);
    options.memory = memory;
    const auto opened = Engine::Open(options);
    ASSERT_FALSE(opened.ok());
    EXPECT_EQ(opened.error().code(), ErrorCode::kRange);
    EXPECT_THAT(opened.error().text(), HasSubstr(text));
  }
}

TEST(Opening, EachStartRaisesTheEpochAndNoIdIsGivenTwice) {
  World world;
  world.Open();
  JobId last(0);
  for (uint32_t start = 1; start <= 4; ++start) {
    EXPECT_EQ(world.engine()->Info().epoch, start);
    const JobId id = world.Enqueue("q", "p");
    EXPECT_LT(last, id);
    last = id;
    if (start % 2 == 0) {
      ASSERT_TRUE(world.Close().ok());
    } else {
      world.PowerCut(CrashMode::kTorn);
    }
    world.Open();
  }
  EXPECT_EQ(world.Lease("q", 10).size(), 4u);
}

struct Fault {
  SimCall call;
  SimErrno error;
};

class DiskFailure : public ::testing::TestWithParam<Fault> {};

TEST_P(DiskFailure, AnswersNotDurableAndRefusesEverythingFromThenOn) {
  World world;
  world.Open();
  const JobId before = world.Enqueue("q", "before");
  LeaseRequest waits;
  bool waits_done = false;
  waits.queues = {"empty"};
  waits.wait = true;
  world.Start(&waits, &waits_done);
  world.Settle();

  world.fs().Inject({GetParam().call, 1, true, GetParam().error, ".log"});
  EnqueueRequest lost;
  bool lost_done = false;
  lost.queue = "q";
  lost.payload = "lost";
  world.Start(&lost, &lost_done);
  world.Settle();
  ASSERT_TRUE(lost_done);
  EXPECT_EQ(lost.error.code(), ErrorCode::kNotDurable);
  EXPECT_TRUE(world.engine()->failed());
  ASSERT_TRUE(waits_done);
  EXPECT_FALSE(waits.error.ok());

  world.fs().ClearFaults();  // an fsync is never retried
  EnqueueRequest later;
  bool later_done = false;
  later.queue = "q";
  world.Start(&later, &later_done);
  JobRequest look;
  bool look_done = false;
  look.id = before;
  world.Start(&look, &look_done);
  world.Settle();
  ASSERT_TRUE(later_done && look_done);
  EXPECT_EQ(later.error.code(), ErrorCode::kShutdown);
  EXPECT_EQ(look.error.code(), ErrorCode::kShutdown);

  world.PowerCut(CrashMode::kLoseUnsynced);
  EXPECT_THAT(world.CheckOffline(), IsEmpty());
  world.Open();
  const auto jobs = world.Lease("q", 10);
  ASSERT_GE(jobs.size(), 1u);
  EXPECT_EQ(jobs[0].receipt.id, before);
}

INSTANTIATE_TEST_SUITE_P(OfTheLog, DiskFailure,
                         ::testing::Values(Fault{SimCall::kAppend, SimErrno::kNoSpace},
                                           Fault{SimCall::kAppend, SimErrno::kIo},
                                           Fault{SimCall::kSync, SimErrno::kIo},
                                           Fault{SimCall::kSync, SimErrno::kNoSpace}));

TEST(FullDisk, EndsTheEngineAndOpensAgainWhenThereIsRoom) {
  World world;
  world.Open();
  world.fs().SetCapacity(uint64_t{24} << 20);
  std::vector<JobId> accepted;
  for (int i = 0; i < 4000; ++i) {
    EnqueueRequest request;
    request.queue = "q";
    request.payload.resize(16384);  // incompressible
    for (char& c : request.payload) c = static_cast<char>(world.random().Next());
    bool done = false;
    world.Start(&request, &done);
    world.Settle();
    ASSERT_TRUE(done);
    if (!request.error.ok()) {
      EXPECT_EQ(request.error.code(), ErrorCode::kNotDurable);
      break;
    }
    accepted.push_back(request.id);
  }
  EXPECT_TRUE(world.engine()->failed());
  EXPECT_LT(accepted.size(), 4000u);
  EXPECT_GT(accepted.size(), 100u);
  world.Kill();
  world.fs().SetCapacity(uint64_t{1} << 40);
  EXPECT_THAT(world.CheckOffline(), IsEmpty());
  world.Open();
  std::vector<JobId> found;
  for (;;) {
    const auto jobs = world.Lease("q", 100);
    if (jobs.empty()) break;
    for (const LeasedJob& job : jobs) found.push_back(job.receipt.id);
  }
  for (JobId id : accepted) EXPECT_THAT(found, ::testing::Contains(id));
}

}  // namespace
}  // namespace vestq
