// Durations as people write them: a whole number and its unit, `250ms`, `30s`, `5m`, `2h`, `7d`, or
// `0`.
//
// Exact both ways (TEXT-1): what parses is that many milliseconds, and DurationToText of it parses
// to the same. A bare number is refused, since half of all users mean seconds and the other half
// milliseconds. No thread owns it, no state; parsing allocates only for an error.
#pragma once

#include <string>
#include <string_view>

#include "engine/base/result.h"
#include "engine/base/time.h"

namespace vestq {

// The span that `text` says; `field` names it in the error. Only digits and one unit: no sign,
// space, fraction or exponent. Limits of the field are the caller's to check. Errors: kSyntax for
// another form, kRange for a span above Duration::Max().
[[nodiscard]] Result<Duration> ParseDuration(std::string_view text,
                                             std::string_view field = "duration");

// The shortest exact form, in the largest unit that divides it: 90'000 ms is "90s". "0" for
// nothing; a negative span, which does not parse, gets a minus sign.
[[nodiscard]] std::string DurationToText(Duration duration);

}  // namespace vestq
