// What is read of a job that waits, while its queue is purged or dropped between two reads of one task.
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>

#include "engine/link_task.h"
#include "engine/queue_registry.h"
#include "engine/write_queue.h"
#include "tests/store/store_test_util.h"

namespace vestq {
namespace {

// A store in whose reading something happens.
class Interposed : public Store {
 public:
  Interposed(Store* store, std::function<void(const std::string& key)> behind)
      : store_(store), behind_(std::move(behind)) {}
  Error Get(Family family, std::string_view key, std::string* value) const override {
    const Error error = store_->Get(family, key, value);
    behind_(std::string(key));
    return error;
  }
  Error MultiGet(Family family, const std::vector<std::string>& keys,
                 std::vector<std::string>* values, std::vector<bool>* found) const override {
    return store_->MultiGet(family, keys, values, found);
  }
  std::unique_ptr<StoreIterator> NewIterator(Family family, std::string_view lower,
                                             std::string_view upper) const override {
    return store_->NewIterator(family, lower, upper);
  }

 private:
  Store* const store_;
  const std::function<void(const std::string& key)> behind_;
};

class ChildTaskRead : public ::testing::Test {
 protected:
  static constexpr LaneId kLane{1};
  static constexpr JobId kChild{17};
  static constexpr JobId kParent{18};

  ChildTaskRead()
      : store_(OpenOrDie(TestOptions(dir_.Path("store")))),
        writes_(store_.get()),
        queues_(&writes_, 1),
        queue_(*queues_.Get("q")) {
    queues_.EnsureStored(queue_);
    keycodec::JobHeader header;
    header.zone = {queue_->life.number, Incarnation(1), keycodec::Order::kPriority, ""};
    Batch batch;
    std::string key, value;
    keycodec::AppendJobKey(kLane, kChild, &key);
    keycodec::AppendJobRecord(header, "payload", &value);
    batch.Put(Family::kJob, key, value);
    row_key_ = keycodec::WaitingKey(queue_->life.number, Incarnation(1), kChild);
    keycodec::WaitingValue waiting;
    waiting.zone = header.zone;
    waiting.lane = kLane;
    waiting.pending = 1;
    Put(row_key_, waiting, &batch);
    keycodec::JobRow row;
    row.place = keycodec::Place::kWaiting;
    row.key = row_key_;
    Put(keycodec::JobRowKey(kLane, kChild), row, &batch);
    Put(keycodec::ChildEdgeKey(kLane, kChild, kParent), keycodec::EdgeValue{}, &batch);
    writes_.Submit(&batch);
    EXPECT_FALSE(writes_.Drain());
  }

  template <typename Value>
  static void Put(const std::string& key, const Value& row, Batch* batch) {
    std::string bytes;
    keycodec::Append(row, &bytes);
    batch->Put(Family::kRows, key, bytes);
  }
  // The read, with `change` right behind that of the waiting row.
  ChildTask& Read(const std::function<void()>& change) {
    const Interposed store(store_.get(), [&](const std::string& key) {
      if (key == row_key_ && ++reads_ == 1) change();
    });
    task_ = std::make_unique<ChildTask>(kLane, kChild, &queues_);
    task_->parents = {kParent};
    EXPECT_TRUE(task_->Run(store).ok());
    return *task_;
  }

  TempDir dir_;
  std::unique_ptr<Store> store_;
  WriteQueue writes_;
  QueueRegistry queues_;
  QueueRecord* const queue_;
  std::string row_key_;
  int reads_ = 0;
  std::unique_ptr<ChildTask> task_;
};

TEST_F(ChildTaskRead, FindsAJobThatWaits) {
  const ChildTask& task = Read([] {});
  EXPECT_EQ(task.edges, std::vector<JobId>{kParent});
  ASSERT_TRUE(task.waiting.has_value());
  EXPECT_EQ(task.job.state, JobState::kWaiting);
}

TEST_F(ChildTaskRead, OneThatIsDroppedMeanwhileWaitsForNothing) {
  const ChildTask& task = Read([this] { EXPECT_TRUE(queues_.Drop(queue_).has_value()); });
  EXPECT_EQ(task.edges, std::vector<JobId>{kParent});
  EXPECT_FALSE(task.waiting.has_value());
}

TEST_F(ChildTaskRead, OneThatIsPurgedMeanwhileWaitsForNothing) {
  EXPECT_FALSE(
      Read([this] { queues_.Purge(queue_, Only(KeyKind::kWaiting)); }).waiting.has_value());
}

TEST_F(ChildTaskRead, OneWhoseQueueIsPurgedOfOthersStillWaits) {
  const ChildTask& task = Read([this] { queues_.Purge(queue_, Only(KeyKind::kDead)); });
  ASSERT_TRUE(task.waiting.has_value());
  EXPECT_EQ(task.job.state, JobState::kWaiting);
  EXPECT_EQ(task.job.life->version, queue_->life.version);  // its owner compares with this one
}

}  // namespace
}  // namespace vestq
