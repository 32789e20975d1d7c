// The ordered store: one RocksDB with four column families (engine/batch.h) and one write-ahead
// log.
//
// Reading is virtual: a group of commands reads through a view with its own changes (engine/group_view.h).
// Only the files of engine/ that say so include RocksDB's headers; its statuses become vestq errors
// in engine/store_status.cc alone. Thread-safe except Open and Close. Writes are not synced;
// exactly one caller syncs (engine/syncer.h). After a failed write or sync every call returns that
// error (STORE-1): outcome unknown, the process must end or the embedder must reopen; an fsync is
// never retried.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/ids.h"
#include "engine/base/result.h"
#include "engine/batch.h"

namespace rocksdb {
class Env;
class Statistics;
}  // namespace rocksdb

namespace vestq {

struct StoreOptions {
  std::string path;
  uint64_t memory =
      0;  // the whole engine's budget; the store takes its share of it (store_options.cc)
  bool create_if_missing = true;
  uint16_t lanes = 0;             // must be the directory's; 0: whatever it has, or the default
  uint16_t cores = 1;             // at most the lanes
  bool read_only = false;         // for `vestq check`: changes nothing, takes the lock all the same
  bool accept_data_loss = false;  // open although the log check found acknowledged changes missing
  bool compress_wal = false;      // zstd
  std::shared_ptr<rocksdb::Statistics> statistics;  // tests count by it; null: none are kept
  rocksdb::Env* env = nullptr;  // simulation; nullptr: the real one (with our file system wrapper)
  // One line at a time from RocksDB's log at WARN and above, and from us. May be called from any
  // thread.
  std::function<void(std::string_view line)> log;
};

// What opening found, for a line to the user.
struct OpenReport {
  bool created = false;
  bool clean_shutdown = false;  // the last closing left its mark
  Sequence sequence;            // last recovered
  std::string note;             // "the log's torn tail of 3,112 bytes was copied to ... and cut"
};

// Ordered reading of [lower, upper) of one family, a consistent view from its making. Not
// thread-safe.
class StoreIterator {
 public:
  virtual ~StoreIterator() = default;
  virtual bool Valid() const = 0;
  virtual void Seek(std::string_view key) = 0;  // first key >= key
  virtual void Next() = 0;
  virtual std::string_view key() const = 0;    // valid until the next move
  virtual std::string_view value() const = 0;  // valid until the next move
  virtual Error error() const = 0;
};

class Store {
 public:
  // Creates or opens a data directory: checks that it is ours and not newer and takes the lock
  // (engine/data_directory.h), checks the logs (engine/wal_check.h) and opens RocksDB.
  // Errors name the directory: kBusy (another process has it), kUnsupported (foreign, newer),
  // kCorruption (log check, RocksDB), kNotFound (nothing there and !create_if_missing), kIo
  // (permissions, read-only, full disk). Nothing is changed on an error. What an earlier process
  // wrote and did not sync is synced. Blocks.
  static Result<std::unique_ptr<Store>> Open(const StoreOptions& options);
  virtual ~Store();
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  const OpenReport& report() const;
  uint16_t lanes() const;  // fixed when the directory was made

  enum class WriteOutcome {
    kWritten,
    kBusy
  };  // kBusy: nothing was written, try the same bytes again soon
  // Writes the bytes of a Batch (Batch::rep) as one atomic record, unsynced. One caller at a time
  // (WRITE-2).
  Result<WriteOutcome> Write(const std::string& rep);
  // The same without a copy: borrows the string's memory for the call and gives it back.
  Result<WriteOutcome> Write(std::string* rep);
  // Syncs the log: everything written before the call is durable when it returns Ok. One caller at
  // a time.
  Error SyncWal();
  Sequence LatestSequence() const;

  // kNotFound when there is no such key.
  virtual Error Get(Family family, std::string_view key, std::string* value) const;
  // values[i] is empty and found[i] false where there is no key.
  virtual Error MultiGet(Family family, const std::vector<std::string>& keys,
                         std::vector<std::string>* values, std::vector<bool>* found) const;
  // Keys in [lower, upper); an empty upper is the family's end. Positioned nowhere: Seek first.
  virtual std::unique_ptr<StoreIterator> NewIterator(Family family, std::string_view lower,
                                                     std::string_view upper) const;

  // A RocksDB number property ("rocksdb.estimate-table-readers-mem"), 0 when unknown; summed over
  // the families.
  uint64_t Property(std::string_view name) const;
  // Forces everything in memory to table files and compacts. Blocks; for offline use and tests.
  Error CompactAll();
  // Syncs, closes and leaves the clean mark; flushes nothing (the log has it). Every later call but
  // report() answers kShutdown; the second Close does nothing. REQUIRES: no iterator is left.
  // Blocks for running flushes. The destructor closes without the sync and the mark.
  Error Close();

 protected:
  // For a view: REQUIRES that it overrides the three ways of reading and is asked for nothing else.
  Store();

 private:
  struct Impl;
  explicit Store(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace vestq
