// Slots of schedules that are due: the job and the booking of the next slot are one batch, so each slot makes exactly
// one job, across crashes and whatever the wall clock does (SCHED-2).
#include <algorithm>
#include <cstdlib>
#include <utility>

#include "engine/base/check.h"
#include "engine/core_impl.h"
#include "engine/schedule_request.h"
#include "engine/timer_task.h"
#include "engine/unique_task.h"
#include "lease/slots.h"

namespace vestq {
namespace {

// The wall clock has been stepped when it stands so much off where it stood.
constexpr Duration kStep = Seconds(1);
// Slots that were run at times that lie so far in the future were run by a clock that was wrong.
constexpr Duration kWrongBy = Days(1);
// About what one turn writes of the jobs of one schedule.
constexpr size_t kSliceBytes = size_t{256} << 10;
// A turn whose batch has grown to this leaves the other slots to the next turn.
constexpr size_t kTurnBytes = size_t{1} << 20;

// A slot's job, as ENQUEUE would have it.
void FillJob(const keycodec::ScheduleValue& schedule, EnqueueRequest* job) {
  job->queue = schedule.queue;
  job->space = schedule.space;
  job->payload = schedule.payload;
  job->priority = schedule.priority;
  job->attempts_set = schedule.attempts_set;
  job->attempts = schedule.attempts;
  job->backoff = schedule.backoff;
  job->lease = Duration(schedule.lease_ms);
  job->unique_key = schedule.unique_key;
  job->unique_window = Duration(schedule.unique_ms);
  job->expire = Duration(schedule.expire_ms);
  if (schedule.keep_ms) job->keep = Duration(*schedule.keep_ms);
  job->type = schedule.type;
  job->headers = schedule.user_headers;
}

}  // namespace

// A slot whose time has come, with the time and the row as they were read.
struct Core::Impl::DueSlot {
  std::string name;
  LaneId lane;
  keycodec::ScheduleValue schedule;
  Slots::Due due;
  EnqueueRequest job;
};

void Core::Impl::FireSlot(const TimerTask::Hit& hit) {
  if (!hit.row) return DeleteRow(hit.key);
  Result<keycodec::ScheduleValue> row = keycodec::DecodeScheduleValue(*hit.row);
  if (!row.ok()) {
    Log("schedule " + hit.timer.schedule + " runs no more: " + row.error().ToString());
    return DeleteRow(hit.key);
  }
  auto slot = std::make_shared<DueSlot>();
  slot->name = hit.timer.schedule;
  slot->schedule = std::move(*row);
  slot->lane = LaneOfSchedule(slot->name, slot->schedule, shared_->lanes);
  if (slot->lane != hit.timer.lane) return DeleteRow(hit.key);
  // On its way to another core: that one deletes this timer in the batch that puts its own.
  if (!OwnsSchedule(slot->name)) return;
  if (slot->schedule.paused || slot->schedule.next_ms != hit.timer.time_ms)
    return DeleteRow(hit.key);

  const WallTime next(slot->schedule.next_ms);
  const WallTime now = WallNow();
  // Stepped back since the timer was read; or enough for this turn.
  if (next > now || batch_.bytes() > kTurnBytes)
    return NoteTimer(slot->lane, keycodec::Clock::kWall, next.ms());
  const Result<Slots> slots = Slots::Of(slot->schedule);
  if (!slots.ok()) {
    // Its zone has gone from the machine's data. It says so and waits for RESUME, rather than to go
    // by another zone.
    Log("schedule " + slot->name + " is paused: " + slots.error().ToString());
    slot->schedule.paused = true;
    slot->due.next.reset();
    return BookNext(slot.get());
  }
  const size_t bytes = std::max<size_t>(1, slot->schedule.payload.size());
  const auto jobs_most =
      static_cast<uint32_t>(std::clamp<size_t>(kSliceBytes / bytes, 1, kSlotJobs));
  slot->due = slots->TakeDue(slot->schedule.missed, next, now, jobs_most);
  if (slot->due.left_out) {
    Log("schedule " + slot->name + ": more than " + std::to_string(kSlotsSeen) +
        " slots are due; those older than " + std::to_string(kSlotsCounted.ms() / Days(1).ms()) +
        " days are passed over");
  }
  if (slot->due.jobs == 0) return BookNext(slot.get());
  FillJob(slot->schedule, &slot->job);
  const Result<QueueRecord*> record = RecordOf(slot->job.queue);
  if (!record.ok()) return SlotRefused(slot.get(), slot->due.jobs, record.error());
  CoreQueue* const queue = QueueHere(*record);
  if (!slot->job.unique_key.empty()) return FireUnique(queue, std::move(slot));
  const Backlog want{1, static_cast<int64_t>(slot->job.payload.size())};
  for (uint32_t i = 0; i < slot->due.jobs; ++i) {
    if (queue->backlog != nullptr && !TakeRoom(queue, want))
      return SlotRefused(slot.get(), slot->due.jobs - i, NoRoomError(*queue, want));
    const Error error = AddJob(queue, slot->lane, &slot->job);
    if (!error.ok()) return SlotRefused(slot.get(), slot->due.jobs - i, error);
    ++slot->schedule.fired;
    slot->schedule.last_ms = slot->due.last.ms();
  }
  BookNext(slot.get());
}

// With UNIQUE: one job at most, and none while an earlier one lives.
void Core::Impl::FireUnique(CoreQueue* queue, std::shared_ptr<DueSlot> slot) {
  const uint64_t mark = rows_log_.Begin();
  FindHolder(queue, &slot->job, [this, queue, slot, mark](const UniqueTask* task) {
    const bool changed = rows_log_.Changed(mark, keycodec::ScheduleKey(slot->name));
    rows_log_.End(mark);
    if (!task->error.ok() || changed || !OwnsSchedule(slot->name)) {
      if (!task->error.ok()) Log("schedule " + slot->name + ": " + task->error.ToString());
      const Duration pause = task->error.ok() ? Duration(0) : Seconds(1);
      retries_.emplace(now() + pause, [this, slot] {
        NoteTimer(slot->lane, keycodec::Clock::kWall, slot->schedule.next_ms);
      });
      return;
    }
    Backlog want;
    if (!AddUnique(queue, &slot->job, task, Backlog(), &want))
      slot->job.error = NoRoomError(*queue, want);
    if (!slot->job.error.ok()) return SlotRefused(slot.get(), slot->due.jobs, slot->job.error);
    slot->schedule.skipped += slot->due.jobs - (slot->job.added ? 1 : 0);
    if (slot->job.added) {
      ++slot->schedule.fired;
      slot->schedule.last_ms = slot->due.last.ms();
    }
    BookNext(slot.get());
  });
}

// The queue does not take the job (a limit): its slots count as missed.
void Core::Impl::SlotRefused(DueSlot* slot, uint32_t jobs, const Error& error) {
  // Of a full queue the count tells; it may be so for each slot.
  if (error.code() != ErrorCode::kFull) Log("schedule " + slot->name + ": " + error.ToString());
  slot->schedule.missed_count += jobs;
  BookNext(slot);
}

void Core::Impl::BookNext(DueSlot* slot) {
  DropSlotTimer(slot->lane, slot->name, slot->schedule);
  slot->schedule.missed_count += slot->due.missed;
  slot->schedule.next_ms = slot->due.next.value_or(WallTime(0)).ms();
  PutSchedule(slot->lane, slot->name, slot->schedule);
}

// --- Clocks that were wrong ---

// After a step back of the wall clock, and after a start, the next slots are looked at again: a
// schedule that was set or that ran while the clock stood years ahead would be silent for years.
// Of a step either way a clock row tells, also when nothing else is written: after a power cut, what the
// wall clock went on by since the last row would count as time that the machine was down.
void Core::Impl::LookForStep(WallTime wall) {
  const int64_t ahead_ms = wall.ms() - now_.ms();
  if (!wall_ahead_ms_) wall_ahead_ms_ = ahead_ms;  // the start has written it
  if (id_ == CoreId(0) && std::abs(ahead_ms - *wall_ahead_ms_) > kStep.ms()) {
    wall_ahead_ms_ = ahead_ms;
    clock_stepped_ = true;
  }
  const bool back = wall + kStep < latest_wall_;
  latest_wall_ = wall;
  if (!back) return;
  for (LaneState& lane : lanes_) RecheckSlots(&lane, std::string());
}

void Core::Impl::RecheckSlots(LaneState* lane, std::string from_key) {
  auto task = std::make_unique<TimerTask>();
  task->lane = lane->id;
  task->clock = keycodec::Clock::kWall;
  task->from_key = std::move(from_key);
  task->until_ms = MonoTime::Max().ms();
  task->max_timers = limits::kSliceJobs;
  task->mark = rows_log_.Begin();
  TimerTask* const raw = task.get();
  task->finish = [this, lane, raw](ReadTask*) {
    if (!raw->error.ok()) {
      Log("reading timers failed: " + raw->error.ToString());
      if (!shared_->writes->failed()) {
        retries_.emplace(now() + kReadRetry,
                         [this, lane, from = raw->from_key] { RecheckSlots(lane, from); });
      }
    }
    for (const TimerTask::Hit& hit : raw->hits) {
      const bool changed =
          rows_log_.Changed(raw->mark, hit.key) || rows_log_.Changed(raw->mark, hit.row_key);
      if (raw->error.ok() && !changed && hit.row) RecheckSlot(hit);
    }
    rows_log_.End(raw->mark);
    if (raw->error.ok() && !raw->next_key.empty()) RecheckSlots(lane, std::move(raw->next_key));
  };
  SubmitRead(std::move(task));
}

// Brings the next slot forward when nothing was run from now on, or only by a clock that was wrong by
// far. A small step back repeats nothing: the schedule waits until the clock has caught up.
void Core::Impl::RecheckSlot(const TimerTask::Hit& hit) {
  if (hit.timer.kind != keycodec::TimerKind::kSchedule) return;
  const Result<keycodec::ScheduleValue> row = keycodec::DecodeScheduleValue(*hit.row);
  if (!row.ok() || row->paused || row->next_ms != hit.timer.time_ms) return;
  const std::string& name = hit.timer.schedule;
  if (!OwnsSchedule(name) || LaneOfSchedule(name, *row, shared_->lanes) != hit.timer.lane) return;
  const WallTime now = WallNow();
  const WallTime last(row->last_ms);
  if (last > now && last < now + kWrongBy) return;
  const Result<Slots> slots = Slots::Of(*row);
  if (!slots.ok()) return;
  const std::optional<WallTime> next = slots->Next(now);
  if (!next || next->ms() >= row->next_ms) return;
  DropSlotTimer(hit.timer.lane, name, *row);
  keycodec::ScheduleValue earlier = *row;
  earlier.next_ms = next->ms();
  PutSchedule(hit.timer.lane, name, earlier);
}

// RUN: a job beside all slots.
void Core::Impl::RunSchedule(ScheduleRequest* request, LaneId lane,
                             const keycodec::ScheduleValue& schedule) {
  FillJob(schedule, &request->job);
  request->job.added = true;
  const Result<QueueRecord*> record = RecordOf(request->job.queue);
  if (!record.ok()) {
    request->error = record.error();
    return EndChange(request);
  }
  CoreQueue* const queue = QueueHere(*record);
  if (request->job.unique_key.empty()) {
    const Backlog want{1, static_cast<int64_t>(request->job.payload.size())};
    const bool room = queue->backlog == nullptr || TakeRoom(queue, want);
    request->error = room ? AddJob(queue, lane, &request->job) : NoRoomError(*queue, want);
    return EndChange(request);
  }
  FindHolder(queue, &request->job, [this, queue, request](const UniqueTask* task) {
    request->error = task->error;
    if (task->error.ok()) {
      Backlog want;
      const bool room = AddUnique(queue, &request->job, task, Backlog(), &want);
      request->error = room ? request->job.error : NoRoomError(*queue, want);
    }
    EndChange(request);
  });
}

// The places that the last turn's commands have emptied: what they deleted is submitted by now, so
// whoever claims such a name from here on, on any core, reads behind it.
void Core::Impl::ForgetSchedules() {
  for (const std::string& name : std::exchange(gone_schedules_, {})) {
    if (changing_.contains(name)) {
      gone_schedules_.push_back(name);  // perhaps it is just being set anew
    } else if (OwnsSchedule(name)) {
      shared_->schedules->Forget(name);
    }
  }
}

}  // namespace vestq
