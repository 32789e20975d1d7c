// The simulation's clocks. The wall clock is stepped now and then, by an hour or by ten years either way, or
// back to 1970, where it also may begin; engine time must not care. And EXPIRE, which goes by engine time.
//
//   SIM-20  engine time goes on as boottime does, across kills too, whatever the wall clock does; a boot takes
//           it neither behind what was answered nor further than the machine was down (or than the wall clock
//           was stepped since the last answer, which nobody can tell from that); deadlines and ages are right
//   SIM-21  a job with EXPIRE is gone only when its time has come, and is not delivered after it
#include <algorithm>

#include "tests/sim/simulation.h"
#include "tests/sim/simulation_model.h"

namespace vestq {
namespace {
constexpr int64_t kIn1970Ms = 5'000;
constexpr int64_t kYearMs = Days(365).ms();
// A stored wall time is shown as it was noted when it is off by no more than this.
constexpr int64_t kAgeSlackMs = 10'000;
}  // namespace

int64_t Simulation::EngineMs() const { return world_->clock().boottime_ms + engine_offset_ms_; }

// The engine has been opened. `booted`: by a machine that was down.
void Simulation::TakeClock(bool booted) {
  const int64_t now_ms = world_->engine()->clock()->Now().ms();
  const int64_t offset_ms = now_ms - world_->clock().boottime_ms;
  if (!booted && offset_ms != engine_offset_ms_) {
    return Broken("SIM-20: a restart took engine time from " + std::to_string(EngineMs()) + " to " +
                  std::to_string(now_ms));
  }
  if (booted && (now_ms < answered_ms_ || now_ms > latest_ms_)) {
    return Broken("SIM-20: a boot took engine time to " + std::to_string(now_ms) +
                  ", which is not in " + std::to_string(answered_ms_) + " .. " +
                  std::to_string(latest_ms_));
  }
  engine_offset_ms_ = offset_ms;
  // A step that nobody wrote of counted as time that passed: dead letters may have been kept for long enough.
  if (booted && now_ms > latest_ms_ - stepped_by_ms_)
    loses_dead_.insert(kAllQueues.begin(), kAllQueues.end());
  answered_ms_ = std::max(answered_ms_, now_ms);  // a start writes it
  stepped_by_ms_ = 0;
}

void Simulation::CheckClock() {
  if (const int64_t now_ms = world_->engine()->clock()->Now().ms(); now_ms != EngineMs()) {
    Broken("SIM-20: engine time is " + std::to_string(now_ms) + " and should be " +
           std::to_string(EngineMs()));
  }
}

// A write that was asked at that moment is durable, and what it says of the clocks.
void Simulation::NoteAnswered(const Pending& pending) {
  answered_ms_ = std::max(answered_ms_, pending.asked_engine_ms);
  if (pending.asked_event > stepped_event_) stepped_by_ms_ = 0;
}

void Simulation::BootAfter(Duration down) {
  NoteWallEnds();
  latest_ms_ = EngineMs() + stepped_by_ms_ + down.ms();
  world_->Boot(down);
  walls_.clear();
  NoteWallBegins();
}

// --- The wall clock ---

void Simulation::NoteWallBegins() {
  const ManualClockSource& clock = world_->clock();
  walls_.push_back({clock.boottime_ms, clock.wall_ms - clock.boottime_ms});
}

void Simulation::NoteWallEnds() { peaks_.emplace_back(++events_, world_->clock().wall_ms); }

void Simulation::StepWall() {
  const int64_t wall_ms = world_->clock().wall_ms;
  int64_t to_ms = wall_ms;
  switch (random_.Below(6)) {
    case 0: to_ms += Hours(1).ms(); break;
    case 1: to_ms -= Hours(1).ms(); break;
    case 2: to_ms += 10 * kYearMs; break;
    case 3: to_ms -= 10 * kYearMs; break;
    case 4: to_ms = kIn1970Ms; break;
    default: to_ms = ManualClockSource().wall_ms + world_->clock().boottime_ms;
  }
  to_ms = std::clamp(to_ms, kIn1970Ms, 200 * kYearMs);
  if (to_ms < wall_ms || to_ms > wall_ms + Hours(2).ms()) CalmSchedules();
  if (!broken_.empty()) return;
  NoteWallEnds();
  world_->StepWall(Milliseconds(to_ms - wall_ms));
  stepped_by_ms_ += std::max<int64_t>(0, to_ms - wall_ms);
  stepped_event_ = ++events_;
  NoteWallBegins();
  CheckClock();
}

// The latest that the wall clock has shown since then.
int64_t Simulation::WallPeakMs(uint64_t since_event) const {
  int64_t peak_ms = world_->clock().wall_ms;
  for (const auto& [event, wall_ms] : peaks_)
    if (event > since_event) peak_ms = std::max(peak_ms, wall_ms);
  return peak_ms;
}

// When, by boottime, a lease was claimed whose deadline is told by the wall clock of that moment.
int64_t Simulation::ClaimedMs(const LeasedJob& leased) {
  int64_t until_ms = world_->clock().boottime_ms;
  for (size_t i = walls_.size(); i-- > 0; until_ms = walls_[i].from_ms) {
    const int64_t at_ms = leased.deadline.ms() - leased.lease_left.ms() - walls_[i].offset_ms;
    if (at_ms >= walls_[i].from_ms && at_ms <= until_ms) return at_ms;
  }
  Broken("SIM-20: the deadline of receipt " + leased.receipt.ToString() + ", " +
         std::to_string(leased.deadline.ms()) + ", is of no moment that there was");
  return world_->clock().boottime_ms;
}

void Simulation::CheckAge(const LeasedJob& leased, const ModelJob& job, int64_t claimed_engine_ms) {
  if (job.answered_ms < 0 || job.ageless || job.may_move || job.id != leased.receipt.id) return;
  const int64_t wall_ms = leased.deadline.ms() - leased.lease_left.ms();
  const int64_t age_ms = wall_ms - leased.enqueued.ms();
  const int64_t most_ms = claimed_engine_ms - job.asked_ms + kAgeSlackMs;
  // None is from before 1970.
  const int64_t least_ms = std::min(claimed_engine_ms - job.answered_ms, wall_ms) - kAgeSlackMs;
  if (age_ms < least_ms || age_ms > most_ms) {
    Broken("SIM-20: job " + std::to_string(job.id.value()) + " is said to be " +
               std::to_string(age_ms) + " ms old, it is " + std::to_string(least_ms) + " .. " +
               std::to_string(most_ms),
           &job);
  }
}

// --- Not before its time ---

// Asked now: by engine time, or by the wall clock.
void Simulation::VestsAfter(ModelJob* job, Duration delay) {
  job->not_before_ms = EngineMs() + delay.ms();
  job->not_before_wall_ms = 0;
}

void Simulation::VestsAt(ModelJob* job, WallTime at) {
  job->not_before_ms = 0;
  job->not_before_wall_ms = at.ms();
  job->not_before_event = events_;
}

void Simulation::VestsAnyTime(ModelJob* job) { job->not_before_ms = job->not_before_wall_ms = 0; }

void Simulation::CheckTime(const ModelJob& job, int64_t claimed_engine_ms) {
  const std::string id = std::to_string(job.id.value());
  if (claimed_engine_ms < job.not_before_ms) {
    Broken("SIM-7: job " + id + " came " + std::to_string(job.not_before_ms - claimed_engine_ms) +
               " ms early",
           &job);
  } else if (job.not_before_wall_ms > 0 &&
             WallPeakMs(job.not_before_event) < job.not_before_wall_ms) {
    Broken("SIM-7: job " + id + " came before the wall clock had been there", &job);
  }
}

// --- EXPIRE ---

void Simulation::ExpiresAfter(ModelJob* job, const EnqueueRequest& request) {
  job->expire_ms = request.expire.ms();
  if (job->expire_ms == 0) return;
  job->vests_least_ms = EngineMs() + request.delay.ms();
  if (request.when == EnqueueRequest::When::kAt)
    job->expires_wall_ms = request.at.ms() + job->expire_ms;
  // From when on it is over is known where its first vesting is.
  job->vests_known = request.when != EnqueueRequest::When::kAt && request.after.empty();
}

// Somebody moves it: its first vesting may be another.
void Simulation::ExpiresAnew(ModelJob* job, Duration later) {
  job->vests_least_ms = std::min(job->vests_least_ms, EngineMs() + later.ms());
  job->vests_known = false;
}

bool Simulation::MayHaveLapsed(const ModelJob& job) const {
  if (job.expire_ms == 0 || job.deliveries > 0) return false;
  return EngineMs() >= job.vests_least_ms + job.expire_ms ||
         (job.expires_wall_ms > 0 && WallPeakMs(job.asked_event) >= job.expires_wall_ms);
}

bool Simulation::MayBeGone(const ModelJob& job) const {
  return job.gone || job.maybe_gone || MayHaveLapsed(job) ||
         ((job.dead || job.may_be_dead) && !loses_dead_.empty() &&
          (job.may_move || loses_dead_.contains(job.queue)));
}

// Its first delivery of all.
void Simulation::CheckExpiry(const LeasedJob& leased, const ModelJob& job,
                             int64_t claimed_engine_ms) {
  if (job.expire_ms == 0 || !job.vests_known || job.answered_ms < 0 || job.ageless ||
      leased.attempt != 1 || job.redrives > 0 || job.given_back > 0) {
    return;
  }
  const int64_t most_ms = job.answered_ms + (job.vests_least_ms - job.asked_ms) + job.expire_ms;
  if (claimed_engine_ms < most_ms) return;
  Broken("SIM-21: job " + std::to_string(job.id.value()) + " was delivered " +
             std::to_string(claimed_engine_ms - most_ms) + " ms after its EXPIRE",
         &job);
}

}  // namespace vestq
