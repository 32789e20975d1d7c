// Encoding into a buffer of fixed size on the stack, then one append to the caller's string: the
// hot path pays one capacity check a key or value and allocates only when the caller's string
// grows. Internal to keycodec.
//
// N is the largest size of what is written; every caller derives it from the constants below and
// limits.h, so that writing past the end is a bug of keycodec (DCHECK).
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "engine/base/check.h"

namespace vestq::keycodec {

// Most bytes that a LEB128 varint of so many bits takes.
inline constexpr size_t kVarint16Bytes = 3;
inline constexpr size_t kVarint32Bytes = 5;
inline constexpr size_t kVarint48Bytes = 7;  // a time
inline constexpr size_t kVarint64Bytes = 10;

template <size_t N>
class Writer {
 public:
  void Byte(uint8_t value) {
    DCHECK(size_ < N);
    bytes_[size_++] = static_cast<char>(value);
  }
  // The low `Width` bytes of `value`, most significant first.
  template <size_t Width>
  void BigEndian(uint64_t value) {
    DCHECK(size_ + Width <= N);
    for (size_t i = 0; i < Width; ++i) {
      bytes_[size_ + i] = static_cast<char>(value >> (8 * (Width - 1 - i)));
    }
    size_ += Width;
  }
  // LEB128, the shortest form.
  void Varint(uint64_t value) {
    while (value >= 0x80) {
      Byte(static_cast<uint8_t>(value | 0x80));
      value >>= 7;
    }
    Byte(static_cast<uint8_t>(value));
  }
  // Zigzag: 0, -1, 1, -2 ... become 0, 1, 2, 3 ...
  void SignedVarint(int64_t value) {
    Varint((static_cast<uint64_t>(value) << 1) ^ static_cast<uint64_t>(value >> 63));
  }
  void Raw(std::string_view bytes) {
    DCHECK(bytes.size() <= N - size_);
    if (!bytes.empty()) std::memcpy(bytes_.data() + size_, bytes.data(), bytes.size());
    size_ += bytes.size();
  }
  // A length as varint, then the bytes.
  void Prefixed(std::string_view bytes) {
    Varint(bytes.size());
    Raw(bytes);
  }
  std::string_view view() const { return std::string_view(bytes_.data(), size_); }
  void AppendTo(std::string* out) const { out->append(bytes_.data(), size_); }

 private:
  std::array<char, N> bytes_;  // not initialised: only the first size_ bytes mean something
  size_t size_ = 0;
};

// A string whose size has no limit here: length as varint, then the bytes.
inline void AppendPrefixed(std::string_view bytes, std::string* out) {
  Writer<kVarint64Bytes> length;
  length.Varint(bytes.size());
  length.AppendTo(out);
  out->append(bytes);
}

}  // namespace vestq::keycodec
