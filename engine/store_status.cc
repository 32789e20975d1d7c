#include "engine/store_status.h"

#include <cerrno>
#include <cstring>

namespace vestq {
namespace {

// RocksDB keeps the errno only as its text.
bool NamesErrno(const rocksdb::Status& status, int number) {
  return status.IsIOError() && status.ToString().find(std::strerror(number)) != std::string::npos;
}

ErrorCode CodeOf(const rocksdb::Status& status) {
  if (status.ok()) return ErrorCode::kOk;
  if (status.IsNotFound()) return ErrorCode::kNotFound;
  if (status.IsCorruption()) return ErrorCode::kCorruption;
  if (status.IsNotSupported()) return ErrorCode::kUnsupported;
  if (status.IsBusy() || status.IsIncomplete() || status.IsTryAgain() || status.IsTimedOut()) {
    return ErrorCode::kBusy;
  }
  return ErrorCode::kIo;
}

}  // namespace

Error FromStatus(const rocksdb::Status& status, std::string_view what) {
  if (status.ok()) return Error::Ok();
  std::string text(what);
  text.append(": ");
  if (status.IsNoSpace()) text.append("the disk is full: ");
  text.append(status.ToString());
  return Error(CodeOf(status), std::move(text));
}

bool IsStall(const rocksdb::Status& status) { return status.IsIncomplete(); }

bool IsReadOnlyFileSystem(const rocksdb::Status& status) { return NamesErrno(status, EROFS); }

bool IsLocked(const rocksdb::Status& status) {
  return status.IsBusy() || NamesErrno(status, EAGAIN) || NamesErrno(status, ENOLCK) ||
         (status.IsIOError() &&
          status.ToString().find("lock hold by current process") != std::string::npos);
}

}  // namespace vestq
