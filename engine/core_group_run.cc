// A group is carried out: at its origin, on the origin's thread, with the state of all its owners in hand
// (engine/core_group.cc says how they come to be). First every member is checked, with what those before
// it will have changed taken into account; only then is anything changed (GROUP-2), by the same functions
// that carry out single commands. They write into one batch and read through the group's view.
#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "engine/base/check.h"
#include "engine/core_impl.h"
#include "engine/group_request.h"
#include "engine/group_task.h"
#include "engine/unique_task.h"

namespace vestq {

struct Core::Impl::GroupRun {
  std::set<JobId> ended;    // leases that an earlier member ends
  std::set<JobId> over;     // jobs that an earlier member completes or cancels
  std::set<JobId> parents;  // that an earlier member waits for
  uint64_t jobs = 0;        // that members add
  uint64_t edges = 0;       // to what these wait for
  // Of queues whose backlog is counted: what the group adds, what it ends of leases; and unique keys that
  // its members hold.
  struct Room {
    QueueRecord* record = nullptr;
    Backlog adds, leaves;
    Impl* owner = nullptr;  // of the member that adds last
    size_t member = 0;      // that one
  };
  std::map<uint32_t, Room> room;  // by ordinal
  Room& RoomOf(QueueRecord* record) {
    Room& of = room[record->ordinal];
    of.record = record;
    return of;
  }
  std::set<std::string> keys;
  size_t member = 0;  // being checked
  const Store* view = nullptr;
};

namespace {

// What the jobs of a group put into its batch, about: their payloads, and what stands beside each.
size_t PayloadBytes(const GroupRequest& group) {
  size_t bytes = 0;
  for (const auto& member : group.members) {
    bytes += limits::kGroupItemBytes;
    if (member->kind == RequestKind::kEnqueue)
      bytes += static_cast<const EnqueueRequest&>(*member).payload.size();
    if (member->kind != RequestKind::kEnqueueMany) continue;
    for (const std::string& payload : static_cast<const EnqueueManyRequest&>(*member).payloads)
      bytes += limits::kGroupItemBytes + payload.size();
  }
  return bytes;
}

// They are in the batch now, and nothing of a group that was carried out is undone: a great group is held
// in memory once.
void DropPayloads(Request* member) {
  const auto drop = [](std::string* payload) {
    if (payload->capacity() > limits::kGroupItemBytes) std::string().swap(*payload);
  };
  if (member->kind == RequestKind::kEnqueue) drop(&static_cast<EnqueueRequest*>(member)->payload);
  if (member->kind != RequestKind::kEnqueueMany) return;
  for (std::string& payload : static_cast<EnqueueManyRequest*>(member)->payloads) drop(&payload);
}

}  // namespace

Core::Impl* Core::Impl::Neighbour(CoreId core) {
  return shared_->core_list[core.value()]->impl_.get();
}

Core::Impl* Core::Impl::OwnerOfMember(const Request& member) {
  return Neighbour(Target(*shared_, member, id_));
}

// The whole group happens at one moment: what lives when it is checked lives when it is carried out.
void Core::Impl::HoldClocks(const GroupRequest& request, bool hold) {
  const MonoTime now = shared_->clock->Now();
  for (uint16_t i = 0; i < shared_->cores; ++i) {
    if ((request.cores >> i & 1) == 0) continue;
    Impl* const owner = Neighbour(CoreId(i));
    owner->clock_held_ = hold;
    if (hold) owner->now_ = now;
    owner->now_stale_ = !hold;
  }
}

// REQUIRES: the registry's changes are held (QueueRegistry::HoldChanges): a queue that is dropped or gets
// options between the check and the carrying out would make half a group of it.
void Core::Impl::RunGroup(GroupTask* task) {
  GroupRequest* const group = task->group;
  if (shared_->writes->failed()) {
    group->error =
        Error(ErrorCode::kShutdown, "the store has failed: " + shared_->writes->failure().text());
    return;
  }
  if (!task->error.ok()) {
    group->error = task->error;
    group->failed = task->failed;
    return;
  }
  HoldClocks(*group, true);
  for (uint16_t i = 0; i < shared_->cores; ++i) {
    if ((group->cores >> i & 1) != 0) Neighbour(CoreId(i))->SwitchAllLives();
  }
  GroupRun run;
  run.view = task->view.get();
  for (size_t i = 0; i < group->members.size() && group->error.ok(); ++i) {
    run.member = i;
    group->error = CheckMember(&run, *task, group->members[i].get());
    if (!group->error.ok()) group->failed = i;
  }
  if (group->error.ok() && !run.room.empty()) {
    group->error = TakeGroupRoom(&run);
    if (!group->error.ok()) group->failed = run.member;
  }
  if (group->error.ok()) {
    NoteGroupData(task->batch);
    if (const size_t bytes = PayloadBytes(*group); bytes > limits::kBatchBytes)
      task->batch.Reserve(bytes);
    Error broken;
    for (size_t i = 0; i < group->members.size() && broken.ok(); ++i)
      broken = RunMember(task, group->members[i].get());
    if (!broken.ok()) {
      // The disk could not give again what it gave a moment ago: half of the group is in memory, and none
      // of it may be written.
      shared_->writes->FailWith(
          Error(broken.code(), "a group was broken off half carried out: " + broken.text()));
      group->error = Error(ErrorCode::kNotDurable,
                           "the write's outcome is unknown: " + shared_->writes->failure().text());
    } else {
      if (!run.room.empty()) LevelRoom(*group, run);
      SubmitGroup(task);
    }
  }
  HoldClocks(*group, false);
}

// --- Before anything is changed ---

Error Core::Impl::CheckMember(GroupRun* run, const GroupTask& task, Request* member) {
  switch (member->kind) {
    case RequestKind::kEnqueue:
      return CheckEnqueue(run, member, static_cast<EnqueueRequest*>(member), 1);
    case RequestKind::kEnqueueMany: {
      auto* const many = static_cast<EnqueueManyRequest*>(member);
      return CheckEnqueue(run, member, &many->job, many->payloads.size());
    }
    case RequestKind::kRenew:
      return CheckReceipt(run, static_cast<const RenewRequest&>(*member).receipt, false);
    case RequestKind::kCheckpoint:
      return CheckReceipt(run, static_cast<const CheckpointRequest&>(*member).receipt, false);
    case RequestKind::kComplete: {
      const Receipt& receipt = static_cast<const CompleteRequest&>(*member).receipt;
      NoteLeaves(run, *member, receipt);
      VESTQ_RETURN_IF_ERROR(CheckReceipt(run, receipt, true));
      run->over.insert(receipt.id);
      return Error::Ok();
    }
    case RequestKind::kFail:
      NoteLeaves(run, *member, static_cast<const FailRequest&>(*member).receipt);
      return CheckReceipt(run, static_cast<const FailRequest&>(*member).receipt, true);
    case RequestKind::kRelease:
      return CheckReceipt(run, static_cast<const ReleaseRequest&>(*member).receipt, true);
    case RequestKind::kCompleteMany: {
      auto& many = static_cast<CompleteManyRequest&>(*member);
      many.completed.assign(many.receipts.size(), 0);
      for (size_t i = 0; i < many.receipts.size(); ++i) {
        NoteLeaves(run, *member, many.receipts[i]);
        many.completed[i] = CheckReceipt(run, many.receipts[i], true).ok();
        if (many.completed[i]) run->over.insert(many.receipts[i].id);
      }
      return Error::Ok();
    }
    case RequestKind::kCancel:
      return CheckCancel(run, task, static_cast<const CancelRequest&>(*member).id);
    default: return Error::Ok();  // the application's data is carried out already, into the batch
  }
}

// A child of this group learns of its parent behind the batch, when a parent that was cancelled would be
// gone without a trace; one that is over already has nobody wait for it, and its CANCEL answers 0.
Error Core::Impl::CheckCancel(GroupRun* run, const GroupTask& task, JobId id) {
  if (run->parents.contains(id) && !run->over.contains(id)) {
    const LaneId lane = shared_->LaneOf(id);
    bool unfinished = Neighbour(shared_->OwnerOf(lane))->LeaseOf(id) != nullptr;
    if (!unfinished) {
      LookupTask job(lane, id, shared_->queues.get());
      VESTQ_RETURN_IF_ERROR(job.Run(*task.view));  // PlanCancel has had it read
      unfinished = job.state != JobState::kGone && job.state != JobState::kDone;
    }
    if (unfinished) {
      return Error(ErrorCode::kBusy,
                   "an earlier command of the group waits for job " + std::to_string(id.value()));
    }
  }
  run->ended.insert(id);  // also of a lease that lives
  run->over.insert(id);
  return Error::Ok();
}

// What ENQUEUE can be refused for; also of a unique key that is held.
Error Core::Impl::CheckEnqueue(GroupRun* run, const Request* member, EnqueueRequest* job,
                               size_t jobs) {
  Impl* const owner = OwnerOfMember(*member);
  const Result<QueueRecord*> record = owner->RecordOf(job->queue);
  if (!record.ok()) return record.error();
  CoreQueue* const queue = owner->QueueHere(*record);
  const Result<keycodec::JobHeader> header = owner->MakeHeader(*queue, *job);
  if (!header.ok()) return header.error();
  if (queue->backlog != nullptr) {
    const Backlog want = member->kind == RequestKind::kEnqueueMany
                             ? WantOf(static_cast<const EnqueueManyRequest&>(*member))
                             : Backlog{1, static_cast<int64_t>(job->payload.size())};
    VESTQ_RETURN_IF_ERROR(owner->CheckRoom(run, queue, *job, want));
  }
  if (!job->after.empty()) {
    VESTQ_RETURN_IF_ERROR(owner->CheckAfter(job, jobs));
    run->edges += job->after.size() * jobs;
    run->parents.insert(job->after.begin(), job->after.end());
    if (run->edges > limits::kAfterMax) {
      return Error(ErrorCode::kRange, "AFTER: the group makes more than " +
                                          std::to_string(limits::kAfterMax) + " edges");
    }
  }
  run->jobs += jobs;
  // Each core takes ids in blocks, and leaves some of the last one.
  const uint64_t most = 2 * (run->jobs + uint64_t{limits::kIdBlock} * shared_->cores);
  if (shared_->ids->bound() + most > limits::kJobIdMax / shared_->lanes) {
    return Error(ErrorCode::kFull, "this store has given out nearly all its job ids, " +
                                       std::to_string(limits::kJobIdMax));
  }
  return Error::Ok();
}

Error Core::Impl::CheckReceipt(GroupRun* run, const Receipt& receipt, bool ends) {
  Impl* const owner = Neighbour(shared_->OwnerOf(shared_->LaneOf(receipt.id)));
  if (owner->LiveLease(receipt) == nullptr || run->ended.contains(receipt.id))
    return LeaseLostError(receipt);
  if (ends) run->ended.insert(receipt.id);
  return Error::Ok();
}

// --- Room (core_backlog.cc) ---
//
// A group gets room for what it adds beyond what it ends: who completes a job and enqueues the next one in
// one step needs none. Of what it ends only leases are known before it is carried out.

void Core::Impl::NoteLeaves(GroupRun* run, const Request& member, const Receipt& receipt) {
  Impl* const owner = Neighbour(shared_->OwnerOf(shared_->LaneOf(receipt.id)));
  const Lease* const lease = owner->LiveLease(receipt);
  if (lease == nullptr || run->ended.contains(receipt.id)) return;
  const CoreQueue* const queue = owner->QueueById(lease->queue);
  if (queue == nullptr || queue->backlog == nullptr) return;
  const bool used_up = lease->attempts_max != 0 && lease->attempt >= lease->attempts_max;
  if (member.kind == RequestKind::kFail && !used_up &&
      !static_cast<const FailRequest&>(member).to_dead) {
    return;
  }
  run->RoomOf(queue->record).leaves += {1, lease->payload_bytes};
}

// The owner's: a job that it would add. A duplicate needs no room.
Error Core::Impl::CheckRoom(GroupRun* run, CoreQueue* queue, const EnqueueRequest& job,
                            Backlog want) {
  if (!job.unique_key.empty()) {
    UniqueTask task(LaneForJob(job),
                    keycodec::UniqueKey(queue->life.number, job.space, job.unique_key),
                    shared_->queues.get());
    if (!run->keys.insert(task.row_key).second) {
      want = {0, job.unique_replace ? want.bytes : 0};
    } else {
      VESTQ_RETURN_IF_ERROR(task.Run(*run->view));
      const bool window = task.row && HoldsWindow(*queue, *task.row);
      const bool live = task.row && task.row->live && !run->ended.contains(task.row->id) &&
                        (LeaseOf(task.row->id) != nullptr || task.holder->state != JobState::kGone);
      const bool replaces = live && job.unique_replace && task.holder->record;
      const auto before =
          replaces ? static_cast<int64_t>(task.holder->record->payload.size()) : int64_t{0};
      if (window || live) want = {0, replaces ? std::max<int64_t>(0, want.bytes - before) : 0};
    }
  }
  GroupRun::Room& room = run->RoomOf(queue->record);
  room.adds += want;
  room.owner = this;
  room.member = run->member;
  return Error::Ok();
}

// For all of it, or the group is refused: what was taken is given back then. BACKLOG-1.
Error Core::Impl::TakeGroupRoom(GroupRun* run) {
  for (const auto& [ordinal, room] : run->room) {
    if (room.owner == nullptr) continue;
    CoreQueue* const queue = room.owner->QueueHere(room.record);
    const Backlog more = room.adds - room.leaves;
    const Backlog want{std::max<int64_t>(0, more.jobs), std::max<int64_t>(0, more.bytes)};
    if (room.owner->TakeRoom(queue, want)) continue;
    run->member = room.member;
    queue->backlog->queue->refused.fetch_add(1, std::memory_order_relaxed);
    return NoRoomError(*queue, want);
  }
  return Error::Ok();
}

// What one core has more now another has less: they settle it among themselves, and one of them gives back
// what is over. Else room that the one gave might be taken before the other takes it.
void Core::Impl::LevelRoom(const GroupRequest& group, const GroupRun& run) {
  for (const auto& [ordinal, room] : run.room) {
    Backlog moved;
    CoreQueue* last = nullptr;
    Impl* owner = nullptr;
    for (uint16_t i = 0; i < shared_->cores; ++i) {
      CoreQueue* const queue = room.record->slots[i].core_queue;
      if ((group.cores >> i & 1) == 0 || queue == nullptr || queue->backlog == nullptr) continue;
      const Backlog more = Occupied(*queue) - queue->backlog->held;
      queue->backlog->held += more;
      moved += more;
      last = queue;
      owner = Neighbour(CoreId(i));
    }
    if (last == nullptr) continue;
    last->backlog->held -= moved;
    owner->RoomChanged(last);
  }
}

// --- Carrying out ---

// Errors: what the store could not read; then the group is half done.
Error Core::Impl::RunMember(GroupTask* task, Request* member) {
  switch (member->kind) {
    case RequestKind::kDataSet:
    case RequestKind::kDataGet:
    case RequestKind::kDataDelete:
    case RequestKind::kDataRange: return Error::Ok();
    case RequestKind::kCompleteMany: {
      const auto& many = static_cast<const CompleteManyRequest&>(*member);
      for (size_t i = 0; i < many.receipts.size(); ++i) {
        if (many.completed[i] == 0) continue;
        CompleteRequest complete;
        complete.receipt = many.receipts[i];
        VESTQ_RETURN_IF_ERROR(RunOne(task, &complete));
      }
      return Error::Ok();
    }
    default: {
      VESTQ_RETURN_IF_ERROR(RunOne(task, member));
      DropPayloads(member);
      return Error::Ok();
    }
  }
}

Error Core::Impl::RunOne(GroupTask* task, Request* member) {
  Impl* const owner = OwnerOfMember(*member);
  member->origin = owner->id_;
  member->stream = nullptr;
  member->error = Error::Ok();
  member->stage = 0;
  member->executed = false;
  std::swap(owner->batch_, task->batch);
  if (frozen_) {
    owner->group_view_ = task->view.get();
    task->view->Follow(&owner->batch_);
  }
  owner->in_group_ = true;
  owner->Execute(member);
  owner->in_group_ = false;
  CHECK(!owner->executed_.empty() && owner->executed_.back() == member,
        "GROUP-3: a member is carried out at once");
  owner->executed_.pop_back();
  owner->group_view_ = nullptr;
  std::swap(owner->batch_, task->batch);
  task->view->Follow(&task->batch);
  return member->error;
}

// Reads under way at their owners must know what the group writes.
void Core::Impl::NoteGroupData(const Batch& batch) {
  batch.Visit(0, [this, &batch](const Batch::Record& record) {
    if (record.family != Family::kKv) return;
    Impl* const owner = Neighbour(OwnerOfData(*shared_, record.key));
    const std::string key(record.key);
    if (!owner->data_wanted_.contains(key)) return;
    const std::string value(batch.Bytes(record.value_at, record.value_bytes));
    owner->NoteData(key, record.put ? &value : nullptr);
  });
}

// GROUP-1: one batch, with the counters of all owners. Within a turn it is part of the turn's.
void Core::Impl::SubmitGroup(GroupTask* task) {
  if (!frozen_) return batch_.Take(&task->batch);
  for (uint16_t i = 0; i < shared_->cores; ++i) {
    if ((task->group->cores >> i & 1) != 0) Neighbour(CoreId(i))->AppendCounters(&task->batch);
  }
  if (!task->batch.empty()) {
    value_.clear();
    keycodec::Append(shared_->clock->Snapshot(), &value_);
    task->batch.Put(Family::kRows, keycodec::ClockKey(id_.value()), value_);
    const Ticket ticket = shared_->writes->Submit(&task->batch);
    for (uint16_t i = 0; i < shared_->cores; ++i) {
      if ((task->group->cores >> i & 1) != 0) Neighbour(CoreId(i))->last_ticket_ = ticket;
    }
    WriteBehind();
  }
  // What it read may be newer than what it wrote.
  task->group->ticket = std::max(task->group->ticket, shared_->writes->submitted());
}

void Core::Impl::ReadFor(std::unique_ptr<ReadTask> task) {
  if (group_view_ == nullptr) return SubmitRead(std::move(task));
  task->core = id_;
  task->error = task->Run(*group_view_);
  task->finish(task.get());
}

}  // namespace vestq
