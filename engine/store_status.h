// The one place where RocksDB's statuses become vestq errors (house rule 13). Includes RocksDB's
// headers. Pure.
//
//   NotFound -> kNotFound    Busy, Incomplete, TryAgain, TimedOut -> kBusy
//   Corruption -> kCorruption    NotSupported -> kUnsupported    everything else -> kIo
#pragma once

#include <string>
#include <string_view>

#include "engine/base/result.h"
#include "rocksdb/status.h"

namespace vestq {

// `what` says what was being done and to which directory or file: "cannot open /var/lib/vestq".
[[nodiscard]] Error FromStatus(const rocksdb::Status& status, std::string_view what);

// The write stalled (no_slowdown): nothing was written.
[[nodiscard]] bool IsStall(const rocksdb::Status& status);
// The operating system said that the file system is mounted read-only (EROFS).
[[nodiscard]] bool IsReadOnlyFileSystem(const rocksdb::Status& status);
// Another holder, of this process or another one, has the file locked.
[[nodiscard]] bool IsLocked(const rocksdb::Status& status);

}  // namespace vestq
