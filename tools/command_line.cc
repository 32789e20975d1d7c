#include "tools/command_line.h"

#include <spdlog/fmt/fmt.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <cstdio>
#include <string_view>

#include "net/words.h"
#include "tools/exit_status.h"

namespace vestq {
namespace {

constexpr char kNotEmpty[] = "not empty";

// CLI11's own check of a number names its limits as doubles, all 300 digits of them.
CLI::Validator NumberBetween(uint64_t least, uint64_t most) {
  return CLI::Validator(
      [least, most](const std::string& text) {
        uint64_t value = 0;
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
        const bool whole = error == std::errc() && end == text.data() + text.size();
        if (whole && value >= least && value <= most) return std::string();
        return "\"" + text + "\": must be " + std::to_string(least) + " to " + std::to_string(most);
      },
      std::to_string(least) + ".." + std::to_string(most));
}

CLI::Validator SpanBetween(Duration least, Duration most) {
  return CLI::Validator(
      [least, most](const std::string& text) {
        const Result<Duration> span = words::ParseDuration("", text, least, most);
        // Behind the name, which the parser puts before it, and a blank.
        return text.empty() || span.ok() ? std::string() : span.error().text().substr(1);
      },
      "");
}

CommandOption WithValue(CLI::Option* option) {
  option->check(CLI::Validator(
      [](std::string& value) {
        return value.empty() ? std::string("its value is empty") : std::string();
      },
      "", kNotEmpty));
  return CommandOption(option);
}

std::vector<CLI::App*> SubsOf(CLI::App* app) {
  return app->get_subcommands([](const CLI::App* sub) { return !sub->get_name().empty(); });
}

CLI::App* FindSub(CLI::App* app, std::string_view name) {
  for (CLI::App* const sub : SubsOf(app)) {
    if (sub->get_name() == name) return sub;
  }
  return nullptr;
}

// "vestq queue set": the sub-command that the command line had come to.
std::string NameOf(const CLI::App* app) {
  std::string name = app->get_name();
  for (auto subs = app->get_subcommands(); !subs.empty(); subs = app->get_subcommands()) {
    app = subs.back();
    name += " " + app->get_name();
  }
  return name;
}

// What is wrong with the words that should name a sub-command; empty when nothing is. The parser would only
// say that some word was not expected.
std::string CheckSubs(CLI::App* app, int argc, const char* const* argv) {
  std::string name = app->get_name();
  for (int i = 1; !SubsOf(app).empty(); ++i) {
    const std::string_view word = i < argc ? argv[i] : "";
    if (word == "--help" || word == "-h" || word == "--version") return "";
    CLI::App* const sub = FindSub(app, word);
    if (sub == nullptr) {
      std::string text = name + ": ";
      if (i == argc) {
        text += "a sub-command is missing";
      } else if (word.starts_with('-')) {
        text += fmt::format("a sub-command stands before \"{}\"", word);
      } else {
        text += fmt::format("there is no sub-command \"{}\"", word);
      }
      text += "; there are: ";
      for (const CLI::App* const other : SubsOf(app)) {
        if (other != SubsOf(app).front()) text += ", ";
        text += other->get_name();
      }
      return text + "; `" + name + " --help` tells more";
    }
    app = sub;
    name += " " + app->get_name();
  }
  return "";
}

}  // namespace

CommandOption CommandOption::Required() const { return CommandOption(option_->required()); }
CommandOption CommandOption::ShowDefault() const {
  return CommandOption(option_->capture_default_str());
}
CommandOption CommandOption::FromEnvironment(const std::string& variable) const {
  return CommandOption(option_->envname(variable));
}
CommandOption CommandOption::OneValue() const {
  return CommandOption(option_->allow_extra_args(false));
}
CommandOption CommandOption::Commas() const { return CommandOption(option_->delimiter(',')); }
CommandOption CommandOption::MayBeEmpty() const {
  option_->get_validator(kNotEmpty)->active(false);
  return *this;
}
CommandOption CommandOption::OneOf(const std::vector<std::string>& words) const {
  return CommandOption(option_->check(CLI::IsMember(words)));
}
CommandOption CommandOption::Between(uint64_t least, uint64_t most) const {
  return CommandOption(option_->check(NumberBetween(least, most)));
}
CommandOption CommandOption::Span(Duration least, Duration most) const {
  return CommandOption(option_->check(SpanBetween(least, most)));
}
CommandOption CommandOption::Excludes(const CommandOption& other) const {
  option_->excludes(other.option_);
  return *this;
}
CommandOption CommandOption::Needs(const std::string& name) const {
  option_->needs(name);
  return *this;
}
bool CommandOption::given() const { return option_ != nullptr && option_->count() > 0; }

Command Command::Add(const std::string& name, const std::string& about,
                     const std::string& help) const {
  app_->require_subcommand(1);
  CLI::App* const sub = app_->add_subcommand(name, about);
  sub->footer(help.empty() ? app_->get_footer() : help);
  return Command(sub);
}
Command Command::AddOneOf(const std::string& title) const {
  CLI::Option_group* const group = app_->add_option_group(title);
  group->require_option(1);
  return Command(group);
}
CommandOption Command::Value(const std::string& name, std::string* value,
                             const std::string& about) const {
  return WithValue(app_->add_option(name, *value, about));
}
CommandOption Command::Value(const std::string& name, std::vector<std::string>* values,
                             const std::string& about) const {
  return WithValue(app_->add_option(name, *values, about));
}
CommandOption Command::Value(const std::string& name, uint32_t* value,
                             const std::string& about) const {
  return WithValue(app_->add_option(name, *value, about));
}
CommandOption Command::Value(const std::string& name, std::vector<uint32_t>* values,
                             const std::string& about) const {
  return WithValue(app_->add_option(name, *values, about));
}
CommandOption Command::Value(const std::string& name, uint64_t* value,
                             const std::string& about) const {
  return WithValue(app_->add_option(name, *value, about));
}
CommandOption Command::Value(const std::string& name, int64_t* value,
                             const std::string& about) const {
  return WithValue(app_->add_option(name, *value, about));
}
CommandOption Command::Flag(const std::string& names, bool* value, const std::string& about) const {
  return CommandOption(app_->add_flag(names, *value, about));
}
void Command::WhenGiven(std::function<void()> act) const { app_->callback(std::move(act)); }

CommandLine::CommandLine(const std::string& name, const std::string& about, const std::string& help,
                         const std::string& version)
    : app_(std::make_unique<CLI::App>(about, name)) {
  app_->set_version_flag("--version", version);
  app_->footer(help);
  app_->failure_message([](const CLI::App* root, const CLI::Error& error) {
    const std::string where = NameOf(root);
    std::string what = error.what();
    if (error.get_exit_code() ==
        static_cast<int>(CLI::ExitCodes::ExtrasError)) {  // its own text has them backwards
      what = "not expected:";
      for (const std::string& word : root->remaining(true)) what += " " + word;
      what += "; words that belong together stand in quotes";
    }
    return fmt::format("{}: {}; `{} --help` tells more\n", where, what, where);
  });
}
CommandLine::~CommandLine() = default;

Command CommandLine::root() { return Command(app_.get()); }

std::optional<int> CommandLine::Parse(int argc, const char* const* argv) {
  if (const std::string wrong = CheckSubs(app_.get(), argc, argv); !wrong.empty()) {
    fmt::print(stderr, "{}\n", wrong);
    return kExitUsage;
  }
  try {  // CLI11 reports by exception; none leaves this function
    app_->parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app_->exit(error) == 0 ? kExitOk : kExitUsage;
  }
  return std::nullopt;
}

}  // namespace vestq
