// Values of the rows that tie a job to something else: to its unique key, to a moment, to the jobs
// it waits for, and to another lane. Pure; the rules of all values stand in keycodec/records.h.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/ids.h"
#include "engine/base/result.h"

namespace vestq::keycodec {

// Who holds a unique key.
struct UniqueValue {
  JobId id;
  int64_t until_ms = 0;  // engine time the window ends at; 0: there is none
  bool live = false;     // the job is unfinished; false: only the window holds the key
  // Of a window: the incarnation of kept results that lived when its job was done. A window goes with
  // what is kept of done jobs, also of those of which nothing is. 1 of a live one.
  Incarnation life{1};
  bool operator==(const UniqueValue&) const = default;
};

struct TimerValue {
  // The key of the row it is about: a unique key's (kUniqueWindow), a kept result's (kKept); empty
  // where the timer's own key says it all (kExpire, kSchedule).
  std::string row;
  bool operator==(const TimerValue&) const = default;
};

// Either side of an edge between child and parent: the key says it all.
struct EdgeValue {
  bool operator==(const EdgeValue&) const = default;
};

// What a hand-over tells the lane it is for. kParentDone and kParentGone without any `jobs` are for the
// parent's own lane: its children, all of its edges, are still to be told. Persisted; never renumber.
enum class HandoverKind : uint8_t {
  kSubscribe = 1,   // `from` is a child that waits for `jobs`
  kParentDone = 2,  // `from` is a parent that is complete, `jobs` the children that wait for it
  kParentGone = 3,  // the same, of one that will never be complete; `text` is the reason
  kAnswer = 4,      // `from` is a child, `jobs` are parents of it that are complete
};
struct HandoverValue {
  HandoverKind kind = HandoverKind::kSubscribe;
  JobId from;
  std::vector<JobId> jobs;
  std::string text;
  bool operator==(const HandoverValue&) const = default;
};

// REQUIRES: ids of 1 .. limits::kJobIdMax; a unique key's life is 1 at least, and 1 of a live one.
void Append(const UniqueValue& value, std::string* out);
void Append(const TimerValue& value, std::string* out);
void Append(const EdgeValue& value, std::string* out);
void Append(const HandoverValue& value, std::string* out);

[[nodiscard]] Result<UniqueValue> DecodeUniqueValue(std::string_view bytes);
[[nodiscard]] Result<TimerValue> DecodeTimerValue(std::string_view bytes);
[[nodiscard]] Result<EdgeValue> DecodeEdgeValue(std::string_view bytes);
[[nodiscard]] Result<HandoverValue> DecodeHandoverValue(std::string_view bytes);

}  // namespace vestq::keycodec
