// "No scan", by counts of RocksDB's own work: what ends one job among very many touches keys by the dozen, and
// what ends very many touches each a few times. Everything here runs on one thread, whose counts RocksDB keeps.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rocksdb/perf_context.h>
#include <rocksdb/perf_level.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "engine/handling_request.h"
#include "tests/engine/complete_all.h"
#include "tests/engine/world_fixture.h"

namespace vestq {
namespace {

using ::testing::IsEmpty;

constexpr size_t kMany = 1000;  // of one ENQUEUEMANY
constexpr uint64_t kBounded = 100;

class NoScan : public ::testing::Test {
 protected:
  NoScan() : world_(WorldOf(1, 4)) {
    rocksdb::SetPerfLevel(rocksdb::PerfLevel::kEnableCount);
    world_.Open();
  }
  ~NoScan() override { rocksdb::SetPerfLevel(rocksdb::PerfLevel::kDisable); }

  // Seeks, steps and keys that were passed over because they were deleted or overwritten, of what `work` and
  // all that follows from it takes; and reads of single keys.
  uint64_t Touched(const std::function<void()>& work) {
    rocksdb::PerfContext* const perf = rocksdb::get_perf_context();
    perf->Reset();
    work();
    world_.Settle();
    return perf->iter_seek_count + perf->iter_next_count + perf->internal_key_skipped_count +
           perf->internal_delete_skipped_count + perf->get_from_memtable_count;
  }
  uint64_t TouchedAfter(Duration time) {
    return Touched([this, time] { world_.Advance(time); });
  }
  JobId Put(const Setter<EnqueueRequest>& set) { return PutJob(&world_, set, 0); }
  void PutMany(size_t jobs, const Setter<EnqueueRequest>& set) {
    for (size_t i = 0; i < jobs; i += kMany) {
      EnqueueManyRequest many;
      many.job.queue = "q";
      set(&many.job);
      many.payloads.assign(std::min(kMany, jobs - i), "p");
      world_.Run(&many);
      ASSERT_TRUE(many.error.ok()) << many.error.ToString();
    }
  }

  World world_;
};

TEST_F(NoScan, AParentTellsItsChildAmongAHundredThousandThatWaitForAnother) {
  constexpr size_t kWaiting = 100'000;
  const auto to = [](const char* queue) {
    return [queue](EnqueueRequest* r) { r->queue = queue; };
  };
  const JobId other = Put(to("other"));
  const JobId parent = Put(to("parent"));
  const auto waits = [other](EnqueueRequest* r) { r->after = {other}; };
  PutMany(kWaiting / 2, waits);
  const JobId child = Put([parent](EnqueueRequest* r) { r->after = {parent}; });
  PutMany(kWaiting / 2, waits);
  ASSERT_EQ(world_.Counts("q").waiting, static_cast<int64_t>(kWaiting + 1));
  const Receipt receipt = world_.Lease("parent").at(0).receipt;
  EXPECT_LE(Touched([&] { EXPECT_TRUE(world_.Complete(receipt).ok()); }), kBounded);
  EXPECT_EQ(world_.State(child), JobState::kReady);
  EXPECT_EQ(world_.Counts("q").ready, 1);
  // One that is cancelled says so in the same way.
  const JobId gone = Put(to("parent"));
  const JobId dies = Put([gone](EnqueueRequest* r) { r->after = {gone}; });
  CancelRequest cancel;
  cancel.id = gone;
  EXPECT_LE(Touched([&] { world_.Run(&cancel); }), kBounded);
  EXPECT_EQ(world_.State(dies), JobState::kDead);
}

TEST_F(NoScan, KeptResultsGoOneAndAll) {
  constexpr size_t kJobs = 10'000;
  const auto keep = [](Duration d) { return [d](EnqueueRequest* r) { r->keep = d; }; };
  PutMany(kJobs, keep(Hours(1)));
  CompleteAll(&world_, "q", kJobs, "result");
  PutMany(1, keep(Seconds(10)));
  CompleteAll(&world_, "q", 1, "soon");
  ASSERT_EQ(world_.Counts("q").done, static_cast<int64_t>(kJobs + 1));
  EXPECT_LE(TouchedAfter(Seconds(11)), kBounded);
  EXPECT_EQ(world_.Counts("q").done, static_cast<int64_t>(kJobs));
  EXPECT_LE(TouchedAfter(Hours(1)), kJobs * 4);
  EXPECT_EQ(world_.Counts("q").done, 0);
  EXPECT_LE(TouchedAfter(Hours(1)), kBounded);
}

TEST_F(NoScan, JobsExpireOneAndAll) {
  constexpr size_t kJobs = 10'000;
  const auto expire = [](Duration d) { return [d](EnqueueRequest* r) { r->expire = d; }; };
  PutMany(kJobs, expire(Hours(1)));
  PutMany(1, expire(Seconds(10)));
  EXPECT_LE(TouchedAfter(Seconds(11)), kBounded);
  EXPECT_EQ(world_.Counts("q").lapsed, 1);
  EXPECT_LE(TouchedAfter(Hours(1)), kJobs * 12);
  EXPECT_EQ(world_.Counts("q").lapsed, static_cast<int64_t>(kJobs + 1));
  EXPECT_EQ(world_.Counts("q").ready, 0);
  EXPECT_LE(TouchedAfter(Hours(1)), kBounded);
}

TEST_F(NoScan, UniqueWindowsRunOutOneAndAll) {
  constexpr size_t kJobs = 10'000;
  const auto put = [this](const std::string& key, Duration window) {
    Put([&](EnqueueRequest* r) {
      r->unique_key = key;
      r->unique_window = window;
    });
  };
  for (size_t i = 0; i < kJobs; ++i) put(std::to_string(i), Hours(1));
  put("soon", Seconds(10));
  CompleteAll(&world_, "q", kJobs + 1);
  EXPECT_LE(TouchedAfter(Seconds(11)), kBounded);
  put("soon", Seconds(10));
  EXPECT_EQ(world_.Counts("q").ready, 1) << "the key is free again";
  EXPECT_LE(TouchedAfter(Hours(1)), kJobs * 6);
  put("17", Hours(1));
  EXPECT_EQ(world_.Counts("q").ready, 2);
  EXPECT_LE(TouchedAfter(Seconds(1)), kBounded);
}

// All in one millisecond: no slice wades through what those before it took.
TEST_F(NoScan, AHundredThousandJobsThatAreDueAtOnceVestLikewise) {
  constexpr size_t kJobs = 100'000;
  PutMany(kJobs, [](EnqueueRequest* r) {
    r->when = EnqueueRequest::When::kDelay;
    r->delay = Seconds(10);
  });
  EXPECT_LE(TouchedAfter(Seconds(11)), kJobs * 3);
  EXPECT_EQ(world_.Counts("q").ready, static_cast<int64_t>(kJobs));
  EXPECT_THAT(world_.Violations(), IsEmpty());
}

// One that is put into that moment while it is worked off is not passed over.
TEST_F(NoScan, WhatComesIntoAMomentThatIsBeingWorkedOffIsFound) {
  PutMany(5000, [this](EnqueueRequest* r) {
    r->when = EnqueueRequest::When::kAt;
    r->at = WallTime(world_.clock().wall_ms) + Seconds(10);
  });
  std::vector<std::unique_ptr<EnqueueRequest>> more;
  const auto done = std::make_unique<bool[]>(200);
  const WallTime at = WallTime(world_.clock().wall_ms) + Seconds(10);
  world_.Advance(Seconds(10) - Milliseconds(1));
  for (size_t i = 0; i < 200; ++i) {
    auto job = std::make_unique<EnqueueRequest>();
    job->queue = "q";
    job->when = EnqueueRequest::When::kAt;
    job->at = at;
    world_.Start(job.get(), &done[i]);
    more.push_back(std::move(job));
    if (i == 100) world_.Advance(Milliseconds(1));
    for (int step = 0; step < 5; ++step) world_.Step();
    // The clock is stepped back a little, so that it is ahead of that moment again.
    if (i > 100 && i % 10 == 0) world_.StepWall(Milliseconds(i % 20 == 0 ? -1 : 1));
  }
  world_.Advance(Seconds(1));
  world_.Settle();
  EXPECT_EQ(world_.Counts("q").ready, 5200);
  EXPECT_EQ(world_.Counts("q").scheduled, 0);
  EXPECT_THAT(world_.Violations(), IsEmpty());
}

}  // namespace
}  // namespace vestq
