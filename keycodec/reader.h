// A checked cursor over encoded bytes, the other side of Writer. Internal to keycodec.
//
// The first failure sticks: it empties the cursor, every later read gives a harmless value, and
// Finish tells what and where it was. So a decoder is a straight list of reads and has one exit. It
// never reads outside the bytes and never allocates by a length it was told; only an error's text
// allocates.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string_view>
#include <utility>

#include "engine/base/check.h"
#include "engine/base/result.h"

namespace vestq::keycodec {

class Reader {
 public:
  // `what` names the format in error texts. Both views must outlive the reader.
  Reader(const char* what, std::string_view bytes)
      : what_(what), begin_(bytes.data()), at_(bytes.data()), end_(bytes.data() + bytes.size()) {}

  bool ok() const { return why_ == nullptr; }
  bool empty() const { return at_ == end_; }
  size_t left() const { return static_cast<size_t>(end_ - at_); }
  size_t position() const { return static_cast<size_t>(at_ - begin_); }

  // A reader of `bytes`, which were read from this one: a field with fields of its own.
  Reader Inside(std::string_view bytes) const { return Reader(what_, bytes); }
  // Takes over the failure of such a reader, or that it left bytes over.
  void Finished(Reader* inside);

  // Keeps the first failure only. A number that fails is told by where it begins.
  void Fail(const char* field, const char* why, ErrorCode code = ErrorCode::kCorruption);

  // The next byte, which stays. REQUIRES: !empty().
  uint8_t Peek() const {
    DCHECK(!empty());
    return static_cast<uint8_t>(*at_);
  }
  uint8_t Byte(const char* field) {
    if (at_ == end_) {
      Fail(field, "ends early");
      return 0;
    }
    return static_cast<uint8_t>(*at_++);
  }

  // `Width` bytes, most significant first.
  template <size_t Width>
  uint64_t BigEndian(const char* field) {
    static_assert(Width <= 8);
    if (left() < Width) {
      Fail(field, "ends early");
      return 0;
    }
    uint64_t value = 0;
    for (size_t i = 0; i < Width; ++i) value = value << 8 | static_cast<uint8_t>(at_[i]);
    at_ += Width;
    return value;
  }

  // LEB128 in its shortest form, at most `max`.
  uint64_t Varint(const char* field, uint64_t max) {
    if (at_ != end_ && static_cast<uint8_t>(*at_) < 0x80 && static_cast<uint8_t>(*at_) <= max) {
      return static_cast<uint8_t>(*at_++);
    }
    return LongVarint(field, max);
  }
  int64_t SignedVarint(const char* field) {
    const uint64_t zigzag = Varint(field, UINT64_MAX);
    return static_cast<int64_t>(zigzag >> 1 ^ (~(zigzag & 1) + 1));
  }

  // Exactly `size` bytes; a view into the input.
  std::string_view Raw(const char* field, size_t size) {
    if (size > left()) {
      Fail(field, "ends early");
      return {};
    }
    const std::string_view bytes(at_, size);
    at_ += size;
    return bytes;
  }
  // A length as varint, at most `max`, then so many bytes; a view into the input.
  std::string_view Prefixed(const char* field, size_t max = SIZE_MAX) {
    return Raw(field, Varint(field, max));
  }
  // What stands before the next `stop`, which is read over; a view into the input.
  std::string_view Until(const char* field, char stop) {
    const size_t size = std::string_view(at_, left()).find(stop);
    if (size == std::string_view::npos) {
      Fail(field, "ends early");
      return {};
    }
    const std::string_view bytes = Raw(field, size);
    ++at_;
    return bytes;
  }
  // All that is left; a view into the input.
  std::string_view Rest() { return Raw("rest", left()); }

  // A byte that must be one of `valid`; the first of them after a failure.
  template <typename E>
  E Enum(const char* field, std::initializer_list<E> valid) {
    const uint8_t byte = Byte(field);
    for (const E value : valid) {
      if (static_cast<uint8_t>(value) == byte) return value;
    }
    Fail(field, "unknown value");
    return *valid.begin();
  }

  // The failure, or that bytes are left over, or none.
  Error Finish();
  template <typename T>
  Result<T> Finish(T value) {
    if (Error error = Finish(); !error.ok()) return error;
    return Result<T>(std::move(value));
  }

 private:
  uint64_t LongVarint(const char* field, uint64_t max);

  const char* const what_;
  const char* const begin_;
  const char* at_;
  const char* end_;
  // The first failure; why_ is null while there is none.
  const char* field_ = nullptr;
  const char* why_ = nullptr;
  ErrorCode code_ = ErrorCode::kOk;
  size_t failed_at_ = 0;
};

}  // namespace vestq::keycodec
