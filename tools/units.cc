#include "tools/units.h"

#include <array>
#include <charconv>
#include <utility>

namespace vestq {
namespace {

struct Unit {
  std::string_view name;
  int shift;
};
constexpr std::array<Unit, 8> kUnits = {
    {{"", 0}, {"B", 0}, {"K", 10}, {"KiB", 10}, {"M", 20}, {"MiB", 20}, {"G", 30}, {"GiB", 30}}};

}  // namespace

Result<uint64_t> ParseSize(std::string_view text) {
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const std::string_view rest = text.substr(static_cast<size_t>(end - text.data()));
  if (error == std::errc()) {
    for (const Unit& unit : kUnits) {
      if (unit.name == rest && number <= (UINT64_MAX >> unit.shift)) return number << unit.shift;
    }
  }
  return Error(ErrorCode::kSyntax,
               "\"" + std::string(text) +
                   "\" is not a size: write a number with KiB, MiB or GiB, such as 256MiB");
}

std::string FormatSize(uint64_t bytes) {
  for (const auto& [name, shift] : {Unit{"GiB", 30}, Unit{"MiB", 20}, Unit{"KiB", 10}}) {
    if (bytes != 0 && bytes % (uint64_t{1} << shift) == 0) {
      return std::to_string(bytes >> shift) + std::string(name);
    }
  }
  return std::to_string(bytes) + "B";
}

Error CheckMoment(std::string_view option, std::string_view text) {
  uint64_t ms = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), ms);
  if (text.empty() || error != std::errc() || end != text.data() + text.size() ||
      ms >= kMomentMinMs) {
    return Error::Ok();
  }
  return Error(
      ErrorCode::kSyntax,
      std::string(option) + " " + std::string(text) +
          ": Unix milliseconds are expected, and so many are a moment before September 2001; "
          "of Unix seconds write " +
          std::string(text) + "000, or RFC 3339: 2030-01-31T08:00:00Z");
}

}  // namespace vestq
