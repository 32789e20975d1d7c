// The simulation's back-pressure: max-jobs and max-bytes of queues (they change with the other limits,
// simulation_limits.cc), ENQUEUEs that are refused, that wait, and that give up.
//
//   SIM-19  while a limit holds no more jobs certainly stand than it allows, once one has been taken under
//           it; what was refused is never delivered; at rest nobody waits beside room, and what the cores
//           hold is what stands
#include <algorithm>

#include "tests/sim/simulation.h"
#include "tests/sim/simulation_model.h"

namespace vestq {

// Some ENQUEUE or ENQUEUEMANY that may wait is given up by its caller.
void Simulation::GiveUpSomething() {
  for (const auto& pending : pending_) {
    const bool enqueues = pending->op == Op::kEnqueue || pending->op == Op::kEnqueueMany;
    if (pending->done || !enqueues || !MayWait(*pending->request)) continue;
    if (random_.Chance(0.5)) continue;
    return world_->core(pending->core)->Abandon(pending->request.get());
  }
}

// True: it was refused, and must never be heard of again.
bool Simulation::AnsweredFull(Pending* pending) {
  if (pending->request->error.code() != ErrorCode::kFull) return false;
  if (pending->op == Op::kEnqueue) {
    Refused(pending->job);
  } else {
    for (ModelJob* const job : pending->many) Refused(job);
  }
  return true;
}

void Simulation::Refused(ModelJob* job) {
  Note(job, "ENQUEUE answered FULL");
  if (job->id != JobId(0)) {
    return Broken("SIM-19: job " + std::to_string(job->id.value()) +
                      " was delivered, then its ENQUEUE was refused",
                  job);
  }
  job->refused = true;
  if (job->replaces) {
    replacing_.erase(job->key);
    NotReplaced(job, nullptr);
  }
  job->key.clear();
}

// The job has just been taken. A group may add as many as it ends, also to a queue that stands above a
// limit that was lowered: that tells nothing.
void Simulation::CheckRoom(const ModelJob& job, uint64_t asked_event) {
  const ModelLimits& limits = limits_[job.queue];
  if ((!limits.max_jobs && !limits.max_bytes) || asked_event < limits.from_event) return;
  if (job.group != nullptr && !job.group->keys.empty()) return;
  uint64_t jobs = 0, bytes = 0;
  for (const auto& other : jobs_) {
    const bool stands = other->queue == job.queue && other->acknowledged && !MayBeGone(*other) &&
                        !other->dead && !other->may_be_dead && !other->may_move &&
                        other->attempts_known && other->attempts_max == 0;
    if (!stands) continue;
    ++jobs;
    if (other->payloads.empty()) bytes += other->payload.size();
  }
  const auto over = [&](uint64_t count, const std::optional<uint32_t>& limit, const char* what) {
    if (!limit || count <= *limit) return;
    Broken("SIM-19: " + std::to_string(count) + " " + what + " stand in " + job.queue +
               ", the limit is " + std::to_string(*limit),
           &job);
  };
  over(jobs, limits.max_jobs, "jobs");
  over(bytes, limits.max_bytes, "bytes");
}

// By any ENQUEUE or ENQUEUEMANY that is under way.
Backlog Simulation::MostWanted(const std::string& queue) const {
  Backlog most;
  for (const auto& pending : pending_) {
    std::vector<ModelJob*> jobs;
    if (pending->op == Op::kEnqueue) jobs = {pending->job};
    if (pending->op == Op::kEnqueueMany) jobs = pending->many;
    if (jobs.empty() || jobs[0]->queue != queue) continue;
    Backlog want;
    for (const ModelJob* job : jobs) want += {1, static_cast<int64_t>(job->payload.size())};
    most = {std::max(most.jobs, want.jobs), std::max(most.bytes, want.bytes)};
  }
  return most;
}

// The engine is at rest, and the limits are known.
void Simulation::CheckRest() {
  for (const char* queue : kSimQueues) {
    const ModelLimits& limits = limits_[queue];
    if ((!limits.max_jobs && !limits.max_bytes) || limits.unsettled > 0) continue;
    const QueueCounts counts = world_->Counts(queue);
    const int64_t jobs = counts.ready + counts.scheduled + counts.leased + counts.waiting;
    if (counts.held_jobs != jobs || counts.held_bytes != counts.unfinished_bytes) {
      return Broken(std::string("SIM-19: of ") + queue + " " + std::to_string(counts.held_jobs) +
                    " jobs and " + std::to_string(counts.held_bytes) +
                    " bytes are held, there are " + std::to_string(jobs) + " and " +
                    std::to_string(counts.unfinished_bytes));
    }
    const Backlog most = MostWanted(queue);
    const bool room =
        (!limits.max_jobs || jobs + most.jobs <= int64_t{*limits.max_jobs}) &&
        (!limits.max_bytes || counts.unfinished_bytes + most.bytes <= int64_t{*limits.max_bytes});
    if (room && counts.enqueues_waiting > 0)
      return Broken(std::string("SIM-19: an ENQUEUE waits for ") + queue + ", where there is room");
  }
}

// What waits for dead letters may fill a queue, which then has no room for them.
void Simulation::NoRoomLimits() {
  for (const char* queue : kSimQueues) {
    QueueSetRequest request;
    request.queue = queue;
    request.unset.max_jobs = 0;
    request.unset.max_bytes = 0;
    world_->Run(&request);
    if (!request.error.ok()) Broken("QUEUE SET failed: " + request.error.ToString());
    limits_[queue].max_jobs.reset();
    limits_[queue].max_bytes.reset();
  }
}

}  // namespace vestq
