// A core's queues, spaces and zones: making, finding, counting and forgetting them.
#include <algorithm>

#include "engine/base/check.h"
#include "engine/core_impl.h"
#include "engine/space_rules.h"
#include "lanes/published_head.h"

namespace vestq {
namespace {
// About what a space takes beside its zones, and a zone beside its window: with the nodes of maps, its place
// in fair sharing and what the heap adds.
constexpr size_t kSpaceBytes = sizeof(SpaceState) + 192;
constexpr size_t kZoneBytes = sizeof(LaneZone) + 24;
constexpr size_t kInPlace = 15;  // a std::string's
}  // namespace

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
    if (slot.head.load(std::memory_order_relaxed) == kUnseenHead) BeginUnseen(slot.core_queue);
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

// REQUIRES: it is not in memory. While a sweep is under way only those that it finds take part in its round:
// another one may have had its share, which nobody remembers (FAIR-4).
SpaceState* Core::Impl::MakeSpace(CoreQueue* queue, std::string_view space, bool by_sweep) {
  if (!space.empty()) queue->record->has_spaces.store(true, std::memory_order_relaxed);
  auto state = std::make_unique<SpaceState>();
  state->queue = queue;
  state->life = queue->life[KeyKind::kReady];
  state->number = queue->life.number;
  state->space = std::string(space);
  state->terms = FindTerms(queue, space);
  state->fair = queue->fair.Add(state.get(), WeightOf(*queue->record, state->terms, space.empty()));
  if (const SpaceCursor& cursor = queue->cursor; cursor.may_find()) [[unlikely]]
    queue->fair.Defer(state->fair, by_sweep ? cursor.tag() : cursor.gate());
  state->bytes = kSpaceBytes + (space.size() > kInPlace ? 2 * space.size() : 0);
  space_bytes_ += state->bytes;
  return queue->spaces.emplace(std::string(space), std::move(state)).first->second.get();
}

LaneZone* Core::Impl::ZoneOf(SpaceState* space, LaneId lane, keycodec::Order order) {
  for (auto& zone : space->zones) {
    if (zone->lane == lane && zone->order == order) return zone.get();
  }
  // A zone met for the first time is empty on disk, unless the sweep has not come to it.
  CoreQueue* const queue = space->queue;
  const SpaceCursor& cursor = queue->cursor;
  const bool empty = !cursor.hidden() || cursor.Known(PlaceOf(lane, order, space->space));
  space->zones.push_back(std::make_unique<LaneZone>(lane, space, order, empty));
  space->bytes += kZoneBytes;
  space_bytes_ += kZoneBytes;
  LaneZone* const made = space->zones.back().get();
  made->ordinal = ++zones_made_;
  if (queue->ageing_ms >= 0) {
    SetAgeing(made);
    if (made->aged && !empty) made->aged->LookFirst();
  }
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
    HoldUntil(queue, space->space, space->terms);
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
  if (space->looked || Reads(*space)) return;
  Forget(space);
}

// It is in memory no longer, with all that it has. REQUIRES: no read is under way for it.
void Core::Impl::Forget(SpaceState* space) {
  CoreQueue* const queue = space->queue;
  for (const auto& zone : space->zones) {
    UnwatchAge(zone.get());
    cached_bytes_ -= zone->window.Clear(true);
    if (zone->aged) cached_bytes_ -= zone->aged->Clear();
    if (queue->cursor.reading()) {
      queue->cursor.Note(PlaceOf(zone->lane, zone->order, space->space),
                         SpaceCursor::Change::kGone);
    }
  }
  if (space->fresh) --queue->fresh;
  if (space->held) queue->held->erase(space->space);
  queue->fair.Remove(space->fair);
  space_bytes_ -= space->bytes;
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
  const SpaceCursor& cursor = queue->cursor;
  if (Paused(*record)) {
    // Nothing to be had here, whatever there is.
  } else if (cursor.may_find() && (queue->fair.empty() || queue->fair.TopTag() >= cursor.gate())) {
    // The turn of spaces that are not in memory.
    if (by_tag) {
      head = PackHead(cursor.tag(), now_.ms());
    } else {
      head = cursor.unnamed_known() ? kUnknownHead : kUnseenHead;
    }
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
  } else if (queue->cold_spaces > 0) {
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
  queue->cursor.AdvanceTo(queue->fair.virtual_time());
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
  queue->cursor.AdvanceTo(queue->fair.virtual_time());
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
      for (DueScan& due : lane.due) due.next_ms = due.from_ms = MonoTime::Max().ms();
      for (DueScan& due : lane.timers) due.next_ms = due.from_ms = MonoTime::Max().ms();
      continue;
    }
    ReadOldWords(lane.id, std::string());
  }
  // Any queue with ready jobs may have some here: whoever leases of it must look. Until somebody does,
  // it costs a word.
  for (QueueRecord* record : shared_->queues->All()) {
    if (record->Total(keycodec::Counter::kReady, shared_->cores) > 0) {
      QueueSlot& slot = record->slots[id_.value()];
      slot.head.store(kUnseenHead, std::memory_order_release);
      if (slot.core_queue != nullptr) BeginUnseen(slot.core_queue);
    }
    if (Paused(*record)) WatchPause(QueueHere(record));
    if (record->backlog.load(std::memory_order_acquire) != nullptr) CountBacklog(QueueHere(record));
    if (shared_->KeeperOf(*record) == id_ && NothingIn(*record)) WatchVanish(QueueHere(record));
  }
  BeginLimits();
  BeginKeeping();
  BeginErasing();
}

}  // namespace vestq
