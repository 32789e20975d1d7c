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
constexpr std::string_view kMadeName = "MADE";
constexpr std::string_view kMadeText =
    "The store was made whole: a family that is missing is damage.\n";
constexpr std::string_view kFormatPrefix = "vestq data directory, format ";
constexpr std::string_view kLanesPrefix = "lanes ";
constexpr std::string_view kCleanPrefix = "clean shutdown at sequence ";
constexpr std::string_view kLogPrefix = "log ";
constexpr std::string_view kLogInfix = " of ";
constexpr std::string_view kLogSuffix = " bytes";
constexpr std::string_view kCleanEnd = "end\n";
constexpr size_t kMarkBytesMax = 1 << 20;
constexpr size_t kSmallFileBytes = 4096;
const rocksdb::IOOptions kIo;

// Takes "<prefix><decimal><suffix>" off the front of *bytes; nullopt when it is not there.
std::optional<uint64_t> TakeNumber(std::string_view* bytes, std::string_view prefix,
                                   std::string_view suffix) {
  if (!bytes->starts_with(prefix)) return std::nullopt;
  std::string_view rest = bytes->substr(prefix.size());
  uint64_t value = 0;
  const auto [stop, error] = std::from_chars(rest.data(), rest.data() + rest.size(), value);
  if (error != std::errc()) return std::nullopt;
  rest.remove_prefix(static_cast<size_t>(stop - rest.data()));
  if (!rest.starts_with(suffix)) return std::nullopt;
  *bytes = rest.substr(suffix.size());
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
  const auto version = TakeNumber(&bytes, kFormatPrefix, "\n");
  if (!version || *version == 0 || *version > UINT32_MAX) {
    return Error(ErrorCode::kCorruption, "the format file VESTQ does not read");
  }
  return static_cast<uint32_t>(*version);
}

Result<uint16_t> DecodeFormatLanes(std::string_view bytes) {
  std::optional<uint64_t> lanes;
  if (TakeNumber(&bytes, kFormatPrefix, "\n")) lanes = TakeNumber(&bytes, kLanesPrefix, "\n");
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
    made_ = made_ || name == kMadeName;
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

std::string EncodeCleanMark(const CleanMark& mark) {
  std::string text = std::string(kCleanPrefix) + std::to_string(mark.sequence.value()) + "\n";
  for (const auto& [log, bytes] : mark.logs) {
    text += std::string(kLogPrefix) + std::to_string(log) + std::string(kLogInfix) +
            std::to_string(bytes) + std::string(kLogSuffix) + "\n";
  }
  return text + std::string(kCleanEnd);
}

Result<CleanMark> DecodeCleanMark(std::string_view bytes) {
  const Error unreadable(ErrorCode::kCorruption, "the mark of a clean shutdown does not read");
  CleanMark mark;
  const auto sequence = TakeNumber(&bytes, kCleanPrefix, "\n");
  if (!sequence) return unreadable;
  mark.sequence = Sequence(*sequence);
  while (bytes != kCleanEnd) {
    const auto log = TakeNumber(&bytes, kLogPrefix, kLogInfix);
    if (!log) return unreadable;
    const auto size = TakeNumber(&bytes, "", std::string(kLogSuffix) + "\n");
    if (!size) return unreadable;
    mark.logs.emplace_back(*log, *size);
  }
  return mark;
}

Result<std::optional<CleanMark>> DataDirectory::ReadCleanMark() const {
  const std::string path = path_ + "/" + std::string(kCleanName);
  Result<std::string> bytes = ReadSmallFile(fs_, path, kMarkBytesMax);
  if (!bytes.ok()) {
    if (bytes.error().code() == ErrorCode::kNotFound) return std::optional<CleanMark>();
    return bytes.error();
  }
  const Result<CleanMark> mark = DecodeCleanMark(*bytes);
  if (!mark.ok()) return Error(mark.error().code(), mark.error().text() + " in " + Quoted(path));
  return std::optional<CleanMark>(*mark);
}

Result<CleanMark> DataDirectory::MakeCleanMark(Sequence sequence) const {
  CleanMark mark{sequence, {}};
  const Result<std::vector<uint64_t>> logs = ListLogs(fs_, path_);
  if (!logs.ok()) return logs.error();
  for (const uint64_t log : *logs) {
    uint64_t bytes = 0;
    const auto s = fs_->GetFileSize(WalPath(path_, log), kIo, &bytes, nullptr);
    if (!s.ok()) return FromStatus(s, "cannot tell the size of a log in " + Quoted(path_));
    mark.logs.emplace_back(log, bytes);
  }
  return mark;
}

Error DataDirectory::WriteCleanMark(const CleanMark& mark) {
  return ReplaceFile(fs_, path_, std::string(kCleanName), EncodeCleanMark(mark));
}

Error DataDirectory::MarkMade() {
  if (made_) return Error::Ok();
  VESTQ_RETURN_IF_ERROR(ReplaceFile(fs_, path_, std::string(kMadeName), std::string(kMadeText)));
  made_ = true;
  return Error::Ok();
}

Error DataDirectory::RemoveCleanMark() {
  const std::string path = path_ + "/" + std::string(kCleanName);
  if (!FileExists(fs_, path)) return Error::Ok();
  VESTQ_RETURN_IF_ERROR(RemoveFile(fs_, path));
  return SyncDirectory(fs_, path_);
}

}  // namespace vestq
