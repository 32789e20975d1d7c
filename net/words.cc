#include "net/words.h"

#include <array>
#include <limits>

#include "engine/base/limits.h"
#include "lease/backoff.h"

namespace vestq::words {
namespace {

Error Syntax(std::string_view name, std::string_view text, std::string_view expected) {
  return Error(ErrorCode::kSyntax,
               std::string(name).append(" ").append(Quote(text)).append(": ").append(expected));
}

Error Range(std::string_view name, std::string_view text, const std::string& min,
            const std::string& max) {
  return Error(ErrorCode::kRange, std::string(name)
                                      .append(" ")
                                      .append(Quote(text))
                                      .append(" is outside ")
                                      .append(min)
                                      .append(" to ")
                                      .append(max));
}

struct Digits {
  size_t count = 0;
  uint64_t value = 0;
  bool overflow = false;
};

// The decimal digits at the front of `text`.
Digits ReadDigits(std::string_view text) {
  Digits d;
  for (char c : text) {
    if (c < '0' || c > '9') break;
    const uint64_t digit = static_cast<uint64_t>(c - '0');
    if (d.value > (std::numeric_limits<uint64_t>::max() - digit) / 10) d.overflow = true;
    if (!d.overflow) d.value = d.value * 10 + digit;
    ++d.count;
  }
  return d;
}

bool LeadingZero(const Digits& d, std::string_view text) { return d.count > 1 && text[0] == '0'; }

struct Unit {
  std::string_view name;
  uint64_t factor;
};
constexpr std::array<Unit, 5> kSpanUnits = {
    {{"ms", 1}, {"s", 1000}, {"m", 60'000}, {"h", 3'600'000}, {"d", 86'400'000}}};
constexpr std::array<Unit, 4> kSizeUnits = {
    {{"B", 1}, {"KiB", 1024}, {"MiB", uint64_t{1} << 20}, {"GiB", uint64_t{1} << 30}}};

template <size_t N>
uint64_t FactorOf(const std::array<Unit, N>& units, std::string_view name) {
  for (const Unit& unit : units) {
    if (unit.name == name) return unit.factor;
  }
  return 0;
}

// `width` digits at `*pos`, or -1.
int64_t Field(std::string_view text, size_t* pos, size_t width) {
  if (*pos + width > text.size()) return -1;
  int64_t value = 0;
  for (size_t i = 0; i < width; ++i) {
    const char c = text[*pos + i];
    if (c < '0' || c > '9') return -1;
    value = value * 10 + (c - '0');
  }
  *pos += width;
  return value;
}

bool Literal(std::string_view text, size_t* pos, std::string_view any_of) {
  if (*pos >= text.size() || any_of.find(text[*pos]) == std::string_view::npos) return false;
  ++*pos;
  return true;
}

// Days since 1970-01-01 (Hinnant, "chrono-compatible low-level date algorithms").
int64_t DaysFromCivil(int64_t y, int64_t m, int64_t d) {
  y -= m <= 2;
  const int64_t era = (y >= 0 ? y : y - 399) / 400;
  const int64_t yoe = y - era * 400;
  const int64_t doy = (153 * (m + (m > 2 ? -3 : 9)) + 2) / 5 + d - 1;
  return era * 146'097 + yoe * 365 + yoe / 4 - yoe / 100 + doy - 719'468;
}

int64_t DaysInMonth(int64_t y, int64_t m) {
  constexpr std::array<int64_t, 12> kDays = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  const bool leap = y % 4 == 0 && (y % 100 != 0 || y % 400 == 0);
  return m == 2 && leap ? 29 : kDays[static_cast<size_t>(m - 1)];
}

// Milliseconds since 1970 of an RFC 3339 time (a leap second counts as the second after); false
// when it is none.
bool ParseRfc3339(std::string_view text, int64_t* ms) {
  size_t p = 0;
  const int64_t year = Field(text, &p, 4);
  if (year < 0 || !Literal(text, &p, "-")) return false;
  const int64_t month = Field(text, &p, 2);
  if (month < 1 || month > 12 || !Literal(text, &p, "-")) return false;
  const int64_t day = Field(text, &p, 2);
  if (day < 1 || day > DaysInMonth(year, month) || !Literal(text, &p, "Tt ")) return false;
  const int64_t hour = Field(text, &p, 2);
  if (hour < 0 || hour > 23 || !Literal(text, &p, ":")) return false;
  const int64_t minute = Field(text, &p, 2);
  if (minute < 0 || minute > 59 || !Literal(text, &p, ":")) return false;
  const int64_t second = Field(text, &p, 2);
  if (second < 0 || second > 60) return false;
  int64_t millis = 0;
  if (Literal(text, &p, ".")) {
    int64_t scale = 100;
    const size_t begin = p;
    while (p < text.size() && text[p] >= '0' && text[p] <= '9') {
      millis += (text[p] - '0') * scale;
      scale /= 10;
      ++p;
    }
    if (p == begin) return false;
  }
  int64_t offset_minutes = 0;
  if (!Literal(text, &p, "Zz")) {
    if (p >= text.size()) return false;
    const bool west = text[p] == '-';
    if (!Literal(text, &p, "+-")) return false;
    const int64_t h = Field(text, &p, 2);
    if (h < 0 || h > 23 || !Literal(text, &p, ":")) return false;
    const int64_t m = Field(text, &p, 2);
    if (m < 0 || m > 59) return false;
    offset_minutes = (west ? -1 : 1) * (h * 60 + m);
  }
  if (p != text.size()) return false;
  const int64_t minutes =
      (DaysFromCivil(year, month, day) * 24 + hour) * 60 + minute - offset_minutes;
  *ms = (minutes * 60 + second) * 1000 + millis;
  return true;
}

}  // namespace

Result<uint64_t> ParseNumber(std::string_view name, std::string_view text, uint64_t min,
                             uint64_t max) {
  const bool negative = !text.empty() && text[0] == '-';
  const std::string_view digits_text = text.substr(negative ? 1 : 0);
  const Digits d = ReadDigits(digits_text);
  if (d.count == 0 || d.count != digits_text.size() || LeadingZero(d, digits_text)) {
    return Syntax(name, text, "a whole number is expected");
  }
  if (negative || d.overflow || d.value < min || d.value > max) {
    return Range(name, text, std::to_string(min), std::to_string(max));
  }
  return d.value;
}

Result<Duration> ParseDuration(std::string_view name, std::string_view text, Duration min,
                               Duration max) {
  const bool negative = !text.empty() && text[0] == '-';
  const std::string_view rest = text.substr(negative ? 1 : 0);
  const Digits d = ReadDigits(rest);
  if (d.count == 0 || LeadingZero(d, rest)) {
    return Syntax(
        name, text,
        "a duration is expected: one whole number and one unit, such as 250ms, 30s, 90m, 2h, 7d; "
        "or 0");
  }
  uint64_t factor = 1;
  if (d.count == rest.size()) {
    if (d.value != 0 || d.overflow) {
      const std::string number(text.size() <= 24 ? text : std::string_view("30"));
      return Syntax(name, text,
                    "a duration needs its unit: write " + number + "s or " + number + "ms");
    }
  } else {
    factor = FactorOf(kSpanUnits, rest.substr(d.count));
    if (factor == 0) {
      return Syntax(
          name, text,
          "a duration is expected: one whole number and one unit, such as 250ms, 30s, 90m, 2h, 7d; "
          "or 0");
    }
  }
  constexpr uint64_t kMsMax = static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
  if (negative || d.overflow || d.value > kMsMax / factor) {
    return Range(name, text, FormatDuration(min), FormatDuration(max));
  }
  const Duration duration(static_cast<int64_t>(d.value * factor));
  if (duration < min || duration > max) {
    return Range(name, text, FormatDuration(min), FormatDuration(max));
  }
  return duration;
}

Result<WallTime> ParseTime(std::string_view name, std::string_view text) {
  constexpr std::string_view kExpected =
      "a time is expected: Unix milliseconds or RFC 3339, such as 2030-01-31T08:00:00Z";
  const std::string max = std::to_string(limits::kKeyTimeMsMax);
  const bool negative = !text.empty() && text[0] == '-';
  const std::string_view rest = text.substr(negative ? 1 : 0);
  const Digits d = ReadDigits(rest);
  if (d.count > 0 && d.count == rest.size()) {
    if (LeadingZero(d, rest)) return Syntax(name, text, kExpected);
    if (negative || d.overflow || d.value > static_cast<uint64_t>(limits::kKeyTimeMsMax)) {
      return Range(name, text, "0", max);
    }
    return WallTime(static_cast<int64_t>(d.value));
  }
  int64_t ms = 0;
  if (!ParseRfc3339(text, &ms)) return Syntax(name, text, kExpected);
  if (ms < 0 || ms > limits::kKeyTimeMsMax) return Range(name, text, "0", max);
  return WallTime(ms);
}

Result<uint64_t> ParseSize(std::string_view name, std::string_view text, uint64_t min,
                           uint64_t max) {
  const bool negative = !text.empty() && text[0] == '-';
  const std::string_view rest = text.substr(negative ? 1 : 0);
  const Digits d = ReadDigits(rest);
  const uint64_t factor = d.count == rest.size() ? 1 : FactorOf(kSizeUnits, rest.substr(d.count));
  if (d.count == 0 || factor == 0 || LeadingZero(d, rest)) {
    return Syntax(name, text, "a size is expected, such as 4096, 64KiB, 16MiB or 1GiB");
  }
  if (negative || d.overflow || d.value > std::numeric_limits<uint64_t>::max() / factor ||
      d.value * factor < min || d.value * factor > max) {
    return Range(name, text, std::to_string(min), std::to_string(max));
  }
  return d.value * factor;
}

Result<std::string> ParseBackoff(std::string_view name, std::string_view text) {
  Result<std::string> policy = vestq::ParseBackoff(text);
  if (policy.ok()) return policy;
  return Error(
      policy.error().code(),
      std::string(name).append(" ").append(Quote(text)).append(": ").append(policy.error().text()));
}

Result<JobState> ParseState(std::string_view text) {
  for (const JobState known : {JobState::kReady, JobState::kScheduled, JobState::kWaiting,
                               JobState::kLeased, JobState::kDead, JobState::kDone}) {
    if (EqualsIgnoreCase(text, JobStateName(known))) return known;
  }
  return Error(
      ErrorCode::kSyntax,
      "STATE " + Quote(text) + ": ready, scheduled, waiting, leased, dead or done is expected");
}

std::string FormatDuration(Duration d) {
  const int64_t ms = d.ms();
  if (ms == 0) return "0";
  for (size_t i = kSpanUnits.size(); i-- > 0;) {
    const int64_t factor = static_cast<int64_t>(kSpanUnits[i].factor);
    if (ms % factor == 0) return std::to_string(ms / factor).append(kSpanUnits[i].name);
  }
  return std::to_string(ms) + "ms";
}

bool EqualsIgnoreCase(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    const char x = a[i] >= 'a' && a[i] <= 'z' ? static_cast<char>(a[i] - 32) : a[i];
    const char y = b[i] >= 'a' && b[i] <= 'z' ? static_cast<char>(b[i] - 32) : b[i];
    if (x != y) return false;
  }
  return true;
}

bool MatchGlob(std::string_view pattern, std::string_view text) {
  size_t p = 0, t = 0;
  size_t star = std::string_view::npos, star_text = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      star_text = t;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == text[t])) {
      ++p;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++star_text;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

}  // namespace vestq::words
