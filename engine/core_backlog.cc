// Back-pressure: `max-jobs` and `max-bytes` of a queue (lanes/backlog.h), and the ENQUEUEs that wait for
// room (engine/queue_backlog.h).
//
// What counts are jobs that are not finished: scheduled, waiting, ready, leased; and their payload bytes.
// Dead letters and kept results have bounds of their own. How many stand with a core is told by its
// counters, which every change of a job goes through, so what it holds of the shared count is brought in
// line with them once a turn, behind the turn's batch (CORE-1): no crash keeps the job that took a place
// and loses the end of the one that left it. Only what adds to a queue takes room beforehand: ENQUEUE and
// its like, REDRIVE, a slot of a schedule, a REPLACE that grows.
//
// A queue that has never had a limit has no CoreBacklog, and pays for looking whether it has one. Before
// its first limit is set every core begins to count, and counts for ever after; so from its first moment
// the limit goes by what stands there, exactly.
#include <algorithm>
#include <utility>

#include "engine/base/check.h"
#include "engine/core_impl.h"
#include "engine/jobs_part.h"

namespace vestq {
namespace {

// What one that waits costs beside its payload and headers.
constexpr uint64_t kWaitBytes = 1024;

uint64_t MemoryOf(const Request& request) {
  const EnqueueRequest& job = *JobOf(request);
  uint64_t bytes =
      kWaitBytes + job.payload.size() + job.unique_key.size() + job.after.size() * sizeof(JobId);
  for (const auto& [name, value] : job.headers) bytes += 64 + name.size() + value.size();
  if (request.kind != RequestKind::kEnqueueMany) return bytes;
  for (const std::string& payload : static_cast<const EnqueueManyRequest&>(request).payloads)
    bytes += sizeof(payload) + payload.size();
  return bytes;
}

std::string Jobs(int64_t count) { return std::to_string(count) + (count == 1 ? " job" : " jobs"); }

}  // namespace

// --- Counting ---

// What stands with this core; single numbers may be below 0, where a job has come here from another core.
Backlog Core::Impl::Standing(const CoreQueue& queue) {
  using keycodec::Counter;
  const keycodec::CounterValue& counters = queue.counters;
  return {counters[Counter::kReady] + counters[Counter::kScheduled] + counters[Counter::kLeased] +
              counters[Counter::kWaiting],
          counters[Counter::kBytes] - counters[Counter::kDeadBytes]};
}

// What this core may not give back.
Backlog Core::Impl::Occupied(const CoreQueue& queue) {
  return Standing(queue) + queue.backlog->promised + queue.backlog->withheld;
}

void Core::Impl::CountBacklog(CoreQueue* queue) {
  if (queue->backlog != nullptr) return;
  queue->backlog = std::make_unique<CoreBacklog>();
  queue->backlog->queue = queue->record->backlog.load(std::memory_order_acquire);
  queue->backlog->held = Standing(*queue);
  queue->backlog->queue->shared.Add(queue->backlog->held);
  queue->backlog->queue->counting.fetch_add(1, std::memory_order_acq_rel);
}

void Core::Impl::CountPart(JobsPart* part) {
  CountBacklog(QueueHere(part->from_queue));
  Executed(part);
}

// `then` once every core counts.
void Core::Impl::CountEverywhere(QueueRecord* record, std::function<void()> then,
                                 std::function<void()> failure) {
  const QueueBacklog* const all = shared_->queues->Backlogs(record);
  if (all->counting.load(std::memory_order_acquire) == shared_->cores) return then();
  ToAllCores(
      record, [](JobsPart* part) { part->work = JobsPart::Work::kCount; }, std::move(then),
      std::move(failure));
}

void Core::Impl::RoomChanged(CoreQueue* queue) {
  if (std::exchange(queue->backlog->listed, true)) return;
  room_changed_.push_back(queue);
}

// BACKLOG-2. Behind the turn's batch.
void Core::Impl::GiveRoom() {
  for (CoreQueue* queue : std::exchange(room_changed_, {})) {
    CoreBacklog& here = *queue->backlog;
    here.listed = false;
    const Backlog occupied = Occupied(*queue);
    here.queue->shared.Add(occupied - here.held);
    here.held = occupied;
    LetIn(queue->record);
  }
}

// A purge has made so much void here. Where the jobs of a queue have moved between cores, what is less
// here may be more at another: the room is given when all have switched.
void Core::Impl::Withhold(CoreQueue* queue, const Backlog& gone) {
  queue->backlog->withheld +=
      Backlog{std::max<int64_t>(0, gone.jobs), std::max<int64_t>(0, gone.bytes)};
  RoomChanged(queue);
}

void Core::Impl::RoomOfPurge(QueueRecord* record) {
  CoreQueue* const queue = QueueHere(record);
  if (queue->backlog == nullptr) return;
  queue->backlog->withheld = Backlog();
  RoomChanged(queue);
}

// --- Taking room ---

// BACKLOG-1. Room for so much more, or for so many bytes more of jobs that are there. `room` is held already for
// one that has waited: within it no limit is asked, beyond it no line. What is not used by the end of the turn
// is given back. REQUIRES: the backlog is counted.
bool Core::Impl::TakeRoom(CoreQueue* queue, const Backlog& want, const Backlog& room) {
  CoreBacklog& here = *queue->backlog;
  const bool covered = want.jobs <= room.jobs && want.bytes <= room.bytes;
  const BacklogLimits limits = covered ? BacklogLimits() : here.queue->limits();
  const bool has_waited = room != Backlog();
  if (!has_waited && limits.Concern(want) && here.queue->line.waiting() > 0) return false;
  Backlog taken;
  const bool fits = here.queue->shared.TryTake(want, here.held - Occupied(*queue), limits, &taken);
  here.held += taken;
  RoomChanged(queue);
  return fits;
}

Backlog Core::Impl::WantOf(const EnqueueManyRequest& request) {
  Backlog want{static_cast<int64_t>(request.payloads.size()), 0};
  for (const std::string& payload : request.payloads)
    want.bytes += static_cast<int64_t>(payload.size());
  return want;
}

// Why there is none, and what to do about it.
Error Core::Impl::NoRoomError(const CoreQueue& queue, const Backlog& want) {
  const QueueBacklog& all = *queue.backlog->queue;
  const BacklogLimits limits = all.limits();
  const Backlog held = all.shared.held();
  const std::string name = "queue '" + queue.record->name + "'";
  const std::string max_jobs = "max-jobs is " + std::to_string(limits.jobs);
  const std::string max_bytes = "max-bytes is " + std::to_string(limits.bytes);
  const std::string bytes = std::to_string(want.bytes) + " bytes";
  const std::string wants = want.jobs == 0 ? bytes : Jobs(want.jobs) + " of " + bytes;
  const auto full = [](std::string text) { return Error(ErrorCode::kFull, std::move(text)); };
  if (limits.Exceeded(want)) {
    const bool by_jobs = limits.jobs != kNoRoomLimit && want.jobs > limits.jobs;
    return full(name + " never has room for " + wants + ": its " +
                (by_jobs ? max_jobs : max_bytes) + "; raise it or send less");
  }
  const std::string advice = ": wait until some are done, cancel or purge some, or raise it";
  const std::string holds =
      name + " holds " + Jobs(held.jobs) + " of " + std::to_string(held.bytes) + " bytes, ";
  if (limits.jobs != kNoRoomLimit && want.jobs > 0 && held.jobs + want.jobs > limits.jobs)
    return full(holds + max_jobs + advice);
  if (limits.bytes != kNoRoomLimit && want.bytes > 0 && held.bytes + want.bytes > limits.bytes)
    return full(holds + max_bytes + " and " + std::to_string(want.bytes) + " more are wanted" +
                advice);
  return full(holds + std::to_string(all.line.waiting()) +
              " ENQUEUEs wait for room there: wait as well, with WAIT, or try again");
}

// --- The line ---

// The request does not fit: it joins the line, or is refused. What has been found so far is forgotten.
void Core::Impl::NoRoom(CoreQueue* queue, Request* request, EnqueueRequest* job,
                        const Backlog& want) {
  QueueBacklog& all = *queue->backlog->queue;
  now_stale_ = true;
  if (job->wait > Duration(0) && job->wait_until == MonoTime()) job->wait_until = now() + job->wait;
  // A REPLACE wants only what it has more, but all of it is to stand there.
  Backlog whole = want;
  if (request->kind == RequestKind::kEnqueue)
    whole.bytes = static_cast<int64_t>(job->payload.size());
  const bool never = all.limits().Exceeded(whole);
  const bool may_wait = job->wait > Duration(0) && job->wait_until > now() &&
                        !job->abandoned.load(std::memory_order_acquire) && !never;
  const uint64_t memory = may_wait ? MemoryOf(*request) : 0;
  const uint64_t before = shared_->waiting_bytes.fetch_add(memory, std::memory_order_relaxed);
  const uint64_t most = shared_->options.memory / limits::kMemoryPerWaiting;
  const bool too_much = may_wait && before > 0 && before + memory > most;
  if (!may_wait || too_much) {
    shared_->waiting_bytes.fetch_sub(memory, std::memory_order_relaxed);
    LetIn(queue->record);  // what was tried here may have been in somebody's way
    Error error = NoRoomError(*queue, never ? whole : want);
    if (too_much) {
      error = Error(ErrorCode::kFull, error.text() + "; it cannot wait, ENQUEUEs that wait hold " +
                                          std::to_string(before) + " bytes, at most " +
                                          std::to_string(most) + " may");
    }
    return RefuseFull(&all, request, error);
  }
  auto made = std::make_unique<EnqueueWait>();
  EnqueueWait* const wait = made.get();
  enqueue_waits_.emplace(request, std::move(made));
  wait->request = request;
  wait->job = job;
  wait->record = queue->record;
  wait->core = id_;
  wait->room = want;
  wait->memory = memory;
  wait->until = job->wait_until;
  wait->order = ++wait_counter_;
  enqueue_timers_.emplace(std::pair(wait->until, wait->order), wait);
  job->waiting.store(true, std::memory_order_relaxed);
  all.line.Join(wait);
  LetIn(queue->record);
}

void Core::Impl::RefuseFull(QueueBacklog* backlog, Request* request, const Error& error) {
  backlog->refused.fetch_add(1, std::memory_order_relaxed);
  Refuse(request, error);
}

// BACKLOG-3. Sends home those who are first and fit; after whatever may have made room.
void Core::Impl::LetIn(QueueRecord* record) {
  QueueBacklog& all = *record->backlog.load(std::memory_order_acquire);
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (all.line.waiting() == 0) return;
  for (const EnqueueWait* wait : all.line.LetIn(&all.shared, all.limits())) {
    if (wait->core == id_) {
      // Not from the depth of whoever has made room.
      Later([this, request = wait->request, record] { LetInHere(request, record); });
    } else {
      Send(wait->core, Message{Message::Kind::kLetIn, wait->request, record});
    }
  }
}

// It waits no more. Its place in the line it has left before.
std::unique_ptr<EnqueueWait> Core::Impl::EndEnqueueWait(Request* request) {
  const auto it = enqueue_waits_.find(request);
  CHECK(it != enqueue_waits_.end(), "an ENQUEUE in a line waits at its core");
  std::unique_ptr<EnqueueWait> wait = std::move(it->second);
  enqueue_waits_.erase(it);
  enqueue_timers_.erase({wait->until, wait->order});
  shared_->waiting_bytes.fetch_sub(wait->memory, std::memory_order_relaxed);
  wait->job->waiting.store(false, std::memory_order_relaxed);
  return wait;
}

// At its core: room is held for it, or there will never be any.
void Core::Impl::LetInHere(Request* request, QueueRecord* record) {
  const std::unique_ptr<EnqueueWait> wait = EndEnqueueWait(request);
  CoreQueue* const queue = QueueHere(record);
  if (wait->has_room) queue->backlog->held += wait->room;
  RoomChanged(queue);
  if (shared_->writes->failed()) {
    return Refuse(request, Error(ErrorCode::kShutdown,
                                 "the store has failed: " + shared_->writes->failure().text()));
  }
  if (!wait->has_room || wait->job->abandoned.load(std::memory_order_acquire))
    return RefuseFull(queue->backlog->queue, request, NoRoomError(*queue, wait->room));
  if (request->kind == RequestKind::kEnqueueMany)
    return EnqueueMany(static_cast<EnqueueManyRequest*>(request), wait->room);
  Enqueue(static_cast<EnqueueRequest*>(request), wait->room);
}

// Refuses one that is still in the line; one that has left it is about to be carried out. Those behind it
// may fit.
void Core::Impl::GiveUpWait(EnqueueWait* wait) {
  QueueRecord* const record = wait->record;
  QueueBacklog& all = *record->backlog.load(std::memory_order_acquire);
  if (!all.line.Leave(wait)) return;
  const std::unique_ptr<EnqueueWait> ended = EndEnqueueWait(wait->request);
  RefuseFull(&all, ended->request, NoRoomError(*QueueHere(record), ended->room));
  LetIn(record);
}

void Core::Impl::ExpireEnqueueWaits() {
  while (!enqueue_timers_.empty() && enqueue_timers_.begin()->first.first <= now_) {
    EnqueueWait* const wait = enqueue_timers_.begin()->second;
    enqueue_timers_.erase(enqueue_timers_.begin());
    GiveUpWait(wait);
  }
}

// The request may be gone by now: it is looked for, not looked at.
bool Core::Impl::AbandonEnqueue(const Request* request) {
  const auto it = enqueue_waits_.find(request);
  if (it == enqueue_waits_.end()) return false;
  GiveUpWait(it->second.get());
  return true;
}

// The store has failed. Those that were let in come here by message.
void Core::Impl::FailEnqueueWaits() {
  std::vector<EnqueueWait*> waits;
  for (const auto& [when, wait] : enqueue_timers_) waits.push_back(wait);
  for (EnqueueWait* wait : waits) {
    if (!wait->record->backlog.load(std::memory_order_acquire)->line.Leave(wait)) continue;
    const std::unique_ptr<EnqueueWait> ended = EndEnqueueWait(wait->request);
    ended->request->error =
        Error(ErrorCode::kShutdown, "the store has failed: " + shared_->writes->failure().text());
    Executed(ended->request);
  }
}

}  // namespace vestq
