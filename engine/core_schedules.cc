// SCHEDULE: commands on schedules, carried out by the owner of the schedule's lane. What happens when a slot is due
// stands in core_slots.cc.
//
// A schedule is a row that says all (its name is the key) and, unless it is paused, one timer at its next slot. Both
// change together, by the owner (engine/schedule_registry.h), and a timer that the row does not name is void (SCHED-1).
#include <algorithm>
#include <utility>

#include "engine/base/check.h"
#include "engine/core_impl.h"
#include "engine/schedule_registry.h"
#include "engine/schedule_task.h"
#include "lease/slots.h"

namespace vestq {
namespace {

Error NoSuchSchedule(const std::string& name) {
  return Error(ErrorCode::kNotFound, "there is no schedule " + name);
}

bool SameTiming(const keycodec::ScheduleValue& a, const keycodec::ScheduleValue& b) {
  return a.kind == b.kind && a.cron == b.cron && a.zone == b.zone && a.every_ms == b.every_ms;
}

// What a SET asks for, as a row of a new schedule.
keycodec::ScheduleValue ValueOf(const ScheduleRequest& request) {
  keycodec::ScheduleValue value;
  const EnqueueRequest& job = request.job;
  value.queue = job.queue;
  value.space = job.space;
  value.payload = job.payload;
  value.kind = request.timing.kind;
  value.cron = request.timing.cron;
  value.zone = request.timing.zone;
  value.every_ms = request.timing.every.ms();
  value.missed = request.timing.missed;
  value.priority = job.priority;
  value.attempts_set = job.attempts_set;
  value.attempts = job.attempts_set ? job.attempts : 0;
  value.lease_ms = job.lease.ms();
  value.backoff = job.backoff;
  value.unique_key = job.unique_key;
  value.unique_ms = job.unique_window.ms();
  value.expire_ms = job.expire.ms();
  if (job.keep) value.keep_ms = job.keep->ms();
  value.type = job.type;
  value.user_headers = job.headers;
  return value;
}

}  // namespace

WallTime Core::Impl::WallNow() const { return std::max(WallTime(0), shared_->clock->Wall()); }

void Core::Impl::Log(std::string_view line) const {
  if (shared_->options.log) shared_->options.log(line);
}

// True while this core may change the schedule's row and timer.
bool Core::Impl::OwnsSchedule(std::string_view name) const {
  const auto place = shared_->schedules->Find(name);
  return place && !place->moving_to && shared_->OwnerOf(place->lane) == id_;
}

void Core::Impl::Schedule(ScheduleRequest* request) {
  request->found = false;
  request->schedules.clear();
  switch (request->op) {
    case ScheduleOp::kGet: return GetSchedule(request);
    case ScheduleOp::kList: return ListSchedules(request);
    case ScheduleOp::kSet:
    case ScheduleOp::kDelete:
    case ScheduleOp::kPause:
    case ScheduleOp::kResume:
    case ScheduleOp::kRun: break;
  }
  LaneId lane;
  std::optional<ScheduleRegistry::Place> place;
  if (request->op == ScheduleOp::kSet) {
    const keycodec::ScheduleValue value = ValueOf(*request);
    // Before anything is claimed or moved for it: from here on it can only be carried out.
    if (const Result<Slots> slots = Slots::Of(value); !slots.ok())
      return Refuse(request, slots.error());
    lane = LaneOfSchedule(request->name, value, shared_->lanes);
    place = shared_->schedules->Claim(request->name, lane);
    if (!place) {
      return Refuse(request,
                    Error(ErrorCode::kFull, "there are " + std::to_string(limits::kSchedulesMax) +
                                                " schedules, the most there may be"));
    }
  } else {
    place = shared_->schedules->Find(request->name);
    if (!place) {
      if (request->op != ScheduleOp::kDelete) request->error = NoSuchSchedule(request->name);
      return Executed(request);
    }
  }
  if (request->moving) {
    CHECK(place->moving_to && shared_->OwnerOf(*place->moving_to) == id_,
          "SCHED-1: a schedule is carried to its new owner");
    shared_->schedules->EndMove(request->name);
    request->moving = false;
    return BeginChange(request);
  }
  // To the owner, and from one that has just let go on to the next, in order.
  CoreId owner = shared_->OwnerOf(place->lane);
  if (owner == id_ && place->moving_to) owner = shared_->OwnerOf(*place->moving_to);
  if (owner != id_) return PassOn(owner, request);
  // One at a time: the others wait here.
  if (const auto busy = changing_.find(request->name); busy != changing_.end())
    return busy->second.push_back(request);
  if (request->op == ScheduleOp::kSet && shared_->OwnerOf(lane) != id_)
    return CarryTo(lane, request);
  BeginChange(request);
}

void Core::Impl::PassOn(CoreId to, Request* request) {
  Send(to, Message{Message::Kind::kExecute, request, nullptr});
}

void Core::Impl::CarryTo(LaneId lane, ScheduleRequest* request) {
  shared_->schedules->BeginMove(request->name, lane);
  request->moving = true;
  PassOn(shared_->OwnerOf(lane), request);
}

void Core::Impl::BeginChange(ScheduleRequest* request) {
  CHECK(changing_.try_emplace(request->name).second, "SCHED-1: one change at a time");
  ReadSchedule(request);
}

// The change is carried out or refused; those that wait for it look again where the schedule is.
void Core::Impl::EndChange(ScheduleRequest* request) {
  const auto busy = changing_.find(request->name);
  const std::vector<ScheduleRequest*> waiting = std::move(busy->second);
  changing_.erase(busy);
  Executed(request);
  for (ScheduleRequest* next : waiting) Schedule(next);
}

void Core::Impl::ReadSchedule(ScheduleRequest* request) {
  auto task = std::make_unique<ScheduleTask>();
  task->name = request->name;
  task->mark = rows_log_.Begin();
  // Behind everything that an owner before this one has submitted.
  task->after = shared_->writes->submitted();
  ScheduleTask* const raw = task.get();
  task->finish = [this, request, raw](ReadTask*) {
    const bool changed = rows_log_.Changed(raw->mark, keycodec::ScheduleKey(raw->name));
    rows_log_.End(raw->mark);
    // A row that is damaged is replaced by SET; its timer is void then.
    const bool replaced =
        request->op == ScheduleOp::kSet && raw->error.code() == ErrorCode::kCorruption;
    if (!raw->error.ok() && !replaced) {
      request->error = raw->error;
      return EndChange(request);
    }
    if (changed) return ReadSchedule(request);  // a slot came
    ChangeSchedule(request, std::move(raw->schedule));
  };
  SubmitRead(std::move(task));
}

void Core::Impl::ChangeSchedule(ScheduleRequest* request,
                                std::optional<keycodec::ScheduleValue> row) {
  CHECK(OwnsSchedule(request->name), "SCHED-1: a schedule is changed by its owner");
  request->found = row.has_value();
  if (request->op == ScheduleOp::kSet) {
    request->error = SetSchedule(*request, row ? &*row : nullptr);
    return EndChange(request);
  }
  if (!row) {
    if (request->op != ScheduleOp::kDelete) request->error = NoSuchSchedule(request->name);
    return EndChange(request);
  }
  const LaneId lane = LaneOfSchedule(request->name, *row, shared_->lanes);
  if (shared_->OwnerOf(lane) != id_) {
    // A SET brought it here and then could not read: it goes back to where its timer is.
    const std::vector<ScheduleRequest*> waiting = std::move(changing_[request->name]);
    changing_.erase(request->name);
    CarryTo(lane, request);
    for (ScheduleRequest* next : waiting) Schedule(next);
    return;
  }
  switch (request->op) {
    case ScheduleOp::kDelete:
      DeleteRow(keycodec::ScheduleKey(request->name));
      DropSlotTimer(lane, request->name, *row);
      shared_->schedules->SetDeleted(request->name);
      gone_schedules_.push_back(request->name);
      break;
    case ScheduleOp::kPause:
      if (row->paused) break;
      DropSlotTimer(lane, request->name, *row);
      row->paused = true;
      row->next_ms = 0;
      PutSchedule(lane, request->name, *row);
      break;
    case ScheduleOp::kResume: request->error = ResumeSchedule(lane, request->name, &*row); break;
    case ScheduleOp::kRun: return RunSchedule(request, lane, *row);
    case ScheduleOp::kSet:
    case ScheduleOp::kGet:
    case ScheduleOp::kList: CHECK(false, "not a change of a stored schedule");
  }
  EndChange(request);
}

Error Core::Impl::ResumeSchedule(LaneId lane, const std::string& name,
                                 keycodec::ScheduleValue* row) {
  if (!row->paused) return Error::Ok();
  const Result<Slots> slots = Slots::Of(*row);
  if (!slots.ok()) return slots.error();
  row->paused = false;
  row->next_ms = slots->Next(WallNow()).value_or(WallTime(0)).ms();
  PutSchedule(lane, name, *row);
  return Error::Ok();
}

Error Core::Impl::SetSchedule(const ScheduleRequest& request, const keycodec::ScheduleValue* old) {
  const WallTime now = WallNow();
  keycodec::ScheduleValue value = ValueOf(request);
  const LaneId lane = LaneOfSchedule(request.name, value, shared_->lanes);
  const bool same = old != nullptr && SameTiming(value, *old);
  value.created_wall_ms = now.ms();
  if (value.kind == keycodec::ScheduleKind::kEvery) value.phase_ms = now.ms();
  if (old != nullptr) {
    value.created_wall_ms = old->created_wall_ms;
    value.paused = old->paused;
    value.last_ms = old->last_ms;
    value.fired = old->fired;
    value.skipped = old->skipped;
    value.missed_count = old->missed_count;
  }
  if (same) {
    value.phase_ms = old->phase_ms;
    value.next_ms = old->next_ms;
    if (value == *old) return Error::Ok();
  } else if (!value.paused) {
    const Result<Slots> slots = Slots::Of(value);
    if (!slots.ok()) return slots.error();
    value.next_ms = slots->Next(now).value_or(WallTime(0)).ms();
  }
  if (old != nullptr)
    DropSlotTimer(LaneOfSchedule(request.name, *old, shared_->lanes), request.name, *old);
  PutSchedule(lane, request.name, value);
  shared_->schedules->SetStored(request.name, lane);
  return Error::Ok();
}

// The row, and the timer of its next slot.
void Core::Impl::PutSchedule(LaneId lane, const std::string& name,
                             const keycodec::ScheduleValue& value) {
  std::string bytes;
  keycodec::Append(value, &bytes);
  PutRow(keycodec::ScheduleKey(name), bytes);
  if (value.next_ms == 0) return;
  PutTimer(lane, keycodec::Clock::kWall, value.next_ms,
           keycodec::TimerKey(lane, keycodec::Clock::kWall, value.next_ms, name), {});
}

void Core::Impl::DropSlotTimer(LaneId lane, const std::string& name,
                               const keycodec::ScheduleValue& value) {
  if (value.next_ms == 0) return;
  DeleteRow(keycodec::TimerKey(lane, keycodec::Clock::kWall, value.next_ms, name));
}

void Core::Impl::GetSchedule(ScheduleRequest* request) {
  auto task = std::make_unique<ScheduleTask>();
  task->name = request->name;
  task->after = shared_->writes->submitted();
  ScheduleTask* const raw = task.get();
  task->finish = [this, request, raw](ReadTask*) {
    if (!raw->error.ok()) return Refuse(request, raw->error);
    request->found = raw->schedule.has_value();
    if (raw->schedule) {
      const uint64_t bytes = raw->schedule->payload.size();
      request->schedules.push_back({request->name, std::move(*raw->schedule), bytes});
    }
    // The row may be of any core; what was read had been submitted by now.
    request->ticket = std::max(request->ticket, shared_->writes->submitted());
    Executed(request);
  };
  SubmitRead(std::move(task));
}

void Core::Impl::ListSchedules(ScheduleRequest* request) {
  auto task = std::make_unique<ScheduleListTask>();
  task->after_name = request->after;
  task->count = request->count;
  task->after = shared_->writes->submitted();
  ScheduleListTask* const raw = task.get();
  task->finish = [this, request, raw](ReadTask*) {
    if (!raw->error.ok()) return Refuse(request, raw->error);
    request->schedules = std::move(raw->schedules);
    request->more = raw->more;
    request->ticket = std::max(request->ticket, shared_->writes->submitted());
    Executed(request);
  };
  SubmitRead(std::move(task));
}

}  // namespace vestq
