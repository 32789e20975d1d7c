// The simulation's lookers-on: WAITFOR, LEASE of one space, events.
//
//   SIM-12  WAITFOR says that a job has ended only when it may have, and answers when it has
//   SIM-13  a LEASE of one space brings jobs of that space only
//   SIM-14  what an event reports holds across any crash: a job that is told completed or cancelled is
//           never delivered again
#include "engine/event_hub.h"
#include "engine/watch_request.h"
#include "tests/sim/simulation.h"
#include "tests/sim/simulation_model.h"

namespace vestq {

void Simulation::Listen() {
  subscription_ = std::make_shared<EventSubscription>(CoreId(0), std::vector<std::string>());
  if (const Error error = world_->engine()->Listen(subscription_); !error.ok())
    Broken("EVENTS failed: " + error.ToString());
}

void Simulation::HearEvents() {
  std::vector<JobEvent> events;
  uint64_t missed = 0;
  subscription_->Take(1000, &events, &missed);
  for (const JobEvent& event : events) {
    if (event.kind == EventKind::kLapsed) HeardLapse(Find(event.id));
    if (event.kind != EventKind::kCompleted && event.kind != EventKind::kCancelled) continue;
    ModelJob* const job = Find(event.id);
    if (job == nullptr || job->gone || job->old_ids.count(event.id) != 0) continue;
    Note(job, "an event says that it is " + std::string(EventName(event.kind)));
    job->gone = true;
    job->gone_event = ++events_;
    job->has_lease = false;
  }
}

void Simulation::HeardLapse(ModelJob* job) {
  if (job == nullptr) return;
  Note(job, "an event says that it has expired, at " + std::to_string(EngineMs()));
  if (!MayHaveLapsed(*job))
    Broken("SIM-21: job " + std::to_string(job->id.value()) + " has expired before its time", job);
}

bool Simulation::StartWaitFor(Pending* pending) {
  if (jobs_.empty()) return false;
  ModelJob* const job = random_.Pick(jobs_).get();
  if (job->id == JobId(0)) return false;
  auto request = std::make_unique<WaitForRequest>();
  request->id = job->id;
  request->want_payload = true;
  request->wait = random_.Chance(0.8);
  if (random_.Chance(0.7)) request->block = Milliseconds(static_cast<int64_t>(random_.Below(5000)));
  pending->op = Op::kWaitFor;
  pending->request = std::move(request);
  return true;
}

void Simulation::AnsweredWaitFor(const Pending& pending) {
  const auto& request = static_cast<const WaitForRequest&>(*pending.request);
  if (!request.error.ok()) return Broken("WAITFOR failed: " + request.error.ToString());
  ModelJob* const job = Find(request.id);
  if (job == nullptr || job->old_ids.count(request.id) != 0) return;
  const std::string id = std::to_string(request.id.value());
  if (!request.ended) {
    if (job->gone && job->gone_event < pending.asked_event && !job->may_move)
      Broken("SIM-12: WAITFOR does not know that job " + id + " is done", job);
    return;
  }
  const bool may_be_gone = MayBeGone(*job) || job->may_move || !job->acknowledged;
  switch (request.state) {
    case JobState::kGone:
    case JobState::kDone:
      if (!may_be_gone) Broken("SIM-12: WAITFOR says that job " + id + " is done", job);
      return;
    case JobState::kDead:
      if (!PayloadFits(*job, request.payload))
        Broken("SIM-2: WAITFOR shows another payload for job " + id, job);
      return;
    case JobState::kScheduled:
    case JobState::kReady:
    case JobState::kLeased:
    case JobState::kWaiting:
      return Broken("SIM-12: WAITFOR gives an unfinished job " + id + " as ended", job);
  }
}

void Simulation::CheckSpaces(const LeaseRequest& request) {
  if (!request.one_space) return;
  for (const LeasedJob& job : request.jobs) {
    if (job.space == request.space) continue;
    return Broken("SIM-13: a LEASE of space '" + request.space + "' brought a job of '" +
                  job.space + "'");
  }
}

// All jobs have come to their end: so has every WAITFOR.
void Simulation::CheckWaits() {
  world_->Settle();
  CollectAnswers();
  for (const auto& pending : pending_) {
    if (pending->op != Op::kWaitFor || pending->done) continue;
    const JobId id = static_cast<const WaitForRequest&>(*pending->request).id;
    return Broken("SIM-12: a WAITFOR for job " + std::to_string(id.value()) +
                  ", which has ended, waits");
  }
}

}  // namespace vestq
