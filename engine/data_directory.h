// A vestq data directory: its format file, its lock and its mark of a clean shutdown. The store's
// files lie beside them.
//
//   VESTQ       text; first line "vestq data directory, format 1", second "lanes 16". Written
//               before anything else, never changed.
//   VESTQ.lock  locked while a process has the directory; empty. The lock goes with the process,
//               however it ends.
//   CLEAN       text: "clean shutdown at sequence N", then each log and its size, "log 12 of 3456
//               bytes", then "end". Written by the last step of closing, removed by opening.
//   MADE        text; written once RocksDB has made all families. From then on a missing one is damage,
//               and so is a store without any log.
//   torn-*      tails that the log check cut (engine/wal_check.h); the newest few are kept, for people.
//
// A directory that is not empty and has no VESTQ is foreign: it is refused and not one byte in it
// changes. Includes RocksDB's headers (the file system). Owned by the store; blocks.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/base/ids.h"
#include "engine/base/limits.h"
#include "engine/base/result.h"
#include "rocksdb/file_system.h"

namespace vestq {

// Version of everything under the directory that is not RocksDB's own. Raised when an older program
// must not open it.
inline constexpr uint32_t kFormatVersion = 1;

// What a clean shutdown left.
struct CleanMark {
  Sequence sequence;
  std::vector<std::pair<uint64_t, uint64_t>> logs;  // number, bytes; all synced
  bool operator==(const CleanMark&) const = default;
};

class DataDirectory {
 public:
  struct Options {
    std::string path;
    bool create_if_missing = true;
    bool read_only = false;
    uint16_t lanes = 0;  // wanted; 0: the directory's own, and for a new one the default
    uint16_t cores = 1;  // at most the lanes
  };

  // Creates the directory (not its parents) and the format file when allowed, or checks them, and
  // takes the lock. Errors name the path: kNotFound (no such directory, nothing to create),
  // kUnsupported (foreign, newer), kBusy (locked), kRange (other lanes, more cores than lanes),
  // kCorruption (format file unreadable; RocksDB's CURRENT gone), kIo (a file, missing parent,
  // read-only).
  static Result<std::unique_ptr<DataDirectory>> Open(rocksdb::FileSystem* fs,
                                                     const Options& options);
  // Unlocks.
  ~DataDirectory();
  DataDirectory(const DataDirectory&) = delete;
  DataDirectory& operator=(const DataDirectory&) = delete;

  const std::string& path() const { return path_; }
  rocksdb::FileSystem* fs() const { return fs_; }
  // The number of lanes, fixed when the directory was made.
  uint16_t lanes() const { return lanes_; }
  // False until RocksDB has created its files.
  bool holds_store() const { return holds_store_; }
  // The store has once been made whole, with all its families.
  bool made() const { return made_; }
  Error MarkMade();  // durable when it returns

  // nullopt when there is none. Errors: kCorruption when it does not read.
  [[nodiscard]] Result<std::optional<CleanMark>> ReadCleanMark() const;
  // What a mark would say now. Errors: kIo.
  [[nodiscard]] Result<CleanMark> MakeCleanMark(Sequence sequence) const;
  // Durable when they return.
  Error WriteCleanMark(const CleanMark& mark);
  Error RemoveCleanMark();

 private:
  DataDirectory(rocksdb::FileSystem* fs, std::string path) : fs_(fs), path_(std::move(path)) {}
  Error CheckContents(const Options& options);
  Error CheckFormat(const Options& options);
  Error CheckLanes(const Options& options) const;
  Error Lock(const Options& options);

  rocksdb::FileSystem* const fs_;
  const std::string path_;
  rocksdb::FileLock* lock_ = nullptr;
  uint16_t lanes_ = 0;
  bool has_format_ = false;
  bool holds_store_ = false;
  bool made_ = false;
};

// The bytes of the marks; decoding errors: kCorruption.
std::string EncodeCleanMark(const CleanMark& mark);
[[nodiscard]] Result<CleanMark> DecodeCleanMark(std::string_view bytes);
// The bytes of the format file.
std::string EncodeFormat(uint32_t version, uint16_t lanes = limits::kLanesDefault);
// The version, and of a version that this program knows, the lanes. Errors: kCorruption.
[[nodiscard]] Result<uint32_t> DecodeFormat(std::string_view bytes);
[[nodiscard]] Result<uint16_t> DecodeFormatLanes(std::string_view bytes);

}  // namespace vestq
