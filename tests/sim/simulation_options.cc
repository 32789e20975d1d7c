// The simulation's options of queues and of jobs: how long leases are, how often a job is tried, how long it
// stays away after a failure, how long its result is kept; and queues that are paused.
//
//   SIM-23  a lease is as long as FOR says, else the job, else the queue; so with attempts and back-off. A
//           result is readable for as long as it is kept, and no longer. Nothing of a paused queue is
//           leased. No queue keeps more dead letters than its dead-max. Its order changes only while it is
//           empty. All of it across any crash
#include <algorithm>

#include "lease/backoff.h"
#include "tests/sim/simulation.h"
#include "tests/sim/simulation_model.h"

namespace vestq {
namespace {
constexpr int64_t kDefaultLeaseMs = 30'000;
constexpr uint32_t kDefaultAttempts = 25;
}  // namespace

// --- Back-off ---

std::string Simulation::Backoff::Text() const {
  const auto ms = [](int64_t value) { return std::to_string(value) + "ms"; };
  if (cap_ms > 0) return "exp:" + ms(steps_ms[0]) + ":" + ms(cap_ms);
  if (steps_ms.size() == 1) return "fixed:" + ms(steps_ms[0]);
  std::string text = "list:";
  for (size_t i = 0; i < steps_ms.size(); ++i) text += (i == 0 ? "" : ",") + ms(steps_ms[i]);
  return text;
}

// After that many failures, the shortest and the longest.
std::pair<int64_t, int64_t> Simulation::Backoff::Range(uint32_t failures) const {
  if (cap_ms == 0) {
    const int64_t step_ms = steps_ms[std::min<size_t>(failures, steps_ms.size()) - 1];
    return {step_ms, step_ms};
  }
  double nominal = static_cast<double>(steps_ms[0]);
  for (uint32_t i = 1; i < failures && nominal < 1e12; ++i) nominal *= 2;
  const auto capped = [&](double value) {
    return static_cast<int64_t>(std::min(value, static_cast<double>(cap_ms)));
  };
  return {capped(nominal * 0.8 - 1), capped(nominal * 1.2 + 1)};
}

Simulation::Backoff Simulation::AnyBackoff() {
  Backoff out;
  out.steps_ms = {static_cast<int64_t>(1 + random_.Below(1500))};
  const uint64_t dice = random_.Below(3);
  if (dice == 0) out.cap_ms = out.steps_ms[0] * static_cast<int64_t>(1 + random_.Below(9));
  for (uint64_t n = dice == 1 ? 1 + random_.Below(3) : 0; n > 0; --n)
    out.steps_ms.push_back(static_cast<int64_t>(1 + random_.Below(3000)));
  return out;
}

// --- QUEUE SET ---

// All of them, so that what holds is known whatever held before.
bool Simulation::StartOptions(Pending* pending) {
  const std::string queue = random_.Pick(kSimQueues);
  ModelOptions& options = queue_options_[queue];
  if (options.unsettled > 0) return false;
  options.known = false;
  ++options.unsettled;
  ModelOptions& next = pending->options;
  auto request = std::make_unique<QueueSetRequest>();
  request->queue = queue;
  const auto choose = [this](auto* set, auto* unset, auto* model, auto value) {
    if (random_.Chance(0.5)) {
      *unset = value;
    } else {
      *set = value;
      *model = value;
    }
  };
  QueueOptions& set = request->set;
  QueueOptions& unset = request->unset;
  choose(&set.lease, &unset.lease, &next.lease,
         Milliseconds(static_cast<int64_t>(300 + random_.Below(15'000))));
  choose(&set.attempts, &unset.attempts, &next.attempts, static_cast<uint32_t>(random_.Below(6)));
  choose(&set.keep, &unset.keep, &next.keep,
         Milliseconds(static_cast<int64_t>(random_.Below(20'000))));
  unset.backoff = std::string();
  if (random_.Chance(0.5)) {
    next.backoff = AnyBackoff();
    set.backoff = *ParseBackoff(next.backoff->Text());
  }
  if (limits_dead_ && queue == kSimQueues[2]) {
    loses_dead_.insert(queue);
    choose(&set.dead_max, &unset.dead_max, &next.dead_max, uint64_t{random_.Below(6)});
    choose(&set.dead_keep, &unset.dead_keep, &next.dead_keep,
           Milliseconds(static_cast<int64_t>(random_.Below(60'000))));
  }
  pending->op = Op::kOptions;
  pending->request = std::move(request);
  return true;
}

void Simulation::AnsweredOptions(Pending* pending) {
  const auto& request = static_cast<const QueueSetRequest&>(*pending->request);
  if (!request.error.ok()) return Broken("QUEUE SET failed: " + request.error.ToString());
  ModelOptions& options = queue_options_[request.queue];
  if (pending->op == Op::kPause) {
    if (--options.pauses > 0 || request.resume) return;
    options.paused_from_ms = EngineMs();
    options.paused_until_ms = request.pause_for == Duration(0)
                                  ? INT64_MAX
                                  : pending->asked_engine_ms + request.pause_for.ms();
    return;
  }
  if (--options.unsettled > 0) return;
  const ModelOptions before = options;
  options = pending->options;
  options.known = true;
  options.event = ++events_;
  options.from_boot = world_->clock().boot;
  options.from_ms = world_->clock().boottime_ms;
  options.pauses = before.pauses;
  options.paused_from_ms = before.paused_from_ms;
  options.paused_until_ms = before.paused_until_ms;
}

bool Simulation::StartPause(Pending* pending) {
  const std::string queue = random_.Pick(kSimQueues);
  ModelOptions& options = queue_options_[queue];
  if (options.pauses > 0) return false;
  auto request = std::make_unique<QueueSetRequest>();
  request->queue = queue;
  request->resume = random_.Chance(options.paused_until_ms > EngineMs() ? 0.7 : 0.2);
  request->pause = !request->resume;
  if (request->pause && random_.Chance(0.7))
    request->pause_for = Milliseconds(static_cast<int64_t>(1 + random_.Below(4000)));
  options.paused_until_ms = 0;
  ++options.pauses;
  pending->op = Op::kPause;
  pending->request = std::move(request);
  return true;
}

// A DROP is asked: nothing is known of them until they are set again.
void Simulation::ForgetOptions(const std::string& queue, bool asked) {
  ModelOptions& options = queue_options_[queue];
  options.known = false;
  options.paused_until_ms = 0;
  order_.erase(queue);
  options.unsettled += asked ? 1 : -1;
  options.pauses += asked ? 1 : -1;
}

void Simulation::CutOptions() {
  for (auto& [queue, options] : queue_options_) options.unsettled = options.pauses = 0;
}

void Simulation::ResumeAll() {
  for (const char* queue : kSimQueues) {
    QueueSetRequest resume;
    resume.queue = queue;
    resume.resume = true;
    world_->Run(&resume);
    if (!resume.error.ok()) Broken("QUEUE RESUME failed: " + resume.error.ToString());
    queue_options_[queue].paused_until_ms = 0;
  }
}

// At rest: the order of a queue changes while it is empty, and only then.
void Simulation::SetOrder() {
  const std::string queue = random_.Pick(kSimQueues);
  QueueSetRequest request;
  request.queue = queue;
  const keycodec::Order order =
      random_.Chance(0.5) ? keycodec::Order::kTime : keycodec::Order::kPriority;
  request.set.order = order;
  const QueueCounts counts = world_->Counts(queue);
  const bool empty =
      counts.ready + counts.scheduled + counts.leased + counts.dead + counts.waiting == 0;
  const auto known = order_.find(queue);
  world_->Run(&request);
  const bool busy = request.error.code() == ErrorCode::kBusy;
  if (!request.error.ok() && !busy) return Broken("QUEUE SET failed: " + request.error.ToString());
  if (busy && empty) Broken("SIM-23: the order of an empty queue does not change");
  if (known != order_.end() && !empty && busy != (known->second != order))
    Broken("SIM-23: the order of a queue with jobs changes");
  if (!busy) order_[queue] = order;
}

void Simulation::CheckDeadMax(const std::string& queue, int64_t dead) {
  const ModelOptions& options = queue_options_[queue];
  if (!options.known || options.unsettled > 0 || !options.dead_max) return;
  if (dead > static_cast<int64_t>(*options.dead_max))
    Broken("SIM-23: " + queue + " has " + std::to_string(dead) + " dead letters, dead-max is " +
           std::to_string(*options.dead_max));
}

// --- What they do ---

// Options that held when the claim was made; null: not known.
const Simulation::ModelOptions* Simulation::OptionsAt(const std::string& queue,
                                                      int64_t claimed_ms) {
  const ModelOptions& options = queue_options_[queue];
  if (!options.known) return nullptr;
  const bool before = options.from_boot == world_->clock().boot && claimed_ms <= options.from_ms;
  return before ? nullptr : &options;
}

void Simulation::CheckGranted(const LeasedJob& leased, ModelJob* job, int64_t claimed_ms) {
  const std::string queue(leased.queue);
  const ModelOptions* const options = OptionsAt(queue, claimed_ms);
  int64_t length_ms = lease_for_.ms() > 0 ? lease_for_.ms() : job->lease_ms;
  if (length_ms == 0 && options != nullptr)
    length_ms = options->lease ? options->lease->ms() : kDefaultLeaseMs;
  if (length_ms != 0 && leased.lease_left.ms() != length_ms) {
    return Broken("SIM-23: a lease is " + std::to_string(leased.lease_left.ms()) +
                      " ms long, it should be " + std::to_string(length_ms),
                  job);
  }
  if (job->attempts_known && leased.attempts != job->attempts_max) {
    return Broken("SIM-23: a job has " + std::to_string(leased.attempts) +
                      " attempts, it should have " + std::to_string(job->attempts_max),
                  job);
  }
  job->attempts_known = true;
  job->attempts_max = leased.attempts;
  const int64_t claimed_engine_ms = claimed_ms + engine_offset_ms_;
  const ModelOptions& pause = queue_options_[queue];
  if (claimed_engine_ms > pause.paused_from_ms && claimed_engine_ms < pause.paused_until_ms)
    Broken("SIM-23: a job of " + queue + " was leased, which is paused", job);
}

// The queue's attempts hold for a job that has none of its own, if they did not change under way.
void Simulation::TakeAttempts(ModelJob* job, const Pending& pending) {
  if (job->attempts_known) return;
  const ModelOptions& options = queue_options_[job->queue];
  if (!options.known || options.event > pending.asked_event) return;
  job->attempts_known = true;
  job->attempts_max = options.attempts.value_or(kDefaultAttempts);
}

void Simulation::CheckRetry(const Pending& pending, const FailRequest& request, ModelJob* job) {
  if (request.delay_set) {
    if (request.retry_in != request.delay)
      Broken("SIM-23: FAIL DELAY " + std::to_string(request.delay.ms()) + " retries in " +
                 std::to_string(request.retry_in.ms()) + " ms",
             job);
    return;
  }
  Backoff backoff{{5'000}, Hours(12).ms()};
  if (job->backoff) {
    backoff = *job->backoff;
  } else {
    const ModelOptions& options = queue_options_[job->lease_queue];
    if (!options.known || options.event > pending.asked_event) return;
    if (options.backoff) backoff = *options.backoff;
  }
  const auto [least_ms, most_ms] = backoff.Range(pending.attempt);
  if (request.retry_in.ms() >= least_ms && request.retry_in.ms() <= most_ms) return;
  Broken("SIM-23: FAIL of attempt " + std::to_string(pending.attempt) + " retries in " +
             std::to_string(request.retry_in.ms()) + " ms, " + backoff.Text() + " gives " +
             std::to_string(least_ms) + " .. " + std::to_string(most_ms),
         job);
}

// --- Results that are kept ---

void Simulation::Completed(ModelJob* job, const Pending& pending) {
  job->results = {pending.result};
  job->done_ms = pending.asked_engine_ms;
  job->done_answered_ms = EngineMs();
  if (job->keep_ms) {
    job->kept_ms = *job->keep_ms;
    return;
  }
  const ModelOptions& options = queue_options_[job->lease_queue];
  if (options.known && options.event < pending.asked_event)
    job->kept_ms = options.keep ? options.keep->ms() : 0;
}

bool Simulation::MustBeKept(const ModelJob& job) const {
  return job.kept_ms > 0 && !job.kept_purged && !job.may_move &&
         EngineMs() < job.done_ms + job.kept_ms;
}

void Simulation::CheckResult(const std::string& result, const ModelJob& job) {
  if (std::find(job.results.begin(), job.results.end(), result) == job.results.end())
    Broken(
        "SIM-23: what is kept of job " + std::to_string(job.id.value()) + " is \"" + result + "\"",
        &job);
}

// At rest what has been kept for its time is gone.
void Simulation::CheckKept(const ModelJob& job) {
  const bool shown = shown_.contains(job.id);
  if (!shown && MustBeKept(job))
    Broken("SIM-23: nothing is kept of job " + std::to_string(job.id.value()), &job);
  if (shown && job.kept_ms >= 0 && EngineMs() >= job.done_answered_ms + job.kept_ms)
    Broken("SIM-23: job " + std::to_string(job.id.value()) + " is kept for too long", &job);
}

// A PURGE or DROP is asked for, or under way when the job is being completed.
void Simulation::NoteKept(ModelJob* job, const PurgeRequest& purge) {
  const bool done = purge.drop || purge.state == JobState::kDone;
  if (done && (job->may_move || job->queue == purge.queue)) job->kept_purged = true;
}

}  // namespace vestq
