#include "net/options.h"

#include <string>
#include <utility>

#include "net/words.h"

namespace vestq {

bool OptionReader::Fail(std::string text) {
  error_ = Error(ErrorCode::kSyntax, std::move(text));
  return false;
}

int OptionReader::Find(std::span<const OptionSpec> specs, std::string_view word) {
  for (size_t i = 0; i < specs.size(); ++i) {
    if (words::EqualsIgnoreCase(specs[i].name, word)) return static_cast<int>(i);
  }
  return -1;
}

bool OptionReader::Next() {
  if (at_ == args_.size() || !error_.ok()) return false;
  const std::string_view word = args_[at_];
  const int found = Find(specs_, word);
  if (found < 0) {
    unknown_ = true;
    return Fail("unknown option " + words::Quote(word) + " for " + std::string(command_));
  }
  option_ = static_cast<size_t>(found);
  const OptionSpec& spec = specs_[option_];
  const std::string name(spec.name);
  if (!spec.supported) return Fail("option " + name + " is not supported by this version");
  if (seen(option_)) return Fail("option " + name + " stands twice");
  for (size_t i = 0; i < specs_.size(); ++i) {
    if (seen(i) && (spec.excludes >> i & 1) != 0) {
      return Fail("options " + std::string(specs_[i].name) + " and " + name +
                  " contradict each other");
    }
  }
  seen_ |= uint32_t{1} << option_;
  ++at_;
  if (spec.value) {
    if (at_ == args_.size()) return Fail("option " + name + " needs a value");
    value_ = args_[at_++];
    if (spec.list_words != 0) return TakeList(spec);
  }
  return true;
}

Error OptionReader::ErrorWithNames() const {
  if (!unknown_) return error_;
  std::string text = error_.text();
  std::string_view between = "; there are ";
  for (const OptionSpec& spec : specs_) {
    if (!spec.supported) continue;
    text.append(between).append(spec.name);
    between = ", ";
  }
  return Error(error_.code(), std::move(text));
}

bool OptionReader::TakeList(const OptionSpec& spec) {
  const std::string hint = ": how many there are comes first, as in " + std::string(spec.example);
  const Result<uint64_t> count = words::ParseNumber(spec.name, value_, 1, spec.list_max);
  if (!count.ok()) {
    error_ = Error(count.error().code(), count.error().text() + hint);
    return false;
  }
  const size_t wanted = static_cast<size_t>(*count) * spec.list_words;
  if (args_.size() - at_ < wanted) {
    return Fail("option " + std::string(spec.name) + " " + std::string(value_) + " needs " +
                std::to_string(wanted) + " words, there are " + std::to_string(args_.size() - at_) +
                hint);
  }
  values_ = args_.subspan(at_, wanted);
  at_ += wanted;
  return true;
}

}  // namespace vestq
