// HOST:PORT as users write it: "127.0.0.1:7733", "localhost:7733", "[::1]:7733". Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "engine/base/result.h"

namespace vestq {

struct Address {
  std::string host;
  uint16_t port = 0;
  // With brackets around an IPv6 host.
  std::string ToString() const;
};

inline constexpr char kDefaultServer[] = "127.0.0.1:7733";

// Errors: kSyntax, saying what was expected. Port 0 is well-formed here; whether it makes sense is
// the caller's to say.
[[nodiscard]] Result<Address> ParseAddress(std::string_view text);

}  // namespace vestq
