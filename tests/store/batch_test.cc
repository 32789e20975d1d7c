// The bytes of a Batch are those of RocksDB's WriteBatch.
#include "engine/batch.h"

#include <gtest/gtest.h>

#include <random>

#include "rocksdb/db.h"
#include "rocksdb/write_batch.h"
#include "tests/store/store_test_util.h"

namespace vestq {
namespace {

// Applies the same operations to RocksDB's batch, which wants handles: the families are created for
// it.
class BatchTest : public ::testing::Test {
 protected:
  struct Recorder : rocksdb::WriteBatch::Handler {
    rocksdb::Status PutCF(uint32_t family, const rocksdb::Slice& key,
                          const rocksdb::Slice& value) override {
      seen.push_back("put " + std::to_string(family) + " " + key.ToString() + "=" +
                     value.ToString());
      return rocksdb::Status::OK();
    }
    rocksdb::Status DeleteCF(uint32_t family, const rocksdb::Slice& key) override {
      seen.push_back("delete " + std::to_string(family) + " " + key.ToString());
      return rocksdb::Status::OK();
    }
    rocksdb::Status SingleDeleteCF(uint32_t family, const rocksdb::Slice& key) override {
      seen.push_back("single-delete " + std::to_string(family) + " " + key.ToString());
      return rocksdb::Status::OK();
    }
    void LogData(const rocksdb::Slice& blob) override { seen.push_back("log " + blob.ToString()); }
    std::vector<std::string> seen;
  };
};

TEST_F(BatchTest, RocksDbReadsWhatWasPutIn) {
  Batch batch;
  batch.LogData("vouch");
  batch.Put(Family::kRows, "a", "1");
  batch.Put(Family::kVesting, "b", std::string(300, 'x'));
  batch.SingleDelete(Family::kJob, "c");
  batch.Delete(Family::kRows, "d");
  batch.Delete(Family::kKv, std::string(200, 'k'));
  batch.Put(Family::kKv, "", "");
  EXPECT_EQ(batch.count(), 6u);
  rocksdb::WriteBatch theirs(batch.rep());
  EXPECT_EQ(theirs.Count(), 6u);
  Recorder recorder;
  ASSERT_TRUE(theirs.Iterate(&recorder).ok());
  EXPECT_EQ(recorder.seen,
            (std::vector<std::string>{"log vouch", "put 0 a=1", "put 1 b=" + std::string(300, 'x'),
                                      "single-delete 2 c", "delete 0 d",
                                      "delete 3 " + std::string(200, 'k'), "put 3 ="}));
}

TEST_F(BatchTest, SameBytesAsRocksDbsForRandomOperations) {
  TempDir dir;
  rocksdb::Options options;
  options.create_if_missing = true;
  rocksdb::DB* raw = nullptr;
  ASSERT_TRUE(rocksdb::DB::Open(options, dir.Path("db"), &raw).ok());
  const std::unique_ptr<rocksdb::DB> db(raw);
  std::vector<rocksdb::ColumnFamilyHandle*> handles = {db->DefaultColumnFamily()};
  for (const Family family : {Family::kVesting, Family::kJob, Family::kKv}) {
    rocksdb::ColumnFamilyHandle* handle = nullptr;
    ASSERT_TRUE(db->CreateColumnFamily({}, std::string(FamilyName(family)), &handle).ok());
    ASSERT_EQ(handle->GetID(), static_cast<uint32_t>(family));
    handles.push_back(handle);
  }
  std::mt19937_64 random(7);
  const auto bytes = [&random](size_t max) {
    std::string s(random() % (max + 1), '\0');
    for (char& c : s) c = static_cast<char>(random());
    return s;
  };
  Batch ours;
  Batch joined;
  rocksdb::WriteBatch theirs;
  rocksdb::WriteBatch theirs_joined;
  for (int i = 0; i < 2000; ++i) {
    const auto family = static_cast<Family>(random() % kFamilies);
    rocksdb::ColumnFamilyHandle* handle = handles[static_cast<size_t>(family)];
    const std::string key = bytes(200);
    const bool once = family == Family::kVesting || family == Family::kJob;
    for (rocksdb::WriteBatch* batch : {&theirs, &theirs_joined}) {
      switch (i % 4) {
        case 0: break;
        case 1: once ? batch->SingleDelete(handle, key) : batch->Delete(handle, key); break;
        case 2: batch->PutLogData(key); break;
        default: batch->Put(handle, key, std::string(static_cast<size_t>(i), 'v')); break;
      }
    }
    switch (i % 4) {
      case 0: break;
      case 1: once ? ours.SingleDelete(family, key) : ours.Delete(family, key); break;
      case 2: ours.LogData(key); break;
      default: ours.Put(family, key, std::string(static_cast<size_t>(i), 'v')); break;
    }
    ASSERT_EQ(ours.count(), theirs.Count());
    ASSERT_EQ(ours.bytes(), theirs.GetDataSize());
    if (i % 100 == 99) {
      ASSERT_EQ(ours.rep(), theirs.Data());
      joined.Append(ours);
      ours.Clear();
      EXPECT_TRUE(ours.empty());
      theirs.Clear();
    }
  }
  EXPECT_EQ(joined.rep(), theirs_joined.Data());
  for (size_t i = 1; i < handles.size(); ++i)
    ASSERT_TRUE(db->DestroyColumnFamilyHandle(handles[i]).ok());
}

TEST(BatchDeathTest, DisciplineIsChecked) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  Batch batch;
  EXPECT_DEATH(batch.SingleDelete(Family::kRows, "k"), "FAMILY-1");
  EXPECT_DEATH(batch.Delete(Family::kVesting, "k"), "FAMILY-1");
}

}  // namespace
}  // namespace vestq
