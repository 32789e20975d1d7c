// Includes RocksDB's headers (the file system).
#include <algorithm>
#include <charconv>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/base/limits.h"
#include "engine/durable_file.h"
#include "engine/wal_check.h"

namespace vestq {
namespace {

constexpr std::string_view kTorn = "torn-";

// Log and offset. In this order the newest is the greatest: logs are numbered upwards, and one that is
// torn again is torn before where it was cut, or behind.
using TornName = std::pair<uint64_t, uint64_t>;

std::string TornPath(const std::string& directory, const TornName& name) {
  return directory + "/" + std::string(kTorn) + std::to_string(name.first) + "-" +
         std::to_string(name.second);
}

std::optional<TornName> ParseTorn(std::string_view text) {
  if (!text.starts_with(kTorn)) return std::nullopt;
  const char* const end = text.data() + text.size();
  TornName name;
  const auto log = std::from_chars(text.data() + kTorn.size(), end, name.first);
  if (log.ec != std::errc() || log.ptr == end || *log.ptr != '-') return std::nullopt;
  const auto offset = std::from_chars(log.ptr + 1, end, name.second);
  if (offset.ec != std::errc() || offset.ptr != end) return std::nullopt;
  return name;
}

Result<uint64_t> SizeOf(rocksdb::FileSystem* fs, const std::string& path) {
  uint64_t size = 0;
  if (!fs->GetFileSize(path, rocksdb::IOOptions(), &size, nullptr).ok()) {
    return Error(ErrorCode::kIo, "cannot tell the size of " + path);
  }
  return size;
}

// Of the tails of earlier cuts the newest few stay; `now` are those of this one, which all do.
Error RemoveOldTails(rocksdb::FileSystem* fs, const std::string& directory,
                     const std::vector<TornName>& now) {
  std::vector<std::string> children;
  if (!fs->GetChildren(directory, rocksdb::IOOptions(), &children, nullptr).ok())
    return Error(ErrorCode::kIo, "cannot list " + directory);
  std::vector<TornName> old;
  for (const std::string& child : children) {
    const std::optional<TornName> name = ParseTorn(child);
    if (name && std::find(now.begin(), now.end(), *name) == now.end()) old.push_back(*name);
  }
  std::sort(old.rbegin(), old.rend());
  size_t kept = now.size();
  uint64_t bytes = 0;
  for (const TornName& name : old) {
    const std::string path = TornPath(directory, name);
    const Result<uint64_t> size = SizeOf(fs, path);
    if (!size.ok()) return size.error();
    bytes += *size;
    if (++kept <= limits::kTornFilesKept && bytes <= limits::kTornBytesKept) continue;
    VESTQ_RETURN_IF_ERROR(RemoveFile(fs, path));
  }
  return Error::Ok();
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
        CopyRange(fs, path, offset, *size - offset, TornPath(directory, {log, offset})));
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
  std::vector<TornName> tails;
  bool broken_log_exists = false;
  for (const uint64_t log : verdict.logs) {
    if (log < at.log_number) continue;
    tails.emplace_back(log, log == at.log_number ? at.offset : 0);
    const Result<bool> exists = CopyAside(fs, directory, log, tails.back().second);
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
  if (broken_log_exists) VESTQ_RETURN_IF_ERROR(CutLog(fs, directory, at.log_number, at.good_end));
  return RemoveOldTails(fs, directory, tails);
}

}  // namespace vestq
