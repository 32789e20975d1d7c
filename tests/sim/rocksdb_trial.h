// One RocksDB in the simulated world, worked on at random and checked after each reopening.
//
// Four column families with the engine's discipline (a put only of an absent key and single-deletes
// in vesting and job), random batches, SyncWAL and background jobs. Each batch also puts a marker
// row, so that what came back after a crash tells which batches survived; the rest of the state
// must be exactly those batches, each whole. Test code: what is wrong becomes a gtest failure. One
// thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "rocksdb/db.h"
#include "rocksdb/status.h"
#include "tests/sim/discipline_checker.h"
#include "tests/sim/sim_env.h"
#include "tests/sim/sim_file_system.h"
#include "tests/sim/sim_random.h"

namespace vestq {

class RocksDbTrial {
 public:
  using State = std::map<std::string, std::string>;  // family digit + key -> value

  // Whether recovery flushes is drawn from the seed unless given.
  explicit RocksDbTrial(uint64_t seed, std::optional<bool> flush_in_recovery = std::nullopt);
  ~RocksDbTrial();

  SimFileSystem& fs() { return *fs_; }
  SimEnv& env() { return *env_; }
  SimRandom& random() { return random_; }
  rocksdb::DB* db() { return db_.get(); }
  const State& state() const { return state_; }  // what the DB must hold

  rocksdb::Status Open();
  void Close();
  // Syncs every log there is. The engine, too, has to do this before it opens after a kill or an
  // unsynced close: RocksDB recovers the unsynced tail of an old log from the page cache, and with
  // avoid_flush_during_recovery builds on it without ever syncing it (the test
  // UnsyncedLogsOfAKilledProcessLeaveAHole shows the loss).
  void SyncLogs();

  // One batch of random changes that keep the discipline. After a failure its outcome is open:
  // reopen and check.
  rocksdb::Status WriteBatch();
  rocksdb::Status SyncWal();
  // Random work; returns at the first failure, when the power goes, or after `steps`.
  rocksdb::Status Work(uint64_t steps);

  State Scan();
  // The marker of the n-th batch (from 1), as a key of a State.
  static std::string Marker(uint64_t number);
  // After a reopening: what is there is what the last check found plus exactly the batches whose
  // markers are there, all durable ones among them. Returns whether those batches are a prefix of
  // the written ones.
  bool CheckRecovered(bool verbose = false);

 private:
  struct Operation {
    uint32_t family;
    bool put;
    std::string key;
    std::string value;
  };
  struct Written {
    uint64_t number;
    std::vector<Operation> operations;
  };

  static void Apply(const Operation& operation, State* state);
  Operation RandomOperation();
  void CheckRandomKey();

  SimRandom random_;
  const std::shared_ptr<SimFileSystem> fs_;
  const std::unique_ptr<SimEnv> env_;
  const bool flush_in_recovery_;
  std::unique_ptr<rocksdb::DB> db_;
  std::vector<rocksdb::ColumnFamilyHandle*> handles_;
  DisciplineChecker checker_;
  State base_;   // came back from the last reopening
  State state_;  // base and all written since
  std::vector<Written> written_;
  size_t durable_ = 0;  // of written_
  uint64_t number_ = 0;
};

}  // namespace vestq
