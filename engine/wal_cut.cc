// Includes RocksDB's headers (the file system).
#include <string>
#include <vector>

#include "engine/durable_file.h"
#include "engine/wal_check.h"

namespace vestq {
namespace {

std::string TornPath(const std::string& directory, uint64_t log, uint64_t offset) {
  return directory + "/torn-" + std::to_string(log) + "-" + std::to_string(offset);
}

Result<uint64_t> SizeOf(rocksdb::FileSystem* fs, const std::string& path) {
  uint64_t size = 0;
  if (!fs->GetFileSize(path, rocksdb::IOOptions(), &size, nullptr).ok()) {
    return Error(ErrorCode::kIo, "cannot tell the size of " + path);
  }
  return size;
}

// Copies a log from `offset` on aside. False when there is nothing there.
Result<bool> CopyAside(rocksdb::FileSystem* fs, const std::string& directory, uint64_t log,
                       uint64_t offset) {
  const std::string path = WalPath(directory, log);
  if (!FileExists(fs, path)) return false;
  const Result<uint64_t> size = SizeOf(fs, path);
  if (!size.ok()) return size.error();
  if (*size > offset) {
    VESTQ_RETURN_IF_ERROR(
        CopyRange(fs, path, offset, *size - offset, TornPath(directory, log, offset)));
  }
  return true;
}

// The log's first `size` bytes take its place.
Error CutLog(rocksdb::FileSystem* fs, const std::string& directory, uint64_t log, uint64_t size) {
  const std::string path = WalPath(directory, log);
  const std::string good = path + ".cut";
  VESTQ_RETURN_IF_ERROR(CopyRange(fs, path, 0, size, good));
  if (!fs->RenameFile(good, path, rocksdb::IOOptions(), nullptr).ok()) {
    return Error(ErrorCode::kIo, "cannot rename " + good);
  }
  return SyncDirectory(fs, directory);
}

}  // namespace

Error CutPadding(rocksdb::FileSystem* fs, const std::string& directory, const WalVerdict& verdict) {
  for (const auto& [log, size] : verdict.padded)
    VESTQ_RETURN_IF_ERROR(CutLog(fs, directory, log, size));
  return Error::Ok();
}

Error CutTornTail(rocksdb::FileSystem* fs, const std::string& directory,
                  const WalVerdict& verdict) {
  const WalBreak& at = verdict.first_break;
  std::vector<uint64_t> later;
  bool broken_log_exists = false;
  for (const uint64_t log : verdict.logs) {
    if (log < at.log_number) continue;
    const Result<bool> exists = CopyAside(fs, directory, log, log == at.log_number ? at.offset : 0);
    if (!exists.ok()) return exists.error();
    if (!*exists) continue;
    if (log == at.log_number) {
      broken_log_exists = true;
    } else {
      later.push_back(log);
    }
  }
  VESTQ_RETURN_IF_ERROR(SyncDirectory(fs, directory));
  // From the last log down, so that a stop in between leaves no gap behind good records.
  for (auto log = later.rbegin(); log != later.rend(); ++log) {
    VESTQ_RETURN_IF_ERROR(RemoveFile(fs, WalPath(directory, *log)));
    VESTQ_RETURN_IF_ERROR(SyncDirectory(fs, directory));
  }
  if (!broken_log_exists) return Error::Ok();
  return CutLog(fs, directory, at.log_number, at.good_end);
}

}  // namespace vestq
