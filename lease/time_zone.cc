#include "lease/time_zone.h"

#include <date/tz.h>

#include <algorithm>
#include <exception>
#include <utility>

#include "engine/base/limits.h"

namespace vestq {
namespace {

// About the years -30000 and 30000: what the library can say, with room for an offset.
constexpr int64_t kFarSeconds = 900'000'000'000;

date::sys_seconds At(int64_t unix_s) {
  return date::sys_seconds(
      date::sys_seconds::duration(std::clamp(unix_s, -kFarSeconds, kFarSeconds)));
}

std::string Printable(std::string_view name) {
  std::string out(name);
  std::replace_if(
      out.begin(), out.end(), [](char c) { return c < 0x21 || c > 0x7e; }, '?');
  return out;
}

Error NoZoneData(std::string_view name, std::string_view why) {
  return Error(ErrorCode::kSyntax, std::string("time zone ")
                                       .append(name)
                                       .append(": this machine's zone data cannot be read (")
                                       .append(why)
                                       .append("); install the package tzdata, or use UTC"));
}

// Finds `name` in the list of the system's zones; null when it is not there. The list is in order, but a search for
// its place would rest on how the library orders it.
Result<const date::time_zone*> Locate(std::string_view name) {
  try {
    const date::tzdb& data = date::get_tzdb();
    if (data.zones.empty()) return NoZoneData(name, "no zone is listed");
    for (const date::time_zone& zone : data.zones) {
      if (zone.name() != name) continue;
      static_cast<void>(zone.get_info(At(0)));  // reads the zone's file now, not in a later At
      return &zone;
    }
  } catch (const std::exception& e) {  // the library's way to report; no exception leaves this file
    return NoZoneData(name, e.what());
  }
  return Error(
      ErrorCode::kSyntax,
      std::string("there is no time zone ")
          .append(name)
          .append(" in this machine's zone data; a name such as Europe/London is expected, "
                  "case included"));
}

}  // namespace

Result<TimeZone> TimeZone::Find(std::string_view name) {
  if (name.empty()) {
    return Error(ErrorCode::kSyntax,
                 "the time zone's name is empty; a name such as Europe/London is expected, or UTC");
  }
  if (name.size() > limits::kZoneNameBytes) {
    return Error(ErrorCode::kTooBig, "a time zone's name must have at most " +
                                         std::to_string(limits::kZoneNameBytes) + " bytes, not " +
                                         std::to_string(name.size()));
  }
  if (name == "UTC") return TimeZone();
  const Result<const date::time_zone*> zone = Locate(Printable(name));
  if (!zone.ok()) return zone.error();
  return TimeZone(*zone);
}

TimeZone::Span TimeZone::At(int64_t unix_s) const {
  if (zone_ == nullptr) return {-kFarSeconds, kFarSeconds, 0};
  const date::sys_info info = zone_->get_info(vestq::At(unix_s));
  return {std::max(-kFarSeconds, int64_t{info.begin.time_since_epoch().count()}),
          std::min(kFarSeconds, int64_t{info.end.time_since_epoch().count()}),
          int64_t{info.offset.count()}};
}

}  // namespace vestq
