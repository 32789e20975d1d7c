#include "tools/time_text.h"

#include <spdlog/fmt/chrono.h>
#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <iterator>

namespace vestq {
namespace {

constexpr int64_t kSecondMs = 1000;
constexpr int64_t kMinuteMs = 60 * kSecondMs;
constexpr int64_t kHourMs = 60 * kMinuteMs;
constexpr int64_t kDayMs = 24 * kHourMs;

// net/PROTOCOL.md says which fields are Unix ms and which are ms.
constexpr std::string_view kMoments[] = {"enqueued", "deadline", "vests", "finished",
                                         "died",     "next",     "last",  "created"};
constexpr std::string_view kSpans[] = {"vests-in",   "lease-left", "kept-for", "lease",
                                       "unique-for", "expire",     "keep",     "every"};
constexpr std::string_view kQueueSpans[] = {
    "paused",           "oldest-ready", "oldest-ready-urgent", "oldest-ready-normal",
    "oldest-ready-low", "usual-lease"};

template <size_t n>
bool IsOneOf(const std::string_view (&names)[n], std::string_view name) {
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

std::string Two(int64_t ms, int64_t unit_ms, const char* unit, int64_t part_ms, const char* part) {
  const int64_t parts = ms % unit_ms / part_ms;
  return parts == 0 ? fmt::format("{}{}", ms / unit_ms, unit)
                    : fmt::format("{}{} {}{}", ms / unit_ms, unit, parts, part);
}

}  // namespace

std::string SpanText(int64_t ms) {
  if (ms < 0) return "-" + SpanText(ms == INT64_MIN ? INT64_MAX : -ms);
  if (ms == 0) return "0s";
  if (ms < kSecondMs) return fmt::format("{}ms", ms);
  if (ms < kMinuteMs) {
    const int64_t tenths = ms % kSecondMs / 100;
    return tenths == 0 ? fmt::format("{}s", ms / kSecondMs)
                       : fmt::format("{}.{}s", ms / kSecondMs, tenths);
  }
  if (ms < kHourMs) return Two(ms, kMinuteMs, "m", kSecondMs, "s");
  if (ms < kDayMs) return Two(ms, kHourMs, "h", kMinuteMs, "m");
  return Two(ms, kDayMs, "d", kHourMs, "h");
}

std::string MomentText(int64_t unix_ms, int64_t offset_s) {
  const std::chrono::milliseconds moment(unix_ms);
  const auto seconds = std::chrono::floor<std::chrono::seconds>(moment);
  // Broken down first: fmt would make nanoseconds of a time_point, and those end in the year 2262.
  std::string text = fmt::format("{:%FT%T}", fmt::gmtime(seconds.count() + offset_s));
  if (const auto part = (moment - seconds).count(); part != 0) text += fmt::format(".{:03}", part);
  if (offset_s == 0) return text + "Z";
  const int64_t minutes = std::abs(offset_s) / 60;
  return text + fmt::format("{}{:02}:{:02}", offset_s < 0 ? '-' : '+', minutes / 60, minutes % 60);
}

std::string NumberText(MapOf map, std::string_view name, int64_t value) {
  if (map == MapOf::kQueue) {
    if (name == "paused") return value == 0 ? "no" : value < 0 ? "until resumed" : SpanText(value);
    return IsOneOf(kQueueSpans, name) ? SpanText(value) : std::to_string(value);
  }
  if (IsOneOf(kMoments, name)) return MomentText(value);
  if (IsOneOf(kSpans, name)) return SpanText(value);
  return std::to_string(value);
}

}  // namespace vestq
