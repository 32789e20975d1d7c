// The simulation's UNIQUE ... REPLACE: a holder that is scheduled or ready takes over payload, time and priority.
// Until the answer tells, and for ever when a crash takes it, whoever may hold the key may have either. While
// one is under way nobody else asks for the key, and whoever may hold it is known by its id.
#include <algorithm>

#include "tests/sim/simulation.h"
#include "tests/sim/simulation_model.h"

namespace vestq {

bool Simulation::PayloadFits(const ModelJob& job, const std::string& payload) {
  return payload == job.payload || job.payloads.contains(payload);
}

// Whose payload it is: one that REPLACE brought may be that of the job that had the key, or, where none had it,
// of a job of its own. Null: nobody's.
Simulation::ModelJob* Simulation::Resolve(JobId id, const std::string& payload) {
  const auto found = by_payload_.find(payload);
  if (found == by_payload_.end()) return SlotJob(id, payload);
  ModelJob* const holder = Find(id);
  if (holder != nullptr && holder != found->second && holder->payloads.contains(payload))
    return holder;
  return found->second;
}

// Those that may hold it are all known.
bool Simulation::MayReplace(const std::string& key) const {
  return std::none_of(jobs_.begin(), jobs_.end(), [&](const auto& job) {
    return job->key == key && !job->acknowledged && !job->gone;
  });
}

// It is asked: each that may hold the key may get its payload and its time.
void Simulation::NoteReplace(ModelJob* job) {
  replacing_.insert(job->key);
  for (const auto& other : jobs_) {
    if (other->key != job->key || other->gone) continue;
    other->payloads.insert(job->payload);
    other->time_event = events_;
    other->ageless = true;
    VestsAnyTime(other.get());
    if (other->expire_ms == 0) continue;
    ExpiresAnew(other.get(), Duration(0));
    if (job->not_before_wall_ms > 0)
      other->expires_wall_ms = job->not_before_wall_ms + other->expire_ms;
  }
}

void Simulation::AnsweredReplace(const Pending& pending) {
  const auto& request = static_cast<const EnqueueRequest&>(*pending.request);
  ModelJob* const job = pending.job;
  replacing_.erase(job->key);
  const bool replaced = !request.added && (request.holder_state == JobState::kReady ||
                                           request.holder_state == JobState::kScheduled);
  ModelJob* const holder = request.added ? nullptr : Find(request.id);
  NotReplaced(job, replaced ? holder : nullptr);
  if (!replaced || holder == nullptr) return;
  Note(holder, "REPLACE answered: " + job->payload.substr(0, 20));
  by_payload_[job->payload] = holder;
  holder->payloads.clear();
  holder->payload = job->payload;
  holder->replaced_event = ++events_;
  holder->moved_ms = world_->clock().boottime_ms;
  holder->moved_boot = world_->clock().boot;
  if (holder->time_event > pending.asked_event || holder->delivered_event > pending.asked_event)
    return;  // since then, perhaps, something else has moved it
  holder->time_event = events_;
  holder->not_before_ms = job->not_before_ms;
  holder->not_before_wall_ms = job->not_before_wall_ms;
  holder->not_before_event = job->not_before_event;
}

// Its payload went to none but that one.
void Simulation::NotReplaced(const ModelJob* job, const ModelJob* but) {
  for (const auto& other : jobs_)
    if (other.get() != but) other->payloads.erase(job->payload);
}

}  // namespace vestq
