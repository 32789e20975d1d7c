// The open files and directories of SimFileSystem; made by it alone, used by RocksDB through its
// interfaces.
//
// A handle holds its node, so an unlinked file stays readable while open, and the epoch it was
// opened in: after a crash or a kill each call on it fails. A handle must not outlive its file
// system. Same thread as the file system.
#pragma once

#include <cstdint>
#include <string>

#include "rocksdb/file_system.h"
#include "tests/sim/sim_file_system.h"

namespace vestq {

// The status for a disk's error on `path`, as RocksDB's POSIX file system would give it.
rocksdb::IOStatus SimStatus(DiskError error, const std::string& path);

class SimHandle {
 public:
  SimHandle(SimFileSystem* fs, std::string path, SimNodePtr node);
  ~SimHandle();
  SimHandle(const SimHandle&) = delete;
  SimHandle& operator=(const SimHandle&) = delete;

  rocksdb::IOStatus Read(uint64_t offset, size_t n, rocksdb::Slice* result, char* scratch) const;
  rocksdb::IOStatus Write(uint64_t offset, const rocksdb::Slice& data);
  rocksdb::IOStatus Truncate(uint64_t size);
  rocksdb::IOStatus Sync();           // of a file
  rocksdb::IOStatus SyncDirectory();  // of a directory
  rocksdb::IOStatus Flush() const;    // no user-space buffer: only tells whether the handle lives
  rocksdb::IOStatus Close();
  uint64_t size() const { return node_->content.size(); }

 private:
  rocksdb::IOStatus Enter(SimCall call) const;
  bool alive() const;

  SimFileSystem* const fs_;
  const std::string path_;
  const SimNodePtr node_;
  const uint64_t epoch_;
  bool closed_ = false;
};

class SimSequentialFile : public rocksdb::FSSequentialFile {
 public:
  SimSequentialFile(SimFileSystem* fs, const std::string& path, SimNodePtr node)
      : handle_(fs, path, node) {}
  rocksdb::IOStatus Read(size_t n, const rocksdb::IOOptions& options, rocksdb::Slice* result,
                         char* scratch, rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus Skip(uint64_t n) override;
  rocksdb::IOStatus InvalidateCache(size_t, size_t) override { return rocksdb::IOStatus::OK(); }

 private:
  SimHandle handle_;
  uint64_t offset_ = 0;
};

class SimRandomAccessFile : public rocksdb::FSRandomAccessFile {
 public:
  SimRandomAccessFile(SimFileSystem* fs, const std::string& path, SimNodePtr node)
      : handle_(fs, path, node) {}
  rocksdb::IOStatus Read(uint64_t offset, size_t n, const rocksdb::IOOptions& options,
                         rocksdb::Slice* result, char* scratch,
                         rocksdb::IODebugContext* debug) const override;
  rocksdb::IOStatus InvalidateCache(size_t, size_t) override { return rocksdb::IOStatus::OK(); }

 private:
  SimHandle handle_;
};

class SimWritableFile : public rocksdb::FSWritableFile {
 public:
  SimWritableFile(SimFileSystem* fs, const std::string& path, SimNodePtr node,
                  const rocksdb::FileOptions& options)
      : rocksdb::FSWritableFile(options), handle_(fs, path, node) {}
  using rocksdb::FSWritableFile::Append;
  using rocksdb::FSWritableFile::PositionedAppend;
  rocksdb::IOStatus Append(const rocksdb::Slice& data, const rocksdb::IOOptions& options,
                           rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus PositionedAppend(const rocksdb::Slice& data, uint64_t offset,
                                     const rocksdb::IOOptions& options,
                                     rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus Truncate(uint64_t size, const rocksdb::IOOptions& options,
                             rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus Close(const rocksdb::IOOptions& options,
                          rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus Flush(const rocksdb::IOOptions& options,
                          rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus Sync(const rocksdb::IOOptions& options,
                         rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus Fsync(const rocksdb::IOOptions& options,
                          rocksdb::IODebugContext* debug) override;
  // sync_file_range promises nothing, so it makes nothing durable, also with strict_bytes_per_sync.
  rocksdb::IOStatus RangeSync(uint64_t offset, uint64_t n, const rocksdb::IOOptions& options,
                              rocksdb::IODebugContext* debug) override;
  // Keeps the size, as fallocate with KEEP_SIZE does; the space is not set aside.
  rocksdb::IOStatus Allocate(uint64_t offset, uint64_t n, const rocksdb::IOOptions& options,
                             rocksdb::IODebugContext* debug) override;
  bool IsSyncThreadSafe() const override { return true; }
  uint64_t GetFileSize(const rocksdb::IOOptions& options, rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus InvalidateCache(size_t, size_t) override { return rocksdb::IOStatus::OK(); }

 private:
  SimHandle handle_;
};

class SimRandomRWFile : public rocksdb::FSRandomRWFile {
 public:
  SimRandomRWFile(SimFileSystem* fs, const std::string& path, SimNodePtr node)
      : handle_(fs, path, node) {}
  rocksdb::IOStatus Write(uint64_t offset, const rocksdb::Slice& data,
                          const rocksdb::IOOptions& options,
                          rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus Read(uint64_t offset, size_t n, const rocksdb::IOOptions& options,
                         rocksdb::Slice* result, char* scratch,
                         rocksdb::IODebugContext* debug) const override;
  rocksdb::IOStatus Flush(const rocksdb::IOOptions& options,
                          rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus Sync(const rocksdb::IOOptions& options,
                         rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus Close(const rocksdb::IOOptions& options,
                          rocksdb::IODebugContext* debug) override;

 private:
  SimHandle handle_;
};

class SimDirectory : public rocksdb::FSDirectory {
 public:
  SimDirectory(SimFileSystem* fs, const std::string& path, SimNodePtr node)
      : handle_(fs, path, node) {}
  rocksdb::IOStatus Fsync(const rocksdb::IOOptions& options,
                          rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus Close(const rocksdb::IOOptions& options,
                          rocksdb::IODebugContext* debug) override;

 private:
  SimHandle handle_;
};

}  // namespace vestq
