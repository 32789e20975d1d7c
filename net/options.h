// Options of a command: words in any order after its fixed arguments, some with a value. A word
// that is unknown, repeated, in contradiction to another or without its value is kSyntax and the
// error names it; an option of the wire contract that this version does not carry out is refused,
// never ignored (WORD-2). Pure; allocates only for an error.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "engine/base/result.h"

namespace vestq {

struct OptionSpec {
  std::string_view name;
  bool value = true;  // takes one
  bool supported = true;
  uint32_t excludes = 0;  // bits of the specs that may not stand beside it
  // Not 0: its value is a number n, 1 .. list_max, and n times so many words follow, as in `example`.
  uint32_t list_words = 0;
  uint64_t list_max = 0;
  std::string_view example = {};
};

class OptionReader {
 public:
  // `args` are those after the fixed ones. REQUIRES: at most 32 specs; all outlive the reader.
  OptionReader(std::string_view command, std::span<const OptionSpec> specs,
               std::span<const std::string_view> args)
      : command_(command), specs_(specs), args_(args) {}

  // The next option; false at the end and after an error.
  bool Next();
  size_t option() const { return option_; }  // its place among the specs
  std::string_view value() const { return value_; }
  // The words of a list.
  std::span<const std::string_view> values() const { return values_; }
  bool seen(size_t option) const { return (seen_ >> option & 1) != 0; }
  const Error& error() const { return error_; }
  // The same; of an unknown option with the names of those that there are.
  Error ErrorWithNames() const;

  // Which spec `word` names; -1: none.
  static int Find(std::span<const OptionSpec> specs, std::string_view word);

 private:
  bool Fail(std::string text);
  bool TakeList(const OptionSpec& spec);

  const std::string_view command_;
  const std::span<const OptionSpec> specs_;
  const std::span<const std::string_view> args_;
  size_t at_ = 0;
  size_t option_ = 0;
  uint32_t seen_ = 0;
  bool unknown_ = false;
  std::string_view value_;
  std::span<const std::string_view> values_;
  Error error_;
};

}  // namespace vestq
