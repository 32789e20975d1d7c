// The syncer's three modes.
#include "engine/syncer.h"

#include <gtest/gtest.h>

#include <condition_variable>

#include "engine/write_queue.h"
#include "tests/store/store_test_util.h"

namespace vestq {
namespace {

using std::chrono::milliseconds;

class SyncerTest : public ::testing::Test {
 protected:
  void Begin(const Syncer::Options& options) {
    store_ = OpenOrDie(TestOptions(dir_.Path("data")));
    queue_ = std::make_unique<WriteQueue>(store_.get());
    syncer_ = std::make_unique<Syncer>(queue_.get(), options);
    queue_->set_on_written([this] { syncer_->Notify(); });
    queue_->set_on_durable([this] {
      const std::lock_guard lock(mutex_);
      durable_ = queue_->durable();
      changed_.notify_all();
    });
    syncer_->Start();
  }
  Ticket Put() {
    Batch batch;
    batch.Put(Family::kRows, "k", std::to_string(++count_));
    const Ticket ticket = queue_->Submit(&batch);
    EXPECT_FALSE(queue_->Drain());
    return ticket;
  }
  bool WaitDurable(Ticket ticket) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::seconds(20), [&] { return durable_ >= ticket; });
  }

  TempDir dir_;
  std::unique_ptr<Store> store_;
  std::unique_ptr<WriteQueue> queue_;
  std::unique_ptr<Syncer> syncer_;
  std::mutex mutex_;
  std::condition_variable changed_;
  Ticket durable_;
  int count_ = 0;
};

TEST_F(SyncerTest, EverythingWrittenBecomesDurable) {
  Begin({});
  for (int i = 0; i < 300; ++i) {
    const Ticket ticket = Put();
    if (i % 3 == 0) {
      ASSERT_TRUE(WaitDurable(ticket)) << i;  // the syncer sleeps and is woken, again and again
    }
  }
  ASSERT_TRUE(WaitDurable(queue_->written()));
  syncer_->Stop();
  syncer_->Stop();
}

TEST_F(SyncerTest, IntervalTakesManyWritesAtOnce) {
  Begin({Syncer::Mode::kInterval, milliseconds(50), milliseconds(1000)});
  const auto start = std::chrono::steady_clock::now();
  ASSERT_TRUE(WaitDurable(Put()));
  for (int round = 0; round < 4; ++round) {
    for (int i = 0; i < 50; ++i) Put();
    ASSERT_TRUE(WaitDurable(queue_->written()));
  }
  // Five syncs, at least four intervals between them.
  EXPECT_GE(std::chrono::steady_clock::now() - start, milliseconds(4 * 50 - 5));
  syncer_->Stop();
}

TEST_F(SyncerTest, OsModeSyncsOnlyWhenStopping) {
  Begin({Syncer::Mode::kOs, milliseconds(1), milliseconds(1)});
  for (int i = 0; i < 100; ++i) Put();
  EXPECT_EQ(queue_->durable(), Ticket(0));
  syncer_->Stop();
  EXPECT_EQ(queue_->durable(), Ticket(100));
}

TEST_F(SyncerTest, StoppingSyncsWhatAnIntervalHeldBack) {
  Begin({Syncer::Mode::kInterval, milliseconds(3'600'000), milliseconds(1000)});
  ASSERT_TRUE(WaitDurable(Put()));  // the first at once
  const Ticket last = Put();
  syncer_->Stop();
  EXPECT_EQ(queue_->durable(), last);
}

TEST_F(SyncerTest, VouchesOnceAfterEachTimeOfWork) {
  Begin({Syncer::Mode::kSync, milliseconds(0), milliseconds(1)});
  for (uint64_t round = 1; round <= 3; ++round) {
    ASSERT_TRUE(WaitDurable(Put()));
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (syncer_->idle_vouches() < round && std::chrono::steady_clock::now() < deadline) {
      std::this_thread::yield();
    }
    EXPECT_EQ(syncer_->idle_vouches(), round);
  }
  syncer_->Stop();
  EXPECT_FALSE(queue_->VouchIdle());
  EXPECT_EQ(syncer_->idle_vouches(), 3u);
}

}  // namespace
}  // namespace vestq
