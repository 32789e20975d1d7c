#include "tests/sim/simulation.h"

#include <algorithm>
#include <array>

#include "engine/base/check.h"
#include "tests/sim/simulation_model.h"

namespace vestq {
namespace {
constexpr std::array<const char*, 3> kQueues = {"mail", "thumbs", "sync"};
constexpr std::array<const char*, 6> kSpaces = {"", "", "", "acme", "bolt", "corp"};
// About what a space takes of a core's memory.
constexpr uint64_t kSpaceBytes = 900;

// Of most histories no space fits, or a few do: the others are found in the store.
uint64_t SpaceMemory(const SimulationOptions& options, uint16_t cores) {
  SimRandom random(options.seed * 0x9E3779B97F4A7C15ull);
  return random.Chance(0.4) ? 0 : 1 + random.Below(5) * kSpaceBytes * cores;
}
}  // namespace

std::string Simulation::AnySpaceName() {
  // More of them where they do not fit.
  if (world_->options().space_memory > 0 && random_.Chance(0.4))
    return "s" + std::to_string(random_.Below(12));
  return random_.Pick(kSpaces);
}

Simulation::Simulation(const SimulationOptions& options)
    : options_(options), random_(options.seed) {
  WorldOptions world;
  world.seed = options.seed * 2654435761u + 17;
  world.cores = static_cast<uint16_t>(1 + random_.Below(3));
  world.lanes = static_cast<uint16_t>(world.cores + random_.Below(5));
  world.space_memory = SpaceMemory(options, world.cores);
  world.plant_answer_before_sync = options.plant_answer_before_sync;
  world_ = std::make_unique<World>(world);
  if (random_.Chance(0.2)) world_->clock().wall_ms = 5'000;  // a machine that begins in 1970
  world_->Open();
  engine_offset_ms_ = world_->engine()->clock()->Now().ms() - world_->clock().boottime_ms;
  NoteWallBegins();
  if (random_.Chance(0.5)) {
    QueueSetRequest order;
    order.queue = "sync";
    order.set.order = keycodec::Order::kTime;
    world_->Run(&order);
  }
  Listen();
  limits_dead_ = random_.Chance(0.3);
  SetLimits();
}

Simulation::~Simulation() {
  if (world_->is_open()) world_->Kill();
}

void Simulation::Broken(const std::string& sentence, const ModelJob* job) {
  if (!broken_.empty()) return;
  broken_ = sentence;
  if (job == nullptr) return;
  broken_ += "\nits history:";
  for (const std::string& line : job->history) broken_ += "\n  " + line;
}

// What clients saw of a job, for the sentence that is broken.
void Simulation::Note(ModelJob* job, const std::string& what) {
  job->history.push_back("t=" + std::to_string(world_->clock().boottime_ms) + " boot " +
                         std::to_string(world_->clock().boot) + ": " + what);
}

Simulation::ModelJob* Simulation::Find(JobId id) {
  auto it = by_id_.find(id);
  return it == by_id_.end() ? nullptr : it->second;
}

// --- Asking
// ----------------------------------------------------------------------------------------------------------

void Simulation::StartSomething() {
  if (pending_.size() >= 12) return;
  auto pending = std::make_unique<Pending>();
  pending->asked_ms = world_->clock().boottime_ms;
  pending->asked_engine_ms = EngineMs();
  pending->asked_event = ++events_;
  const uint64_t dice = random_.Below(100);
  bool started = true;
  if (random_.Chance(0.1)) {
    started = StartOther(pending.get());
  } else if (dice < 29) {
    StartEnqueue(pending.get());
  } else if (dice < 34) {
    started = StartGroup(pending.get());
  } else if (dice < 57) {
    StartLease(pending.get());
  } else if (dice < 75) {
    started = StartOnJob(pending.get(), Op::kComplete);
  } else if (dice < 81) {
    started = StartOnJob(pending.get(), Op::kFail);
  } else if (dice < 85) {
    started = StartOnJob(pending.get(), Op::kRelease);
  } else if (dice < 89) {
    started = StartOnJob(pending.get(), Op::kRenew);
  } else if (dice < 92) {
    started = StartOnJob(pending.get(), Op::kCancel);
  } else if (dice < 94) {
    started = StartOnJob(pending.get(), Op::kJob);
  } else if (dice < 97) {
    started = StartCheckpoint(pending.get());
  } else if (dice < 98) {
    started = StartWaitFor(pending.get());
  } else {
    started = StartHandling(pending.get());
  }
  if (!started) return;
  const auto core = static_cast<uint16_t>(random_.Below(world_->options().cores));
  pending->core = core;
  world_->Start(pending->request.get(), &pending->done, core);
  pending_.push_back(std::move(pending));
}

bool Simulation::StartOther(Pending* pending) {
  switch (random_.Below(10)) {
    case 0: return StartMany(pending);
    case 1: return StartData(pending);
    case 2: return random_.Chance(0.3) && StartOptions(pending);
    case 3: return random_.Chance(0.5) && StartPause(pending);
    case 4:
    case 5: return StartSchedule(pending);
    default: return StartPage(pending);
  }
}

void Simulation::StartEnqueue(Pending* pending) {
  auto request = std::make_unique<EnqueueRequest>();
  pending->op = Op::kEnqueue;
  pending->job = AddJob(request.get(), true);
  pending->request = std::move(request);
}

Simulation::ModelJob* Simulation::AddJob(EnqueueRequest* request, bool may_be_unique) {
  auto made = std::make_unique<ModelJob>();
  ModelJob* const job = made.get();
  job->queue = random_.Pick(kQueues);
  job->payload =
      "job-" + std::to_string(jobs_.size()) + ":" +
      std::string(random_.Chance(0.1) ? 600 + random_.Below(3000) : random_.Below(80), 'x');
  request->queue = job->queue;
  request->space = AnySpaceName();
  request->payload = job->payload;
  request->priority = static_cast<uint32_t>(random_.Chance(0.7) ? 1024 : random_.Below(5));
  if (random_.Chance(0.2)) {
    request->when = EnqueueRequest::When::kDelay;
    request->delay = Milliseconds(static_cast<int64_t>(random_.Below(20'000)));
    VestsAfter(job, request->delay);
  } else if (random_.Chance(0.05)) {
    request->when = EnqueueRequest::When::kAt;
    request->at = WallTime(world_->clock().wall_ms) +
                  Milliseconds(static_cast<int64_t>(random_.Below(20'000)));
    VestsAt(job, request->at);
  }
  job->asked_ms = EngineMs();
  job->asked_event = events_;
  Decorate(request, job, may_be_unique);
  request->attempts_set = random_.Chance(0.7);
  if (request->attempts_set) {
    request->attempts = random_.Chance(0.3) ? 1 + static_cast<uint32_t>(random_.Below(3)) : 0;
    job->attempts_max = request->attempts;
    job->attempts_known = true;
  }
  if (random_.Chance(0.4))
    request->wait = Milliseconds(static_cast<int64_t>(1 + random_.Below(5000)));
  NoteUnderPurge(job);
  by_payload_[job->payload] = job;
  jobs_.push_back(std::move(made));
  return job;
}

void Simulation::StartLease(Pending* pending) {
  auto request = std::make_unique<LeaseRequest>();
  request->queues.push_back(random_.Pick(kQueues));
  if (random_.Chance(0.3)) request->queues.push_back(random_.Pick(kQueues));
  if (random_.Chance(0.15)) request->queues.push_back(kScheduleQueue);
  request->count = random_.Chance(0.5) ? 1 : 1 + static_cast<uint32_t>(random_.Below(8));
  if (random_.Chance(0.7))
    request->lease = Milliseconds(static_cast<int64_t>(200 + random_.Below(10'000)));
  request->worker = "w";
  request->wait = random_.Chance(0.5);
  if (random_.Chance(0.25)) {
    request->one_space = true;
    request->space = AnySpaceName();
  }
  request->block = Milliseconds(static_cast<int64_t>(1 + random_.Below(5000)));
  pending->op = Op::kLease;
  pending->request = std::move(request);
}

Simulation::ModelJob* Simulation::RandomLeased() {
  // The newest jobs are the likeliest to be leased; a few draws find one.
  for (int i = 0; i < 20 && !jobs_.empty(); ++i) {
    ModelJob* const job = random_.Pick(jobs_).get();
    if (job->has_lease && job->busy == 0) return job;
  }
  return nullptr;
}

bool Simulation::StartOnJob(Pending* pending, Op op) {
  ModelJob* job = nullptr;
  if (op == Op::kCancel || op == Op::kJob) {
    if (jobs_.empty()) return false;
    job = random_.Pick(jobs_).get();
    if (job->id == JobId(0) || job->busy > 0) return false;
  } else {
    job = RandomLeased();
    if (job == nullptr) return false;
  }
  pending->op = op;
  pending->job = job;
  pending->receipt = job->receipt;
  pending->attempt = job->attempt;
  ++job->busy;
  Note(job, OpName(op) + " asked");
  switch (op) {
    case Op::kComplete: {
      auto request = std::make_unique<CompleteRequest>();
      request->receipt = job->receipt;
      if (random_.Chance(0.5)) request->result = "result " + std::to_string(events_);
      pending->result = request->result;
      job->results.push_back(request->result);
      for (const auto& other : pending_) {
        if (other->op == Op::kPurge)
          NoteKept(job, static_cast<const PurgeRequest&>(*other->request));
      }
      pending->request = std::move(request);
      job->maybe_gone = true;
      break;
    }
    case Op::kFail: {
      auto request = std::make_unique<FailRequest>();
      request->receipt = job->receipt;
      request->reason = random_.Chance(0.5) ? "boom" : "";
      request->delay_set = random_.Chance(0.8);
      request->delay = Milliseconds(static_cast<int64_t>(random_.Below(3000)));
      request->to_dead = random_.Chance(0.05);
      if (request->to_dead) job->may_be_dead = true;
      pending->request = std::move(request);
      break;
    }
    case Op::kRelease: {
      auto request = std::make_unique<ReleaseRequest>();
      request->receipt = job->receipt;
      if (random_.Chance(0.5))
        request->delay = Milliseconds(static_cast<int64_t>(random_.Below(3000)));
      if (random_.Chance(0.3)) {
        request->priority_set = true;
        request->priority = static_cast<uint32_t>(random_.Below(2000));
      }
      ++job->given_back;
      pending->request = std::move(request);
      break;
    }
    case Op::kRenew: {
      auto request = std::make_unique<RenewRequest>();
      request->receipt = job->receipt;
      request->lease = random_.Chance(0.5)
                           ? Duration(0)
                           : Milliseconds(static_cast<int64_t>(200 + random_.Below(20'000)));
      pending->request = std::move(request);
      // Until the answer it may end sooner (FOR shorter) or later.
      job->lease_until_ms = 0;
      break;
    }
    case Op::kCancel: {
      auto request = std::make_unique<CancelRequest>();
      request->id = job->id;
      pending->request = std::move(request);
      job->maybe_gone = true;
      break;
    }
    case Op::kJob: {
      auto request = std::make_unique<JobRequest>();
      request->id = job->id;
      request->want_payload = true;
      pending->request = std::move(request);
      break;
    }
    case Op::kEnqueue:
    case Op::kLease:
    case Op::kRevoke:
    case Op::kPromote:
    case Op::kReschedule:
    case Op::kRedrive:
    case Op::kGroup:
    case Op::kWaitFor:
    case Op::kPurge:
    case Op::kLimits:
    case Op::kSpaceSet:
    case Op::kSpaces:
    case Op::kPeek:
    case Op::kEnqueueMany:
    case Op::kData:
    case Op::kOptions:
    case Op::kPause:
    case Op::kSchedule:
    case Op::kCheckpoint: return false;
  }
  return true;
}

// --- Faults
// ----------------------------------------------------------------------------------------------------------

void Simulation::CutOff(Pending* pending) {
  if (pending->op == Op::kData) CutData(*pending, nullptr);
  for (auto& part : pending->parts) {
    Cut(part.get());
    if (part->op == Op::kData) CutData(*part, pending->group);
  }
  Cut(pending);
}

void Simulation::Cut(Pending* pending) {
  if (pending->op == Op::kPurge) {
    for (ModelJob* const job : pending->many) {
      --job->busy;
      job->end_unknown = true;
    }
  }
  if (pending->job == nullptr || pending->op == Op::kEnqueue) return;
  --pending->job->busy;
  if (pending->op == Op::kFail || pending->op == Op::kRelease || pending->op == Op::kRenew)
    pending->job->lease_until_ms = 0;
  if (pending->op == Op::kCancel || pending->op == Op::kComplete) pending->job->end_unknown = true;
  if (pending->op == Op::kRevoke) NoteRevoked(pending->job);
}

void Simulation::CrashSomehow() {
  ++crashes_;
  // Nobody will hear these answers; whether they were carried out is open.
  for (auto& pending : pending_) CutOff(pending.get());
  const uint64_t dice = random_.Below(4);
  const char* const kind = dice == 0 ? "KILL" : "POWER CUT";
  if (dice == 0) {
    world_->Kill();
  } else {
    world_->PowerCut(dice == 1 ? CrashMode::kLoseUnsynced : CrashMode::kTorn);
    BootAfter(Milliseconds(static_cast<int64_t>(random_.Below(30'000))));
  }
  pending_.clear();
  walk_ = {};
  replacing_.clear();
  CutLimits();
  CutOptions();
  CutSchedules();
  // A claim whose LEASE was never answered may have used an attempt, and may have been the last
  // one.
  for (auto& job : jobs_) {
    if (job->attempts_max != 0 || !job->attempts_known) job->may_be_dead = true;
    if (!job->gone && job->id != JobId(0)) Note(job.get(), kind);
    // Leases that were answered stand (I3: never shorter); by another boot's clock they are not
    // followed.
  }
  Reopen(dice != 0);
}

void Simulation::Reopen(bool booted) {
  for (const std::string& violation : world_->CheckOffline())
    return Broken("SIM-8: after a crash: " + violation);
  const Error error = world_->TryOpen();
  if (!error.ok()) return Broken("SIM-8: does not open after a crash: " + error.ToString());
  TakeClock(booted);
  SettleGroups();
  Listen();
  Look();
  for (auto& job : jobs_)
    if (!job->acknowledged) job->key.clear();  // it is not there
}

// --- The run
// ---------------------------------------------------------------------------------------------------------

std::string Simulation::Run() {
  for (size_t step = 0; step < options_.steps && broken_.empty(); ++step) {
    const uint64_t dice = random_.Below(1000);
    if (dice < 2) {
      Look();
      if (broken_.empty() && !walk_.on) SetOrder();
      if (broken_.empty() && !walk_.on) BeginWalk();
    } else if (dice < 250) {
      StartSomething();
    } else if (dice < 252) {
      GiveUpSomething();
    } else if (dice < 960) {
      world_->Step();
    } else if (dice == 996) {
      StepWall();
    } else if (dice < 996) {
      world_->Advance(Milliseconds(
          static_cast<int64_t>(random_.Chance(0.9) ? random_.Below(50) : random_.Below(5000))));
    } else {
      CrashSomehow();
    }
    if (broken_.empty()) HearEvents();
    if (broken_.empty()) CollectAnswers();
    if (broken_.empty() && walk_.ended) EndWalk();
    if (!world_->discipline_breach().empty()) Broken(world_->discipline_breach());
  }
  faults_ = false;
  if (broken_.empty()) Drain();
  if (broken_.empty()) CheckEnd();
  return broken_;
}

uint64_t Simulation::fingerprint() const { return history_ ^ world_->fs().history(); }

}  // namespace vestq
