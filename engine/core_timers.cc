// Timers: what ends or is due at a time of its own, beside the jobs' vesting. A timer is a row of its
// lane, put with what it is about and deleted with it or when it fires; the owner reads those that are
// due from a remembered bound, in slices. TIMER-1: a timer alone decides nothing. What it is about is
// looked at when it fires, and a timer whose row tells of something else is void.
#include <algorithm>

#include "engine/base/check.h"
#include "engine/core_impl.h"
#include "engine/due_scan.h"
#include "engine/expiry.h"
#include "engine/lookup_task.h"
#include "engine/timer_task.h"

namespace vestq {
namespace {
// Each EXPIRE that ends reads its job.
constexpr size_t kTimersASlice = 32;
}  // namespace

void Core::Impl::PutRow(const std::string& key, std::string_view value) {
  batch_.Put(Family::kRows, key, value);
  rows_log_.Note(key);
}

void Core::Impl::DeleteRow(const std::string& key) {
  batch_.Delete(Family::kRows, key);
  rows_log_.Note(key);
}

void Core::Impl::PutTimer(LaneId lane, keycodec::Clock clock, int64_t time_ms,
                          const std::string& key, std::string row) {
  value_.clear();
  keycodec::Append(keycodec::TimerValue{std::move(row)}, &value_);
  PutRow(key, value_);
  NoteTimer(lane, clock, time_ms);
}

void Core::Impl::NoteTimer(LaneId lane, keycodec::Clock clock, int64_t time_ms) {
  NoteDue(&LaneHere(lane)->timers[clock == keycodec::Clock::kWall], time_ms);
}

void Core::Impl::FireTimers(WallTime wall) {
  const int64_t now_ms[2] = {now_.ms(), wall.ms()};
  for (LaneState& lane : lanes_) {
    for (int i = 0; i < 2; ++i) {
      DueScan& due = lane.timers[i];
      if (due.scanning || due.next_ms > now_ms[i]) continue;
      auto task = std::make_unique<TimerTask>();
      task->lane = lane.id;
      task->clock = i == 0 ? keycodec::Clock::kEngine : keycodec::Clock::kWall;
      task->until_ms = now_ms[i];
      task->max_timers = kTimersASlice;
      task->mark = rows_log_.Begin();
      BeginScan(&due, task.get());
      TimerTask* const raw = task.get();
      task->finish = [this, &lane, raw](ReadTask*) {
        FinishTimers(&lane, raw);
        rows_log_.End(raw->mark);
      };
      SubmitRead(std::move(task));
    }
  }
}

void Core::Impl::FinishTimers(LaneState* lane, TimerTask* task) {
  const int i = task->clock == keycodec::Clock::kWall;
  DueScan& due = lane->timers[i];
  due.scanning = false;
  if (!task->error.ok()) {
    Log("reading due timers failed: " + task->error.ToString());
    retries_.emplace(now() + kReadRetry, [lane, i, from_ms = task->from_ms] {
      lane->timers[i].next_ms = std::min(lane->timers[i].next_ms, from_ms);
    });
    return;
  }
  EndScan(&due, task, !task->hits.empty(),
          task->hits.empty() ? 0 : task->hits.back().timer.time_ms);
  for (TimerTask::Hit& hit : task->hits) {
    if (rows_log_.Changed(task->mark, hit.key)) continue;  // deleted, or put anew and noted
    if (!hit.row_key.empty() && rows_log_.Changed(task->mark, hit.row_key)) {
      NoteTimer(lane->id, task->clock, hit.timer.time_ms);  // look again
      continue;
    }
    FireTimer(hit);
  }
}

void Core::Impl::FireTimer(const TimerTask::Hit& hit) {
  switch (hit.timer.kind) {
    case keycodec::TimerKind::kUniqueWindow: return EndUniqueWindow(hit);
    case keycodec::TimerKind::kKept: return EndKept(hit);
    case keycodec::TimerKind::kExpire: return Lapse(hit);
    case keycodec::TimerKind::kSchedule: return FireSlot(hit);
  }
}

// --- EXPIRE ---

void Core::Impl::PutExpiry(LaneId lane, const keycodec::JobHeader& header, JobId id) {
  if ((header.flags & keycodec::kFlagExpire) == 0) return;
  const auto [clock, time_ms] = ExpiryOf(header, nullptr);
  PutTimer(lane, clock, time_ms,
           keycodec::TimerKey(lane, clock, time_ms, keycodec::TimerKind::kExpire, id), {});
}

void Core::Impl::DropExpiry(LaneId lane, const keycodec::JobHeader& header,
                            const keycodec::JobRow* row, JobId id) {
  const auto [clock, time_ms] = ExpiryOf(header, row);
  DeleteRow(keycodec::TimerKey(lane, clock, time_ms, keycodec::TimerKind::kExpire, id));
}

bool Core::Impl::HasLapsed(const keycodec::JobHeader& header, const keycodec::JobRow* row) {
  const auto [clock, time_ms] = ExpiryOf(header, row);
  const int64_t now_ms =
      clock == keycodec::Clock::kEngine ? now().ms() : shared_->clock->Wall().ms();
  return time_ms <= now_ms;
}

// The job has not been leased in its time. One that has been (its key no longer has the flag), that is
// gone, or that was given another time since, is left alone.
void Core::Impl::Lapse(const TimerTask::Hit& hit) {
  Lookup(hit.timer.id, [this, key = hit.key, timer = hit.timer](const LookupTask* task) {
    if (!task->error.ok()) {
      retries_.emplace(now() + kReadRetry,
                       [this, timer] { NoteTimer(timer.lane, timer.clock, timer.time_ms); });
      return;
    }
    DeleteRow(key);
    if (LeaseOf(timer.id) != nullptr) return;
    if (task->state != JobState::kReady && task->state != JobState::kScheduled) return;
    if ((task->flags & keycodec::kFlagExpire) == 0) return;
    const auto expiry = ExpiryOf(task->record->header, task->row ? &*task->row : nullptr);
    if (expiry != std::pair(timer.clock, timer.time_ms)) return;
    EraseFound(task, EventKind::kLapsed);
  });
}

// --- KEEP ---

// What is left of a job that is done: readable by its id until the time is up.
void Core::Impl::KeepResult(const Lease& lease, const LookupTask& found, Duration keep,
                            std::string result) {
  const keycodec::JobHeader& header = found.record->header;
  CoreQueue* const queue = QueueById(lease.queue);
  const int64_t until_ms = std::min((now() + keep).ms(), limits::kKeyTimeMsMax);
  keycodec::DoneValue done;
  const Incarnation incarnation = queue->life[KeyKind::kDone];
  done.zone = {lease.queue, incarnation, lease.order, std::string(lease.space)};
  done.lane = lease.lane;
  done.attempt = lease.attempt;
  done.attempts_max = lease.attempts_max;
  done.priority = lease.priority;
  done.enqueued_wall_ms = header.enqueued_wall_ms;
  done.done_wall_ms = std::max<int64_t>(0, shared_->clock->Wall().ms());
  done.keep_until_ms = until_ms;
  done.payload_bytes = lease.payload_bytes;
  if (found.row) done.last_error = found.row->last_error;
  done.result = std::move(result);
  done.type = header.type;
  keycodec::JobRow row;
  row.place = keycodec::Place::kDone;
  row.key = keycodec::DoneKey(lease.queue, incarnation, now().ms(), lease.id);
  row.attempt = lease.attempt;
  row.priority = lease.priority;
  value_.clear();
  keycodec::Append(done, &value_);
  PutRow(row.key, value_);
  value_.clear();
  keycodec::Append(row, &value_);
  PutRow(keycodec::JobRowKey(lease.lane, lease.id), value_);
  const std::string timer = keycodec::TimerKey(lease.lane, keycodec::Clock::kEngine, until_ms,
                                               keycodec::TimerKind::kKept, lease.id);
  PutTimer(lease.lane, keycodec::Clock::kEngine, until_ms, timer, row.key);
  Count(queue, keycodec::Counter::kDone, 1);
}

// The result was put with this timer, and nothing else removes it.
void Core::Impl::EndKept(const TimerTask::Hit& hit) {
  DeleteRow(hit.key);
  const Result<keycodec::DoneRowKey> done = keycodec::DecodeDoneKey(hit.row_key);
  if (!done.ok()) {
    Log("a kept result: " + done.error().ToString());
    return;
  }
  CoreQueue* const queue = QueueById(done->queue);
  // Purged or dropped: it was counted then, and the eraser removes it.
  if (queue == nullptr || done->incarnation != queue->life[KeyKind::kDone]) return;
  DeleteRow(hit.row_key);
  DeleteRow(keycodec::JobRowKey(hit.timer.lane, hit.timer.id));
  TouchJob(hit.timer.id);
  Count(queue, keycodec::Counter::kDone, -1);
}

}  // namespace vestq
