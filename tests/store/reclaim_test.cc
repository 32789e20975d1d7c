// What the options promise on this RocksDB: pairs vanish at flush, space comes back.
#include <gtest/gtest.h>

#include <filesystem>
#include <thread>

#include "engine/store_options.h"
#include "tests/store/store_test_util.h"

namespace vestq {
namespace {

std::string Key(uint64_t n) {
  std::string key("\0\1", 2);
  for (int shift = 56; shift >= 0; shift -= 8) key.push_back(static_cast<char>(n >> shift));
  return key;
}

uint64_t BytesIn(const std::string& directory, const std::string& suffix) {
  uint64_t bytes = 0;
  for (const std::string& path : FilesEndingWith(directory, suffix))
    bytes += std::filesystem::file_size(path);
  return bytes;
}

void WriteRetrying(Store* store, Batch* batch) {
  for (;;) {
    const Result<Store::WriteOutcome> outcome = store->Write(batch->rep());
    ASSERT_TRUE(outcome.ok()) << outcome.error().ToString();
    if (*outcome == Store::WriteOutcome::kWritten) break;
    std::this_thread::yield();
  }
  batch->Clear();
}

// Waits for RocksDB's own flushes and compactions.
void WaitForBackground(const Store& store) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (store.Property("rocksdb.num-running-flushes") +
                 store.Property("rocksdb.num-running-compactions") +
                 store.Property("rocksdb.mem-table-flush-pending") +
                 store.Property("rocksdb.compaction-pending") !=
             0 &&
         std::chrono::steady_clock::now() < deadline) {
    std::this_thread::yield();
  }
}

TEST(Reclaim, JobsDoneSoonNeverReachATableFile) {
  TempDir dir;
  StoreOptions options = TestOptions(dir.Path("data"));
  options.memory = uint64_t{16} << 20;
  const auto store = OpenOrDie(options);
  Batch batch;
  constexpr uint64_t kJobs = 100'000;
  constexpr uint64_t kLag = 200;  // jobs alive at a time
  for (uint64_t n = 0; n < kJobs + kLag; ++n) {
    if (n < kJobs) {
      batch.Put(Family::kJob, Key(n), std::string(256, 'p'));
      batch.Put(Family::kVesting, Key(n), "v");
    }
    if (n >= kLag) {
      batch.SingleDelete(Family::kJob, Key(n - kLag));
      batch.SingleDelete(Family::kVesting, Key(n - kLag));
    }
    if (n % 16 == 15) WriteRetrying(store.get(), &batch);
  }
  if (batch.count() > 0) WriteRetrying(store.get(), &batch);
  WaitForBackground(*store);
  // 31 MB of jobs went through; what was alive at a flush boundary may be in a file.
  EXPECT_LT(BytesIn(dir.Path("data"), ".sst") + BytesIn(dir.Path("data"), ".blob"), 2u << 20);
}

// Fills with jobs of `payload` bytes until all lie in files, drains in order, and lets RocksDB
// work; nobody compacts.
void FillAndDrain(size_t payload, uint64_t jobs) {
  TempDir dir;
  StoreOptions options = TestOptions(dir.Path("data"));
  options.memory = uint64_t{16} << 20;
  const auto store = OpenOrDie(options);
  Batch batch;
  std::string value(payload, '\0');
  uint64_t state = 1;
  for (uint64_t n = 0; n < jobs; ++n) {
    for (char& c : value)
      c = static_cast<char>((state = state * 6364136223846793005u + 1442695040888963407u) >> 56);
    batch.Put(Family::kJob, Key(n), value);
    batch.Put(Family::kVesting, Key(n), "v");
    if (n % 16 == 15 || n + 1 == jobs) WriteRetrying(store.get(), &batch);
  }
  WaitForBackground(*store);
  const uint64_t full = BytesIn(dir.Path("data"), ".sst") + BytesIn(dir.Path("data"), ".blob");
  EXPECT_GT(full, jobs * payload / 2);
  for (uint64_t n = 0; n < jobs; ++n) {
    batch.SingleDelete(Family::kJob, Key(n));
    batch.SingleDelete(Family::kVesting, Key(n));
    if (n % 16 == 15 || n + 1 == jobs) WriteRetrying(store.get(), &batch);
  }
  // The store goes on living: other jobs pass through, which fill memtables and so flush the
  // single-deletes.
  for (uint64_t n = jobs; n < jobs + 40'000; ++n) {
    batch.Put(Family::kJob, Key(n), std::string(200, 'x'));
    batch.Put(Family::kVesting, Key(n), "v");
    batch.SingleDelete(Family::kJob, Key(n));
    batch.SingleDelete(Family::kVesting, Key(n));
    if (n % 16 == 15) WriteRetrying(store.get(), &batch);
  }
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  uint64_t drained = full;
  while (drained > full / 10 && std::chrono::steady_clock::now() < deadline) {
    WaitForBackground(*store);
    drained = BytesIn(dir.Path("data"), ".sst") + BytesIn(dir.Path("data"), ".blob");
    std::this_thread::yield();
  }
  EXPECT_LE(drained, full / 10) << "of " << full;
  const auto iterator = store->NewIterator(Family::kJob, "", "");
  iterator->Seek("");
  EXPECT_FALSE(iterator->Valid());
  EXPECT_TRUE(iterator->error().ok());
}

TEST(Reclaim, BlobsAreReclaimedAfterFillAndDrain) { FillAndDrain(2000, 30'000); }

TEST(Reclaim, SmallPayloadsAreReclaimedAfterFillAndDrain) { FillAndDrain(256, 150'000); }

TEST(StoreOptionsTest, MemtablesAndCacheKeepToTheirShare) {
  for (const uint64_t memory :
       {uint64_t{16} << 20, uint64_t{256} << 20, uint64_t{1} << 30, uint64_t{64} << 30}) {
    const MemorySplit split = SplitMemory(memory);
    const uint64_t memtables = kOnceBuffersMax * (split.job_buffer + split.vesting_buffer) +
                               kRowsBuffersMax * (split.rows_buffer + split.kv_buffer);
    EXPECT_LE(memtables, memory * 2 / 5) << memory;
    EXPECT_LE(split.block_cache, memory / 5) << memory;
  }
}

}  // namespace
}  // namespace vestq
