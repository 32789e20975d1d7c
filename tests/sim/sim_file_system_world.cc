// The part of SimFileSystem that is no file system: crashes, faults, and looking from outside.
#include <string>
#include <utility>

#include "engine/base/check.h"
#include "tests/sim/sim_file_system.h"
#include "tests/sim/sim_handles.h"

namespace vestq {

using rocksdb::IOStatus;

// The codes that RocksDB's own POSIX file system gives (env/io_posix.cc).
IOStatus SimStatus(DiskError error, const std::string& path) {
  switch (error) {
    case DiskError::kOk: return IOStatus::OK();
    case DiskError::kNotFound: return IOStatus::PathNotFound(path, "No such file or directory");
    case DiskError::kExists: return IOStatus::IOError(path, "File exists");
    case DiskError::kNotDirectory: return IOStatus::IOError(path, "Not a directory");
    case DiskError::kIsDirectory: return IOStatus::IOError(path, "Is a directory");
    case DiskError::kNotEmpty: return IOStatus::IOError(path, "Directory not empty");
    case DiskError::kNoSpace: {
      IOStatus status = IOStatus::NoSpace(path, "No space left on device");
      status.SetRetryable(true);
      return status;
    }
  }
  return IOStatus::OK();
}

SimFileSystem::SimFileSystem() : thread_(std::this_thread::get_id()) {}
SimFileSystem::~SimFileSystem() = default;

std::shared_ptr<SimFileSystem> SimFileSystem::Clone() const {
  auto copy = std::make_shared<SimFileSystem>();
  copy->disk_ = disk_.Clone();
  return copy;
}

// --- The world ---

void SimFileSystem::GoDown() {
  down_ = true;
  ++epoch_;
  locks_.clear();
  power_off_after_ = ~uint64_t{0};
}

void SimFileSystem::Crash(SimRandom& random, CrashMode mode) {
  GoDown();
  disk_.Crash(random, mode);
}

void SimFileSystem::Kill() { GoDown(); }

void SimFileSystem::Restart() {
  CHECK(down_, "Restart follows Crash or Kill");
  down_ = false;
}

IOStatus SimFileSystem::FaultFor(SimCall call, const std::string& path) {
  for (SimFault& fault : faults_) {
    if (fault.call != call || fault.nth == 0) continue;
    if (!fault.path_contains.empty() && path.find(fault.path_contains) == std::string::npos)
      continue;
    if (--fault.nth > 0) continue;
    if (fault.persistent) fault.nth = 1;
    ++stats_.faults;
    if (fault.error == SimErrno::kNoSpace) return SimStatus(DiskError::kNoSpace, path);
    return IOStatus::IOError(path, "Input/output error (injected)");
  }
  return IOStatus::OK();
}

IOStatus SimFileSystem::EnterPath(const std::string& path) {
  CHECK(std::this_thread::get_id() == thread_, "the simulated file system is used from one thread");
  if (down_) return IOStatus::IOError(path, "the simulated machine is down");
  return IOStatus::OK();
}

IOStatus SimFileSystem::Enter(SimCall call, const std::string& path, uint64_t epoch) {
  IOStatus status = EnterPath(path);
  if (!status.ok()) return status;
  if (epoch != kNoHandle && epoch != epoch_)
    return IOStatus::IOError(path, "handle from before the crash");
  ++stats_.calls[static_cast<size_t>(call)];
  if (call != SimCall::kRead && power_off_after_ != ~uint64_t{0} && power_off_after_-- == 0) {
    GoDown();
    return IOStatus::IOError(path, "the simulated machine is down");
  }
  return FaultFor(call, path);
}

void SimFileSystem::Note(const char* what, const std::string& path, uint64_t number,
                         std::string_view bytes, const IOStatus& status) {
  history_ = SimHash(history_, what);
  history_ = SimHash(history_, path);
  history_ = SimHash(history_, bytes);
  history_ = (history_ ^ number ^ (status.ok() ? 0 : 1)) * 0x9E3779B97F4A7C15ull;
  if (trace_) {
    trace_(std::string(what) + " " + path + " " + std::to_string(number) + " +" +
           std::to_string(bytes.size()) + " #" + std::to_string(SimHash(kSimHashStart, bytes)) +
           (status.ok() ? "" : " " + status.ToString()));
  }
}

// --- Looking and preparing ---

std::string SimFileSystem::Content(const std::string& path) const {
  const SimNodePtr node = disk_.Lookup(path);
  return node == nullptr ? std::string() : node->content;
}

void SimFileSystem::PutFile(const std::string& path, std::string_view content) {
  SimNodePtr node;
  CHECK(disk_.Create(path, &node) == DiskError::kOk);
  CHECK(disk_.Write(*node, 0, content) == DiskError::kOk);
  disk_.Sync(*node);
  disk_.SyncDirectory(*disk_.Lookup(path.substr(0, path.rfind('/'))));
}

void SimFileSystem::MakeDirectories(const std::string& path) {
  for (size_t at = path.find('/', 1);; at = path.find('/', at + 1)) {
    const std::string part = path.substr(0, at);
    if (disk_.MakeDirectory(part) == DiskError::kOk) {
      disk_.SyncDirectory(*disk_.Lookup(part.substr(0, part.rfind('/'))));
    }
    if (at == std::string::npos) return;
  }
}

void SimFileSystem::FlipBit(const std::string& path, uint64_t offset, int bit) {
  const SimNodePtr node = disk_.Lookup(path);
  CHECK(node != nullptr && offset < node->content.size());
  const char mask = static_cast<char>(1 << bit);
  node->content[offset] = static_cast<char>(node->content[offset] ^ mask);
  const auto old = node->undo.find(offset / SimDisk::kSector);
  if (old == node->undo.end()) return;
  const uint64_t within = offset % SimDisk::kSector;
  if (within < old->second.size())
    old->second[within] = static_cast<char>(old->second[within] ^ mask);
}

}  // namespace vestq
