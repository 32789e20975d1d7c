// WAITFOR: requests that wait for a job's end at the job's owner, woken by what changes the job. And the
// end of any request that waits, at the wish of its caller.
#include <algorithm>

#include "engine/age_task.h"
#include "engine/base/check.h"
#include "engine/core_impl.h"
#include "engine/lookup_task.h"
#include "engine/watch_request.h"

namespace vestq {

// --- The end of what waits ---

void Core::Impl::Abandon(Request* request) {
  if (request->kind == RequestKind::kLease)
    return AbandonLease(static_cast<LeaseRequest*>(request));
  CoreId owner = id_;
  if (request->kind == RequestKind::kWaitFor) {
    auto* const wait = static_cast<WaitForRequest*>(request);
    wait->abandoned = true;
    if (!wait->under_way) return;
    owner = Target(*shared_, *request, id_);
  } else if (EnqueueRequest* const job = const_cast<EnqueueRequest*>(JobOf(*request))) {
    job->abandoned.store(true, std::memory_order_release);
    owner = Target(*shared_, *request, id_);
  } else {
    CHECK(request->kind == RequestKind::kEvents, "a request of a kind that waits");
    static_cast<EventsRequest*>(request)->abandoned = true;
  }
  if (frozen_) {
    held_ends_.emplace_back(owner, request);
    return;
  }
  AbandonAt(owner, request);
}

void Core::Impl::AbandonAt(CoreId owner, Request* request) {
  if (owner == id_) return AbandonHere(request);
  Send(owner, Message{Message::Kind::kAbandon, request, nullptr});
}

// The request may be gone by now: it is looked for, not looked at.
void Core::Impl::AbandonHere(Request* request) {
  if (const auto it = watches_.find(request); it != watches_.end()) {
    auto* const wait = static_cast<WaitForRequest*>(request);
    EndWaitFor(wait);
    return Executed(wait);
  }
  const auto reader = std::find(event_readers_.begin(), event_readers_.end(), request);
  if (reader != event_readers_.end()) {
    event_readers_.erase(reader);
    return Executed(request);
  }
  if (AbandonEnqueue(request)) return;
  AbandonProbe(request);
}

// --- WAITFOR, at the owner ---

void Core::Impl::WaitFor(WaitForRequest* request) {
  now_stale_ = true;
  request->state = JobState::kGone;
  request->wait_until =
      request->wait && request->block > Duration(0) ? now() + request->block : MonoTime::Max();
  watches_.insert(request);
  watched_[request->id].push_back(request);
  LookForEnd(request->id);
}

void Core::Impl::LookForEnd(JobId id) {
  Lookup(id, [this, id](const LookupTask* task) { EndFound(id, task); });
}

// How the job stands: the answer for those that look once, and for all if it has ended.
void Core::Impl::EndFound(JobId id, const LookupTask* task) {
  const auto it = watched_.find(id);
  if (it == watched_.end()) return;
  const bool ended =
      LeaseOf(id) == nullptr && (task->state == JobState::kGone || task->state == JobState::kDead ||
                                 task->state == JobState::kDone);
  std::vector<WaitForRequest*> over;
  for (WaitForRequest* request : std::vector<WaitForRequest*>(it->second)) {
    if (task->error.ok() && !ended && request->wait) {
      // Not before the first look: however short the wait, an end that was there is seen.
      if (request->wait_until < MonoTime::Max())
        watch_timers_.emplace(request->wait_until, request);
      continue;
    }
    EndWaitFor(request);
    request->ended = task->error.ok() && ended;
    if (!task->error.ok()) {
      request->error = task->error;
    } else if (ended) {
      DescribeFound(request, task);
    }
    over.push_back(request);
  }
  // Not before all are described: what is behind one in its stream runs at once, and may drop the queue.
  for (WaitForRequest* request : over) Executed(request);
}

// It no longer waits; the caller answers it.
void Core::Impl::EndWaitFor(WaitForRequest* request) {
  watches_.erase(request);
  watch_timers_.erase({request->wait_until, request});
  const auto it = watched_.find(request->id);
  std::erase(it->second, request);
  if (it->second.empty()) watched_.erase(it);
}

void Core::Impl::ServeWatches() {
  while (!watch_timers_.empty() && watch_timers_.begin()->first <= now_) {
    WaitForRequest* const request = watch_timers_.begin()->second;
    EndWaitFor(request);
    Executed(request);
  }
  if (touched_watches_.empty()) return;
  std::vector<JobId> ids = std::exchange(touched_watches_, {});
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  for (const JobId id : ids) {
    // One that is leased has not ended, and its next change comes by here again.
    if (watched_.contains(id) && LeaseOf(id) == nullptr) LookForEnd(id);
  }
}

// Many jobs may have ended at once, without having been touched one by one.
void Core::Impl::LookAtAllWatched() {
  for (const auto& [id, requests] : watched_) touched_watches_.push_back(id);
}

// The store has failed.
void Core::Impl::FailWatches() {
  touched_watches_.clear();
  while (!watched_.empty()) {
    WaitForRequest* const request = watched_.begin()->second.front();
    EndWaitFor(request);
    request->error =
        Error(ErrorCode::kShutdown, "the store has failed: " + shared_->writes->failure().text());
    Executed(request);
  }
}

// --- QUEUE INFO ---

void Core::Impl::QueueInfo(QueueInfoRequest* request) {
  QueueRecord* const record = shared_->queues->Find(request->queue);
  if (record == nullptr || !record->stored.load(std::memory_order_relaxed)) {
    return Refuse(request,
                  Error(ErrorCode::kNotFound, "there is no queue '" + request->queue + "'"));
  }
  const auto answer = [this, request, record] {
    now_stale_ = true;
    request->at = now();
    request->counts = record->Counts(shared_->cores);
    request->options = shared_->queues->Options(*record);
    request->ticket = std::max(request->ticket, shared_->writes->written());
    Executed(request);
  };
  if (record->Total(keycodec::Counter::kReady, shared_->cores) <= 0) return answer();
  auto task = std::make_unique<AgeTask>();
  const QueueLife& life = QueueHere(record)->life;
  task->queue = life.number;
  task->incarnation = life[KeyKind::kReady];
  task->lanes = shared_->lanes;
  task->max_seeks = QueueInfoRequest::kSeeks;
  task->after = shared_->writes->submitted();
  AgeTask* const raw = task.get();
  task->finish = [this, request, raw, answer](ReadTask*) {
    if (!raw->error.ok()) return Refuse(request, raw->error);
    for (size_t i = 0; i < QueueInfoRequest::kBands; ++i) {
      if (raw->oldest_ms[i]) request->oldest[i] = MonoTime(*raw->oldest_ms[i]);
    }
    request->whole = raw->whole;
    answer();
  };
  SubmitRead(std::move(task));
}

}  // namespace vestq
