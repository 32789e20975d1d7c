// A job as one line of text: what `vestq export` writes and `vestq import` reads. Two formats, both
// JSON objects, described in tools/EXPORT.md:
//
//   json  every field that JOB shows; fields with bytes that are no text have "-base64" in their name
//   fdb   {"key": hex, "value": base64}: a key-value pair of a QuiCK-style queue in FoundationDB, the
//         key being the tuple ("queue", version, taskType, itemSpace, vestingMs, priority, id)
//
// Pure, any thread. Bad lines are errors, never more.
//
// LINE-1: a pair that import accepts, export gives back byte for byte while the job is scheduled or
// ready, and neither rescheduled nor of another priority.
#pragma once

#include <hiredis/hiredis.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/base/result.h"

namespace vestq {

// Names of the headers that keep what a job was at its source.
inline constexpr std::string_view kSourceIdHeader = "source-id";          // json: its id there
inline constexpr std::string_view kFdbIdHeader = "fdb-id";                // fdb: id, a byte string
inline constexpr std::string_view kFdbIdTextHeader = "fdb-id-text";       // fdb: id, a string
inline constexpr std::string_view kFdbVestingHeader = "fdb-vesting";      // fdb: vestingMs
inline constexpr std::string_view kImportUniquePrefix = "vestq-import:";  // of import's unique keys

inline constexpr int64_t kTupleVersion = 1;
// FoundationDB's limit of a value, in bytes.
inline constexpr size_t kFdbValueBytes = 100'000;

// A job on its way into a daemon: what ENQUEUE is told of it.
struct IncomingJob {
  std::string queue;
  std::string payload;
  // Option words and their values: {"SPACE", "acme"}.
  std::vector<std::pair<std::string, std::string>> options;
  std::vector<std::pair<std::string, std::string>> headers;
  bool has_unique = false;  // `options` has a UNIQUE of the job's own
  std::string identity;     // tells it from every other job of its source
};

// One line without its end, of a job as PEEK shows it (with PAYLOAD).
[[nodiscard]] std::string JsonLine(const redisReply& job);
// Errors: kTooBig for a payload that no value of FoundationDB can be. REQUIRES: the job is scheduled,
// ready or leased.
[[nodiscard]] Result<std::string> FdbLine(const redisReply& job, int64_t version);

// The job of a line; `number` is the line's, and tells lines without an id apart. `redrive`: dead
// letters are accepted. What is wrong with names and numbers beyond their type is left to the daemon.
// Errors: each names the field.
[[nodiscard]] Result<IncomingJob> JobOfJsonLine(std::string_view line, uint64_t number,
                                                bool redrive);
// Errors: each names the element of the tuple.
[[nodiscard]] Result<IncomingJob> JobOfFdbLine(std::string_view line, int64_t version);

// The words of the command. The views live as long as the job. A job without a unique key of its own
// gets one made of its identity, held for `window` ("1d") after the enqueue; with an empty window none.
struct EnqueueWords {
  std::vector<std::string_view> words;
  std::string unique;
  std::string header_count;
};
void MakeEnqueueWords(const IncomingJob& job, const std::string& window, EnqueueWords* out);

}  // namespace vestq
