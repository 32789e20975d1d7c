#include "engine/store_options.h"

#include <sys/resource.h>

#include <algorithm>

#include "keycodec/keys.h"
#include "rocksdb/cache.h"
#include "rocksdb/env.h"
#include "rocksdb/filter_policy.h"
#include "rocksdb/listener.h"
#include "rocksdb/slice_transform.h"
#include "rocksdb/table.h"
#include "rocksdb/version.h"

namespace vestq {
namespace {

constexpr size_t kKiB = 1024;
constexpr size_t kMiB = 1024 * kKiB;
constexpr size_t kBufferMin = 64 * kKiB;  // RocksDB takes no smaller one
constexpr size_t kBudgetForBuffersMax = 1024 * kMiB;
constexpr int kL0Compact = 4;
constexpr int kL0Stop = 48;
constexpr uint64_t kDelayedBytesPerSecond = uint64_t{1} << 30;  // the memtable delay is hardly one
constexpr uint64_t kOutOfReach = uint64_t{1} << 50;
constexpr int kOpenFilesMax = 512;
constexpr int kOpenFilesMin = 16;
constexpr size_t kBlobBytesMin = 512;
constexpr int kCacheShardBits = 2;  // few threads read; and a shard must hold what is cached, whole
constexpr uint64_t kManifestBytesMax = 8 * kMiB;
// Lane and range: READY, LEASED and SCHEDULED of a lane each grow at their own place.
constexpr size_t kVestingHintBytes = keycodec::kLaneBytes + 1;

// A quarter of what the process may have open: the rest is for logs, new files and connections.
int OpenFilesMax() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
    return kOpenFilesMax;
  return static_cast<int>(std::clamp<rlim_t>(limit.rlim_cur / 4, kOpenFilesMin, kOpenFilesMax));
}

// What vesting and job have in common: keys put once and single-deleted once.
rocksdb::ColumnFamilyOptions OnceFamily(size_t buffer, size_t hint_bytes) {
  rocksdb::ColumnFamilyOptions o;
  o.write_buffer_size = buffer;
  o.min_write_buffer_number_to_merge = kOnceBuffersMerged;
  o.max_write_buffer_number = kOnceBuffersMax;
  o.memtable_insert_with_hint_prefix_extractor.reset(rocksdb::NewFixedPrefixTransform(hint_bytes));
  o.table_properties_collector_factories.push_back(MakeDeletionCollectorFactory());
  return o;
}

void SetCommon(const std::shared_ptr<rocksdb::Cache>& cache, rocksdb::ColumnFamilyOptions* o) {
  o->compression = rocksdb::kLZ4Compression;
  o->level0_file_num_compaction_trigger = kL0Compact;
  o->level0_slowdown_writes_trigger = kL0Stop;
  o->level0_stop_writes_trigger = kL0Stop;
  o->soft_pending_compaction_bytes_limit = kOutOfReach;  // 0 would take the hard one
  o->hard_pending_compaction_bytes_limit = kOutOfReach;
  o->max_bytes_for_level_base = std::max<uint64_t>(4 * kMiB, 16 * o->write_buffer_size);
  o->target_file_size_base = std::max<uint64_t>(2 * kMiB, 4 * o->write_buffer_size);
  rocksdb::BlockBasedTableOptions table;
  table.block_cache = cache;
  table.cache_index_and_filter_blocks = true;
  table.cache_index_and_filter_blocks_with_high_priority = true;
  table.block_size = 8 * kKiB;
  // Filters and indices in parts: whole ones of some millions of keys are larger than a shard of the cache, and each Get
  // would read and check them anew.
  table.index_type = rocksdb::BlockBasedTableOptions::kTwoLevelIndexSearch;
  table.partition_filters = true;
  table.metadata_block_size = 4 * kKiB;
  table.pin_top_level_index_and_filter = true;
  table.filter_policy.reset(rocksdb::NewBloomFilterPolicy(10));
  table.optimize_filters_for_memory = true;
  o->table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
}

class ForwardingLogger : public rocksdb::Logger {
 public:
  explicit ForwardingLogger(std::function<void(std::string_view)> sink)
      : rocksdb::Logger(rocksdb::InfoLogLevel::WARN_LEVEL), sink_(std::move(sink)) {}
  using rocksdb::Logger::Logv;
  void Logv(rocksdb::InfoLogLevel level, const char* format, va_list arguments) override {
    if (level < rocksdb::InfoLogLevel::WARN_LEVEL || level == rocksdb::InfoLogLevel::HEADER_LEVEL)
      return;
    // Stalls are how a full-speed producer is slowed down; Write answers kBusy, and that is counted elsewhere.
    const std::string_view pattern(format);
    if (!sink_ || pattern.find("Stalling writes because") != std::string_view::npos ||
        pattern.find("Stopping writes because") != std::string_view::npos) {
      return;
    }
    char line[2048];
    const int length = std::vsnprintf(line, sizeof(line), format, arguments);
    if (length <= 0) return;
    std::string_view text(line, std::min(static_cast<size_t>(length), sizeof(line) - 1));
    while (!text.empty() && text.back() == '\n') text.remove_suffix(1);
    sink_(text);
  }

 private:
  const std::function<void(std::string_view)> sink_;
};

class DeletionCollector : public rocksdb::TablePropertiesCollector {
 public:
  rocksdb::Status AddUserKey(const rocksdb::Slice&, const rocksdb::Slice&, rocksdb::EntryType type,
                             rocksdb::SequenceNumber, uint64_t) override {
    ++entries_;
    if (type == rocksdb::kEntrySingleDelete || type == rocksdb::kEntryDelete) ++deletions_;
    return rocksdb::Status::OK();
  }
  rocksdb::Status Finish(rocksdb::UserCollectedProperties*) override {
    return rocksdb::Status::OK();
  }
  rocksdb::UserCollectedProperties GetReadableProperties() const override { return {}; }
  const char* Name() const override { return "vestq.deletions"; }
  bool NeedCompact() const override { return deletions_ * 2 > entries_; }

 private:
  uint64_t entries_ = 0;
  uint64_t deletions_ = 0;
};

class DeletionCollectorFactory : public rocksdb::TablePropertiesCollectorFactory {
 public:
  rocksdb::TablePropertiesCollector* CreateTablePropertiesCollector(Context) override {
    return new DeletionCollector();  // RocksDB owns it
  }
  const char* Name() const override { return "vestq.deletions"; }
};

// No recovery behind our back: a background error ends the store (STORE-1), RocksDB must not resume from it on a thread
// of its own (max_bgerror_resume_count does not cover a full disk).
class NoRecoveryListener : public rocksdb::EventListener {
 public:
  void OnErrorRecoveryBegin(rocksdb::BackgroundErrorReason, rocksdb::Status,
                            bool* auto_recovery) override {
    *auto_recovery = false;
  }
};

}  // namespace

MemorySplit SplitMemory(uint64_t memory) {
  const size_t buffers = static_cast<size_t>(std::min<uint64_t>(memory, kBudgetForBuffersMax));
  MemorySplit split;
  split.job_buffer = std::max(kBufferMin, buffers / 32);
  split.vesting_buffer = std::max(kBufferMin, buffers / 64);
  split.rows_buffer = std::max(kBufferMin, buffers / 128);
  split.kv_buffer = std::max(kBufferMin, buffers / 128);
  split.block_cache = static_cast<size_t>(memory / 5);
  split.wal_total = std::max<size_t>(8 * kMiB, buffers / 2);
  return split;
}

rocksdb::DBOptions MakeDbOptions(const StoreOptions& options) {
  const MemorySplit split = SplitMemory(options.memory);
  rocksdb::DBOptions o;
  o.env = options.env != nullptr ? options.env : rocksdb::Env::Default();
  o.statistics = options.statistics;
  o.info_log = MakeLogger(options.log);
  o.info_log_level = rocksdb::InfoLogLevel::WARN_LEVEL;
  o.create_if_missing = !options.read_only;
  o.create_missing_column_families = !options.read_only;
  o.max_open_files = OpenFilesMax();
  o.max_background_jobs = 2;
  o.max_total_wal_size = split.wal_total;
  o.max_manifest_file_size = kManifestBytesMax;
  o.bytes_per_sync = kMiB;  // smooths the writing of table files; the log is synced by us
  // One writer (WRITE-2) and a syncer of its own: the plain write path.
  o.allow_concurrent_memtable_write = false;
  o.enable_write_thread_adaptive_yield = false;
  o.enable_pipelined_write = false;
  o.unordered_write = false;
  o.manual_wal_flush = false;
  o.wal_compression = options.compress_wal ? rocksdb::kZSTD : rocksdb::kNoCompression;
  o.recycle_log_file_num = 0;
  // After our own check (engine/wal_check.h). The MANIFEST also tracks the closed logs: without it
  // a missing first log would leave no trace in the others.
  o.wal_recovery_mode = rocksdb::WALRecoveryMode::kPointInTimeRecovery;
  // Opening read-only with this off crashes RocksDB 9.10 when the MANIFEST tracks any.
#if ROCKSDB_MAJOR >= 8
  o.track_and_verify_wals_in_manifest = options.read_only || !options.accept_data_loss;
#endif  // before 7.10 SyncWAL could record a log that is gone, and the store would not open again
  o.avoid_flush_during_recovery =
      true;  // opens on a full disk; also keeps put and single-delete together
  o.avoid_flush_during_shutdown = true;  // the log has it all; a flush would only split pairs
  o.delayed_write_rate = kDelayedBytesPerSecond;
  o.max_bgerror_resume_count = 0;  // never retry a failed sync
  o.listeners.push_back(std::make_shared<NoRecoveryListener>());
  if (options.env != nullptr) o.max_file_opening_threads = 1;  // the simulation has one thread
  o.skip_stats_update_on_db_open = true;
  o.stats_dump_period_sec = 0;
  o.stats_persist_period_sec = 0;
  o.avoid_unnecessary_blocking_io = true;
  return o;
}

std::vector<rocksdb::ColumnFamilyDescriptor> MakeFamilies(const StoreOptions& options) {
  const MemorySplit split = SplitMemory(options.memory);
  const std::shared_ptr<rocksdb::Cache> cache =
      rocksdb::NewLRUCache(split.block_cache, kCacheShardBits);

  rocksdb::ColumnFamilyOptions rows;
  rows.write_buffer_size = split.rows_buffer;
  rows.max_write_buffer_number = kRowsBuffersMax;
  SetCommon(cache, &rows);

  rocksdb::ColumnFamilyOptions vesting = OnceFamily(split.vesting_buffer, kVestingHintBytes);
  SetCommon(cache, &vesting);

  rocksdb::ColumnFamilyOptions job = OnceFamily(split.job_buffer, keycodec::kLaneBytes);
  SetCommon(cache, &job);
  job.optimize_filters_for_hits = true;  // what is asked for exists
  job.enable_blob_files = true;
  job.min_blob_size = kBlobBytesMin;
  job.blob_file_size = std::max<uint64_t>(4 * kMiB, 4 * split.job_buffer);
  job.blob_compression_type = rocksdb::kLZ4Compression;
  job.enable_blob_garbage_collection = true;
  job.blob_garbage_collection_age_cutoff = 0.25;
  job.blob_garbage_collection_force_threshold = 0.5;

  rocksdb::ColumnFamilyOptions kv;
  kv.write_buffer_size = split.kv_buffer;
  kv.max_write_buffer_number = kRowsBuffersMax;
  SetCommon(cache, &kv);

  std::vector<rocksdb::ColumnFamilyDescriptor> families;
  families.emplace_back(std::string(FamilyName(Family::kRows)), rows);
  families.emplace_back(std::string(FamilyName(Family::kVesting)), vesting);
  families.emplace_back(std::string(FamilyName(Family::kJob)), job);
  families.emplace_back(std::string(FamilyName(Family::kKv)), kv);
  return families;
}

std::shared_ptr<rocksdb::Logger> MakeLogger(std::function<void(std::string_view)> sink) {
  return std::make_shared<ForwardingLogger>(std::move(sink));
}

std::shared_ptr<rocksdb::TablePropertiesCollectorFactory> MakeDeletionCollectorFactory() {
  return std::make_shared<DeletionCollectorFactory>();
}

}  // namespace vestq
