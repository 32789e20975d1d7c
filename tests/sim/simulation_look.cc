// The simulation looks at everything: at rest, all jobs of all queues in all states, as PEEK shows them, beside
// the model and the counters; and page by page while the others go on.
//
//   SIM-22  PEEK shows every job that stays where it is once, in the state that it is in; what is counted is
//           what a full listing shows, exactly, after every crash and whenever nothing is under way
#include <array>
#include <tuple>

#include "tests/sim/simulation.h"
#include "tests/sim/simulation_model.h"

namespace vestq {
namespace {
constexpr std::array<JobState, 6> kStates = {JobState::kReady,   JobState::kScheduled,
                                             JobState::kLeased,  JobState::kDead,
                                             JobState::kWaiting, JobState::kDone};

int64_t CountOf(const QueueCounts& counts, JobState state) {
  switch (state) {
    case JobState::kReady: return counts.ready;
    case JobState::kScheduled: return counts.scheduled;
    case JobState::kLeased: return counts.leased;
    case JobState::kDead: return counts.dead;
    case JobState::kWaiting: return counts.waiting;
    case JobState::kDone: return counts.done;
    case JobState::kGone: break;
  }
  return 0;
}
}  // namespace

// --- At rest ---

void Simulation::Look() {
  world_->Settle();
  HearEvents();
  CollectAnswers();
  shown_.clear();
  for (const char* queue : kAllQueues) {
    if (broken_.empty()) LookAt(queue);
  }
  if (!broken_.empty()) return;
  for (const auto& job : jobs_) {
    if (!job->acknowledged || MayBeGone(*job) || shown_.contains(job->id)) continue;
    Note(job.get(), "not there; it is " + std::to_string(EngineMs()) + ", it vests at " +
                        std::to_string(job->vests_least_ms) + " or later and expires after " +
                        std::to_string(job->expire_ms) + " ms, or at " +
                        std::to_string(job->expires_wall_ms) +
                        " by the wall clock, which has been at " +
                        std::to_string(WallPeakMs(job->asked_event)));
    return Broken("SIM-1: job " + std::to_string(job->id.value()) + " is nowhere", job.get());
  }
  for (const auto& job : jobs_) {
    if (job->kept_ms >= 0 && broken_.empty()) CheckKept(*job);
  }
  if (broken_.empty()) CheckSchedules();
  if (broken_.empty()) CheckRest();
}

void Simulation::LookAt(const std::string& queue) {
  const QueueCounts counts = world_->Counts(queue);
  int64_t bytes = 0;
  for (const JobState state : kStates) {
    int64_t jobs = 0;
    PeekRequest page;
    page.queue = queue;
    page.state = state;
    page.want_payload = true;
    do {
      page.count = 1 + static_cast<uint32_t>(random_.Below(60));
      world_->Run(&page, static_cast<uint16_t>(random_.Below(world_->options().cores)));
      if (page.error.code() == ErrorCode::kNotFound) break;
      if (!page.error.ok()) return Broken("PEEK failed: " + page.error.ToString());
      for (const auto& job : page.jobs) {
        ++jobs;
        if (state != JobState::kDone) bytes += static_cast<int64_t>(job->size);
        CheckShown(*job, queue, state);
        if (!broken_.empty()) return;
      }
    } while (page.cursor != "0");
    if (jobs == CountOf(counts, state)) continue;
    return Broken("SIM-22: " + queue + " counts " + std::to_string(CountOf(counts, state)) +
                  " jobs " + std::string(JobStateName(state)) + ", there are " +
                  std::to_string(jobs));
  }
  CheckDeadMax(queue, counts.dead);
  if (bytes != counts.bytes)
    Broken("SIM-22: " + queue + " counts " + std::to_string(counts.bytes) + " bytes, there are " +
           std::to_string(bytes));
}

void Simulation::CheckShown(const JobRequest& shown, const std::string& queue, JobState state) {
  const std::string id = std::to_string(shown.id.value());
  // What is kept of a job that is done has no payload any more.
  ModelJob* const job =
      state == JobState::kDone ? Find(shown.id) : Resolve(shown.id, shown.payload);
  if (job == nullptr) return Broken("SIM-2: PEEK shows job " + id + ", which nobody enqueued");
  if (shown.state != state || shown.queue != queue || (queue != job->queue && !job->may_move))
    return Broken("SIM-22: job " + id + " is shown in " + queue + " as " +
                      std::string(JobStateName(state)) + ", it is " +
                      std::string(JobStateName(shown.state)) + " in " + shown.queue,
                  job);
  if (job->id != JobId(0) && job->id != shown.id) {
    if (!job->may_move)
      return Broken(
          "SIM-2: the job that was " + std::to_string(job->id.value()) + " is shown as " + id, job);
    Moved(job, shown.id);
  }
  if (!shown_.emplace(shown.id, StampOf(*job, shown)).second)
    return Broken("SIM-22: job " + id + " is shown twice", job);
  if (state == JobState::kDone) {
    CheckResult(shown.result, *job);
  } else if (!PayloadFits(*job, shown.payload)) {
    return Broken("SIM-2: PEEK shows another payload for job " + id, job);
  }
  CheckState(shown, job, state);
  if (job->group != nullptr) Together(job->group);
  if (!broken_.empty()) return;
  job->id = shown.id;
  by_id_[shown.id] = job;
  if (job->acknowledged) return;
  // Its ENQUEUE was not answered, but at rest what is there is durable.
  job->acknowledged = true;
  job->acknowledged_event = ++events_;
  Note(job, "seen");
}

// REDRIVE has given it another id.
void Simulation::Moved(ModelJob* job, JobId id) {
  job->old_ids.insert(job->id);
  job->id = id;
  by_id_[id] = job;
  job->receipt = Receipt();
  job->has_lease = false;
  Note(job, "goes on as job " + std::to_string(id.value()));
}

// Whether it may be in that state just now.
void Simulation::CheckState(const JobRequest& shown, ModelJob* job, JobState state) {
  const std::string what =
      "job " + std::to_string(shown.id.value()) + " is " + std::string(JobStateName(state));
  const bool done = state == JobState::kDone;
  if (done ? !job->gone && !job->maybe_gone : job->gone)
    return Broken("SIM-4: " + what + ", and is " + (done ? "not " : "") + "done", job);
  if (job->has_lease && job->busy == 0 && job->lease_boot == world_->clock().boot &&
      job->lease_until_ms > world_->clock().boottime_ms && state != JobState::kLeased &&
      !job->maybe_gone) {
    return Broken("SIM-22: " + what + ", and its lease holds", job);
  }
  if (state == JobState::kReady && job->not_before_ms > EngineMs() && job->busy == 0)
    return Broken("SIM-7: " + what + ", and its time has not come", job);
  if (state == JobState::kDead && !job->dead && !job->may_be_dead)
    return Broken("SIM-6: " + what + " without a reason", job);
  if (state != JobState::kWaiting) return;
  bool waits = false;
  for (const ModelJob* parent : job->parents)
    waits |= !parent->gone || parent->may_move || parent->end_unknown;
  if (!waits) Broken("SIM-15: " + what + ", and each of its parents has come to an end", job);
}

// --- While the others go on ---

Simulation::Stamp Simulation::StampOf(const ModelJob& job, const JobRequest& shown) const {
  return {shown.state, shown.queue, shown.attempt, job.history.size(),
          shown.state == JobState::kDead ? job.redrives : 0};
}

// REQUIRES: it has just looked.
void Simulation::BeginWalk() {
  walk_ = {};
  walk_.on = true;
  walk_.queue = random_.Pick(kSimQueues);
  walk_.state = random_.Pick(kStates);
  for (const auto& [id, stamp] : shown_) {
    if (stamp.state == walk_.state && stamp.queue == walk_.queue) walk_.before.emplace(id, stamp);
  }
}

bool Simulation::StartPage(Pending* pending) {
  if (!walk_.on || walk_.asked) return false;
  auto request = std::make_unique<PeekRequest>();
  request->queue = walk_.queue;
  request->state = walk_.state;
  request->cursor = walk_.cursor;
  request->count = 1 + static_cast<uint32_t>(random_.Below(8));
  walk_.asked = true;
  pending->op = Op::kPeek;
  pending->request = std::move(request);
  return true;
}

void Simulation::AnsweredPage(const Pending& pending) {
  const auto& request = static_cast<const PeekRequest&>(*pending.request);
  walk_.asked = false;
  // The queue may have gone, or begun anew, meanwhile.
  if (request.error.code() == ErrorCode::kNotFound) return void(walk_ = {});
  if (!request.error.ok()) return Broken("PEEK failed: " + request.error.ToString());
  for (const auto& job : request.jobs) ++walk_.times[job->id];
  walk_.cursor = request.cursor;
  walk_.ended = walk_.cursor == "0";
}

void Simulation::EndWalk() {
  Look();
  if (!broken_.empty()) return;
  for (const auto& [id, stamp] : walk_.before) {
    const auto now = shown_.find(id);
    if (now == shown_.end() || !(now->second == stamp) || walk_.times[id] == 1) continue;
    return Broken("SIM-22: job " + std::to_string(id.value()) + " stayed " +
                      std::string(JobStateName(stamp.state)) + " and came " +
                      std::to_string(walk_.times[id]) + " times over the pages of PEEK",
                  Find(id));
  }
  ++walks_;
  walk_ = {};
}

}  // namespace vestq
