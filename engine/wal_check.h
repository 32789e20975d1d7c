// The check of the write-ahead logs before opening (design: "Opening").
//
// RocksDB's point-in-time recovery opens after any honest power cut but is silent after a bit flip,
// and the strict modes refuse honest cuts. So every written group carries a vouching record: the
// last sequence known durable when it was made (keycodec::VouchValue). Before opening, the live
// logs are read here, checked for checksums and for sequence contiguity across files. At the first
// break: if any readable record anywhere vouches for something at or beyond the break, acknowledged
// changes are missing: stop. Otherwise it is an honest torn tail: the logs' tails are copied aside
// and cut, and RocksDB opens point-in-time.
//
// Reads RocksDB's log format (db/log_format.h: 32 KiB blocks, CRC32C, recyclable headers,
// zstd-compressed logs). Offline; blocks; memory bounded by the largest record.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "engine/base/ids.h"
#include "engine/base/result.h"

namespace rocksdb {
class FileSystem;
}

namespace vestq {

// Where the readable part of the logs ends.
struct WalBreak {
  uint64_t log_number = 0;
  uint64_t offset = 0;    // of the first byte that is not part of a good record
  uint64_t good_end = 0;  // of the last good record before it: in between lies padding, if anything
  std::string what;       // "checksum mismatch", "record cut short", "sequence gap 812 -> 900" ...
};

struct WalVerdict {
  enum class Kind : uint8_t {
    kWhole,     // every record reads and the sequences follow on
    kTornTail,  // honest: nothing that was vouched for is missing
    kLoss,      // acknowledged changes are missing
  };
  Kind kind = Kind::kWhole;
  Sequence last_good;    // last sequence accounted for before the break; 0 when the logs hold none
  Sequence vouched;      // greatest sequence that any readable record or bound vouches for
  WalBreak first_break;  // unless kWhole
  uint64_t bytes_beyond = 0;   // bytes after the break, over all logs
  uint64_t records = 0;        // good ones before the break
  std::vector<uint64_t> logs;  // live logs, ascending
  // Logs before the break that end with padding that no record follows, and where their last record ends. A record
  // that does not fit a block's last bytes fills them with zeros and begins in the next; a power cut can take the
  // record and leave the zeros. Nothing is missing, but RocksDB says "truncated header" of such a log whenever it reads
  // it.
  std::vector<std::pair<uint64_t, uint64_t>> padded;
};

// What is known beside the logs themselves.
struct WalBounds {
  // Every log with a smaller number was closed and synced: the greatest first-log-needed of any column family in the
  // MANIFEST. A flush syncs the closed logs first (RocksDB, SyncClosedWals), and opening syncs what it replays. A break
  // in such a log is a loss.
  uint64_t synced_below = 0;
  // Greatest sequence in a table file, 0 when there is none; vouches, for the same reason.
  Sequence tables;
  // A clean shutdown left its mark: nothing was unsynced, any break is a loss.
  bool clean = false;
};

// Reads the logs with these numbers (ascending) in `directory`. A log that is missing is a break.
// Errors: kIo when the disk does not give bytes that exist; kUnsupported for a log compressed by
// another method.
[[nodiscard]] Result<WalVerdict> CheckLogs(rocksdb::FileSystem* fs, const std::string& directory,
                                           const std::vector<uint64_t>& logs,
                                           const WalBounds& bounds);

// Cuts the padding off (WalVerdict::padded), so that a later opening is silent of it. Synced before it returns; stopped
// at any point it leaves logs that read the same. Nothing is copied aside: these are zeros. Errors: kIo.
Error CutPadding(rocksdb::FileSystem* fs, const std::string& directory, const WalVerdict& verdict);

// Copies what lies beyond the break into `directory`/torn-<number>-<offset>, then removes the later
// logs and cuts the log of the break behind its last good record (by a rename of its good part). Of the tails of earlier
// cuts the newest stay, limits::kTornFilesKept of all and kTornBytesKept of the old ones. Everything is synced
// before it returns; stopped at any point, it leaves logs that the next check finds torn at the
// same place, or whole. Errors: kIo.
Error CutTornTail(rocksdb::FileSystem* fs, const std::string& directory, const WalVerdict& verdict);

}  // namespace vestq
