#include "engine/data_directory.h"

#include <algorithm>
#include <charconv>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/durable_file.h"
#include "engine/store_status.h"

namespace vestq {
namespace {

constexpr std::string_view kFormatName = "VESTQ";
constexpr std::string_view kLockName = "VESTQ.lock";
constexpr std::string_view kCleanName = "CLEAN";
constexpr std::string_view kFormatPrefix = "vestq data directory, format ";
constexpr std::string_view kLanesPrefix = "lanes ";
constexpr std::string_view kCleanPrefix = "clean shutdown at sequence ";
constexpr size_t kSmallFileBytes = 4096;
const rocksdb::IOOptions kIo;

// The decimal number between `prefix` and a line's end at the front of `bytes`.
std::optional<uint64_t> NumberAfter(std::string_view bytes, std::string_view prefix) {
  if (!bytes.starts_with(prefix)) return std::nullopt;
  bytes.remove_prefix(prefix.size());
  const size_t end = bytes.find('\n');
  if (end == std::string_view::npos) return std::nullopt;
  uint64_t value = 0;
  const auto [stop, error] = std::from_chars(bytes.data(), bytes.data() + end, value);
  if (error != std::errc() || stop != bytes.data() + end) return std::nullopt;
  return value;
}

// Names that an interrupted creation of ours, or mkfs, leaves in a directory that holds nothing
// yet.
bool MayLieInEmpty(std::string_view name) {
  static const std::set<std::string_view> kNames = {".", "..", "lost+found", "VESTQ.tmp",
                                                    kLockName};
  return kNames.contains(name);
}

std::string Quoted(const std::string& path) { return "\"" + path + "\""; }

}  // namespace

std::string EncodeFormat(uint32_t version, uint16_t lanes) {
  return std::string(kFormatPrefix) + std::to_string(version) + "\n" + std::string(kLanesPrefix) +
         std::to_string(lanes) +
         "\nThis directory belongs to vestq. Do not change or remove files in it by hand.\n";
}

Result<uint32_t> DecodeFormat(std::string_view bytes) {
  const auto version = NumberAfter(bytes, kFormatPrefix);
  if (!version || *version == 0 || *version > UINT32_MAX) {
    return Error(ErrorCode::kCorruption, "the format file VESTQ does not read");
  }
  return static_cast<uint32_t>(*version);
}

Result<uint16_t> DecodeFormatLanes(std::string_view bytes) {
  const size_t line = bytes.find('\n');
  const auto lanes = line == std::string_view::npos
                         ? std::nullopt
                         : NumberAfter(bytes.substr(line + 1), kLanesPrefix);
  if (!lanes || *lanes == 0 || *lanes > limits::kLanesMax) {
    return Error(ErrorCode::kCorruption,
                 "the number of lanes in the format file VESTQ does not read");
  }
  return static_cast<uint16_t>(*lanes);
}

Result<std::unique_ptr<DataDirectory>> DataDirectory::Open(rocksdb::FileSystem* fs,
                                                           const Options& options) {
  const std::string& path = options.path;
  if (path.empty()) return Error(ErrorCode::kRange, "the data directory's name is empty");
  std::unique_ptr<DataDirectory> directory(new DataDirectory(fs, path));
  const bool creates = options.create_if_missing && !options.read_only;
  bool made = false;
  // Of a new directory; an old one has its own (CheckFormat).
  directory->lanes_ =
      options.lanes != 0 ? options.lanes : std::max(limits::kLanesDefault, options.cores);
  VESTQ_RETURN_IF_ERROR(directory->CheckLanes(options));
  if (!FileExists(fs, path)) {
    if (!creates) return Error(ErrorCode::kNotFound, "there is no data directory " + Quoted(path));
    const rocksdb::IOStatus s = fs->CreateDirIfMissing(path, kIo, nullptr);
    if (!s.ok()) {
      const size_t slash = path.find_last_of('/');
      const std::string parent = slash == std::string::npos ? "."
                                 : slash == 0               ? "/"
                                                            : path.substr(0, slash);
      if (!FileExists(fs, parent)) {
        return Error(ErrorCode::kIo, "cannot create the data directory " + Quoted(path) +
                                         ": its parent " + Quoted(parent) + " does not exist");
      }
      return FromStatus(s, "cannot create the data directory " + Quoted(path));
    }
    made = true;
  }
  bool is_directory = false;
  if (const auto s = fs->IsDirectory(path, kIo, &is_directory, nullptr); s.ok() && !is_directory) {
    return Error(ErrorCode::kIo,
                 "the data directory " + Quoted(path) + " is a file, not a directory");
  }
  VESTQ_RETURN_IF_ERROR(directory->CheckContents(options));
  if (!directory->has_format_ && !creates) {
    return Error(ErrorCode::kNotFound,
                 "the directory " + Quoted(path) + " is empty: no vestq data there");
  }
  VESTQ_RETURN_IF_ERROR(directory->Lock(options));
  // Once more under the lock: another process may have been creating it.
  VESTQ_RETURN_IF_ERROR(directory->CheckContents(options));
  if (!directory->has_format_) {
    VESTQ_RETURN_IF_ERROR(ReplaceFile(fs, path, std::string(kFormatName),
                                      EncodeFormat(kFormatVersion, directory->lanes_)));
    const size_t slash = path.find_last_of('/');
    if (made && slash != std::string::npos && slash != 0) {
      VESTQ_RETURN_IF_ERROR(SyncDirectory(fs, path.substr(0, slash)));
    }
    directory->has_format_ = true;
  }
  return directory;
}

Error DataDirectory::CheckContents(const Options& options) {
  std::vector<std::string> names;
  if (const auto s = fs_->GetChildren(path_, kIo, &names, nullptr); !s.ok()) {
    return FromStatus(s, "cannot list the data directory " + Quoted(path_));
  }
  bool current = false;
  std::string foreign;
  std::string data;
  has_format_ = false;
  for (const std::string& name : names) {
    has_format_ = has_format_ || name == kFormatName;
    current = current || name == "CURRENT";
    if (!MayLieInEmpty(name) && foreign.empty()) foreign = name;
    if (name.ends_with(".sst") || name.ends_with(".blob") || name.ends_with(".log")) data = name;
  }
  holds_store_ = current;
  if (!has_format_) {
    if (foreign.empty()) return Error::Ok();
    return Error(ErrorCode::kUnsupported,
                 "the directory " + Quoted(path_) +
                     " is not empty and not a vestq data directory (it holds \"" + foreign +
                     "\" but no file VESTQ); nothing in it was changed");
  }
  VESTQ_RETURN_IF_ERROR(CheckFormat(options));
  if (!current && !data.empty()) {
    return Error(ErrorCode::kCorruption, "the data directory " + Quoted(path_) + " holds data (\"" +
                                             data + "\") but its file CURRENT is gone");
  }
  if (!current && options.read_only) {
    return Error(ErrorCode::kNotFound,
                 "the data directory " + Quoted(path_) + " holds no store yet");
  }
  return Error::Ok();
}

Error DataDirectory::CheckLanes(const Options& options) const {
  if (options.lanes != 0 && options.lanes != lanes_) {
    return Error(ErrorCode::kRange, "the data directory " + Quoted(path_) + " has " +
                                        std::to_string(lanes_) + " lanes, not " +
                                        std::to_string(options.lanes) +
                                        "; their number is fixed when a directory is made");
  }
  if (options.cores > lanes_) {
    return Error(ErrorCode::kRange, std::to_string(options.cores) + " cores are more than the " +
                                        std::to_string(lanes_) + " lanes of " + Quoted(path_) +
                                        "; each core needs a lane");
  }
  return Error::Ok();
}

Error DataDirectory::CheckFormat(const Options& options) {
  Result<std::string> bytes =
      ReadSmallFile(fs_, path_ + "/" + std::string(kFormatName), kSmallFileBytes);
  if (!bytes.ok()) return bytes.error();
  const Result<uint32_t> version = DecodeFormat(*bytes);
  if (!version.ok())
    return Error(version.error().code(), version.error().text() + " in " + Quoted(path_));
  if (*version > kFormatVersion) {
    return Error(ErrorCode::kUnsupported,
                 "the data directory " + Quoted(path_) + " has format " + std::to_string(*version) +
                     ", this program knows formats up to " + std::to_string(kFormatVersion) +
                     "; nothing in it was changed");
  }
  const Result<uint16_t> lanes = DecodeFormatLanes(*bytes);
  if (!lanes.ok())
    return Error(lanes.error().code(), lanes.error().text() + " in " + Quoted(path_));
  lanes_ = *lanes;
  return CheckLanes(options);
}

Error DataDirectory::Lock(const Options& options) {
  const std::string path = path_ + "/" + std::string(kLockName);
  const rocksdb::IOStatus s = fs_->LockFile(path, kIo, &lock_, nullptr);
  if (s.ok()) return Error::Ok();
  lock_ = nullptr;
  if (IsLocked(s)) {
    return Error(ErrorCode::kBusy,
                 "the data directory " + Quoted(path_) +
                     " is in use by another process, or already open in this one");
  }
  if (IsReadOnlyFileSystem(s)) {
    if (options.read_only) return Error::Ok();  // nobody can write there
    return Error(ErrorCode::kIo,
                 "the data directory " + Quoted(path_) + " is on a read-only file system");
  }
  return FromStatus(s, "cannot write in the data directory " + Quoted(path_));
}

DataDirectory::~DataDirectory() {
  if (lock_ != nullptr) fs_->UnlockFile(lock_, kIo, nullptr).PermitUncheckedError();
}

Result<std::optional<Sequence>> DataDirectory::ReadCleanMark() const {
  const std::string path = path_ + "/" + std::string(kCleanName);
  Result<std::string> bytes = ReadSmallFile(fs_, path, kSmallFileBytes);
  if (!bytes.ok()) {
    if (bytes.error().code() == ErrorCode::kNotFound) return std::optional<Sequence>();
    return bytes.error();
  }
  const auto sequence = NumberAfter(*bytes, kCleanPrefix);
  if (!sequence)
    return Error(ErrorCode::kCorruption, "the file " + Quoted(path) + " does not read");
  return std::optional<Sequence>(Sequence(*sequence));
}

Error DataDirectory::WriteCleanMark(Sequence sequence) {
  return ReplaceFile(fs_, path_, std::string(kCleanName),
                     std::string(kCleanPrefix) + std::to_string(sequence.value()) + "\n");
}

Error DataDirectory::RemoveCleanMark() {
  const std::string path = path_ + "/" + std::string(kCleanName);
  if (!FileExists(fs_, path)) return Error::Ok();
  VESTQ_RETURN_IF_ERROR(RemoveFile(fs_, path));
  return SyncDirectory(fs_, path_);
}

}  // namespace vestq
