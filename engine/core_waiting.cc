// LEASEs that wait, where they started, and the waking of them.
//
// WAIT-1: no job stands ready while a LEASE waits for its queue. A waiter registers, fences, and
// looks at the heads again; an owner publishes its head, fences, and looks for waiters. One job
// wakes one waiter; a woken LEASE that finds nothing keeps its place; a wake-up that finds no
// waiter is passed on.
#include <algorithm>

#include "engine/base/check.h"
#include "engine/core_impl.h"
#include "lanes/published_head.h"

namespace vestq {
namespace {
// LEASEs behind a waiter in its stream may serve waiters in turn: bounded by the stack, the rest
// keep their marks for the next turn.
constexpr int kServeDepthMax = 8;
}  // namespace

void Core::Impl::Register(LeaseRequest* request) {
  if (request->wait_order == 0) {
    // Comparable between cores to the millisecond: longest wait first.
    request->wait_order = (static_cast<uint64_t>(now().ms()) << 20) + (++wait_counter_ & 0xFFFFF);
  }
  request->waiting = true;
  waiting_[request->wait_order] = request;
  if (request->wait_until < MonoTime::Max()) {
    wait_timers_[{request->wait_until, request->wait_order}] = request;
  }
  if (request->one_space) return ArmProbes(request);
  for (QueueRecord* record : request->records) {
    CoreQueue* const queue = QueueHere(record);
    if (!queue->waiters.emplace(request->wait_order, request).second)
      continue;  // the same queue named twice
    QueueSlot& slot = record->slots[id_.value()];
    ShowWaiters(queue);
    slot.oldest_waiter.store(queue->waiters.begin()->first, std::memory_order_relaxed);
  }
  if (!alone_) std::atomic_thread_fence(std::memory_order_seq_cst);
  for (QueueRecord* record : request->records) {
    if (Limited(*record)) WatchRate(QueueHere(record));
  }
  if (AnyHead(*request, false)) {
    for (QueueRecord* record : request->records) MarkNotify(QueueHere(record));
  }
}

void Core::Impl::Unregister(LeaseRequest* request) {
  if (!request->waiting) return;
  request->waiting = false;
  waiting_.erase(request->wait_order);
  wait_timers_.erase({request->wait_until, request->wait_order});
  for (QueueRecord* record : request->records) {
    CoreQueue* const queue = QueueHere(record);
    if (request->one_space) {
      --queue->space_waiters;
      record->space_waiters.fetch_sub(1, std::memory_order_relaxed);
      ShowWaiters(queue);
      WatchVanish(queue);
      continue;
    }
    queue->waiters.erase(request->wait_order);
    QueueSlot& slot = record->slots[id_.value()];
    ShowWaiters(queue);
    slot.oldest_waiter.store(queue->waiters.empty() ? kNoWaiter : queue->waiters.begin()->first,
                             std::memory_order_relaxed);
    if (queue->waiters.empty()) WatchVanish(queue);
  }
}

void Core::Impl::ShowWaiters(CoreQueue* queue) {
  queue->record->slots[id_.value()].waiters.store(queue->waiters.size() + queue->space_waiters,
                                                  std::memory_order_relaxed);
}

// Waiters of this core for queues that have something, here or elsewhere.
void Core::Impl::ServeWaiters() {
  if (serving_ == kServeDepthMax) return;
  ++serving_;
  // Serving may mark queues again (a LEASE that waits for two queues): bounded by this turn's
  // marks.
  const size_t marked = notify_.size();
  std::vector<CoreQueue*> queues(notify_.begin(), notify_.begin() + static_cast<ptrdiff_t>(marked));
  notify_.erase(notify_.begin(), notify_.begin() + static_cast<ptrdiff_t>(marked));
  for (CoreQueue* queue : queues) {
    queue->notify = false;
    if (!queue->wanted_ready.empty()) ServeWanted(queue);
    // A LEASE that goes to look at another core, or waits for a read, uses up one wake-up; local
    // jobs are served as long as there are any.
    const uint32_t received = std::exchange(queue->wakes, 0);
    uint32_t wakes = std::max<uint32_t>(1, received);
    uint32_t used = 0;
    while (wakes > 0 && !queue->waiters.empty()) {
      LeaseRequest* const request = queue->waiters.begin()->second;
      if (!AnyHead(*request, false)) break;
      Unregister(request);
      request->stage = 0;
      now_stale_ = true;  // LEASE-5
      ContinueLease(request);
      if (request->waiting) break;  // found nothing: the head it saw was taken by another
      if (request->under_way) {
        --wakes;
        ++used;
      }
    }
    // The waiters that others woke have gone meanwhile: their time was up, or a job here was theirs.
    if (used < received && queue->waiters.empty()) PassOnWake(queue->record);
    if (Limited(*queue->record) && (!queue->waiters.empty() || !queue->wanted.empty()))
      WatchRate(queue);
    if (queue->new_jobs > 0) tell_.push_back(queue);
  }
  --serving_;
}

// Jobs that became ready here and that no waiter here took: the waiter that waits longest
// elsewhere.
void Core::Impl::TellOthers() {
  if (alone_) {
    for (CoreQueue* queue : tell_) queue->new_jobs = 0;
    tell_.clear();
    return;
  }
  if (tell_.empty()) return;
  std::atomic_thread_fence(std::memory_order_seq_cst);  // the heads were published before
  for (CoreQueue* queue : tell_) {
    uint32_t jobs = std::exchange(queue->new_jobs, 0);
    if (queue->record->slots[id_.value()].head.load(std::memory_order_relaxed) == kNoHead) continue;
    std::vector<std::pair<uint64_t, CoreId>> waiting;
    for (uint16_t i = 0; i < shared_->cores; ++i) {
      if (i == id_.value()) continue;
      const uint64_t oldest = queue->record->slots[i].oldest_waiter.load(std::memory_order_relaxed);
      if (oldest != kNoWaiter) waiting.emplace_back(oldest, CoreId(i));
    }
    std::sort(waiting.begin(), waiting.end());
    for (size_t i = 0; jobs > 0 && !waiting.empty(); ++i, --jobs) {
      // Further jobs go round the cores that wait; each passes on what it cannot use.
      const CoreId core = waiting[i % waiting.size()].second;
      if (i >= limits::kSliceJobs) break;
      Send(core, Message{Message::Kind::kWake, nullptr, queue->record});
    }
  }
  tell_.clear();
}

// A wake-up from another core.
void Core::Impl::WakeOne(QueueRecord* record) {
  CoreQueue* const queue = QueueHere(record);
  if (!queue->waiters.empty()) {
    ++queue->wakes;
    return MarkNotify(queue);
  }
  PassOnWake(record);
}

// The waiter that a wake-up was for has gone, or has found something else: to a core that still has
// one.
void Core::Impl::PassOnWake(QueueRecord* record) {
  if (alone_) return;
  bool ready = false;
  for (uint16_t i = 0; i < shared_->cores; ++i) {
    ready |= record->slots[i].head.load(std::memory_order_acquire) != kNoHead;
  }
  if (!ready) return;  // taken: whoever registers later looks by itself
  std::atomic_thread_fence(std::memory_order_seq_cst);
  uint64_t oldest = kNoWaiter;
  CoreId core = id_;
  for (uint16_t i = 0; i < shared_->cores; ++i) {
    const uint64_t waiter = record->slots[i].oldest_waiter.load(std::memory_order_relaxed);
    if (i != id_.value() && waiter < oldest) {
      oldest = waiter;
      core = CoreId(i);
    }
  }
  if (core != id_) Send(core, Message{Message::Kind::kWake, nullptr, record});
}

void Core::Impl::ExpireWaits() {
  while (!wait_timers_.empty() && wait_timers_.begin()->first.first <= now_) {
    LeaseRequest* const request = wait_timers_.begin()->second;
    Unregister(request);
    FinishLease(request);
  }
}

void Core::Impl::AbandonLease(LeaseRequest* request) {
  request->abandoned = true;
  if (!request->waiting) return;  // done, or under way: it ends by itself
  if (frozen_) return held_abandons_.push_back(request);
  Unregister(request);
  FinishLease(request);
}

}  // namespace vestq
