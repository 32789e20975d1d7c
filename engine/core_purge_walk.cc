// PURGE of what no counter tells: one space, leased jobs, single ids. The core where it was asked finds
// the jobs in slices, their owners remove them one by one, as CANCEL would, and the next slice begins when
// that is durable. So any number takes bounded memory and bounded batches, and holds up only its own
// stream.
#include <algorithm>
#include <utility>

#include "engine/base/check.h"
#include "engine/core_impl.h"
#include "engine/erase_task.h"
#include "engine/jobs_part.h"
#include "engine/lookup_task.h"
#include "engine/peek_task.h"
#include "engine/purge_request.h"

namespace vestq {
namespace {
constexpr size_t kLookups = 16;           // of a part at once
constexpr size_t kKeysASlice = 16'384;    // looked at for one slice, whether they match or not
constexpr uint32_t kLeasesASlice = 4096;  // places of the lease table a turn
}  // namespace

// --- At the origin ---

// The states one after the other, in the order in which jobs go: one that vests meanwhile is met later.
void Core::Impl::PurgeWalk(PurgeRequest* request, QueueRecord* record) {
  request->states.clear();
  if (request->state) {
    request->states = {*request->state};
  } else {
    // From the back.
    request->states = {JobState::kReady, JobState::kScheduled, JobState::kWaiting};
  }
  PurgeSlice(request, record, std::string());
}

void Core::Impl::PurgeSlice(PurgeRequest* request, QueueRecord* record, std::string from) {
  if (request->states.empty()) {
    return request->state == JobState::kDone ? PurgeEverywhere(request, record, JobState::kDone)
                                             : Executed(request);
  }
  const JobState state = request->states.back();
  if (state == JobState::kLeased) return PurgeEverywhere(request, record, state);
  const QueueLife& life = QueueHere(record)->life;
  auto task = std::make_unique<PeekTask>();
  task->state = state;
  task->zone = {life.number, life[KindOf(state)], record->order(), request->space};
  task->one_space = true;
  task->lanes = shared_->lanes;
  if (!request->space.empty())
    task->only_lane = keycodec::LaneOfSpace(record->name, request->space, shared_->lanes);
  task->from = std::move(from);
  task->max_jobs = limits::kSliceJobs;
  task->max_keys = kKeysASlice;
  task->after = shared_->writes->submitted();
  PeekTask* const raw = task.get();
  task->finish = [this, request, record, raw](ReadTask*) {
    if (!raw->error.ok()) return Refuse(request, raw->error);
    request->ticket = std::max(request->ticket, shared_->writes->submitted());
    std::vector<JobId> ids;
    ids.reserve(raw->jobs.size());
    for (const PeekTask::Found& job : raw->jobs) ids.push_back(job.id);
    if (raw->next.empty()) {
      PurgeIds(request, record, ids, [this, request, record] {
        request->states.pop_back();
        PurgeSlice(request, record, std::string());
      });
    } else {
      PurgeIds(request, record, ids,
               [this, request, record, next = raw->next] { PurgeSlice(request, record, next); });
    }
  };
  SubmitRead(std::move(task));
}

// Parts for the owners of these jobs; `then` when they are removed, durably.
void Core::Impl::PurgeIds(PurgeRequest* request, QueueRecord* record, const std::vector<JobId>& ids,
                          std::function<void()> then) {
  if (ids.empty()) return then();
  request->parts.clear();
  std::vector<JobsPart*> by_core(shared_->cores, nullptr);
  for (const JobId id : ids) {
    const CoreId owner = shared_->OwnerOf(shared_->LaneOf(id));
    JobsPart*& part = by_core[owner.value()];
    if (part == nullptr) {
      auto made = std::make_unique<JobsPart>();
      part = made.get();
      part->work = JobsPart::Work::kRemove;
      part->owner = owner;
      part->from_queue = record;
      part->state = request->ids.empty() ? request->states.back() : JobState::kGone;
      part->until_ms = request->from.ms();
      part->finished = [this, request, then] {
        if (--request->parts_running > 0) return;
        if (SumParts(request)) then();
      };
      request->parts.push_back(std::move(made));
    }
    part->ids.push_back(id);
  }
  request->parts_running = request->parts.size();
  for (const auto& part : request->parts) Start(part.get());
}

// What no listing leads to. kLeased: leases, which are in memory; kDone: windows of unique keys, whether
// anything was kept of their jobs or not.
void Core::Impl::PurgeEverywhere(PurgeRequest* request, QueueRecord* record, JobState state) {
  request->parts.clear();
  for (uint16_t core = 0; core < shared_->cores; ++core) {
    auto part = std::make_unique<JobsPart>();
    part->work =
        state == JobState::kLeased ? JobsPart::Work::kRemoveLeases : JobsPart::Work::kRemoveWindows;
    part->owner = CoreId(core);
    part->from_queue = record;
    part->one_space = request->one_space;
    part->space = request->space;
    part->finished = [this, request] {
      if (--request->parts_running == 0 && SumParts(request)) Executed(request);
    };
    request->parts.push_back(std::move(part));
  }
  request->parts_running = request->parts.size();
  for (const auto& part : request->parts) Start(part.get());
}

// False: one failed, and the request is answered.
bool Core::Impl::SumParts(PurgeRequest* request) {
  Error error;
  for (const auto& done : request->parts) {
    request->removed += static_cast<uint64_t>(static_cast<const JobsPart&>(*done).removed);
    if (!done->error.ok() && error.ok()) error = done->error;
  }
  request->parts.clear();
  if (!error.ok()) Refuse(request, error);
  return error.ok();
}

// --- At the owner ---

void Core::Impl::RemovePart(JobsPart* part) {
  WalkJobs(
      part->ids.size(), kLookups,
      [this, part](size_t i, WalkStep then) {
        Lookup(part->ids[i], [this, part, then](const LookupTask* task) {
          if (!task->error.ok()) part->error = task->error;
          if (task->error.ok()) RemoveOne(part, task);
          then(task->error.ok());
        });
      },
      [this, part] { Executed(part); });
}

void Core::Impl::RemoveOne(JobsPart* part, const LookupTask* task) {
  const CoreQueue* const queue = QueueHere(part->from_queue);
  if (!task->queue || *task->queue != queue->life.number) return;
  Lease* const lease = LeaseOf(task->id);
  const bool any = part->state == JobState::kGone;
  if (any && lease != nullptr) {
    EraseLeasedJob(lease, task, EventKind::kPurged);
    ++part->removed;
    return;
  }
  const bool lives = lease == nullptr && task->state != JobState::kGone;
  if (!lives || (any ? task->state == JobState::kDone : task->state != part->state)) return;
  if (task->state == JobState::kDone) {
    EraseKept(*task);
  } else {
    // Enqueued since: not meant, or it would never end.
    if (!any && task->record->header.enqueued_ms > part->until_ms) return;
    EraseFound(task, EventKind::kPurged);
  }
  ++part->removed;
}

void Core::Impl::EraseKept(const LookupTask& task) {
  DeleteRow(task.row->key);
  DeleteRow(keycodec::JobRowKey(task.lane, task.id));
  DeleteRow(keycodec::TimerKey(task.lane, keycodec::Clock::kEngine, task.done.keep_until_ms,
                               keycodec::TimerKind::kKept, task.id));
  TouchJob(task.id);
  Count(QueueById(*task.queue), keycodec::Counter::kDone, -1);
}

// In slices, from `from` on; empty: from the space's first unique key.
void Core::Impl::RemoveWindowsPart(JobsPart* part, std::string from) {
  auto task = std::make_unique<EraseTask>(shared_->queues.get());
  task->what = EraseTask::What::kUnique;
  task->windows_below = Incarnation(UINT32_MAX);  // of any life
  keycodec::AppendUniqueSpacePrefix(QueueHere(part->from_queue)->life.number, part->space,
                                    &task->from);
  task->upper = keycodec::PrefixSuccessor(task->from);
  if (!from.empty()) task->from = std::move(from);
  task->max_jobs = limits::kSliceJobs;
  task->rows_mark = rows_log_.Begin();
  EraseTask* const raw = task.get();
  task->finish = [this, part, raw](ReadTask*) {
    part->error = raw->error;
    if (raw->error.ok()) EraseWindows(QueueHere(part->from_queue), *raw);
    rows_log_.End(raw->rows_mark);
    if (!raw->error.ok() || raw->next.empty()) return Executed(part);
    RemoveWindowsPart(part, raw->next);
  };
  SubmitRead(std::move(task));
}

// A lease that is granted while this passes over the table may be removed or not.
void Core::Impl::RemoveLeasesPart(JobsPart* part, uint32_t place) {
  const QueueId number = QueueHere(part->from_queue)->life.number;
  std::vector<JobId> plain;
  part->ids.clear();
  const uint32_t next = leases_.VisitSlice(place, kLeasesASlice, [&](const Lease& lease, uint32_t) {
    if (lease.ending || lease.queue != number) return;
    if (part->one_space && lease.space != part->space) return;
    ((lease.flags & kEndReads) == 0 ? plain : part->ids).push_back(lease.id);
  });
  for (const JobId id : plain) EraseLeasedJob(leases_.FindById(id), nullptr, EventKind::kPurged);
  part->removed += static_cast<int64_t>(plain.size());
  const auto go_on = [this, part, next] {
    if (next == 0 || !part->error.ok()) return Executed(part);
    Later([this, part, next] { RemoveLeasesPart(part, next); });
  };
  WalkJobs(
      part->ids.size(), kLookups,
      [this, part](size_t i, WalkStep then) {
        Lookup(part->ids[i], [this, part, then](const LookupTask* task) {
          if (!task->error.ok()) part->error = task->error;
          Lease* const lease = LeaseOf(task->id);
          if (task->error.ok() && lease != nullptr && !lease->ending) {
            EraseLeasedJob(lease, task, EventKind::kPurged);
            ++part->removed;
          }
          then(task->error.ok());
        });
      },
      go_on);
}

}  // namespace vestq
