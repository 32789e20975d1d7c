// Reads one file of RocksDB's write-ahead log, fragment by fragment, and goes on behind damage.
//
// The format (db/log_format.h): blocks of 32 KiB; a fragment is crc32c (4), length (2), type (1),
// for recyclable types the log's number (4), then the bytes; no fragment crosses a block, what is
// too short for a header is zero. A record is one Full, or First Middle* Last. The first fragment
// of a compressed log says so.
//
// After damage the reader looks for the next fragment at every byte: a flipped length must not hide
// the records behind it. A payload that holds the bytes of a log fragment can be mistaken for one
// there; that can only make the check refuse, never accept.
//
// Includes RocksDB's headers. Owned by one thread; blocks; holds one block (32 KiB).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "engine/base/result.h"
#include "rocksdb/file_system.h"

namespace vestq {

struct WalFragment {
  enum class Part : uint8_t { kFull, kFirst, kMiddle, kLast, kCompression, kTimestamps };
  Part part = Part::kFull;
  uint64_t offset = 0;     // of its header
  uint64_t end = 0;        // behind its last byte
  std::string_view bytes;  // valid until the next call
};

enum class WalStep : uint8_t {
  kFragment,  // *fragment is the next good one
  kBad,  // `bad_offset` and `bad_what` say where something is wrong; the next call goes on behind
         // it
  kEnd,  // nothing but zeros, or records of the log whose file was recycled, up to the file's end
};

class WalFragmentReader {
 public:
  // Errors: kNotFound, kIo.
  static Result<std::unique_ptr<WalFragmentReader>> Open(rocksdb::FileSystem* fs,
                                                         const std::string& path,
                                                         uint64_t log_number);

  // Errors: kIo when the disk does not give the bytes.
  Result<WalStep> Next(WalFragment* fragment);

  uint64_t bad_offset() const { return bad_offset_; }
  const std::string& bad_what() const { return bad_what_; }
  uint64_t size() const { return size_; }

 private:
  enum class Header : uint8_t { kGood, kZero, kOld, kShort, kBadType, kBadSum };

  WalFragmentReader(std::unique_ptr<rocksdb::FSRandomAccessFile> file, std::string path,
                    uint64_t log_number, uint64_t size);
  Error Load(uint64_t block_start);
  Header Parse(size_t pos, WalFragment* fragment) const;
  // Moves to the next good fragment at or behind the position, byte by byte; false: there is none.
  Result<bool> Resync();
  Result<bool> OnlyZerosAhead();
  WalStep Bad(const char* what);
  bool LastBlock() const { return block_start_ + block_.size() >= size_; }
  uint64_t Here() const { return block_start_ + pos_; }

  const std::unique_ptr<rocksdb::FSRandomAccessFile> file_;
  const std::string path_;
  const uint64_t log_number_;
  const uint64_t size_;
  std::string buffer_;
  std::string_view block_;  // into buffer_, or into the file system's own memory
  uint64_t block_start_ = 0;
  size_t pos_ = 0;
  bool loaded_ = false;
  bool lost_ = false;  // behind damage: the next call resynchronizes
  uint64_t bad_offset_ = 0;
  std::string bad_what_;
};

}  // namespace vestq
