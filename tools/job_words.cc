#include "tools/job_words.h"

#include <algorithm>
#include <cctype>
#include <string_view>

#include "engine/base/limits.h"
#include "lease/duration_text.h"
#include "tools/units.h"

namespace vestq {
namespace {

enum class Kind : uint8_t { kText, kSpan, kLease };
struct Word {
  const char* word;
  bool schedule;  // a schedule's jobs have it too
  const char* help;
  Kind kind = Kind::kText;
};
constexpr Word kWords[] = {
    {"SPACE", true, "Tenant or group inside the queue; spaces share it fairly"},
    {"PRIORITY", true, "0 (most urgent) to 4294967295; 1024 unless given"},
    {"DELAY", false, "May run after this long: 500ms, 30s, 10m, 2h, 7d", Kind::kSpan},
    {"AT", false, "May run at this time: Unix milliseconds or RFC 3339"},
    {"ATTEMPTS", true,
     "Deliveries before it goes to the dead letters; 0 is no limit; 25 unless given"},
    {"BACKOFF", true,
     "Pause after a failure: exp:5s:12h (unless given), fixed:30s, list:1s,10s,1m"},
    {"LEASE", true, "How long a worker may be silent; 30s unless given", Kind::kLease},
    {"UNIQUE", true, "Add it only if no unfinished job of the queue and space has this key"},
    {"FOR", true, "With --unique: the key stays taken until this long after the enqueue",
     Kind::kSpan},
    {"EXPIRE", true, "Gone if no worker has taken it within this long of when it may run",
     Kind::kSpan},
    {"KEEP", true, "Its result stays readable this long after it is done", Kind::kSpan},
    {"TYPE", true, "The application's own name for what it is"},
    {"WAIT", false,
     "Where the queue is full (max-jobs, max-bytes), wait for room this long: 30s, 5m",
     Kind::kSpan},
};

}  // namespace

void JobWords::AddTo(Command command, Of of) {
  const bool schedule = of == Of::kSchedule;
  values_.reserve(std::size(kWords));  // the command line points into it
  CommandOption delay;
  for (const Word& word : kWords) {
    if (schedule && !word.schedule) continue;
    std::string& value = values_.emplace_back(word.word, "").second;
    std::string flag = std::string("--") + word.word;
    for (char& c : flag) c = static_cast<char>(std::tolower(c));
    const CommandOption option = command.Value(flag, &value, word.help);
    if (word.kind == Kind::kSpan) option.Span(Duration(0), limits::kDelayMax);
    if (word.kind == Kind::kLease) option.Span(limits::kLeaseMin, limits::kLeaseMax);
    if (word.word == std::string_view("SPACE")) option.MayBeEmpty();
    if (word.word == std::string_view("FOR")) option.Needs("--unique");
    if (word.word == std::string_view("DELAY")) delay = option;
    if (word.word == std::string_view("AT")) option.Excludes(delay);
  }
  command.Value("--header", &headers_, "NAME=VALUE for the application; may be repeated")
      .OneValue()
      .MayBeEmpty();
  if (schedule) return;
  command
      .Flag("--replace", &replace_,
            "With --unique: a waiting holder takes this payload, time and priority")
      .Needs("--unique");
  command.Value("--after", &after_, "Wait until this job is complete; may be repeated, or a,b,c")
      .OneValue()
      .Commas();
}

Error JobWords::Check() {
  for (const std::string& header : headers_) {
    const size_t equals = header.find('=');
    if (equals == std::string::npos || equals == 0)
      return Error(ErrorCode::kSyntax, "--header \"" + header + "\": NAME=VALUE is expected");
  }
  for (const auto& [word, value] : values_) {
    if (word == "AT") VESTQ_RETURN_IF_ERROR(CheckMoment("--at", value));
  }
  header_count_ = std::to_string(headers_.size());
  after_count_ = std::to_string(after_.size());
  return Error::Ok();
}

Duration JobWords::wait() const {
  for (const auto& [word, value] : values_) {
    const Result<Duration> wait = ParseDuration(value);
    if (word == "WAIT" && wait.ok()) return *wait;
  }
  return Duration(0);
}

void JobWords::Append(std::vector<std::string_view>* words) const {
  for (const auto& [word, value] : values_) {
    if (!value.empty()) words->insert(words->end(), {word, value});
  }
  if (replace_) words->push_back("REPLACE");
  if (!after_.empty()) {
    words->insert(words->end(), {"AFTER", after_count_});
    words->insert(words->end(), after_.begin(), after_.end());
  }
  if (headers_.empty()) return;
  words->insert(words->end(), {"HEADER", header_count_});
  for (const std::string_view header : headers_) {
    const size_t equals = header.find('=');
    words->insert(words->end(), {header.substr(0, equals), header.substr(equals + 1)});
  }
}

}  // namespace vestq
