// The simulation's PURGE and QUEUE DROP, of a queue, a state or a space.
//
//   SIM-16  a job whose ENQUEUE was answered before a PURGE of its queue was asked, and that nobody had
//           leased until then, is not delivered to a LEASE that is asked after the PURGE's answer, across
//           any crash; after a DROP no such job is, leased or not
#include <array>

#include "tests/sim/simulation.h"
#include "tests/sim/simulation_model.h"

namespace vestq {

bool Simulation::StartPurge(Pending* pending) {
  static constexpr std::array<const char*, 3> kQueues = {"mail", "thumbs", "sync"};
  static constexpr std::array<JobState, 6> kStates = {JobState::kReady,   JobState::kScheduled,
                                                      JobState::kWaiting, JobState::kLeased,
                                                      JobState::kDead,    JobState::kDone};
  if (random_.Chance(0.4)) return StartPurgeIds(pending);
  auto request = std::make_unique<PurgeRequest>();
  request->queue = random_.Pick(kQueues);
  if (random_.Chance(0.3)) {
    request->drop = true;
    ForgetLimits(request->queue);
    ForgetSpaces(request->queue);
    ++limits_[request->queue].unsettled;
    ForgetOptions(request->queue, true);
  } else {
    if (random_.Chance(0.5)) request->state = random_.Pick(kStates);
    if (random_.Chance(0.3)) {
      request->one_space = true;
      request->space = random_.Chance(0.5) ? "acme" : "";
    }
  }
  for (auto& job : jobs_) {
    NoteKept(job.get(), *request);
    if (!MayBePurged(*job, *request)) continue;
    job->maybe_gone = job->end_unknown = true;
    Note(job.get(), std::string(request->drop ? "DROP" : "PURGE") + " of its queue asked");
  }
  pending->op = Op::kPurge;
  pending->request = std::move(request);
  return true;
}

// Some jobs of a queue, by their ids.
bool Simulation::StartPurgeIds(Pending* pending) {
  auto request = std::make_unique<PurgeRequest>();
  request->queue = random_.Pick(kSimQueues);
  for (int i = 0; i < 30 && request->ids.size() < 4; ++i) {
    ModelJob* const job = random_.Pick(jobs_).get();
    if (job->queue != request->queue || job->may_move || job->busy > 0 || job->id == JobId(0))
      continue;
    ++job->busy;
    job->maybe_gone = true;
    Note(job, "PURGE ID asked");
    request->ids.push_back(job->id);
    pending->many.push_back(job);
  }
  if (request->ids.empty()) return false;
  pending->op = Op::kPurge;
  pending->request = std::move(request);
  return true;
}

// As CANCEL of each. Of some it does not say which.
void Simulation::AnsweredPurgeIds(Pending* pending) {
  const auto& request = static_cast<const PurgeRequest&>(*pending->request);
  const bool none = request.error.code() == ErrorCode::kNotFound;
  if (!none && !request.error.ok()) return Broken("PURGE ID failed: " + request.error.ToString());
  uint64_t certain = 0;
  for (ModelJob* const job : pending->many) {
    --job->busy;
    Note(job, "PURGE ID answered, of " + std::to_string(request.ids.size()) + " removed " +
                  std::to_string(request.removed));
    job->maybe_gone = job->end_unknown;
    certain += job->acknowledged && !MayBeGone(*job) && !job->may_move;
  }
  if (request.removed > request.ids.size() || request.removed < certain) {
    return Broken("SIM-16: PURGE ID removed " + std::to_string(request.removed) + " jobs, " +
                  std::to_string(certain) + " of " + std::to_string(request.ids.size()) +
                  " were there");
  }
  for (ModelJob* const job : pending->many) {
    if (request.removed == 0 || job->gone) continue;
    if (request.removed < request.ids.size()) {
      job->maybe_gone = job->end_unknown = true;
      continue;
    }
    job->gone = true;
    job->gone_event = ++events_;
    job->cancelled_event = pending->asked_event;
    job->has_lease = false;
  }
}

// A job that is enqueued while a PURGE is under way.
void Simulation::NoteUnderPurge(ModelJob* job) {
  for (const auto& pending : pending_) {
    if (pending->op != Op::kPurge) continue;
    if (MayBePurged(*job, static_cast<const PurgeRequest&>(*pending->request)))
      job->maybe_gone = job->end_unknown = true;
  }
}

bool Simulation::MayBePurged(const ModelJob& job, const PurgeRequest& purge) const {
  if (!purge.ids.empty() || purge.state == JobState::kDone) return false;
  if (purge.state == JobState::kWaiting && job.parents.empty()) return false;
  if (purge.state == JobState::kDead && !job.dead && !job.may_be_dead) return false;
  return job.may_move || job.queue == purge.queue;
}

// Windows that were open when it was asked.
void Simulation::NoteWindowsPurged(const PurgeRequest& purge, const Pending& pending,
                                   uint64_t event) {
  const std::string scope = purge.queue + "/" + (purge.one_space ? purge.space + "/" : "");
  for (auto& job : jobs_) {
    const bool open = job->window && job->gone && job->gone_event < pending.asked_event;
    if (open && !job->may_move && job->key.starts_with(scope)) job->window_purged_event = event;
  }
}

void Simulation::AnsweredPurge(Pending* pending) {
  const auto& request = static_cast<const PurgeRequest&>(*pending->request);
  if (!request.ids.empty()) return AnsweredPurgeIds(pending);
  if (request.drop) {
    --limits_[request.queue].unsettled;
    ForgetOptions(request.queue, false);
  }
  if (request.error.code() == ErrorCode::kNotFound) return;
  if (!request.error.ok()) return Broken("PURGE failed: " + request.error.ToString());
  size_t most = 0;
  const uint64_t event = ++events_;
  if (request.drop || request.state == JobState::kDone) NoteWindowsPurged(request, *pending, event);
  for (auto& job : jobs_) {
    const bool may = MayBePurged(*job, request);
    most += may;
    // Enqueued meanwhile, or its answer is still to come: it may have come behind the purge.
    if (!may || !job->acknowledged || job->acknowledged_event > pending->asked_event) continue;
    if (request.state || request.one_space || job->may_move) continue;
    job->purged_event = event;
    job->dropped |= request.drop;
    Note(job.get(), "PURGE of its queue answered");
  }
  if (request.state != JobState::kDone && request.removed > most)
    Broken("SIM-16: PURGE removed " + std::to_string(request.removed) + " jobs, there were " +
           std::to_string(most) + " at most");
}

void Simulation::CheckPurged(const LeasedJob& leased, uint64_t asked_event, const ModelJob* job) {
  if (job->purged_event == 0 || asked_event < job->purged_event || job->may_move) return;
  const bool never_leased =
      leased.attempt == 1 && job->deliveries == 0 && job->given_back == 0 && job->redrives == 0;
  if (job->dropped || never_leased)
    Broken("SIM-16: job " + std::to_string(job->id.value()) +
               " was delivered after its queue was " + (job->dropped ? "dropped" : "purged"),
           job);
}

}  // namespace vestq
