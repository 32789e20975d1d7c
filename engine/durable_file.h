// Small steps on files, durable when they return, through RocksDB's file system interface so that a
// simulated file system sees them. Includes RocksDB's headers. Errors: kIo, naming the file;
// kNotFound. All block.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/result.h"
#include "rocksdb/file_system.h"

namespace vestq {

// The whole of a small file (settings, marks). Errors: also kCorruption when it is longer than
// `bytes_max`.
Result<std::string> ReadSmallFile(rocksdb::FileSystem* fs, const std::string& path,
                                  size_t bytes_max);
// Creates or replaces `path` by writing `path`.tmp, syncing it, renaming it and syncing the
// directory.
Error ReplaceFile(rocksdb::FileSystem* fs, const std::string& directory, const std::string& name,
                  std::string_view bytes);
// Copies `bytes` bytes of `from` starting at `offset` into the new file `to`, synced (its directory
// is not).
Error CopyRange(rocksdb::FileSystem* fs, const std::string& from, uint64_t offset, uint64_t bytes,
                const std::string& to);
// Syncs a file that was written before, perhaps by a process that died.
Error SyncFile(rocksdb::FileSystem* fs, const std::string& path);
Error SyncDirectory(rocksdb::FileSystem* fs, const std::string& directory);
Error RemoveFile(rocksdb::FileSystem* fs, const std::string& path);
bool FileExists(rocksdb::FileSystem* fs, const std::string& path);

// RocksDB's name of a write-ahead log: directory/000123.log.
std::string WalPath(const std::string& directory, uint64_t number);
// The numbers of the logs in the directory, ascending.
Result<std::vector<uint64_t>> ListLogs(rocksdb::FileSystem* fs, const std::string& directory);

}  // namespace vestq
