// PURGE and QUEUE DROP: an object that travels between cores as those of engine/request.h do, under the
// same rules.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/request.h"

namespace vestq {

// Removes jobs of a queue. Outputs: removed, exact; also after an error, which may come between slices.
//
// Without `one_space`, and of every state but kLeased, it answers at once at any size: one small write
// makes what is there void (engine/queue_life.h), space comes back in the background. One space, leased
// jobs and `ids` are removed one by one, in slices, before the answer; jobs that are enqueued meanwhile
// are not meant. Unique keys of what was removed are free, windows included.
//
// `drop`: the whole queue, options, leased jobs (their receipts are void), dead letters and kept results
// included. A LEASE that waits for it goes on waiting.
//
// Errors: kNotFound (no such queue).
struct PurgeRequest : Request {
  PurgeRequest() : Request(RequestKind::kPurge) {}
  std::string queue;
  std::optional<JobState> state;  // not kGone; none: scheduled, waiting and ready
  bool one_space = false;
  std::string space;
  std::vector<JobId> ids;  // these, in any state but done, as CANCEL; at most limits::kPurgeIds
  bool drop = false;

  uint64_t removed = 0;  // jobs; with STATE done: kept results

  // The engine's.
  MonoTime from;                 // when it began
  std::vector<JobState> states;  // still to be walked through
  std::vector<std::unique_ptr<Request>> parts;
  size_t parts_running = 0;
};

}  // namespace vestq
