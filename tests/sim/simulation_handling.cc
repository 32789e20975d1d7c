// The simulation's people: REVOKE, PROMOTE and RESCHEDULE of any job in any state.
#include <array>

#include "tests/sim/simulation.h"
#include "tests/sim/simulation_model.h"

namespace vestq {

std::string Simulation::OpName(Op op) {
  static constexpr std::array<const char*, 25> kNames = {
      "ENQUEUE", "LEASE",     "COMPLETE",    "FAIL",       "RELEASE",    "RENEW",   "CANCEL",
      "JOB",     "REVOKE",    "PROMOTE",     "RESCHEDULE", "CHECKPOINT", "REDRIVE", "GROUP",
      "WAITFOR", "PURGE",     "QUEUE SET",   "SPACE SET",  "SPACES",     "PEEK",    "ENQUEUEMANY",
      "data",    "QUEUE SET", "QUEUE PAUSE", "SCHEDULE"};
  return kNames[static_cast<size_t>(op)];
}

// Dead letters of a queue: some or all, at a rate or not, to another queue or not.
bool Simulation::StartRedrive(Pending* pending) {
  auto request = std::make_unique<RedriveRequest>();
  request->queue = random_.Pick(kSimQueues);
  if (random_.Chance(0.5)) request->count = 1 + random_.Below(5);
  if (random_.Chance(0.4)) request->to = random_.Pick(kSimQueues);
  if (random_.Chance(0.3)) request->rate = 1 + static_cast<uint32_t>(random_.Below(20));
  for (int i = 0; i < 20 && random_.Chance(0.9); ++i) {
    ModelJob* const job = random_.Pick(jobs_).get();
    if (job->id == JobId(0) || job->queue == kScheduleQueue || job->busy > 0) continue;
    if (!job->dead && !(job->may_be_dead && random_.Chance(0.2))) continue;
    request->id = job->id;
    request->queue = job->queue;
    pending->job = job;
    ++job->busy;
    break;
  }
  NoteRedrive(pending->job, !request->to.empty());
  pending->op = Op::kRedrive;
  pending->request = std::move(request);
  return true;
}

// Which jobs it finds dead is not known from here.
void Simulation::NoteRedrive(const ModelJob* only, bool moves) {
  for (auto& job : jobs_) {
    if (only != nullptr && job.get() != only) continue;
    if (moves && job->queue == kScheduleQueue) continue;
    ++job->redrives;
    job->redriven_event = ++events_;
    job->may_move |= moves;
  }
}

// False: there is nothing that is dead.
bool Simulation::RedriveAll() {
  uint64_t redriven = 0;
  NoRoomLimits();
  NoteRedrive(nullptr, false);
  for (const char* queue : kAllQueues) {
    RedriveRequest request;
    request.queue = queue;
    world_->Run(&request);
    if (!request.error.ok() && request.error.code() != ErrorCode::kNotFound)
      Broken("REDRIVE failed: " + request.error.ToString());
    redriven += request.redriven;
  }
  return redriven > 0 || CancelDead();
}

// A dead job whose unique key is held by one that waits for it: only a CANCEL helps them on.
bool Simulation::CancelDead() {
  for (const auto& job : jobs_) {
    if (job->id == JobId(0) || world_->State(job->id) != JobState::kDead) continue;
    CancelRequest cancel;
    cancel.id = job->id;
    world_->Run(&cancel);
    job->gone = true;
    job->gone_event = job->cancelled_event = ++events_;
    Note(job.get(), "cancelled, dead");
    return true;
  }
  return false;
}

bool Simulation::StartHandling(Pending* pending) {
  if (jobs_.empty()) return false;
  const uint64_t dice = random_.Below(4);
  if (random_.Chance(0.3)) return random_.Chance(0.5) ? StartLimits(pending) : StartSpace(pending);
  if (dice == 3) return random_.Chance(0.15) ? StartPurge(pending) : StartRedrive(pending);
  ModelJob* job = dice == 0 ? RandomLeased() : random_.Pick(jobs_).get();
  if (job == nullptr || job->id == JobId(0) || job->busy > 0) return false;
  pending->job = job;
  pending->receipt = job->receipt;
  job->time_event = events_;
  if (dice == 0) {
    pending->op = Op::kRevoke;
    auto request = std::make_unique<RevokeRequest>();
    request->id = job->id;
    pending->request = std::move(request);
    job->lease_until_ms = 0;
  } else if (dice == 1) {
    pending->op = Op::kPromote;
    auto request = std::make_unique<PromoteRequest>();
    request->id = job->id;
    pending->request = std::move(request);
    VestsAnyTime(job);
    ExpiresAnew(job, Duration(0));
  } else {
    pending->op = Op::kReschedule;
    auto request = std::make_unique<RescheduleRequest>();
    request->id = job->id;
    request->at_set = random_.Chance(0.3);
    const Duration later = Milliseconds(static_cast<int64_t>(random_.Below(5'000)));
    request->delay = random_.Chance(0.3) ? Duration(0) : later;
    request->at = WallTime(world_->clock().wall_ms) + later;
    request->priority_set = random_.Chance(0.3);
    request->priority = static_cast<uint32_t>(random_.Below(2000));
    VestsAnyTime(job);  // until the answer it stands here or there
    ExpiresAnew(job, Duration(0));
    if (request->at_set && job->expire_ms > 0)
      job->expires_wall_ms = request->at.ms() + job->expire_ms;
    pending->request = std::move(request);
  }
  ++job->busy;
  Note(job, OpName(pending->op) + " asked");
  return true;
}

void Simulation::AnsweredRedrive(Pending* pending) {
  const auto& request = static_cast<const RedriveRequest&>(*pending->request);
  ModelJob* const job = pending->job;
  if (job != nullptr) --job->busy;
  const ErrorCode code = request.error.code();
  if (code == ErrorCode::kNotFound || code == ErrorCode::kFull) return;
  if (job != nullptr && code == ErrorCode::kBusy) return;
  if (!request.error.ok()) return Broken("REDRIVE failed: " + request.error.ToString(), job);
  if (request.count != 0 && request.redriven > request.count)
    return Broken("SIM-6: REDRIVE takes more than it should");
  if (job == nullptr) return;
  Note(job, "REDRIVE answered");
  if (request.redriven != 1) return Broken("SIM-6: REDRIVE of a job takes none", job);
  job->moved_ms = world_->clock().boottime_ms;
  job->moved_boot = world_->clock().boot;
  if (request.rate > 0 && job->time_event <= pending->asked_event)
    job->not_before_ms = pending->asked_engine_ms + 1000 / request.rate;
}

void Simulation::AnsweredHandling(Pending* pending) {
  const Error& error = pending->request->error;
  if (pending->op == Op::kRedrive) {
    return AnsweredRedrive(pending);
  }
  if (pending->op == Op::kPurge) return AnsweredPurge(pending);
  ModelJob* const job = pending->job;
  --job->busy;
  Note(job, OpName(pending->op) + " answered " + std::string(ErrorCodeName(error.code())));
  if (pending->op == Op::kRevoke) {
    if (!error.ok()) return Broken("REVOKE failed: " + error.ToString(), job);
    return NoteRevoked(job);
  }
  if (error.code() == ErrorCode::kBusy) return;
  if (error.code() == ErrorCode::kNotFound) {
    if (job->acknowledged && !MayBeGone(*job) && !job->may_move)
      Broken("SIM-1: " + OpName(pending->op) + " does not know the job", job);
    return;
  }
  if (!error.ok()) return Broken(OpName(pending->op) + " failed: " + error.ToString(), job);
  if (job->gone) return Broken("SIM-4: " + OpName(pending->op) + " moved a job that is done", job);
  if (pending->op == Op::kPromote) return;
  job->moved_ms = world_->clock().boottime_ms;
  job->moved_boot = world_->clock().boot;
  if (job->time_event > pending->asked_event) return;
  // Delivered since it was moved: then its time has come, and what comes later is a retry.
  if (job->receipt != pending->receipt) return;
  const auto& request = static_cast<const RescheduleRequest&>(*pending->request);
  if (request.at_set) {
    job->not_before_wall_ms = request.at.ms();
    job->not_before_event = pending->asked_event;
  } else {
    job->not_before_ms = pending->asked_engine_ms + request.delay.ms();
  }
}

void Simulation::NoteRevoked(ModelJob* job) {
  job->lease_until_ms = 0;
  job->revoked_ms = world_->clock().boottime_ms;
  job->revoked_boot = world_->clock().boot;
}

bool Simulation::RevokedSince(const ModelJob& job, int64_t claimed_ms) const {
  return job.revoked_boot == world_->clock().boot && claimed_ms <= job.revoked_ms;
}

}  // namespace vestq
