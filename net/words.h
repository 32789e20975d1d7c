// The words of the wire: numbers, durations, times, sizes and names, as net/PROTOCOL.md defines
// them ("Words on the wire"). Pure functions. A text that is not of the form is kSyntax and the
// error says what was expected; a well-formed value outside its limits is kRange and the error
// names the value and the limits. Nothing is clamped, nothing wraps (WORD-1). They allocate only
// for an error.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "engine/base/result.h"
#include "engine/base/time.h"
#include "engine/request.h"
#include "engine/request_check.h"

namespace vestq::words {

// `name` is what the error calls the value ("COUNT"). Decimal digits, no sign, no leading zero.
Result<uint64_t> ParseNumber(std::string_view name, std::string_view text, uint64_t min,
                             uint64_t max);
// 250ms 30s 5m 2h 7d 0. A bare number is refused with a hint.
Result<Duration> ParseDuration(std::string_view name, std::string_view text, Duration min,
                               Duration max);
// Unix milliseconds or RFC 3339, from 1970 to the greatest key time.
Result<WallTime> ParseTime(std::string_view name, std::string_view text);
// Bytes, or with a unit: B KiB MiB GiB.
Result<uint64_t> ParseSize(std::string_view name, std::string_view text, uint64_t min,
                           uint64_t max);

// A back-off policy, encoded (lease/backoff.h).
Result<std::string> ParseBackoff(std::string_view name, std::string_view text);

// A job's state, as STATE takes it: any but "gone".
Result<JobState> ParseState(std::string_view text);

// "30s": the greatest unit that gives a whole number.
std::string FormatDuration(Duration d);
using vestq::Quote;
// ASCII.
bool EqualsIgnoreCase(std::string_view a, std::string_view b);
// `*` and `?`, anything else literally. Time is at most |pattern| * |text|, no recursion.
bool MatchGlob(std::string_view pattern, std::string_view text);

}  // namespace vestq::words
