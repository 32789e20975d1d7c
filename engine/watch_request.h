// Requests that look on: WAITFOR, EVENTS and QUEUE INFO. Objects that travel between
// cores as those of engine/request.h do, under the same rules.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/event_hub.h"
#include "engine/request.h"

namespace vestq {

// WAITFOR: the job once it has come to an end: done and kept, dead, or gone (done without a result that
// is kept, cancelled, expired, purged; or there never was one). Outputs: ended, and the job as JOB gives
// it. It waits at the job's owner, woken by what ends the job; there it costs 200 bytes beside the
// request. The answer rests on the batch that ended the job.
struct WaitForRequest : JobRequest {
  WaitForRequest() : JobRequest(RequestKind::kWaitFor) {}
  bool wait = false;  // else it looks once
  Duration block;     // 0 with wait: for ever

  bool ended = false;  // false: not within `block`

  // The engine's: the origin's.
  bool under_way = false;  // handed to the owner
  bool abandoned = false;  // while its stream held it back
  // The owner's.
  MonoTime wait_until;
};

// EVENTS: the next events of a subscription, as soon as there are any. Outputs: missed, events; none
// when it was abandoned. Carried out where it starts, which must be the subscription's reader. What an
// event reports is durable.
struct EventsRequest : Request {
  EventsRequest() : Request(RequestKind::kEvents) {}
  std::shared_ptr<EventSubscription> subscription;
  size_t max_events = 128;

  std::vector<JobEvent> events;
  uint64_t missed = 0;  // lost before the first of `events`

  // The engine's.
  bool abandoned = false;  // before it was carried out
};

// QUEUE INFO: counts and options as they are known in memory; and since when the oldest ready job stands
// there, by priority band, from the store: a seek for each priority in each (space, lane) that has ready
// jobs (by order time: a step for each job), at most kSeeks, none when nothing is ready. Outputs: all
// below. Errors: kNotFound (no such queue).
struct QueueInfoRequest : Request {
  QueueInfoRequest() : Request(RequestKind::kQueueInfo) {}
  static constexpr size_t kSeeks = 10'000;
  static constexpr size_t kBands = 3;  // above, at and below the default priority
  std::string queue;

  QueueCounts counts;
  QueueOptions options;
  MonoTime at;  // engine time of the answer
  // Engine time of the enqueue (order priority) or of the vesting (order time); none: no such job.
  std::optional<MonoTime> oldest[kBands];
  bool whole = true;  // false: there was more than kSeeks could see
};

}  // namespace vestq
