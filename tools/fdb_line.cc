// Lines of key-value pairs of FoundationDB.
#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "engine/base/limits.h"
#include "keycodec/tuple.h"
#include "net/words.h"
#include "tools/client.h"
#include "tools/encoding.h"
#include "tools/job_line.h"

namespace vestq {
namespace {

using keycodec::Tuple;
using keycodec::TupleBytes;
using keycodec::TupleElement;
using keycodec::TupleText;

constexpr char kFirst[] = "queue";
enum : size_t {
  kQueueWord,
  kVersion,
  kTaskType,
  kItemSpace,
  kVestingMs,
  kPriority,
  kId,
  kElements
};
constexpr const char* kNames[kElements] = {"the first element", "version",  "taskType", "itemSpace",
                                           "vestingMs",         "priority", "id"};

// What the job was when it came, from its headers.
struct Source {
  std::optional<TupleElement> id;
  std::optional<int64_t> vesting_ms;
};

std::optional<int64_t> Number(std::string_view text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

Source SourceOf(const redisReply& job) {
  Source out;
  const redisReply* const headers = FindInMap(job, "headers");
  if (headers == nullptr || headers->type != REDIS_REPLY_ARRAY) return out;
  for (size_t i = 0; i + 1 < headers->elements; i += 2) {
    const std::string name = ReplyText(*headers->element[i]);
    std::string value = ReplyText(*headers->element[i + 1]);
    if (name == kFdbIdHeader && !out.id) {
      out.id = TupleBytes{std::move(value)};
    } else if (name == kFdbIdTextHeader && !out.id && keycodec::IsUtf8(value)) {
      out.id = TupleText{std::move(value)};
    } else if (name == kFdbVestingHeader && !out.vesting_ms) {
      out.vesting_ms = Number(value);
    }
  }
  return out;
}

int64_t IntegerOf(const redisReply& job, std::string_view field) {
  const redisReply* const value = FindInMap(job, field);
  return value == nullptr ? 0 : value->integer;
}

std::string TextOf(const redisReply& job, std::string_view field) {
  const redisReply* const value = FindInMap(job, field);
  return value == nullptr ? std::string() : ReplyText(*value);
}

// A leased job vests again when its lease ends. A ready one that was imported has vested when its
// source says, not when it came; but one that was promoted never vests in the future.
int64_t VestingMs(const redisReply& job, const std::string& state, const Source& source) {
  if (state == "leased") return IntegerOf(job, "deadline");
  const int64_t vests = IntegerOf(job, "vests");
  if (state != "ready" || !source.vesting_ms) return vests;
  return std::min(vests, *source.vesting_ms);
}

// Eight bytes, big-endian: ids of a daemon in their order.
TupleElement IdElement(const std::string& id) {
  const auto number = static_cast<uint64_t>(Number(id).value_or(0));
  std::string bytes;
  for (int shift = 56; shift >= 0; shift -= 8) bytes.push_back(static_cast<char>(number >> shift));
  return TupleBytes{std::move(bytes)};
}

// A space is text, and bytes only where it cannot be: so each has one form.
TupleElement SpaceElement(std::string space) {
  if (keycodec::IsUtf8(space)) return TupleText{std::move(space)};
  return TupleBytes{std::move(space)};
}

Error Wrong(size_t element, const std::string& why) {
  return Error(ErrorCode::kSyntax, std::string(kNames[element]) + ": " + why);
}

Result<Tuple> KeyOf(std::string_view key) {
  Result<Tuple> tuple = keycodec::DecodeTuple(key);
  if (!tuple.ok()) return Error(ErrorCode::kSyntax, "key: " + tuple.error().text());
  if (tuple->size() != kElements) {
    return Error(ErrorCode::kSyntax,
                 "key: a tuple of " + std::to_string(tuple->size()) +
                     " elements, (\"queue\", version, taskType, itemSpace, vestingMs, priority, "
                     "id) is expected");
  }
  for (const size_t i : {kVersion, kVestingMs, kPriority}) {
    if (!std::holds_alternative<int64_t>((*tuple)[i])) {
      return Wrong(i, std::string(keycodec::TupleTypeName((*tuple)[i])) +
                          " stands there, an integer is expected");
    }
  }
  for (const size_t i : {kQueueWord, kTaskType}) {
    if (!std::holds_alternative<TupleText>((*tuple)[i])) {
      return Wrong(i, std::string(keycodec::TupleTypeName((*tuple)[i])) +
                          " stands there, a string is expected");
    }
  }
  return tuple;
}

Result<std::string> SpaceOf(const TupleElement& element) {
  std::string space;
  if (const auto* text = std::get_if<TupleText>(&element)) {
    space = text->value;
  } else if (const auto* bytes = std::get_if<TupleBytes>(&element);
             bytes != nullptr && !keycodec::IsUtf8(bytes->value)) {
    space = bytes->value;
  } else {
    return Wrong(kItemSpace, std::string(keycodec::TupleTypeName(element)) +
                                 " stands there, a string is expected (a byte string only for "
                                 "what is not UTF-8)");
  }
  if (Error error = CheckSpaceName(space); !error.ok()) return Wrong(kItemSpace, error.text());
  return space;
}

Error CheckNumbers(const Tuple& key, int64_t version) {
  const int64_t its_version = std::get<int64_t>(key[kVersion]);
  if (its_version != version) {
    return Wrong(kVersion, std::to_string(its_version) + " is not " + std::to_string(version) +
                               " (--tuple-version)");
  }
  const int64_t vesting = std::get<int64_t>(key[kVestingMs]);
  if (vesting < 0 || vesting > limits::kKeyTimeMsMax) {
    return Wrong(kVestingMs, std::to_string(vesting) + " is outside 0 to " +
                                 std::to_string(limits::kKeyTimeMsMax));
  }
  const int64_t priority = std::get<int64_t>(key[kPriority]);
  if (priority < 0 || priority > int64_t{UINT32_MAX}) {
    return Wrong(kPriority,
                 std::to_string(priority) + " is outside 0 to " + std::to_string(UINT32_MAX));
  }
  return Error::Ok();
}

Error IdHeader(const TupleElement& id, IncomingJob* job) {
  if (const auto* bytes = std::get_if<TupleBytes>(&id)) {
    job->headers.emplace_back(kFdbIdHeader, bytes->value);
  } else if (const auto* text = std::get_if<TupleText>(&id)) {
    job->headers.emplace_back(kFdbIdTextHeader, text->value);
  } else {
    return Wrong(kId, "an integer stands there, a byte string or a string is expected");
  }
  return Error::Ok();
}

// The bytes of a string field of the line.
Result<std::string> Field(const nlohmann::json& line, const char* name, const char* form,
                          std::optional<std::string> (*decode)(std::string_view)) {
  const auto field = line.find(name);
  std::optional<std::string> bytes;
  if (field != line.end() && field->is_string())
    bytes = decode(field->get_ref<const std::string&>());
  if (bytes) return std::move(*bytes);
  return Error(ErrorCode::kSyntax, std::string(name) + ": " + form + " is expected");
}

}  // namespace

Result<std::string> FdbLine(const redisReply& job, int64_t version) {
  const std::string payload = TextOf(job, "payload");
  if (payload.size() > kFdbValueBytes) {
    return Error(ErrorCode::kTooBig, "a payload of " + std::to_string(payload.size()) +
                                         " bytes is more than a value of FoundationDB holds, " +
                                         std::to_string(kFdbValueBytes));
  }
  const Source source = SourceOf(job);
  const Tuple key = {TupleText{kFirst},
                     version,
                     TupleText{TextOf(job, "queue")},
                     SpaceElement(TextOf(job, "space")),
                     VestingMs(job, TextOf(job, "state"), source),
                     IntegerOf(job, "priority"),
                     source.id ? *source.id : IdElement(TextOf(job, "id"))};
  std::string bytes;
  keycodec::AppendTuple(key, &bytes);
  return R"({"key":")" + ToHex(bytes) + R"(","value":")" + ToBase64(payload) + "\"}";
}

Result<IncomingJob> JobOfFdbLine(std::string_view text, int64_t version) {
  const nlohmann::json line = nlohmann::json::parse(text, nullptr, false);
  if (!line.is_object())
    return Error(ErrorCode::kSyntax, R"(an object {"key": hex, "value": base64} is expected)");
  const Result<std::string> bytes = Field(line, "key", "hexadecimal", FromHex);
  if (!bytes.ok()) return bytes.error();
  Result<std::string> value = Field(line, "value", "base64", FromBase64);
  if (!value.ok()) return value.error();
  const Result<Tuple> key = KeyOf(*bytes);
  if (!key.ok()) return key.error();
  if (std::get<TupleText>((*key)[kQueueWord]).value != kFirst)
    return Wrong(kQueueWord, "\"queue\" is expected");
  VESTQ_RETURN_IF_ERROR(CheckNumbers(*key, version));
  Result<std::string> space = SpaceOf((*key)[kItemSpace]);
  if (!space.ok()) return space.error();

  IncomingJob job;
  job.queue = std::get<TupleText>((*key)[kTaskType]).value;
  if (Error error = CheckQueueName(job.queue); !error.ok()) return Wrong(kTaskType, error.text());
  job.identity = *bytes + *value;
  job.payload = std::move(*value);
  const std::string vesting = std::to_string(std::get<int64_t>((*key)[kVestingMs]));
  job.options = {{"SPACE", std::move(*space)},
                 {"PRIORITY", std::to_string(std::get<int64_t>((*key)[kPriority]))},
                 {"AT", vesting}};
  VESTQ_RETURN_IF_ERROR(IdHeader((*key)[kId], &job));
  job.headers.emplace_back(kFdbVestingHeader, vesting);
  return job;
}

}  // namespace vestq
