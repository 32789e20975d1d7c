// How a data directory becomes an open RocksDB: the log check, the cut of a torn tail, the opening
// itself. Includes RocksDB's headers. Blocks.
#pragma once

#include <array>
#include <memory>
#include <string>

#include "engine/base/ids.h"
#include "engine/base/result.h"
#include "engine/batch.h"
#include "engine/data_directory.h"
#include "engine/store.h"
#include "rocksdb/db.h"

namespace vestq {

// An open RocksDB with its families, in the order of Family. Closes when destroyed.
struct OpenDatabase {
  OpenDatabase() = default;
  ~OpenDatabase() { Close().PermitUncheckedError(); }
  OpenDatabase(OpenDatabase&&) = default;
  OpenDatabase& operator=(OpenDatabase&&) = delete;
  rocksdb::Status Close();

  std::unique_ptr<rocksdb::DB> db;
  std::array<rocksdb::ColumnFamilyHandle*, kFamilies> families{};
  Sequence log_end;  // last sequence that the check found in the logs; 0: none
  OpenReport report;
};

// Checks the logs, cuts a torn tail (unless read_only) and opens. Errors: kCorruption (acknowledged
// changes missing and !accept_data_loss; RocksDB's own), kIo, kUnsupported.
Result<std::unique_ptr<OpenDatabase>> OpenChecked(const DataDirectory& directory,
                                                  const StoreOptions& options);

}  // namespace vestq
