// Sizes as users write them: "256MiB", "256M", "1GiB", "65536". Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "engine/base/result.h"

namespace vestq {

// K, M, G and KiB, MiB, GiB are powers of 1024; a bare number is bytes. Errors: kSyntax, saying
// what was expected.
[[nodiscard]] Result<uint64_t> ParseSize(std::string_view text);
// The largest unit that divides it: "256MiB", "1000B".
[[nodiscard]] std::string FormatSize(uint64_t bytes);

}  // namespace vestq
