// The simulation's limits: each queue has some, which change now and then, up, down, to 0 and away. In the
// end they stand, so that what drains drains under them: a slot that is lost holds it up for ever (SIM-8).
//
//   SIM-17  no more leases certainly hold at once than the limits of the queue and of its spaces allow,
//           and no more jobs start in a span than its rate does, across any crash
#include <algorithm>
#include <array>

#include "tests/sim/simulation.h"
#include "tests/sim/simulation_model.h"

namespace vestq {
namespace {
constexpr std::array<const char*, 3> kQueues = {"mail", "thumbs", "sync"};
constexpr size_t kStartsLookedAt = 64;

template <typename T>
void Choose(std::optional<T>* set, std::optional<T>* unset, const std::optional<uint32_t>& value,
            uint64_t unit) {
  if (value) {
    *set = static_cast<T>(*value * unit);
  } else {
    *unset = T(0);
  }
}
}  // namespace

// `least`: of concurrency; 0 lets none start.
std::unique_ptr<QueueSetRequest> Simulation::AnyLimits(const std::string& queue, uint32_t least,
                                                       ModelLimits* limits) {
  auto request = std::make_unique<QueueSetRequest>();
  request->queue = queue;
  limits->concurrency.reset();
  limits->space_concurrency.reset();
  limits->rate.reset();
  limits->space_rate.reset();
  limits->max_jobs.reset();
  limits->max_bytes.reset();
  limits->burst = static_cast<uint32_t>(1 + random_.Below(5));
  if (random_.Chance(0.3)) limits->concurrency = static_cast<uint32_t>(least + random_.Below(6));
  if (random_.Chance(0.3))
    limits->space_concurrency = static_cast<uint32_t>(least + random_.Below(3));
  if (random_.Chance(0.2)) limits->rate = static_cast<uint32_t>(2 + random_.Below(30));
  limits->space_burst = static_cast<uint32_t>(1 + random_.Below(3));
  if (random_.Chance(0.15)) limits->space_rate = static_cast<uint32_t>(2 + random_.Below(30));
  Choose(&request->set.space_rate_micro, &request->unset.space_rate_micro, limits->space_rate,
         1'000'000);
  request->set.space_burst = limits->space_burst;
  if (random_.Chance(0.5)) {
    request->set.space_weight = static_cast<uint32_t>(1 + random_.Below(20));
  } else {
    request->unset.space_weight = 0;
  }
  Choose(&request->set.concurrency, &request->unset.concurrency, limits->concurrency, 1);
  Choose(&request->set.space_concurrency, &request->unset.space_concurrency,
         limits->space_concurrency, 1);
  Choose(&request->set.rate_micro, &request->unset.rate_micro, limits->rate, 1'000'000);
  request->set.burst = limits->burst;
  if (random_.Chance(0.25)) {
    const auto min = static_cast<uint32_t>(1 + random_.Below(2));
    const auto max = static_cast<uint32_t>(min + random_.Below(3));
    request->set.adaptive = keycodec::AdaptiveBounds{min, max};
    // What holds of both.
    limits->space_concurrency = std::min(limits->space_concurrency.value_or(max), max);
  } else {
    request->unset.adaptive.emplace();
  }
  if (random_.Chance(0.5)) {
    request->set.ageing = Milliseconds(static_cast<int64_t>(100 + random_.Below(10'000)));
  } else {
    request->unset.ageing = Duration(0);
  }
  if (random_.Chance(0.3)) limits->max_jobs = static_cast<uint32_t>(least + 2 + random_.Below(25));
  if (random_.Chance(0.15)) limits->max_bytes = static_cast<uint32_t>(5000 + random_.Below(20'000));
  Choose(&request->set.max_jobs, &request->unset.max_jobs, limits->max_jobs, 1);
  Choose(&request->set.max_bytes, &request->unset.max_bytes, limits->max_bytes, 1);
  return request;
}

// One change of a queue at a time, and none while a DROP may take it away: so what holds is known.
bool Simulation::StartLimits(Pending* pending) {
  const std::string queue = random_.Pick(kQueues);
  ModelLimits& limits = limits_[queue];
  if (limits.unsettled > 0) return false;
  ForgetLimits(queue);
  ++limits.unsettled;
  pending->op = Op::kLimits;
  pending->request = AnyLimits(queue, 0, &pending->limits);
  return true;
}

void Simulation::AnsweredLimits(Pending* pending) {
  const auto& request = static_cast<const QueueSetRequest&>(*pending->request);
  if (!request.error.ok()) return Broken("QUEUE SET failed: " + request.error.ToString());
  ModelLimits& limits = limits_[request.queue];
  if (--limits.unsettled == 0) HoldLimits(request.queue, pending->limits);
}

// They hold from now on, for claims that are made later.
void Simulation::HoldLimits(const std::string& queue, const ModelLimits& limits) {
  limits_[queue] = limits;
  limits_[queue].from_event = ++events_;
  limits_[queue].from_boot = world_->clock().boot;
  limits_[queue].from_ms = world_->clock().boottime_ms;
  for (auto& [of, starts] : starts_) {
    if (of.ends_with(queue)) starts = {};  // of the queue and of its spaces
  }
}

void Simulation::ForgetLimits(const std::string& queue) {
  ModelLimits none;
  none.unsettled = limits_[queue].unsettled;
  limits_[queue] = none;
}

// Whether what was under way was carried out is open, but nothing of it comes later.
void Simulation::CutLimits() {
  for (auto& [queue, limits] : limits_) limits.unsettled = 0;
}

// At once: at the beginning, and before the drain.
void Simulation::SetLimits() {
  for (const char* queue : kQueues) {
    ModelLimits limits;
    const auto request = AnyLimits(queue, 1, &limits);
    world_->Run(request.get(), static_cast<uint16_t>(random_.Below(world_->options().cores)));
    if (!request->error.ok()) Broken("QUEUE SET failed: " + request->error.ToString());
    HoldLimits(queue, limits);
  }
  SetSpaces();
}

// The job has just been delivered, and its lease was claimed then.
void Simulation::CheckLimits(const LeasedJob& leased, ModelJob* job, int64_t claimed_ms) {
  job->lease_queue = leased.queue;
  job->lease_space = leased.space;
  const ModelLimits& limits = limits_[job->lease_queue];
  const int64_t boot = world_->clock().boot;
  if (limits.from_boot == boot && claimed_ms <= limits.from_ms) return;  // under those before
  uint32_t running = 1, of_space = 1;
  for (const auto& other : jobs_) {
    const bool holds = other->has_lease && other->busy == 0 && other->lease_boot == boot &&
                       !other->maybe_gone && other->claimed_ms <= claimed_ms &&
                       claimed_ms < other->lease_until_ms;
    if (!holds || other.get() == job || other->lease_queue != job->lease_queue) continue;
    ++running;
    of_space += other->lease_space == job->lease_space ? 1 : 0;
  }
  if (limits.concurrency && running > *limits.concurrency) {
    return Broken("SIM-17: " + std::to_string(running) + " jobs of " + job->lease_queue +
                      " run, the limit is " + std::to_string(*limits.concurrency),
                  job);
  }
  CheckSpaceLimits(limits, job, of_space, claimed_ms);
  if (limits.rate) CheckRate(job->lease_queue, *limits.rate, limits.burst, job, claimed_ms);
}

// Answers may come in another order than the claims: each span that ends or begins with this one.
void Simulation::CheckRate(const std::string& of, uint32_t rate, uint32_t burst, ModelJob* job,
                           int64_t claimed_ms) {
  auto& starts = starts_[of];
  if (starts.boot != world_->clock().boot) starts = {world_->clock().boot, {}};
  starts.at_ms.insert(std::upper_bound(starts.at_ms.begin(), starts.at_ms.end(), claimed_ms),
                      claimed_ms);
  if (starts.at_ms.size() > kStartsLookedAt) starts.at_ms.erase(starts.at_ms.begin());
  for (size_t i = 0; i < starts.at_ms.size(); ++i) {
    for (size_t k = i; k < starts.at_ms.size(); ++k) {
      const auto span_ms = static_cast<uint64_t>(starts.at_ms[k] - starts.at_ms[i]);
      if ((k - i + 1) * 1000 <= burst * uint64_t{1000} + rate * span_ms) continue;
      return Broken("SIM-17: " + std::to_string(k - i + 1) + " jobs of " + of + " started in " +
                        std::to_string(span_ms) + " ms, the rate is " + std::to_string(rate) +
                        " and the burst " + std::to_string(burst),
                    job);
    }
  }
}

}  // namespace vestq
