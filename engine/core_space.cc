// LEASEs of one space that wait: probes at the owners of its jobs (engine/space_probe.h).
//
// SPACE-1: while a LEASE waits for a space and none of its probes is on its way home, the space has
// nothing that could be leased. A probe that comes home wakes one LEASE; if that has ended meanwhile, or
// ends with its wake-up unused, the wake-up is passed on.
#include "engine/base/check.h"
#include "engine/core_impl.h"
#include "engine/space_probe.h"

namespace vestq {

// --- At the origin ---

// The LEASE has found nothing and waits. Those of its probes that came home are sent out again.
void Core::Impl::ArmProbes(LeaseRequest* request) {
  for (QueueRecord* record : request->records) {
    CoreQueue* const queue = QueueHere(record);
    ++queue->space_waiters;
    record->space_waiters.fetch_add(1, std::memory_order_relaxed);
    ShowWaiters(queue);
  }
  if (request->probes.empty()) {
    std::set<std::pair<QueueRecord*, CoreId>> places;
    for (QueueRecord* record : request->records) {
      if (request->space.empty()) {
        for (uint16_t i = 0; i < shared_->cores; ++i) places.emplace(record, CoreId(i));
      } else {
        places.emplace(record, shared_->OwnerOf(keycodec::LaneOfSpace(record->name, request->space,
                                                                      shared_->lanes)));
      }
    }
    for (const auto& [record, owner] : places) {
      auto probe = std::make_unique<SpaceProbe>();
      probe->origin = id_;
      probe->owner = owner;
      probe->record = record;
      probe->space = request->space;
      probe->order = request->wait_order;
      probe->lease = request;
      request->probes.push_back(probe.get());
      probes_.emplace(probe.get(), std::move(probe));
    }
  }
  for (SpaceProbe* probe : request->probes) {
    if (probe->armed) continue;
    probe->armed = true;
    probe->fired = false;
    SendOut(probe);
  }
}

void Core::Impl::SendOut(SpaceProbe* probe) {
  if (probe->owner == id_) return Probe(probe);
  Send(probe->owner, Message{Message::Kind::kExecute, probe, nullptr});
}

// The LEASE has ended.
void Core::Impl::DropProbes(LeaseRequest* request) {
  for (SpaceProbe* probe : std::exchange(request->probes, {})) {
    probe->lease = nullptr;
    if (!probe->armed) {
      ProbeBack(probe);  // its wake-up may have been for more than the LEASE took
    } else if (probe->owner == id_) {
      AbandonProbe(probe);
    } else {
      Send(probe->owner, Message{Message::Kind::kAbandon, probe, nullptr});
    }
  }
}

void Core::Impl::ProbeBack(SpaceProbe* probe) {
  probe->armed = false;
  LeaseRequest* const lease = probe->lease;
  if (lease == nullptr) {
    if (!probe->fired || probe->pass_on || shared_->writes->failed()) {
      probes_.erase(probe);
      return;
    }
    probe->pass_on = true;
    // Not at once: each of those that it wakes may pass on in turn.
    if (probe->owner == id_) return Later([this, probe] { Probe(probe); });
    return SendOut(probe);
  }
  // One that is under way looks where it has not yet been, then comes by ArmProbes.
  if (!lease->waiting) return;
  Unregister(lease);
  lease->stage = 0;
  now_stale_ = true;  // LEASE-5
  ContinueLease(lease);
}

// --- At the owner ---

// The space and where its first job stands, in memory with its record. nullptr: there is none, or,
// `*cold`, something must be read first, which is under way.
SpaceState* Core::Impl::PickOneSpace(CoreQueue* queue, const std::string& name, LaneZone** zone,
                                     bool* cold) {
  SpaceState* const space = LookUpSpace(queue, name);
  if (space == nullptr || !space->has_work()) {
    *cold = name.empty() && !queue->cursor.unnamed_known() && Sweep(queue);
    return nullptr;
  }
  if (Limited(*queue->record) && Held(space)) {
    SpaceChanged(space);
    return nullptr;
  }
  if (!space->cold) {
    *zone = FirstZone(space);
    if (*zone != nullptr) return space;
    SetAside(space);
  }
  *cold = true;
  return nullptr;
}

bool Core::Impl::SpaceMayHave(CoreQueue* queue, const std::string& space) const {
  if (Paused(*queue->record)) return false;
  const auto it = queue->spaces.find(space);
  const bool work = it != queue->spaces.end() && it->second->has_work();
  if (!work && !MayHide(*queue, space)) return false;
  return !Limited(*queue->record) || (!Closed(*queue) && !HeldByName(queue, space));
}

void Core::Impl::Probe(SpaceProbe* probe) {
  CoreQueue* const queue = QueueHere(probe->record);
  const bool limited = Limited(*queue->record);
  if (probe->pass_on) {
    FireWanted(queue, probe->space, 1);
    if (limited && !queue->wanted.empty()) {
      ShowIfHeld(queue, probe->space);
      WatchRate(queue);
    }
    return SendHome(probe);
  }
  if (limited && !alone_) std::atomic_thread_fence(std::memory_order_seq_cst);  // as GiveSlots
  if (SpaceMayHave(queue, probe->space)) {
    if (!queue->cursor.may_find() && MayHide(*queue, probe->space)) {
      // Nothing tells LEASEs to come here while only what is held is hidden: so the space is taken in, and what it has
      // read. Else they and their probe would send each other for ever.
      LookUpSpace(queue, probe->space);
      PublishHead(queue);
    }
    probe->fired = true;
    if (probe->origin != id_) return SendHome(probe);
    // Not at once: its LEASE is just being put to wait.
    return Later([this, probe] { ProbeBack(probe); });
  }
  (*queue->wanted)[probe->space].probes.emplace(probe->order, probe);
  probes_here_.emplace(probe, probe);
  if (!limited) return;
  ShowIfHeld(queue, probe->space);
  WatchRate(queue);
}

// Behind this turn's batch (CORE-1).
void Core::Impl::SendHome(SpaceProbe* probe) {
  if (probe->origin == id_) return ProbeBack(probe);
  executed_.push_back(probe);
}

// False: it does not stand here (any more), and may be gone.
bool Core::Impl::AbandonProbe(const Request* request) {
  const auto it = probes_here_.find(request);
  if (it == probes_here_.end()) return false;
  SpaceProbe* const probe = it->second;
  probes_here_.erase(it);
  CoreQueue* const queue = QueueHere(probe->record);
  const auto wanted = queue->wanted->find(probe->space);
  wanted->second.probes.erase({probe->order, probe});
  if (wanted->second.probes.empty()) queue->wanted->erase(wanted);
  SendHome(probe);
  return true;
}

// A job of the space has become ready.
void Core::Impl::NoteWanted(CoreQueue* queue, std::string_view space) {
  if (queue->wanted.empty()) return;
  const auto it = queue->wanted->find(space);
  if (it != queue->wanted->end() && it->second.jobs++ == 0) queue->wanted_ready.emplace_back(space);
}

void Core::Impl::ServeWanted(CoreQueue* queue) {
  for (const std::string& space : std::exchange(queue->wanted_ready, {})) {
    const auto it = queue->wanted->find(space);
    if (it == queue->wanted->end()) continue;
    FireWanted(queue, space, std::exchange(it->second.jobs, 0));
  }
}

// Sends home the probes of those that wait longest.
void Core::Impl::FireWanted(CoreQueue* queue, const std::string& space, uint32_t jobs) {
  for (; jobs > 0 && SpaceMayHave(queue, space); --jobs) {
    const auto it = queue->wanted->find(space);
    if (it == queue->wanted->end()) return;
    auto& probes = it->second.probes;
    SpaceProbe* const probe = probes.begin()->second;
    probes.erase(probes.begin());
    if (probes.empty()) queue->wanted->erase(it);
    probes_here_.erase(probe);
    probe->fired = true;
    SendHome(probe);  // which may put it, or another, here again
  }
}

// What may be leased of the queue has changed as a whole: one probe of each space that has something,
// the others follow as wake-ups are passed on.
void Core::Impl::LookAtWanted(CoreQueue* queue) {
  if (queue->wanted.empty()) return;
  for (auto& [space, wanted] : *queue->wanted) {
    if (wanted.jobs++ == 0) queue->wanted_ready.push_back(space);
  }
}

// The store has failed, and the LEASEs have ended.
void Core::Impl::ForgetWanted() {
  while (!probes_here_.empty()) AbandonProbe(probes_here_.begin()->first);
}

}  // namespace vestq
