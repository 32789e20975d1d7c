// How a job enters the store: ENQUEUE, and the two ways a vesting key is put.
#include "engine/base/check.h"
#include "engine/core_impl.h"
#include "engine/zone_tasks.h"

namespace vestq {

LaneId Core::Impl::LaneForJob(const EnqueueRequest& request) const {
  if (const std::string_view fixed = FixesLane(request); !fixed.empty())
    return keycodec::LaneOfSpace(request.queue, fixed, shared_->lanes);
  // Any lane of this core will do; one a turn keeps the keys of a batch together.
  return lanes_[next_lane_].id;
}

// What decides on the job's lane by its hash: the space, whose fairness has one owner, else the unique
// key, which has one. Empty: nothing.
std::string_view Core::Impl::FixesLane(const EnqueueRequest& request) {
  return request.space.empty() ? std::string_view(request.unique_key)
                               : std::string_view(request.space);
}

JobId Core::Impl::NewJobId(LaneId lane) {
  if (ids_.next == ids_.end) ids_ = shared_->ids->Take();
  return JobId(ids_.next++ * shared_->lanes + lane.value());
}

// `room` is held for it already: it has waited.
void Core::Impl::Enqueue(EnqueueRequest* request, const Backlog& room) {
  const Result<QueueRecord*> found = RecordOf(request->queue);
  if (!found.ok()) {
    request->error = found.error();
    return Executed(request);
  }
  CoreQueue* const queue = QueueHere(*found);
  request->added = true;
  request->subscriptions.reset();
  if (!request->unique_key.empty()) return EnqueueUnique(queue, request, room);
  if (queue->backlog != nullptr && !in_group_) [[unlikely]] {
    const Backlog want{1, static_cast<int64_t>(request->payload.size())};
    if (!TakeRoom(queue, want, room)) return NoRoom(queue, request, request, want);
  }
  request->error = AddJob(queue, LaneForJob(*request), request);
  EndEnqueue(request, request->subscriptions);
}

// The header of a job that is enqueued now. Errors: kRange (it would vest after the last time).
Result<keycodec::JobHeader> Core::Impl::MakeHeader(const CoreQueue& queue,
                                                   const EnqueueRequest& request) {
  const QueueRecord& record = *queue.record;
  if (request.when == EnqueueRequest::When::kDelay || request.expire > Duration(0))
    now_stale_ = true;  // they run from now
  const MonoTime at = now();
  keycodec::JobHeader header;
  header.zone = {queue.life.number, queue.life[KeyKind::kReady], record.order(), request.space};
  header.priority = request.priority;
  header.enqueued_ms = at.ms();
  header.enqueued_wall_ms = shared_->clock->Wall().ms();
  const int64_t attempts = record.settings.attempts.load(std::memory_order_relaxed);
  header.attempts_max = request.attempts_set ? request.attempts
                        : attempts >= 0      ? static_cast<uint32_t>(attempts)
                                             : limits::kAttemptsDefault;
  header.lease_ms = request.lease.ms();
  header.backoff = request.backoff;
  header.unique_key = request.unique_key;
  header.unique_ms = request.unique_window.ms();
  header.expire_ms = request.expire.ms();
  if (request.keep) header.keep_ms = request.keep->ms();
  header.type = request.type;
  header.user_headers = request.headers;
  if (!header.backoff.empty()) header.flags |= keycodec::kFlagBackoff;
  if (!header.unique_key.empty()) header.flags |= keycodec::kFlagUnique;
  if (header.expire_ms > 0) header.flags |= keycodec::kFlagExpire;
  if (header.keep_ms) header.flags |= keycodec::kFlagKeep;
  if (!header.type.empty() || !header.user_headers.empty()) header.flags |= keycodec::kFlagExtra;
  switch (request.when) {
    case EnqueueRequest::When::kNow: break;
    case EnqueueRequest::When::kDelay:
      if (request.delay > Duration(0)) header.vests_ms = (at + request.delay).ms();
      break;
    case EnqueueRequest::When::kAt:
      if (request.at.ms() > header.enqueued_wall_ms) {
        header.vests_ms = request.at.ms();
        header.clock = keycodec::Clock::kWall;
      }
      break;
  }
  if (header.vests_ms > limits::kKeyTimeMsMax)
    return Error(ErrorCode::kRange, "the job would vest after the last time a key can hold");
  return header;
}

// A new job in that lane, with all that hangs on it. REQUIRES: where the queue's backlog is counted, room is
// taken for it (BACKLOG-1). Errors: kRange, kFull (ids used up), kNotFound (a
// parent that never was); then nothing has changed.
Error Core::Impl::AddJob(CoreQueue* queue, LaneId lane, EnqueueRequest* request) {
  if (!request->after.empty()) VESTQ_RETURN_IF_ERROR(CheckAfter(request, 1));
  Result<keycodec::JobHeader> made = MakeHeader(*queue, *request);
  if (!made.ok()) return made.error();
  shared_->queues->EnsureStored(queue->record);  // in this turn: VANISH-1
  const JobId id = NewJobId(lane);
  if (id.value() > limits::kJobIdMax) {
    return Error(ErrorCode::kFull,
                 "this store has given out its last job id, " + std::to_string(limits::kJobIdMax));
  }
  request->id = id;
  keycodec::JobHeader& header = *made;
  if ((header.flags & keycodec::kFlagUnique) != 0) HoldUniqueKey(header, id);
  Count(queue, keycodec::Counter::kEnqueued, 1);
  Count(queue, keycodec::Counter::kBytes, static_cast<int64_t>(request->payload.size()));
  if (!request->after.empty()) {
    AddWaiting(lane, id, header, request);
    Emit(EventKind::kEnqueued, queue, id, 0);
    return Error::Ok();
  }
  PutExpiry(lane, header, id);
  const uint32_t flags = header.flags;
  PutJob(queue, lane, id, std::move(header), request->payload, {flags, 0});
  Emit(EventKind::kEnqueued, queue, id, 0);
  return Error::Ok();
}

// The job's record, and its key where the header says; `start`: the flags and attempts of that key.
void Core::Impl::PutJob(CoreQueue* queue, LaneId lane, JobId id, keycodec::JobHeader header,
                        std::string_view payload, const keycodec::ReadyValue& start) {
  auto bytes = std::make_shared<std::string>();
  keycodec::AppendJobRecord(header, payload, bytes.get());
  key_.clear();
  keycodec::AppendJobKey(lane, id, &key_);
  batch_.Put(Family::kJob, key_, *bytes);
  if (header.vests_ms == 0) {
    return PutReady(queue, lane, header.zone.space, header.zone.order,
                    {header.priority, header.enqueued_ms, id}, start, std::move(bytes));
  }
  keycodec::ScheduledValue value;
  value.flags = start.flags;
  value.attempt = start.attempt;
  value.zone = std::move(header.zone);
  value.priority = header.priority;
  value.enqueued_ms = header.enqueued_ms;
  PutScheduled(queue, lane, header.clock, header.vests_ms, id, std::move(value));
}

// The key of a job that is ready now: in its queue's living incarnation, whatever that was when it was
// enqueued (LIFE-1).
void Core::Impl::AppendReadyKey(const CoreQueue& queue, LaneId lane, std::string_view space,
                                keycodec::Order order, const keycodec::ReadyRank& rank,
                                std::string* key) {
  keycodec::AppendReadyKey(lane, queue.life.number, queue.life[KeyKind::kReady], order, space, rank,
                           key);
}

void Core::Impl::PutReady(CoreQueue* queue, LaneId lane, std::string_view space,
                          keycodec::Order order, const keycodec::ReadyRank& rank,
                          const keycodec::ReadyValue& value,
                          std::shared_ptr<const std::string> record) {
  DCHECK(shared_->OwnerOf(lane) == id_, "LANE-1");
  key_.clear();
  AppendReadyKey(*queue, lane, space, order, rank, &key_);
  value_.clear();
  keycodec::Append(value, &value_);
  batch_.Put(Family::kVesting, key_, value_);
  Count(queue, keycodec::Counter::kReady, 1);

  ++queue->new_jobs;
  if (!queue->wanted.empty()) [[unlikely]]
    NoteWanted(queue, space);
  MarkNotify(queue);
  SpaceState* const state = SpaceForReady(queue, lane, space, order);
  if (state == nullptr) [[unlikely]]
    return;  // its space is not in memory: a sweep finds it
  LaneZone* const zone = ZoneOf(state, lane, order);
  if (zone->window.at_its_size()) FitWindow(zone);
  // A checkpoint or a moved EXPIRE is read with the record, when the job is taken.
  if (record != nullptr &&
      (NeedsJobRow(value.flags) || cached_bytes_ + record->size() > shared_->payload_cache_bytes))
    record.reset();
  if (record != nullptr) cached_bytes_ += record->size();
  cached_bytes_ -=
      zone->window.Insert({rank, value.flags, value.attempt, std::move(record)}).dropped_bytes;
  if (zone->aged) [[unlikely]]
    NoteReady(zone, rank.time_ms);
  CountWindow(zone);
  SpaceChanged(state);
}

void Core::Impl::PutScheduled(CoreQueue* queue, LaneId lane, keycodec::Clock clock, int64_t time_ms,
                              JobId id, keycodec::ScheduledValue value) {
  DCHECK(shared_->OwnerOf(lane) == id_, "LANE-1");
  CHECK(time_ms <= limits::kKeyTimeMsMax, "LIMIT-1: delays are bounded, engine time begins low");
  value.zone.incarnation = queue->life[KeyKind::kScheduled];  // LIFE-1
  key_.clear();
  keycodec::AppendScheduledKey(lane, clock, time_ms, id, &key_);
  value_.clear();
  keycodec::Append(value, &value_);
  batch_.Put(Family::kVesting, key_, value_);
  Count(queue, keycodec::Counter::kScheduled, 1);
  NoteScheduled(LaneHere(lane), clock, time_ms);
}

}  // namespace vestq
