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
  static constexpr std::array<JobState, 5> kStates = {
      JobState::kReady, JobState::kScheduled, JobState::kLeased, JobState::kDead, JobState::kDone};
  auto request = std::make_unique<PurgeRequest>();
  request->queue = random_.Pick(kQueues);
  if (random_.Chance(0.3)) {
    request->drop = true;
    ForgetLimits(request->queue);
    ForgetSpaces(request->queue);
    ++limits_[request->queue].unsettled;
  } else {
    if (random_.Chance(0.5)) request->state = random_.Pick(kStates);
    if (random_.Chance(0.3)) {
      request->one_space = true;
      request->space = random_.Chance(0.5) ? "acme" : "";
    }
  }
  for (auto& job : jobs_) {
    if (!MayBePurged(*job, *request)) continue;
    job->maybe_gone = job->end_unknown = true;
    Note(job.get(), std::string(request->drop ? "DROP" : "PURGE") + " of its queue asked");
  }
  pending->op = Op::kPurge;
  pending->request = std::move(request);
  return true;
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
  return purge.state != JobState::kDone && (job.may_move || job.queue == purge.queue);
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
  if (request.drop) --limits_[request.queue].unsettled;
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
