#include "engine/peek_cursor.h"

namespace vestq {
namespace {

constexpr uint8_t kVersion = 1;
constexpr size_t kFixedBytes = 1 + 4 + 2 + 4;
constexpr size_t kSumBytes = 4;
// Longer than any key with its frame.
constexpr size_t kTextMax = 2048;

void PutNumber(uint64_t value, size_t bytes, std::string* out) {
  for (size_t i = bytes; i-- > 0;) out->push_back(static_cast<char>(value >> (8 * i)));
}

uint64_t TakeNumber(std::string_view bytes, size_t at, size_t count) {
  uint64_t value = 0;
  for (size_t i = 0; i < count; ++i) value = value << 8 | static_cast<uint8_t>(bytes[at + i]);
  return value;
}

// FNV-1a over what is listed and where.
uint32_t Sum(const PeekRequest& request, std::string_view place) {
  uint32_t hash = 2166136261u;
  auto add = [&hash](std::string_view bytes) {
    for (char c : bytes) hash = (hash ^ static_cast<uint8_t>(c)) * 16777619u;
    hash = (hash ^ 0xFFu) * 16777619u;
  };
  add(request.queue);
  add(JobStateName(request.state));
  add(request.one_space ? "one" : "all");
  add(request.space);
  add(place);
  return hash;
}

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

}  // namespace

std::string PeekCursor::Text(const PeekRequest& request) const {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string bytes;
  bytes.push_back(static_cast<char>(kVersion));
  PutNumber(epoch, 4, &bytes);
  PutNumber(core, 2, &bytes);
  PutNumber(lease, 4, &bytes);
  bytes += key;
  PutNumber(Sum(request, bytes), kSumBytes, &bytes);
  std::string text;
  text.reserve(2 * bytes.size());
  for (char c : bytes) {
    text.push_back(kDigits[static_cast<uint8_t>(c) >> 4]);
    text.push_back(kDigits[static_cast<uint8_t>(c) & 15]);
  }
  return text;
}

Result<PeekCursor> PeekCursor::Parse(const PeekRequest& request, std::string_view text) {
  const Error wrong(ErrorCode::kSyntax, kWrong);
  if (text.size() % 2 != 0 || text.size() > kTextMax) return wrong;
  std::string bytes;
  for (size_t i = 0; i < text.size(); i += 2) {
    const int high = HexDigit(text[i]);
    const int low = HexDigit(text[i + 1]);
    if (high < 0 || low < 0) return wrong;
    bytes.push_back(static_cast<char>(high << 4 | low));
  }
  if (bytes.size() < kFixedBytes + kSumBytes) return wrong;
  const std::string_view place = std::string_view(bytes).substr(0, bytes.size() - kSumBytes);
  if (static_cast<uint8_t>(place[0]) != kVersion ||
      TakeNumber(bytes, place.size(), kSumBytes) != Sum(request, place)) {
    return wrong;
  }
  PeekCursor cursor;
  cursor.epoch = static_cast<uint32_t>(TakeNumber(place, 1, 4));
  cursor.core = static_cast<uint16_t>(TakeNumber(place, 5, 2));
  cursor.lease = static_cast<uint32_t>(TakeNumber(place, 7, 4));
  cursor.key = place.substr(kFixedBytes);
  return cursor;
}

}  // namespace vestq
