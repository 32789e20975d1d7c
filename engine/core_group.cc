// MULTI ... EXEC: how a group comes to be carried out alone.
//
// A group whose members all belong to the core where it started, and that need nothing from the store, is
// carried out at once, within the turn. For any other one the cores that own what it is about, and its
// origin, are *frozen* for a moment (GROUP-4): a frozen core has submitted all it did, touches nothing of
// its jobs, and keeps what comes meanwhile for later; its network goes on. Then the group reads what it
// needs on a reader's thread, and the origin carries it out alone, on the state of all of them
// (engine/core_group_run.cc), submits one batch and thaws them. Nobody blocks, and no other command ever
// knows of a group.
//
//   origin: [read once, so that it is in memory] -> kGroupAsk -> core 0
//   core 0: one group at a time, in the order of asking: kGroupGo -> origin
//   origin: kGroupFreeze -> owners; each ends its turn, kGroupFrozen -> origin
//   origin: frozen itself at the end of that turn; reads; carries out; submits
//   origin: kGroupThaw -> owners, kGroupEnd -> core 0
//
// The messages carry the memory order: what an owner wrote before kGroupFrozen is seen by the origin, what
// the origin wrote before kGroupThaw by the owner. GROUP-5: every frozen core is thawed, also when the
// store fails: each step follows from the one before without waiting for the disk to succeed.
#include <algorithm>
#include <set>

#include "engine/base/check.h"
#include "engine/core_impl.h"
#include "engine/group_request.h"
#include "engine/group_task.h"
#include "engine/kv_request.h"
#include "engine/unique_task.h"

namespace vestq {
namespace {

uint64_t BitOf(CoreId core) { return uint64_t{1} << core.value(); }

bool IsUnconditionalSet(const Request& member) {
  return member.kind == RequestKind::kDataSet &&
         static_cast<const DataSetRequest&>(member).when == DataSetRequest::When::kAlways;
}

}  // namespace

// --- What it is about ---

// The cores that own what the member reads or changes, as bits.
uint64_t Core::Impl::CoresOf(const Request& member) const {
  uint64_t cores = 0;
  switch (member.kind) {
    case RequestKind::kCompleteMany:
      for (const Receipt& receipt : static_cast<const CompleteManyRequest&>(member).receipts)
        cores |= BitOf(shared_->OwnerOf(shared_->LaneOf(receipt.id)));
      return cores;
    case RequestKind::kDataGet:
      for (const std::string& key : static_cast<const DataGetRequest&>(member).keys)
        cores |= BitOf(OwnerOfData(*shared_, key));
      return cores;
    case RequestKind::kDataDelete:
      for (const std::string& key : static_cast<const DataDeleteRequest&>(member).keys)
        cores |= BitOf(OwnerOfData(*shared_, key));
      return cores;
    case RequestKind::kDataRange: return ~uint64_t{0} >> (64 - shared_->cores);
    default: return BitOf(Target(*shared_, member, id_));
  }
}

struct Core::Impl::GroupPlan {
  GroupTask* task;
  bool frozen;           // all owners are; else only this core's leases may be looked at
  std::set<JobId> seen;  // jobs that an earlier member changes
};

// What must be read before the group can be carried out; complete when all its owners are frozen, or are
// this core. A lease without flags, that no earlier member has touched, is ended or changed by what memory
// knows.
std::unique_ptr<GroupTask> Core::Impl::PlanReads(GroupRequest* request, bool frozen) {
  auto task = std::make_unique<GroupTask>(request);
  GroupPlan plan{task.get(), frozen, {}};
  for (size_t i = 0; i < request->members.size(); ++i) PlanMember(&plan, i);
  task->reads_store |= !task->reads.empty();
  return task;
}

void Core::Impl::PlanMember(GroupPlan* plan, size_t i) {
  const Request& member = *plan->task->group->members[i];
  switch (member.kind) {
    case RequestKind::kEnqueue: {
      const auto& job = static_cast<const EnqueueRequest&>(member);
      if (job.unique_key.empty()) return;
      const Result<QueueRecord*> record = RecordOf(job.queue);
      if (!record.ok()) return;  // what is wrong is said when the member is checked
      plan->task->reads.push_back(
          {i, std::make_unique<UniqueTask>(
                  LaneForJob(job),
                  keycodec::UniqueKey(QueueHere(*record)->life.number, job.space, job.unique_key),
                  shared_->queues.get())});
      return;
    }
    case RequestKind::kComplete:
      return PlanLease(plan, i, static_cast<const CompleteRequest&>(member).receipt);
    case RequestKind::kCompleteMany:
      for (const Receipt& receipt : static_cast<const CompleteManyRequest&>(member).receipts)
        PlanLease(plan, i, receipt);
      return;
    case RequestKind::kFail:
      return PlanLease(plan, i, static_cast<const FailRequest&>(member).receipt);
    case RequestKind::kRelease:
      return PlanLease(plan, i, static_cast<const ReleaseRequest&>(member).receipt);
    case RequestKind::kCheckpoint:
      return PlanLease(plan, i, static_cast<const CheckpointRequest&>(member).receipt);
    case RequestKind::kCancel:
      return PlanCancel(plan, i, static_cast<const CancelRequest&>(member).id);
    case RequestKind::kDataSet:
    case RequestKind::kDataGet:
    case RequestKind::kDataDelete:
    case RequestKind::kDataRange:
      plan->task->data.push_back(i);
      plan->task->reads_store |= !IsUnconditionalSet(member);
      return;
    default: return;  // RENEW, ENQUEUEMANY
  }
}

void Core::Impl::PlanLease(GroupPlan* plan, size_t i, const Receipt& receipt) {
  const LaneId lane = shared_->LaneOf(receipt.id);
  Impl* const owner = Neighbour(shared_->OwnerOf(lane));
  if (owner != this && !plan->frozen) return;
  const Lease* const lease = owner->leases_.Find(receipt.id, receipt.fence);
  const bool touched = !plan->seen.insert(receipt.id).second;
  if (lease == nullptr) return;
  const CoreQueue* const queue = owner->QueueById(lease->queue);
  if (queue == nullptr) return;  // dropped: the receipt is refused
  if (lease->flags == 0 && !touched && QueueKeep(*queue->record) == Duration(0)) return;
  plan->task->reads.push_back(
      {i, std::make_unique<LookupTask>(lane, receipt.id, shared_->queues.get()), true});
}

void Core::Impl::PlanCancel(GroupPlan* plan, size_t i, JobId id) {
  const LaneId lane = shared_->LaneOf(id);
  Impl* const owner = Neighbour(shared_->OwnerOf(lane));
  const bool touched = !plan->seen.insert(id).second;
  if (owner == this || plan->frozen) {
    const Lease* const lease = owner->LeaseOf(id);
    if (lease != nullptr && lease->flags == 0 && !touched) return;
  }
  plan->task->reads.push_back({i, std::make_unique<LookupTask>(lane, id, shared_->queues.get())});
}

// --- Its way ---

void Core::Impl::Group(GroupRequest* request) {
  request->failed = GroupRequest::kNone;
  request->cores = BitOf(id_);
  for (const auto& member : request->members) request->cores |= CoresOf(*member);
  const auto held =
      shared_->queues->HoldChanges();  // what needs no read now needs none when it is run
  std::unique_ptr<GroupTask> task = PlanReads(request, false);
  if (!task->reads_store) {
    if (request->cores != BitOf(id_)) return AskToGo(request);
    task->error = task->Run(*shared_->store);  // reads nothing
    RunGroup(task.get());
    return AnswerGroup(request);
  }
  // Read once before anything stands still, so that the blocks are in memory; what it finds is forgotten.
  std::erase_if(task->data,
                [request](size_t i) { return IsUnconditionalSet(*request->members[i]); });
  task->finish = [this, request](ReadTask*) { AskToGo(request); };
  SubmitRead(std::move(task));
}

void Core::Impl::AskToGo(GroupRequest* request) {
  if (id_ == CoreId(0)) return GroupAsked(request);
  Send(CoreId(0), Message{Message::Kind::kGroupAsk, request, nullptr});
}

// --- Core 0: one group at a time ---

void Core::Impl::GroupAsked(GroupRequest* request) {
  groups_waiting_.push_back(request);
  if (!group_under_way_) GrantNext();
}

void Core::Impl::GroupEnded() {
  group_under_way_ = false;
  // Not from here: one group after the other would go deeper.
  if (!groups_waiting_.empty()) Later([this] { GrantNext(); });
}

void Core::Impl::GrantNext() {
  if (group_under_way_ || groups_waiting_.empty()) return;
  group_under_way_ = true;
  GroupRequest* const request = groups_waiting_.front();
  groups_waiting_.pop_front();
  if (request->origin == id_) return GroupGo(request);
  Send(request->origin, Message{Message::Kind::kGroupGo, request, nullptr});
}

// --- The origin ---

void Core::Impl::GroupGo(GroupRequest* request) {
  CHECK(group_ == nullptr, "GROUP-4: one group at a time");
  group_ = request;
  request->awaited = 0;
  for (uint16_t i = 0; i < shared_->cores; ++i) {
    if (CoreId(i) == id_ || (request->cores & BitOf(CoreId(i))) == 0) continue;
    ++request->awaited;
    Send(CoreId(i), Message{Message::Kind::kGroupFreeze, request, nullptr});
  }
  if (request->awaited == 0) freeze_for_ = request;
}

// An owner holds still. The origin goes on until the last one does.
void Core::Impl::GroupFrozen(GroupRequest* request) {
  CHECK(request == group_ && request->awaited > 0, "GROUP-4: one group at a time");
  if (--request->awaited == 0) freeze_for_ = request;
}

void Core::Impl::AllFrozen(GroupRequest* request) {
  std::unique_ptr<GroupTask> task = PlanReads(request, true);
  if (!task->reads_store) {
    if (!shared_->writes->failed()) task->error = task->Run(*shared_->store);  // reads nothing
    return EndGroup(std::move(task));
  }
  task->core = id_;
  // All that the frozen cores have done is submitted: the read sees it (READ-2).
  task->after = shared_->writes->submitted();
  group_read_ = task.get();
  shared_->reads->Submit(std::move(task));
}

void Core::Impl::EndGroup(std::unique_ptr<GroupTask> task) {
  GroupRequest* const request = task->group;
  {
    const auto held = shared_->queues->HoldChanges();
    RunGroup(task.get());
  }
  task.reset();
  group_ = nullptr;
  group_read_ = nullptr;
  frozen_ = false;
  for (uint16_t i = 0; i < shared_->cores; ++i) {
    if (CoreId(i) != id_ && (request->cores & BitOf(CoreId(i))) != 0)
      Send(CoreId(i), Message{Message::Kind::kGroupThaw, nullptr, nullptr});
  }
  if (id_ == CoreId(0)) {
    GroupEnded();
  } else {
    Send(CoreId(0), Message{Message::Kind::kGroupEnd, nullptr, nullptr});
  }
  Thawed();
  AnswerGroup(request);
}

// --- A frozen core ---

// At the end of a turn; true: not yet, or done with it, so another turn is to follow.
bool Core::Impl::Freeze() {
  if (!shared_->writes->failed()) SubmitTurn();  // what this turn's answers have started
  FlushOutbox();
  for (const auto& pending : outbox_) {
    if (!pending.empty()) return true;
  }
  GroupRequest* const request = std::exchange(freeze_for_, nullptr);
  frozen_ = true;
  if (request->origin == id_) {
    AllFrozen(request);
    return !frozen_;
  }
  // Not through the outbox, which is the origin's from here on.
  if (!shared_->Ring(id_, request->origin)
           .TryPush(Message{Message::Kind::kGroupFrozen, request, nullptr})) {
    frozen_ = false;
    freeze_for_ = request;
    return true;
  }
  Neighbour(request->origin)->Wake();
  return false;
}

// A turn of a frozen core: keeps what comes for later, answers what is durable. True: it is thawed.
bool Core::Impl::StayFrozen() {
  bool thawed = false;
  for (uint16_t from = 0; !alone_ && from < shared_->cores; ++from) {
    if (from == id_.value()) continue;
    Message message;
    while (shared_->Ring(CoreId(from), id_).TryPop(&message)) {
      if (message.kind == Message::Kind::kGroupThaw) {
        thawed = true;
      } else if (message.kind == Message::Kind::kGroupAsk) {
        GroupAsked(static_cast<GroupRequest*>(message.request));
      } else {
        held_messages_.push_back(message);
      }
    }
  }
  shared_->reads->TakeResults(id_, &held_results_);
  const auto read = std::find_if(held_results_.begin(), held_results_.end(),
                                 [this](const auto& task) { return task.get() == group_read_; });
  if (read != held_results_.end()) {
    std::unique_ptr<GroupTask> task(static_cast<GroupTask*>(read->release()));
    held_results_.erase(read);
    EndGroup(std::move(task));
    return true;
  }
  if (thawed) {
    frozen_ = false;
    Thawed();
    return true;
  }
  CompleteAnswers();
  if (write_busy_) WriteBehind();
  return false;
}

// What has come meanwhile; of one sender, or of one stream, in its order.
void Core::Impl::Thawed() {
  now_stale_ = true;
  for (const Message& message : std::exchange(held_messages_, {})) HandleMessage(message);
  // Before new ones, which may be where an old one was.
  for (const auto& [owner, request] : std::exchange(held_ends_, {})) AbandonAt(owner, request);
  for (Request* request : std::exchange(held_requests_, {})) Dispatch(request);
  // A stream may be dropped by nobody in between: its session runs on this thread.
  for (Stream* stream : std::exchange(held_streams_, {})) PumpStream(stream);
  for (LeaseRequest* request : std::exchange(held_abandons_, {})) AbandonLease(request);
}

}  // namespace vestq
