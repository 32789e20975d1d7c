// The simulation hears its answers: what they say must be what the model allows (tests/sim/simulation.h).
#include <algorithm>
#include <array>

#include "engine/base/check.h"
#include "tests/sim/simulation.h"
#include "tests/sim/simulation_model.h"

namespace vestq {

void Simulation::CollectAnswers() {
  for (size_t i = 0; i < pending_.size();) {
    if (!pending_[i]->done) {
      ++i;
      continue;
    }
    std::unique_ptr<Pending> pending = std::move(pending_[i]);
    pending_.erase(pending_.begin() + static_cast<ptrdiff_t>(i));
    Answered(pending.get());
  }
}

void Simulation::Answered(Pending* pending) {
  history_ = (history_ ^ (static_cast<uint64_t>(pending->op) +
                          17 * static_cast<uint64_t>(pending->request->error.code()))) *
             1099511628211ull;
  switch (pending->op) {
    case Op::kEnqueue: {
      const auto& request = static_cast<const EnqueueRequest&>(*pending->request);
      if (AnsweredFull(pending)) return;
      if (!request.error.ok()) return Broken("ENQUEUE failed: " + request.error.ToString());
      history_ = (history_ ^ request.id.value()) * 1099511628211ull;
      ModelJob* const job = pending->job;
      if (job->id != JobId(0) && job->id != request.id && job->may_move) {
        job->acknowledged = true;
        job->old_ids.insert(request.id);
        return;
      }
      if (!job->key.empty() && !AnsweredUnique(*pending)) return;
      return Acknowledge(job, request.id, *pending);
    }
    case Op::kLease: return AnsweredLease(pending);
    case Op::kRevoke:
    case Op::kPromote:
    case Op::kRedrive:
    case Op::kPurge:
    case Op::kReschedule: return AnsweredHandling(pending);
    case Op::kCheckpoint: return AnsweredCheckpoint(pending);
    case Op::kGroup: return AnsweredGroup(pending);
    case Op::kLimits: return AnsweredLimits(pending);
    case Op::kSpaceSet: return AnsweredSpace(pending);
    case Op::kSpaces: return AnsweredSpaces(*pending);
    case Op::kWaitFor: return AnsweredWaitFor(*pending);
    case Op::kPeek: return AnsweredPage(*pending);
    case Op::kEnqueueMany: return AnsweredMany(pending);
    case Op::kData: return AnsweredData(*pending);
    case Op::kOptions:
    case Op::kPause: return AnsweredOptions(pending);
    case Op::kSchedule: return AnsweredSchedule(*pending);
    default: return AnsweredSettle(pending);
  }
}

void Simulation::Acknowledge(ModelJob* job, JobId id, const Pending& pending) {
  if (job->id != JobId(0) && job->id != id && job->may_move) {
    job->acknowledged = true;
    job->old_ids.insert(id);
    return;
  }
  if (job->id != JobId(0) && job->id != id) return Broken("SIM-2: an id changed");
  if (job->id == JobId(0) && by_id_.count(id) != 0) return Broken("SIM-2: an id was given twice");
  job->id = id;
  job->acknowledged = true;
  job->acknowledged_event = ++events_;
  job->answered_ms = EngineMs();
  TakeAttempts(job, pending);
  NoteAnswered(pending);
  Note(job, "ENQUEUE answered, attempts " + std::to_string(job->attempts_max));
  by_id_[job->id] = job;
  CheckRoom(*job, pending.asked_event);
}

void Simulation::AnsweredLease(Pending* pending) {
  const auto& request = static_cast<const LeaseRequest&>(*pending->request);
  if (!request.error.ok()) return Broken("LEASE failed: " + request.error.ToString());
  CheckSpaces(request);
  lease_for_ = request.lease;
  for (const LeasedJob& job : request.jobs) Delivered(job, pending->asked_event);
}

void Simulation::Delivered(const LeasedJob& leased, uint64_t asked_event) {
  ++deliveries_;
  history_ = (history_ ^ leased.receipt.id.value() ^ (leased.receipt.fence.claim << 20)) *
             1099511628211ull;
  const std::string id = std::to_string(leased.receipt.id.value());
  ModelJob* const job = Resolve(leased.receipt.id, std::string(leased.payload));
  if (job == nullptr) return Broken("SIM-2: job " + id + " has a payload that nobody enqueued");
  if (asked_event > job->replaced_event && !PayloadFits(*job, std::string(leased.payload)))
    return Broken("SIM-2: job " + id + " has a payload from before a REPLACE", job);
  if (job->old_ids.count(leased.receipt.id) != 0) return;  // claimed before it got its new id
  if (job->id != JobId(0) && job->id != leased.receipt.id && job->may_move) {
    Moved(job, leased.receipt.id);
  } else if (job->id != JobId(0) && job->id != leased.receipt.id) {
    return Broken("SIM-2: payload of job " + std::to_string(job->id.value()) + " came as job " +
                  id);
  }
  if (job->group != nullptr && job->group->outcome == ModelGroup::Outcome::kNot)
    return Broken("SIM-11: job " + id + " is of a group that was not carried out", job);
  if (job->refused) return Broken("SIM-19: job " + id + " was refused and is delivered", job);
  if (job->group != nullptr) Together(job->group);
  job->id = leased.receipt.id;
  by_id_[job->id] = job;
  if (job->gone) {
    if (asked_event < job->gone_event) return;  // claimed before it was cancelled
    return Broken("SIM-4: job " + id + " was delivered after it was answered as done", job);
  }
  CheckPurged(leased, asked_event, job);
  // The deadline that the answer states is exact; it was claimed a while ago. The lease before must
  // have ended by the time of this claim.
  const int64_t claimed_ms = ClaimedMs(leased);
  const int64_t claimed_engine_ms = claimed_ms + engine_offset_ms_;
  if (job->deliveries > 0 && leased.receipt.fence < job->receipt.fence) {
    // An older claim whose answer took its time; the newer one is known already.
    const int64_t until_ms = claimed_ms + leased.lease_left.ms();
    if (job->claim_boot == world_->clock().boot && job->busy == 0 && job->claimed_ms < until_ms &&
        !RevokedSince(*job, claimed_ms)) {
      return Broken("SIM-3: job " + id + " was claimed before the end of an older lease, until " +
                        std::to_string(until_ms),
                    job);
    }
    return;
  }
  if (job->has_lease && job->busy == 0 && job->lease_boot == world_->clock().boot &&
      claimed_ms < job->lease_until_ms) {
    return Broken("SIM-3: job " + id + " (receipt " + leased.receipt.ToString() +
                      ") was claimed at " + std::to_string(claimed_ms) + ", " +
                      std::to_string(job->lease_until_ms - claimed_ms) +
                      " ms before the end of its lease",
                  job);
  }
  if (job->has_lease && leased.receipt.fence <= job->receipt.fence) {
    return Broken("SIM-3: job " + id + " came back with a fence that is not greater", job);
  }
  const bool moved_since =  // it had been claimed before RESCHEDULE moved it
      job->moved_boot == world_->clock().boot && claimed_ms <= job->moved_ms;
  if (!moved_since) CheckTime(*job, claimed_engine_ms);
  CheckAge(leased, *job, claimed_engine_ms);
  if (job->deliveries == 0) CheckExpiry(leased, *job, claimed_engine_ms);
  CheckGranted(leased, job, claimed_ms);
  job->attempt = leased.attempt;
  job->delivered_event = ++events_;
  ++job->deliveries;
  CheckExtras(leased, job);
  if (job->deliveries == 1) CheckParents(job);
  Note(job, "delivered as " + leased.receipt.ToString() + ", attempt " +
                std::to_string(leased.attempt) + ", left " +
                std::to_string(leased.lease_left.ms()));
  if (job->attempts_max != 0 &&
      job->deliveries > job->attempts_max * (1 + job->redrives) + job->given_back) {
    return Broken("SIM-6: job " + id + " was delivered " + std::to_string(job->deliveries) +
                      " times, allowed are " + std::to_string(job->attempts_max),
                  job);
  }
  if (job->attempts_max != 0 && leased.attempt > job->attempts_max) {
    return Broken("SIM-6: job " + id + " says attempt " + std::to_string(leased.attempt), job);
  }
  if (job->attempts_max != 0 && leased.attempt == job->attempts_max) job->may_be_dead = true;
  job->has_lease = true;
  job->claimed_ms = claimed_ms;
  job->claim_boot = world_->clock().boot;
  job->receipt = leased.receipt;
  job->lease_until_ms = claimed_ms + leased.lease_left.ms();
  job->lease_boot = world_->clock().boot;
  if (RevokedSince(*job, claimed_ms)) job->lease_until_ms = 0;
  CheckLimits(leased, job, claimed_ms);
}

void Simulation::AnsweredSettle(Pending* pending) {
  ModelJob* const job = pending->job;
  --job->busy;
  const Error& error = pending->request->error;
  const std::string id = std::to_string(job->id.value());
  const bool newer = job->receipt != pending->receipt;  // delivered again meanwhile
  Note(job,
       OpName(pending->op) + " answered " + std::string(ErrorCodeName(error.code())) +
           (pending->op == Op::kRenew
                ? ", left " +
                      std::to_string(static_cast<const RenewRequest&>(*pending->request).left.ms())
                : ""));
  if (pending->op == Op::kJob) {
    const auto& request = static_cast<const JobRequest&>(*pending->request);
    if (!error.ok()) return Broken("JOB failed: " + error.ToString());
    if (request.state == JobState::kGone) {
      if (job->acknowledged && !MayBeGone(*job) && !job->may_move)
        Broken("SIM-1: JOB does not know job " + id, job);
      if (MustBeKept(*job) && request.id == job->id)
        Broken("SIM-23: JOB does not know what is kept of job " + id, job);
    } else if (request.state == JobState::kDone) {
      if (!job->gone && !job->maybe_gone)
        Broken("SIM-1: JOB says that job " + id + " is done", job);
      CheckResult(request.result, *job);
    } else if (!PayloadFits(*job, request.payload)) {
      Broken("SIM-2: JOB shows another payload for job " + id, job);
    } else if (job->gone && request.state != JobState::kDead) {
      Broken("SIM-4: JOB shows job " + id + " as " + std::string(JobStateName(request.state)) +
                 " after it was done",
             job);
    }
    return;
  }
  if (pending->op == Op::kCancel) {
    if (!error.ok()) return Broken("CANCEL failed: " + error.ToString());
    if (static_cast<const CancelRequest&>(*pending->request).cancelled) {
      job->gone = true;
      job->gone_event = ++events_;
      job->cancelled_event = pending->asked_event;
      job->has_lease = false;
    } else if (job->maybe_gone = job->end_unknown;
               job->acknowledged && !MayBeGone(*job) && !job->may_move) {
      Broken("SIM-1: CANCEL does not know job " + id, job);
    }
    return;
  }
  if (error.code() == ErrorCode::kLeaseLost) {
    if (pending->op == Op::kComplete && job->busy == 0 && !job->gone)
      job->maybe_gone = job->end_unknown;
    if (!newer) job->has_lease = false;
    return;
  }
  if (!error.ok()) return Broken("an operation on a lease failed: " + error.ToString());
  if (newer && pending->op != Op::kRenew) {
    // It was carried out before the next delivery, which a later FAIL or RELEASE allows; a COMPLETE
    // forbids it.
    if (pending->op == Op::kComplete)
      return Broken("SIM-4: job " + id + " was delivered after its COMPLETE", job);
    return;
  }
  switch (pending->op) {
    case Op::kComplete:
      job->gone = true;
      job->gone_event = ++events_;
      job->has_lease = false;
      Completed(job, *pending);
      break;
    case Op::kFail: {
      const auto& request = static_cast<const FailRequest&>(*pending->request);
      job->has_lease = false;
      if (request.dead) {
        job->dead = true;
        break;
      }
      CheckRetry(*pending, request, job);
      if (job->time_event <= pending->asked_event)
        job->not_before_ms = pending->asked_engine_ms + request.retry_in.ms();
      break;
    }
    case Op::kRelease:
      job->has_lease = false;
      if (job->time_event <= pending->asked_event) {
        job->not_before_ms = pending->asked_engine_ms +
                             static_cast<const ReleaseRequest&>(*pending->request).delay.ms();
      }
      break;
    case Op::kRenew:
      if (!newer) {
        // Carried out some time between the question and now.
        const Duration left = static_cast<const RenewRequest&>(*pending->request).left;
        job->lease_until_ms = pending->asked_ms + left.ms();
        job->lease_boot = world_->clock().boot;
      }
      break;
    default: break;
  }
}

}  // namespace vestq
