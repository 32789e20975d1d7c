#include "tests/sim/rocksdb_trial.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <utility>

#include "engine/base/check.h"
#include "rocksdb/cache.h"
#include "rocksdb/table.h"

namespace vestq {

using rocksdb::Status;

namespace {

std::string FirstDifference(const RocksDbTrial::State& found, const RocksDbTrial::State& expected) {
  for (const auto& [key, value] : found) {
    const auto other = expected.find(key);
    if (other == expected.end()) return key + " should not be there";
    if (other->second != value) return key + " has another value";
  }
  for (const auto& entry : expected) {
    if (!found.contains(entry.first)) return entry.first + " is missing";
  }
  return "none";
}

}  // namespace

RocksDbTrial::RocksDbTrial(uint64_t seed, std::optional<bool> flush_in_recovery)
    : random_(seed),
      fs_(std::make_shared<SimFileSystem>()),
      env_(std::make_unique<SimEnv>(fs_, seed ^ 0x5EED)),
      flush_in_recovery_(flush_in_recovery.value_or(random_.Chance(0.5))) {
  fs_->MakeDirectories("/db");
}

RocksDbTrial::~RocksDbTrial() { Close(); }

std::string RocksDbTrial::Marker(uint64_t number) {
  char text[20];
  std::snprintf(text, sizeof text, "0b%012llu", static_cast<unsigned long long>(number));
  return text;
}

void RocksDbTrial::Apply(const Operation& op, State* state) {
  const std::string key = std::to_string(op.family) + op.key;
  if (op.put) {
    (*state)[key] = op.value;
  } else {
    state->erase(key);
  }
}

Status RocksDbTrial::Open() {
  rocksdb::DBOptions options = SimOptions(env_.get());
  options.create_if_missing = true;
  options.create_missing_column_families = true;
  options.wal_recovery_mode = rocksdb::WALRecoveryMode::kPointInTimeRecovery;
  options.avoid_flush_during_recovery = !flush_in_recovery_;
  options.max_total_wal_size = 256 << 10;
  options.max_background_jobs = 4;
  rocksdb::ColumnFamilyOptions family;
  family.write_buffer_size = 64 << 10;
  family.arena_block_size = 4 << 10;
  family.level0_file_num_compaction_trigger = 3;
  family.target_file_size_base = 64 << 10;
  family.max_bytes_for_level_base = 256 << 10;
  family.compression = rocksdb::kNoCompression;
  rocksdb::BlockBasedTableOptions table;
  table.block_cache = rocksdb::NewLRUCache(256 << 10);
  family.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  rocksdb::ColumnFamilyOptions job = family;
  job.enable_blob_files = true;
  job.min_blob_size = 512;
  job.blob_file_size = 128 << 10;
  job.enable_blob_garbage_collection = true;
  std::vector<rocksdb::ColumnFamilyDescriptor> families = {
      {"default", family}, {"vesting", family}, {"job", job}, {"kv", family}};
  rocksdb::DB* db = nullptr;
  const Status status = rocksdb::DB::Open(options, "/db", families, &handles_, &db);
  db_.reset(db);
  return status;
}

void RocksDbTrial::Close() {
  if (db_ == nullptr) return;
  for (auto* handle : handles_) db_->DestroyColumnFamilyHandle(handle).PermitUncheckedError();
  handles_.clear();
  db_.reset();
}

void RocksDbTrial::SyncLogs() {
  std::vector<std::string> names;
  ASSERT_TRUE(env_->GetChildren("/db", &names).ok());
  for (const std::string& name : names) {
    if (!name.ends_with(".log")) continue;
    std::unique_ptr<rocksdb::FSWritableFile> file;
    ASSERT_TRUE(fs_->ReopenWritableFile("/db/" + name, {}, &file, nullptr).ok());
    ASSERT_TRUE(file->Fsync(rocksdb::IOOptions(), nullptr).ok());
  }
  std::unique_ptr<rocksdb::FSDirectory> directory;
  ASSERT_TRUE(fs_->NewDirectory("/db", rocksdb::IOOptions(), &directory, nullptr).ok());
  ASSERT_TRUE(directory->Fsync(rocksdb::IOOptions(), nullptr).ok());
}

Status RocksDbTrial::WriteBatch() {
  Written batch{++number_, {}};
  batch.operations.push_back({0, true, Marker(number_).substr(1), ""});
  const uint64_t count = random_.Between(1, 12);
  for (uint64_t i = 0; i < count; ++i) {
    batch.operations.push_back(RandomOperation());
    Apply(batch.operations.back(), &state_);
  }
  Apply(batch.operations[0], &state_);
  rocksdb::WriteBatch bytes;
  for (const Operation& op : batch.operations) {
    rocksdb::ColumnFamilyHandle* const handle = handles_[op.family];
    Status status;
    if (op.put) {
      status = bytes.Put(handle, op.key, op.value);
    } else if (op.family == 1 || op.family == 2) {
      status = bytes.SingleDelete(handle, op.key);
    } else {
      status = bytes.Delete(handle, op.key);
    }
    CHECK(status.ok());
  }
  const Error breach = checker_.Check(bytes.Data());
  EXPECT_TRUE(breach.ok()) << breach.ToString();
  rocksdb::WriteOptions options;
  options.no_slowdown = true;
  written_.push_back(batch);
  Status status;
  for (;;) {
    status = db_->Write(options, &bytes);
    if (!status.IsIncomplete()) break;
    CHECK(env_->RunOne(random_), "stalled with no job queued");
  }
  return status;
}

Status RocksDbTrial::SyncWal() {
  const Status status = db_->SyncWAL();
  if (status.ok()) durable_ = written_.size();
  return status;
}

Status RocksDbTrial::Work(uint64_t steps) {
  for (uint64_t i = 0; i < steps; ++i) {
    env_->clock().Advance(random_.Below(5000));
    const uint64_t kind = random_.Below(20);
    Status status;
    if (kind < 14) {
      status = WriteBatch();
    } else if (kind < 16) {
      status = SyncWal();
    } else if (kind < 19) {
      env_->RunOne(random_);
    } else {
      CheckRandomKey();
    }
    if (!status.ok() || fs_->down()) return status;
  }
  return Status::OK();
}

RocksDbTrial::State RocksDbTrial::Scan() {
  State found;
  for (size_t family = 0; family < handles_.size(); ++family) {
    std::unique_ptr<rocksdb::Iterator> it(
        db_->NewIterator(rocksdb::ReadOptions(), handles_[family]));
    for (it->SeekToFirst(); it->Valid(); it->Next()) {
      found[std::to_string(family) + it->key().ToString()] = it->value().ToString();
    }
    EXPECT_TRUE(it->status().ok()) << it->status().ToString();
  }
  return found;
}

bool RocksDbTrial::CheckRecovered(bool verbose) {
  const State found = Scan();
  State expected = base_;
  bool prefix = true;
  bool missing = false;
  size_t survivors = 0;
  for (size_t i = 0; i < written_.size(); ++i) {
    const bool there = found.contains(Marker(written_[i].number));
    EXPECT_TRUE(there || i >= durable_) << "durable batch " << written_[i].number << " is lost";
    if (there && missing) prefix = false;
    missing |= !there;
    if (!there) continue;
    ++survivors;
    for (const Operation& op : written_[i].operations) Apply(op, &expected);
  }
  EXPECT_TRUE(found == expected) << "state differs: " << found.size() << " keys, expected "
                                 << expected.size() << ": " << FirstDifference(found, expected);
  if (verbose) {
    std::printf("  written %zu durable %zu survived %zu%s\n", written_.size(), durable_, survivors,
                prefix ? "" : " with a hole");
  }
  base_ = state_ = found;
  written_.clear();
  durable_ = 0;
  checker_.Clear();
  for (const auto& entry : found) {
    checker_.Insert(static_cast<Family>(entry.first[0] - '0'), entry.first.substr(1));
  }
  return prefix;
}

RocksDbTrial::Operation RocksDbTrial::RandomOperation() {
  const auto family = static_cast<uint32_t>(random_.Below(kFamilies));
  const bool once = family == 1 || family == 2;
  if (random_.Chance(0.45)) {
    // The first key from a random place on; of rows not a marker.
    const std::string from = std::to_string(family) + std::to_string(random_.Below(10));
    const auto found = state_.lower_bound(from);
    if (found != state_.end() && found->first[0] == from[0] && found->first[1] != 'b') {
      return {family, false, found->first.substr(1), ""};
    }
  }
  std::string key = std::to_string(random_.Below(once ? 1'000'000'000 : 50));
  while (once && state_.contains(std::to_string(family) + key)) key += "x";
  const size_t size = random_.Chance(0.2) ? random_.Between(512, 3000) : random_.Below(200);
  return {family, true, key, std::string(size, static_cast<char>('a' + random_.Below(26)))};
}

void RocksDbTrial::CheckRandomKey() {
  const auto found =
      state_.lower_bound(std::to_string(random_.Below(4)) + std::to_string(random_.Below(10)));
  if (found == state_.end()) return;
  std::string value;
  const Status status =
      db_->Get(rocksdb::ReadOptions(), handles_[static_cast<size_t>(found->first[0] - '0')],
               found->first.substr(1), &value);
  if (fs_->down()) return;
  EXPECT_TRUE(status.ok()) << status.ToString();
  EXPECT_EQ(value, found->second);
}

}  // namespace vestq
