// The command line of a program with sub-commands: what it may hold is declared, then it is parsed and the
// values stand where the declarations said. It hides the parser, whose header costs seven seconds of CPU in
// each file that includes it; command_line.cc is the only one.
//
// Command and CommandOption are handles, copied at will, good for as long as the CommandLine. One thread; pure
// but for what Parse prints.
//
// What the parser is told for every program: an option whose value is empty is an error, except where empty
// says something (MayBeEmpty): `purge q --state "$STATE"` with STATE unset must not purge everything. A word
// that is no sub-command where one must stand is answered with those there are.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/time.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace vestq {

class CommandOption {
 public:
  CommandOption() = default;
  explicit CommandOption(CLI::Option* option) : option_(option) {}

  // Each returns the option itself.
  CommandOption Required() const;
  // The value that is there before parsing stands in the help.
  CommandOption ShowDefault() const;
  // Of this variable of the environment when the option is not given.
  CommandOption FromEnvironment(const std::string& variable) const;
  // Takes one value each time it is given, so that an argument may stand behind it.
  CommandOption OneValue() const;
  // Values may also stand in one word, with commas between.
  CommandOption Commas() const;
  CommandOption MayBeEmpty() const;
  CommandOption OneOf(const std::vector<std::string>& words) const;
  // A whole number of this range, both ends in it; the error says so.
  CommandOption Between(uint64_t least, uint64_t most) const;
  // A duration, `30s`, of this range, both ends in it; the error says so. An empty value is left to MayBeEmpty.
  CommandOption Span(Duration least, Duration most) const;
  // Not together with the other.
  CommandOption Excludes(const CommandOption& other) const;
  // Only together with the option of this name, which was declared before.
  CommandOption Needs(const std::string& name) const;

  // Whether the command line had it. REQUIRES: it was parsed.
  bool given() const;

 private:
  CLI::Option* option_ = nullptr;
};

class Command {
 public:
  explicit Command(CLI::App* app) : app_(app) {}

  // A sub-command of this one; one of them must then be given. `help` stands behind the options in --help:
  // examples and exit statuses. Without any it is this command's own.
  Command Add(const std::string& name, const std::string& about,
              const std::string& help = "") const;
  // Options of which exactly one must be given.
  Command AddOneOf(const std::string& title) const;

  // An option ("--name", takes a value) or an argument ("NAME"). The value is written when the command line is
  // parsed: it lives until then.
  CommandOption Value(const std::string& name, std::string* value, const std::string& about) const;
  CommandOption Value(const std::string& name, std::vector<std::string>* values,
                      const std::string& about) const;
  CommandOption Value(const std::string& name, uint32_t* value, const std::string& about) const;
  CommandOption Value(const std::string& name, std::vector<uint32_t>* values,
                      const std::string& about) const;
  CommandOption Value(const std::string& name, uint64_t* value, const std::string& about) const;
  CommandOption Value(const std::string& name, int64_t* value, const std::string& about) const;
  // "--name" or "--name,-n": there or not.
  CommandOption Flag(const std::string& names, bool* value, const std::string& about) const;

  // Called when the whole command line is right and this command was asked for.
  void WhenGiven(std::function<void()> act) const;

 private:
  CLI::App* app_;
};

class CommandLine {
 public:
  CommandLine(const std::string& name, const std::string& about, const std::string& help,
              const std::string& version);
  ~CommandLine();
  CommandLine(const CommandLine&) = delete;
  CommandLine& operator=(const CommandLine&) = delete;

  Command root();
  // Nothing when it is right: values are written and WhenGiven was called. Else the exit status: kExitOk after
  // --help and --version, which print on stdout, or kExitUsage after one line on stderr.
  std::optional<int> Parse(int argc, const char* const* argv);

 private:
  const std::unique_ptr<CLI::App> app_;
};

}  // namespace vestq
