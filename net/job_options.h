// The options of a new job, as ENQUEUE has them and other commands that make jobs. Pure.
#pragma once

#include <cstddef>

#include "engine/request.h"
#include "net/options.h"

namespace vestq::job_options {

// Places in kSpecs.
enum : size_t {
  kSpace,
  kPriority,
  kDelay,
  kAt,
  kAttempts,
  kBackoff,
  kLease,
  kUnique,
  kFor,
  kReplace,
  kExpire,
  kKeep,
  kType,
  kHeader,
  kAfter,
  kWait,
};
inline constexpr OptionSpec kSpecs[] = {
    {"SPACE"},
    {"PRIORITY"},
    {"DELAY", true, true, 1u << kAt},
    {"AT", true, true, 1u << kDelay},
    {"ATTEMPTS"},
    {"BACKOFF"},
    {"LEASE"},
    {"UNIQUE"},
    {"FOR"},
    {"REPLACE", false},
    {"EXPIRE"},
    {"KEEP"},
    {"TYPE"},
    {"HEADER", true, true, 0, 2, limits::kHeadersMax, "HEADER 1 trace 7f"},
    {"AFTER", true, true, 0, 1, limits::kAfterMax, "AFTER 2 17 18"},
    {"WAIT"},
};

// Puts the option that the reader stands at, `option` by its place above, into the request. Errors:
// kSyntax, kRange, naming option and limit.
Error Apply(size_t option, const OptionReader& reader, EnqueueRequest* request);
// What holds of all options together: FOR and REPLACE belong to UNIQUE.
Error Check(const OptionReader& reader);

}  // namespace vestq::job_options
