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
  auto task = std::make_unique<LookupTask>(shared_->LaneOf(id), id);
  LookupTask* const raw = task.get();
  watched_.emplace(id, raw);
  task->finish = [this, raw, then = std::move(then)](ReadTask*) {
    auto [first, last] = watched_.equal_range(raw->id);
    watched_.erase(
        std::find_if(first, last, [raw](const auto& entry) { return entry.second == raw; }));
    if (raw->changed && raw->error.ok()) return Lookup(raw->id, then);
    then(raw);
  };
  SubmitRead(std::move(task));
}

void Core::Impl::TouchJob(JobId id) {
  if (watched_.empty()) return;
  auto [first, last] = watched_.equal_range(id);
  for (auto it = first; it != last; ++it) it->second->changed = true;
}

void Core::Impl::Refuse(Request* request, const Error& error) {
  request->error = error;
  Executed(request);
}

// --- CANCEL ---

void Core::Impl::Cancel(CancelRequest* request) {
  request->cancelled = false;
  if (Lease* const lease = leases_.FindById(request->id)) return CancelLeased(request, lease);
  Lookup(request->id, [this, request](const LookupTask* task) {
    if (!task->error.ok()) return Refuse(request, task->error);
    if (Lease* const lease = leases_.FindById(request->id)) return CancelLeased(request, lease);
    CancelFound(request, task);
  });
}

void Core::Impl::CancelLeased(CancelRequest* request, Lease* lease) {
  EraseJob(lease, keycodec::Counter::kCancelled);
  request->cancelled = true;
  Executed(request);
}

void Core::Impl::CancelFound(CancelRequest* request, const LookupTask* task) {
  if (task->state == JobState::kGone) return Executed(request);
  const keycodec::Zone& zone = task->record->header.zone;
  CoreQueue* const queue = QueueById(zone.queue);
  switch (task->state) {
    case JobState::kScheduled:
    case JobState::kReady: Unplace(task); break;
    case JobState::kDead:
      batch_.Delete(Family::kRows, task->row->key);
      Count(queue, keycodec::Counter::kDead, -1);
      break;
    case JobState::kGone:
    case JobState::kLeased:
    case JobState::kWaiting:
    case JobState::kDone: CHECK(false, "a lookup finds scheduled, ready and dead jobs");
  }
  key_.clear();
  keycodec::AppendJobKey(task->lane, task->id, &key_);
  batch_.SingleDelete(Family::kJob, key_);
  if (task->row) batch_.Delete(Family::kRows, keycodec::JobRowKey(task->lane, task->id));
  Count(queue, keycodec::Counter::kCancelled, 1);
  Count(queue, keycodec::Counter::kBytes, -static_cast<int64_t>(task->record->payload.size()));
  TouchJob(task->id);
  request->cancelled = true;
  Executed(request);
}

// --- JOB ---

void Core::Impl::Describe(JobRequest* request) {
  request->state = JobState::kGone;
  Lookup(request->id, [this, request](const LookupTask* task) {
    if (!task->error.ok()) return Refuse(request, task->error);
    DescribeFound(request, task);
    Executed(request);
  });
}

void Core::Impl::DescribeFound(JobRequest* request, const LookupTask* task) {
  if (!task->record) return;
  const keycodec::JobHeader& header = task->record->header;
  request->queue = QueueById(header.zone.queue)->record->name;
  request->space = header.zone.space;
  request->attempts = header.attempts_max;
  request->enqueued = WallTime(header.enqueued_wall_ms);
  request->size = task->record->payload.size();
  if (request->want_payload) request->payload.assign(task->record->payload);
  if (task->row) request->last_error = task->row->last_error;
  if (const Lease* const lease = leases_.FindById(request->id)) {
    request->state = JobState::kLeased;
    request->priority = lease->priority;
    request->attempt = lease->attempt;
    request->lease_left =
        std::max(Duration(0), lease->ending ? Duration(0) : lease->deadline - now());
    request->worker = lease->worker;
    return;
  }
  request->state = task->state;
  request->priority = task->priority;
  request->attempt = task->attempt;
  if (task->state == JobState::kScheduled) {
    const Duration left = task->scheduled.clock == keycodec::Clock::kEngine
                              ? MonoTime(task->scheduled.time_ms) - now()
                              : WallTime(task->scheduled.time_ms) - shared_->clock->Wall();
    request->vests_in = std::max(Duration(0), left);
  } else if (task->state == JobState::kDead) {
    request->reason = task->dead.reason;
    request->last_error = task->dead.last_error;
  }
}

}  // namespace vestq
