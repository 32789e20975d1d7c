// The application's own data (SET, GET, DEL ...) as requests: see engine/request.h for how they are
// started and answered. Keys are 1 .. limits::kDataKeyBytes of anything, ordered as bytes; each has one
// owner core, by its hash, on which its writes run one after another.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/request.h"

namespace vestq {

// SET. Outputs: stored (false: the condition does not hold, nothing changed).
struct DataSetRequest : Request {
  DataSetRequest() : Request(RequestKind::kDataSet) {}
  std::string key;
  std::string value;
  // kAbsent: only where there is none yet; kEqual: only where it is `expected`.
  enum class When : uint8_t { kAlways, kAbsent, kEqual } when = When::kAlways;
  std::string expected;
  bool stored = false;
};

// DEL: each key on its own. Outputs: deleted (those that were there).
struct DataDeleteRequest : Request {
  DataDeleteRequest() : Request(RequestKind::kDataDelete) {}
  std::vector<std::string> keys;
  uint64_t deleted = 0;
};

// GET, MGET, EXISTS: values[i] of keys[i] at one moment. Errors: kTooBig (all values together are more
// than limits::kDataReplyBytes).
struct DataGetRequest : Request {
  DataGetRequest() : Request(RequestKind::kDataGet) {}
  std::vector<std::string> keys;
  enum class Form : uint8_t {
    kOne,
    kAll,
    kCount
  } form = Form::kOne;  // the caller's own: of its answer
  std::vector<std::optional<std::string>> values;
};

// RANGE: keys that start with `prefix`, in byte order, after `after` when that is set: at most `count`
// and about limits::kDataReplyBytes, at least one. Outputs: entries, more.
struct DataRangeRequest : Request {
  DataRangeRequest() : Request(RequestKind::kDataRange) {}
  std::string prefix;
  std::optional<std::string> after;
  uint32_t count = 0;
  std::vector<std::pair<std::string, std::string>> entries;
  bool more = false;  // there may be more after the last one
};

}  // namespace vestq
