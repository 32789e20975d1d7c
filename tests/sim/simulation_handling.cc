// The simulation's people: REVOKE, PROMOTE and RESCHEDULE of any job in any state.
#include <array>

#include "tests/sim/simulation.h"
#include "tests/sim/simulation_model.h"

namespace vestq {

std::string Simulation::OpName(Op op) {
  static constexpr std::array<const char*, 19> kNames = {
      "ENQUEUE", "LEASE",  "COMPLETE",  "FAIL",       "RELEASE",    "RENEW",   "CANCEL",
      "JOB",     "REVOKE", "PROMOTE",   "RESCHEDULE", "CHECKPOINT", "REDRIVE", "GROUP",
      "WAITFOR", "PURGE",  "QUEUE SET", "SPACE SET",  "SPACES"};
  return kNames[static_cast<size_t>(op)];
}

// Dead letters of a queue: some or all, at a rate or not, to another queue or not.
bool Simulation::StartRedrive(Pending* pending) {
  static constexpr std::array<const char*, 3> kQueues = {"mail", "thumbs", "sync"};
  auto request = std::make_unique<RedriveRequest>();
  request->queue = random_.Pick(kQueues);
  if (random_.Chance(0.5)) request->count = 1 + random_.Below(5);
  if (random_.Chance(0.4)) request->to = random_.Pick(kQueues);
  if (random_.Chance(0.3)) request->rate = 1 + static_cast<uint32_t>(random_.Below(20));
  NoteRedrive(!request->to.empty());
  pending->op = Op::kRedrive;
  pending->request = std::move(request);
  return true;
}

// Which jobs it finds dead is not known from here.
void Simulation::NoteRedrive(bool moves) {
  for (auto& job : jobs_) {
    ++job->redrives;
    job->redriven_event = ++events_;
    job->may_move |= moves;
  }
}

// False: there is nothing that is dead.
bool Simulation::RedriveAll() {
  uint64_t redriven = 0;
  NoteRedrive(false);
  for (const char* queue : {"mail", "thumbs", "sync"}) {
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
    job->not_before = WallTime();
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
    pending->request = std::move(request);
    job->not_before = WallTime();  // until the answer it stands here or there
  }
  ++job->busy;
  Note(job, OpName(pending->op) + " asked");
  return true;
}

void Simulation::AnsweredHandling(Pending* pending) {
  const Error& error = pending->request->error;
  if (pending->op == Op::kRedrive) {
    if (!error.ok() && error.code() != ErrorCode::kNotFound)
      Broken("REDRIVE failed: " + error.ToString());
    return;
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
    if (job->acknowledged && !job->gone && !job->maybe_gone && !job->may_move)
      Broken("SIM-1: " + OpName(pending->op) + " does not know the job", job);
    return;
  }
  if (!error.ok()) return Broken(OpName(pending->op) + " failed: " + error.ToString(), job);
  if (job->gone) return Broken("SIM-4: " + OpName(pending->op) + " moved a job that is done", job);
  if (pending->op == Op::kPromote) return;
  job->moved_ms = world_->clock().boottime_ms;
  job->moved_boot = world_->clock().boot;
  // Delivered since it was moved: then its time has come, and what comes later is a retry.
  if (job->receipt != pending->receipt) return;
  const auto& request = static_cast<const RescheduleRequest&>(*pending->request);
  job->not_before = request.at_set
                        ? request.at
                        : WallTime(world_->clock().wall_ms) + request.delay -
                              (MonoTime(world_->clock().boottime_ms) - MonoTime(pending->asked_ms));
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
