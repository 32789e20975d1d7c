#include "lease/backoff.h"

#include <algorithm>
#include <array>
#include <cstddef>

#include "engine/base/check.h"
#include "engine/base/limits.h"
#include "lease/duration_text.h"

namespace vestq {
namespace {

constexpr uint8_t kVersion = 1;
enum class Kind : uint8_t { kExp = 1, kFixed = 2, kList = 3 };  // persisted; never renumber

constexpr auto kMaxMs = static_cast<uint64_t>(limits::kBackoffMax.ms());

// A decoded policy. exp: steps[0] is the base, steps[1] the cap; fixed: one step; list: `count`
// steps.
struct Policy {
  Kind kind = Kind::kExp;
  size_t count = 0;
  std::array<uint64_t, limits::kBackoffListMax> steps;  // not initialised beyond count
};

constexpr uint64_t kDefaultBaseMs = 5'000;
constexpr uint64_t kDefaultCapMs = 12 * 3'600'000;

void AppendVarint(uint64_t value, std::string* out) {
  for (; value >= 0x80; value >>= 7) out->push_back(static_cast<char>(value | 0x80));
  out->push_back(static_cast<char>(value));
}

std::string Encode(const Policy& policy) {
  std::string out;
  out.push_back(static_cast<char>(kVersion));
  out.push_back(static_cast<char>(policy.kind));
  if (policy.kind == Kind::kList) AppendVarint(policy.count, &out);
  for (size_t i = 0; i < policy.count; ++i) AppendVarint(policy.steps[i], &out);
  return out;
}

// Takes a number in its shortest form, at most `max`, off the front of *bytes.
bool TakeVarint(std::string_view* bytes, uint64_t max, uint64_t* value) {
  *value = 0;
  for (unsigned shift = 0; shift < 63 && !bytes->empty(); shift += 7) {
    const auto byte = static_cast<uint8_t>(bytes->front());
    bytes->remove_prefix(1);
    *value |= static_cast<uint64_t>(byte & 0x7F) << shift;
    if (byte < 0x80) return *value <= max && (byte != 0 || shift == 0);
  }
  return false;
}

// False when the bytes after the version are not a valid policy.
bool DecodeBody(std::string_view bytes, Policy* policy) {
  if (bytes.empty()) return false;
  const auto kind = static_cast<uint8_t>(bytes.front());
  bytes.remove_prefix(1);
  if (kind < static_cast<uint8_t>(Kind::kExp) || kind > static_cast<uint8_t>(Kind::kList))
    return false;
  policy->kind = static_cast<Kind>(kind);
  uint64_t count = 0;
  switch (policy->kind) {
    case Kind::kExp: count = 2; break;
    case Kind::kFixed: count = 1; break;
    case Kind::kList:
      if (!TakeVarint(&bytes, limits::kBackoffListMax, &count) || count == 0) return false;
      break;
  }
  policy->count = count;
  for (size_t i = 0; i < policy->count; ++i) {
    if (!TakeVarint(&bytes, kMaxMs, &policy->steps[i])) return false;
  }
  if (policy->kind == Kind::kExp && (policy->steps[0] == 0 || policy->steps[0] > policy->steps[1]))
    return false;
  return bytes.empty();
}

Error Decode(std::string_view encoded, Policy* policy) {
  if (encoded.empty()) {
    policy->kind = Kind::kExp;
    policy->count = 2;
    policy->steps[0] = kDefaultBaseMs;
    policy->steps[1] = kDefaultCapMs;
    return Error::Ok();
  }
  const auto version = static_cast<uint8_t>(encoded.front());
  if (version > kVersion) {
    return Error(ErrorCode::kUnsupported,
                 "backoff: version " + std::to_string(version) + " is newer than this program");
  }
  if (version != kVersion || !DecodeBody(encoded.substr(1), policy)) {
    return Error(ErrorCode::kCorruption, "backoff: the stored policy does not decode");
  }
  return Error::Ok();
}

Error Expected() {
  return Error(ErrorCode::kSyntax,
               "backoff must be exp:BASE:CAP, fixed:DURATION or list:DURATION,DURATION,... such as "
               "exp:5s:12h, "
               "fixed:30s, list:1s,10s,1m");
}

// Parses one duration of the policy and appends it to its steps.
Error AddStep(std::string_view text, std::string_view field, Policy* policy) {
  const Result<Duration> step = ParseDuration(text, field);
  // Beyond what any duration may be is also beyond what this one may be, and that limit helps more.
  const bool beyond =
      step.ok() ? *step > limits::kBackoffMax : step.error().code() == ErrorCode::kRange;
  if (beyond) {
    return Error(
        ErrorCode::kRange,
        std::string(field).append(" must be at most ").append(DurationToText(limits::kBackoffMax)));
  }
  if (!step.ok()) return step.error();
  policy->steps[policy->count++] = static_cast<uint64_t>(step->ms());
  return Error::Ok();
}

Error ParseExp(std::string_view text, Policy* policy) {
  policy->kind = Kind::kExp;
  const size_t colon = text.find(':');
  if (colon == std::string_view::npos) return Expected();
  VESTQ_RETURN_IF_ERROR(AddStep(text.substr(0, colon), "backoff base", policy));
  VESTQ_RETURN_IF_ERROR(AddStep(text.substr(colon + 1), "backoff cap", policy));
  if (policy->steps[0] == 0) return Error(ErrorCode::kRange, "backoff base must be at least 1ms");
  if (policy->steps[0] > policy->steps[1]) {
    return Error(ErrorCode::kRange, "backoff base must be at most the backoff cap");
  }
  return Error::Ok();
}

Error ParseList(std::string_view text, Policy* policy) {
  policy->kind = Kind::kList;
  for (;;) {
    if (policy->count == limits::kBackoffListMax) {
      return Error(ErrorCode::kTooBig, "backoff list must have at most " +
                                           std::to_string(limits::kBackoffListMax) + " entries");
    }
    const size_t comma = text.find(',');
    VESTQ_RETURN_IF_ERROR(AddStep(text.substr(0, comma), "backoff list entry", policy));
    if (comma == std::string_view::npos) return Error::Ok();
    text.remove_prefix(comma + 1);
  }
}

// BACKOFF-1, BACKOFF-2.
uint64_t ExpDelay(uint64_t base, uint64_t cap, uint32_t failures, uint64_t random) {
  const uint32_t doublings = failures - 1;
  // Beyond twice the cap even the lowest jitter is above it; so nothing below overflows.
  if (doublings >= 62 || base > (2 * cap) >> doublings) return cap;
  const uint64_t nominal = base << doublings;
  const uint64_t spread = nominal / 5;
  return std::min(cap, nominal - spread + random % (2 * spread + 1));
}

std::string StepText(uint64_t ms) { return DurationToText(Duration(static_cast<int64_t>(ms))); }

}  // namespace

Result<std::string> ParseBackoff(std::string_view text) {
  const size_t colon = text.find(':');
  if (colon == std::string_view::npos) return Expected();
  const std::string_view kind = text.substr(0, colon);
  const std::string_view rest = text.substr(colon + 1);
  Policy policy;
  Error error;
  if (kind == "exp") {
    error = ParseExp(rest, &policy);
  } else if (kind == "fixed") {
    policy.kind = Kind::kFixed;
    error = AddStep(rest, "backoff delay", &policy);
  } else if (kind == "list") {
    error = ParseList(rest, &policy);
  } else {
    error = Expected();
  }
  if (!error.ok()) return error;
  return Encode(policy);
}

std::string BackoffToText(std::string_view encoded) {
  Policy policy;
  if (!Decode(encoded, &policy).ok()) return "unknown";
  std::string out;
  char separator = ',';
  switch (policy.kind) {
    case Kind::kExp:
      out = "exp:";
      separator = ':';
      break;
    case Kind::kFixed: out = "fixed:"; break;
    case Kind::kList: out = "list:"; break;
  }
  for (size_t i = 0; i < policy.count; ++i) {
    if (i > 0) out.push_back(separator);
    out.append(StepText(policy.steps[i]));
  }
  return out;
}

Result<Duration> BackoffDelay(std::string_view encoded, uint32_t failures, uint64_t random) {
  CHECK(failures >= 1, "BACKOFF-1: a back-off follows a failure");
  Policy policy;
  VESTQ_RETURN_IF_ERROR(Decode(encoded, &policy));
  uint64_t delay = 0;
  switch (policy.kind) {
    case Kind::kExp: delay = ExpDelay(policy.steps[0], policy.steps[1], failures, random); break;
    case Kind::kFixed: delay = policy.steps[0]; break;
    case Kind::kList: delay = policy.steps[std::min<size_t>(failures, policy.count) - 1]; break;
  }
  return Duration(static_cast<int64_t>(delay));
}

}  // namespace vestq
