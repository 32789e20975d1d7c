// A disk with a page cache, as a pure model: files and directories, what of them is durable, and
// what a power cut leaves. It knows nothing of RocksDB (sim_file_system.h puts RocksDB's interface
// around it).
//
// A file has its content (what a reader sees) and its synced image (what a power cut cannot take).
// Only the difference is stored: the old bytes of sectors that were overwritten, and which sectors
// changed since the last sync, so a sync of an appended log costs nothing. A directory has its
// entries and its synced entries; what lies between them is one ordered list of changes for the
// whole disk. One thread; memory is that of the files.
//
// Invariants:
//  1. After Crash a byte that was synced and not changed since is there, unless its file's entry
//  was never synced.
//  2. After Crash(kLoseUnsynced) the disk is exactly what was synced.
//  3. A rename is atomic: after Crash the target is the old file or the new one, whole entries
//  only.
//  4. Crash(kTorn) keeps a prefix of the unsynced directory changes, because the metadata journals
//  of ext4, xfs and
//     btrfs keep their order, and RocksDB relies on it (its CURRENT is renamed before the directory
//     with the new manifest in it is synced). File data has no such order: sectors reach the disk
//     in any.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tests/sim/sim_random.h"

namespace vestq {

enum class CrashMode { kLoseUnsynced, kTorn };

enum class DiskError { kOk, kNotFound, kExists, kNotDirectory, kIsDirectory, kNotEmpty, kNoSpace };

struct SimNode;
using SimNodePtr = std::shared_ptr<SimNode>;
using SimEntries = std::map<std::string, SimNodePtr>;

// A file or a directory. Only SimDisk changes one.
struct SimNode {
  bool is_directory = false;
  uint64_t mtime = 0;

  // File.
  std::string content;
  uint64_t synced_size = 0;
  std::map<uint64_t, std::string>
      undo;                  // sector -> its synced bytes, where content no longer has them
  std::set<uint64_t> dirty;  // sectors changed since the last sync
  bool sync_failed = false;  // a sync failed: nothing of it becomes durable any more (see FailSync)
  uint32_t links = 0;
  uint32_t handles = 0;  // open: an unlinked file holds its space until closed

  // Directory.
  SimEntries entries;
  SimEntries synced_entries;
};

class SimDisk {
 public:
  static constexpr uint64_t kSector = 512;
  static constexpr uint64_t kUnlimited = ~uint64_t{0};

  SimDisk();
  SimDisk(SimDisk&&) = default;
  SimDisk& operator=(SimDisk&&) = default;
  // An independent copy, unsynced state and all; open handles stay with the original.
  SimDisk Clone() const;

  // nullptr when there is no such path. Paths are absolute; repeated and trailing slashes do not
  // matter.
  SimNodePtr Lookup(std::string_view path) const;
  // Creates an empty file, or cuts an existing one to nothing (O_CREAT | O_TRUNC).
  DiskError Create(std::string_view path, SimNodePtr* node);
  DiskError MakeDirectory(std::string_view path);
  DiskError Remove(std::string_view path);
  DiskError RemoveDirectory(std::string_view path);
  DiskError Rename(std::string_view from, std::string_view to);
  DiskError Link(std::string_view from, std::string_view to);

  // Writes at `offset`, filling a gap with zeros. kNoSpace: the part that fitted is written, as
  // write(2) does.
  DiskError Write(SimNode& file, uint64_t offset, std::string_view data);
  DiskError Truncate(SimNode& file, uint64_t size);
  // Everything of the file is durable (not its entry: that is SyncDirectory's).
  void Sync(SimNode& file);
  // A sync that reported an error. As on Linux, the pages count as clean afterwards: later syncs
  // succeed and make nothing of this file durable, so whoever tries an fsync again loses data in
  // the next crash.
  void FailSync(SimNode& file);
  // The directory's entries are durable.
  void SyncDirectory(SimNode& directory);
  // All files and directories are durable.
  void SyncAll();

  void Open(SimNode& file) { ++file.handles; }
  void Close(SimNode& file);

  // Power cut: the content becomes what the cut left, and that counts as synced. All handles are
  // void.
  void Crash(SimRandom& random, CrashMode mode);

  void set_capacity(uint64_t bytes) { capacity_ = bytes; }
  uint64_t capacity() const { return capacity_; }
  uint64_t used() const { return used_; }  // bytes of content, linked or open

  // Calls `visit` for each path below "/" in order of name.
  void Visit(const std::function<void(const std::string& path, const SimNode& node)>& visit) const;
  // Hash of every path, content and synced image.
  uint64_t Fingerprint() const;

 private:
  // One change of directory entries, not yet durable.
  struct Change {
    SimNodePtr remove_from;  // nullptr: nothing is removed
    std::string remove_name;
    SimNodePtr add_to;  // nullptr: nothing is added
    std::string add_name;
    SimNodePtr node;
  };

  SimNodePtr Parent(std::string_view path, std::string* name) const;
  void Apply(Change change);
  static void ApplySynced(const Change& change);
  void Touch(SimNode& file, uint64_t begin, uint64_t end);
  void Resize(SimNode& file, uint64_t size);
  void ReleaseIfUnused(SimNode& file);
  static std::string SyncedImage(const SimNode& file);
  static std::string TornImage(const SimNode& file, SimRandom& random);
  void CrashNode(const SimNodePtr& node, SimRandom& random, CrashMode mode,
                 std::set<SimNode*>* done);
  uint64_t Room() const { return capacity_ > used_ ? capacity_ - used_ : 0; }

  SimNodePtr root_;
  std::vector<Change> unsynced_;
  uint64_t capacity_ = kUnlimited;
  uint64_t used_ = 0;
  uint64_t mtime_ = 1'000'000'000;  // a counter, so that no clock is read
};

// FNV-1a over `bytes`, going on from `hash`.
uint64_t SimHash(uint64_t hash, std::string_view bytes);
inline constexpr uint64_t kSimHashStart = 0xCBF29CE484222325ull;

}  // namespace vestq
