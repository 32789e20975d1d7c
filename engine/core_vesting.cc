// What becomes ready when: windows and their refills, scheduled jobs whose time has come.
#include <algorithm>

#include "engine/base/check.h"
#include "engine/core_impl.h"
#include "engine/due_scan.h"
#include "engine/zone_tasks.h"

namespace vestq {
namespace {
// Records that one read brings along.
constexpr uint64_t kRefillBytes = uint64_t{1} << 20;
constexpr size_t kFetchJobs = 64;
// The first read of a zone after a start is short: LEASEs wait for those of all its lanes.
constexpr size_t kFirstRefillJobs = 64;
}  // namespace

// --- Windows ---

// Of records that a read may bring: what windows may still hold, at least one.
uint64_t Core::Impl::RoomForRecords() const {
  const uint64_t room =
      shared_->payload_cache_bytes - std::min(shared_->payload_cache_bytes, cached_bytes_);
  return std::clamp<uint64_t>(room, 1, kRefillBytes);
}

void Core::Impl::StartRefill(LaneZone* zone) {
  if (zone->refilling) return;
  const CoreQueue& queue = *zone->space->queue;
  auto task = std::make_unique<RefillTask>();
  task->lane = zone->lane;
  task->zone = {queue.life.number, queue.life[KeyKind::kReady], zone->order, zone->space->space};
  FitWindow(zone);
  task->from = zone->window.BeginRefill();
  const size_t wanted = task->from ? limits::kWindowJobs : kFirstRefillJobs;
  task->max_jobs = std::min(wanted, zone->window.capacity());
  zone->refilling = true;
  task->max_bytes = RoomForRecords();
  task->mark = jobs_log_.Begin();
  RefillTask* const raw = task.get();
  task->finish = [this, zone, raw](ReadTask*) {
    ForgetOldRows(raw->mark, &raw->jobs);
    FinishRefill(zone, raw);
  };
  SubmitRead(std::move(task));
}

// A job may have been leased, given a checkpoint or another payload, and have come back to the same
// place since the read.
void Core::Impl::ForgetOldRows(uint64_t mark, std::vector<ReadyJob>* jobs) {
  for (ReadyJob& job : *jobs) {
    if (jobs_log_.Changed(mark, job.rank.id)) job.record = job.row = nullptr;
  }
  jobs_log_.End(mark);
}

void Core::Impl::FinishRefill(LaneZone* zone, RefillTask* task) {
  zone->refilling = false;
  SpaceState* const space = zone->space;
  CoreQueue* const queue = space->queue;
  if (Buried(*space)) {
    cached_bytes_ -= zone->window.AbandonRefill();
    return BuryMore();
  }
  if (!task->error.ok()) {
    cached_bytes_ -= zone->window.AbandonRefill();
    return ReadFailed(queue, space, task->error);
  }
  cached_bytes_ +=
      static_cast<uint64_t>(zone->window.FinishRefill(std::move(task->jobs), task->reached_end));
  CountWindow(zone);
  Thaw(space);
}

void Core::Impl::StartFetch(LaneZone* zone) {
  if (zone->fetching) return;
  zone->fetching = true;
  auto task = std::make_unique<FetchTask>();
  task->lane = zone->lane;
  task->max_bytes = RoomForRecords();
  zone->window.Unread(kFetchJobs, &task->jobs);
  task->mark = jobs_log_.Begin();
  FetchTask* const raw = task.get();
  task->finish = [this, zone, raw](ReadTask*) {
    ForgetOldRows(raw->mark, &raw->jobs);
    FinishFetch(zone, raw);
  };
  SubmitRead(std::move(task));
}

void Core::Impl::FinishFetch(LaneZone* zone, FetchTask* task) {
  zone->fetching = false;
  SpaceState* const space = zone->space;
  if (Buried(*space)) return BuryMore();
  if (!task->error.ok()) {
    // A job that was cancelled meanwhile has no record; the others are asked for again.
    bool gone = false;
    for (const ReadyJob& job : task->jobs) gone |= zone->window.FindRecordless(job.rank) == nullptr;
    if (!gone) return ReadFailed(space->queue, space, task->error);
  }
  for (ReadyJob& job : task->jobs) {
    if (job.record == nullptr) continue;
    ReadyJob* const place = zone->window.FindRecordless(job.rank);
    if (place == nullptr) continue;
    if (NeedsJobRow(place->flags) && job.row == nullptr) continue;
    cached_bytes_ += BytesOf(job);
    place->record = std::move(job.record);
    place->row = std::move(job.row);
  }
  Thaw(space);
}

// A read for the space is back: it takes part again, and LEASEs that waited for it look again.
void Core::Impl::Thaw(SpaceState* space) {
  CoreQueue* const queue = space->queue;
  if (space->cold) {
    space->cold = false;
    --queue->cold_spaces;
    if (space->has_work()) {
      CatchUp(queue);
      queue->fair.Reactivate(space->fair);
      space->active = true;
    }
  }
  SpaceChanged(space);
  MaybeForget(space);
  UnparkLeases(queue);
  MarkNotify(queue);
}

// The disk did not give what it holds. LEASEs that the read was for get the error; the space stays,
// the next LEASE asks again. Waiting ones are not left beside it (WAIT-1): one is woken a little
// later.
void Core::Impl::ReadFailed(CoreQueue* queue, SpaceState* space, const Error& error) {
  Log("a read failed: " + error.ToString());
  auto parked = std::move(queue->parked);
  queue->parked.clear();
  // Before anybody is answered: what is behind a LEASE in its stream runs at once. Another LEASE must not
  // wait for this read, which is over, and after a PURGE the space is none of the queue's.
  if (space != nullptr) {
    if (space->cold) {
      space->cold = false;
      --queue->cold_spaces;
    }
    SpaceChanged(space);
    if (!shared_->writes->failed()) {
      retries_.emplace(now() + kReadRetry, [this, queue] {
        ++queue->new_jobs;
        MarkNotify(queue);
      });
    }
  }
  for (const auto& [request, local, compare] : parked) {
    if (request->jobs.empty()) request->error = error;
    if (local) {
      FinishLease(request);
    } else {
      executed_.push_back(request);
    }
  }
}

// --- Scheduled jobs ---

void Core::Impl::NoteScheduled(LaneState* lane, keycodec::Clock clock, int64_t time_ms) {
  NoteDue(&lane->due[clock == keycodec::Clock::kWall], time_ms);
}

void Core::Impl::VestDue(WallTime wall) {
  const int64_t now_ms[2] = {now_.ms(), wall.ms()};
  for (LaneState& lane : lanes_) {
    for (int i = 0; i < 2; ++i) {
      DueScan& due = lane.due[i];
      if (due.scanning || due.next_ms > now_ms[i]) continue;
      auto task = std::make_unique<DueTask>();
      task->lane = lane.id;
      task->clock = i == 0 ? keycodec::Clock::kEngine : keycodec::Clock::kWall;
      task->until_ms = now_ms[i];
      task->max_jobs = limits::kSliceJobs;
      task->mark = jobs_log_.Begin();
      BeginScan(&due, task.get());
      DueTask* const raw = task.get();
      task->finish = [this, &lane, raw](ReadTask*) {
        FinishDueScan(&lane, raw);
        jobs_log_.End(raw->mark);
      };
      SubmitRead(std::move(task));
    }
  }
  while (!retries_.empty() && retries_.begin()->first <= now_) {
    auto retry = std::move(retries_.begin()->second);
    retries_.erase(retries_.begin());
    retry();
  }
}

void Core::Impl::FinishDueScan(LaneState* lane, DueTask* task) {
  DueScan& due = lane->due[task->clock == keycodec::Clock::kWall];
  due.scanning = false;
  if (!task->error.ok()) {
    Log("reading due jobs failed: " + task->error.ToString());
    const int64_t from_ms = task->from_ms;
    const int i = task->clock == keycodec::Clock::kWall;
    retries_.emplace(now() + kReadRetry, [lane, i, from_ms] {
      lane->due[i].next_ms = std::min(lane->due[i].next_ms, from_ms);
    });
    return;
  }
  EndScan(&due, task, !task->jobs.empty(),
          task->jobs.empty() ? 0 : task->jobs.back().first.time_ms);
  for (const auto& [key, value] : task->jobs) {
    // Moved meanwhile: it stands elsewhere, or was scheduled anew and noted.
    if (jobs_log_.Changed(task->mark, key.id)) continue;
    CoreQueue* const queue = LivingScheduled(value.zone);
    if (queue == nullptr) continue;  // void: the eraser comes to it
    key_.clear();
    keycodec::AppendScheduledKey(key.lane, key.clock, key.time_ms, key.id, &key_);
    batch_.SingleDelete(Family::kVesting, key_);
    Count(queue, keycodec::Counter::kScheduled, -1);
    TouchJob(key.id);
    Emit(EventKind::kReady, queue, key.id, value.attempt);
    keycodec::ReadyRank rank{value.priority, value.enqueued_ms, key.id};
    uint32_t flags = value.flags;
    if (value.zone.order == keycodec::Order::kTime) {
      rank.time_ms = key.clock == keycodec::Clock::kEngine ? key.time_ms : now().ms();
      // Its place no longer follows from the header.
      if (key.clock == keycodec::Clock::kWall) flags |= keycodec::kFlagJobRow;
    }
    PutReady(queue, key.lane, value.zone.space, value.zone.order, rank, {flags, value.attempt},
             nullptr);
    if (value.zone.order == keycodec::Order::kTime && key.clock == keycodec::Clock::kWall) {
      keycodec::JobRow row;
      if (const auto it = task->rows.find(key.id); it != task->rows.end())
        row = std::move(it->second);
      row.key.clear();
      AppendReadyKey(*queue, key.lane, value.zone.space, value.zone.order, rank, &row.key);
      row.attempt = value.attempt;
      row.priority = value.priority;
      value_.clear();
      keycodec::Append(row, &value_);
      PutRow(keycodec::JobRowKey(key.lane, key.id), value_);
    }
  }
}

}  // namespace vestq
