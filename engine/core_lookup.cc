// JOB and CANCEL: jobs by id, wherever they are.
#include <algorithm>

#include "engine/base/check.h"
#include "engine/core_impl.h"
#include "engine/lookup_task.h"

namespace vestq {

std::string_view JobStateName(JobState state) {
  switch (state) {
    case JobState::kGone: return "gone";
    case JobState::kScheduled: return "scheduled";
    case JobState::kReady: return "ready";
    case JobState::kLeased: return "leased";
    case JobState::kDead: return "dead";
    case JobState::kWaiting: return "waiting";
    case JobState::kDone: return "done";
  }
  return "gone";
}

// Reads what the store knows of a job and calls `then` in a later turn. When the job was moved by
// its owner meanwhile the read is done again, so `then` sees the job as it stands (LOOKUP-1).
void Core::Impl::Lookup(JobId id, std::function<void(const LookupTask*)> then) {
  auto task = std::make_unique<LookupTask>(shared_->LaneOf(id), id, shared_->queues.get());
  LookupTask* const raw = task.get();
  task->finish = [this, raw, mark = jobs_log_.Begin(), then = std::move(then)](ReadTask*) {
    const bool changed = jobs_log_.Changed(mark, raw->id) || OfAnotherLife(*raw);
    jobs_log_.End(mark);
    // Also one that failed: between two of its reads the job may have gone on, and made no sense.
    if (changed && !shared_->writes->failed()) return Lookup(raw->id, then);
    then(raw);
  };
  ReadFor(std::move(task));
}

void Core::Impl::TouchJob(JobId id) {
  jobs_log_.Note(id);
  if (!watched_.empty() && watched_.contains(id)) [[unlikely]]
    touched_watches_.push_back(id);
}

void Core::Impl::Refuse(Request* request, const Error& error) {
  request->error = error;
  Executed(request);
}

// --- CANCEL ---

void Core::Impl::Cancel(CancelRequest* request) {
  request->cancelled = false;
  Lease* const lease = LeaseOf(request->id);
  if (lease != nullptr && (lease->flags & kEndReads) == 0)
    return CancelLeased(request, lease, nullptr);
  Lookup(request->id, [this, request](const LookupTask* task) {
    if (!task->error.ok()) return Refuse(request, task->error);
    if (Lease* const found = LeaseOf(request->id)) return CancelLeased(request, found, task);
    if (task->state != JobState::kGone && task->state != JobState::kDone) {
      EraseFound(task, EventKind::kCancelled);
      request->cancelled = true;
    }
    Executed(request);
  });
}

// `read` is what a lookup found, needed for a lease with a flag of kEndReads.
void Core::Impl::EraseLeasedJob(Lease* lease, const LookupTask* read, EventKind how) {
  Emit(how, *lease);
  if (read != nullptr) EndExtras(*lease, *read, false);
  EraseJob(lease, QueueById(lease->queue), how);
}

void Core::Impl::CancelLeased(CancelRequest* request, Lease* lease, const LookupTask* read) {
  EraseLeasedJob(lease, read, EventKind::kCancelled);
  request->cancelled = true;
  Executed(request);
}

// Removes a job that is scheduled, ready, waiting or dead, with all that hangs on it.
void Core::Impl::EraseFound(const LookupTask* task, EventKind how) {
  const keycodec::JobHeader& header = task->record->header;
  CoreQueue* const queue = QueueById(header.zone.queue);
  if (task->state == JobState::kDead) {
    DeleteRow(task->row->key);
    Count(queue, keycodec::Counter::kDead, -1);
    Count(queue, keycodec::Counter::kDeadBytes,
          -static_cast<int64_t>(task->record->payload.size()));
  } else {
    // The edges of one that waits go with the end of each parent.
    const bool waits = task->state == JobState::kWaiting;
    if (waits) {
      DeleteRow(task->row->key);
      Count(queue, keycodec::Counter::kWaiting, -1);
    } else {
      Unplace(task);
    }
    if ((task->flags & keycodec::kFlagUnique) != 0)
      FreeUniqueKey(task->lane, header, task->id, false);
    if (!waits && (task->flags & keycodec::kFlagExpire) != 0)
      DropExpiry(task->lane, header, task->row ? &*task->row : nullptr, task->id);
  }
  key_.clear();
  keycodec::AppendJobKey(task->lane, task->id, &key_);
  batch_.SingleDelete(Family::kJob, key_);
  if (task->row) DeleteRow(keycodec::JobRowKey(task->lane, task->id));
  EndParent(task->id, task->flags, false, EndedBy(how));
  Count(queue, CounterOfEnd(how), 1);
  Emit(how, queue, task->id, task->attempt);
  Count(queue, keycodec::Counter::kBytes, -static_cast<int64_t>(task->record->payload.size()));
  TouchJob(task->id);
}

// --- JOB ---

namespace {

OwnOptions OptionsOf(const keycodec::JobHeader& header, uint32_t flags) {
  OwnOptions own;
  own.backoff = header.backoff;
  own.lease = Duration(header.lease_ms);
  if (header.keep_ms) own.keep = Duration(*header.keep_ms);
  if ((flags & keycodec::kFlagUnique) != 0) {
    own.unique_key = header.unique_key;
    own.unique_window = Duration(header.unique_ms);
  }
  if ((flags & keycodec::kFlagExpire) != 0) own.expire = Duration(header.expire_ms);
  return own;
}

// When a ready job vested first, as its header tells. One that was promoted before that time: when it
// was enqueued. `enqueued` is right by the clock as it stands now.
WallTime VestedAt(const keycodec::JobHeader& header, WallTime enqueued, WallTime now) {
  if (header.vests_ms == 0) return enqueued;
  const WallTime vests = header.clock == keycodec::Clock::kWall
                             ? WallTime(header.vests_ms)
                             : enqueued + Duration(header.vests_ms - header.enqueued_ms);
  return vests > now ? enqueued : vests;
}

}  // namespace

void Core::Impl::Describe(JobRequest* request) {
  request->state = JobState::kGone;
  Lookup(request->id, [this, request](const LookupTask* task) {
    if (!task->error.ok()) return Refuse(request, task->error);
    DescribeFound(request, task);
    Executed(request);
  });
}

void Core::Impl::DescribeFound(JobRequest* request, const LookupTask* task) {
  if (task->state == JobState::kDone) return DescribeDone(request, task);
  if (!task->record) return;
  const keycodec::JobHeader& header = task->record->header;
  const Lease* const lease = LeaseOf(request->id);
  if (lease == nullptr && task->state == JobState::kGone) return;  // purged or dropped
  request->queue = QueueById(header.zone.queue)->record->name;
  request->space = header.zone.space;
  request->attempts = header.attempts_max;
  request->enqueued = WallOfPast(WallTime(header.enqueued_wall_ms), MonoTime(header.enqueued_ms),
                                 now(), shared_->clock->ToWall(now()));
  request->size = task->record->payload.size();
  if (request->want_payload) request->payload.assign(task->record->payload);
  request->type = header.type;
  request->headers = header.user_headers;
  if (task->row) {
    request->last_error = task->row->last_error;
    request->checkpoint = task->row->checkpoint;
  }
  if (lease != nullptr) {
    request->state = JobState::kLeased;
    request->priority = lease->priority;
    request->attempt = lease->attempt;
    request->lease_left =
        std::max(Duration(0), lease->ending ? Duration(0) : lease->deadline - now());
    request->deadline = shared_->clock->Wall() + request->lease_left;
    request->worker = lease->worker;
    request->own = OptionsOf(header, lease->flags);
    return;
  }
  request->own = OptionsOf(header, task->state == JobState::kDead
                                       ? header.flags & ~uint32_t{keycodec::kFlagExpire}
                                       : task->flags);
  request->state = task->state;
  request->priority = task->priority;
  request->attempt = task->attempt;
  if (task->state == JobState::kScheduled) {
    const Duration left = task->scheduled.clock == keycodec::Clock::kEngine
                              ? MonoTime(task->scheduled.time_ms) - now()
                              : WallTime(task->scheduled.time_ms) - shared_->clock->Wall();
    request->vests_in = std::max(Duration(0), left);
    request->vests = task->scheduled.clock == keycodec::Clock::kWall
                         ? WallTime(task->scheduled.time_ms)
                         : shared_->clock->Wall() + request->vests_in;
  } else if (task->state == JobState::kReady) {
    request->vests = VestedAt(header, request->enqueued, shared_->clock->Wall());
  } else if (task->state == JobState::kWaiting) {
    request->parents = task->waiting.pending;
  } else if (task->state == JobState::kDead) {
    request->reason = task->dead.reason;
    request->last_error = task->dead.last_error;
    request->died = WallOfPast(WallTime(task->dead.died_wall_ms), task->ended, now(),
                               shared_->clock->ToWall(now()));
  }
}

void Core::Impl::DescribeDone(JobRequest* request, const LookupTask* task) {
  const keycodec::DoneValue& done = task->done;
  request->state = JobState::kDone;
  request->queue = QueueById(done.zone.queue)->record->name;
  request->space = done.zone.space;
  request->priority = done.priority;
  request->attempt = done.attempt;
  request->attempts = done.attempts_max;
  const WallTime noted(done.done_wall_ms);
  request->finished = WallOfPast(noted, task->ended, now(), shared_->clock->ToWall(now()));
  // By a clock as wrong as that of its end; engine time is not kept of it.
  request->enqueued =
      std::max(WallTime(0), WallTime(done.enqueued_wall_ms) + (request->finished - noted));
  request->kept_for = std::max(Duration(0), MonoTime(done.keep_until_ms) - now());
  request->size = done.payload_bytes;
  request->last_error = done.last_error;
  request->result = done.result;
  request->type = done.type;
}

}  // namespace vestq
