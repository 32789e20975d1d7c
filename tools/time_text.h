// Times for people: the daemon says milliseconds, of which nobody sees at once what they are. What a program
// reads (--json, export) keeps the milliseconds. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace vestq {

// The two greatest units: "850ms", "5.3s", "4m 12s", "3h 5m", "2d 4h", "0s"; with a minus sign where it is negative.
[[nodiscard]] std::string SpanText(int64_t ms);
// "2030-01-31T08:00:00.123Z", or with another offset from UTC "2030-01-31T09:00:00+01:00"; milliseconds stand
// there where they are not 0. It is RFC 3339, as --at takes it.
[[nodiscard]] std::string MomentText(int64_t unix_ms, int64_t offset_s = 0);

// What the daemon's maps are about: the same word may be a moment in one and a count in another.
enum class MapOf : uint8_t { kJob, kSchedule, kQueue };
// The number of the field `name` as people read it: a moment or a span where it is one, else its digits.
[[nodiscard]] std::string NumberText(MapOf map, std::string_view name, int64_t value);

}  // namespace vestq
