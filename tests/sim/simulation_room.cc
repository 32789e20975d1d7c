// The simulation's back-pressure: max-jobs and max-bytes of queues (they change with the other limits,
// simulation_limits.cc), ENQUEUEs that are refused, that wait, and that give up.
//
//   SIM-19  while a limit holds no more jobs certainly stand than it allows, once one has been taken under
//           it; what was refused is never delivered; at rest nobody waits beside room, and what the cores
//           hold is what stands
#include <algorithm>
#include <array>

#include "tests/sim/simulation.h"
#include "tests/sim/simulation_model.h"

namespace vestq {
namespace {
constexpr std::array<const char*, 3> kQueues = {"mail", "thumbs", "sync"};
constexpr int64_t kLargestJob = 4000;  // of Simulation::StartEnqueue
}  // namespace

// Some ENQUEUE that may wait is given up by its caller.
void Simulation::GiveUpSomething() {
  for (const auto& pending : pending_) {
    if (pending->done || pending->op != Op::kEnqueue || !MayWait(*pending->request)) continue;
    if (random_.Chance(0.5)) continue;
    return world_->core(pending->core)->Abandon(pending->request.get());
  }
}

// True: it was refused, and must never be heard of again.
bool Simulation::AnsweredFull(Pending* pending) {
  if (pending->request->error.code() != ErrorCode::kFull) return false;
  pending->job->refused = true;
  Note(pending->job, "ENQUEUE answered FULL");
  return true;
}

// The job has just been taken. A group may add as many as it ends, also to a queue that stands above a
// limit that was lowered: that tells nothing.
void Simulation::CheckRoom(const ModelJob& job, uint64_t asked_event) {
  const ModelLimits& limits = limits_[job.queue];
  if ((!limits.max_jobs && !limits.max_bytes) || asked_event < limits.from_event) return;
  if (job.group != nullptr) return;
  uint64_t jobs = 0, bytes = 0;
  for (const auto& other : jobs_) {
    const bool stands = other->queue == job.queue && other->acknowledged && !other->gone &&
                        !other->maybe_gone && !other->end_unknown && !other->dead &&
                        !other->may_be_dead && !other->may_move && other->attempts_max == 0;
    if (!stands) continue;
    ++jobs;
    bytes += other->payload.size();
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

// The engine is at rest, and the limits are known.
void Simulation::CheckRest() {
  for (const char* queue : kQueues) {
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
    const bool room =
        (!limits.max_jobs || jobs < int64_t{*limits.max_jobs}) &&
        (!limits.max_bytes || counts.unfinished_bytes + kLargestJob <= int64_t{*limits.max_bytes});
    if (room && counts.enqueues_waiting > 0)
      return Broken(std::string("SIM-19: an ENQUEUE waits for ") + queue + ", where there is room");
  }
}

// What waits for dead letters may fill a queue, which then has no room for them.
void Simulation::NoRoomLimits() {
  for (const char* queue : kQueues) {
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
