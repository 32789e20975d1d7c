// Limits of a queue: how many of its jobs, and of those of each space, run at once, and how often one
// starts (lanes/concurrency.h, lanes/rate_limit.h).
//
// A named space has one owner, which counts its leases alone. The queue's leases, and those without a
// space, are spread over all cores: their slots and the rate are words that the cores share. A core
// counts a queue's leases from the moment it hears of a limit; until all cores do, no job of the
// queue starts (some microseconds). Once counted always counted, so that no lease is counted on one
// side only.
//
// A slot of a lease that ended is given back behind the turn's batch (CORE-1): so the write order has
// the end of the one lease before the beginning of the next, and a crash that keeps the second has
// kept the first. Within a core one batch holds both.
//
// A queue that is full or whose next token is not due looks empty (Closed), as a paused one does; a
// space that is full, paused or without a token of its own takes no part until it has room (`held`). A slot
// given back wakes one waiter, a token that is due the waiters of each core that watches for it. A LEASE of
// one space waits as a probe with
// the space's owner (core_space.cc): both wake one probe of each space that has work there, on all cores
// where it is a slot, and those who come too late stand again.
#include <algorithm>

#include "engine/base/check.h"
#include "engine/core_impl.h"
#include "engine/space_rules.h"

namespace vestq {
namespace {

uint32_t Concurrency(const QueueRecord& record) { return SlotLimit(record.settings.concurrency); }
bool CountsSlots(const QueueRecord& record) {
  return Concurrency(record) != kNoSlotLimit ||
         SlotLimit(record.settings.space_concurrency) != kNoSlotLimit ||
         record.settings.counts_spaces.load(std::memory_order_acquire) ||
         record.settings.Adaptive().has_value();
}

// Of a lease that there is already.
void CountSlot(CoreQueue* queue, const Lease& lease) {
  queue->record->taken.Take();
  lease.space.empty() ? queue->record->unnamed_taken.Take() : queue->slots->Add(lease.space);
}

RateLimit Rate(const QueueRecord& record) {
  return LimitOfRate(record.settings.rate_micro.load(std::memory_order_acquire),
                     record.settings.burst.load(std::memory_order_acquire));
}

}  // namespace

// Counts the leases there are from now on, and looks again at everything that a limit held back.
void Core::Impl::LimitsChanged(CoreQueue* queue) {
  QueueRecord* const record = queue->record;
  NoteRate(queue, keycodec::Counter::kRateUntil, record->rate);
  NoteRate(queue, keycodec::Counter::kUnnamedRateUntil, record->unnamed_rate);
  if (CountsSlots(*record) && !queue->counted) {
    queue->counted = true;
    leases_.ForEach([queue](const Lease& lease) {
      if (lease.queue == queue->life.number) CountSlot(queue, lease);
    });
    // The last one to count tells the others, whose waiters have found the queue closed.
    if (record->counting.fetch_add(1, std::memory_order_acq_rel) + 1 == shared_->cores) {
      for (uint16_t core = 0; core < shared_->cores; ++core) {
        if (CoreId(core) != id_)
          Send(CoreId(core), Message{Message::Kind::kOptions, nullptr, record});
      }
    }
  }
  LookAtHeld(queue, nullptr);
  HeldMayStart(queue);
}

// Those that have room now take part again; in slices. Spaces that have none any more are found when
// their turn comes.
void Core::Impl::LookAtHeld(CoreQueue* queue, const std::string* behind) {
  if (queue->held.empty()) return;
  size_t looked = 0;
  auto it = behind == nullptr ? queue->held->begin() : queue->held->upper_bound(*behind);
  std::string last;
  while (it != queue->held->end()) {
    if (looked++ == limits::kSliceJobs) {
      Later([this, queue, last] { LookAtHeld(queue, &last); });
      break;
    }
    last = it->first;
    SpaceChanged(it->second);
    it = queue->held->upper_bound(last);
  }
  if (looked == 0) return;
  queue->new_jobs += static_cast<uint32_t>(looked);
  MarkNotify(queue);
}

// At a start, before any turn, with the leases restored.
void Core::Impl::BeginLimits() {
  std::unordered_map<uint32_t, CoreQueue*> counted;
  for (QueueRecord* record : shared_->queues->All()) {
    if (!Limited(*record)) continue;
    CoreQueue* const queue = QueueHere(record);
    const auto restore = [&](const RateLimit& rate, keycodec::Counter counter,
                             SharedRateState* state) {
      if (!rate.limited()) return;
      const MonoTime until = record->RateUntil(counter, shared_->cores);
      state->Store(RateState::Restored(rate, until, shared_->clock->Now()));
    };
    restore(Rate(*record), keycodec::Counter::kRateUntil, &record->rate);
    restore(SpaceRateOf(*record, nullptr, true), keycodec::Counter::kUnnamedRateUntil,
            &record->unnamed_rate);
    if (!CountsSlots(*record)) continue;
    queue->counted = true;
    record->counting.fetch_add(1, std::memory_order_relaxed);
    counted.emplace(queue->life.number.value(), queue);
  }
  if (counted.empty()) return;
  leases_.ForEach([&counted](const Lease& lease) {
    const auto it = counted.find(lease.queue.value());
    if (it != counted.end()) CountSlot(it->second, lease);
  });
}

// --- May a job start? ---

// By the turn's clock: what is due within it is seen by the next one.
bool Core::Impl::Closed(const CoreQueue& queue) const {
  const QueueRecord& record = *queue.record;
  if (queue.counted || CountsSlots(record)) {
    if (record.counting.load(std::memory_order_acquire) < shared_->cores) return true;
    if (!record.taken.HasRoom(Concurrency(record))) return true;
  }
  const RateLimit rate = Rate(record);
  return rate.limited() && !record.rate.Load().MayStart(rate, now_);
}

// `terms`: what is kept of the space, null: nothing.
bool Core::Impl::HeldBy(const CoreQueue& queue, std::string_view space, SpaceTerms* terms) const {
  const QueueRecord& record = *queue.record;
  const bool unnamed = space.empty();
  if (PausedUntilMs(record, terms, unnamed) > now_.ms()) return true;
  if (const uint32_t limit = SlotsOf(queue, space, terms); limit != kNoSlotLimit) {
    const bool room =
        unnamed ? record.unnamed_taken.HasRoom(limit) : queue.slots->HasRoom(space, limit);
    if (!room) return true;
  }
  const RateLimit rate = SpaceRateOf(record, terms, unnamed);
  if (!rate.limited()) return false;
  const RateState used = unnamed ? record.unnamed_rate.Load() : UsedRate(terms, rate);
  return !used.MayStart(rate, now_);
}

// Where others may have used up what all cores share, and nothing has told this one.
void Core::Impl::ShowIfHeld(CoreQueue* queue, std::string_view space) {
  SpaceState* const state = StateOf(queue, space);
  if (state != nullptr && !state->held && state->has_work() && Held(state)) SpaceChanged(state);
}

// It has work, and its limit has room for none of it, or has again.
void Core::Impl::ShowHeld(SpaceState* space, bool held) {
  space->held = held;
  if (held) {
    space->queue->held->emplace(space->space, space);
  } else {
    space->queue->held->erase(space->space);
  }
}

// CONC-1, RATE-1: nothing starts without it.
Core::Impl::Taken Core::Impl::TakeSlot(CoreQueue* queue, SpaceState* space) {
  QueueRecord* const record = queue->record;
  const bool unnamed = space->space.empty();
  now();  // Held goes by now_
  if (Held(space)) return Taken::kSpaceIsFull;
  if (queue->counted) {
    if (unnamed && !record->unnamed_taken.TryTake(SlotsOf(*queue, {}, nullptr)))
      return Taken::kSpaceIsFull;
    if (!record->taken.TryTake(Concurrency(*record))) {
      if (unnamed) GiveLater(queue, 0, 1);
      return Taken::kQueueIsFull;
    }
  }
  if (const RateLimit rate = Rate(*record); rate.limited()) {
    if (!record->rate.TryStart(rate, now())) {
      if (queue->counted) GiveLater(queue, 1, unnamed ? 1 : 0);
      return Taken::kQueueIsFull;
    }
    NoteRate(queue, keycodec::Counter::kRateUntil, record->rate);
  }
  if (const RateLimit rate = SpaceRateOf(*record, space->terms, unnamed); rate.limited()) {
    if (!unnamed) {
      StartOfNamed(space, rate);
    } else if (record->unnamed_rate.TryStart(rate, now())) {
      NoteRate(queue, keycodec::Counter::kUnnamedRateUntil, record->unnamed_rate);
    } else {  // another core was faster; a token of the queue's is lost, never one too many given
      if (queue->counted) GiveLater(queue, 1, 1);
      return Taken::kSpaceIsFull;
    }
  }
  if (queue->counted && !unnamed) queue->slots->Add(space->space);
  if (queue->counted) NoteStart(queue, space);
  return Taken::kSlot;
}

// --- A lease is over ---

void Core::Impl::LeaseOver(CoreQueue* queue, std::string_view space) {
  GiveLater(queue, 1, space.empty() ? 1 : 0);
  if (space.empty()) return;
  if (const uint32_t limit = SlotsOf(*queue, space, FindTerms(queue, space));
      queue->slots->Remove(space, limit) && limit != kNoSlotLimit) {
    SpaceHasRoom(queue, space);
  }
}

// Behind the turn's batch; also slots that were taken in vain, which another core may have missed.
void Core::Impl::GiveLater(CoreQueue* queue, uint32_t slots, uint32_t unnamed) {
  if (queue->freed == 0 && queue->freed_unnamed == 0) freed_.push_back(queue);
  queue->freed += slots;
  queue->freed_unnamed += unnamed;
}

// It takes part again, if it was held back, and one waiter may have its job.
void Core::Impl::SpaceHasRoom(CoreQueue* queue, std::string_view space) {
  const auto it = queue->spaces.find(space);
  if (it == queue->spaces.end()) return HiddenHasRoom(queue, space);
  SpaceState* const state = it->second.get();
  const bool was_held = state->held;
  if (was_held) SpaceChanged(state);
  if (state->held || (!was_held && queue->wanted.empty())) return;
  if (was_held) ++queue->new_jobs;
  NoteWanted(queue, space);
  MarkNotify(queue);
}

void Core::Impl::GiveSlots() {
  for (CoreQueue* queue : std::exchange(freed_, {})) {
    QueueRecord* const record = queue->record;
    const bool rose = std::exchange(queue->unnamed_rose, false);
    bool unnamed_room = rose;
    for (; queue->freed_unnamed > 0; --queue->freed_unnamed) {
      const uint32_t taken = record->unnamed_taken.Give();
      unnamed_room |= taken == SlotsOf(*queue, {}, nullptr);
    }
    uint32_t slots = 0;
    for (; queue->freed > 0; --queue->freed) {
      const uint32_t taken = record->taken.Give();
      const uint32_t limit = Concurrency(*record);
      if (limit != kNoSlotLimit && taken <= limit) ++slots;
    }
    if (!unnamed_room && slots == 0) continue;
    std::atomic_thread_fence(std::memory_order_seq_cst);  // WAIT-1, and probes (SPACE-1)
    if (unnamed_room || record->space_waiters.load(std::memory_order_relaxed) > 0) {
      RoomHere(queue);
      for (uint16_t core = 0; core < shared_->cores; ++core) {
        if (CoreId(core) != id_) Send(CoreId(core), Message{Message::Kind::kRoom, nullptr, record});
      }
    }
    if (slots > 0) WakeFor(queue, slots);
    if (rose) WakeForRise(queue);
  }
}

// What limits held back here, and those who wait for one space: one probe of each that has work.
void Core::Impl::RoomHere(CoreQueue* queue) {
  SpaceHasRoom(queue, {});
  if (queue->wanted.empty()) return;
  LookAtWanted(queue);
  MarkNotify(queue);
}

// One waiter for each slot: those here first, as with jobs. REQUIRES: behind a fence.
void Core::Impl::WakeFor(CoreQueue* queue, uint32_t slots) {
  if (!queue->waiters.empty()) {
    queue->wakes += slots;
    return MarkNotify(queue);
  }
  for (; slots > 0; --slots) PassOnWake(queue->record);
}

// --- The rate ---

// The row that tells after a restart is the queue's counters, which a claim writes anyway.
void Core::Impl::NoteRate(CoreQueue* queue, keycodec::Counter counter,
                          const SharedRateState& rate) {
  const int64_t until_ms = rate.Load().ToStore().ms();
  const int64_t noted = queue->counters[counter];
  if (noted == until_ms) return;
  Count(queue, counter, until_ms - noted);
}

// Somebody waits here: look again when the next token is due.
void Core::Impl::WatchRate(CoreQueue* queue) {
  const RateLimit rate = Rate(*queue->record);
  if (!rate.limited()) return;
  const MonoTime due = queue->record->rate.Load().DueAt(rate, now_);
  if (due <= now_ || due == queue->rate_watched) return;
  if (queue->rate_watched < MonoTime::Max()) rate_waits_.erase({queue->rate_watched, queue});
  queue->rate_watched = due;
  rate_waits_.emplace(due, queue);
}

void Core::Impl::EndRateWaits() {
  while (!rate_waits_.empty() && rate_waits_.begin()->first <= now_) {
    CoreQueue* const queue = rate_waits_.begin()->second;
    rate_waits_.erase(rate_waits_.begin());
    queue->rate_watched = MonoTime::Max();
    if (queue->waiters.empty() && queue->wanted.empty()) {
      PassOnWake(queue->record);  // those who waited here have gone: others may wait elsewhere
      continue;
    }
    LookAtWanted(queue);
    MarkNotify(queue);
  }
}

}  // namespace vestq
