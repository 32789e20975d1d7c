// Bytes as text that any tool reads: hexadecimal and base64 (RFC 4648, section 4). Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace vestq {

// Two lower-case digits a byte.
[[nodiscard]] std::string ToHex(std::string_view bytes);
// Either case; nothing for anything but pairs of digits.
[[nodiscard]] std::optional<std::string> FromHex(std::string_view text);

// With padding, without line ends.
[[nodiscard]] std::string ToBase64(std::string_view bytes);
// Nothing for another alphabet, missing padding, or bits set that no byte takes: what decodes has one
// encoding.
[[nodiscard]] std::optional<std::string> FromBase64(std::string_view text);

}  // namespace vestq
