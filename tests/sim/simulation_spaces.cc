// The simulation's single spaces: options of their own, which change now and then, and pauses. In the end
// they stand, but for the pauses, so that what drains drains under them.
//
//   SIM-17  holds for the limits and rates of a space as for those of a queue, its own before the queue's,
//           and a space that is paused gives out no job, across any crash
//   SIM-18  SPACE INFO says of a space what was last set, and SPACES gives a page in order
#include <algorithm>
#include <array>

#include "engine/space_request.h"
#include "tests/sim/simulation.h"
#include "tests/sim/simulation_model.h"

namespace vestq {
namespace {
constexpr std::array<const char*, 3> kQueues = {"mail", "thumbs", "sync"};
constexpr std::array<const char*, 4> kSpaces = {"", "acme", "bolt", "corp"};
}  // namespace

// All of its options, set or unset. `least`: of concurrency; with 0 it may be paused as well.
std::unique_ptr<SpaceSetRequest> Simulation::AnySpace(const std::string& queue,
                                                      const std::string& space, uint32_t least,
                                                      ModelSpace* model) {
  auto request = std::make_unique<SpaceSetRequest>();
  request->queue = queue;
  request->space = space;
  *model = ModelSpace();
  keycodec::SpaceValue& own = model->own;
  if (random_.Chance(0.3)) own.concurrency = static_cast<uint32_t>(least + random_.Below(4));
  if (random_.Chance(0.1)) own.concurrency = keycodec::kSlotsUnlimited;
  if (random_.Chance(0.25)) {
    own.rate_micro = random_.Chance(0.2) ? 0 : 1'000'000 * (2 + random_.Below(30));
    own.burst = static_cast<uint32_t>(1 + random_.Below(5));
  }
  if (random_.Chance(0.3)) own.weight = static_cast<uint32_t>(1 + random_.Below(10));
  request->set = own;
  if (!own.concurrency) request->unset.concurrency = 0;
  if (!own.rate_micro) request->unset.rate_micro = 0;
  if (!own.burst) request->unset.burst = 0;
  if (!own.weight) request->unset.weight = 0;
  model->paused = least == 0 && random_.Chance(0.2);
  request->pause = model->paused;
  request->resume = !model->paused;
  // One that ends by itself is not followed.
  if (model->paused && random_.Chance(0.3)) {
    request->pause_for = Milliseconds(static_cast<int64_t>(1 + random_.Below(5000)));
    model->paused = false;
  }
  return request;
}

bool Simulation::StartSpace(Pending* pending) {
  const std::string queue = random_.Pick(kQueues);
  const std::string space = random_.Pick(kSpaces);
  if (random_.Chance(0.3)) return StartSpaces(pending, queue, space);
  ModelLimits& limits = limits_[queue];
  if (limits.unsettled > 0) return false;
  ++limits.unsettled;
  spaces_[{queue, space}] = ModelSpace();  // not known until it is answered
  pending->op = Op::kSpaceSet;
  pending->request = AnySpace(queue, space, 0, &pending->space);
  return true;
}

void Simulation::AnsweredSpace(Pending* pending) {
  const auto& request = static_cast<const SpaceSetRequest&>(*pending->request);
  if (!request.error.ok()) return Broken("SPACE SET failed: " + request.error.ToString());
  if (--limits_[request.queue].unsettled == 0 && drop_asked_[request.queue] < pending->asked_event)
    HoldSpace(request.queue, request.space, pending->space);
}

void Simulation::HoldSpace(const std::string& queue, const std::string& space,
                           const ModelSpace& model) {
  ModelSpace& held = spaces_[{queue, space}] = model;
  held.known_event = ++events_;
  held.from_boot = world_->clock().boot;
  held.from_ms = world_->clock().boottime_ms;
  starts_[SpaceName(queue, space)] = {};
}

std::string Simulation::SpaceName(const std::string& queue, const std::string& space) {
  return "space '" + space + "' of " + queue;
}

// A DROP may take them away.
void Simulation::ForgetSpaces(const std::string& queue) {
  for (const char* space : kSpaces) spaces_[{queue, space}] = ModelSpace();
  drop_asked_[queue] = ++events_;
}

// At once, without pauses.
void Simulation::SetSpaces() {
  for (const char* queue : kQueues) {
    for (const char* space : kSpaces) {
      ModelSpace model;
      const auto request = AnySpace(queue, space, 1, &model);
      world_->Run(request.get(), static_cast<uint16_t>(random_.Below(world_->options().cores)));
      if (!request->error.ok()) Broken("SPACE SET failed: " + request->error.ToString());
      HoldSpace(queue, space, model);
    }
  }
}

// The limits that hold for the job's space, as far as they are known for a claim at that moment.
void Simulation::CheckSpaceLimits(const ModelLimits& limits, ModelJob* job, uint32_t of_space,
                                  int64_t claimed_ms) {
  const ModelSpace& space = spaces_[{job->lease_queue, job->lease_space}];
  if (space.known_event == 0) return;
  if (space.from_boot == world_->clock().boot && claimed_ms <= space.from_ms) return;
  const std::string name = SpaceName(job->lease_queue, job->lease_space);
  if (space.paused) return Broken("SIM-17: a job of " + name + " starts while it is paused", job);
  const auto most = space.own.concurrency ? space.own.concurrency : limits.space_concurrency;
  if (most && of_space > *most) {
    return Broken("SIM-17: " + std::to_string(of_space) + " jobs of " + name +
                      " run, the limit is " + std::to_string(*most),
                  job);
  }
  if (space.own.rate_micro) {
    const auto rate = static_cast<uint32_t>(*space.own.rate_micro / 1'000'000);
    if (rate > 0) CheckRate(name, rate, *space.own.burst, job, claimed_ms);
  } else if (limits.space_rate) {
    CheckRate(name, *limits.space_rate, limits.space_burst, job, claimed_ms);
  }
}

// --- SPACES and SPACE INFO ---

bool Simulation::StartSpaces(Pending* pending, const std::string& queue, const std::string& space) {
  auto request = std::make_unique<SpacesRequest>();
  request->queue = queue;
  request->one_space = random_.Chance(0.7);
  request->space = space;
  request->count = request->one_space ? 1 : static_cast<uint32_t>(1 + random_.Below(3));
  pending->op = Op::kSpaces;
  pending->request = std::move(request);
  return true;
}

void Simulation::AnsweredSpaces(const Pending& pending) {
  const auto& request = static_cast<const SpacesRequest&>(*pending.request);
  if (request.error.code() == ErrorCode::kNotFound) return;
  if (!request.error.ok()) return Broken("SPACES failed: " + request.error.ToString());
  if (request.spaces.size() > request.count ||
      (request.one_space && !request.spaces.contains(request.space)))
    return Broken("SIM-18: a page that nobody asked for");
  for (const auto& [space, row] : request.spaces) {
    const ModelSpace& model = spaces_[{request.queue, space}];
    if (model.known_event == 0 || model.known_event > pending.asked_event) continue;
    const keycodec::SpaceValue own = {row.own.concurrency, row.own.rate_micro, row.own.burst,
                                      row.own.weight};
    if (own != model.own)
      return Broken("SIM-18: " + SpaceName(request.queue, space) +
                    " has other options than were set");
  }
}

}  // namespace vestq
