#include "tools/printable.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "keycodec/tuple.h"

namespace vestq {
namespace {

// Bytes of the character that begins with this one, if it is UTF-8.
size_t LengthFrom(uint8_t first) {
  return first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
}

bool IsControl(std::string_view character) {
  const auto first = static_cast<uint8_t>(character[0]);
  if (character.size() == 1) return first < 0x20 || first == 0x7f;
  return first == 0xc2 && static_cast<uint8_t>(character[1]) < 0xa0;
}

void AppendEscaped(std::string_view bytes, std::string* out) {
  constexpr char kHex[] = "0123456789abcdef";
  for (const char c : bytes) {
    switch (c) {
      case '\n': out->append("\\n"); break;
      case '\r': out->append("\\r"); break;
      case '\t': out->append("\\t"); break;
      default:
        out->append("\\x");
        out->push_back(kHex[static_cast<uint8_t>(c) >> 4]);
        out->push_back(kHex[static_cast<uint8_t>(c) & 15]);
    }
  }
}

}  // namespace

std::string Printable(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    std::string_view character = text.substr(0, LengthFrom(static_cast<uint8_t>(text[0])));
    const bool good = keycodec::IsUtf8(character);
    if (!good) character = text.substr(0, 1);
    if (good && !IsControl(character)) {
      out.append(character);
    } else {
      AppendEscaped(character, &out);
    }
    text.remove_prefix(character.size());
  }
  return out;
}

std::string_view Tail(std::string_view text, size_t at_most) {
  if (text.size() <= at_most) return text;
  text.remove_prefix(text.size() - at_most);
  // The rest of a character that was cut has at most three bytes; more of them are no UTF-8 anyway.
  size_t rest = 0;
  while (rest < std::min<size_t>(3, text.size()) &&
         (static_cast<uint8_t>(text[rest]) & 0xc0) == 0x80)
    ++rest;
  return text.substr(rest);
}

}  // namespace vestq
