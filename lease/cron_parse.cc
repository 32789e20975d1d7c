// Reading a cron expression: text to the bits of Cron (lease/cron.h has the grammar).
#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "engine/base/limits.h"
#include "lease/cron.h"

namespace vestq {
namespace {

constexpr std::array<std::string_view, 12> kMonths = {"JAN", "FEB", "MAR", "APR", "MAY", "JUN",
                                                      "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"};
constexpr std::array<std::string_view, 7> kWeekdays = {"SUN", "MON", "TUE", "WED",
                                                       "THU", "FRI", "SAT"};
constexpr std::array<std::pair<std::string_view, std::string_view>, 7> kMacros = {
    {{"@YEARLY", "0 0 1 1 *"},
     {"@ANNUALLY", "0 0 1 1 *"},
     {"@MONTHLY", "0 0 1 * *"},
     {"@WEEKLY", "0 0 * * 0"},
     {"@DAILY", "0 0 * * *"},
     {"@MIDNIGHT", "0 0 * * *"},
     {"@HOURLY", "0 * * * *"}}};

// One of the five fields: its name in errors, and what it admits.
struct Field {
  std::string_view name;
  unsigned least;
  unsigned most;
};
constexpr std::array<Field, 5> kFields = {{{"minute", 0, 59},
                                           {"hour", 0, 23},
                                           {"day-of-month", 1, 31},
                                           {"month", 1, 12},
                                           {"day-of-week", 0, 7}}};
enum : size_t { kMinuteField, kHourField, kDayField, kMonthField, kWeekdayField };

std::string Upper(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  }
  return out;
}

// A piece of the user's text for an error: short and printable.
std::string Shown(std::string_view text) {
  constexpr size_t kShown = 40;
  std::string out(text.substr(0, kShown));
  for (char& c : out) {
    if (c < 0x21 || c > 0x7e) c = '?';
  }
  if (text.size() > kShown) out.append("...");
  return out;
}

Error Wrong(const Field& field, std::string_view item, std::string_view what,
            ErrorCode code = ErrorCode::kSyntax) {
  return Error(code, std::string("cron ")
                         .append(field.name)
                         .append(": ")
                         .append(Shown(item))
                         .append(" ")
                         .append(what));
}

Error OutOfRange(const Field& field, std::string_view item) {
  return Wrong(field, item,
               "is not within " + std::to_string(field.least) + " to " + std::to_string(field.most),
               ErrorCode::kRange);
}

// Reads a number at the front of *text; false without one. Many digits read as a number above every field.
bool TakeNumber(std::string_view* text, unsigned* value) {
  size_t digits = 0;
  *value = 0;
  for (; digits < text->size() && (*text)[digits] >= '0' && (*text)[digits] <= '9'; ++digits) {
    if (*value < 1000) *value = *value * 10 + static_cast<unsigned>((*text)[digits] - '0');
  }
  text->remove_prefix(digits);
  return digits > 0;
}

// Where `name` stands in `names`; a number above every field when it does not.
template <size_t kSize>
unsigned PlaceOf(std::string_view name, const std::array<std::string_view, kSize>& names) {
  for (unsigned i = 0; i < kSize; ++i) {
    if (names[i] == name) return i;
  }
  return 1000;
}

}  // namespace

class CronParser {
 public:
  // Fills `cron` from five fields.
  static Error Fields(std::string_view text, Cron* cron);
  static void SetZone(TimeZone zone, Cron* cron) { cron->zone_ = zone; }

 private:
  static Error OneField(size_t index, std::string_view text, Cron* cron);
  static Error Item(size_t index, std::string_view item, uint64_t* bits);
  static Error Value(size_t index, std::string_view item, std::string_view* rest, unsigned* value);
  static Error NotSupported(size_t index, std::string_view item);
  static Error Possible(const Cron& cron);
};

// What other dialects have and this one has not, each said by name; anything else is simply not a value.
Error CronParser::NotSupported(size_t index, std::string_view item) {
  const Field& field = kFields[index];
  if (item.find('#') != std::string_view::npos) {
    return Wrong(field, item, "is not supported: there is no # (the n-th weekday of a month)");
  }
  if (item.find('?') != std::string_view::npos) {
    return Wrong(field, item, "is not supported: ? stands alone, and only in the two day fields");
  }
  if (item == "L" || item.back() == 'L' || item.substr(0, 2) == "L-") {
    return Wrong(field, item,
                 "is not supported: L stands in day-of-month, by itself or in a list, and is the "
                 "month's last day");
  }
  if (item.back() == 'W' && (index == kDayField || index == kWeekdayField)) {
    return Wrong(field, item, "is not supported: there is no W (the nearest working day)");
  }
  std::string_view what = "is not a value, a range a-b, * or one of these with /step";
  if (index == kMonthField) what = "is not a month 1 to 12 or JAN to DEC, a range, * or a step";
  if (index == kWeekdayField) what = "is not a weekday 0 to 7 or SUN to SAT, a range, * or a step";
  return Wrong(field, item, what);
}

// A number or a name at the front of *rest.
Error CronParser::Value(size_t index, std::string_view item, std::string_view* rest,
                        unsigned* value) {
  const Field& field = kFields[index];
  if (TakeNumber(rest, value)) {
    return *value < field.least || *value > field.most ? OutOfRange(field, item) : Error::Ok();
  }
  const std::string_view name = rest->substr(0, 3);
  if (index == kMonthField) *value = 1 + PlaceOf(name, kMonths);
  if (index == kWeekdayField) *value = PlaceOf(name, kWeekdays);
  const bool named = index == kMonthField || index == kWeekdayField;
  if (!named || *value > field.most) return NotSupported(index, item);
  rest->remove_prefix(3);
  return Error::Ok();
}

// One item of a list: adds its values to *bits.
Error CronParser::Item(size_t index, std::string_view item, uint64_t* bits) {
  const Field& field = kFields[index];
  if (item.empty()) {
    return Error(ErrorCode::kSyntax,
                 std::string("cron ").append(field.name).append(": the list has an empty item"));
  }
  std::string_view rest = item;
  unsigned from = field.least;
  unsigned to = index == kWeekdayField ? 6 : field.most;
  if (rest.front() == '*') {
    rest.remove_prefix(1);
  } else {
    VESTQ_RETURN_IF_ERROR(Value(index, item, &rest, &from));
    if (rest.substr(0, 1) != "/") to = from;  // a/n runs to the field's end
    if (rest.substr(0, 1) == "-") {
      rest.remove_prefix(1);
      VESTQ_RETURN_IF_ERROR(Value(index, item, &rest, &to));
      if (index == kWeekdayField && to == 0 && from > 0) to = 7;  // FRI-SUN
      if (to < from) return Wrong(field, item, "runs backwards; write two ranges");
    }
  }
  unsigned step = 1;
  if (rest.substr(0, 1) == "/") {
    rest.remove_prefix(1);
    if (!TakeNumber(&rest, &step) || !rest.empty()) {
      return Wrong(field, item, "has no number as its step");
    }
    if (step == 0 || step > field.most) {
      return Wrong(field, item, "has a step outside 1 to " + std::to_string(field.most),
                   ErrorCode::kRange);
    }
  }
  if (!rest.empty()) return NotSupported(index, item);
  for (unsigned value = from; value <= to; value += step) {
    *bits |= uint64_t{1} << value;
  }
  return Error::Ok();
}

Error CronParser::OneField(size_t index, std::string_view text, Cron* cron) {
  const std::string upper = Upper(text);
  const std::string_view whole = upper;
  const bool is_day = index == kDayField || index == kWeekdayField;
  const bool star = whole.front() == '*' || (is_day && whole == "?");
  uint64_t bits = 0;
  for (size_t at = 0; at <= whole.size();) {
    const size_t comma = std::min(whole.find(',', at), whole.size());
    const std::string_view item = whole.substr(at, comma - at);
    at = comma + 1;
    if (index == kDayField && item == "L") {
      cron->last_day_ = true;
    } else {
      VESTQ_RETURN_IF_ERROR(Item(index, is_day && whole == "?" ? "*" : item, &bits));
    }
  }
  switch (index) {
    case kMinuteField:
      cron->minutes_ = bits;
      cron->minute_star_ = star;
      break;
    case kHourField: cron->hours_ = static_cast<uint32_t>(bits); break;
    case kDayField:
      cron->days_ = static_cast<uint32_t>(bits);
      cron->days_star_ = star;
      break;
    case kMonthField: cron->months_ = static_cast<uint16_t>(bits); break;
    case kWeekdayField:
      if ((bits >> 7 & 1) != 0) bits |= 1;  // 7 is Sunday too
      cron->weekdays_ = static_cast<uint8_t>(bits & 0x7f);
      cron->weekdays_star_ = star;
      break;
  }
  return Error::Ok();
}

// An expression matches some day in 400 years if one of its months has one of its days: the calendar repeats after 400
// years, in which each day of the year, 29 February too, falls on each weekday. With EITHER its weekdays suffice.
Error CronParser::Possible(const Cron& cron) {
  if (cron.last_day_ || (!cron.days_star_ && !cron.weekdays_star_)) return Error::Ok();
  constexpr std::array<unsigned, 13> kLongest = {0, 31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  for (unsigned month = 1; month <= 12; ++month) {
    if ((cron.months_ >> month & 1) == 0) continue;
    if ((cron.days_ & ((uint64_t{2} << kLongest[month]) - 2)) != 0) return Error::Ok();
  }
  return Error(ErrorCode::kRange,
               "cron day-of-month: no month of the expression has such a day; it would never run");
}

Error CronParser::Fields(std::string_view text, Cron* cron) {
  constexpr std::string_view kBlank = " \t";
  std::array<std::string_view, kFields.size()> fields;
  size_t count = 0;
  for (size_t at = text.find_first_not_of(kBlank); at != std::string_view::npos;) {
    const size_t end = std::min(text.find_first_of(kBlank, at), text.size());
    if (count < fields.size()) fields[count] = text.substr(at, end - at);
    ++count;
    at = text.find_first_not_of(kBlank, end);
  }
  if (count != fields.size()) {
    return Error(ErrorCode::kSyntax,
                 "cron must be five fields, minute hour day-of-month month day-of-week, or a macro "
                 "such as @daily, not " +
                     std::to_string(count) + (count == 1 ? " field" : " fields") +
                     (count > fields.size() ? "; there is no field for seconds or years" : ""));
  }
  for (size_t i = 0; i < fields.size(); ++i) {
    VESTQ_RETURN_IF_ERROR(OneField(i, fields[i], cron));
  }
  return Possible(*cron);
}

Result<Cron> Cron::Parse(std::string_view expression, std::string_view zone) {
  if (expression.size() > limits::kCronBytes) {
    return Error(ErrorCode::kTooBig, "a cron expression must have at most " +
                                         std::to_string(limits::kCronBytes) + " bytes, not " +
                                         std::to_string(expression.size()));
  }
  std::string_view fields = expression;
  if (!expression.empty() && expression.front() == '@') {
    const std::string name = Upper(expression);
    fields = {};
    for (const auto& [macro, meaning] : kMacros) {
      if (macro == name) fields = meaning;
    }
    if (fields.empty()) {
      return Error(ErrorCode::kSyntax,
                   "cron " + Shown(expression) +
                       " is not a macro: @yearly, @annually, @monthly, @weekly, @daily, @midnight "
                       "and @hourly are");
    }
  }
  Cron cron;
  VESTQ_RETURN_IF_ERROR(CronParser::Fields(fields, &cron));
  const Result<TimeZone> found = TimeZone::Find(zone);
  if (!found.ok()) return found.error();
  CronParser::SetZone(*found, &cron);
  return cron;
}

}  // namespace vestq
