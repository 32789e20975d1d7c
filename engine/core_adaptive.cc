// Concurrency limits of spaces that find their own height (`adaptive min:max`, lanes/adaptive_limit.h).
//
// A space with a name learns with its owner, which alone starts and ends its jobs; of the empty space all cores tell
// one limit, behind a mutex. Nothing of it is stored: after a restart a space begins at `min`. A space with a
// concurrency of its own (SPACE SET) has that and no other. Where space-concurrency is set as well the smaller
// of both holds.
//
// A rise makes room for one job more than the lease that ended: one waiter more is woken for it.
#include <algorithm>

#include "engine/core_impl.h"
#include "engine/space_request.h"
#include "engine/space_rules.h"

namespace vestq {
namespace {

SpacesRequest::Row::Adaptive Shown(const AdaptiveLimit& limit) {
  return {limit.limit(), limit.usual(), limit.halvings()};
}

}  // namespace

// How many of its jobs may run at once now; kNoSlotLimit: as many as come. `space` is empty: that one.
uint32_t Core::Impl::SlotsOf(const CoreQueue& queue, std::string_view space,
                             const SpaceTerms* terms) const {
  const QueueRecord& record = *queue.record;
  const bool unnamed = space.empty();
  const uint32_t fixed = SlotLimitOf(record, terms, unnamed);
  const auto bounds = AdaptiveOf(record, terms, unnamed);
  if (!bounds) [[likely]]
    return fixed;
  uint32_t found = bounds->min;
  if (unnamed) {
    if (const auto* there = record.unnamed_adaptive.load(std::memory_order_acquire))
      found = there->limit();
  } else if (const auto* there = adaptive_.Find(queue.life.number, space)) {
    found = there->limit();
  }
  return std::min(fixed, std::clamp(found, bounds->min, bounds->max));
}

// A job of the space starts; its slot is taken.
void Core::Impl::NoteStart(CoreQueue* queue, SpaceState* space) {
  QueueRecord* const record = queue->record;
  const bool unnamed = space->space.empty();
  const auto bounds = AdaptiveOf(*record, space->terms, unnamed);
  if (!bounds) return;
  if (!unnamed) {
    adaptive_.Of(queue->life.number, space->space, *bounds, now_)
        ->Started(queue->slots->running(space->space));
    return;
  }
  record->UnnamedAdaptive(*bounds, now_)->Update([&](AdaptiveLimit* limit) {
    limit->SetBounds(*bounds);
    limit->Started(record->unnamed_taken.taken());
    return false;
  });
}

void Core::Impl::LearnFrom(CoreQueue* queue, const Lease& lease, bool success) {
  const bool unnamed = lease.space.empty();
  const auto bounds = AdaptiveOf(*queue->record, FindTerms(queue, lease.space), unnamed);
  if (!bounds) return;
  const MonoTime at = now();
  const auto tell = [&](AdaptiveLimit* limit) {
    limit->SetBounds(*bounds);
    const MonoTime began = BeganAt(lease, at);
    return success ? limit->Succeeded(began, at) : limit->Failed(began, at);
  };
  if (unnamed) {
    queue->unnamed_rose |= queue->record->UnnamedAdaptive(*bounds, at)->Update(tell);
  } else if (tell(adaptive_.Of(queue->life.number, lease.space, *bounds, at))) {
    NoteWanted(queue, lease.space);
    ++queue->new_jobs;
    MarkNotify(queue);
  }
}

// The empty space may have work on any core, and waiters too.
void Core::Impl::WakeForRise(CoreQueue* queue) {
  ++queue->new_jobs;
  LookAtWanted(queue);
  MarkNotify(queue);
  for (uint16_t core = 0; core < shared_->cores; ++core) {
    if (CoreId(core) != id_)
      Send(CoreId(core), Message{Message::Kind::kOptions, nullptr, queue->record});
  }
}

void Core::Impl::ShowAdaptive(SpacesRequest* request, CoreQueue* queue) const {
  QueueRecord* const record = queue->record;
  if (!record->settings.Adaptive()) return;
  for (auto& [name, row] : request->spaces) {
    if (name.empty()) {
      if (auto* there = record->unnamed_adaptive.load(std::memory_order_acquire))
        row.adaptive = Shown(there->Copy());
    } else if (const AdaptiveLimit* there = adaptive_.Find(queue->life.number, name)) {
      row.adaptive = Shown(*there);
    }
  }
}

}  // namespace vestq
