// Operations on many jobs at once, and for people who look: ENQUEUEMANY, WORKERS. Objects that
// travel between cores as those of engine/request.h do, under the same rules.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/request.h"

namespace vestq {

// ENQUEUEMANY: a job for each payload, all in one lane and one batch: all of them or none. Outputs:
// ids, in the order of the payloads. Errors: as ENQUEUE; then there is none of them.
struct EnqueueManyRequest : Request {
  EnqueueManyRequest() : Request(RequestKind::kEnqueueMany) {}
  EnqueueRequest job;                 // what holds for all; its payload and id are not used
  std::vector<std::string> payloads;  // 1 .. limits::kEnqueueManyMax

  std::vector<JobId> ids;
};

// WORKERS: who holds leases, from the tables of all cores. Outputs: rows, the first
// limits::kWorkerRows by queue, then worker; others: leases of those beyond. Each core's table is
// passed over in slices: a lease that lasts is counted once, one that comes or goes meanwhile may be
// counted or not. Errors: kNotFound (no such queue).
struct WorkersRequest : Request {
  WorkersRequest() : Request(RequestKind::kWorkers) {}
  std::string queue;  // empty: all

  struct Row {
    uint64_t leases = 0;
    Duration oldest;  // since the one that was granted or renewed the longest ago
  };
  std::map<std::pair<std::string, std::string>, Row> rows;  // (queue, worker)
  uint64_t others = 0;

  // The engine's.
  uint16_t at_core = 0;
  uint32_t at_lease = 0;
};

// PEEK: a page of a queue's jobs in one state. Outputs: cursor, jobs. Every job that stays where it is
// comes once over the pages: in the order of its keys (ready, scheduled, waiting, dead), or of the lease tables
// (leased), see net/PROTOCOL.md. A page may be empty with a cursor: there was nothing within what one
// call looks at. Errors: kNotFound (no such queue), kSyntax (the cursor).
struct PeekRequest : Request {
  PeekRequest() : Request(RequestKind::kPeek) {}
  std::string queue;
  JobState state = JobState::kReady;  // not kGone
  bool one_space = false;
  std::string space;
  uint32_t count = 10;        // 1 .. limits::kPeekCountMax
  std::string cursor = "0";   // out: where to go on, "0" at the end
  bool want_payload = false;  // at most limits::kLeaseReplyBytes of them, at least one

  std::vector<std::unique_ptr<JobRequest>> jobs;

  // The engine's.
  struct Found {
    JobId id;
    std::string behind;  // the cursor that goes on behind it
  };
  std::vector<Found> found;
  std::vector<std::unique_ptr<Request>> parts;
  size_t parts_running = 0;
  uint16_t at_core = 0;
  uint32_t at_lease = 0;
  uint32_t places = 0;  // of lease tables looked at for this page
};

// REDRIVE: dead letters live again, their attempts anew. Outputs: redriven, how many were taken out of
// the dead letters; also after an error, which may come between slices. Errors: kNotFound (no such
// queue; with `id` no such job in it), kBusy (`id` is not dead), kFull (ids used up).
struct RedriveRequest : Request {
  RedriveRequest() : Request(RequestKind::kRedrive) {}
  std::string queue;
  JobId id;            // this one; 0: the oldest
  uint64_t count = 0;  // at most so many of those that are dead now; 0: all of them
  std::string to;      // the queue to go to; empty: the same
  uint32_t rate = 0;   // the k-th vests k/rate seconds from now; 0: all at once

  uint64_t redriven = 0;

  // The engine's.
  uint64_t taken = 0;  // handed to their owners
  MonoTime from;       // when it began
  std::vector<std::unique_ptr<Request>> parts;
  size_t parts_running = 0;
};

}  // namespace vestq
