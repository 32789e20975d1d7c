// A queue that nobody needs vanishes: kVanishAfter after it has had no job, dead or kept ones included, no
// option and nobody who waits for it, its row and counters go, and its name no longer stands for anything.
//
// A core watches the queues it has counted something of, each until its time has come once: a queue that
// rests is looked at once, so an idle server has no tick. VANISH-1: no job is lost with a row. Whoever puts
// a job calls EnsureStored in the same turn; so the row's end is announced first, then every core says
// that what it did before is submitted, and the row goes only if nobody has asked for it in between and
// nothing is counted.
#include <algorithm>
#include <utility>

#include "engine/base/check.h"
#include "engine/core_impl.h"
#include "engine/erase_task.h"
#include "engine/jobs_part.h"

namespace vestq {

bool Core::Impl::NothingIn(const QueueRecord& record) const {
  bool any = record.Total(keycodec::Counter::kLeased, shared_->cores) != 0;
  for (const keycodec::Counter counter : kCounterOfKind)
    any |= record.Total(counter, shared_->cores) != 0;
  return !any;
}

// Something of it has changed here just now.
void Core::Impl::WatchVanish(CoreQueue* queue) {
  queue->record->slots[id_.value()].touched_ms.store(now().ms(), std::memory_order_relaxed);
  if (shared_->writes->failed() || std::exchange(queue->vanish_watched, true)) return;
  vanishing_.emplace(std::pair(now() + kVanishAfter, queue->record->ordinal), queue);
}

void Core::Impl::VanishDue() {
  for (size_t i = 0; i < limits::kSliceJobs; ++i) {
    if (vanishing_.empty() || vanishing_.begin()->first.first > now_) return;
    CoreQueue* const queue = vanishing_.begin()->second;
    vanishing_.erase(vanishing_.begin());
    queue->vanish_watched = false;
    ConsiderVanish(queue);
  }
}

void Core::Impl::ConsiderVanish(CoreQueue* queue) {
  QueueRecord* const record = queue->record;
  if (!record->stored.load(std::memory_order_relaxed)) return;
  const MonoTime touched(record->slots[id_.value()].touched_ms.load(std::memory_order_relaxed));
  if (touched + kVanishAfter > now_) {
    queue->vanish_watched = true;
    vanishing_.emplace(std::pair(touched + kVanishAfter, record->ordinal), queue);
    return;
  }
  // Each of these ends by a change that is watched anew.
  if (!NothingIn(*record) || QueueRegistry::HasOptions(*record, now_)) return;
  for (uint16_t i = 0; i < shared_->cores; ++i) {
    if (record->slots[i].waiters.load(std::memory_order_relaxed) != 0) return;
  }
  // An open window of a unique key: its end is a change, too.
  auto task = std::make_unique<EraseTask>(shared_->queues.get());
  task->what = EraseTask::What::kUnique;
  keycodec::AppendQueueRowsPrefix(keycodec::QueueRows::kUnique, queue->life.number, &task->from);
  task->upper = keycodec::PrefixSuccessor(task->from);
  task->max_jobs = 1;
  task->after = shared_->writes->submitted();
  EraseTask* const raw = task.get();
  task->finish = [this, queue, raw](ReadTask*) {
    if (raw->error.ok() && raw->found.empty()) AskToVanish(queue);
  };
  SubmitRead(std::move(task));
}

void Core::Impl::AskToVanish(CoreQueue* queue) {
  QueueRecord* const record = queue->record;
  if (!shared_->queues->BeginVanish(record)) {
    if (record->stored.load(std::memory_order_relaxed)) WatchVanish(queue);  // it is being erased
    return;
  }
  ToAllCores(
      record, [](JobsPart* part) { part->work = JobsPart::Work::kVanish; },
      [this, record] {
        now_stale_ = true;
        if (!shared_->queues->EndVanish(record, now())) return;
        ToAllCores(
            record, [](JobsPart* part) { part->work = JobsPart::Work::kVanished; }, [] {});
      });
}

void Core::Impl::VanishPart(JobsPart* part) {
  CoreQueue* const queue = QueueHere(part->from_queue);
  // If it is there again, it has begun from nothing.
  if (part->work == JobsPart::Work::kVanished && !part->from_queue->stored.load()) {
    QueueSlot& slot = part->from_queue->slots[id_.value()];
    queue->counters.values.fill(0);
    // Nothing stands there: what the cores hold of it is nothing together.
    if (queue->backlog != nullptr) queue->backlog->held = Backlog();
    for (auto& counter : slot.counters) counter.store(0, std::memory_order_relaxed);
  }
  Executed(part);  // goes back behind this turn's batch
}

}  // namespace vestq
