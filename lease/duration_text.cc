#include "lease/duration_text.h"

#include <array>
#include <cstdint>
#include <limits>

namespace vestq {
namespace {

struct Unit {
  std::string_view name;
  uint64_t ms;
};
constexpr std::array<Unit, 5> kUnits = {
    {{"d", 86'400'000}, {"h", 3'600'000}, {"m", 60'000}, {"s", 1'000}, {"ms", 1}}};

Error Malformed(std::string_view field, std::string_view what) {
  return Error(ErrorCode::kSyntax, std::string(field).append(" ").append(what));
}

Error TooLong(std::string_view field) {
  return Error(
      ErrorCode::kRange,
      std::string(field).append(" must be at most ").append(DurationToText(Duration::Max())));
}

}  // namespace

Result<Duration> ParseDuration(std::string_view text, std::string_view field) {
  uint64_t number = 0;
  size_t digits = 0;
  bool overflow = false;
  for (; digits < text.size() && text[digits] >= '0' && text[digits] <= '9'; ++digits) {
    const auto digit = static_cast<uint64_t>(text[digits] - '0');
    overflow |= __builtin_mul_overflow(number, uint64_t{10}, &number);
    overflow |= __builtin_add_overflow(number, digit, &number);
  }
  if (digits == 0 || (digits > 1 && text[0] == '0')) {
    return Malformed(field, "must be a whole number with its unit: 250ms, 30s, 5m, 2h, 7d, or 0");
  }
  const std::string_view unit = text.substr(digits);
  if (unit.empty()) {
    if (number == 0 && !overflow) return Duration();
    return Malformed(field, "needs a unit: write 30s or 30ms");
  }
  for (const Unit& known : kUnits) {
    if (unit != known.name) continue;
    overflow |= __builtin_mul_overflow(number, known.ms, &number);
    if (overflow || number > static_cast<uint64_t>(Duration::Max().ms())) return TooLong(field);
    return Duration(static_cast<int64_t>(number));
  }
  return Malformed(field, "must be a whole number with its unit: 250ms, 30s, 5m, 2h, 7d, or 0");
}

std::string DurationToText(Duration duration) {
  const int64_t ms = duration.ms();
  if (ms == 0) return "0";
  // The magnitude also of the least number, which has no positive counterpart.
  const uint64_t magnitude = ms < 0 ? ~static_cast<uint64_t>(ms) + 1 : static_cast<uint64_t>(ms);
  for (const Unit& unit : kUnits) {
    if (magnitude % unit.ms != 0) continue;
    return std::string(ms < 0 ? "-" : "")
        .append(std::to_string(magnitude / unit.ms))
        .append(unit.name);
  }
  CHECK(false, "every number of milliseconds is a multiple of 1 ms");
}

}  // namespace vestq
