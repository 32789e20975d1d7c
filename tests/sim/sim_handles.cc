#include "tests/sim/sim_handles.h"

#include <algorithm>
#include <cstring>
#include <string_view>
#include <utility>

namespace vestq {

using rocksdb::IODebugContext;
using rocksdb::IOOptions;
using rocksdb::IOStatus;
using rocksdb::Slice;

SimHandle::SimHandle(SimFileSystem* fs, std::string path, SimNodePtr node)
    : fs_(fs), path_(std::move(path)), node_(std::move(node)), epoch_(fs->epoch_) {
  fs_->disk_.Open(*node_);
}

SimHandle::~SimHandle() {
  if (!closed_ && alive()) fs_->disk_.Close(*node_);
}

bool SimHandle::alive() const { return epoch_ == fs_->epoch_; }

IOStatus SimHandle::Enter(SimCall call) const {
  if (closed_) return IOStatus::IOError(path_, "closed file");
  return fs_->Enter(call, path_, epoch_);
}

IOStatus SimHandle::Read(uint64_t offset, size_t n, Slice* result, char* scratch) const {
  *result = Slice();
  IOStatus status = Enter(SimCall::kRead);
  if (!status.ok()) return status;
  const std::string& content = node_->content;
  if (offset < content.size()) {
    const size_t length = std::min<size_t>(n, content.size() - offset);
    std::memcpy(scratch, content.data() + offset, length);
    fs_->stats_.bytes_read += length;
    *result = Slice(scratch, length);
  }
  return status;
}

IOStatus SimHandle::Write(uint64_t offset, const Slice& data) {
  IOStatus status = Enter(SimCall::kAppend);
  if (status.ok()) {
    fs_->stats_.bytes_written += data.size();
    status = SimStatus(fs_->disk_.Write(*node_, offset, std::string_view(data.data(), data.size())),
                       path_);
  }
  fs_->Note("write", path_, offset, std::string_view(data.data(), data.size()), status);
  return status;
}

IOStatus SimHandle::Truncate(uint64_t new_size) {
  IOStatus status = Enter(SimCall::kAppend);
  if (status.ok()) status = SimStatus(fs_->disk_.Truncate(*node_, new_size), path_);
  fs_->Note("truncate", path_, new_size, "", status);
  return status;
}

IOStatus SimHandle::Sync() {
  IOStatus status = Enter(SimCall::kSync);
  if (status.ok()) {
    fs_->disk_.Sync(*node_);
  } else if (alive() && !closed_) {
    fs_->disk_.FailSync(*node_);
  }
  fs_->Note("sync", path_, size(), "", status);
  return status;
}

IOStatus SimHandle::SyncDirectory() {
  IOStatus status = Enter(SimCall::kSyncDirectory);
  if (status.ok()) fs_->disk_.SyncDirectory(*node_);
  fs_->Note("syncdir", path_, 0, "", status);
  return status;
}

IOStatus SimHandle::Flush() const {
  if (closed_) return IOStatus::IOError(path_, "closed file");
  IOStatus status = fs_->EnterPath(path_);
  if (status.ok() && !alive()) status = IOStatus::IOError(path_, "handle from before the crash");
  return status;
}

IOStatus SimHandle::Close() {
  if (closed_) return IOStatus::OK();
  IOStatus status = Flush();
  closed_ = true;
  if (alive()) fs_->disk_.Close(*node_);
  return status;
}

IOStatus SimSequentialFile::Read(size_t n, const IOOptions& /*options*/, Slice* result,
                                 char* scratch, IODebugContext* /*debug*/) {
  IOStatus status = handle_.Read(offset_, n, result, scratch);
  offset_ += result->size();
  return status;
}

IOStatus SimSequentialFile::Skip(uint64_t n) {
  offset_ = std::min(offset_ + n, std::max(offset_, handle_.size()));
  return handle_.Flush();
}

IOStatus SimRandomAccessFile::Read(uint64_t offset, size_t n, const IOOptions& /*options*/,
                                   Slice* result, char* scratch, IODebugContext* /*debug*/) const {
  return handle_.Read(offset, n, result, scratch);
}

IOStatus SimWritableFile::Append(const Slice& data, const IOOptions& /*options*/,
                                 IODebugContext* /*debug*/) {
  return handle_.Write(handle_.size(), data);
}

IOStatus SimWritableFile::PositionedAppend(const Slice& data, uint64_t offset,
                                           const IOOptions& /*options*/,
                                           IODebugContext* /*debug*/) {
  return handle_.Write(offset, data);
}

IOStatus SimWritableFile::Truncate(uint64_t size, const IOOptions& /*options*/,
                                   IODebugContext* /*debug*/) {
  return handle_.Truncate(size);
}

IOStatus SimWritableFile::Close(const IOOptions& /*options*/, IODebugContext* /*debug*/) {
  return handle_.Close();
}

IOStatus SimWritableFile::Flush(const IOOptions& /*options*/, IODebugContext* /*debug*/) {
  return handle_.Flush();
}

IOStatus SimWritableFile::Sync(const IOOptions& /*options*/, IODebugContext* /*debug*/) {
  return handle_.Sync();
}

IOStatus SimWritableFile::Fsync(const IOOptions& /*options*/, IODebugContext* /*debug*/) {
  return handle_.Sync();
}

IOStatus SimWritableFile::RangeSync(uint64_t /*offset*/, uint64_t /*n*/,
                                    const IOOptions& /*options*/, IODebugContext* /*debug*/) {
  return handle_.Flush();
}

IOStatus SimWritableFile::Allocate(uint64_t /*offset*/, uint64_t /*n*/,
                                   const IOOptions& /*options*/, IODebugContext* /*debug*/) {
  return handle_.Flush();
}

uint64_t SimWritableFile::GetFileSize(const IOOptions& /*options*/, IODebugContext* /*debug*/) {
  return handle_.size();
}

IOStatus SimRandomRWFile::Write(uint64_t offset, const Slice& data, const IOOptions& /*options*/,
                                IODebugContext* /*debug*/) {
  return handle_.Write(offset, data);
}

IOStatus SimRandomRWFile::Read(uint64_t offset, size_t n, const IOOptions& /*options*/,
                               Slice* result, char* scratch, IODebugContext* /*debug*/) const {
  return handle_.Read(offset, n, result, scratch);
}

IOStatus SimRandomRWFile::Flush(const IOOptions& /*options*/, IODebugContext* /*debug*/) {
  return handle_.Flush();
}

IOStatus SimRandomRWFile::Sync(const IOOptions& /*options*/, IODebugContext* /*debug*/) {
  return handle_.Sync();
}

IOStatus SimRandomRWFile::Close(const IOOptions& /*options*/, IODebugContext* /*debug*/) {
  return handle_.Close();
}

IOStatus SimDirectory::Fsync(const IOOptions& /*options*/, IODebugContext* /*debug*/) {
  return handle_.SyncDirectory();
}

IOStatus SimDirectory::Close(const IOOptions& /*options*/, IODebugContext* /*debug*/) {
  return handle_.Close();
}

}  // namespace vestq
