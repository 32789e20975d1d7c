// Operations on jobs, as objects that travel between cores.
//
// A caller fills one in, hands it to `Core::Start` of the core whose thread it is on, and gets it
// back through `done`, on the same thread, never from inside Start: with `error` set, or with its
// outputs, once everything the answer rests on is as durable as the engine's mode promises. The
// caller owns the object and keeps it alive and unchanged until `done` (Core::Abandon ends early
// one that waits). What is outside its limits is refused, by name (engine/request_check.h): kRange, kTooBig
// and kSyntax are possible errors of every request. Times are resolved by the engine's clock.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/base/ids.h"
#include "engine/base/limits.h"
#include "engine/base/result.h"
#include "engine/base/time.h"
#include "keycodec/keys.h"
#include "keycodec/queue_records.h"

namespace vestq {

enum class RequestKind : uint8_t {
  kEnqueue,
  kLease,
  kRenew,
  kComplete,
  kFail,
  kRelease,
  kCancel,
  kJob,
  kRevoke,
  kPromote,
  kReschedule,
  kEnqueueMany,
  kWorkers,
  kPeek,
  kRedrive,
  kPurge,
  kJobsPart,  // the engine's own: engine/jobs_part.h
  kCheckpoint,
  kQueueSet,
  kDataSet,
  kDataDelete,
  kDataGet,
  kDataRange,
  kSchedule,
  kGroup,         // engine/group_request.h
  kCompleteMany,  // only as a member of a group
  kWaitFor,       // this and the next two: engine/watch_request.h
  kEvents,
  kQueueInfo,
  kSpaceProbe,  // the engine's own: engine/space_probe.h
  kSpaceSet,    // this and the next: engine/space_request.h
  kSpaces,
};

// What a worker holds: proves the claim `fence` of job `id`. Void once the lease is over (LEASE-2).
struct Receipt {
  JobId id;
  Fence fence;
  bool operator==(const Receipt&) const = default;
  // "id.epoch.claim", decimal; at most 60 bytes.
  std::string ToString() const;
  // kSyntax when it is not of that form.
  static Result<Receipt> Parse(std::string_view text);
};

struct Request;

// One caller's order: requests of a stream are carried out in the order they were started (a
// connection is a stream). One that waits holds up those behind it. Owned by the caller's
// thread; outlives its requests.
struct Stream {
  uint32_t running = 0;  // started, not yet carried out
  CoreId owner;  // of the running ones: more for the same owner may follow at once, its ring keeps
                 // the order
  Request* head = nullptr;  // held back until the running ones are carried out
  Request* tail = nullptr;
  bool pumping = false;  // its requests are just being started
};

struct Request {
  explicit Request(RequestKind k) : kind(k) {}
  virtual ~Request() = default;
  Request(const Request&) = delete;
  Request& operator=(const Request&) = delete;

  const RequestKind kind;
  // Set by the caller.
  void (*done)(Request* request, void* context) = nullptr;
  void* context = nullptr;
  Stream* stream = nullptr;  // nullptr: in no order with others
  // Set when done.
  Error error;

  // The engine's, while it is under way.
  CoreId origin;
  Ticket ticket;            // newest batch the answer rests on
  uint8_t stage = 0;        // of a request that takes several turns
  bool executed = false;    // carried out by its owner
  Request* next = nullptr;  // intrusive lists
};

enum class JobState : uint8_t { kGone, kScheduled, kReady, kLeased, kDead, kWaiting, kDone };
[[nodiscard]] std::string_view JobStateName(JobState state);  // "scheduled", ...

// What is still to be told to others about a request's jobs (engine/core_after.cc).
struct Subscriptions {
  size_t left = 0;
  std::function<void()> then;  // when nothing is
};

// ENQUEUE. Outputs: id; with a unique key also added and holder_state. Errors: kNotFound (`after` names
// a job that was never enqueued), kFull (the queue's max-jobs or max-bytes; a duplicate is never refused
// for them).
struct EnqueueRequest : Request {
  EnqueueRequest() : Request(RequestKind::kEnqueue) {}
  std::string queue;
  std::string space;
  std::string payload;
  uint32_t priority = limits::kPriorityDefault;
  // When it vests: at once, after `delay` (engine time), or at wall time `at`.
  enum class When : uint8_t { kNow, kDelay, kAt } when = When::kNow;
  Duration delay;
  WallTime at;
  bool attempts_set = false;
  uint32_t attempts = 0;  // 0: no limit
  std::string backoff;    // encoded (lease/backoff.h); empty: the queue's default
  Duration lease;         // 0: the queue's default
  // Scope (queue, space). Empty: none. Held while the job is unfinished and, with a window, until
  // that long after the enqueue.
  std::string unique_key;
  Duration unique_window;
  bool unique_replace = false;  // a holder that is scheduled or ready takes payload, time, priority
  Duration expire;              // from its first vesting, before its first lease; 0: never
  std::optional<Duration> keep;  // after its completion; none: the queue's default
  std::string type;
  std::vector<std::pair<std::string, std::string>> headers;
  // It waits until these are complete, 0 .. limits::kAfterMax of them; one that is named twice counts
  // once. `delay` and `at` count from the enqueue: it vests at the later of both.
  std::vector<JobId> after;
  // How long it waits where the queue is full, by engine time; 0: not at all. Not in a group. What counts
  // from the enqueue counts from when it is let in.
  Duration wait;

  JobId id;           // of the new job, or of the one that holds the unique key
  bool added = true;  // false: the unique key is held by `id`
  JobState holder_state = JobState::kGone;  // of that one; kGone: only its window holds the key

  // The engine's.
  std::shared_ptr<Subscriptions> subscriptions;  // of what it waits for; null: of nothing
  std::atomic<bool> waiting{false};    // for room; set by the core that carries it out, read by any
  std::atomic<bool> abandoned{false};  // set by the origin: it waits no more
  MonoTime wait_until;
};

struct LeasedJob {
  Receipt receipt;
  std::string_view queue;  // of the registry; lives as long as the engine
  std::string space;
  std::shared_ptr<const std::string> record;  // keeps `payload` alive
  std::string_view payload;
  uint32_t attempt = 0;
  uint32_t attempts = 0;  // 0: no limit
  uint32_t priority = 0;
  WallTime enqueued;
  Duration lease_left;
  WallTime deadline;
  std::string type;
  std::vector<std::pair<std::string, std::string>> headers;
  std::string checkpoint;  // the last one that was acknowledged; empty: none
};

// LEASE. Outputs: jobs; none, without an error, when there was nothing to lease within `block`.
struct LeaseRequest : Request {
  LeaseRequest() : Request(RequestKind::kLease) {}
  std::vector<std::string> queues;  // 1 .. limits::kQueuesPerLease, served in this order
  uint32_t count = 1;
  bool wait = false;
  Duration block;  // 0 with wait: for ever
  Duration lease;  // 0: the job's, else the queue's
  std::string worker;
  bool one_space = false;  // only jobs of `space`
  std::string space;

  std::vector<LeasedJob> jobs;

  // The engine's.
  uint64_t started_ns = 0;
  size_t reply_bytes = 0;
  MonoTime wait_until;
  uint64_t wait_order = 0;  // place among this core's waiters
  bool waiting = false;
  bool under_way = false;  // at another core, or waiting for a read
  bool abandoned = false;
  std::vector<CoreId> tried;
  std::vector<struct QueueRecord*> records;  // of `queues`
  std::vector<struct SpaceProbe*> probes;    // with `one_space`, while it waits or has waited
};

// RENEW. Outputs: left.
struct RenewRequest : Request {
  RenewRequest() : Request(RequestKind::kRenew) {}
  Receipt receipt;
  Duration lease;  // 0: the length last granted
  Duration left;
};

// CHECKPOINT: as RENEW, and the bytes come with every later lease of the job. Outputs: left.
struct CheckpointRequest : Request {
  CheckpointRequest() : Request(RequestKind::kCheckpoint) {}
  Receipt receipt;
  std::string checkpoint;  // replaces the one before; empty: there is none any more
  Duration lease;          // 0: the length last granted
  Duration left;
};

struct CompleteRequest : Request {
  CompleteRequest() : Request(RequestKind::kComplete) {}
  Receipt receipt;
  std::string result;  // kept with the job, if it is kept
};

// FAIL. Outputs: dead, retry_in.
struct FailRequest : Request {
  FailRequest() : Request(RequestKind::kFail) {}
  Receipt receipt;
  std::string reason;
  bool delay_set = false;
  Duration delay;  // replaces the back-off, never the limit
  bool to_dead = false;

  bool dead = false;
  Duration retry_in;
};

// RELEASE: given back, the attempt is not used.
struct ReleaseRequest : Request {
  ReleaseRequest() : Request(RequestKind::kRelease) {}
  Receipt receipt;
  Duration delay;
  bool priority_set = false;
  uint32_t priority = 0;
};

// CANCEL. Outputs: cancelled (false: no such unfinished or dead job).
struct CancelRequest : Request {
  CancelRequest() : Request(RequestKind::kCancel) {}
  JobId id;
  bool cancelled = false;
};

// Options that a job has of its own; empty or 0: none, the queue's default holds. `unique_key` only
// while the job holds it (or would again, by REDRIVE), `expire` only while it can end the job.
struct OwnOptions {
  std::string backoff;  // encoded (lease/backoff.h)
  Duration lease;
  std::string unique_key;
  Duration unique_window;
  Duration expire;
  std::optional<Duration> keep;  // 0: nothing is kept
};

// JOB. Outputs: state (kGone: no such job) and the rest.
struct JobRequest : Request {
  explicit JobRequest(RequestKind k = RequestKind::kJob) : Request(k) {}
  JobId id;
  bool want_payload = false;

  JobState state = JobState::kGone;
  std::string queue;
  std::string space;
  uint32_t priority = 0;
  uint32_t attempt = 0;
  uint32_t attempts = 0;
  WallTime enqueued;
  Duration vests_in;     // kScheduled
  WallTime vests;        // kScheduled; kReady: when it vested first
  uint32_t parents = 0;  // kWaiting: those that are not complete
  Duration lease_left;   // kLeased
  WallTime deadline;     // kLeased
  std::string worker;    // kLeased
  std::string last_error;
  std::string reason;  // kDead
  WallTime died;       // kDead
  uint64_t size = 0;   // payload bytes
  std::string payload;
  std::string type;
  std::vector<std::pair<std::string, std::string>> headers;
  std::string checkpoint;
  OwnOptions own;
  std::string result;  // kDone
  WallTime finished;   // kDone
  Duration kept_for;   // kDone: what is left of it
};

// Options of a queue (QUEUE SET); without a value: not set, the default of limits.h holds.
struct QueueOptions {
  std::optional<Duration> lease;
  std::optional<uint32_t> attempts;    // 0: no limit; of jobs that are enqueued from now on
  std::optional<std::string> backoff;  // encoded (lease/backoff.h)
  std::optional<Duration> keep;
  std::optional<keycodec::Order> order;  // only while the queue has no job
  std::optional<Duration> dead_keep;
  std::optional<uint64_t> dead_max;
  // How many leases there may be at once, of the queue and of each of its spaces; 0: none may start.
  std::optional<uint32_t> concurrency;
  std::optional<uint32_t> space_concurrency;
  std::optional<uint64_t> rate_micro;  // starts in a million seconds (lanes/rate_limit.h)
  std::optional<uint32_t> burst;
  std::optional<Duration> ageing;  // one that has waited so long is served whatever its priority
  // Of each space that does not have its own (engine/space_request.h).
  std::optional<uint64_t> space_rate_micro;
  std::optional<uint32_t> space_burst;
  std::optional<uint32_t> space_weight;  // 1 .. limits::kSpaceWeightMax
  std::optional<keycodec::AdaptiveBounds>
      adaptive;  // of each space without a concurrency of its own
  // Of jobs that are not finished: scheduled, waiting, ready, leased. 0: none are taken.
  std::optional<uint64_t> max_jobs;
  std::optional<uint64_t> max_bytes;  // of their payloads
  // Nothing of a paused queue is leased until then; MonoTime::Max(): until it is resumed.
  std::optional<MonoTime> paused_until;
};

// QUEUE SET, PAUSE and RESUME: makes the queue where there is none. Waiting LEASEs follow at once.
// Errors: kBusy (another order while there are jobs), kFull (too many queues).
struct QueueSetRequest : Request {
  QueueSetRequest() : Request(RequestKind::kQueueSet) {}
  std::string queue;
  QueueOptions set;    // those to set
  QueueOptions unset;  // those to unset: any value
  Duration pause_for;  // with `pause`; 0: until it is resumed
  bool pause = false;
  bool resume = false;
};

// One that may wait for something that others do, so that its caller may have to abandon it.
[[nodiscard]] bool MayWait(const Request& request);
// What an ENQUEUE or ENQUEUEMANY says of its jobs; nullptr of any other request.
[[nodiscard]] const EnqueueRequest* JobOf(const Request& request);

// Bytes of what may be long in it.
[[nodiscard]] size_t VariableBytes(const JobRequest& job);

// REVOKE: ends a lease as its expiry would; the attempt is used. Outputs: revoked (false: the job is
// not leased).
struct RevokeRequest : Request {
  RevokeRequest() : Request(RequestKind::kRevoke) {}
  JobId id;
  bool revoked = false;
};

// PROMOTE: a scheduled job is ready now. Errors: kNotFound, kBusy (leased, dead, waiting).
struct PromoteRequest : Request {
  PromoteRequest() : Request(RequestKind::kPromote) {}
  JobId id;
};

// RESCHEDULE: a scheduled or ready job vests after `delay` (engine time) or at wall time `at`, at once
// where that is not in the future. Errors: as PROMOTE, and kRange (beyond the last time of a key).
struct RescheduleRequest : Request {
  RescheduleRequest() : Request(RequestKind::kReschedule) {}
  JobId id;
  bool at_set = false;  // `at` instead of `delay`
  Duration delay;
  WallTime at;
  bool priority_set = false;
  uint32_t priority = 0;
};

struct QueueCounts {
  std::string name;
  int64_t ready = 0, scheduled = 0, leased = 0, dead = 0, waiting = 0, bytes = 0;
  int64_t done = 0;  // kept results
  int64_t enqueued = 0, leases = 0, completed = 0, failed = 0, released = 0, expired = 0, died = 0,
          cancelled = 0, lapsed = 0, dropped = 0, duplicates = 0;
  uint64_t waiters = 0;          // blocked LEASEs
  int64_t unfinished_bytes = 0;  // of `bytes`, of jobs that are not dead: what max-bytes is about
  uint64_t enqueues_waiting = 0;
  // What all cores hold for the limits: at rest the unfinished jobs and bytes (BACKLOG-2); 0 where there was
  // no limit in this run.
  int64_t held_jobs = 0, held_bytes = 0;
  uint64_t refused = 0;  // ENQUEUEs, for max-jobs and max-bytes, in this run
};

}  // namespace vestq
