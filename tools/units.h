// Sizes as users write them: "256MiB", "256M", "1GiB", "65536"; and moments, which are easily written in
// the wrong unit. Pure.
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

// Moments are Unix milliseconds; as many seconds as people mean today would be days in January 1970. Fewer
// than this (2001-09-09) is a slip, and no moment that a job could wait for.
inline constexpr uint64_t kMomentMinMs = 1'000'000'000'000;
// Errors: kSyntax for a number below it, naming the `option`. What is no number, RFC 3339 or wrong, is left
// to the daemon.
[[nodiscard]] Error CheckMoment(std::string_view option, std::string_view text);

}  // namespace vestq
