// Case B17: after a great drain nothing wades through what was deleted. Counted is work inside RocksDB, not
// time: reads asked of it, and keys that its iterators passed over because they were deleted.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rocksdb/statistics.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "engine/handling_request.h"
#include "tests/engine/complete_all.h"
#include "tests/engine/world_fixture.h"

namespace vestq {
namespace {

using ::testing::IsEmpty;

constexpr size_t kJobs = 100'000;
constexpr size_t kMany = 1000;

class Drained : public ::testing::Test {
 protected:
  Drained() : world_(Options()) { world_.Open(); }

  WorldOptions Options() {
    WorldOptions options = WorldOf(1, 4);
    options.statistics = statistics_;
    return options;
  }
  struct Work {
    uint64_t reads, skipped, steps;
  };
  Work Since(const Work& before) {
    const Work now = Now();
    return {now.reads - before.reads, now.skipped - before.skipped, now.steps - before.steps};
  }
  Work Now() {
    return {world_.engine()->Info().cold_reads,
            statistics_->getTickerCount(rocksdb::NUMBER_ITER_SKIP),
            statistics_->getTickerCount(rocksdb::NUMBER_DB_SEEK) +
                statistics_->getTickerCount(rocksdb::NUMBER_DB_NEXT)};
  }
  void Put(size_t jobs, Duration delay = Duration(0)) {
    for (size_t i = 0; i < jobs; i += kMany) {
      EnqueueManyRequest many;
      many.job.queue = "q";
      if (delay > Duration(0)) {
        world_.Advance(Milliseconds(1));
        many.job.when = EnqueueRequest::When::kDelay;
        many.job.delay = delay;
      }
      many.payloads.assign(std::min(kMany, jobs - i), std::string(200, 'x'));
      world_.Run(&many);
      ASSERT_TRUE(many.error.ok()) << many.error.ToString();
    }
  }
  // The case's step 1: a job comes and goes, a hundred times; and as many LEASEs of the empty queue.
  Work LittleWork() {
    const Work before = Now();
    for (int i = 0; i < 100; ++i) {
      Put(1);
      CompleteAll(&world_, "q", 1);
      EXPECT_THAT(world_.Lease("q"), IsEmpty());
    }
    return Since(before);
  }
  // What the drain of each tenth took.
  std::vector<Work> Tenths() {
    std::vector<Work> out;
    for (int i = 0; i < 10; ++i) {
      const Work before = Now();
      CompleteAll(&world_, "q", kJobs / 10);
      out.push_back(Since(before));
    }
    return out;
  }

  std::shared_ptr<rocksdb::Statistics> statistics_ = rocksdb::CreateDBStatistics();
  World world_;
};

TEST_F(Drained, AQueueThatWasFullIsAsGoodAsNew) {
  const Work fresh = LittleWork();
  EXPECT_EQ(fresh.reads, 0u) << "a job that comes and goes reads nothing";
  for (int round = 0; round < 2; ++round) {
    Put(kJobs);
    const std::vector<Work> tenths = Tenths();
    // A refill starts behind what was taken, so it passes over little, and the last as little as the first.
    for (const Work& tenth : tenths) {
      EXPECT_LE(tenth.reads, tenths[0].reads * 3 / 2 + 16);
      EXPECT_LE(tenth.skipped, kJobs / 10) << "each deleted key is passed over once at most";
      EXPECT_LE(tenth.steps, kJobs / 10 * 3);
    }
    const Work after = LittleWork();
    EXPECT_LE(after.reads, 16u) << "round " << round;
    EXPECT_LE(after.skipped, 4096u) << "round " << round;
    EXPECT_EQ(world_.Counts("q").bytes, 0);
  }
}

TEST_F(Drained, ARestartAfterTheDrainStartsAtOnce) {
  Put(kJobs);
  CompleteAll(&world_, "q", kJobs);
  world_.Kill();
  world_.Open();
  world_.Settle();
  const Work before = Now();
  LittleWork();
  const Work after = Since(before);
  EXPECT_LE(after.reads, 64u);
  EXPECT_LE(after.skipped, kJobs / 10);
  EXPECT_THAT(world_.Lease("q"), IsEmpty());
}

// Of one millisecond a thousand; a hundred thousand of one: no_scan_test.cc.
TEST_F(Drained, JobsThatAreDueWithinAMomentVestAndGoLikewise) {
  Put(kJobs, Seconds(10));
  world_.Advance(Seconds(11));
  const Work before = Now();
  world_.Settle();
  const Work vested = Since(before);
  EXPECT_EQ(world_.Counts("q").ready, static_cast<int64_t>(kJobs));
  EXPECT_LE(vested.skipped, kJobs * 4);
  const std::vector<Work> tenths = Tenths();
  for (const Work& tenth : tenths) EXPECT_LE(tenth.skipped, kJobs / 10);
  const Work after = LittleWork();
  EXPECT_LE(after.reads, 16u);
  EXPECT_LE(after.skipped, 4096u);
}

}  // namespace
}  // namespace vestq
