#include "net/job_options.h"

#include "engine/base/limits.h"
#include "lease/backoff.h"
#include "net/command_words.h"
#include "net/words.h"

namespace vestq::job_options {
namespace {

using handlers::ParseDelay;
using handlers::ParseLease;

Result<Duration> ParseSpan(std::string_view name, std::string_view text) {
  return words::ParseDuration(name, text, Milliseconds(1), limits::kDelayMax);
}

void ApplyHeaders(const OptionReader& reader, EnqueueRequest* r) {
  for (size_t i = 0; i + 1 < reader.values().size(); i += 2)
    r->headers.emplace_back(reader.values()[i], reader.values()[i + 1]);
}

Error ApplyAfter(const OptionReader& reader, EnqueueRequest* r) {
  r->after.reserve(reader.values().size());
  for (const std::string_view text : reader.values()) {
    JobId id;
    VESTQ_WORD(id, handlers::ParseJobId(text), JobId);
    r->after.push_back(id);
  }
  return Error::Ok();
}

Error ApplyTime(size_t option, std::string_view value, EnqueueRequest* r) {
  switch (option) {
    case kDelay:
      VESTQ_WORD(r->delay, ParseDelay(value), Duration);
      r->when = r->delay > Duration(0) ? EnqueueRequest::When::kDelay : EnqueueRequest::When::kNow;
      break;
    case kAt:
      VESTQ_WORD(r->at, words::ParseTime("AT", value), WallTime);
      r->when = EnqueueRequest::When::kAt;
      break;
    case kLease: VESTQ_WORD(r->lease, ParseLease("LEASE", value), Duration); break;
    case kFor: VESTQ_WORD(r->unique_window, ParseSpan("FOR", value), Duration); break;
    case kExpire: VESTQ_WORD(r->expire, ParseSpan("EXPIRE", value), Duration); break;
    case kKeep:
      VESTQ_WORD(r->keep, words::ParseDuration("KEEP", value, Duration(0), limits::kDelayMax),
                 Duration);
      break;
    case kWait:
      VESTQ_WORD(r->wait, words::ParseDuration("WAIT", value, Duration(0), limits::kBlockMax),
                 Duration);
      break;
    default: break;
  }
  return Error::Ok();
}

}  // namespace

Error Apply(size_t option, const OptionReader& reader, EnqueueRequest* r) {
  const std::string_view value = reader.value();
  switch (option) {
    case kSpace: r->space.assign(value); break;
    case kPriority:
      VESTQ_WORD(r->priority, words::ParseNumber("PRIORITY", value, 0, handlers::kPriorityMax),
                 static_cast<uint32_t>);
      break;
    case kAttempts:
      VESTQ_WORD(r->attempts, words::ParseNumber("ATTEMPTS", value, 0, limits::kAttemptsMax),
                 static_cast<uint32_t>);
      r->attempts_set = true;
      break;
    case kBackoff:
      VESTQ_WORD(r->backoff, words::ParseBackoff("BACKOFF", value), std::string);
      break;
    case kUnique:
      // An empty one would be none.
      VESTQ_RETURN_IF_ERROR(CheckBytes("UNIQUE: a key", value.size(), 1, limits::kUniqueKeyBytes));
      r->unique_key.assign(value);
      break;
    case kReplace: r->unique_replace = true; break;
    case kType:
      VESTQ_RETURN_IF_ERROR(CheckBytes("TYPE: a name", value.size(), 1, limits::kTypeBytes));
      r->type.assign(value);
      break;
    case kHeader: ApplyHeaders(reader, r); break;
    case kAfter: return ApplyAfter(reader, r);
    default: return ApplyTime(option, value, r);
  }
  return Error::Ok();
}

Error Check(const OptionReader& reader) {
  if (!reader.error().ok()) return reader.error();
  for (const size_t option : {kFor, kReplace}) {
    if (!reader.seen(option) || reader.seen(kUnique)) continue;
    return Error(ErrorCode::kSyntax, "option " + std::string(kSpecs[option].name) +
                                         " belongs to UNIQUE, which is missing");
  }
  return Error::Ok();
}

}  // namespace vestq::job_options
