// REVOKE, PROMOTE and RESCHEDULE: a person, or a program in their stead, moves one job.
#include <algorithm>

#include "engine/base/check.h"
#include "engine/core_impl.h"
#include "engine/lookup_task.h"

namespace vestq {

Error Core::Impl::NotMovable(JobId id, JobState state) {
  const std::string job = "job " + std::to_string(id.value());
  if (state == JobState::kGone || state == JobState::kDone) {
    return Error(ErrorCode::kNotFound, "there is no " + job);
  }
  return Error(ErrorCode::kBusy, job + " is " + std::string(JobStateName(state)));
}

// --- REVOKE ---

void Core::Impl::Revoke(RevokeRequest* request) {
  now_stale_ = true;
  Lease* const lease = LeaseOf(request->id);
  // One whose deadline has passed has ended by itself, even if its key has not moved yet.
  request->revoked = lease != nullptr && !lease->ending && lease->deadline > now();
  if (!request->revoked) return Executed(request);
  const bool used_up = lease->attempts_max != 0 && lease->attempt >= lease->attempts_max;
  if (used_up && (lease->flags & kDeathReads) != 0) {
    // What the last worker said is read first. The lease is over from here on.
    leases_.Suspend(lease);
    const Fence fence = lease->fence;
    return Lookup(request->id, [this, request, fence](const LookupTask* task) {
      Lease* const ended = leases_.Find(request->id, fence);
      // Cancelled meanwhile, or its queue dropped.
      if (ended == nullptr || QueueById(ended->queue) == nullptr) return Executed(request);
      if (!task->error.ok()) {  // it goes the way of an expired one, a little later
        leases_.Resume(ended, now() + Seconds(1));
        return Refuse(request, task->error);
      }
      Count(QueueById(ended->queue), keycodec::Counter::kExpired, 1);
      Emit(EventKind::kRevoked, *ended);
      Learn(QueueById(ended->queue), *ended, false);
      MakeDead(ended, "attempts used up: the lease was revoked",
               task->row ? task->row->last_error : std::string(), task);
      Executed(request);
    });
  }
  Count(QueueById(lease->queue), keycodec::Counter::kExpired, 1);
  Emit(EventKind::kRevoked, *lease);
  Learn(QueueById(lease->queue), *lease, false);
  if (used_up) {
    MakeDead(lease, "attempts used up: the lease was revoked", std::string(), nullptr);
  } else {
    BackToReady(lease, lease->attempt);
  }
  Executed(request);
}

// --- A job that is not leased ---

void Core::Impl::Unplace(const LookupTask* task) {
  const keycodec::Zone& zone = task->record->header.zone;
  CoreQueue* const queue = QueueById(zone.queue);
  key_.clear();
  if (task->state == JobState::kScheduled) {
    keycodec::AppendScheduledKey(task->lane, task->scheduled.clock, task->scheduled.time_ms,
                                 task->id, &key_);
    batch_.SingleDelete(Family::kVesting, key_);
    Count(queue, keycodec::Counter::kScheduled, -1);
  } else {
    CHECK(task->state == JobState::kReady, "a job that stands in SCHEDULED or READY");
    AppendReadyKey(*queue, task->lane, zone.space, zone.order, task->rank, &key_);
    batch_.SingleDelete(Family::kVesting, key_);
    Count(queue, keycodec::Counter::kReady, -1);
    SpaceState* const space = StateOf(queue, zone.space);
    if (space == nullptr) {
      queue->cursor.Note(PlaceOf(task->lane, zone.order, zone.space), SpaceCursor::Change::kGone);
    } else {
      LaneZone* const window = ZoneOf(space, task->lane, zone.order);
      ForgetReady(window, task->rank);
      CountWindow(window);
      SpaceChanged(space);
      MaybeForget(space);
    }
  }
  TouchJob(task->id);
}

void Core::Impl::PlaceAnew(const LookupTask* task, keycodec::Clock clock, int64_t time_ms,
                           uint32_t priority) {
  keycodec::JobRow row = task->row ? *task->row : keycodec::JobRow();
  row.attempt = task->attempt;
  row.priority = priority;
  if ((task->flags & keycodec::kFlagExpire) != 0) {
    // EXPIRE counts from the first vesting, which is another now.
    const keycodec::JobHeader& header = task->record->header;
    DropExpiry(task->lane, header, task->row ? &*task->row : nullptr, task->id);
    row.expires_clock = time_ms == 0 ? keycodec::Clock::kEngine : clock;
    row.expires_ms =
        std::min((time_ms == 0 ? now().ms() : time_ms) + header.expire_ms, limits::kKeyTimeMsMax);
    const std::string timer = keycodec::TimerKey(task->lane, row.expires_clock, row.expires_ms,
                                                 keycodec::TimerKind::kExpire, task->id);
    PutTimer(task->lane, row.expires_clock, row.expires_ms, timer, {});
  }
  PlaceJob(task->lane, task->id, task->record->header, task->flags, std::move(row), clock, time_ms);
}

// A job of this core gets a key, at time_ms by `clock` or ready (0), and a job row, which has its
// attempt and priority already, that names it.
void Core::Impl::PlaceJob(LaneId lane, JobId id, const keycodec::JobHeader& header, uint32_t flags,
                          keycodec::JobRow row, keycodec::Clock clock, int64_t time_ms) {
  const keycodec::Zone& zone = header.zone;
  CoreQueue* const queue = QueueById(zone.queue);
  flags |= keycodec::kFlagJobRow;
  row.place = keycodec::Place::kVesting;
  row.key.clear();
  if (time_ms == 0) {
    const int64_t ready_ms = zone.order == keycodec::Order::kTime ? now().ms() : header.enqueued_ms;
    const keycodec::ReadyRank rank{row.priority, ready_ms, id};
    AppendReadyKey(*queue, lane, zone.space, zone.order, rank, &row.key);
    PutReady(queue, lane, zone.space, zone.order, rank, {flags, row.attempt}, nullptr);
  } else {
    keycodec::AppendScheduledKey(lane, clock, time_ms, id, &row.key);
    keycodec::ScheduledValue value;
    value.flags = flags;
    value.attempt = row.attempt;
    value.zone = zone;
    value.priority = row.priority;
    value.enqueued_ms = header.enqueued_ms;
    PutScheduled(queue, lane, clock, time_ms, id, std::move(value));
  }
  value_.clear();
  keycodec::Append(row, &value_);
  PutRow(keycodec::JobRowKey(lane, id), value_);
}

// --- PROMOTE ---

void Core::Impl::Promote(PromoteRequest* request) {
  Lookup(request->id, [this, request](const LookupTask* task) {
    if (!task->error.ok()) return Refuse(request, task->error);
    if (LeaseOf(request->id) != nullptr) {
      return Refuse(request, NotMovable(request->id, JobState::kLeased));
    }
    PromoteFound(request, task);
  });
}

void Core::Impl::PromoteFound(PromoteRequest* request, const LookupTask* task) {
  if (task->state == JobState::kReady) return Executed(request);
  if (task->state != JobState::kScheduled) {
    return Refuse(request, NotMovable(task->id, task->state));
  }
  now_stale_ = true;
  Unplace(task);
  PlaceAnew(task, keycodec::Clock::kEngine, 0, task->priority);
  EmitMoved(EventKind::kRescheduled, task);
  Executed(request);
}

// --- RESCHEDULE ---

void Core::Impl::Reschedule(RescheduleRequest* request) {
  Lookup(request->id, [this, request](const LookupTask* task) {
    if (!task->error.ok()) return Refuse(request, task->error);
    if (LeaseOf(request->id) != nullptr) {
      return Refuse(request, NotMovable(request->id, JobState::kLeased));
    }
    RescheduleFound(request, task);
  });
}

void Core::Impl::RescheduleFound(RescheduleRequest* request, const LookupTask* task) {
  if (task->state != JobState::kScheduled && task->state != JobState::kReady) {
    return Refuse(request, NotMovable(task->id, task->state));
  }
  now_stale_ = true;  // a delay runs from now
  const keycodec::Clock clock = request->at_set ? keycodec::Clock::kWall : keycodec::Clock::kEngine;
  int64_t time_ms = 0;
  if (request->at_set) {
    if (request->at > shared_->clock->Wall()) time_ms = request->at.ms();
  } else if (request->delay > Duration(0)) {
    time_ms = (now() + request->delay).ms();
  }
  if (time_ms > limits::kKeyTimeMsMax) {
    return Refuse(
        request, Error(ErrorCode::kRange, "the job would vest after the last time a key can hold"));
  }
  const uint32_t priority = request->priority_set ? request->priority : task->priority;
  // A move to the same key is no write.
  const bool stays =
      priority == task->priority &&
      (time_ms == 0 ? task->state == JobState::kReady
                    : task->state == JobState::kScheduled && task->scheduled.clock == clock &&
                          task->scheduled.time_ms == time_ms);
  if (!stays) {
    Unplace(task);
    PlaceAnew(task, clock, time_ms, priority);
    EmitMoved(EventKind::kRescheduled, task);
  }
  Executed(request);
}

}  // namespace vestq
