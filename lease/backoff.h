// Back-off: how long a failed job stays away before it vests again.
//
//   exp:BASE:CAP   BASE, 2 BASE, 4 BASE ..., +-20 % jitter, never above CAP; default exp:5s:12h
//   fixed:D        D after every failure
//   list:D,D,...   the n-th after the n-th failure, the last one from then on
//
// The text of a user becomes a few bytes that stand in the job's header for as long as it lives.
// Pure, no state, any thread; a delay costs a decode of those bytes and no allocation.
//
// BACKOFF-1: a delay is never negative and never above the policy's cap (or its list entry), at any
// number of failures.
//
// BACKOFF-2: with exp no delay is shorter than the one before it, whatever the random numbers, and
// none is 0. The jitter is taken before the cap: twice the nominal less 20 % is more than the
// nominal plus 20 %, and a step whose lower bound lies above CAP is exactly CAP. Jobs that failed
// together have drifted apart by then.
//
// BACKOFF-3: what ParseBackoff gives always decodes, and its BackoffToText parses to the same
// bytes.
//
// Encoded form, persisted: a new form takes a new version, kinds are never renumbered; golden bytes
// stand in tests/lease/backoff_test.cc. Numbers are milliseconds as LEB128 varints in their
// shortest form.
//
//   version 01 | kind 01 exp   | base | cap
//   version 01 | kind 02 fixed | delay
//   version 01 | kind 03 list  | count | delay ...
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "engine/base/result.h"
#include "engine/base/time.h"

namespace vestq {

// What holds where nobody said otherwise; an empty encoding means this.
inline constexpr std::string_view kBackoffDefaultText = "exp:5s:12h";

// Encodes the policy that `text` says. Errors, each naming what was expected: kSyntax for another
// form or a duration without unit; kRange for a duration above limits::kBackoffMax, an exp base of
// 0 or above its cap; kTooBig for a list of more than limits::kBackoffListMax entries.
[[nodiscard]] Result<std::string> ParseBackoff(std::string_view text);

// The policy as text for people, in its shortest form; the default's for an empty encoding,
// "unknown" for bytes that do not decode.
[[nodiscard]] std::string BackoffToText(std::string_view encoded);

// How long a job waits after its `failures`-th failure; `random` is any uniformly random number.
// Errors: kCorruption for damaged bytes, kUnsupported for a newer version. REQUIRES: failures >= 1.
[[nodiscard]] Result<Duration> BackoffDelay(std::string_view encoded, uint32_t failures,
                                            uint64_t random);

}  // namespace vestq
