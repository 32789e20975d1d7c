// UNIQUE: keys that one unfinished job holds at a time, and for a while after it (a window).
//
// The key's row stands in the rows family and says who holds it; its owner is the owner of the job's
// lane, which the key (or the space) decides, so no other core ever writes it. UNIQUE-1: a row that
// is live names a job that is scheduled, waiting, ready or leased and holds that key; one that is not
// live names an open window, and a timer ends it. A dead job holds nothing. A window is of the life that
// kept results had when its job was done, so a purge of those makes it void, found without a scan; the
// row is erased behind it (core_erase.cc).
#include <algorithm>

#include "engine/base/check.h"
#include "engine/core_impl.h"
#include "engine/lookup_task.h"
#include "engine/timer_task.h"
#include "engine/unique_task.h"

namespace vestq {
namespace {

std::string RowOf(const keycodec::JobHeader& header) {
  return keycodec::UniqueKey(header.zone.queue, header.zone.space, header.unique_key);
}

// Engine time at which the window of the header's key ends; 0: it has none.
int64_t WindowEnd(const keycodec::JobHeader& header) {
  if (header.unique_ms == 0) return 0;
  return std::min(header.enqueued_ms + header.unique_ms, limits::kKeyTimeMsMax);
}

}  // namespace

void Core::Impl::EnqueueUnique(CoreQueue* queue, EnqueueRequest* request, const Backlog& room) {
  // What was taken for one that was let in stays its own while the store is asked.
  const bool let_in = room != Backlog();
  if (let_in) queue->backlog->promised += room;
  FindHolder(queue, request, [this, queue, request, room, let_in](const UniqueTask* task) {
    if (let_in) {
      queue->backlog->promised -= room;
      RoomChanged(queue);
    }
    if (!task->error.ok()) return Refuse(request, task->error);
    Backlog want;
    if (!AddUnique(queue, request, task, room, &want)) return NoRoom(queue, request, request, want);
    EndEnqueue(request, request->subscriptions);
  });
}

// Asks who holds the key, and again when that changed meanwhile; `then` is called with what holds at
// that moment, or with an error.
void Core::Impl::FindHolder(CoreQueue* queue, const EnqueueRequest* request,
                            std::function<void(const UniqueTask*)> then) {
  auto task = std::make_unique<UniqueTask>(
      LaneForJob(*request),
      keycodec::UniqueKey(queue->life.number, request->space, request->unique_key),
      shared_->queues.get());
  task->rows_mark = rows_log_.Begin();
  task->jobs_mark = jobs_log_.Begin();
  const uint64_t version = queue->life.version;
  UniqueTask* const raw = task.get();
  task->finish = [this, queue, request, raw, version, then = std::move(then)](ReadTask*) {
    const bool changed = rows_log_.Changed(raw->rows_mark, raw->row_key) ||
                         (raw->row && jobs_log_.Changed(raw->jobs_mark, raw->row->id)) ||
                         (raw->holder && OfAnotherLife(*raw->holder)) ||
                         queue->life.version != version;
    rows_log_.End(raw->rows_mark);
    jobs_log_.End(raw->jobs_mark);
    if (changed && !shared_->writes->failed()) return FindHolder(queue, request, then);
    then(raw);
  };
  ReadFor(std::move(task));
}

// An open window holds the key, unless what is kept of done jobs was purged since.
bool Core::Impl::HoldsWindow(const CoreQueue& queue, const keycodec::UniqueValue& row) {
  return !row.live && row.life == queue.life[KeyKind::kDone] && row.until_ms > now().ms();
}

// Another job takes the key: the timer of a window that was ended before its time goes with it.
void Core::Impl::ForgetWindow(LaneId lane, const keycodec::UniqueValue& row) {
  if (row.live || row.until_ms <= now().ms()) return;
  DeleteRow(keycodec::TimerKey(lane, keycodec::Clock::kEngine, row.until_ms,
                               keycodec::TimerKind::kUniqueWindow, row.id));
}

// Adds the job, or names the holder of its key. What FindHolder found must still hold. `room` is held for it
// already. False: there is no room for what it wants, which of a REPLACE is what it has more than the job that
// it replaces; then nothing has changed.
bool Core::Impl::AddUnique(CoreQueue* queue, EnqueueRequest* request, const UniqueTask* task,
                           const Backlog& room, Backlog* want) {
  now_stale_ = true;
  JobState state = JobState::kGone;
  if (task->row && task->row->live) {
    state = LeaseOf(task->row->id) != nullptr ? JobState::kLeased : task->holder->state;
  }
  const bool waits = state == JobState::kScheduled || state == JobState::kReady;
  if (waits && (task->holder->flags & keycodec::kFlagExpire) != 0 &&
      HasLapsed(task->holder->record->header, task->holder->row ? &*task->holder->row : nullptr)) {
    EraseFound(task->holder.get(), EventKind::kLapsed);  // its timer has not come to it yet
    state = JobState::kGone;
  }
  const bool window = task->row && HoldsWindow(*queue, *task->row);
  const bool adds = !window && state == JobState::kGone;
  const bool replaces = !adds && request->unique_replace &&
                        (state == JobState::kScheduled || state == JobState::kReady);
  if (queue->backlog != nullptr && !in_group_ && (adds || replaces)) {
    const auto bytes = static_cast<int64_t>(request->payload.size());
    const auto instead = adds ? 0 : static_cast<int64_t>(task->holder->record->payload.size());
    *want = {adds ? 1 : 0, bytes - instead};
    if (!TakeRoom(queue, *want, room)) return false;
  }
  if (adds) {
    if (task->row) ForgetWindow(task->lane, *task->row);
    request->error = AddJob(queue, task->lane, request);
    return true;
  }
  request->added = false;
  request->id = task->row->id;
  request->holder_state = state;
  Count(queue, keycodec::Counter::kDuplicates, 1);
  if (replaces) ReplaceJob(queue, request, *task);
  return true;
}

// The holder takes over payload, time and priority; its id, its attempts and its other options stay.
// A new window runs from now, an old one goes on.
void Core::Impl::ReplaceJob(CoreQueue* queue, EnqueueRequest* request, const UniqueTask& task) {
  Result<keycodec::JobHeader> made = MakeHeader(*queue, *request);
  if (!made.ok()) {
    request->error = made.error();
    return;
  }
  const LookupTask& holder = *task.holder;
  const keycodec::JobHeader& old = holder.record->header;
  keycodec::JobHeader header = old;
  header.priority = made->priority;
  header.enqueued_ms = made->enqueued_ms;
  header.clock = made->clock;
  header.vests_ms = made->vests_ms;
  const int64_t old_end = WindowEnd(old);
  header.unique_ms =
      made->unique_ms != 0 ? made->unique_ms : std::max<int64_t>(0, old_end - header.enqueued_ms);
  if ((holder.flags & keycodec::kFlagExpire) == 0) {  // it has been leased once
    header.flags &= ~uint32_t{keycodec::kFlagExpire};
    header.expire_ms = 0;
  } else {
    DropExpiry(task.lane, old, holder.row ? &*holder.row : nullptr, holder.id);
  }
  Unplace(&holder);
  EmitMoved(EventKind::kRescheduled, &holder);
  key_.clear();
  keycodec::AppendJobKey(task.lane, holder.id, &key_);
  batch_.SingleDelete(Family::kJob, key_);
  Count(queue, keycodec::Counter::kBytes,
        static_cast<int64_t>(request->payload.size()) -
            static_cast<int64_t>(holder.record->payload.size()));
  HoldUniqueKey(header, holder.id);
  PutExpiry(task.lane, header, holder.id);
  TouchJob(holder.id);
  request->holder_state = header.vests_ms == 0 ? JobState::kReady : JobState::kScheduled;
  uint32_t flags = header.flags | (holder.flags & keycodec::kFlagParent);
  if (holder.row) {  // the last error and the checkpoint stay
    keycodec::JobRow row = *holder.row;
    row.key.clear();
    row.expires_ms = 0;
    row.expires_clock = keycodec::Clock::kEngine;
    row.priority = header.priority;
    const keycodec::Zone& zone = header.zone;
    if (header.vests_ms == 0) {
      AppendReadyKey(*queue, task.lane, zone.space, zone.order,
                     {header.priority, header.enqueued_ms, holder.id}, &row.key);
    } else {
      keycodec::AppendScheduledKey(task.lane, header.clock, header.vests_ms, holder.id, &row.key);
    }
    value_.clear();
    keycodec::Append(row, &value_);
    PutRow(keycodec::JobRowKey(task.lane, holder.id), value_);
    flags |= holder.flags & (keycodec::kFlagJobRow | keycodec::kFlagCheckpoint);
  }
  PutJob(queue, task.lane, holder.id, std::move(header), request->payload, {flags, holder.attempt});
}

void Core::Impl::HoldUniqueKey(const keycodec::JobHeader& header, JobId id) {
  value_.clear();
  keycodec::Append(keycodec::UniqueValue{id, WindowEnd(header), true}, &value_);
  PutRow(RowOf(header), value_);
}

// The job that holds the key is finished (`done`: its window stays), or removed or dead (the window
// goes as well). REQUIRES: its key in the vesting family has kFlagUnique.
void Core::Impl::FreeUniqueKey(LaneId lane, const keycodec::JobHeader& header, JobId id,
                               bool done) {
  const std::string row = RowOf(header);
  const int64_t until_ms = WindowEnd(header);
  if (!done || until_ms <= now().ms()) return DeleteRow(row);
  const CoreQueue* const queue = QueueById(header.zone.queue);
  CHECK(queue != nullptr, "a job that is done is of a queue that lives");
  value_.clear();
  keycodec::Append(keycodec::UniqueValue{id, until_ms, false, queue->life[KeyKind::kDone]},
                   &value_);
  PutRow(row, value_);
  PutTimer(lane, keycodec::Clock::kEngine, until_ms,
           keycodec::TimerKey(lane, keycodec::Clock::kEngine, until_ms,
                              keycodec::TimerKind::kUniqueWindow, id),
           row);
}

void Core::Impl::EndUniqueWindow(const TimerTask::Hit& hit) {
  DeleteRow(hit.key);
  if (!hit.row) return;
  const Result<keycodec::UniqueValue> row = keycodec::DecodeUniqueValue(*hit.row);
  if (!row.ok()) {
    Log("a unique key: " + row.error().ToString());
    return;
  }
  // The key may be held by another job by now.
  if (row->id != hit.timer.id || row->live) return;
  DeleteRow(hit.row_key);
  const Result<keycodec::UniqueRowKey> key = keycodec::DecodeUniqueKey(hit.row_key);
  if (!key.ok()) return;
  if (CoreQueue* const queue = QueueById(key->queue)) WatchVanish(queue);
}

}  // namespace vestq
