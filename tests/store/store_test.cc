// Reading, writing, iterating, reopening.
#include "engine/store.h"

#include <gtest/gtest.h>

#include <map>

#include "tests/store/store_test_util.h"

namespace vestq {
namespace {

TEST(Store, KeepsFourFamiliesApartAndOverARestart) {
  TempDir dir;
  const StoreOptions options = TestOptions(dir.Path("data"));
  for (int round = 0; round < 3; ++round) {
    const auto store = OpenOrDie(options);
    ASSERT_NE(store, nullptr);
    std::string value;
    if (round == 0) {
      EXPECT_TRUE(store->report().created);
      Batch batch;
      for (const Family family : {Family::kRows, Family::kVesting, Family::kJob, Family::kKv}) {
        batch.Put(family, "k", std::string(FamilyName(family)));
      }
      WriteOrDie(store.get(), &batch);
      ASSERT_TRUE(store->SyncWal().ok());
      EXPECT_EQ(store->LatestSequence(), Sequence(4));
    }
    for (const Family family : {Family::kRows, Family::kVesting, Family::kJob, Family::kKv}) {
      ASSERT_TRUE(store->Get(family, "k", &value).ok());
      EXPECT_EQ(value, FamilyName(family));
      EXPECT_EQ(store->Get(family, "no", &value).code(), ErrorCode::kNotFound);
    }
    EXPECT_EQ(store->report().clean_shutdown, round == 2);
    if (round == 1) {
      ASSERT_TRUE(store->Close().ok());
    }
  }
}

TEST(Store, MultiGetAnswersInOrder) {
  TempDir dir;
  const auto store = OpenOrDie(TestOptions(dir.Path("data")));
  Batch batch;
  batch.Put(Family::kJob, "a", std::string(10'000, 'a'));  // a blob once flushed
  batch.Put(Family::kJob, "c", "");
  WriteOrDie(store.get(), &batch);
  for (const bool flushed : {false, true}) {
    if (flushed) {
      ASSERT_TRUE(store->CompactAll().ok());
    }
    std::vector<std::string> values;
    std::vector<bool> found;
    ASSERT_TRUE(store->MultiGet(Family::kJob, {"c", "b", "a"}, &values, &found).ok());
    EXPECT_EQ(found, (std::vector<bool>{true, false, true}));
    EXPECT_EQ(values[2], std::string(10'000, 'a'));
    EXPECT_EQ(values[1], "");
  }
}

TEST(Store, IteratorsStayInTheirBoundsAndSeeOneMoment) {
  TempDir dir;
  const auto store = OpenOrDie(TestOptions(dir.Path("data")));
  Batch batch;
  for (const char* key : {"a", "b", "c", "d"}) batch.Put(Family::kVesting, key, key);
  WriteOrDie(store.get(), &batch);
  const auto iterator = store->NewIterator(Family::kVesting, "b", "d");
  batch.Put(Family::kVesting, "bb", "");
  WriteOrDie(store.get(), &batch);
  std::string seen;
  for (iterator->Seek(""); iterator->Valid(); iterator->Next()) {
    EXPECT_EQ(iterator->key(), iterator->value());
    seen += iterator->key();
  }
  EXPECT_EQ(seen, "bc");
  EXPECT_TRUE(iterator->error().ok());
  const auto all = store->NewIterator(Family::kVesting, "", "");
  int count = 0;
  for (all->Seek("b"); all->Valid(); all->Next()) ++count;
  EXPECT_EQ(count, 4);
  EXPECT_GT(store->Property("rocksdb.cur-size-all-mem-tables"), 0u);
  EXPECT_EQ(store->Property("no.such.property"), 0u);
}

TEST(Store, ReadOnlyChangesNothing) {
  TempDir dir;
  StoreOptions options = TestOptions(dir.Path("data"));
  {
    const auto store = OpenOrDie(options);
    Batch batch;
    batch.Put(Family::kRows, "k", "v");
    WriteOrDie(store.get(), &batch);
    ASSERT_TRUE(store->Close().ok());
  }
  const auto listing = [&] {
    std::map<std::string, std::string> files;
    for (const auto& entry : std::filesystem::directory_iterator(options.path)) {
      files[entry.path().filename()] = ReadFile(entry.path());
    }
    return files;
  };
  const auto before = listing();
  options.read_only = true;
  {
    const auto store = OpenOrDie(options);
    ASSERT_NE(store, nullptr);
    std::string value;
    EXPECT_TRUE(store->Get(Family::kRows, "k", &value).ok());
    EXPECT_TRUE(store->report().clean_shutdown);
    EXPECT_TRUE(store->Close().ok());
  }
  EXPECT_EQ(listing(), before);
  // A torn tail too is left where it is.
  std::filesystem::remove(dir.Path("data/CLEAN"));
  const std::string log = FilesEndingWith(options.path, ".log").back();
  WriteFile(log, ReadFile(log) + "garbage");
  const auto torn = listing();
  EXPECT_NE(OpenOrDie(options), nullptr);
  EXPECT_EQ(listing(), torn);
}

// RocksDB would make a family that the MANIFEST does not know anew, and empty.
TEST(Store, AManifestCutShortIsRefusedAndNothingIsMadeAnew) {
  TempDir dir;
  const StoreOptions options = TestOptions(dir.Path("data"));
  {
    const auto store = OpenOrDie(options);
    Batch batch;
    batch.Put(Family::kJob, "k", "v");
    WriteOrDie(store.get(), &batch);
    ASSERT_TRUE(store->SyncWal().ok());
  }
  std::string manifest;
  for (const auto& entry : std::filesystem::directory_iterator(options.path)) {
    if (entry.path().filename().string().starts_with("MANIFEST-")) manifest = entry.path();
  }
  const std::string whole = ReadFile(manifest);
  size_t refused = 0;
  for (size_t size = 0; size < whole.size(); size += 7) {
    WriteFile(manifest, whole.substr(0, size));
    const auto store = Store::Open(options);
    if (!store.ok()) {
      ++refused;
      continue;
    }
    // Cut behind all that matters: it opens, and what was acknowledged is there.
    std::string value;
    ASSERT_TRUE((*store)->Get(Family::kJob, "k", &value).ok()) << size;
    break;
  }
  EXPECT_GT(refused, 20u);
}

// The write queue's slots keep small buffers only.
TEST(Store, ALargeBatchDoesNotKeepItsMemory) {
  Batch batch;
  batch.Put(Family::kJob, "k", std::string(1 << 20, 'x'));
  EXPECT_GT(batch.capacity(), size_t{1} << 20);
  batch.Recycle(16 << 10);
  EXPECT_LE(batch.capacity(), size_t{16} << 10);
  EXPECT_TRUE(batch.empty());
  batch.Put(Family::kJob, "k", "v");
  batch.Recycle(16 << 10);
  EXPECT_TRUE(batch.empty());
}

TEST(Store, KeepsNoLogFileOfItsOwnOnTheDisk) {
  TempDir dir;
  const auto store = OpenOrDie(TestOptions(dir.Path("data")));
  EXPECT_FALSE(std::filesystem::exists(dir.Path("data/LOG")));
}

TEST(StoreDeathTest, WritingToAReadOnlyStoreIsABug) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  TempDir dir;
  {
    const auto store = OpenOrDie(TestOptions(dir.Path("data")));
    ASSERT_TRUE(store->Close().ok());
  }
  StoreOptions options = TestOptions(dir.Path("data"));
  options.read_only = true;
  EXPECT_DEATH(
      {
        const auto store = OpenOrDie(options);
        Batch batch;
        batch.Put(Family::kRows, "k", "v");
        (void)store->Write(batch.rep());
      },
      "CHECK failed");
}

}  // namespace
}  // namespace vestq
