// `ageing` of a queue: a job that has waited that long, since its enqueue, is served before all others of
// its space, whatever its priority; of those the oldest first. Spaces take their turns as ever, so one
// tenant's old backlog does not stand before another's jobs.
//
// Each zone keeps its overdue jobs (lanes/aged_jobs.h), found by looks at the store on a reader
// (engine/aged_task.h), a few at a time on a core. `age_due_` says when the next look at a zone is worth its
// while, so a core sleeps until a job becomes overdue. A LEASE does not wait for a look that may find
// something; only where it is known that more are overdue than are in memory, or where nothing is known of the
// zone (after a start, or when it was not in memory), does it stand still for the read, as for any cold one.
//
// AGE-3: once the looks that are due are done, no job of a space is served before an overdue one but overdue
// ones that are older.
//
// Time is engine time, so a step of the wall clock ages nobody. A queue without the option pays a branch
// where a job becomes ready, where it ceases to be, and where a LEASE chooses.
#include <algorithm>
#include <utility>

#include "engine/aged_task.h"
#include "engine/base/check.h"
#include "engine/core_impl.h"

namespace vestq {
namespace {
constexpr int kLooksAtOnce = 4;
constexpr uint64_t kLookBytes = uint64_t{1} << 20;  // of records that one look brings
constexpr size_t kSpacesASlice = 1024;

// When a job with that time is overdue.
MonoTime Overdue(int64_t time_ms, int64_t span_ms) {
  return MonoTime(time_ms > limits::kKeyTimeMsMax ? limits::kKeyTimeMsMax
                                                  : std::max<int64_t>(0, time_ms) + span_ms);
}
}  // namespace

// --- The option ---

void Core::Impl::AgeingChanged(CoreQueue* queue) {
  const int64_t span_ms = queue->record->settings.ageing_ms.load(std::memory_order_acquire);
  if (std::exchange(queue->ageing_ms, span_ms) != span_ms) AgeSpaces(queue, std::string());
}

// Its spaces by name, in slices; one that comes meanwhile knows already.
void Core::Impl::AgeSpaces(CoreQueue* queue, const std::string& from) {
  auto it = queue->spaces.lower_bound(from);
  for (size_t i = 0; it != queue->spaces.end(); ++it, ++i) {
    if (i == kSpacesASlice)
      return Later([this, queue, next = it->first] { AgeSpaces(queue, next); });
    for (const auto& zone : it->second->zones) SetAgeing(zone.get());
  }
}

// All that the zone knows of overdue jobs was by another span.
void Core::Impl::SetAgeing(LaneZone* zone) {
  const bool ages = zone->space->queue->ageing_ms >= 0 && zone->order == keycodec::Order::kPriority;
  if (zone->aged) cached_bytes_ -= zone->aged->Clear();
  if (!ages && !zone->age_look) zone->aged.reset();
  if (ages && !zone->aged) {
    const bool nothing = zone->window.complete() && zone->window.empty();
    zone->aged = std::make_unique<AgedJobs>(limits::kAgedJobs, nothing);
  }
  WatchAge(zone);
}

// --- When to look ---

// REQUIRES: zone->aged. A job with that time has become ready.
void Core::Impl::NoteReady(LaneZone* zone, int64_t time_ms) {
  zone->aged->Note(time_ms);
  WatchAge(zone);
}

void Core::Impl::WatchAge(LaneZone* zone) {
  const int64_t span_ms = zone->space->queue->ageing_ms;
  MonoTime due = MonoTime::Max();
  if (zone->aged && !zone->age_look && span_ms >= 0) {
    const int64_t from_ms = zone->aged->WantedFrom();
    if (from_ms != AgedJobs::kNever) due = Overdue(from_ms, span_ms);
  }
  if (due == zone->age_watched) return;
  UnwatchAge(zone);
  if (due == MonoTime::Max()) return;
  zone->age_watched = due;
  age_due_.emplace(std::pair(due, zone->ordinal), zone);
}

void Core::Impl::UnwatchAge(LaneZone* zone) {
  if (zone->age_watched == MonoTime::Max()) return;
  age_due_.erase({zone->age_watched, zone->ordinal});
  zone->age_watched = MonoTime::Max();
}

bool Core::Impl::MayLookAtAged() const { return !age_due_.empty() && age_looks_ < kLooksAtOnce; }

void Core::Impl::LookAtAged() {
  while (MayLookAtAged() && age_due_.begin()->first.first <= now_)
    StartAgeLook(age_due_.begin()->second);
}

// --- Looks ---

void Core::Impl::StartAgeLook(LaneZone* zone) {
  UnwatchAge(zone);
  if (zone->age_look || Buried(*zone->space)) return;
  const CoreQueue& queue = *zone->space->queue;
  zone->age_look = true;
  ++age_looks_;
  auto task = std::make_unique<AgedTask>();
  task->lane = zone->lane;
  task->zone = {queue.life.number, queue.life[KeyKind::kReady], zone->order, zone->space->space};
  task->look = zone->aged->BeginLook(now().ms() - queue.ageing_ms);
  task->max_jobs = zone->aged->capacity();
  task->max_keys = limits::kAgedKeysASlice;
  task->max_bytes = std::min(kLookBytes, RoomForRecords());
  task->mark = jobs_log_.Begin();
  AgedTask* const raw = task.get();
  task->finish = [this, zone, raw](ReadTask*) { FinishAgeLook(zone, raw); };
  SubmitRead(std::move(task));
}

void Core::Impl::FinishAgeLook(LaneZone* zone, AgedTask* task) {
  ForgetOldRows(task->mark, &task->jobs);
  zone->age_look = false;
  --age_looks_;
  SpaceState* const space = zone->space;
  if (Buried(*space)) {
    zone->aged->AbandonLook();
    return BuryMore();
  }
  if (!task->error.ok()) return AgeLookFailed(zone, task->error);
  // Without a record: it was changed meanwhile, or there was no room. Either way it may be overdue still.
  int64_t left_ms = task->left_ms;
  bool cramped = false;
  std::vector<ReadyJob> jobs;
  for (ReadyJob& job : task->jobs) {
    if (job.record == nullptr) {
      cramped = true;
      left_ms = std::min(left_ms, job.rank.time_ms);
    } else {
      jobs.push_back(std::move(job));
    }
  }
  cached_bytes_ +=
      static_cast<uint64_t>(zone->aged->FinishLook(std::move(jobs), left_ms, task->next, cramped));
  if (space->queue->ageing_ms < 0) zone->aged.reset();  // the option was taken away meanwhile
  WatchAge(zone);
  Thaw(space);
}

// LEASEs that stand still for it get the error; it is tried again a little later.
void Core::Impl::AgeLookFailed(LaneZone* zone, const Error& error) {
  SpaceState* const space = zone->space;
  CoreQueue* const queue = space->queue;
  zone->aged->AbandonLook();
  if (queue->ageing_ms < 0) zone->aged.reset();
  if (!shared_->writes->failed()) {
    retries_.emplace(now() + kReadRetry, [this, queue, name = space->space] {
      const auto it = queue->spaces.find(name);
      if (it == queue->spaces.end()) return;
      for (const auto& each : it->second->zones) WatchAge(each.get());
    });
  }
  ReadFailed(queue, space, error);
}

// --- Serving ---

// Whether the next job of the space is an overdue one. *best: where the oldest of them stands; null: it must
// be read first, which is under way then.
bool Core::Impl::OldestAged(SpaceState* space, LaneZone** best) {
  bool cold = false;
  for (const auto& zone : space->zones) {
    if (!zone->aged) continue;
    if (zone->aged->empty()) {
      if (!zone->aged->more()) continue;
      StartAgeLook(zone.get());
      cold = true;
    } else if (*best == nullptr ||
               keycodec::ReadyRankLess(keycodec::Order::kTime, zone->aged->Front().rank,
                                       (*best)->aged->Front().rank)) {
      *best = zone.get();
    }
  }
  const bool any = cold || *best != nullptr;
  if (cold) *best = nullptr;
  return any;
}

// REQUIRES: the zone has been chosen (FirstZone).
ReadyJob Core::Impl::TakeFirst(LaneZone* zone) {
  if (!zone->aged || zone->aged->empty()) {
    ReadyJob job = zone->window.PopFront();
    cached_bytes_ -= BytesOf(job);
    return job;
  }
  ReadyJob job = zone->aged->PopFront();
  cached_bytes_ -= BytesOf(job) + zone->window.EraseRank(job.rank).dropped_bytes;
  WatchAge(zone);
  return job;
}

void Core::Impl::ForgetReady(LaneZone* zone, const keycodec::ReadyRank& rank) {
  cached_bytes_ -= zone->window.EraseRank(rank).dropped_bytes;
  if (!zone->aged) return;
  cached_bytes_ -= zone->aged->Erase(rank);
  WatchAge(zone);
}

}  // namespace vestq
