// A core's queues, spaces and zones: making, finding, counting and forgetting them.
#include <algorithm>

#include "engine/base/check.h"
#include "engine/core_impl.h"
#include "engine/space_rules.h"
#include "lanes/published_head.h"

namespace vestq {

LaneZone::LaneZone(LaneId l, SpaceState* s, keycodec::Order o, bool complete)
    : lane(l), space(s), order(o), window(o, limits::kWindowJobs, complete) {}

bool SpaceState::has_work() const {
  for (const auto& zone : zones) {
    if (zone->has_work()) return true;
  }
  return false;
}

Result<QueueRecord*> Core::Impl::RecordOf(std::string_view name) {
  if (auto it = names_.find(name); it != names_.end()) return it->second;
  Result<QueueRecord*> record = shared_->queues->Get(name);
  if (record.ok()) names_.emplace(std::string(name), *record);
  return record;
}

bool Core::Impl::KnowsQueue(std::string_view name) const {
  const auto it = names_.find(name);
  const QueueRecord* const record = it != names_.end() ? it->second : shared_->queues->Find(name);
  return record != nullptr && record->stored.load(std::memory_order_relaxed);
}

CoreQueue* Core::Impl::QueueHere(QueueRecord* record) {
  QueueSlot& slot = record->slots[id_.value()];
  if (slot.core_queue == nullptr) {
    auto queue = std::make_unique<CoreQueue>();
    queue->record = record;
    queue->life = shared_->queues->Life(*record);
    queue->counters.incarnation = queue->life.newest;
    queue->ageing_ms = record->settings.ageing_ms.load(std::memory_order_acquire);
    queue->space_weight = WeightOf(*record, nullptr, false);
    queue->space_rate_micro = record->settings.space_rate_micro.load(std::memory_order_relaxed);
    slot.core_queue = queue.get();
    queues_by_id_[queue->life.number] = queue.get();
    queues_.push_back(std::move(queue));
  }
  return slot.core_queue;
}

// nullptr: the queue was dropped.
CoreQueue* Core::Impl::QueueById(QueueId id) {
  if (auto it = queues_by_id_.find(id); it != queues_by_id_.end()) return it->second;
  QueueRecord* const record = shared_->queues->FindById(id);
  if (record == nullptr) return nullptr;
  CoreQueue* const queue = QueueHere(record);
  SwitchLife(queue);  // it may be known here under the number before
  return queue->life.number == id ? queue : nullptr;
}

SpaceState* Core::Impl::SpaceOf(CoreQueue* queue, std::string_view space) {
  auto it = queue->spaces.find(space);
  if (it == queue->spaces.end()) {
    if (!space.empty()) queue->record->has_spaces.store(true, std::memory_order_relaxed);
    auto state = std::make_unique<SpaceState>();
    state->queue = queue;
    state->life = queue->life[KeyKind::kReady];
    state->number = queue->life.number;
    state->space = std::string(space);
    state->terms = FindTerms(queue, space);
    state->fair =
        queue->fair.Add(state.get(), WeightOf(*queue->record, state->terms, space.empty()));
    it = queue->spaces.emplace(std::string(space), std::move(state)).first;
  }
  return it->second.get();
}

LaneZone* Core::Impl::ZoneOf(SpaceState* space, LaneId lane, keycodec::Order order) {
  for (auto& zone : space->zones) {
    if (zone->lane == lane && zone->order == order) return zone.get();
  }
  // A zone met for the first time is empty on disk, unless the lane's zones are still being looked
  // for.
  space->zones.push_back(
      std::make_unique<LaneZone>(lane, space, order, LaneHere(lane)->discovered));
  LaneZone* const made = space->zones.back().get();
  made->ordinal = ++zones_made_;
  if (space->queue->ageing_ms >= 0) SetAgeing(made);
  return made;
}

void Core::Impl::Count(CoreQueue* queue, keycodec::Counter counter, int64_t delta) {
  queue->counters[counter] += delta;
  // A core's share of a queue that others have too may be anything; their sum may not, nor that of one alone.
  DCHECK(!alone_ || queue->counters[counter] >= 0, "COUNT-1: there is less than nothing");
  if (!queue->counters_dirty) {
    queue->counters_dirty = true;
    dirty_.push_back(queue);
  }
}

void Core::Impl::SpaceChanged(SpaceState* space) {
  CoreQueue* const queue = space->queue;
  const bool work = space->has_work();
  const bool held = work && Limited(*queue->record) && Held(space);
  if (held != space->held) ShowHeld(space, held);
  if (held) [[unlikely]]
    HoldUntil(space);
  if (space->cold && !work) {
    space->cold = false;
    --queue->cold_spaces;
  }
  if (work && !held && !space->active && !space->cold) {
    CatchUp(queue);
    queue->fair.Activate(space->fair);
    space->active = true;
  } else if ((!work || held) && space->active) {
    queue->fair.Deactivate(space->fair);
    space->active = false;
  }
  PublishHead(queue);
}

// An emptied space leaves nothing behind; the empty one stays, it is the common case.
void Core::Impl::MaybeForget(SpaceState* space) {
  if (space->space.empty() || space->active || space->cold || space->has_work()) return;
  for (const auto& zone : space->zones) {
    if (zone->reading()) return;
  }
  for (const auto& zone : space->zones) UnwatchAge(zone.get());
  CoreQueue* const queue = space->queue;
  queue->held.erase(space->space);
  queue->fair.Remove(space->fair);
  queue->spaces.erase(queue->spaces.find(space->space));
}

// Shows the other cores what a LEASE would find here. A queue whose jobs have no space is one order
// over all cores, so its head is the first job's rank; once it has had spaces, cores compare by
// fair-share tag.
void Core::Impl::PublishHead(CoreQueue* queue) {
  if (alone_) return;
  QueueRecord* const record = queue->record;
  QueueSlot& slot = record->slots[id_.value()];
  const bool by_tag = record->has_spaces.load(std::memory_order_relaxed);
  if (by_tag && !slot.tagged.load(std::memory_order_relaxed)) AlignTags(queue);
  uint64_t head = kNoHead;
  if (Paused(*record)) {
    // Nothing to be had here, whatever there is.
  } else if (!queue->fair.empty()) {
    if (by_tag) {
      head = PackHead(queue->fair.TopTag(), now_.ms());
    } else {
      head = kUnknownHead;
      const auto* const space = static_cast<const SpaceState*>(queue->fair.TopOwner());
      for (const auto& zone : space->zones) {
        if (zone->aged && !zone->aged->empty()) {  // before all priorities, the oldest first
          const keycodec::ReadyRank& rank = zone->aged->Front().rank;
          head = std::min(head, PackHead(zone->order, {0, rank.time_ms, rank.id}));
        }
        if (zone->window.empty()) continue;
        head = std::min(head, PackHead(zone->order, zone->window.Front().rank));
      }
    }
  } else if (queue->cold_spaces > 0 || StillHidden(queue)) {
    head = kUnknownHead;
  }
  slot.virtual_time.store(queue->fair.virtual_time(), std::memory_order_relaxed);
  slot.head.store(head, std::memory_order_release);
  if (by_tag) slot.tagged.store(true, std::memory_order_release);
}

// The queue has got spaces. Until now each core counted for itself; from here on tags are compared,
// so all start at the one that has come furthest.
void Core::Impl::AlignTags(CoreQueue* queue) {
  uint64_t latest = 0;
  for (uint16_t i = 0; i < shared_->cores; ++i) {
    latest = std::max(latest, queue->record->slots[i].virtual_time.load(std::memory_order_relaxed));
  }
  // At most the empty space and the one that has just come are active.
  for (auto& [name, space] : queue->spaces) {
    if (space->active) queue->fair.Deactivate(space->fair);
  }
  queue->fair.AdvanceTo(latest);
  for (auto& [name, space] : queue->spaces) {
    if (space->active) queue->fair.Activate(space->fair);
  }
}

// The queue has been idle here while others served it: its turn counts from theirs, or, when all
// are idle, from where the last of them stopped.
void Core::Impl::CatchUp(CoreQueue* queue) {
  if (alone_ || !queue->fair.empty()) return;
  if (!queue->record->has_spaces.load(std::memory_order_relaxed)) return;
  uint64_t first = kNoHead;
  uint64_t latest = 0;
  for (uint16_t i = 0; i < shared_->cores; ++i) {
    if (i == id_.value()) continue;
    const QueueSlot& slot = queue->record->slots[i];
    latest = std::max(latest, slot.virtual_time.load(std::memory_order_relaxed));
    // A rank is no tag: taken for one it would put this core behind the others for ever.
    if (!slot.tagged.load(std::memory_order_acquire)) continue;
    first = std::min(first, slot.head.load(std::memory_order_relaxed));
  }
  queue->fair.AdvanceTo(first < kUnknownHead ? TagOfHead(first) : latest);
}

void Core::Impl::MarkNotify(CoreQueue* queue) {
  if (queue->notify) return;
  queue->notify = true;
  notify_.push_back(queue);
}

// --- Recovery ---

void Core::Impl::RestoreLease(const Lease& lease) {
  leases_.Insert(lease);
  shared_->leased.fetch_add(1, std::memory_order_relaxed);
}

void Core::Impl::RestoreCounters(QueueRecord* record, const keycodec::CounterValue& value) {
  CoreQueue* const queue = QueueHere(record);
  QueueSlot& slot = record->slots[id_.value()];
  for (size_t i = 0; i < keycodec::kCounters; ++i) {
    queue->counters.values[i] += value.values[i];
    slot.counters[i].store(queue->counters.values[i], std::memory_order_relaxed);
  }
}

void Core::Impl::BeginRecovery(bool empty_store) {
  last_ticket_ = shared_->writes->submitted();
  if (empty_store) latest_wall_ = WallTime(0);
  for (auto& lane : lanes_) {
    if (empty_store) {
      lane.discovered = true;
      for (DueScan& due : lane.due) due.next_ms = due.from_ms = MonoTime::Max().ms();
      for (DueScan& due : lane.timers) due.next_ms = due.from_ms = MonoTime::Max().ms();
      continue;
    }
    StartDiscovery(&lane, std::string());
    ReadOldWords(lane.id, std::string());
  }
  // Until its zones are found any queue with ready jobs may have some here: other cores must ask.
  for (QueueRecord* record : shared_->queues->All()) {
    if (Paused(*record)) WatchPause(QueueHere(record));
    if (record->backlog.load(std::memory_order_acquire) != nullptr) CountBacklog(QueueHere(record));
    if (record->Total(keycodec::Counter::kReady, shared_->cores) > 0)
      PublishHead(QueueHere(record));
    if (shared_->KeeperOf(*record) == id_ && NothingIn(*record)) WatchVanish(QueueHere(record));
  }
  BeginLimits();
  BeginKeeping();
  BeginErasing();
  if (empty_store) undiscovered_ = 0;
}

}  // namespace vestq
