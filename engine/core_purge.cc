// PURGE and QUEUE DROP: one small write makes what is there void (engine/queue_life.h), then each core
// switches to the new life, in a turn of its own, and says how many jobs it had of the old one. What is
// void is erased afterwards (engine/core_erase.cc), once every core has switched: until then one that has
// not may still move it.
//
// Between the write and its switch a core goes on in the old life: what it enqueues is part of what is
// purged, counted there, and after a crash the row says the same (LIFE-2). Leased jobs stay, and come
// back into the new life.
#include <algorithm>
#include <utility>

#include "engine/base/check.h"
#include "engine/core_impl.h"
#include "engine/jobs_part.h"
#include "engine/lookup_task.h"
#include "engine/purge_request.h"

namespace vestq {
namespace {
// Spaces and jobs of windows that one turn lets go of: below a millisecond.
constexpr size_t kBuryASlice = 4096;
constexpr uint32_t kLeasesASlice = 4096;

KeyKinds KindsOf(const std::optional<JobState>& state) {
  return state ? Only(KindOf(*state)) : kUnfinishedKinds;
}

}  // namespace

KeyKind KindOf(JobState state) {
  switch (state) {
    case JobState::kReady: return KeyKind::kReady;
    case JobState::kScheduled: return KeyKind::kScheduled;
    case JobState::kWaiting: return KeyKind::kWaiting;
    case JobState::kDead: return KeyKind::kDead;
    case JobState::kDone: return KeyKind::kDone;
    case JobState::kLeased:
    case JobState::kGone: break;
  }
  CHECK(false, "leased jobs are of no incarnation");
  return KeyKind::kReady;
}

// --- At the origin ---

void Core::Impl::Purge(PurgeRequest* request) {
  now_stale_ = true;
  request->removed = 0;
  request->from = now();
  const Error none(ErrorCode::kNotFound, "there is no queue '" + request->queue + "'");
  if (!KnowsQueue(request->queue)) return Refuse(request, none);
  const Result<QueueRecord*> found = RecordOf(request->queue);
  if (!found.ok()) return Refuse(request, found.error());
  QueueRecord* const record = *found;
  if (request->drop) {
    const auto dropped = shared_->queues->Drop(record);
    if (!dropped) return Refuse(request, none);
    request->ticket = std::max(request->ticket, dropped->ticket);
    return SendSwitches(request, record, kAllKinds, dropped->number);
  }
  if (!request->ids.empty()) {
    return PurgeIds(request, record, request->ids, [this, request] { Executed(request); });
  }
  if (request->one_space || request->state == JobState::kLeased) return PurgeWalk(request, record);
  const KeyKinds kinds = KindsOf(request->state);
  request->ticket = std::max(request->ticket, shared_->queues->Purge(record, kinds));
  SendSwitches(request, record, kinds, QueueId(0));
}

void Core::Impl::SendSwitches(PurgeRequest* request, QueueRecord* record, KeyKinds kinds,
                              QueueId dropped) {
  request->parts.clear();
  request->parts_running = shared_->cores;
  for (uint16_t core = 0; core < shared_->cores; ++core) {
    auto part = std::make_unique<JobsPart>();
    part->work = JobsPart::Work::kSwitch;
    part->owner = CoreId(core);
    part->from_queue = record;
    part->kinds = kinds;
    part->number = dropped;
    part->finished = [this, request, record, dropped] {
      if (--request->parts_running == 0) Switched(request, record, dropped);
    };
    request->parts.push_back(std::move(part));
  }
  for (size_t i = 0; i < shared_->cores; ++i) Start(request->parts[i].get());
}

// Every core has switched, durably: nobody touches any more what is void.
void Core::Impl::Switched(PurgeRequest* request, QueueRecord* record, QueueId dropped) {
  int64_t removed = 0;
  std::array<int64_t, kKeyKinds> by_kind{};
  for (const auto& done : request->parts) {
    if (!done->error.ok()) return Refuse(request, done->error);
    const auto& part = static_cast<const JobsPart&>(*done);
    removed += part.removed;
    for (size_t i = 0; i < kKeyKinds; ++i) by_kind[i] += part.removed_by[i];
  }
  KeyKinds kinds = dropped != QueueId(0) ? kAllKinds : KeyKinds(0);
  // Windows of unique keys are of the life of kept results, and nobody counts them.
  if (request->state == JobState::kDone) kinds |= Only(KeyKind::kDone);
  for (size_t i = 0; i < kKeyKinds; ++i) {
    if (by_kind[i] != 0) kinds |= Only(static_cast<KeyKind>(i));
    // What is kept of done jobs is no job.
    if (request->state == JobState::kDone || static_cast<KeyKind>(i) != KeyKind::kDone)
      removed += by_kind[i];
  }
  request->removed = static_cast<uint64_t>(std::max<int64_t>(0, removed));
  request->parts.clear();
  if (dropped != QueueId(0)) {
    EmitPurged(record, request->removed, "QUEUE DROP");
  } else if (request->removed > 0 && request->state != JobState::kDone) {
    std::string command = "PURGE";
    if (request->state) command.append(" STATE ").append(JobStateName(*request->state));
    EmitPurged(record, request->removed, command);
  }
  ToAllCores(
      record,
      [kinds, dropped](JobsPart* part) {
        part->work = JobsPart::Work::kErase;
        part->kinds = kinds;
        part->number = dropped;
      },
      [] {});
  Executed(request);
}

// Tells each core about the queue; `then` when all have done it, durably; `failure` when the store has failed.
void Core::Impl::ToAllCores(QueueRecord* record, const std::function<void(JobsPart*)>& fill,
                            std::function<void()> then, std::function<void()> failure) {
  struct Left {
    size_t cores;
    bool failed = false;
    std::function<void()> then, failure;
  };
  const auto left =
      std::make_shared<Left>(shared_->cores, false, std::move(then), std::move(failure));
  for (uint16_t core = 0; core < shared_->cores; ++core) {
    auto made = std::make_unique<JobsPart>();
    JobsPart* const note = made.get();
    notes_.emplace(note, std::move(made));
    note->owner = CoreId(core);
    note->from_queue = record;
    fill(note);
    note->finished = [this, note, left] {
      left->failed |= !note->error.ok();
      notes_.erase(note);
      if (--left->cores > 0) return;
      if (const auto& end = left->failed ? left->failure : left->then) end();
    };
    Start(note);
  }
}

// --- At each core ---

void Core::Impl::SwitchPart(JobsPart* part) {
  CoreQueue* const queue = QueueHere(part->from_queue);
  SwitchLife(queue);
  for (size_t i = 0; i < kKeyKinds; ++i) {
    if (Has(part->kinds, static_cast<KeyKind>(i)))
      part->removed_by[i] = std::exchange(queue->purged[i], 0);
  }
  if (part->number == QueueId(0)) return Executed(part);
  part->removed = std::exchange(queue->purged_leases, 0);
  SweepDropped(part->number, 0, [this, part] { Executed(part); });
}

// Follows what the registry says of the queue: counts what is void from here on, forgets it, and goes on
// in the new life.
void Core::Impl::SwitchLife(CoreQueue* queue) {
  QueueRecord* const record = queue->record;
  if (queue->life.version == record->version.load(std::memory_order_acquire)) return;
  const QueueLife to = shared_->queues->Life(*record);
  const QueueLife from = std::exchange(queue->life, to);
  const bool dropped = to.number != from.number;
  const Backlog before = Standing(*queue);
  int64_t jobs = 0;
  for (size_t i = 0; i < kKeyKinds; ++i) {
    if (!dropped && to.living[i] == from.living[i]) continue;
    const keycodec::Counter counter = kCounterOfKind[i];
    const int64_t count = queue->counters[counter];
    queue->purged[i] += count;
    if (static_cast<KeyKind>(i) != KeyKind::kDone) jobs += count;
    Count(queue, counter, -count);
  }
  queue->counters.incarnation = to.newest;
  Count(queue, keycodec::Counter::kCancelled, jobs);
  if (dropped) LeaveNumber(queue, from.number);
  if (queue->backlog != nullptr) Withhold(queue, before - Standing(*queue));
  if (dropped || to[KeyKind::kReady] != from[KeyKind::kReady]) Bury(queue);
  LookAtAllWatched();  // jobs that somebody waits for may be among those that are gone
  PublishHead(queue);
}

// Every queue of this core follows now. O(queues), but only after something was purged or dropped.
void Core::Impl::SwitchAllLives() {
  const uint64_t renewals = shared_->queues->renewals();
  if (std::exchange(renewals_seen_, renewals) == renewals) return;
  for (const auto& queue : queues_) SwitchLife(queue.get());
}

// The queue was dropped: its name stands for another number, and what there will be of that begins from
// nothing.
void Core::Impl::LeaveNumber(CoreQueue* queue, QueueId old) {
  queues_by_id_.erase(old);
  queues_by_id_[queue->life.number] = queue;
  unswept_.emplace(old, queue->counted ? queue : nullptr);
  queue->purged_leases += queue->counters[keycodec::Counter::kLeased];
  queue->counters.values.fill(0);
  LeaveTerms(queue);
  batch_.Delete(Family::kRows, keycodec::CounterKey(id_.value(), old));
  WatchPause(queue);
  AgeingChanged(queue);
  ++queue->new_jobs;  // who waits looks again: it may have been paused
  MarkNotify(queue);
}

// What a lookup found is of a life that is not the one this core has; then it has caught up and must look
// again.
bool Core::Impl::OfAnotherLife(const LookupTask& task) {
  if (!task.queue) return false;
  CoreQueue* const queue = QueueById(*task.queue);
  if (queue == nullptr) return task.life.has_value();
  if (task.life && task.life->version == queue->life.version) return false;
  SwitchLife(queue);
  return true;
}

// The queue that a SCHEDULED key is of; nullptr: the key is void.
CoreQueue* Core::Impl::LivingScheduled(const keycodec::Zone& zone) {
  CoreQueue* const queue = QueueById(zone.queue);
  if (queue == nullptr) return nullptr;
  // Put here by a core that has switched before this one (REDRIVE).
  if (zone.incarnation > queue->life[KeyKind::kScheduled]) SwitchLife(queue);
  const bool lives =
      queue->life.number == zone.queue && queue->life[KeyKind::kScheduled] == zone.incarnation;
  return lives ? queue : nullptr;
}

// --- Letting go ---

bool Core::Impl::Buried(const SpaceState& space) const {
  const QueueLife& life = space.queue->life;
  return space.number != life.number || space.life != life[KeyKind::kReady];
}

// All ready jobs are void: the queue has no space, and its turn goes on from where it was.
void Core::Impl::Bury(CoreQueue* queue) {
  const uint64_t virtual_time = queue->fair.virtual_time();
  graveyard_.push_back(std::exchange(queue->spaces, {}));
  queue->fair = FairQueue();
  queue->fair.AdvanceTo(virtual_time);
  queue->cold_spaces = 0;
  queue->held.reset();
  queue->cursor.Reset();
  queue->fresh = 0;
  queue->looked.clear();
  // LEASEs that waited for a read look again, but not from the depth of whoever has switched here.
  if (!queue->parked.empty()) Later([this, queue] { UnparkLeases(queue); });
  Later([this] { BuryMore(); });
}

void Core::Impl::BuryMore() {
  const auto reads = [](const std::unique_ptr<SpaceState>& space) {
    return std::any_of(space->zones.begin(), space->zones.end(),
                       [](const auto& zone) { return zone->reading(); });
  };
  size_t count = 0;
  const auto forget = [this, &count](const SpaceState& space) {
    ++count;
    space_bytes_ -= space.bytes;
    for (const auto& zone : space.zones) {
      count += zone->window.size();
      UnwatchAge(zone.get());
      if (zone->aged) cached_bytes_ -= zone->aged->Clear();
      cached_bytes_ -= zone->window.Clear(true);
    }
  };
  std::erase_if(read_graves_, [&](const std::unique_ptr<SpaceState>& space) {
    if (reads(space)) return false;
    forget(*space);
    return true;
  });
  for (; !terms_graveyard_.empty(); terms_graveyard_.pop_front()) {
    auto& terms = terms_graveyard_.front();
    for (; !terms.empty(); terms.erase(terms.begin())) {
      if (count++ >= kBuryASlice) return Later([this] { BuryMore(); });
      SpaceTerms* const first = &terms.begin()->second;
      if (first->timer < MonoTime::Max()) space_timers_.erase({first->timer, first});
      if (!first->options.empty() && !first->space.empty())
        shared_->space_options.fetch_sub(1, std::memory_order_relaxed);
    }
  }
  while (!graveyard_.empty()) {
    auto& spaces = graveyard_.front();
    while (!spaces.empty()) {
      if (count >= kBuryASlice) return Later([this] { BuryMore(); });
      std::unique_ptr<SpaceState> space = std::move(spaces.begin()->second);
      spaces.erase(spaces.begin());
      if (reads(space)) {
        read_graves_.push_back(std::move(space));  // the end of its read comes back here
      } else {
        forget(*space);
      }
    }
    graveyard_.pop_front();
  }
}

// --- Leases of a dropped queue ---

// The lease of that job; not one of a dropped queue, which is about to be swept away.
Lease* Core::Impl::LeaseOf(JobId id) {
  Lease* const lease = leases_.FindById(id);
  if (lease == nullptr || unswept_.empty()) return lease;
  return QueueById(lease->queue) != nullptr ? lease : nullptr;
}

// Passes over the lease table in slices; the receipts are void already (LiveLease).
void Core::Impl::SweepDropped(QueueId number, uint32_t place, std::function<void()> then) {
  std::vector<JobId> found;
  const uint32_t next =
      leases_.VisitSlice(place, kLeasesASlice, [&found, number](const Lease& lease, uint32_t) {
        if (lease.queue == number) found.push_back(lease.id);
      });
  for (const JobId id : found) EraseDropped(leases_.FindById(id));
  if (next != 0) {
    return Later([this, number, next, then = std::move(then)]() mutable {
      SweepDropped(number, next, std::move(then));
    });
  }
  unswept_.erase(number);
  then();
}

// A leased job of a dropped queue: what else hangs on it is erased with its queue's rows.
void Core::Impl::EraseDropped(Lease* lease) {
  key_.clear();
  keycodec::AppendLeasedKey(lease->lane, lease->stored_deadline_ms, lease->id, &key_);
  batch_.SingleDelete(Family::kVesting, key_);
  key_.clear();
  keycodec::AppendJobKey(lease->lane, lease->id, &key_);
  batch_.SingleDelete(Family::kJob, key_);
  if ((lease->flags & keycodec::kFlagJobRow) != 0)
    DeleteRow(keycodec::JobRowKey(lease->lane, lease->id));
  EndParent(lease->id, lease->flags, false, kDroppedWithQueue);
  TouchJob(lease->id);
  if (const auto it = unswept_.find(lease->queue); it != unswept_.end() && it->second != nullptr)
    LeaseOver(it->second, lease->space);
  leases_.Erase(lease);
  shared_->leased.fetch_sub(1, std::memory_order_relaxed);
}

}  // namespace vestq
