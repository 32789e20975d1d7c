// REDRIVE: dead letters become jobs again. The core where it was asked reads the dead letters in slices,
// oldest first; each slice goes to the owners of its jobs in parts, and the next begins when it is
// durable. So any number of dead letters takes bounded memory and bounded batches.
#include <algorithm>

#include "engine/base/check.h"
#include "engine/core_impl.h"
#include "engine/jobs_part.h"
#include "engine/lookup_task.h"
#include "engine/peek_task.h"
#include "engine/redrive_task.h"

namespace vestq {
namespace {
constexpr size_t kLookups = 16;  // of a part at once
}  // namespace

// --- At the origin ---

void Core::Impl::Redrive(RedriveRequest* request) {
  now_stale_ = true;
  request->redriven = 0;
  request->taken = 0;
  request->from = now();
  if (!KnowsQueue(request->queue)) {
    return Refuse(request,
                  Error(ErrorCode::kNotFound, "there is no queue '" + request->queue + "'"));
  }
  if (!request->to.empty()) {
    const Result<QueueRecord*> to = RecordOf(request->to);
    if (!to.ok()) return Refuse(request, to.error());
    shared_->queues->EnsureStored(*to);
  }
  if (request->id != JobId(0)) return RedriveParts(request, {request->id}, std::string());
  RedriveSlice(request, std::string());
}

void Core::Impl::RedriveSlice(RedriveRequest* request, std::string from) {
  const Result<QueueRecord*> record = RecordOf(request->queue);
  if (!record.ok()) return Refuse(request, record.error());
  auto task = std::make_unique<PeekTask>();
  task->state = JobState::kDead;
  const QueueLife& life = QueueHere(*record)->life;
  task->zone = {life.number, life[KeyKind::kDead], (*record)->order(), std::string()};
  task->from = std::move(from);
  // Those that die while it runs are not meant.
  task->until =
      keycodec::DeadKey(life.number, life[KeyKind::kDead], request->from.ms() + 1, JobId(0));
  task->max_jobs = limits::kSliceJobs;
  if (request->count != 0)
    task->max_jobs = std::min<size_t>(task->max_jobs, request->count - request->taken);
  task->max_keys = limits::kSliceJobs;
  task->after = shared_->writes->submitted();
  PeekTask* const raw = task.get();
  task->finish = [this, request, raw](ReadTask*) {
    if (!raw->error.ok()) return Refuse(request, raw->error);
    request->ticket = std::max(request->ticket, shared_->writes->submitted());
    std::vector<JobId> ids;
    ids.reserve(raw->jobs.size());
    for (const PeekTask::Found& job : raw->jobs) ids.push_back(job.id);
    RedriveParts(request, ids, raw->next);
  };
  SubmitRead(std::move(task));
}

void Core::Impl::RedriveParts(RedriveRequest* request, const std::vector<JobId>& ids,
                              std::string next) {
  if (ids.empty()) return Executed(request);
  QueueRecord* const from = shared_->queues->Find(request->queue);
  QueueRecord* const to = request->to.empty() ? from : shared_->queues->Find(request->to);
  request->parts.clear();
  std::vector<JobsPart*> by_core(shared_->cores, nullptr);
  for (JobId id : ids) {
    const CoreId owner = shared_->OwnerOf(shared_->LaneOf(id));
    JobsPart*& part = by_core[owner.value()];
    if (part == nullptr) {
      auto made = std::make_unique<JobsPart>();
      part = made.get();
      part->work = JobsPart::Work::kRedrive;
      part->owner = owner;
      part->from_queue = from;
      part->to_queue = to;
      part->explain = request->id != JobId(0);
      part->finished = [this, request, next] {
        if (--request->parts_running == 0) RedriveFinished(request, next);
      };
      request->parts.push_back(std::move(made));
    }
    part->ids.push_back(id);
    ++request->taken;
    int64_t vest_ms = 0;
    if (request->rate != 0) {
      const auto later = static_cast<int64_t>(request->taken * 1000 / request->rate);
      vest_ms = (request->from + Milliseconds(later)).ms();
    }
    part->vest_ms.push_back(vest_ms);
  }
  request->parts_running = request->parts.size();
  for (auto& part : request->parts) Start(part.get());
}

void Core::Impl::RedriveFinished(RedriveRequest* request, std::string next) {
  Error error;
  for (const auto& part : request->parts) {
    request->redriven += static_cast<const JobsPart&>(*part).redriven;
    if (!part->error.ok() && error.ok()) error = part->error;
  }
  request->parts.clear();
  // There was no room for more: as many as there was room for.
  if (error.code() == ErrorCode::kFull && request->redriven > 0) return Executed(request);
  if (!error.ok()) return Refuse(request, error);
  const bool enough = request->count != 0 && request->taken >= request->count;
  if (next.empty() || enough) return Executed(request);
  RedriveSlice(request, std::move(next));
}

// --- At the owner ---

void Core::Impl::RedrivePart(JobsPart* part) {
  part->redriven = 0;
  WalkJobs(
      part->ids.size(), kLookups,
      [this, part](size_t i, WalkStep then) { LookForRedrive(part, i, std::move(then)); },
      [this, part] { Executed(part); });
}

// Reads the job and who holds its unique key, again if either changed meanwhile.
void Core::Impl::LookForRedrive(JobsPart* part, size_t i, WalkStep then) {
  const JobId id = part->ids[i];
  auto task = std::make_unique<RedriveTask>(
      shared_->LaneOf(id), id, part->to_queue == part->from_queue, shared_->queues.get());
  task->jobs_mark = jobs_log_.Begin();
  task->rows_mark = rows_log_.Begin();
  RedriveTask* const raw = task.get();
  task->finish = [this, part, i, raw, then = std::move(then)](ReadTask*) {
    bool changed = jobs_log_.Changed(raw->jobs_mark, raw->job.id) || OfAnotherLife(raw->job);
    if (raw->unique) {
      changed |= raw->unique->holder && OfAnotherLife(*raw->unique->holder);
      changed |= rows_log_.Changed(raw->rows_mark, raw->unique->row_key) ||
                 (raw->unique->row && jobs_log_.Changed(raw->jobs_mark, raw->unique->row->id));
    }
    jobs_log_.End(raw->jobs_mark);
    rows_log_.End(raw->rows_mark);
    // Also one that failed: between two of its reads the job may have gone on, and made no sense.
    if (changed && !shared_->writes->failed()) return LookForRedrive(part, i, then);
    const Error error = raw->error.ok() ? RedriveOne(part, i, *raw) : raw->error;
    if (error.ok()) return then(true);
    part->error = error;
    then(false);
  };
  SubmitRead(std::move(task));
}

// It would need another id where it is to go, and edges name it by this one.
bool Core::Impl::TiedToItsId(const JobsPart& part, const RedriveTask& task) const {
  const std::string& space = task.job.record->header.zone.space;
  const bool edges = task.parents > 0 || (task.job.flags & keycodec::kFlagParent) != 0;
  return edges && part.to_queue != part.from_queue && !space.empty() &&
         keycodec::LaneOfSpace(part.to_queue->name, space, shared_->lanes) != task.job.lane;
}

// When it vests: at `vest_ms` of engine time (0: at once). One that died while it waited for others has not
// come to its own time yet; that, if it is the later one, holds by its own clock.
Core::Impl::Vesting Core::Impl::VestsAgain(const LookupTask& job, int64_t vest_ms) {
  const keycodec::JobHeader& header = job.record->header;
  const Vesting paced{keycodec::Clock::kEngine, vest_ms};
  if (job.dead.attempt > 0 || header.vests_ms == 0) return paced;
  const bool wall = header.clock == keycodec::Clock::kWall;
  const int64_t left_ms = header.vests_ms - (wall ? shared_->clock->Wall().ms() : now().ms());
  if (left_ms <= std::max<int64_t>(0, vest_ms - now().ms())) return paced;
  return {header.clock, header.vests_ms};
}

// A job that is not dead (any more), or whose unique key another one holds, is passed over; of a command
// about one job that is the error.
Error Core::Impl::RedriveOne(JobsPart* part, size_t i, const RedriveTask& task) {
  const LookupTask& job = task.job;
  const bool here =
      job.record && job.record->header.zone.queue == QueueHere(part->from_queue)->life.number;
  if (!here || job.state != JobState::kDead) {
    if (!part->explain) return Error::Ok();
    const bool leased = LeaseOf(job.id) != nullptr;
    return NotMovable(job.id, !here ? JobState::kGone : leased ? JobState::kLeased : job.state);
  }
  now_stale_ = true;
  if (task.unique && task.unique->row) {
    const keycodec::UniqueValue& row = *task.unique->row;
    const bool held =
        row.live ? LeaseOf(row.id) != nullptr || task.unique->holder->state != JobState::kGone
                 : HoldsWindow(*QueueHere(part->from_queue), row);
    if (held && !part->explain) return Error::Ok();
    if (held) {
      return Error(ErrorCode::kBusy, "job " + std::to_string(row.id.value()) +
                                         " holds the unique key of job " +
                                         std::to_string(job.id.value()));
    }
  }
  if (TiedToItsId(*part, task)) {
    if (!part->explain) return Error::Ok();
    return Error(ErrorCode::kBusy,
                 "job " + std::to_string(job.id.value()) +
                     (task.parents > 0 ? " waits for others" : " has others that wait for it") +
                     ", and would need another id in '" + part->to_queue->name + "'");
  }
  CoreQueue* const to = QueueHere(part->to_queue);
  const Backlog want{1, static_cast<int64_t>(job.record->payload.size())};
  if (to->backlog != nullptr && !TakeRoom(to, want)) return NoRoomError(*to, want);
  if (task.unique && task.unique->row) ForgetWindow(job.lane, *task.unique->row);
  const Error error = RedriveFound(*part, VestsAgain(job, part->vest_ms[i]), task);
  if (error.ok()) ++part->redriven;
  return error;
}

namespace {

// What a job takes along to another queue: not what holds in the scope of the one it leaves, nor
// EXPIRE, which the first lease has ended.
void LeaveQueue(const CoreQueue& to, keycodec::JobHeader* header) {
  header->zone = {to.life.number, to.life[KeyKind::kReady], to.record->order(), header->zone.space};
  header->flags &= ~uint32_t{keycodec::kFlagUnique | keycodec::kFlagExpire};
  header->unique_key.clear();
  header->unique_ms = 0;
  header->expire_ms = 0;
}

uint32_t FlagsAnew(const keycodec::JobHeader& header, const keycodec::JobRow& row) {
  uint32_t flags = (header.flags & ~uint32_t{keycodec::kFlagExpire}) | keycodec::kFlagJobRow;
  if (!row.checkpoint.empty()) flags |= keycodec::kFlagCheckpoint;
  return flags;
}

}  // namespace

Error Core::Impl::RedriveFound(const JobsPart& part, Vesting vests, const RedriveTask& found) {
  const LookupTask* const task = &found.job;
  keycodec::JobHeader header = task->record->header;
  const QueueRecord& to = *part.to_queue;
  shared_->queues->EnsureStored(part.to_queue);  // in this turn: VANISH-1
  const bool moves = part.to_queue != part.from_queue;
  if (moves && !header.zone.space.empty()) {
    // A space of the other queue has a lane of its own; a job keeps its id only in its own lane.
    const LaneId lane = keycodec::LaneOfSpace(to.name, header.zone.space, shared_->lanes);
    if (lane != task->lane) return HandOver(part, lane, vests, task);
  }
  CoreQueue* const from = QueueById(header.zone.queue);
  const auto bytes = static_cast<int64_t>(task->record->payload.size());
  DeleteRow(task->row->key);
  Count(from, keycodec::Counter::kDead, -1);
  Count(from, keycodec::Counter::kDeadBytes, -bytes);
  if (moves) {
    Count(from, keycodec::Counter::kBytes, -bytes);
    CoreQueue* const queue = QueueHere(part.to_queue);
    LeaveQueue(*queue, &header);
    Count(queue, keycodec::Counter::kBytes, bytes);
    key_.clear();
    keycodec::AppendJobKey(task->lane, task->id, &key_);
    value_.clear();
    keycodec::AppendJobRecord(header, task->record->payload, &value_);
    batch_.SingleDelete(Family::kJob, key_);
    batch_.Put(Family::kJob, key_, value_);
  }
  keycodec::JobRow row = *task->row;
  row.attempt = 0;
  row.last_error = task->dead.last_error;
  if ((header.flags & keycodec::kFlagUnique) != 0) HoldUniqueKey(header, task->id);
  const uint32_t flags = FlagsAnew(header, row) | (task->flags & keycodec::kFlagParent);
  if (found.parents > 0) {  // not all parents have ended: it waits for the others
    keycodec::WaitingValue value;
    value.flags = flags;
    value.zone = header.zone;
    value.lane = task->lane;
    value.priority = row.priority;
    value.enqueued_ms = header.enqueued_ms;
    value.clock = vests.clock;
    value.vests_ms = vests.time_ms;
    value.pending = found.parents;
    PutWaiting(task->lane, task->id, value, std::move(row));
    return Error::Ok();
  }
  PlaceJob(task->lane, task->id, header, flags, std::move(row), vests.clock, vests.time_ms);
  TouchJob(task->id);
  Emit(EventKind::kRedriven, from, task->id, 0);
  return Error::Ok();
}

// The job goes on under a new id in a lane that is another's, perhaps another core's. All of it is one
// batch, so that no crash leaves it twice or not at all. It is put into SCHEDULED, due now: nobody else
// can know the id before the owner has found it there, so the owner's memory need not change with it,
// and it does not matter whether the owner finds it by the note or before that.
Error Core::Impl::HandOver(const JobsPart& part, LaneId lane, Vesting vests,
                           const LookupTask* task) {
  const JobId id = NewJobId(lane);
  if (id.value() > limits::kJobIdMax) {
    return Error(ErrorCode::kFull,
                 "this store has given out its last job id, " + std::to_string(limits::kJobIdMax));
  }
  const auto bytes = static_cast<int64_t>(task->record->payload.size());
  keycodec::JobHeader header = task->record->header;
  CoreQueue* const from = QueueById(header.zone.queue);
  DeleteRow(task->row->key);
  DeleteRow(keycodec::JobRowKey(task->lane, task->id));
  key_.clear();
  keycodec::AppendJobKey(task->lane, task->id, &key_);
  batch_.SingleDelete(Family::kJob, key_);
  Count(from, keycodec::Counter::kDead, -1);
  Count(from, keycodec::Counter::kDeadBytes, -bytes);
  Count(from, keycodec::Counter::kBytes, -bytes);
  TouchJob(task->id);
  Emit(EventKind::kRedriven, from, task->id, 0);

  CoreQueue* const queue = QueueHere(part.to_queue);
  Emit(EventKind::kEnqueued, queue, id, 0);
  LeaveQueue(*queue, &header);
  if (vests.time_ms == 0) vests.time_ms = now().ms();
  keycodec::ScheduledValue value;
  value.flags = FlagsAnew(header, *task->row);
  value.zone = header.zone;
  value.zone.incarnation = queue->life[KeyKind::kScheduled];
  value.priority = task->priority;
  value.enqueued_ms = header.enqueued_ms;
  keycodec::JobRow row = *task->row;
  row.place = keycodec::Place::kVesting;
  row.attempt = 0;
  row.last_error = task->dead.last_error;
  row.key.clear();
  keycodec::AppendScheduledKey(lane, vests.clock, vests.time_ms, id, &row.key);
  value_.clear();
  keycodec::Append(value, &value_);
  batch_.Put(Family::kVesting, row.key, value_);
  value_.clear();
  keycodec::Append(row, &value_);
  PutRow(keycodec::JobRowKey(lane, id), value_);
  key_.clear();
  keycodec::AppendJobKey(lane, id, &key_);
  value_.clear();
  keycodec::AppendJobRecord(header, task->record->payload, &value_);
  batch_.Put(Family::kJob, key_, value_);
  Count(queue, keycodec::Counter::kScheduled, 1);
  Count(queue, keycodec::Counter::kBytes, bytes);

  auto made = std::make_unique<JobsPart>();
  JobsPart* const note = made.get();
  notes_.emplace(note, std::move(made));
  note->work = JobsPart::Work::kNote;
  note->owner = shared_->OwnerOf(lane);
  note->note_lane = lane;
  note->note_clock = vests.clock;
  note->note_ms = vests.time_ms;
  note->finished = [this, note] { notes_.erase(note); };
  Start(note);  // leaves behind the batch (CORE-1)
  return Error::Ok();
}

void Core::Impl::NotePart(JobsPart* part) {
  // The scan that follows must see the batch of the core that has sent this.
  last_ticket_ = std::max(last_ticket_, shared_->writes->submitted());
  NoteScheduled(LaneHere(part->note_lane), part->note_clock, part->note_ms);
  Executed(part);
}

}  // namespace vestq
