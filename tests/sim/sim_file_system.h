// RocksDB's file system for the simulation: wholly in memory, deterministic, with power cuts, kills
// and faults.
//
// SimDisk (tests/sim/sim_disk.h) is the disk; this class is the operating system in front of it:
// handles, locks, error codes, injected faults. One thread, and it checks that: a call from another
// thread is a CHECK, since it could not be replayed. No real I/O, no clock (times of modification
// are a counter), no randomness but the SimRandom given to Crash. A call costs a map lookup and a
// copy of its bytes.
//
// Life over a power cut (a kill is the same with Kill):
//   fs->Crash(random, mode);  // or: fs->PowerOffAfter(n) and run until fs->down(), then Crash
//   db.reset();               // RocksDB closes on a dead file system: each of its calls fails,
//   nothing changes fs->Restart();            // what the cut left is there; open handles and locks
//   of before stay dead
//
// Invariants: those of SimDisk, and
//  5. While down, and through a handle opened before, no call changes or reads anything: it fails
//  with IOError.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "rocksdb/file_system.h"
#include "tests/sim/sim_disk.h"
#include "tests/sim/sim_random.h"

namespace vestq {

// The calls that can fail on demand. kSync is of a file, kSyncDirectory of a directory; kDelete
// also of directories.
enum class SimCall { kAppend, kSync, kSyncDirectory, kRead, kCreate, kRename, kDelete };
inline constexpr size_t kSimCalls = 7;
enum class SimErrno { kIo, kNoSpace };

struct SimFault {
  SimCall call = SimCall::kAppend;
  uint64_t nth = 1;         // fails the nth matching call from now on
  bool persistent = false;  // and all later ones, until ClearFaults
  SimErrno error = SimErrno::kIo;
  std::string path_contains = {};  // only calls on such paths; empty: all
};

struct SimFileStats {
  uint64_t calls[kSimCalls] = {};  // by SimCall, failed ones included
  uint64_t bytes_written = 0;
  uint64_t bytes_read = 0;
  uint64_t faults = 0;  // injected
  uint64_t count(SimCall call) const { return calls[static_cast<size_t>(call)]; }
};

class SimFileSystem : public rocksdb::FileSystem {
 public:
  SimFileSystem();
  ~SimFileSystem() override;
  // The same disk in its present state (unsynced changes too), powered, without faults: for trying
  // several outcomes of one crash. Handles stay with the original.
  std::shared_ptr<SimFileSystem> Clone() const;

  // --- The world ---
  // Power cut now; the system is down until Restart.
  void Crash(SimRandom& random, CrashMode mode);
  // The process is killed: all that was written stays, handles and locks are dead; down until
  // Restart.
  void Kill();
  void Restart();
  bool down() const { return down_; }
  // The power goes at the n-th changing call from now (n = 0: at the next), in the middle of
  // whatever runs: that call and all later ones fail. Follow with Crash once down() is seen.
  void PowerOffAfter(uint64_t calls) { power_off_after_ = calls; }
  void Inject(SimFault fault) { faults_.push_back(std::move(fault)); }
  void ClearFaults() { faults_.clear(); }
  // ENOSPC beyond; may be changed at any time. Only contents of files count.
  void SetCapacity(uint64_t bytes) { disk_.set_capacity(bytes); }

  // --- Looking and preparing; these work while down, inject nothing and count nothing ---
  SimDisk& disk() { return disk_; }
  const SimFileStats& stats() const { return stats_; }
  // Hash of every changing call so far: kind, path, position, bytes, outcome. Equal histories have
  // equal hashes.
  uint64_t history() const { return history_; }
  // Called with a line for each changing call; to find where two runs part.
  void SetTrace(std::function<void(const std::string&)> trace) { trace_ = std::move(trace); }
  // The content of a file; empty when there is none.
  std::string Content(const std::string& path) const;
  // Puts a file there, durably. REQUIRES: its directory exists.
  void PutFile(const std::string& path, std::string_view content);
  // Makes a directory and its parents, durably.
  void MakeDirectories(const std::string& path);
  // A bit of a file decays, in content and synced image. REQUIRES: the file has that byte.
  void FlipBit(const std::string& path, uint64_t offset, int bit);

  // --- rocksdb::FileSystem ---
  using IOStatus = rocksdb::IOStatus;
  using IOOptions = rocksdb::IOOptions;
  using FileOptions = rocksdb::FileOptions;
  using IODebugContext = rocksdb::IODebugContext;
  const char* Name() const override { return "SimFileSystem"; }
  IOStatus NewSequentialFile(const std::string& path, const FileOptions& options,
                             std::unique_ptr<rocksdb::FSSequentialFile>* result,
                             IODebugContext* debug) override;
  IOStatus NewRandomAccessFile(const std::string& path, const FileOptions& options,
                               std::unique_ptr<rocksdb::FSRandomAccessFile>* result,
                               IODebugContext* debug) override;
  IOStatus NewWritableFile(const std::string& path, const FileOptions& options,
                           std::unique_ptr<rocksdb::FSWritableFile>* result,
                           IODebugContext* debug) override;
  IOStatus ReopenWritableFile(const std::string& path, const FileOptions& options,
                              std::unique_ptr<rocksdb::FSWritableFile>* result,
                              IODebugContext* debug) override;
  IOStatus NewRandomRWFile(const std::string& path, const FileOptions& options,
                           std::unique_ptr<rocksdb::FSRandomRWFile>* result,
                           IODebugContext* debug) override;
  IOStatus NewDirectory(const std::string& path, const IOOptions& options,
                        std::unique_ptr<rocksdb::FSDirectory>* result,
                        IODebugContext* debug) override;
  IOStatus FileExists(const std::string& path, const IOOptions& options,
                      IODebugContext* debug) override;
  IOStatus GetChildren(const std::string& path, const IOOptions& options,
                       std::vector<std::string>* result, IODebugContext* debug) override;
  IOStatus DeleteFile(const std::string& path, const IOOptions& options,
                      IODebugContext* debug) override;
  IOStatus Truncate(const std::string& path, size_t size, const IOOptions& options,
                    IODebugContext* debug) override;
  IOStatus CreateDir(const std::string& path, const IOOptions& options,
                     IODebugContext* debug) override;
  IOStatus CreateDirIfMissing(const std::string& path, const IOOptions& options,
                              IODebugContext* debug) override;
  IOStatus DeleteDir(const std::string& path, const IOOptions& options,
                     IODebugContext* debug) override;
  IOStatus GetFileSize(const std::string& path, const IOOptions& options, uint64_t* size,
                       IODebugContext* debug) override;
  IOStatus GetFileModificationTime(const std::string& path, const IOOptions& options,
                                   uint64_t* time, IODebugContext* debug) override;
  IOStatus RenameFile(const std::string& from, const std::string& to, const IOOptions& options,
                      IODebugContext* debug) override;
  IOStatus LinkFile(const std::string& from, const std::string& to, const IOOptions& options,
                    IODebugContext* debug) override;
  IOStatus NumFileLinks(const std::string& path, const IOOptions& options, uint64_t* count,
                        IODebugContext* debug) override;
  IOStatus AreFilesSame(const std::string& first, const std::string& second,
                        const IOOptions& options, bool* same, IODebugContext* debug) override;
  IOStatus LockFile(const std::string& path, const IOOptions& options, rocksdb::FileLock** lock,
                    IODebugContext* debug) override;
  IOStatus UnlockFile(rocksdb::FileLock* lock, const IOOptions& options,
                      IODebugContext* debug) override;
  IOStatus GetTestDirectory(const IOOptions& options, std::string* path,
                            IODebugContext* debug) override;
  IOStatus NewLogger(const std::string& path, const IOOptions& options,
                     std::shared_ptr<rocksdb::Logger>* result, IODebugContext* debug) override;
  IOStatus GetAbsolutePath(const std::string& path, const IOOptions& options, std::string* result,
                           IODebugContext* debug) override;
  IOStatus GetFreeSpace(const std::string& path, const IOOptions& options, uint64_t* free,
                        IODebugContext* debug) override;
  IOStatus IsDirectory(const std::string& path, const IOOptions& options, bool* is_directory,
                       IODebugContext* debug) override;
  IOStatus Poll(std::vector<void*>& handles, size_t min_completions) override;
  IOStatus AbortIO(std::vector<void*>& handles) override;
  void SupportedOps(int64_t& supported) override { supported = 0; }  // no asynchronous reads

 private:
  friend class SimHandle;
  class Lock;
  static constexpr uint64_t kNoHandle = 0;  // the epoch of a call that needs none

  // Whether a call may go on: IOError when down, when the handle's epoch is over, or when a fault
  // says so.
  IOStatus Enter(SimCall call, const std::string& path, uint64_t epoch);
  IOStatus EnterPath(
      const std::string& path);  // for calls that no fault can hit and that change nothing
  IOStatus FaultFor(SimCall call, const std::string& path);
  void Note(const char* what, const std::string& path, uint64_t number, std::string_view bytes,
            const IOStatus& status);
  IOStatus OpenForReading(const std::string& path, SimNodePtr* node);
  IOStatus OpenForWriting(const std::string& path, bool truncate, SimNodePtr* node);
  void GoDown();

  SimDisk disk_;
  const std::thread::id thread_;
  bool down_ = false;
  uint64_t epoch_ = 1;  // raised by each crash and kill; a handle of another epoch is dead
  uint64_t power_off_after_ = ~uint64_t{0};
  std::vector<SimFault> faults_;
  std::set<std::string> locks_;
  SimFileStats stats_;
  uint64_t history_ = kSimHashStart;
  std::function<void(const std::string&)> trace_;
};

}  // namespace vestq
