// FAMILY-1: the checker lets the discipline pass and finds each way to break it.
#include "tests/sim/discipline_checker.h"

#include <gtest/gtest.h>

#include <string>

#include "rocksdb/comparator.h"
#include "rocksdb/db.h"
#include "rocksdb/write_batch.h"

namespace vestq {
namespace {

// Names a column family without a DB, for building batches.
class Handle : public rocksdb::ColumnFamilyHandle {
 public:
  explicit Handle(uint32_t id) : id_(id) {}
  const std::string& GetName() const override { return name_; }
  uint32_t GetID() const override { return id_; }
  rocksdb::Status GetDescriptor(rocksdb::ColumnFamilyDescriptor*) override {
    return rocksdb::Status::NotSupported();
  }
  const rocksdb::Comparator* GetComparator() const override {
    return rocksdb::BytewiseComparator();
  }

 private:
  uint32_t id_;
  std::string name_;
};

class DisciplineCheckerTest : public testing::Test {
 protected:
  void ExpectBreach(const char* what) {
    const size_t vesting_before = checker_.size(Family::kVesting);
    const size_t jobs_before = checker_.size(Family::kJob);
    const Error error = checker_.Check(batch_.Data());
    EXPECT_EQ(error.code(), ErrorCode::kBusy);
    EXPECT_NE(error.text().find("FAMILY-1"), std::string::npos) << error.text();
    EXPECT_NE(error.text().find(what), std::string::npos) << error.text();
    EXPECT_EQ(checker_.size(Family::kVesting), vesting_before);
    EXPECT_EQ(checker_.size(Family::kJob), jobs_before);
    batch_.Clear();
  }
  void ExpectFine() {
    const Error error = checker_.Check(batch_.Data());
    EXPECT_TRUE(error.ok()) << error.ToString();
    batch_.Clear();
  }

  Handle rows_{0};
  Handle vesting_{1};
  Handle job_{2};
  Handle kv_{3};
  rocksdb::WriteBatch batch_;
  DisciplineChecker checker_;
};

TEST_F(DisciplineCheckerTest, LifeOfAJobPasses) {
  ASSERT_TRUE(batch_.Put(&vesting_, "ready", "v").ok());
  ASSERT_TRUE(batch_.Put(&job_, "1", "payload").ok());
  ASSERT_TRUE(batch_.PutLogData("durable").ok());
  ASSERT_TRUE(batch_.Put(&rows_, "count", "1").ok());
  ExpectFine();
  ASSERT_TRUE(batch_.SingleDelete(&vesting_, "ready").ok());
  ASSERT_TRUE(batch_.Put(&vesting_, "leased", "v").ok());
  ASSERT_TRUE(batch_.Put(&rows_, "count", "2").ok());
  ExpectFine();
  EXPECT_TRUE(checker_.Contains(Family::kVesting, "leased"));
  EXPECT_FALSE(checker_.Contains(Family::kVesting, "ready"));
  ASSERT_TRUE(batch_.SingleDelete(&vesting_, "leased").ok());
  ASSERT_TRUE(batch_.Put(&vesting_, "leased", "replaced").ok());
  ExpectFine();
  ASSERT_TRUE(batch_.SingleDelete(&vesting_, "leased").ok());
  ASSERT_TRUE(batch_.SingleDelete(&job_, "1").ok());
  ASSERT_TRUE(batch_.Delete(&rows_, "count").ok());
  ASSERT_TRUE(batch_.Delete(&kv_, "absent").ok());
  ASSERT_TRUE(batch_.DeleteRange(&rows_, "a", "b").ok());
  ExpectFine();
  EXPECT_EQ(checker_.size(Family::kVesting), 0u);
  EXPECT_EQ(checker_.size(Family::kJob), 0u);
}

TEST_F(DisciplineCheckerTest, PutOverPutIsFound) {
  for (Handle* family : {&vesting_, &job_}) {
    ASSERT_TRUE(batch_.Put(family, "k", "1").ok());
    ExpectFine();
    ASSERT_TRUE(batch_.Put(family, "other", "1").ok());
    ASSERT_TRUE(batch_.Put(family, "k", "2").ok());
    ExpectBreach("put over a put");
    ASSERT_TRUE(batch_.Put(family, "other", "1").ok());  // the failed batch left nothing
    ExpectFine();
  }
}

TEST_F(DisciplineCheckerTest, SingleDeleteOfAnAbsentKeyIsFound) {
  for (Handle* family : {&vesting_, &job_}) {
    ASSERT_TRUE(batch_.Put(family, "k", "1").ok());
    ASSERT_TRUE(batch_.SingleDelete(family, "k").ok());
    ASSERT_TRUE(batch_.SingleDelete(family, "k").ok());
    ExpectBreach("single-delete of an absent key");
  }
}

TEST_F(DisciplineCheckerTest, PutBeforeItsSingleDeleteIsFound) {
  ASSERT_TRUE(batch_.Put(&vesting_, "k", "1").ok());
  ExpectFine();
  ASSERT_TRUE(batch_.Put(&vesting_, "k", "2").ok());  // the wrong order of a replacement
  ASSERT_TRUE(batch_.SingleDelete(&vesting_, "k").ok());
  ExpectBreach("put over a put");
}

TEST_F(DisciplineCheckerTest, PlainDeleteMergeAndRangeDeleteAreFound) {
  for (Handle* family : {&vesting_, &job_}) {
    ASSERT_TRUE(batch_.Delete(family, "k").ok());
    ExpectBreach("plain delete");
    ASSERT_TRUE(batch_.Merge(family, "k", "v").ok());
    ExpectBreach("merge");
    ASSERT_TRUE(batch_.DeleteRange(family, "a", "b").ok());
    ExpectBreach("range delete");
  }
}

TEST_F(DisciplineCheckerTest, SingleDeleteOfRowsAndKvIsFound) {
  for (Handle* family : {&rows_, &kv_}) {
    ASSERT_TRUE(batch_.Put(family, "k", "v").ok());
    ASSERT_TRUE(batch_.SingleDelete(family, "k").ok());
    ExpectBreach("single-delete outside");
  }
}

TEST_F(DisciplineCheckerTest, UnknownFamilyAndBrokenBytesAreFound) {
  Handle other(4);
  ASSERT_TRUE(batch_.Put(&other, "k", "v").ok());
  ExpectBreach("unknown family");
  EXPECT_EQ(checker_.Check("short").code(), ErrorCode::kCorruption);
  ASSERT_TRUE(batch_.Put(&job_, "k", "v").ok());
  EXPECT_EQ(checker_.Check(batch_.Data().substr(0, batch_.Data().size() - 1)).code(),
            ErrorCode::kCorruption);
  EXPECT_EQ(checker_.size(Family::kJob), 0u);
}

TEST_F(DisciplineCheckerTest, RefilledAfterACrash) {
  checker_.Insert(Family::kVesting, "k");
  checker_.Insert(Family::kRows, "ignored");
  ASSERT_TRUE(batch_.SingleDelete(&vesting_, "k").ok());
  ExpectFine();
  checker_.Insert(Family::kJob, "j");
  checker_.Clear();
  ASSERT_TRUE(batch_.SingleDelete(&job_, "j").ok());
  ExpectBreach("absent");
}

}  // namespace
}  // namespace vestq
