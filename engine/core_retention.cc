// The retention of dead letters: a queue keeps so many (`dead-max`) and so long (`dead-keep`), the
// oldest go. Each queue has one core that sees to it, so that what is over is counted once; it reads the
// oldest dead letters from a remembered time on, in slices, and has the owners of the jobs drop them.
#include <algorithm>

#include "engine/base/check.h"
#include "engine/core_impl.h"
#include "engine/jobs_part.h"
#include "engine/lookup_task.h"
#include "engine/peek_task.h"

namespace vestq {
namespace {

constexpr size_t kLookups = 16;  // of a part at once
// Cores enter deaths of one moment one after the other: a dead letter may appear so long before the
// newest that was seen.
constexpr int64_t kLateMs = 1000;

int64_t MostDead(const QueueRecord& record) {
  const int64_t set = record.settings.dead_max.load(std::memory_order_relaxed);
  return set >= 0 ? set : static_cast<int64_t>(limits::kDeadMaxDefault);
}

Duration KeepDead(const QueueRecord& record) {
  const int64_t set = record.settings.dead_keep_ms.load(std::memory_order_relaxed);
  return set >= 0 ? Duration(set) : limits::kDeadKeepDefault;
}

}  // namespace

// --- Any core ---

// A job has died here: its queue's keeper must know of the first one of this run, for the time, and of
// each beyond the number.
void Core::Impl::NoteDeath(CoreQueue* queue) {
  const QueueRecord& record = *queue->record;
  const QueueSlot& slot = record.slots[id_.value()];
  constexpr auto kDead = static_cast<size_t>(keycodec::Counter::kDead);
  const int64_t unpublished =
      queue->counters.values[kDead] - slot.counters[kDead].load(std::memory_order_relaxed);
  const int64_t dead = record.Total(keycodec::Counter::kDead, shared_->cores) + unpublished;
  if (queue->retention->known && dead <= MostDead(record)) return;
  queue->retention->known = true;
  AskKeeper(queue);
}

void Core::Impl::AskKeeper(CoreQueue* queue) {
  QueueRecord* const record = queue->record;
  const CoreId keeper = shared_->KeeperOf(*record);
  if (keeper == id_) return KeepNoMore(queue);
  if (queue->retention->asked) return;
  queue->retention->asked = true;
  auto made = std::make_unique<JobsPart>();
  JobsPart* const note = made.get();
  notes_.emplace(note, std::move(made));
  note->work = JobsPart::Work::kKeep;
  note->owner = keeper;
  note->from_queue = record;
  note->finished = [this, queue, note] {
    const bool failed = !note->error.ok();
    notes_.erase(note);
    queue->retention->asked = false;
    // Those that have died since may not have been counted.
    if (!failed &&
        queue->record->Total(keycodec::Counter::kDead, shared_->cores) > MostDead(*queue->record))
      AskKeeper(queue);
  };
  Start(note);
}

// --- The keeper ---

void Core::Impl::KeepPart(JobsPart* part) {
  KeepNoMore(QueueHere(part->from_queue));
  Executed(part);
}

// At a start: the queues with dead letters that this core keeps, one after the other.
void Core::Impl::BeginKeeping() {
  for (QueueRecord* record : shared_->queues->All()) {
    if (shared_->KeeperOf(*record) != id_) continue;
    if (record->Total(keycodec::Counter::kDead, shared_->cores) > 0) to_keep_.push_back(record);
  }
  KeepNext();
}

void Core::Impl::KeepNext() {
  if (to_keep_.empty()) return;
  QueueRecord* const record = to_keep_.back();
  to_keep_.pop_back();
  KeepNoMore(QueueHere(record));
}

// Looks at the queue's oldest dead letters; what is over goes, a slice after the other.
void Core::Impl::KeepNoMore(CoreQueue* queue) {
  CoreQueue::Retention& retention = *queue->retention;
  if (retention.running) {
    retention.again = true;
    return;
  }
  retention.running = true;
  retention.again = false;
  const QueueRecord& record = *queue->record;
  auto task = std::make_unique<PeekTask>();
  task->state = JobState::kDead;
  const QueueLife& life = queue->life;
  task->zone = {life.number, life[KeyKind::kDead], record.order(), std::string()};
  task->from = keycodec::DeadKey(life.number, life[KeyKind::kDead], retention.from_ms, JobId(0));
  task->max_jobs = limits::kSliceJobs;
  task->max_keys = limits::kSliceJobs;
  task->after = shared_->writes->submitted();
  PeekTask* const raw = task.get();
  task->finish = [this, queue, raw](ReadTask*) { FinishKeep(queue, raw); };
  SubmitRead(std::move(task));
}

void Core::Impl::FinishKeep(CoreQueue* queue, PeekTask* task) {
  if (!task->error.ok()) return RetryKeep(queue, task->error);
  CoreQueue::Retention& retention = *queue->retention;
  now_stale_ = true;
  const QueueRecord& record = *queue->record;
  const int64_t over = record.Total(keycodec::Counter::kDead, shared_->cores) - MostDead(record);
  const Duration keep = KeepDead(record);
  std::vector<JobsPart*> by_core(shared_->cores, nullptr);
  retention.parts.clear();
  int64_t first_kept_ms = -1;
  int64_t last_dropped_ms = 0;
  for (size_t i = 0; i < task->jobs.size(); ++i) {
    std::string key = std::move(task->jobs[i].next);
    key.pop_back();  // `next` is the first key behind it
    const Result<keycodec::DeadRowKey> dead = keycodec::DecodeDeadKey(key);
    CHECK(dead.ok(), "the reader has decoded it");
    if (static_cast<int64_t>(i) >= over && MonoTime(dead->time_ms) + keep > now()) {
      first_kept_ms = dead->time_ms;
      break;
    }
    last_dropped_ms = dead->time_ms;
    const CoreId owner = shared_->OwnerOf(shared_->LaneOf(dead->id));
    JobsPart*& part = by_core[owner.value()];
    if (part == nullptr) {
      auto made = std::make_unique<JobsPart>();
      part = made.get();
      retention.parts.push_back(std::move(made));
      part->work = JobsPart::Work::kDrop;
      part->owner = owner;
    }
    part->ids.push_back(dead->id);
    part->keys.push_back(std::move(key));
  }
  if (!retention.parts.empty()) return DropOver(queue, last_dropped_ms);
  if (first_kept_ms < 0 && !retention.forgotten) return ForgetDeaths(queue);
  retention.forgotten = false;
  retention.running = false;
  if (first_kept_ms >= 0) {
    retention.from_ms = std::max<int64_t>(0, first_kept_ms - kLateMs);
    LookAgainAt(queue, MonoTime(first_kept_ms) + keep);
  }
  if (retention.again) return KeepNoMore(queue);
  KeepNext();
}

// Nothing is dead: each core tells of its next death again. One that a core has entered before it heard so
// is found by looking once more.
void Core::Impl::ForgetDeaths(CoreQueue* queue) {
  ToAllCores(
      queue->record, [](JobsPart* part) { part->work = JobsPart::Work::kForget; },
      [this, queue] {
        queue->retention->forgotten = true;
        queue->retention->running = false;
        KeepNoMore(queue);
      });
}

void Core::Impl::DropOver(CoreQueue* queue, int64_t last_ms) {
  CoreQueue::Retention& retention = *queue->retention;
  retention.parts_running = retention.parts.size();
  for (auto& part : retention.parts) {
    static_cast<JobsPart&>(*part).finished = [this, queue, last_ms] {
      if (--queue->retention->parts_running > 0) return;
      for (const auto& done : queue->retention->parts) {
        if (!done->error.ok()) return RetryKeep(queue, done->error);
      }
      queue->retention->from_ms = std::max(queue->retention->from_ms, last_ms - kLateMs);
      queue->retention->running = false;
      KeepNoMore(queue);
    };
  }
  for (auto& part : retention.parts) Start(part.get());
}

void Core::Impl::RetryKeep(CoreQueue* queue, const Error& error) {
  queue->retention->running = false;
  if (shared_->writes->failed()) return;
  Log("looking at dead letters failed: " + error.ToString());
  retries_.emplace(now() + kReadRetry, [this, queue] { KeepNoMore(queue); });
}

void Core::Impl::LookAgainAt(CoreQueue* queue, MonoTime when) {
  CoreQueue::Retention& retention = *queue->retention;
  if (retention.timer <= when && retention.timer > now()) return;  // that one sees to it
  retention.timer = when;
  retries_.emplace(when, [this, queue, when] {
    if (queue->retention->timer != when) return;  // an earlier one came
    queue->retention->timer = MonoTime::Max();
    KeepNoMore(queue);
  });
}

// --- At the owner ---

void Core::Impl::ForgetPart(JobsPart* part) {
  CoreQueue* const queue = part->from_queue->slots[id_.value()].core_queue;
  if (queue != nullptr) queue->retention->known = false;
  Executed(part);
}

void Core::Impl::DropPart(JobsPart* part) {
  WalkJobs(
      part->ids.size(), kLookups,
      [this, part](size_t i, WalkStep then) {
        Lookup(part->ids[i], [this, part, i, then](const LookupTask* task) {
          if (!task->error.ok()) part->error = task->error;
          // Not one that was redriven and has died again.
          const bool same =
              task->error.ok() && task->state == JobState::kDead && task->row->key == part->keys[i];
          if (same) EraseFound(task, EventKind::kDropped);
          then(task->error.ok());
        });
      },
      [this, part] { Executed(part); });
}

}  // namespace vestq
