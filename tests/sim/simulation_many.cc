// The simulation's ENQUEUEMANY and COMPLETEMANY: all jobs of one are there or none (SIM-11), and each receipt
// of the other is answered on its own.
#include <algorithm>

#include "engine/group_request.h"
#include "tests/sim/simulation.h"
#include "tests/sim/simulation_model.h"

namespace vestq {

bool Simulation::StartMany(Pending* pending) {
  auto request = std::make_unique<EnqueueManyRequest>();
  auto group = std::make_unique<ModelGroup>();
  group->added = AddMany(request.get(), group.get());
  pending->op = Op::kEnqueueMany;
  pending->many = group->added;
  pending->request = std::move(request);
  groups_.push_back(std::move(group));
  return true;
}

// What holds for all is drawn once.
std::vector<Simulation::ModelJob*> Simulation::AddMany(EnqueueManyRequest* request,
                                                       ModelGroup* group) {
  ModelJob* const first = AddJob(&request->job, false);
  std::vector<ModelJob*> jobs = {first};
  for (uint64_t n = random_.Below(6); n > 0; --n) {
    auto job = std::make_unique<ModelJob>(*first);
    job->payload = "job-" + std::to_string(jobs_.size()) + ":many";
    by_payload_[job->payload] = job.get();
    jobs.push_back(job.get());
    jobs_.push_back(std::move(job));
  }
  for (ModelJob* job : jobs) {
    job->group = group;
    request->payloads.push_back(job->payload);
  }
  return jobs;
}

void Simulation::AnsweredMany(Pending* pending) {
  const auto& request = static_cast<const EnqueueManyRequest&>(*pending->request);
  if (AnsweredFull(pending)) {
    if (ModelGroup* const group = pending->many[0]->group)
      group->outcome = ModelGroup::Outcome::kNot;
    return;
  }
  if (!request.error.ok()) return Broken("ENQUEUEMANY failed: " + request.error.ToString());
  if (request.ids.size() != pending->many.size())
    return Broken("SIM-11: ENQUEUEMANY answers with another number of ids");
  for (size_t i = 0; i < request.ids.size() && broken_.empty(); ++i)
    Acknowledge(pending->many[i], request.ids[i], *pending);
}

// One of the jobs of a group is there: so are all.
void Simulation::Together(ModelGroup* group) {
  group->seen = true;
  for (ModelJob* const job : group->added) {
    if (job->acknowledged) continue;
    job->acknowledged = true;
    job->acknowledged_event = ++events_;
  }
}

// Some leases, in one member; a part for each.
std::unique_ptr<Request> Simulation::CompleteSome(Pending* pending, size_t member) {
  auto request = std::make_unique<CompleteManyRequest>();
  for (uint64_t n = 1 + random_.Below(4); n > 0; --n) {
    auto part = std::make_unique<Pending>();
    part->asked_ms = pending->asked_ms;
    part->asked_engine_ms = pending->asked_engine_ms;
    part->asked_event = pending->asked_event;
    part->member = member;
    if (!StartOnJob(part.get(), Op::kComplete)) continue;
    request->receipts.push_back(part->receipt);
    part->result.clear();  // it takes none
    part->job->results.push_back(part->result);
    pending->group->tried.emplace_back(part->job, part->job->end_unknown);
    pending->parts.push_back(std::move(part));
  }
  if (request->receipts.empty()) return nullptr;
  return request;
}

// Of the receipt that the part is about.
void Simulation::AnsweredOneOfMany(const CompleteManyRequest& many, size_t place, Pending* part) {
  if (place >= many.completed.size())
    return Broken("SIM-5: COMPLETEMANY answers with fewer receipts");
  if (many.completed[place] == 0)
    part->request->error = Error(ErrorCode::kLeaseLost, "one of COMPLETEMANY");
  Answered(part);
}

}  // namespace vestq
