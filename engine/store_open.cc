#include "engine/store_open.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "engine/durable_file.h"
#include "engine/store_options.h"
#include "engine/store_status.h"
#include "engine/wal_check.h"
#include "rocksdb/version.h"
#include "rocksdb/wal_filter.h"

namespace vestq {
namespace {

// Ignores every record, and hears which logs each family still needs.
class LogNumberProbe : public rocksdb::WalFilter {
 public:
  void ColumnFamilyLogNumberMap(const std::map<uint32_t, uint64_t>& numbers,
                                const std::map<std::string, uint32_t>&) override {
    least_ = UINT64_MAX;
    for (const auto& [family, number] : numbers) {
      least_ = std::min(least_, number);
      greatest_ = std::max(greatest_, number);
    }
  }
  WalProcessingOption LogRecordFound(unsigned long long, const std::string&,
                                     const rocksdb::WriteBatch&, rocksdb::WriteBatch*,
                                     bool*) override {
    return WalProcessingOption::kStopReplay;
  }
  const char* Name() const override { return "vestq.log-number-probe"; }
  uint64_t least() const { return least_; }
  uint64_t greatest() const { return greatest_; }

 private:
  uint64_t least_ = 0;
  uint64_t greatest_ = 0;
};

// What the MANIFEST says of the logs.
struct Manifest {
  uint64_t first_live_log = 0;
  uint64_t synced_below = 0;  // see WalBounds
  Sequence tables;            // greatest sequence in a table file
};

Error Refusal(const std::string& path, const std::string& why) {
  return Error(ErrorCode::kCorruption, "the data directory \"" + path +
                                           "\" has lost acknowledged changes: " + why +
                                           ". Nothing was changed. Restore a copy, or open what is "
                                           "left with `vestq serve --accept-data-loss`");
}

// Opens read-only without replaying anything. The numbers are exact: ColumnFamilyLogNumberMap has
// each family's first log as the MANIFEST has it; families that were empty at a flush have old
// numbers there, so the greater of their least and of min-log-number-to-keep counts, which is
// RocksDB's own rule (DBImpl::RecoverLogFiles).
Result<Manifest> ReadManifest(const DataDirectory& directory, const StoreOptions& options) {
  LogNumberProbe probe;
  rocksdb::DBOptions db_options = MakeDbOptions(options);
  db_options.wal_filter = &probe;
  // Damage in the logs is ours to judge.
  db_options.wal_recovery_mode = rocksdb::WALRecoveryMode::kSkipAnyCorruptedRecords;
  db_options.create_if_missing = false;
#if ROCKSDB_MAJOR >= 8
  db_options.track_and_verify_wals_in_manifest = true;
#endif
  db_options.info_log = MakeLogger(nullptr);  // it would speak of every log that it does not replay
  std::vector<std::string> names;
  const std::string what = "cannot open the store in \"" + directory.path() + "\"";
  rocksdb::Status s = rocksdb::DB::ListColumnFamilies(db_options, directory.path(), &names);
  if (!s.ok()) return FromStatus(s, what);
  std::vector<rocksdb::ColumnFamilyDescriptor> families = MakeFamilies(options);
  for (const rocksdb::ColumnFamilyDescriptor& family : families) {
    // A MANIFEST that was cut short still reads; RocksDB would make the family anew, and empty.
    if (directory.made() && std::find(names.begin(), names.end(), family.name) == names.end()) {
      return Refusal(directory.path(),
                     "its MANIFEST does not know the family \"" + family.name + "\"");
    }
  }
  std::erase_if(families, [&](const rocksdb::ColumnFamilyDescriptor& family) {
    return std::find(names.begin(), names.end(), family.name) == names.end();
  });
  rocksdb::DB* raw = nullptr;
  std::vector<rocksdb::ColumnFamilyHandle*> handles;
  s = rocksdb::DB::OpenForReadOnly(db_options, directory.path(), families, &handles, &raw);
  if (!s.ok()) {
    // track_and_verify_wals_in_manifest speaks of logs that the MANIFEST knows as closed and
    // synced.
    const std::string text = s.ToString();
    if (s.IsCorruption() && (text.find("Missing WAL") != std::string::npos ||
                             text.find("Size mismatch: WAL") != std::string::npos)) {
      if (!options.accept_data_loss) return Refusal(directory.path(), text);
      // Not even a read-only opening is to be had: all logs that are there count, as far as they follow on.
      return Manifest{0, UINT64_MAX, Sequence(0)};
    }
    return FromStatus(s, what);
  }
  const std::unique_ptr<rocksdb::DB> db(raw);
  Manifest manifest;
  uint64_t keep = 0;
  db->GetIntProperty(rocksdb::DB::Properties::kMinLogNumberToKeep, &keep);
  manifest.first_live_log = std::max(keep, probe.least());
  manifest.synced_below = probe.greatest();
  std::vector<rocksdb::LiveFileMetaData> files;
  db->GetLiveFilesMetaData(&files);
  for (const auto& file : files) {
    manifest.tables = std::max(manifest.tables, Sequence(file.largest_seqno));
  }
  for (rocksdb::ColumnFamilyHandle* handle : handles)
    db->DestroyColumnFamilyHandle(handle).PermitUncheckedError();
  return manifest;
}

std::string Where(const WalVerdict& verdict) {
  return "the log " + std::to_string(verdict.first_break.log_number) + " at byte " +
         std::to_string(verdict.first_break.offset) + ": " + verdict.first_break.what;
}

// After a clean shutdown the logs are there to the byte.
Error CompareWithMark(const DataDirectory& directory, const CleanMark& mark) {
  const Result<CleanMark> now = directory.MakeCleanMark(mark.sequence);
  if (!now.ok()) return now.error();
  for (const auto& [log, bytes] : mark.logs) {
    const auto there = std::find_if(now->logs.begin(), now->logs.end(),
                                    [log = log](const auto& entry) { return entry.first == log; });
    if (there == now->logs.end()) {
      return Refusal(directory.path(),
                     "the log " + std::to_string(log) + " is missing after a clean shutdown");
    }
    if (there->second < bytes) {
      return Refusal(directory.path(), "the log " + std::to_string(log) + " has " +
                                           std::to_string(there->second) + " bytes, " +
                                           std::to_string(bytes) + " after the clean shutdown");
    }
  }
  return Error::Ok();
}

// A store that was once made whole has a log at any moment: RocksDB makes the next one before it removes
// the last. Without any it would open as what the tables hold, or as an empty one.
std::string NoLogs(uint64_t first_live_log) {
  std::string why = "the file MADE says that the store was made, and no log (*.log) is there";
  if (first_live_log != 0)
    why += "; its MANIFEST needs those from number " + std::to_string(first_live_log) + " on";
  return why;
}

// Checks, and cuts or refuses. Returns the verdict.
Result<WalVerdict> Examine(const DataDirectory& directory, const StoreOptions& options,
                           OpenReport* report) {
  const Result<Manifest> manifest = ReadManifest(directory, options);
  if (!manifest.ok()) return manifest.error();
  WalBounds bounds{manifest->synced_below, manifest->tables, false};
  const Result<std::optional<CleanMark>> mark = directory.ReadCleanMark();
  if (mark.ok() && mark->has_value()) {
    report->clean_shutdown = true;
    bounds.clean = true;
    if (Error error = CompareWithMark(directory, **mark); !error.ok() && !options.accept_data_loss)
      return error;
  } else if (!mark.ok()) {
    report->note = mark.error().text() + " and was ignored; ";
  }
  Result<std::vector<uint64_t>> logs = ListLogs(directory.fs(), directory.path());
  if (!logs.ok()) return logs.error();
  if (logs->empty() && directory.made()) {
    const std::string why = NoLogs(manifest->first_live_log);
    if (!options.accept_data_loss) return Refusal(directory.path(), why);
    report->note += "ACKNOWLEDGED CHANGES ARE LOST, as accepted: " + why;
  }
  // Lower ones are obsolete and only wait for their removal.
  std::erase_if(*logs, [&](uint64_t log) { return log < manifest->first_live_log; });
  Result<WalVerdict> verdict = CheckLogs(directory.fs(), directory.path(), *logs, bounds);
  if (!verdict.ok()) return verdict;
  const bool refused = verdict->kind == WalVerdict::Kind::kLoss && !options.accept_data_loss;
  // The mark of a clean shutdown names each log's size, so that stays as it is.
  if (!refused && !options.read_only && !bounds.clean)
    VESTQ_RETURN_IF_ERROR(CutPadding(directory.fs(), directory.path(), *verdict));
  if (verdict->kind == WalVerdict::Kind::kWhole) return verdict;
  if (refused) {
    return Refusal(directory.path(), Where(*verdict) + "; changes up to number " +
                                         std::to_string(verdict->vouched.value()) +
                                         " were synced, the logs are good up to " +
                                         std::to_string(verdict->last_good.value()));
  }
  const bool loss = verdict->kind == WalVerdict::Kind::kLoss;
  report->note =
      loss ? "ACKNOWLEDGED CHANGES ARE LOST, as accepted: " : "the log has a torn tail: ";
  report->note += Where(*verdict);
  if (options.read_only) return verdict;
  VESTQ_RETURN_IF_ERROR(CutTornTail(directory.fs(), directory.path(), *verdict));
  report->note +=
      "; " + std::to_string(verdict->bytes_beyond) + " bytes were copied to torn-* and cut";
  return verdict;
}

// What an earlier process left in the page cache must be as durable as what this one will sync:
// readers see it.
Error SyncLiveLogs(const DataDirectory& directory) {
  const Result<std::vector<uint64_t>> logs = ListLogs(directory.fs(), directory.path());
  if (!logs.ok()) return logs.error();
  for (const uint64_t log : *logs) {
    VESTQ_RETURN_IF_ERROR(SyncFile(directory.fs(), WalPath(directory.path(), log)));
  }
  return SyncDirectory(directory.fs(), directory.path());
}

Error VerifyFamilies(const std::vector<rocksdb::ColumnFamilyHandle*>& handles) {
  for (size_t i = 0; i < handles.size(); ++i) {
    if (handles[i]->GetID() != i) {
      return Error(ErrorCode::kCorruption,
                   "the column family \"" + handles[i]->GetName() + "\" has number " +
                       std::to_string(handles[i]->GetID()) + ", not " + std::to_string(i));
    }
  }
  return Error::Ok();
}

}  // namespace

rocksdb::Status OpenDatabase::Close() {
  if (!db) return rocksdb::Status::OK();
  for (rocksdb::ColumnFamilyHandle*& handle : families) {
    if (handle != nullptr) db->DestroyColumnFamilyHandle(handle).PermitUncheckedError();
    handle = nullptr;
  }
  const rocksdb::Status s = db->Close();
  db.reset();
  return s;
}

Result<std::unique_ptr<OpenDatabase>> OpenChecked(const DataDirectory& directory,
                                                  const StoreOptions& options) {
  auto open = std::make_unique<OpenDatabase>();
  open->report.created = !directory.holds_store();
  if (directory.holds_store()) {
    const Result<WalVerdict> verdict = Examine(directory, options, &open->report);
    if (!verdict.ok()) return verdict.error();
    open->log_end = verdict->last_good;
    if (!options.read_only) VESTQ_RETURN_IF_ERROR(SyncLiveLogs(directory));
  }
  rocksdb::DB* raw = nullptr;
  std::vector<rocksdb::ColumnFamilyHandle*> handles;
  rocksdb::DBOptions db_options = MakeDbOptions(options);
  if (directory.made()) db_options.create_missing_column_families = false;
  const auto families = MakeFamilies(options);
  const rocksdb::Status s =
      options.read_only
          ? rocksdb::DB::OpenForReadOnly(db_options, directory.path(), families, &handles, &raw)
          : rocksdb::DB::Open(db_options, directory.path(), families, &handles, &raw);
  if (!s.ok()) return FromStatus(s, "cannot open the store in \"" + directory.path() + "\"");
  open->db.reset(raw);
  std::copy(handles.begin(), handles.end(), open->families.begin());
  VESTQ_RETURN_IF_ERROR(VerifyFamilies(handles));
  open->report.sequence = Sequence(raw->GetLatestSequenceNumber());
  return open;
}

}  // namespace vestq
