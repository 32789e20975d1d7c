// The simulation's groups: ends of leases, new jobs and two keys of the application's data, together.
//
//   SIM-11  a group is carried out whole or not at all: its keys are both there or none; a job of a group
//           that was refused, or that a crash took, is never delivered, and none of its ends has happened
#include "engine/group_request.h"
#include "engine/kv_request.h"
#include "tests/sim/simulation.h"
#include "tests/sim/simulation_model.h"

namespace vestq {

bool Simulation::StartGroup(Pending* pending) {
  auto request = std::make_unique<GroupRequest>();
  auto group = std::make_unique<ModelGroup>();
  const auto part = [&] {
    pending->parts.push_back(std::make_unique<Pending>());
    pending->parts.back()->asked_ms = pending->asked_ms;
    pending->parts.back()->asked_engine_ms = pending->asked_engine_ms;
    pending->parts.back()->asked_event = pending->asked_event;
    pending->parts.back()->member = request->members.size();
    return pending->parts.back().get();
  };
  const auto set = [&](const char* name) {
    auto member = std::make_unique<DataSetRequest>();
    member->key = name + std::to_string(groups_.size());
    member->value = "there";
    group->keys.push_back(member->key);
    request->members.push_back(std::move(member));
  };
  pending->group = group.get();
  set("first-");
  for (const Op op : {Op::kComplete, Op::kRenew, Op::kFail, Op::kRelease, Op::kCancel}) {
    if (!random_.Chance(op == Op::kComplete ? 0.7 : 0.15)) continue;
    Pending* const end = part();
    if (!StartOnJob(end, op)) {
      pending->parts.pop_back();
      continue;
    }
    if (op == Op::kComplete) group->finished.emplace_back(end->job, end->job->end_unknown);
    request->members.push_back(std::move(end->request));
  }
  if (random_.Chance(0.15)) {
    if (auto many = CompleteSome(pending, request->members.size()))
      request->members.push_back(std::move(many));
  }
  for (const bool checkpoint : {true, false}) {
    if (!random_.Chance(0.2)) continue;
    Pending* const other = part();
    if (checkpoint ? StartCheckpoint(other) : StartData(other)) {
      request->members.push_back(std::move(other->request));
    } else {
      pending->parts.pop_back();
    }
  }
  if (random_.Chance(0.15)) {
    Pending* const add = part();
    auto many = std::make_unique<EnqueueManyRequest>();
    add->op = Op::kEnqueueMany;
    add->many = AddMany(many.get(), group.get());
    many->job.wait = Duration(0);
    group->added.insert(group->added.end(), add->many.begin(), add->many.end());
    request->members.push_back(std::move(many));
  }
  const uint64_t jobs = random_.Below(3);
  for (uint64_t i = 0; i < jobs; ++i) {
    Pending* const add = part();
    StartEnqueue(add);
    static_cast<EnqueueRequest&>(*add->request).wait = Duration(0);
    add->job->group = group.get();
    if (add->job->key.empty()) group->added.push_back(add->job);
    request->members.push_back(std::move(add->request));
  }
  if (random_.Chance(0.3)) {
    auto read = std::make_unique<DataGetRequest>();
    read->keys = {group->keys[0]};
    request->members.push_back(std::move(read));
  }
  set("last-");
  pending->op = Op::kGroup;
  pending->request = std::move(request);
  groups_.push_back(std::move(group));
  return true;
}

void Simulation::AnsweredGroup(Pending* pending) {
  auto& request = static_cast<GroupRequest&>(*pending->request);
  const bool done = request.error.ok();
  if (!done && request.error.code() != ErrorCode::kLeaseLost &&
      request.error.code() != ErrorCode::kFull)
    return Broken("a group failed: " + request.error.ToString());
  if (done && pending->group->outcome == ModelGroup::Outcome::kNot)
    return Broken("SIM-11: a group is answered that was not carried out");
  if (!done && pending->group->seen)
    return Broken("SIM-11: a group was refused after one of its jobs was delivered");
  pending->group->outcome = done ? ModelGroup::Outcome::kDone : ModelGroup::Outcome::kNot;
  for (const auto& member : request.members) {
    if (member->kind != RequestKind::kDataGet) continue;
    const auto& get = static_cast<const DataGetRequest&>(*member);
    if (done && get.keys == std::vector{pending->group->keys[0]} && get.values[0] != "there")
      return Broken("SIM-11: a group does not see its own SET");
  }
  size_t place = 0;  // among the receipts of COMPLETEMANY
  for (auto& part : pending->parts) {
    if (!broken_.empty()) return;
    auto& member = request.members[part->member];
    if (member != nullptr && member->kind == RequestKind::kCompleteMany) {
      if (done) {
        AnsweredOneOfMany(static_cast<const CompleteManyRequest&>(*member), place++, part.get());
      } else {
        NotDone(part.get());
      }
      continue;
    }
    if (!done && part->member != request.failed) {
      part->request = std::move(member);
      NotDone(part.get());
      continue;
    }
    part->request = std::move(member);
    if (!done) part->request->error = request.error;
    Answered(part.get());
  }
}

void Simulation::NotDone(Pending* part) {
  for (const std::string& key : part->data_keys) data_[key].busy = false;
  if (part->op == Op::kEnqueue && part->job->replaces) {
    replacing_.erase(part->job->key);
    NotReplaced(part->job, nullptr);
  }
  if (part->job == nullptr || part->op == Op::kEnqueue) return;
  ModelJob* const job = part->job;
  --job->busy;
  Note(job, OpName(part->op) + " of a group that was refused");
  if ((part->op == Op::kComplete || part->op == Op::kCancel) && !job->gone)
    job->maybe_gone = job->end_unknown;
}

// After a crash: what became of the groups that were not answered.
void Simulation::SettleGroups() {
  for (auto& group : groups_) {
    const bool open = group->outcome == ModelGroup::Outcome::kOpen;
    if (broken_.empty() && open && !group->keys.empty()) ReadGroup(group.get());
  }
}

void Simulation::ReadGroup(ModelGroup* group) {
  DataGetRequest read;
  read.keys = group->keys;
  world_->Run(&read);
  if (!read.error.ok()) return Broken("MGET failed: " + read.error.ToString());
  if (read.values[0].has_value() != read.values[1].has_value())
    return Broken("SIM-11: a crash left half of a group");
  group->outcome = read.values[0] ? ModelGroup::Outcome::kDone : ModelGroup::Outcome::kNot;
  const bool done = group->outcome == ModelGroup::Outcome::kDone;
  if (!done && group->seen) Broken("SIM-11: a job of a group was delivered that a crash took");
  for (ModelJob* const job : group->added) job->acknowledged |= done;
  for (const auto& [job, unknown] : group->finished) {
    job->gone |= done;
    if (!done && !job->gone) job->maybe_gone = job->end_unknown = unknown;
    if (!done) continue;
    job->gone_event = ++events_;
    job->has_lease = false;
  }
  for (const auto& [job, unknown] : group->tried) {
    if (!done && !job->gone) job->maybe_gone = job->end_unknown = unknown;
  }
  for (const auto& change : group->data)
    data_[change.key].may = done ? change.after : change.before;
}

// In the end: of each group all keys, or none.
void Simulation::CheckGroups() {
  for (const auto& group : groups_) {
    if (group->keys.empty()) continue;
    DataGetRequest read;
    read.keys = group->keys;
    world_->Run(&read);
    for (const auto& value : read.values) {
      if (value.has_value() == (group->outcome == ModelGroup::Outcome::kDone)) continue;
      return Broken(value ? "SIM-11: a group that was refused, or lost, has set a key"
                          : "SIM-11: a group that was carried out has lost a key");
    }
  }
}

}  // namespace vestq
