#include "tests/sim/sim_file_system.h"

#include <utility>

#include "rocksdb/env.h"
#include "tests/sim/sim_handles.h"

namespace vestq {

using rocksdb::IOStatus;

namespace {

class NullLogger : public rocksdb::Logger {
 public:
  using rocksdb::Logger::Logv;
  void Logv(const char* /*format*/, va_list /*arguments*/) override {}
};

}  // namespace

class SimFileSystem::Lock : public rocksdb::FileLock {
 public:
  Lock(std::string path, uint64_t epoch) : path_(std::move(path)), epoch_(epoch) {}
  const std::string& path() const { return path_; }
  uint64_t epoch() const { return epoch_; }

 private:
  const std::string path_;
  const uint64_t epoch_;
};

// --- Opening ---

IOStatus SimFileSystem::OpenForReading(const std::string& path, SimNodePtr* node) {
  IOStatus status = EnterPath(path);
  if (!status.ok()) return status;
  *node = disk_.Lookup(path);
  if (*node == nullptr) return SimStatus(DiskError::kNotFound, path);
  return (*node)->is_directory ? SimStatus(DiskError::kIsDirectory, path) : IOStatus::OK();
}

IOStatus SimFileSystem::OpenForWriting(const std::string& path, bool truncate, SimNodePtr* node) {
  IOStatus status = Enter(SimCall::kCreate, path, kNoHandle);
  if (status.ok()) {
    *node = disk_.Lookup(path);
    if (truncate || *node == nullptr) {
      status = SimStatus(disk_.Create(path, node), path);
    } else if ((*node)->is_directory) {
      status = SimStatus(DiskError::kIsDirectory, path);
    }
  }
  Note("create", path, truncate ? 1 : 0, "", status);
  return status;
}

IOStatus SimFileSystem::NewSequentialFile(const std::string& path, const FileOptions& /*options*/,
                                          std::unique_ptr<rocksdb::FSSequentialFile>* result,
                                          IODebugContext* /*debug*/) {
  SimNodePtr node;
  IOStatus status = OpenForReading(path, &node);
  if (status.ok()) *result = std::make_unique<SimSequentialFile>(this, path, node);
  return status;
}

IOStatus SimFileSystem::NewRandomAccessFile(const std::string& path, const FileOptions& /*options*/,
                                            std::unique_ptr<rocksdb::FSRandomAccessFile>* result,
                                            IODebugContext* /*debug*/) {
  SimNodePtr node;
  IOStatus status = OpenForReading(path, &node);
  if (status.ok()) *result = std::make_unique<SimRandomAccessFile>(this, path, node);
  return status;
}

IOStatus SimFileSystem::NewWritableFile(const std::string& path, const FileOptions& options,
                                        std::unique_ptr<rocksdb::FSWritableFile>* result,
                                        IODebugContext* /*debug*/) {
  SimNodePtr node;
  IOStatus status = OpenForWriting(path, true, &node);
  if (status.ok()) *result = std::make_unique<SimWritableFile>(this, path, node, options);
  return status;
}

IOStatus SimFileSystem::ReopenWritableFile(const std::string& path, const FileOptions& options,
                                           std::unique_ptr<rocksdb::FSWritableFile>* result,
                                           IODebugContext* /*debug*/) {
  SimNodePtr node;
  IOStatus status = OpenForWriting(path, false, &node);
  if (status.ok()) *result = std::make_unique<SimWritableFile>(this, path, node, options);
  return status;
}

IOStatus SimFileSystem::NewRandomRWFile(const std::string& path, const FileOptions& /*options*/,
                                        std::unique_ptr<rocksdb::FSRandomRWFile>* result,
                                        IODebugContext* /*debug*/) {
  SimNodePtr node;
  IOStatus status = OpenForReading(path, &node);
  if (status.ok()) *result = std::make_unique<SimRandomRWFile>(this, path, node);
  return status;
}

IOStatus SimFileSystem::NewDirectory(const std::string& path, const IOOptions& /*options*/,
                                     std::unique_ptr<rocksdb::FSDirectory>* result,
                                     IODebugContext* /*debug*/) {
  IOStatus status = EnterPath(path);
  if (!status.ok()) return status;
  SimNodePtr node = disk_.Lookup(path);
  if (node == nullptr) return SimStatus(DiskError::kNotFound, path);
  if (!node->is_directory) return SimStatus(DiskError::kNotDirectory, path);
  *result = std::make_unique<SimDirectory>(this, path, node);
  return status;
}

// --- Names ---

IOStatus SimFileSystem::FileExists(const std::string& path, const IOOptions& /*options*/,
                                   IODebugContext* /*debug*/) {
  IOStatus status = EnterPath(path);
  if (status.ok() && disk_.Lookup(path) == nullptr) status = IOStatus::NotFound();
  return status;
}

IOStatus SimFileSystem::GetChildren(const std::string& path, const IOOptions& /*options*/,
                                    std::vector<std::string>* result, IODebugContext* /*debug*/) {
  result->clear();
  IOStatus status = EnterPath(path);
  if (!status.ok()) return status;
  const SimNodePtr node = disk_.Lookup(path);
  if (node == nullptr || !node->is_directory) return IOStatus::NotFound(path, "No such directory");
  for (const auto& entry : node->entries) result->push_back(entry.first);
  return status;
}

IOStatus SimFileSystem::DeleteFile(const std::string& path, const IOOptions& /*options*/,
                                   IODebugContext* /*debug*/) {
  IOStatus status = Enter(SimCall::kDelete, path, kNoHandle);
  if (status.ok()) status = SimStatus(disk_.Remove(path), path);
  Note("delete", path, 0, "", status);
  return status;
}

IOStatus SimFileSystem::Truncate(const std::string& path, size_t size, const IOOptions& /*options*/,
                                 IODebugContext* /*debug*/) {
  IOStatus status = Enter(SimCall::kAppend, path, kNoHandle);
  if (status.ok()) {
    const SimNodePtr node = disk_.Lookup(path);
    status = SimStatus(node == nullptr ? DiskError::kNotFound : disk_.Truncate(*node, size), path);
  }
  Note("truncate", path, size, "", status);
  return status;
}

IOStatus SimFileSystem::CreateDir(const std::string& path, const IOOptions& /*options*/,
                                  IODebugContext* /*debug*/) {
  IOStatus status = Enter(SimCall::kCreate, path, kNoHandle);
  if (status.ok()) status = SimStatus(disk_.MakeDirectory(path), path);
  Note("mkdir", path, 0, "", status);
  return status;
}

IOStatus SimFileSystem::CreateDirIfMissing(const std::string& path, const IOOptions& options,
                                           IODebugContext* debug) {
  IOStatus status = EnterPath(path);
  if (!status.ok()) return status;
  if (const SimNodePtr node = disk_.Lookup(path); node != nullptr) {
    return node->is_directory ? IOStatus::OK() : SimStatus(DiskError::kNotDirectory, path);
  }
  return CreateDir(path, options, debug);
}

IOStatus SimFileSystem::DeleteDir(const std::string& path, const IOOptions& /*options*/,
                                  IODebugContext* /*debug*/) {
  IOStatus status = Enter(SimCall::kDelete, path, kNoHandle);
  if (status.ok()) status = SimStatus(disk_.RemoveDirectory(path), path);
  Note("rmdir", path, 0, "", status);
  return status;
}

IOStatus SimFileSystem::RenameFile(const std::string& from, const std::string& to,
                                   const IOOptions& /*options*/, IODebugContext* /*debug*/) {
  IOStatus status = Enter(SimCall::kRename, from, kNoHandle);
  if (status.ok()) status = SimStatus(disk_.Rename(from, to), from);
  Note("rename", from, 0, to, status);
  return status;
}

IOStatus SimFileSystem::LinkFile(const std::string& from, const std::string& to,
                                 const IOOptions& /*options*/, IODebugContext* /*debug*/) {
  IOStatus status = Enter(SimCall::kRename, from, kNoHandle);
  if (status.ok()) status = SimStatus(disk_.Link(from, to), from);
  Note("link", from, 0, to, status);
  return status;
}

// --- Attributes ---

IOStatus SimFileSystem::GetFileSize(const std::string& path, const IOOptions& /*options*/,
                                    uint64_t* size, IODebugContext* /*debug*/) {
  SimNodePtr node;
  IOStatus status = OpenForReading(path, &node);
  *size = status.ok() ? node->content.size() : 0;
  return status;
}

IOStatus SimFileSystem::GetFileModificationTime(const std::string& path,
                                                const IOOptions& /*options*/, uint64_t* time,
                                                IODebugContext* /*debug*/) {
  IOStatus status = EnterPath(path);
  if (!status.ok()) return status;
  const SimNodePtr node = disk_.Lookup(path);
  if (node == nullptr) return SimStatus(DiskError::kNotFound, path);
  *time = node->mtime;
  return status;
}

IOStatus SimFileSystem::NumFileLinks(const std::string& path, const IOOptions& /*options*/,
                                     uint64_t* count, IODebugContext* /*debug*/) {
  SimNodePtr node;
  IOStatus status = OpenForReading(path, &node);
  if (status.ok()) *count = node->links;
  return status;
}

IOStatus SimFileSystem::AreFilesSame(const std::string& first, const std::string& second,
                                     const IOOptions& /*options*/, bool* same,
                                     IODebugContext* /*debug*/) {
  SimNodePtr a;
  SimNodePtr b;
  IOStatus status = OpenForReading(first, &a);
  if (status.ok()) status = OpenForReading(second, &b);
  *same = status.ok() && a == b;
  return status;
}

IOStatus SimFileSystem::IsDirectory(const std::string& path, const IOOptions& /*options*/,
                                    bool* is_directory, IODebugContext* /*debug*/) {
  IOStatus status = EnterPath(path);
  if (!status.ok()) return status;
  const SimNodePtr node = disk_.Lookup(path);
  if (node == nullptr) return SimStatus(DiskError::kNotFound, path);
  *is_directory = node->is_directory;
  return status;
}

IOStatus SimFileSystem::GetFreeSpace(const std::string& path, const IOOptions& /*options*/,
                                     uint64_t* free, IODebugContext* /*debug*/) {
  IOStatus status = EnterPath(path);
  if (status.ok()) *free = disk_.capacity() > disk_.used() ? disk_.capacity() - disk_.used() : 0;
  return status;
}

// --- Locks and the rest ---

IOStatus SimFileSystem::LockFile(const std::string& path, const IOOptions& /*options*/,
                                 rocksdb::FileLock** lock, IODebugContext* /*debug*/) {
  *lock = nullptr;
  SimNodePtr node;
  IOStatus status = EnterPath(path);
  if (status.ok() && disk_.Lookup(path) == nullptr) status = OpenForWriting(path, false, &node);
  if (!status.ok()) return status;
  if (!locks_.insert(path).second)
    return IOStatus::IOError("lock " + path, "lock hold by current process");
  *lock = new Lock(path, epoch_);
  return status;
}

IOStatus SimFileSystem::UnlockFile(rocksdb::FileLock* lock, const IOOptions& /*options*/,
                                   IODebugContext* /*debug*/) {
  auto* const mine = static_cast<Lock*>(lock);
  if (mine->epoch() == epoch_) locks_.erase(mine->path());
  delete mine;
  return IOStatus::OK();
}

IOStatus SimFileSystem::GetTestDirectory(const IOOptions& options, std::string* path,
                                         IODebugContext* debug) {
  *path = "/test";
  return CreateDirIfMissing(*path, options, debug);
}

IOStatus SimFileSystem::NewLogger(const std::string& /*path*/, const IOOptions& /*options*/,
                                  std::shared_ptr<rocksdb::Logger>* result,
                                  IODebugContext* /*debug*/) {
  *result = std::make_shared<NullLogger>();
  return IOStatus::OK();
}

IOStatus SimFileSystem::GetAbsolutePath(const std::string& path, const IOOptions& /*options*/,
                                        std::string* result, IODebugContext* /*debug*/) {
  *result = path.empty() || path[0] != '/' ? "/" + path : path;
  return IOStatus::OK();
}

IOStatus SimFileSystem::Poll(std::vector<void*>& /*handles*/, size_t /*min_completions*/) {
  return IOStatus::NotSupported("Poll");
}

IOStatus SimFileSystem::AbortIO(std::vector<void*>& /*handles*/) {
  return IOStatus::NotSupported("AbortIO");
}

}  // namespace vestq
