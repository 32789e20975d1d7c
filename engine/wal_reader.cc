#include "engine/wal_reader.h"

#include <algorithm>
#include <utility>

#include "engine/store_status.h"
#include "engine/wal_crc.h"

namespace vestq {
namespace {

constexpr size_t kBlockBytes = 32768;
constexpr size_t kHeaderBytes = 7;
constexpr size_t kRecyclableHeaderBytes = 11;

// db/log_format.h, RecordType.
enum Type : uint8_t {
  kZero = 0,
  kFull = 1,
  kLast = 4,
  kRecyclableFull = 5,
  kRecyclableLast = 8,
  kSetCompression = 9,
  kTimestampSize = 10,
  kRecyclableTimestampSize = 11,
};

bool AllZero(std::string_view bytes) {
  return bytes.find_first_not_of('\0') == std::string_view::npos;
}

uint32_t Fixed32(std::string_view bytes) {
  uint32_t value = 0;
  for (size_t i = 4; i-- > 0;) value = value << 8 | static_cast<unsigned char>(bytes[i]);
  return value;
}

bool Recyclable(uint8_t type) {
  return (type >= kRecyclableFull && type <= kRecyclableLast) || type == kRecyclableTimestampSize;
}

WalFragment::Part PartOf(uint8_t type) {
  using Part = WalFragment::Part;
  if (type == kSetCompression) return Part::kCompression;
  if (type == kTimestampSize || type == kRecyclableTimestampSize) return Part::kTimestamps;
  const uint8_t plain = Recyclable(type) ? type - (kRecyclableFull - kFull) : type;
  if (plain == kFull) return Part::kFull;
  if (plain == kFull + 1) return Part::kFirst;
  return plain == kLast ? Part::kLast : Part::kMiddle;
}

}  // namespace

Result<std::unique_ptr<WalFragmentReader>> WalFragmentReader::Open(rocksdb::FileSystem* fs,
                                                                   const std::string& path,
                                                                   uint64_t log_number) {
  const rocksdb::IOOptions options;
  const std::string what = "cannot read the log " + path;
  if (const rocksdb::IOStatus s = fs->FileExists(path, options, nullptr); !s.ok()) {
    return FromStatus(s, what);
  }
  uint64_t size = 0;
  if (const rocksdb::IOStatus s = fs->GetFileSize(path, options, &size, nullptr); !s.ok()) {
    return FromStatus(s, what);
  }
  std::unique_ptr<rocksdb::FSRandomAccessFile> file;
  if (const rocksdb::IOStatus s =
          fs->NewRandomAccessFile(path, rocksdb::FileOptions(), &file, nullptr);
      !s.ok()) {
    return FromStatus(s, what);
  }
  return std::unique_ptr<WalFragmentReader>(
      new WalFragmentReader(std::move(file), path, log_number, size));
}

WalFragmentReader::WalFragmentReader(std::unique_ptr<rocksdb::FSRandomAccessFile> file,
                                     std::string path, uint64_t log_number, uint64_t size)
    : file_(std::move(file)), path_(std::move(path)), log_number_(log_number), size_(size) {
  buffer_.resize(kBlockBytes);
}

Error WalFragmentReader::Load(uint64_t block_start) {
  block_start_ = block_start;
  pos_ = 0;
  const size_t want = static_cast<size_t>(std::min<uint64_t>(kBlockBytes, size_ - block_start));
  rocksdb::Slice got;
  const rocksdb::IOStatus s =
      file_->Read(block_start, want, rocksdb::IOOptions(), &got, buffer_.data(), nullptr);
  if (!s.ok()) return FromStatus(s, "cannot read the log " + path_);
  if (got.size() != want)
    return Error(ErrorCode::kIo, "cannot read the log " + path_ + ": short read");
  block_ = std::string_view(got.data(), got.size());
  loaded_ = true;
  return Error::Ok();
}

WalFragmentReader::Header WalFragmentReader::Parse(size_t pos, WalFragment* fragment) const {
  const std::string_view rest = block_.substr(pos);
  if (rest.size() < kHeaderBytes) return Header::kShort;
  const auto type = static_cast<uint8_t>(rest[6]);
  const size_t length = static_cast<unsigned char>(rest[4]) |
                        static_cast<size_t>(static_cast<unsigned char>(rest[5])) << 8;
  if (type == kZero) return length == 0 && Fixed32(rest) == 0 ? Header::kZero : Header::kBadType;
  if (type > kRecyclableTimestampSize) return Header::kBadType;
  const size_t header = Recyclable(type) ? kRecyclableHeaderBytes : kHeaderBytes;
  if (rest.size() < header + length) return Header::kShort;
  const std::string_view covered = rest.substr(6, header - 6 + length);
  if (ExtendCrc32c(0, covered) != UnmaskCrc(Fixed32(rest))) return Header::kBadSum;
  if (Recyclable(type) && Fixed32(rest.substr(7)) != static_cast<uint32_t>(log_number_))
    return Header::kOld;
  fragment->part = PartOf(type);
  fragment->offset = block_start_ + pos;
  fragment->end = fragment->offset + header + length;
  fragment->bytes = rest.substr(header, length);
  return Header::kGood;
}

Result<bool> WalFragmentReader::Resync() {
  WalFragment ignored;
  for (;;) {
    for (; pos_ + kHeaderBytes <= block_.size(); ++pos_) {
      if (Parse(pos_, &ignored) == Header::kGood) return true;
    }
    if (LastBlock()) {
      pos_ = block_.size();
      return false;
    }
    VESTQ_RETURN_IF_ERROR(Load(block_start_ + kBlockBytes));
  }
}

Result<bool> WalFragmentReader::OnlyZerosAhead() {
  const uint64_t start = block_start_;
  const size_t pos = pos_;
  bool zeros = AllZero(block_.substr(pos_));
  while (zeros && !LastBlock()) {
    VESTQ_RETURN_IF_ERROR(Load(block_start_ + kBlockBytes));
    zeros = AllZero(block_);
  }
  if (block_start_ != start) VESTQ_RETURN_IF_ERROR(Load(start));
  pos_ = pos;
  return zeros;
}

WalStep WalFragmentReader::Bad(const char* what) {
  bad_offset_ = Here();
  bad_what_ = what;
  lost_ = true;
  return WalStep::kBad;
}

Result<WalStep> WalFragmentReader::Next(WalFragment* fragment) {
  if (size_ == 0) return WalStep::kEnd;
  if (!loaded_) VESTQ_RETURN_IF_ERROR(Load(0));
  if (lost_) {
    lost_ = false;
    // Not at the same place again; the byte behind a bad header may start a good one.
    if (pos_ < block_.size()) ++pos_;
    const Result<bool> found = Resync();
    if (!found.ok()) return found.error();
    if (!*found) return WalStep::kEnd;
  }
  for (;;) {
    const std::string_view rest = block_.substr(pos_);
    // A trailer: too short for a header of this log's kind (eleven bytes when recyclable), zero,
    // and not the last.
    if (rest.size() < kRecyclableHeaderBytes && !LastBlock() && AllZero(rest)) {
      VESTQ_RETURN_IF_ERROR(Load(block_start_ + kBlockBytes));
      continue;
    }
    if (rest.empty()) return WalStep::kEnd;
    switch (Parse(pos_, fragment)) {
      case Header::kGood:
        pos_ = static_cast<size_t>(fragment->end - block_start_);
        return WalStep::kFragment;
      case Header::kBadType: return Bad("not a record");
      case Header::kBadSum: return Bad("checksum mismatch");
      case Header::kShort: {
        if (LastBlock() && AllZero(rest)) return WalStep::kEnd;
        return Bad(LastBlock() ? "record cut short" : "record longer than its block");
      }
      case Header::kZero: {
        const Result<bool> zeros = OnlyZerosAhead();
        if (!zeros.ok()) return zeros.error();
        if (*zeros) return WalStep::kEnd;
        return Bad("zeros where a record should be");
      }
      case Header::kOld: {
        const uint64_t start = block_start_;
        const size_t pos = pos_;
        const Result<bool> own = Resync();
        if (!own.ok()) return own.error();
        if (!*own) return WalStep::kEnd;
        if (block_start_ != start) VESTQ_RETURN_IF_ERROR(Load(start));
        pos_ = pos;
        return Bad("record of an older log in between");
      }
    }
  }
}

}  // namespace vestq
