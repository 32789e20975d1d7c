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
  }
  return true;
}

}  // namespace vestq
