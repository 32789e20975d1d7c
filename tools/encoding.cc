#include "tools/encoding.h"

#include <array>
#include <cstddef>
#include <cstdint>

namespace vestq {
namespace {

constexpr std::string_view kHexDigits = "0123456789abcdef";
constexpr std::string_view kBase64Digits =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr uint8_t kNone = 0xff;

// What each character stands for, kNone for others.
constexpr std::array<uint8_t, 256> Values(std::string_view digits) {
  std::array<uint8_t, 256> out{};
  for (uint8_t& value : out) value = kNone;
  for (size_t i = 0; i < digits.size(); ++i)
    out[static_cast<uint8_t>(digits[i])] = static_cast<uint8_t>(i);
  return out;
}
constexpr std::array<uint8_t, 256> kBase64Values = Values(kBase64Digits);

uint8_t HexValue(char c) {
  if (c >= '0' && c <= '9') return static_cast<uint8_t>(c - '0');
  if (c >= 'a' && c <= 'f') return static_cast<uint8_t>(c - 'a' + 10);
  if (c >= 'A' && c <= 'F') return static_cast<uint8_t>(c - 'A' + 10);
  return kNone;
}

}  // namespace

std::string ToHex(std::string_view bytes) {
  std::string out;
  out.reserve(2 * bytes.size());
  for (const char c : bytes) {
    out.push_back(kHexDigits[static_cast<uint8_t>(c) >> 4]);
    out.push_back(kHexDigits[static_cast<uint8_t>(c) & 15]);
  }
  return out;
}

std::optional<std::string> FromHex(std::string_view text) {
  if (text.size() % 2 != 0) return std::nullopt;
  std::string out;
  out.reserve(text.size() / 2);
  for (size_t i = 0; i < text.size(); i += 2) {
    const uint8_t high = HexValue(text[i]), low = HexValue(text[i + 1]);
    if (high == kNone || low == kNone) return std::nullopt;
    out.push_back(static_cast<char>(high << 4 | low));
  }
  return out;
}

std::string ToBase64(std::string_view bytes) {
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (size_t i = 0; i < bytes.size(); i += 3) {
    uint32_t group = 0;
    for (size_t k = 0; k < 3; ++k)
      group = group << 8 | (i + k < bytes.size() ? static_cast<uint8_t>(bytes[i + k]) : 0u);
    const size_t digits = bytes.size() - i >= 3 ? 4 : bytes.size() - i + 1;
    for (size_t k = 0; k < 4; ++k)
      out.push_back(k < digits ? kBase64Digits[group >> (18 - 6 * k) & 63] : '=');
  }
  return out;
}

std::optional<std::string> FromBase64(std::string_view text) {
  if (text.size() % 4 != 0) return std::nullopt;
  std::string out;
  out.reserve(text.size() / 4 * 3);
  for (size_t i = 0; i < text.size(); i += 4) {
    size_t digits = 4;
    if (i + 4 == text.size()) {
      if (text[i + 3] == '=') digits = text[i + 2] == '=' ? 2 : 3;
    }
    uint32_t group = 0;
    for (size_t k = 0; k < 4; ++k) {
      const uint8_t value = k < digits ? kBase64Values[static_cast<uint8_t>(text[i + k])] : 0;
      if (value == kNone) return std::nullopt;
      group = group << 6 | value;
    }
    const uint32_t unused = digits == 4 ? 0 : digits == 3 ? 0xff : 0xffff;
    if ((group & unused) != 0) return std::nullopt;
    for (size_t k = 0; k + 1 < digits; ++k) out.push_back(static_cast<char>(group >> (16 - 8 * k)));
  }
  return out;
}

}  // namespace vestq
