#include "engine/durable_file.h"

#include <algorithm>
#include <cstdio>
#include <memory>

#include "engine/store_status.h"

namespace vestq {
namespace {

constexpr size_t kCopyBytes = 256 << 10;
const rocksdb::IOOptions kIo;

// Appends through `next` until it gives nothing, then syncs and closes.
template <typename Next>
Error WriteSynced(rocksdb::FileSystem* fs, const std::string& path, Next next) {
  const std::string what = "cannot write " + path;
  std::unique_ptr<rocksdb::FSWritableFile> file;
  if (const auto s = fs->NewWritableFile(path, rocksdb::FileOptions(), &file, nullptr); !s.ok()) {
    return FromStatus(s, what);
  }
  for (;;) {
    Result<std::string_view> piece = next();
    if (!piece.ok()) return piece.error();
    if (piece->empty()) break;
    if (const auto s = file->Append(rocksdb::Slice(piece->data(), piece->size()), kIo, nullptr);
        !s.ok()) {
      return FromStatus(s, what);
    }
  }
  if (const auto s = file->Fsync(kIo, nullptr); !s.ok()) return FromStatus(s, what);
  return FromStatus(file->Close(kIo, nullptr), what);
}

}  // namespace

Result<std::string> ReadSmallFile(rocksdb::FileSystem* fs, const std::string& path,
                                  size_t bytes_max) {
  const std::string what = "cannot read " + path;
  if (const auto s = fs->FileExists(path, kIo, nullptr); !s.ok()) return FromStatus(s, what);
  std::unique_ptr<rocksdb::FSSequentialFile> file;
  if (const auto s = fs->NewSequentialFile(path, rocksdb::FileOptions(), &file, nullptr); !s.ok()) {
    return FromStatus(s, what);
  }
  std::string buffer(bytes_max + 1, '\0');
  rocksdb::Slice got;
  if (const auto s = file->Read(buffer.size(), kIo, &got, buffer.data(), nullptr); !s.ok()) {
    return FromStatus(s, what);
  }
  if (got.size() > bytes_max)
    return Error(ErrorCode::kCorruption, path + " is longer than it can be");
  return std::string(got.data(), got.size());
}

Error ReplaceFile(rocksdb::FileSystem* fs, const std::string& directory, const std::string& name,
                  std::string_view bytes) {
  const std::string path = directory + "/" + name;
  const std::string temporary = path + ".tmp";
  VESTQ_RETURN_IF_ERROR(WriteSynced(fs, temporary, [&bytes]() -> Result<std::string_view> {
    const std::string_view all = bytes;
    bytes = {};
    return all;
  }));
  if (const auto s = fs->RenameFile(temporary, path, kIo, nullptr); !s.ok()) {
    return FromStatus(s, "cannot rename " + temporary);
  }
  return SyncDirectory(fs, directory);
}

Error CopyRange(rocksdb::FileSystem* fs, const std::string& from, uint64_t offset, uint64_t bytes,
                const std::string& to) {
  const std::string what = "cannot read " + from;
  std::unique_ptr<rocksdb::FSRandomAccessFile> file;
  if (const auto s = fs->NewRandomAccessFile(from, rocksdb::FileOptions(), &file, nullptr);
      !s.ok()) {
    return FromStatus(s, what);
  }
  std::string buffer(kCopyBytes, '\0');
  return WriteSynced(fs, to, [&]() -> Result<std::string_view> {
    if (bytes == 0) return std::string_view();
    rocksdb::Slice got;
    const size_t want = static_cast<size_t>(std::min<uint64_t>(bytes, buffer.size()));
    if (const auto s = file->Read(offset, want, kIo, &got, buffer.data(), nullptr); !s.ok()) {
      return FromStatus(s, what);
    }
    if (got.size() != want) return Error(ErrorCode::kIo, what + ": short read");
    offset += want;
    bytes -= want;
    return std::string_view(got.data(), got.size());
  });
}

Error SyncFile(rocksdb::FileSystem* fs, const std::string& path) {
  const std::string what = "cannot sync " + path;
  std::unique_ptr<rocksdb::FSWritableFile> file;
  if (const auto s = fs->ReopenWritableFile(path, rocksdb::FileOptions(), &file, nullptr);
      !s.ok()) {
    return FromStatus(s, what);
  }
  if (const auto s = file->Fsync(kIo, nullptr); !s.ok()) return FromStatus(s, what);
  return FromStatus(file->Close(kIo, nullptr), what);
}

Error SyncDirectory(rocksdb::FileSystem* fs, const std::string& directory) {
  const std::string what = "cannot sync the directory " + directory;
  std::unique_ptr<rocksdb::FSDirectory> handle;
  if (const auto s = fs->NewDirectory(directory, kIo, &handle, nullptr); !s.ok())
    return FromStatus(s, what);
  if (const auto s = handle->FsyncWithDirOptions(kIo, nullptr, rocksdb::DirFsyncOptions());
      !s.ok()) {
    return FromStatus(s, what);
  }
  return FromStatus(handle->Close(kIo, nullptr), what);
}

Error RemoveFile(rocksdb::FileSystem* fs, const std::string& path) {
  return FromStatus(fs->DeleteFile(path, kIo, nullptr), "cannot remove " + path);
}

bool FileExists(rocksdb::FileSystem* fs, const std::string& path) {
  return fs->FileExists(path, kIo, nullptr).ok();
}

std::string WalPath(const std::string& directory, uint64_t number) {
  char name[32];
  std::snprintf(name, sizeof(name), "/%06llu.log", static_cast<unsigned long long>(number));
  return directory + name;
}

Result<std::vector<uint64_t>> ListLogs(rocksdb::FileSystem* fs, const std::string& directory) {
  std::vector<std::string> names;
  if (const auto s = fs->GetChildren(directory, kIo, &names, nullptr); !s.ok()) {
    return FromStatus(s, "cannot list " + directory);
  }
  std::vector<uint64_t> logs;
  for (const std::string& name : names) {
    const size_t dot = name.find('.');
    if (dot == 0 || dot == std::string::npos || dot > 19 || name.substr(dot) != ".log") continue;
    if (name.find_first_not_of("0123456789") != dot) continue;
    logs.push_back(std::stoull(name.substr(0, dot)));
  }
  std::sort(logs.begin(), logs.end());
  return logs;
}

}  // namespace vestq
