// The simulation's extras: types, checkpoints, unique keys, EXPIRE and KEEP.
//
//   SIM-9   a delivery brings the checkpoint that was acknowledged last, or one asked for since
//   SIM-10  a unique key is given to a second job only when the first may be finished; and whom a
//           refusal names has not been finished before it was asked, but for a window that no PURGE
//           of what is done has ended
//   SIM-15  a job is delivered only when each of its parents may be over; and not at all, unless it was
//           redriven, when one was cancelled after the job's ENQUEUE had been answered
#include <algorithm>

#include "lease/backoff.h"
#include "tests/sim/simulation.h"
#include "tests/sim/simulation_model.h"

namespace vestq {

void Simulation::Decorate(EnqueueRequest* request, ModelJob* job, bool may_be_unique) {
  if (random_.Chance(0.3)) {
    request->type = "type-" + std::to_string(random_.Below(5));
    request->headers.emplace_back("n", std::to_string(jobs_.size()));
    job->type = request->type;
  }
  if (may_be_unique && random_.Chance(0.2)) {
    const std::string name = "key-" + std::to_string(random_.Below(6));
    const std::string key = request->queue + "/" + request->space + "/" + name;
    if (!replacing_.contains(key)) {
      request->unique_key = name;
      job->replaces = request->unique_replace = random_.Chance(0.3) && MayReplace(key);
      job->key = key;
    }
  }
  if (!job->key.empty()) {
    if (random_.Chance(0.3)) {
      request->unique_window = Milliseconds(static_cast<int64_t>(1 + random_.Below(20'000)));
      job->window = true;
    }
  }
  if (random_.Chance(0.1)) {
    request->expire = Milliseconds(static_cast<int64_t>(1 + random_.Below(10'000)));
  }
  if (random_.Chance(0.15)) {
    request->keep = Milliseconds(static_cast<int64_t>(random_.Below(20'000)));
    job->keep_ms = request->keep->ms();
  }
  if (random_.Chance(0.15)) {
    request->lease = Milliseconds(static_cast<int64_t>(300 + random_.Below(15'000)));
    job->lease_ms = request->lease.ms();
  }
  if (random_.Chance(0.15)) {
    job->backoff = AnyBackoff();
    request->backoff = *ParseBackoff(job->backoff->Text());
  }
  if (random_.Chance(0.25)) PickParents(request, job);
  ExpiresAfter(job, *request);
  if (job->replaces) NoteReplace(job);
}

// Some of the last jobs, whatever has become of them: chains, diamonds, fans.
void Simulation::PickParents(EnqueueRequest* request, ModelJob* job) {
  const size_t recent = std::min<size_t>(jobs_.size(), 1 + random_.Below(40));
  for (uint64_t i = 1 + random_.Below(4); i > 0 && recent > 0; --i) {
    ModelJob* const parent = jobs_[jobs_.size() - 1 - random_.Below(recent)].get();
    if (parent->id == JobId(0)) continue;
    request->after.push_back(parent->id);
    job->parents.push_back(parent);
    job->may_be_dead = true;  // of a parent's end
  }
}

void Simulation::CheckParents(ModelJob* job) {
  for (const ModelJob* parent : job->parents) {
    const std::string id = std::to_string(parent->id.value());
    if (!MayBeGone(*parent) && !parent->may_move) {
      Note(job, "waits for job " + id);
      return Broken("SIM-15: a job came before its parent, job " + id + ", is over", job);
    }
    if (job->acknowledged_event > 0 && parent->cancelled_event > job->acknowledged_event &&
        job->redriven_event < parent->cancelled_event && !parent->may_move) {
      return Broken("SIM-15: a job came although its parent, job " + id + ", was cancelled", job);
    }
  }
}

bool Simulation::MayBeFinished(const ModelJob& job) const {
  return !job.acknowledged || MayBeGone(job) || job.dead || job.may_be_dead || job.may_move;
}

// False: the key was held by another job, this one does not exist.
bool Simulation::AnsweredUnique(const Pending& pending) {
  const auto& request = static_cast<const EnqueueRequest&>(*pending.request);
  if (pending.job->replaces) AnsweredReplace(pending);
  if (request.added) {
    for (const auto& other : jobs_) {
      if (other.get() != pending.job && other->key == pending.job->key && !MayBeFinished(*other) &&
          other->acknowledged_event < pending.asked_event) {
        Broken("SIM-10: job " + std::to_string(request.id.value()) + " got the key of job " +
                   std::to_string(other->id.value()),
               other.get());
      }
    }
    return true;
  }
  const ModelJob* const holder = Find(request.id);
  if (holder != nullptr && holder->gone && holder->gone_event < pending.asked_event &&
      (!holder->window ||
       (holder->window_purged_event != 0 && holder->window_purged_event < pending.asked_event))) {
    Broken("SIM-10: a finished job holds the key " + pending.job->key, holder);
  }
  pending.job->key.clear();
  return false;
}

bool Simulation::StartCheckpoint(Pending* pending) {
  ModelJob* const job = RandomLeased();
  if (job == nullptr) return false;
  auto request = std::make_unique<CheckpointRequest>();
  request->receipt = job->receipt;
  request->checkpoint = random_.Chance(0.1) ? "" : "checkpoint " + std::to_string(events_);
  request->lease = random_.Chance(0.5)
                       ? Duration(0)
                       : Milliseconds(static_cast<int64_t>(200 + random_.Below(20'000)));
  job->checkpoints.push_back(request->checkpoint);
  job->lease_until_ms = 0;  // as with RENEW
  pending->op = Op::kCheckpoint;
  pending->job = job;
  pending->receipt = job->receipt;
  pending->request = std::move(request);
  ++job->busy;
  Note(job, "CHECKPOINT asked: " + job->checkpoints.back());
  return true;
}

void Simulation::AnsweredCheckpoint(Pending* pending) {
  ModelJob* const job = pending->job;
  --job->busy;
  const auto& request = static_cast<const CheckpointRequest&>(*pending->request);
  Note(job, "CHECKPOINT answered " + std::string(ErrorCodeName(request.error.code())));
  const bool newer = job->receipt != pending->receipt;
  if (request.error.code() == ErrorCode::kLeaseLost) {
    if (!newer) job->has_lease = false;
    return;
  }
  if (!request.error.ok()) return Broken("CHECKPOINT failed: " + request.error.ToString(), job);
  if (job->gone) return Broken("SIM-4: CHECKPOINT of a job that is done", job);
  if (newer) return;  // what the later delivery brought has told it
  job->checkpoints = {request.checkpoint};
}

void Simulation::CheckExtras(const LeasedJob& leased, ModelJob* job) {
  if (leased.type != job->type) return Broken("SIM-2: a job has another type", job);
  bool known = false;
  for (const std::string& checkpoint : job->checkpoints) known |= checkpoint == leased.checkpoint;
  if (!known) return Broken("SIM-9: the checkpoint is \"" + leased.checkpoint + "\"", job);
  job->checkpoints = {leased.checkpoint};  // one asked for by the holder before comes no more
}

}  // namespace vestq
