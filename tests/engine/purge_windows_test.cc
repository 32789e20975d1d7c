// PURGE and the windows of unique keys (UNIQUE ... FOR): which commands end them, that the key is free by
// the answer, that nothing is left, and that no other key is touched.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/engine/purge_fixture.h"

namespace vestq {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

class PurgeWindows : public QueueOnCores {
 protected:
  // False: the key is held.
  bool Take(const std::string& key, const std::string& space = "", Duration keep = Duration(0)) {
    last_ = Put([&](EnqueueRequest* r) {
      r->unique_key = key;
      r->unique_window = Hours(1);
      r->space = space;
      r->keep = keep;
      r->priority = 0;
    });
    return added_;
  }
  // A job that is done, and whose window is open.
  void Done(const std::string& key, const std::string& space = "", Duration keep = Duration(0)) {
    ASSERT_TRUE(Take(key, space, keep));
    const auto leased = world_.Lease("q");
    ASSERT_THAT(leased, SizeIs(1));
    ASSERT_EQ(leased[0].receipt.id, last_);
    ASSERT_TRUE(world_.Complete(leased[0].receipt).ok());
  }
  uint64_t Purge(const std::function<void(PurgeRequest*)>& set) {
    PurgeRequest request;
    request.queue = "q";
    set(&request);
    // Up to the answer only: nothing of the background.
    bool done = false;
    world_.Start(&request, &done, 1);
    while (!done) world_.Step();
    EXPECT_TRUE(request.error.ok()) << request.error.text();
    return request.removed;
  }
  uint64_t PurgeState(JobState state) {
    return Purge([state](PurgeRequest* r) { r->state = state; });
  }
  void ExpectLeft(uint64_t keys, uint64_t timers) {
    ExpectClean();
    EXPECT_EQ(world_.last_report().unique_keys, keys);
    EXPECT_EQ(world_.last_report().timers, timers);
  }

  JobId last_;
};

TEST_F(PurgeWindows, StateDoneEndsThemWhetherAnythingWasKeptOrNot) {
  Done("kept", "", Hours(2));
  Done("plain");
  Done("of a space", "acme");
  ASSERT_TRUE(Take("held"));
  const JobId holder = last_;
  EXPECT_FALSE(Take("kept"));
  EXPECT_FALSE(Take("plain"));
  EXPECT_EQ(PurgeState(JobState::kDone), 1u) << "kept results are counted, windows are not";
  EXPECT_TRUE(Take("kept"));
  EXPECT_TRUE(Take("plain"));
  EXPECT_FALSE(Take("held"));
  EXPECT_EQ(last_, holder);
  ExpectLeft(3, 0);
  EXPECT_FALSE(Take("plain")) << "the eraser leaves the new holder its key";
  EXPECT_TRUE(Take("of a space", "acme"));
}

TEST_F(PurgeWindows, WithoutKeptResultsToo) {
  Done("k");
  EXPECT_EQ(PurgeState(JobState::kDone), 0u);
  ExpectLeft(0, 0);
  EXPECT_TRUE(Take("k"));
}

TEST_F(PurgeWindows, OfTheNewLifeHold) {
  Done("k");
  PurgeState(JobState::kDone);
  Done("k");
  EXPECT_FALSE(Take("k"));
  ExpectLeft(1, 1);  // opens it again
  EXPECT_FALSE(Take("k"));
  PurgeState(JobState::kReady);
  EXPECT_FALSE(Take("k"));
  PurgeState(JobState::kDone);
  EXPECT_TRUE(Take("k"));
  ExpectLeft(1, 0);
}

TEST_F(PurgeWindows, OtherStatesAndIdsLeaveThem) {
  Done("k", "", Hours(2));
  const JobId done = last_;
  for (const JobState state : {JobState::kReady, JobState::kScheduled, JobState::kWaiting,
                               JobState::kLeased, JobState::kDead})
    PurgeState(state);
  Purge([](PurgeRequest*) {});
  EXPECT_EQ(Purge([done](PurgeRequest* r) { r->ids = {done}; }), 0u) << "as CANCEL of it is";
  EXPECT_FALSE(Take("k"));
  ExpectLeft(1, 2);
}

TEST_F(PurgeWindows, OfOneSpace) {
  Done("kept", "acme", Hours(2));
  Done("plain", "acme");
  Done("plain", "acm");
  Done("plain", "");
  Done("other", "");
  ASSERT_TRUE(Take("held", "acme"));
  const auto space = [](const std::string& name) {
    return [name](PurgeRequest* r) {
      r->state = JobState::kDone;
      r->one_space = true;
      r->space = name;
    };
  };
  EXPECT_EQ(Purge(space("acme")), 1u);
  EXPECT_TRUE(Take("kept", "acme"));
  EXPECT_TRUE(Take("plain", "acme"));
  EXPECT_FALSE(Take("held", "acme"));
  EXPECT_FALSE(Take("plain", "acm"));
  EXPECT_FALSE(Take("plain"));
  EXPECT_EQ(Purge(space("")), 0u);
  EXPECT_TRUE(Take("plain"));
  EXPECT_TRUE(Take("other"));
  EXPECT_FALSE(Take("plain", "acm"));
  ExpectLeft(6, 1);
}

TEST_F(PurgeWindows, ADeadJobIsRedrivenOntoTheFreedKey) {
  ASSERT_TRUE(Take("k"));
  const JobId dead = last_;
  FailRequest fail;
  fail.receipt = world_.Lease("q").at(0).receipt;
  fail.to_dead = true;
  world_.Run(&fail);
  Done("k");
  RedriveRequest redrive;
  redrive.queue = "q";
  redrive.id = dead;
  world_.Run(&redrive);
  EXPECT_EQ(redrive.error.code(), ErrorCode::kBusy);
  PurgeState(JobState::kDone);
  redrive.error = Error::Ok();
  world_.Run(&redrive);
  EXPECT_TRUE(redrive.error.ok()) << redrive.error.text();
  EXPECT_FALSE(Take("k"));
  ExpectLeft(1, 0);
}

TEST_F(PurgeWindows, ManyAreErasedInSlices) {
  for (int i = 0; i < 1500; ++i) ASSERT_TRUE(Take("key" + std::to_string(i)));
  for (const LeasedJob& job : world_.Lease("q", 1000))
    ASSERT_TRUE(world_.Complete(job.receipt).ok());
  EXPECT_EQ(PurgeState(JobState::kDone), 0u);
  ExpectLeft(500, 0);
}

TEST(PurgeWindowsRaces, ACrashAtAnyMomentLeavesAllOrNothing) {
  int freed = 0;
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    World world(Options(seed));
    world.Open();
    EnqueueRequest unique;
    unique.queue = "q";
    unique.payload = "u";
    unique.unique_key = "k";
    unique.unique_window = Hours(1);
    world.Run(&unique);
    ASSERT_TRUE(world.Complete(world.Lease("q").at(0).receipt).ok());
    PurgeRequest purge;
    purge.queue = "q";
    purge.state = JobState::kDone;
    bool done = false;
    world.Start(&purge, &done, static_cast<uint16_t>(seed % kCores));
    CrashAndOpen(&world, seed, seed * 2);
    EnqueueRequest again;
    again.queue = "q";
    again.payload = "u";
    again.unique_key = "k";
    world.Run(&again);
    if (done) {
      EXPECT_TRUE(again.added) << seed;
    }
    freed += again.added;
    world.Settle();
    EXPECT_THAT(world.Violations(), IsEmpty()) << seed;
    EXPECT_EQ(world.last_report().void_keys, 0u) << seed;
    EXPECT_EQ(world.last_report().unique_keys, 1u) << seed;
    EXPECT_EQ(world.discipline_breach(), "") << seed;
  }
  EXPECT_GT(freed, 5);
  EXPECT_LT(freed, 40);
}

}  // namespace
}  // namespace vestq
