// Lines of every field that a job has, and the words of ENQUEUE for a job of either format.
#include <xxhash.h>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <utility>

#include "engine/base/limits.h"
#include "net/words.h"
#include "tools/client.h"
#include "tools/encoding.h"
#include "tools/job_line.h"
#include "tools/json.h"
#include "tools/units.h"

namespace vestq {
namespace {

using nlohmann::json;

Error Expected(const std::string& field, const char* what) {
  return Error(ErrorCode::kSyntax, field + ": " + what + " is expected");
}

// How a field of the line becomes an option of ENQUEUE.
enum class Kind : uint8_t { kText, kNumber, kSpan };
struct Option {
  const char* field;
  const char* word;
  Kind kind;
};
constexpr Option kOptions[] = {
    {"space", "SPACE", Kind::kText},         {"priority", "PRIORITY", Kind::kNumber},
    {"attempts", "ATTEMPTS", Kind::kNumber}, {"backoff", "BACKOFF", Kind::kText},
    {"lease", "LEASE", Kind::kSpan},         {"unique", "UNIQUE", Kind::kText},
    {"unique-for", "FOR", Kind::kSpan},      {"expire", "EXPIRE", Kind::kSpan},
    {"keep", "KEEP", Kind::kSpan},           {"type", "TYPE", Kind::kText},
};
// The other fields. Some tell how the job fared, which cannot be given to a new one.
constexpr const char* kNumbers[] = {"enqueued", "vests",      "deadline", "attempt",
                                    "vests-in", "lease-left", "size",     "died"};
constexpr const char* kTexts[] = {"queue",  "payload", "state",      "id",        "headers",
                                  "worker", "reason",  "last-error", "checkpoint"};

bool Known(std::string_view field) {
  auto is = [&](const char* name) { return field == name; };
  if (std::any_of(std::begin(kNumbers), std::end(kNumbers), is)) return true;
  auto number = [&](const Option& o) { return o.kind != Kind::kText && field == o.field; };
  if (std::any_of(std::begin(kOptions), std::end(kOptions), number)) return true;
  if (field.ends_with(kBase64Suffix)) field.remove_suffix(kBase64Suffix.size());
  auto text = [&](const Option& o) { return o.kind == Kind::kText && field == o.field; };
  return std::any_of(std::begin(kTexts), std::end(kTexts), is) ||
         std::any_of(std::begin(kOptions), std::end(kOptions), text);
}

class LineReader {
 public:
  LineReader(const json& line, uint64_t number) : line_(line), number_(number) {}

  Result<IncomingJob> Read(bool redrive) {
    ReadAll(redrive);
    if (!error_.ok()) return error_;
    return std::move(job_);
  }

 private:
  void ReadAll(bool redrive) {
    std::optional<std::string> queue = Text("queue"), payload = Text("payload");
    const std::optional<std::string> state = Text("state"), id = Text("id");
    const std::optional<std::string> enqueued = Number("enqueued");
    if (error_.ok() && !queue) error_ = Expected("queue", "a name");
    if (error_.ok() && !payload) error_ = Expected("payload", "a string");
    if (!error_.ok()) return;
    if (Error wrong = CheckQueueName(*queue); !wrong.ok()) error_ = std::move(wrong);
    job_.queue = std::move(*queue);
    job_.payload = std::move(*payload);
    ReadTime(state.value_or("ready"), redrive);
    for (const Option& option : kOptions) ReadOption(option);
    ReadHeaders();
    NameUnknown();
    if (!error_.ok()) return;
    if (id) {
      job_.identity = *id + ' ' + enqueued.value_or("") + ' ' + job_.payload;
    } else {
      job_.identity = "line " + std::to_string(number_) + ' ' + line_.dump();
    }
    if (id) KeepId(*id);
  }

  // Bytes, as text or as base64; nothing when there is no such field, or after an error.
  std::optional<std::string> Text(const std::string& field) {
    const auto text = line_.find(field);
    const std::string coded_name = field + std::string(kBase64Suffix);
    const auto coded = line_.find(coded_name);
    if (text == line_.end() && coded == line_.end()) return std::nullopt;
    if (coded == line_.end()) {
      if (text->is_string()) return text->get<std::string>();
      return Fail(Expected(field, "a string"));
    }
    if (text != line_.end())
      return Fail(
          Error(ErrorCode::kSyntax, field + " and " + coded_name + " contradict each other"));
    std::optional<std::string> bytes;
    if (coded->is_string()) bytes = FromBase64(coded->get_ref<const std::string&>());
    return bytes ? bytes : Fail(Expected(coded_name, "base64"));
  }

  // A whole number that is not below 0, in decimal.
  std::optional<std::string> Number(const std::string& field) {
    const auto number = line_.find(field);
    if (number == line_.end()) return std::nullopt;
    if (!number->is_number_unsigned()) return Fail(Expected(field, "a whole number, 0 or more,"));
    return std::to_string(number->get<uint64_t>());
  }

  // Unix milliseconds; written by hand also RFC 3339.
  std::optional<std::string> Moment(const std::string& field) {
    const auto text = line_.find(field);
    if (text == line_.end() || !text->is_string()) return Number(field);
    const Result<WallTime> time = words::ParseTime(field, text->get_ref<const std::string&>());
    if (!time.ok()) return Fail(time.error());
    return std::to_string(time->ms());
  }

  std::optional<std::string> Fail(Error error) {
    if (error_.ok()) error_ = std::move(error);
    return std::nullopt;
  }

  // A leased job is another's until its deadline, here too.
  void ReadTime(const std::string& state, bool redrive) {
    const std::optional<std::string> vests = Moment("vests"), deadline = Moment("deadline");
    // A line written by hand: who gives a time and no state means a job of that time.
    const bool by_hand = !line_.contains("state") && !line_.contains("state-base64");
    if (vests && (by_hand || state == "scheduled")) {
      if (Error wrong = CheckMoment("vests", *vests); !wrong.ok()) Fail(std::move(wrong));
    }
    if (by_hand && vests) job_.options.emplace_back("AT", *vests);
    if (state == "dead" && !redrive) {
      Fail(Error(ErrorCode::kSyntax, "state: a dead letter; --redrive makes it a job again"));
    } else if (state == "waiting" || state == "done") {
      Fail(Error(ErrorCode::kSyntax, "state: a job that is " + state + " cannot be imported"));
    } else if (state != "ready" && state != "scheduled" && state != "leased" && state != "dead") {
      Fail(Expected("state", "ready, scheduled, leased or dead"));
    }
    if (state == "scheduled" && !vests) Fail(Expected("vests", "the time of a scheduled job"));
    if (state == "scheduled" && vests) job_.options.emplace_back("AT", *vests);
    if (state == "leased" && deadline) job_.options.emplace_back("AT", *deadline);
  }

  void ReadOption(const Option& option) {
    std::optional<std::string> value =
        option.kind == Kind::kText ? Text(option.field) : Number(option.field);
    if (!value) return;
    if (option.kind == Kind::kSpan) *value += "ms";
    job_.has_unique |= std::string_view(option.word) == "UNIQUE";
    job_.options.emplace_back(option.word, std::move(*value));
  }

  void ReadHeaders() {
    const bool coded = line_.contains("headers-base64");
    const auto headers = line_.find(coded ? "headers-base64" : "headers");
    if (headers == line_.end()) return;
    bool good = headers->is_array();
    for (size_t i = 0; good && i < headers->size(); ++i) {
      const json& pair = (*headers)[i];
      good = pair.is_array() && pair.size() == 2 && pair[0].is_string() && pair[1].is_string();
      if (!good) break;
      std::optional<std::string> name = pair[0].get<std::string>(),
                                 value = pair[1].get<std::string>();
      if (coded) {
        name = FromBase64(*name);
        value = FromBase64(*value);
      }
      good = name && value;
      if (good) job_.headers.emplace_back(std::move(*name), std::move(*value));
    }
    if (!good) Fail(Expected("headers", "an array of [name, value]"));
  }

  // A field that nobody reads is more likely a slip than something that does not matter.
  void NameUnknown() {
    for (const auto& [field, value] : line_.items()) {
      if (!Known(field)) {
        Fail(Error(ErrorCode::kSyntax, words::Quote(field) + " is no field of a job"));
        return;
      }
    }
  }

  // Its id of the first source, unless it came with one or has no room for a header.
  void KeepId(const std::string& id) {
    size_t bytes = kSourceIdHeader.size() + id.size();
    for (const auto& [name, value] : job_.headers) {
      if (name == kSourceIdHeader) return;
      bytes += name.size() + value.size();
    }
    if (job_.headers.size() < limits::kHeadersMax && bytes <= limits::kHeadersBytes)
      job_.headers.emplace_back(kSourceIdHeader, id);
  }

  const json& line_;
  const uint64_t number_;
  IncomingJob job_;
  Error error_;
};

}  // namespace

std::string JsonLine(const redisReply& job) {
  nlohmann::ordered_json out = JsonOfMap(job);
  const redisReply* const key = FindInMap(job, "unique");
  if (key != nullptr && ReplyText(*key).starts_with(kImportUniquePrefix)) {
    out.erase("unique");
    out.erase("unique-for");
  }
  return out.dump();
}

Result<IncomingJob> JobOfJsonLine(std::string_view text, uint64_t number, bool redrive) {
  // Of a key that stands twice the parser would take the last, and say nothing.
  std::set<std::string> keys;
  std::string twice;
  const json line = json::parse(
      text,
      [&](int depth, json::parse_event_t event, json& parsed) {
        if (depth == 1 && event == json::parse_event_t::key &&
            !keys.insert(parsed.get<std::string>()).second) {
          twice = parsed.get<std::string>();
        }
        return true;
      },
      false);
  if (!line.is_object()) return Error(ErrorCode::kSyntax, "a JSON object is expected");
  if (!twice.empty()) return Error(ErrorCode::kSyntax, words::Quote(twice) + " stands there twice");
  return LineReader(line, number).Read(redrive);
}

void MakeEnqueueWords(const IncomingJob& job, const std::string& window, EnqueueWords* out) {
  out->words = {"ENQUEUE", job.queue, job.payload};
  for (const auto& [word, value] : job.options) out->words.insert(out->words.end(), {word, value});
  if (!job.has_unique && !window.empty()) {
    XXH128_canonical_t digest;
    XXH128_canonicalFromHash(&digest, XXH3_128bits(job.identity.data(), job.identity.size()));
    out->unique = std::string(kImportUniquePrefix) +
                  ToHex({reinterpret_cast<const char*>(digest.digest), sizeof digest.digest});
    out->words.insert(out->words.end(), {"UNIQUE", out->unique, "FOR", window});
  }
  if (job.headers.empty()) return;
  out->header_count = std::to_string(job.headers.size());
  out->words.insert(out->words.end(), {"HEADER", out->header_count});
  for (const auto& [name, value] : job.headers) out->words.insert(out->words.end(), {name, value});
}

}  // namespace vestq
