// What the handlers of job commands share: reading ids and spans, and the way from a filled-in
// request to the session. Pure but for SubmitFilled, which runs on the session's reactor.
#pragma once

#include <string_view>

#include "engine/base/limits.h"
#include "engine/handling_request.h"
#include "net/command.h"
#include "net/session.h"
#include "net/words.h"

namespace vestq::handlers {

inline constexpr uint64_t kPriorityMax = UINT32_MAX;

// Assigns the value of a Result to a field, or fails the command.
#define VESTQ_WORD(target, parse, convert) \
  {                                        \
    auto word = (parse);                   \
    if (!word.ok()) return word.error();   \
    (target) = convert(*word);             \
  }

inline Result<JobId> ParseJobId(std::string_view text) {
  auto id = words::ParseNumber("job id", text, 1, limits::kJobIdMax);
  if (!id.ok()) return id.error();
  return JobId(*id);
}

inline Result<Duration> ParseLease(std::string_view name, std::string_view text) {
  return words::ParseDuration(name, text, limits::kLeaseMin, limits::kLeaseMax);
}

inline Result<Duration> ParseDelay(std::string_view text) {
  return words::ParseDuration("DELAY", text, Duration(0), limits::kDelayMax);
}

// Takes a request from the pool, fills it in and submits it; or answers the error.
template <typename T>
void SubmitFilled(Session& session, Args args, Error (*fill)(Args, T*)) {
  T* request = session.pool().Take<T>();
  const Error error = fill(args, request);
  if (error.ok()) {
    session.Submit(request);
  } else {
    session.pool().Put(request);
    session.Fail(error);
  }
}

}  // namespace vestq::handlers
