// Time points and spans. `MonoTime` is engine time: milliseconds that only go forward, also across restarts
// (engine/engine_clock.h). `WallTime` is Unix milliseconds and may step. They do not mix: a span between two points of
// the same kind is a `Duration`, and only the engine's clock turns one kind of point into the other.
#pragma once

#include <compare>
#include <cstdint>
#include <limits>

namespace vestq {

class Duration {
 public:
  constexpr Duration() = default;
  constexpr explicit Duration(int64_t ms) : ms_(ms) {}
  constexpr int64_t ms() const { return ms_; }
  static constexpr Duration Max() { return Duration(std::numeric_limits<int64_t>::max() / 4); }
  constexpr auto operator<=>(const Duration&) const = default;
  constexpr Duration operator+(Duration other) const { return Duration(ms_ + other.ms_); }
  constexpr Duration operator-(Duration other) const { return Duration(ms_ - other.ms_); }

 private:
  int64_t ms_ = 0;
};

constexpr Duration Milliseconds(int64_t n) { return Duration(n); }
constexpr Duration Seconds(int64_t n) { return Duration(n * 1000); }
constexpr Duration Hours(int64_t n) { return Duration(n * 3'600'000); }
constexpr Duration Days(int64_t n) { return Duration(n * 86'400'000); }

template <typename Tag>
class TimePoint {
 public:
  constexpr TimePoint() = default;
  constexpr explicit TimePoint(int64_t ms) : ms_(ms) {}
  constexpr int64_t ms() const { return ms_; }
  static constexpr TimePoint Max() { return TimePoint(std::numeric_limits<int64_t>::max() / 2); }
  constexpr auto operator<=>(const TimePoint&) const = default;
  constexpr TimePoint operator+(Duration d) const { return TimePoint(ms_ + d.ms()); }
  constexpr TimePoint operator-(Duration d) const { return TimePoint(ms_ - d.ms()); }
  constexpr Duration operator-(TimePoint other) const { return Duration(ms_ - other.ms_); }

 private:
  int64_t ms_ = 0;
};

using MonoTime = TimePoint<struct MonoTimeTag>;
using WallTime = TimePoint<struct WallTimeTag>;

}  // namespace vestq
