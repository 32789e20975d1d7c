// What ends or changes a lease: RENEW, CHECKPOINT, COMPLETE, FAIL, RELEASE, and expiry.
#include <algorithm>

#include "engine/base/check.h"
#include "engine/core_impl.h"
#include "engine/lookup_task.h"
#include "lease/backoff.h"

namespace vestq {
namespace {

uint64_t NextRandom(uint64_t* state) {  // splitmix64
  uint64_t z = (*state += 0x9E3779B97F4A7C15ull);
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
  return z ^ (z >> 31);
}

}  // namespace

Error Core::Impl::LeaseLostError(const Receipt& receipt) {
  return Error(ErrorCode::kLeaseLost,
               "the lease of job " + std::to_string(receipt.id.value()) + " is over");
}

// A live lease of that receipt; expiry is by the turn's clock, so a lease whose deadline has passed
// is over even before its key has moved.
Lease* Core::Impl::LiveLease(const Receipt& receipt) {
  Lease* const lease = leases_.Find(receipt.id, receipt.fence);
  if (lease == nullptr || lease->ending || lease->deadline <= now()) return nullptr;
  return unswept_.empty() || QueueById(lease->queue) != nullptr ? lease : nullptr;
}

// The LEASED key goes, the lease with it. The caller puts what comes instead into the same batch.
void Core::Impl::EraseLeased(Lease* lease, CoreQueue* queue) {
  key_.clear();
  keycodec::AppendLeasedKey(lease->lane, lease->stored_deadline_ms, lease->id, &key_);
  batch_.SingleDelete(Family::kVesting, key_);
  Count(queue, keycodec::Counter::kLeased, -1);
  TouchJob(lease->id);
  if (queue->counted) LeaseOver(queue, lease->space);
  leases_.Erase(lease);
  shared_->leased.fetch_sub(1, std::memory_order_relaxed);
}

void Core::Impl::Renew(RenewRequest* request) {
  now_stale_ = true;  // LEASE-5: from now, not from this turn's beginning
  Lease* const lease = LiveLease(request->receipt);
  if (lease == nullptr) {
    request->error = LeaseLostError(request->receipt);
    return Executed(request);
  }
  const Duration length = request->lease > Duration(0) ? request->lease : lease->granted;
  const Renewal renewal = leases_.Renew(lease, now(), length);
  if (!renewal.covered) {
    // The stored deadline no longer covers it: the key moves to the generously later one.
    key_.clear();
    keycodec::AppendLeasedKey(lease->lane, renewal.stored_before_ms, lease->id, &key_);
    batch_.SingleDelete(Family::kVesting, key_);
    PutLeased(*lease);
  }
  request->left = length;
  Executed(request);
}

// As RENEW, with a job row that has the bytes. What the row said of the last error stays.
void Core::Impl::Checkpoint(CheckpointRequest* request, const LookupTask* read) {
  now_stale_ = true;  // LEASE-5
  Lease* const lease = LiveLease(request->receipt);
  if (lease == nullptr) return Refuse(request, LeaseLostError(request->receipt));
  if ((lease->flags & keycodec::kFlagJobRow) != 0 && read == nullptr) {
    return Lookup(lease->id, [this, request](const LookupTask* task) {
      if (!task->error.ok()) return Refuse(request, task->error);
      Checkpoint(request, task);
    });
  }
  keycodec::JobRow row;
  if (read != nullptr && read->row) row = *read->row;
  row.place = keycodec::Place::kVesting;
  row.key.clear();
  AppendReadyKey(*QueueById(lease->queue), lease->lane, lease->space, lease->order,
                 {lease->priority, lease->ready_time_ms, lease->id}, &row.key);
  row.attempt = lease->attempt;
  row.priority = lease->priority;
  row.checkpoint = request->checkpoint;
  value_.clear();
  keycodec::Append(row, &value_);
  PutRow(keycodec::JobRowKey(lease->lane, lease->id), value_);
  TouchJob(lease->id);

  const uint32_t flags = (lease->flags & ~uint32_t{keycodec::kFlagCheckpoint}) |
                         keycodec::kFlagJobRow |
                         (row.checkpoint.empty() ? 0u : uint32_t{keycodec::kFlagCheckpoint});
  const Duration length = request->lease > Duration(0) ? request->lease : lease->granted;
  const Renewal renewal = leases_.Renew(lease, now(), length);
  if (!renewal.covered || flags != lease->flags) {
    key_.clear();
    keycodec::AppendLeasedKey(
        lease->lane, renewal.covered ? lease->stored_deadline_ms : renewal.stored_before_ms,
        lease->id, &key_);
    batch_.SingleDelete(Family::kVesting, key_);
    lease->flags = flags;
    PutLeased(*lease);
  }
  request->left = length;
  Executed(request);
}

// What is kept of a job of that queue where the job itself does not say.
Duration Core::Impl::QueueKeep(const QueueRecord& record) {
  const int64_t ms = record.settings.keep_ms.load(std::memory_order_relaxed);
  return Duration(std::max<int64_t>(0, ms));
}

void Core::Impl::Complete(CompleteRequest* request) {
  Lease* const lease = LiveLease(request->receipt);
  if (lease == nullptr) return Refuse(request, LeaseLostError(request->receipt));
  CoreQueue* const queue = QueueById(lease->queue);
  if ((lease->flags & kEndReads) == 0 && QueueKeep(*queue->record) == Duration(0)) {
    Emit(EventKind::kCompleted, *lease);
    Learn(queue, *lease, true);
    EraseJob(lease, queue, EventKind::kCompleted);
    return Executed(request);
  }
  // The lease is over from here on, for whoever comes between; only its key has not moved yet.
  leases_.Suspend(lease);
  Lookup(lease->id, [this, request, queue](const LookupTask* task) {
    Lease* const ended = leases_.Find(request->receipt.id, request->receipt.fence);
    // Cancelled, or its queue dropped.
    if (ended == nullptr || QueueById(ended->queue) != queue)
      return Refuse(request, LeaseLostError(request->receipt));
    if (!task->error.ok() || !task->record) {
      leases_.Restore(ended);
      return Refuse(request, !task->error.ok() ? task->error
                                               : Error(ErrorCode::kCorruption,
                                                       "job " + std::to_string(ended->id.value()) +
                                                           " has no record (JOB-2)"));
    }
    now_stale_ = true;
    EndExtras(*ended, *task, true);
    const std::optional<int64_t> keep_ms = task->record->header.keep_ms;
    const Duration keep = keep_ms ? Duration(*keep_ms) : QueueKeep(*queue->record);
    if (keep > Duration(0)) {
      KeepResult(*ended, *task, keep, std::move(request->result));
      ended->flags &= ~uint32_t{keycodec::kFlagJobRow};  // it was put anew
    }
    Emit(EventKind::kCompleted, *ended);
    Learn(queue, *ended, true);
    EraseJob(ended, queue, EventKind::kCompleted);
    Executed(request);
  });
}

// A leased job ends: what hangs on it goes. `done`: by completion.
void Core::Impl::EndExtras(const Lease& lease, const LookupTask& read, bool done) {
  if ((lease.flags & keycodec::kFlagUnique) != 0)
    FreeUniqueKey(lease.lane, read.record->header, lease.id, done);
}

// The job is over: nothing of it is left.
void Core::Impl::EraseJob(Lease* lease, CoreQueue* queue, EventKind how) {
  key_.clear();
  keycodec::AppendJobKey(lease->lane, lease->id, &key_);
  batch_.SingleDelete(Family::kJob, key_);
  if ((lease->flags & keycodec::kFlagJobRow) != 0)
    DeleteRow(keycodec::JobRowKey(lease->lane, lease->id));
  Count(queue, CounterOfEnd(how), 1);
  Count(queue, keycodec::Counter::kBytes, -static_cast<int64_t>(lease->payload_bytes));
  if ((lease->flags & keycodec::kFlagParent) != 0 || !subscribers_.empty())
    EndParent(lease->id, lease->flags, how == EventKind::kCompleted, EndedBy(how));
  EraseLeased(lease, queue);
}

void Core::Impl::Fail(FailRequest* request, const LookupTask* read) {
  Lease* const lease = LiveLease(request->receipt);
  if (lease == nullptr) {
    request->error = LeaseLostError(request->receipt);
    return Executed(request);
  }
  const bool used_up = lease->attempts_max != 0 && lease->attempt >= lease->attempts_max;
  const bool dies = used_up || request->to_dead;
  // What the header (its own back-off, its key) or the job row (the checkpoint; the error before, when
  // no reason is given now) must tell.
  const bool needs_header =
      dies ? (lease->flags & kDeathReads) != 0
           : !request->delay_set && (lease->flags & keycodec::kFlagBackoff) != 0;
  const bool needs_row = (lease->flags & keycodec::kFlagCheckpoint) != 0 ||
                         (request->reason.empty() && (lease->flags & keycodec::kFlagJobRow) != 0);
  if ((needs_header || needs_row) && read == nullptr) {
    return Lookup(lease->id, [this, request](const LookupTask* task) {
      if (!task->error.ok()) return Refuse(request, task->error);
      Fail(request, task);
    });
  }
  std::string last_error = request->reason;
  if (last_error.empty() && read != nullptr && read->row) last_error = read->row->last_error;

  CoreQueue* const queue = QueueById(lease->queue);
  Count(queue, keycodec::Counter::kFailed, 1);
  Emit(EventKind::kFailed, *lease, request->reason);
  Learn(queue, *lease, false);
  if (dies) {
    request->dead = true;
    MakeDead(lease,
             used_up ? "attempts used up: the worker reported a failure" : "the worker gave it up",
             std::move(last_error), read);
    return Executed(request);
  }
  Duration delay = request->delay;
  if (!request->delay_set) {
    // Its own, else the queue's, else the default (an empty one).
    std::string encoded;
    if (read != nullptr && read->record) encoded = read->record->header.backoff;
    const std::string* const of_queue =
        queue->record->settings.backoff.load(std::memory_order_acquire);
    if (encoded.empty() && of_queue != nullptr) encoded = *of_queue;
    const Result<Duration> backoff = BackoffDelay(encoded, lease->attempt, NextRandom(&random_));
    CHECK(backoff.ok(), "JOB-2: a stored back-off decodes");
    delay = *backoff;
  }
  request->retry_in = delay;
  ToRetry(lease, lease->attempt, lease->priority, delay, std::move(last_error), read);
  Executed(request);
}

void Core::Impl::Release(ReleaseRequest* request, const LookupTask* read) {
  Lease* const lease = LiveLease(request->receipt);
  if (lease == nullptr) {
    request->error = LeaseLostError(request->receipt);
    return Executed(request);
  }
  const uint32_t priority = request->priority_set ? request->priority : lease->priority;
  const uint32_t attempt = lease->attempt - 1;
  CoreQueue* const queue = QueueById(lease->queue);
  const bool moves = request->delay > Duration(0) || priority != lease->priority;
  if (!moves) {
    Count(queue, keycodec::Counter::kReleased, 1);
    Emit(EventKind::kReleased, *lease);
    BackToReady(lease, attempt);
    return Executed(request);
  }
  // The job row is written anew: what it says of the last error stays.
  if ((lease->flags & keycodec::kFlagJobRow) != 0 && read == nullptr) {
    return Lookup(lease->id, [this, request](const LookupTask* task) {
      if (!task->error.ok()) return Refuse(request, task->error);
      Release(request, task);
    });
  }
  std::string last_error = read != nullptr && read->row ? read->row->last_error : std::string();
  Count(queue, keycodec::Counter::kReleased, 1);
  Emit(EventKind::kReleased, *lease);
  ToRetry(lease, attempt, priority, request->delay, std::move(last_error), read);
  Executed(request);
}

// LEASED -> the READY key it came from.
void Core::Impl::BackToReady(Lease* lease, uint32_t attempt) {
  CoreQueue* const queue = QueueById(lease->queue);
  PutReady(queue, lease->lane, lease->space, lease->order,
           {lease->priority, lease->ready_time_ms, lease->id}, {lease->flags, attempt}, nullptr);
  EraseLeased(lease, queue);
}

// LEASED -> SCHEDULED after `delay` (or READY without one), with a job row that tells where it
// stands.
void Core::Impl::ToRetry(Lease* lease, uint32_t attempt, uint32_t priority, Duration delay,
                         std::string last_error, const LookupTask* read) {
  CoreQueue* const queue = QueueById(lease->queue);
  const Lease& old = *lease;
  now_stale_ = true;  // a delay runs from now
  const uint32_t flags = old.flags | keycodec::kFlagJobRow;
  keycodec::JobRow row;
  row.attempt = attempt;
  row.priority = priority;
  row.last_error = std::move(last_error);
  if (read != nullptr && read->row) row.checkpoint = read->row->checkpoint;
  if (delay > Duration(0)) {
    const int64_t vests_ms = (now() + delay).ms();
    keycodec::AppendScheduledKey(old.lane, keycodec::Clock::kEngine, vests_ms, old.id, &row.key);
    keycodec::ScheduledValue value;
    value.flags = flags;
    value.attempt = attempt;
    value.zone = {old.queue, old.incarnation, old.order, std::string(old.space)};
    value.priority = priority;
    value.enqueued_ms = old.enqueued_ms;
    PutScheduled(queue, old.lane, keycodec::Clock::kEngine, vests_ms, old.id, std::move(value));
  } else {
    // It vests now; by priority its place is that of its enqueue.
    const int64_t ready_ms = old.order == keycodec::Order::kTime ? now().ms() : old.ready_time_ms;
    const keycodec::ReadyRank rank{priority, ready_ms, old.id};
    AppendReadyKey(*queue, old.lane, old.space, old.order, rank, &row.key);
    PutReady(queue, old.lane, old.space, old.order, rank, {flags, attempt}, nullptr);
  }
  value_.clear();
  keycodec::Append(row, &value_);
  PutRow(keycodec::JobRowKey(old.lane, old.id), value_);
  EraseLeased(lease, queue);
}

// LEASED -> dead letter; payload and checkpoint stay, a unique key is free. `read` is what a lookup
// found, needed for a lease with a flag of kDeathReads.
void Core::Impl::MakeDead(Lease* lease, std::string reason, std::string last_error,
                          const LookupTask* read) {
  CoreQueue* const queue = QueueById(lease->queue);
  const Lease& old = *lease;
  keycodec::DeadValue dead;
  const Incarnation incarnation = queue->life[KeyKind::kDead];
  dead.zone = {old.queue, incarnation, old.order, std::string(old.space)};
  dead.lane = old.lane;
  dead.attempt = old.attempt;
  dead.attempts_max = old.attempts_max;
  dead.priority = old.priority;
  dead.enqueued_ms = old.enqueued_ms;
  dead.died_wall_ms = std::max<int64_t>(0, shared_->clock->Wall().ms());
  dead.reason = std::move(reason);
  dead.last_error = last_error;
  dead.payload_bytes = old.payload_bytes;
  if (read != nullptr) {
    EndExtras(old, *read, false);
    dead.type = read->record->header.type;
  }
  keycodec::JobRow row;
  if (read != nullptr && read->row) row.checkpoint = read->row->checkpoint;
  row.place = keycodec::Place::kDead;
  row.key = keycodec::DeadKey(old.queue, incarnation, now().ms(), old.id);
  row.attempt = old.attempt;
  row.priority = old.priority;
  row.last_error = std::move(last_error);
  value_.clear();
  keycodec::Append(dead, &value_);
  PutRow(row.key, value_);
  value_.clear();
  keycodec::Append(row, &value_);
  PutRow(keycodec::JobRowKey(old.lane, old.id), value_);
  Count(queue, keycodec::Counter::kDead, 1);
  Count(queue, keycodec::Counter::kDied, 1);
  Count(queue, keycodec::Counter::kDeadBytes, old.payload_bytes);
  Emit(EventKind::kDead, old, dead.reason);
  NoteDeath(queue);
  EraseLeased(lease, queue);
}

// Leases whose time is up: ready again at once, or dead when that was the last attempt. In slices.
bool Core::Impl::ExpireLeases() {
  for (size_t i = 0; i < limits::kSliceJobs; ++i) {
    Lease* const lease = leases_.Expired(now_);
    if (lease == nullptr) return false;
    if (!unswept_.empty() && QueueById(lease->queue) == nullptr) {
      EraseDropped(lease);
      continue;
    }
    const bool used_up = lease->attempts_max != 0 && lease->attempt >= lease->attempts_max;
    if (used_up && (lease->flags & kDeathReads) != 0) {
      ExpireAfterRead(lease);
      continue;
    }
    Count(QueueById(lease->queue), keycodec::Counter::kExpired, 1);
    Emit(EventKind::kExpired, *lease);
    Learn(QueueById(lease->queue), *lease, false);
    if (used_up) {
      MakeDead(lease, "attempts used up: the lease expired", std::string(), nullptr);
    } else {
      BackToReady(lease, lease->attempt);
    }
  }
  return true;
}

// Its job row holds what a worker said last: that is read before the dead letter is written. The
// lease is over already (LiveLease), only its key has not moved yet.
void Core::Impl::ExpireAfterRead(Lease* lease) {
  leases_.Suspend(lease);
  const JobId id = lease->id;
  const Fence fence = lease->fence;
  Lookup(id, [this, id, fence](const LookupTask* task) {
    Lease* const ended = leases_.Find(id, fence);
    // Cancelled meanwhile, or its queue dropped.
    if (ended == nullptr || QueueById(ended->queue) == nullptr) return;
    if (!task->error.ok()) {  // the read pool could not read: try again a little later
      leases_.Resume(ended, now() + Seconds(1));
      return;
    }
    Count(QueueById(ended->queue), keycodec::Counter::kExpired, 1);
    Emit(EventKind::kExpired, *ended);
    Learn(QueueById(ended->queue), *ended, false);
    MakeDead(ended, "attempts used up: the lease expired",
             task->row ? task->row->last_error : std::string(), task);
  });
}

}  // namespace vestq
