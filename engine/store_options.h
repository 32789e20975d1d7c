// RocksDB's options for a vestq store, all of them in one place. Includes RocksDB's headers.
//
// The memory budget, by example of 256 MiB; fractions of any other:
//
//   share                     fraction   256 MiB
//   job memtables, 7 of         1/32      56 MiB   three are merged before a flush, so that a put
//   vesting memtables, 7 of     1/64      28 MiB   and its single-delete meet in memory
//   rows memtables, 3 of        1/128      6 MiB
//   kv memtables, 3 of          1/128      6 MiB   memtables together at most 37.5 %
//   block cache                 1/5       51 MiB   also index and filter blocks
//   left to the engine          2/5      109 MiB   windows, payloads, leases, connections; and
//                                                  RocksDB's table readers and compaction buffers
//
// Above 1 GiB the memtables stop growing (larger ones are slower to search), the cache goes on.
//
// Write stalls: producers are throttled by the engine, so RocksDB's gradual delays are off, since
// they would also delay completes: the L0 slowdown stands at its stop, the pending-bytes limits are
// out of reach. What is left is a stop when seven memtables wait for their flush, and one step
// before it a delay that comes with more than three memtables.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "engine/batch.h"
#include "engine/store.h"
#include "rocksdb/db.h"
#include "rocksdb/options.h"

namespace vestq {

struct MemorySplit {
  size_t job_buffer = 0;  // one memtable of the family
  size_t vesting_buffer = 0;
  size_t rows_buffer = 0;
  size_t kv_buffer = 0;
  size_t block_cache = 0;
  size_t wal_total = 0;  // on disk: bounds what a restart replays
};
[[nodiscard]] MemorySplit SplitMemory(uint64_t memory);

inline constexpr int kOnceBuffersMerged = 3;  // vesting, job: memtables merged by one flush
inline constexpr int kOnceBuffersMax = 7;
inline constexpr int kRowsBuffersMax = 3;

[[nodiscard]] rocksdb::DBOptions MakeDbOptions(const StoreOptions& options);
// In the order of their ids, which is the order of their creation.
[[nodiscard]] std::vector<rocksdb::ColumnFamilyDescriptor> MakeFamilies(
    const StoreOptions& options);

// Forwards RocksDB's lines at WARN and above to `sink`; never fails and keeps no file, since a full
// disk must not turn a log line into an error.
[[nodiscard]] std::shared_ptr<rocksdb::Logger> MakeLogger(
    std::function<void(std::string_view)> sink);

// Marks table files that are mostly single-deletes for compaction. RocksDB's own collector counts
// no single-deletes before 10.4.
[[nodiscard]] std::shared_ptr<rocksdb::TablePropertiesCollectorFactory>
MakeDeletionCollectorFactory();

}  // namespace vestq
