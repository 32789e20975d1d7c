// The simulation's schedules: every so often, or by cron in UTC, which is every so often too. They are set, set
// again, paused, resumed, run by hand and deleted, and their jobs go to a queue of their own, which nobody
// purges: so every job that a slot made is seen.
//
//   SIM-24  each slot makes one job or is counted as missed or passed over, across crashes, kills and steps of
//           the wall clock: there are exactly as many jobs as a schedule says it has made. SET again
//           unchanged keeps the phase; with MISSED all none is missed; one that was deleted makes none
#include <algorithm>

#include "engine/schedule_request.h"
#include "tests/sim/simulation.h"
#include "tests/sim/simulation_model.h"

namespace vestq {
namespace {
constexpr std::array<const char*, 3> kNames = {"often", "nightly", "sweep"};
constexpr std::array<keycodec::Missed, 3> kPolicies = {
    keycodec::Missed::kOnce, keycodec::Missed::kSkip, keycodec::Missed::kAll};
}  // namespace

// --- Asking ---

bool Simulation::StartSchedule(Pending* pending) {
  const std::string name = random_.Pick(kNames);
  ModelSchedule& schedule = schedules_[name];
  if (schedule.unsettled) return false;
  const uint64_t dice = schedule.there ? random_.Below(8) : 0;
  auto request = std::make_unique<ScheduleRequest>();
  request->name = name;
  if (dice < 3) {
    if (!schedule.there || random_.Chance(0.5)) {
      schedule.disturbed = true;
      ChooseTiming(&schedule);
    }
    FillSchedule(schedule, request.get());
  } else if (dice < 6) {
    request->op = ScheduleOp::kRun;
    ++schedule.runs_most;
  } else if (dice == 6) {
    request->op = schedule.paused ? ScheduleOp::kResume : ScheduleOp::kPause;
    schedule.disturbed = true;
  } else {
    request->op = ScheduleOp::kDelete;
    schedule.disturbed = true;
  }
  schedule.unsettled = true;
  pending->op = Op::kSchedule;
  pending->request = std::move(request);
  return true;
}

void Simulation::ChooseTiming(ModelSchedule* schedule) {
  schedule->missed = random_.Pick(kPolicies);
  schedule->cron = random_.Chance(0.3);
  // `all` works off each slot of an hour that the wall clock leaps over.
  const uint64_t least_ms = schedule->missed == keycodec::Missed::kAll ? 60'000 : 500;
  schedule->period_ms = schedule->cron ? 60'000 * static_cast<int64_t>(1 + random_.Below(3))
                                       : static_cast<int64_t>(least_ms + random_.Below(5'000));
  schedule->unique = random_.Chance(0.3);
}

void Simulation::FillSchedule(const ModelSchedule& schedule, ScheduleRequest* request) {
  request->op = ScheduleOp::kSet;
  request->timing.missed = schedule.missed;
  if (schedule.cron) {
    request->timing.kind = keycodec::ScheduleKind::kCron;
    request->timing.cron = "*/" + std::to_string(schedule.period_ms / 60'000) + " * * * *";
  } else {
    request->timing.kind = keycodec::ScheduleKind::kEvery;
    request->timing.every = Milliseconds(schedule.period_ms);
  }
  request->job.queue = kScheduleQueue;
  request->job.payload = PayloadOf(request->name, schedule);
  request->job.attempts_set = true;
  if (schedule.unique) request->job.unique_key = request->name;
}

std::string Simulation::PayloadOf(const std::string& name, const ModelSchedule& schedule) {
  return "slot:" + name + ":" + std::to_string(schedule.version);
}

void Simulation::AnsweredSchedule(const Pending& pending) {
  const auto& request = static_cast<const ScheduleRequest&>(*pending.request);
  ModelSchedule& schedule = schedules_[request.name];
  schedule.unsettled = false;
  if (!request.error.ok()) return Broken("SIM-24: SCHEDULE failed: " + request.error.ToString());
  switch (request.op) {
    case ScheduleOp::kSet: schedule.there = true; break;
    case ScheduleOp::kDelete: Deleted(request.name, &schedule); break;
    case ScheduleOp::kPause: schedule.paused = true; break;
    case ScheduleOp::kResume: schedule.paused = false; break;
    case ScheduleOp::kRun:
      if (request.job.added) {
        ++schedule.runs_least;
      } else {
        --schedule.runs_most;
      }
      break;
    case ScheduleOp::kGet:
    case ScheduleOp::kList: break;
  }
}

// Jobs that it has made may still be unseen, until the next look.
void Simulation::Deleted(const std::string& name, ModelSchedule* schedule) {
  closing_.push_back(PayloadOf(name, *schedule));
  const int version = schedule->version + 1;
  *schedule = {};
  schedule->version = version;
}

void Simulation::CutSchedules() {
  for (auto& [name, schedule] : schedules_) {
    schedule.unsure = schedule.unsettled;
    schedule.unsettled = false;
  }
}

// --- Its jobs ---

Simulation::ModelJob* Simulation::SlotJob(JobId id, const std::string& payload) {
  if (payload.rfind("slot:", 0) != 0) return nullptr;
  if (ModelJob* const known = Find(id); known != nullptr) return known;
  Slots& slots = slots_[payload];
  if (slots.closed) {
    Broken("SIM-24: job " + std::to_string(id.value()) +
           " is of a schedule that was deleted before");
    return nullptr;
  }
  slots.seen.insert(id);
  auto made = std::make_unique<ModelJob>();
  ModelJob* const job = made.get();
  job->payload = payload;
  job->queue = kScheduleQueue;
  job->id = id;
  job->acknowledged = true;
  job->acknowledged_event = ++events_;
  job->attempts_known = true;
  by_id_[id] = job;
  jobs_.push_back(std::move(made));
  return job;
}

// --- At rest ---

// All that there is has been seen.
void Simulation::CheckSchedules() {
  for (const std::string& payload : std::exchange(closing_, {})) slots_[payload].closed = true;
  for (const char* name : kNames) {
    if (broken_.empty()) CheckSchedule(name, &schedules_[name]);
  }
}

void Simulation::CheckSchedule(const std::string& name, ModelSchedule* schedule) {
  ScheduleRequest get;
  get.op = ScheduleOp::kGet;
  get.name = name;
  world_->Run(&get, static_cast<uint16_t>(random_.Below(world_->options().cores)));
  if (!get.error.ok()) return Broken("SCHEDULE GET failed: " + get.error.ToString());
  const std::string who = "SIM-24: schedule " + name;
  if (std::exchange(schedule->unsure, false)) {  // a crash took the answer
    schedule->disturbed = true;
    if (schedule->there && !get.found) {
      Deleted(name, schedule);
      slots_[std::exchange(closing_, {})[0]].closed = true;
    }
    schedule->there = get.found;
    if (get.found) Adopt(get.schedules[0].value, schedule);
  }
  if (get.found != schedule->there)
    return Broken(who + (get.found ? " is there again" : " is lost"));
  if (!get.found) return;
  const keycodec::ScheduleValue& row = get.schedules[0].value;
  if (row.paused != schedule->paused) return Broken(who + " is paused, or is not, as nobody said");
  const auto made = static_cast<uint64_t>(slots_[PayloadOf(name, *schedule)].seen.size());
  if (made < row.fired + schedule->runs_least || made > row.fired + schedule->runs_most) {
    return Broken(who + " says that it has made " + std::to_string(row.fired) + " jobs, and " +
                  std::to_string(schedule->runs_least) + " by RUN; there were " +
                  std::to_string(made));
  }
  if (row.paused) return void(schedule->disturbed = true);
  CheckSlots(who, row, *schedule);
  // After a step back it waits until the wall clock has caught up.
  schedule->disturbed = row.next_ms - world_->clock().wall_ms > schedule->period_ms;
  schedule->next_ms = row.next_ms;
  schedule->fired = row.fired;
  schedule->skipped = row.skipped;
  schedule->passed_over = row.missed_count;
}

void Simulation::Adopt(const keycodec::ScheduleValue& row, ModelSchedule* schedule) {
  schedule->paused = row.paused;
  schedule->missed = row.missed;
  schedule->cron = row.kind == keycodec::ScheduleKind::kCron;
  schedule->period_ms = schedule->cron ? 60'000 * (row.cron[2] - '0') : row.every_ms;
  schedule->unique = !row.unique_key.empty();
}

// Since the last look, if nobody has touched it, and the wall clock went on as it should or leapt a little.
void Simulation::CheckSlots(const std::string& who, const keycodec::ScheduleValue& row,
                            const ModelSchedule& before) {
  if (row.next_ms <= world_->clock().wall_ms) return Broken(who + " is late");
  if (before.cron && row.next_ms % 60'000 != 0) return Broken(who + " comes within a minute");
  if (before.disturbed) return;
  if (row.next_ms - world_->clock().wall_ms > before.period_ms)
    return Broken(who + " leaves out a slot");
  const int64_t span_ms = row.next_ms - before.next_ms;
  const uint64_t made = row.fired - before.fired, skipped = row.skipped - before.skipped,
                 passed_over = row.missed_count - before.passed_over;
  const auto slots = static_cast<uint64_t>(span_ms / before.period_ms);
  if (span_ms % before.period_ms != 0 || made + skipped + passed_over != slots) {
    return Broken(who + " had " + std::to_string(span_ms) + " ms of slots every " +
                  std::to_string(before.period_ms) + " ms, made " + std::to_string(made) +
                  ", skipped " + std::to_string(skipped) + " and passed over " +
                  std::to_string(passed_over));
  }
  if (before.missed == keycodec::Missed::kAll && passed_over > 0)
    Broken(who + " has passed over " + std::to_string(passed_over) + " slots, it is to run all");
  if (before.missed == keycodec::Missed::kOnce && span_ms > 0 && made + skipped == 0)
    Broken(who + " has passed over all slots, it is to run one of them");
}

// Before a leap of years: one that runs each slot of them would not come to an end.
void Simulation::CalmSchedules() {
  world_->Settle();
  CollectAnswers();
  for (auto& [name, schedule] : schedules_) {
    schedule.disturbed = true;
    if (!schedule.there || schedule.missed != keycodec::Missed::kAll || !broken_.empty()) continue;
    schedule.missed = keycodec::Missed::kOnce;
    ScheduleRequest set;
    set.name = name;
    FillSchedule(schedule, &set);
    world_->Run(&set);
    if (!set.error.ok()) Broken("SCHEDULE SET failed: " + set.error.ToString());
  }
}

void Simulation::DeleteSchedules() {
  for (auto& [name, schedule] : schedules_) {
    ScheduleRequest gone;
    gone.op = ScheduleOp::kDelete;
    gone.name = name;
    world_->Run(&gone);
    if (!gone.error.ok()) Broken("SCHEDULE DEL failed: " + gone.error.ToString());
    if (gone.found != schedule.there) Broken("SIM-24: DEL knows a schedule better than SET");
    if (schedule.there) Deleted(name, &schedule);
  }
  if (broken_.empty()) Look();
}

}  // namespace vestq
