// PEEK: jobs of a queue by state, in pages. Where they stand is read by a reader (or, of leased jobs,
// from the lease tables), what they are is asked of their owners, in parts.
#include <algorithm>

#include "engine/base/check.h"
#include "engine/core_impl.h"
#include "engine/jobs_part.h"
#include "engine/lookup_task.h"
#include "engine/peek_cursor.h"
#include "engine/peek_task.h"

namespace vestq {
namespace {
constexpr size_t kKeysAPage = 16'384;         // read for one page, about 20 ms of a reader
constexpr uint32_t kLeasesASlice = 4096;      // places of the lease table a turn
constexpr uint32_t kLeasesAPage = 64 * 4096;  // for one page
// Jobs of a part that are read at once: enough to keep the readers busy, few enough for their records
// to fit in memory. With payloads one after the other.
constexpr size_t kLookups = 4;
}  // namespace

// --- At the owner: work on many jobs, a few at a time ---

struct Core::Impl::Walk {
  size_t items = 0;
  size_t window = 0;
  std::function<void(size_t i, WalkStep then)> one;
  std::function<void()> finished;
  size_t next = 0;
  size_t running = 0;
  bool enough = false;
};

// Calls one(i, then) for each i < items, at most `window` of them under way; each calls `then`, in a
// later turn, with whether to go on. Calls `finished` when none is under way any more.
void Core::Impl::WalkJobs(size_t items, size_t window,
                          std::function<void(size_t i, WalkStep then)> one,
                          std::function<void()> finished) {
  auto walk = std::make_shared<Walk>();
  walk->items = items;
  walk->window = window;
  walk->one = std::move(one);
  walk->finished = std::move(finished);
  WalkOn(walk);
}

void Core::Impl::WalkOn(const std::shared_ptr<Walk>& walk) {
  while (!walk->enough && walk->next < walk->items && walk->running < walk->window) {
    const size_t i = walk->next++;
    ++walk->running;
    walk->one(i, [this, walk](bool go_on) {
      --walk->running;
      walk->enough |= !go_on;
      WalkOn(walk);
    });
  }
  if (walk->running == 0) walk->finished();
}

void Core::Impl::DoPart(JobsPart* part) {
  switch (part->work) {
    case JobsPart::Work::kDescribe: return DescribePart(part);
    case JobsPart::Work::kRedrive: return RedrivePart(part);
    case JobsPart::Work::kDrop: return DropPart(part);
    case JobsPart::Work::kKeep: return KeepPart(part);
    case JobsPart::Work::kForget: return ForgetPart(part);
    case JobsPart::Work::kNote: return NotePart(part);
    case JobsPart::Work::kHandover: return TakeWord(part);
    case JobsPart::Work::kSwitch: return SwitchPart(part);
    case JobsPart::Work::kErase: return ErasePart(part);
    case JobsPart::Work::kRemove: return RemovePart(part);
    case JobsPart::Work::kRemoveLeases: return RemoveLeasesPart(part, 0);
    case JobsPart::Work::kRemoveWindows: return RemoveWindowsPart(part, std::string());
    case JobsPart::Work::kCount: return CountPart(part);
    case JobsPart::Work::kVanish:
    case JobsPart::Work::kVanished: return VanishPart(part);
  }
}

void Core::Impl::DescribePart(JobsPart* part) {
  part->jobs.clear();
  part->jobs.resize(part->ids.size());
  auto bytes = std::make_shared<uint64_t>(0);
  WalkJobs(
      part->ids.size(), part->want_payload ? 1 : kLookups,
      [this, part, bytes](size_t i, WalkStep then) {
        Lookup(part->ids[i], [this, part, bytes, i, then](const LookupTask* task) {
          then(DescribeOne(part, i, bytes.get(), task));
        });
      },
      [this, part] { Executed(part); });
}

// False: that was enough.
bool Core::Impl::DescribeOne(JobsPart* part, size_t i, uint64_t* bytes, const LookupTask* task) {
  if (!task->error.ok()) {
    part->error = task->error;
    return false;
  }
  auto job = std::make_unique<JobRequest>();
  job->id = task->id;
  job->want_payload = part->want_payload;
  DescribeFound(job.get(), task);
  const uint64_t size = VariableBytes(*job);
  if (*bytes > 0 && *bytes + size > part->max_bytes) return false;
  *bytes += size;
  part->jobs[i] = std::move(job);
  return true;
}

// --- At the origin ---

Error Core::Impl::StartPeek(PeekRequest* request) {
  request->found.clear();
  request->jobs.clear();
  request->error = Error::Ok();
  if (!KnowsQueue(request->queue))
    return Error(ErrorCode::kNotFound, "there is no queue '" + request->queue + "'");
  PeekCursor at;
  if (request->cursor != "0") {
    const Result<PeekCursor> parsed = PeekCursor::Parse(*request, request->cursor);
    if (!parsed.ok()) return parsed.error();
    at = *parsed;
  }
  request->cursor = "0";
  if (request->state == JobState::kLeased) {
    if (at.epoch != 0 && at.epoch != shared_->epoch) {
      return Error(ErrorCode::kSyntax,
                   "CURSOR: the order of leased jobs ended with a restart, begin again with 0");
    }
    request->at_core = at.core;
    request->at_lease = at.lease;
    request->places = 0;
    if (request->at_core >= shared_->cores) return Error(ErrorCode::kSyntax, PeekCursor::kWrong);
    return Error::Ok();
  }
  const Result<QueueRecord*> record = RecordOf(request->queue);
  if (!record.ok()) return record.error();
  auto task = std::make_unique<PeekTask>();
  task->state = request->state;
  const QueueLife& life = QueueHere(*record)->life;
  task->zone = {life.number, life[KindOf(request->state)], (*record)->order(), request->space};
  task->one_space = request->one_space;
  task->lanes = shared_->lanes;
  if (request->one_space && !request->space.empty())
    task->only_lane = keycodec::LaneOfSpace(request->queue, request->space, shared_->lanes);
  task->from = at.key;
  task->max_jobs = request->count;
  task->max_keys = kKeysAPage;
  // All lanes are read, so the read must see what every core has submitted, and the answer rests on
  // what may have been submitted by the time it was read.
  task->after = shared_->writes->submitted();
  PeekTask* const raw = task.get();
  task->finish = [this, request, raw](ReadTask*) {
    if (!raw->error.ok()) return Refuse(request, raw->error);
    request->ticket = std::max(request->ticket, shared_->writes->submitted());
    for (PeekTask::Found& job : raw->jobs) {
      PeekCursor behind;
      behind.key = std::move(job.next);
      request->found.push_back({job.id, behind.Text(*request)});
    }
    if (!raw->next.empty()) {
      PeekCursor onward;
      onward.key = raw->next;
      request->cursor = onward.Text(*request);
    }
    DescribePage(request);
  };
  SubmitRead(std::move(task));
  return Error::Ok();
}

void Core::Impl::Peek(PeekRequest* request) {
  if (request->stage == 0) {
    if (const Error error = StartPeek(request); !error.ok()) return Refuse(request, error);
    if (request->state != JobState::kLeased) return;
    request->stage = 1;
  }
  if (request->stage == 1) {
    if (CoreId(request->at_core) != id_) return Forward(request, CoreId(request->at_core));
    return PeekLeases(request);
  }
  DescribePage(request);
}

// Passes over this core's lease table from a place on. A lease keeps its place while it lasts.
void Core::Impl::PeekLeases(PeekRequest* request) {
  QueueRecord* const record = shared_->queues->Find(request->queue);
  const QueueId number = record == nullptr ? QueueId(0) : QueueHere(record)->life.number;
  const uint32_t from = request->at_lease;
  bool full = false;
  const uint32_t next =
      leases_.VisitSlice(from, kLeasesASlice, [&](const Lease& lease, uint32_t place) {
        if (full || lease.ending || record == nullptr || lease.queue != number) return;
        if (request->one_space && lease.space != request->space) return;
        PeekCursor behind;
        behind.epoch = shared_->epoch;
        behind.core = id_.value();
        behind.lease = place + 1;
        request->found.push_back({lease.id, behind.Text(*request)});
        full = request->found.size() == request->count;
      });
  request->places += kLeasesASlice;
  request->at_lease = next;
  if (!full && next != 0 && request->places < kLeasesAPage)
    return Later([this, request] { PeekLeases(request); });
  if (!full && next == 0 && request->at_core + 1 < shared_->cores) {
    return Forward(request, CoreId(++request->at_core));
  }
  if (full) {
    request->cursor = request->found.back().behind;
  } else if (next != 0) {
    PeekCursor onward;
    onward.epoch = shared_->epoch;
    onward.core = id_.value();
    onward.lease = next;
    request->cursor = onward.Text(*request);
  }
  request->stage = 2;
  if (request->origin != id_) return Forward(request, request->origin);
  DescribePage(request);
}

void Core::Impl::DescribePage(PeekRequest* request) {
  if (request->found.empty()) return Executed(request);
  std::vector<JobsPart*> by_core(shared_->cores, nullptr);
  request->parts.clear();
  for (const PeekRequest::Found& found : request->found) {
    const CoreId owner = shared_->OwnerOf(shared_->LaneOf(found.id));
    JobsPart*& part = by_core[owner.value()];
    if (part == nullptr) {
      auto made = std::make_unique<JobsPart>();
      part = made.get();
      part->owner = owner;
      part->want_payload = request->want_payload;
      part->max_bytes = limits::kLeaseReplyBytes;
      part->finished = [this, request] {
        if (--request->parts_running == 0) FinishPeek(request);
      };
      request->parts.push_back(std::move(made));
    }
    part->ids.push_back(found.id);
  }
  request->parts_running = request->parts.size();
  for (auto& part : request->parts) Start(part.get());
}

// The parts' jobs in the order they were found. A job that has left the state meanwhile is left out;
// where the payloads become too many, the page ends and the cursor leads on from there.
void Core::Impl::FinishPeek(PeekRequest* request) {
  std::vector<size_t> taken(shared_->cores, 0);
  std::vector<JobsPart*> by_core(shared_->cores, nullptr);
  for (auto& part : request->parts) {
    if (!part->error.ok()) return Refuse(request, part->error);
    auto* const done = static_cast<JobsPart*>(part.get());
    by_core[done->owner.value()] = done;
  }
  uint64_t bytes = 0;
  for (size_t i = 0; i < request->found.size(); ++i) {
    const CoreId owner = shared_->OwnerOf(shared_->LaneOf(request->found[i].id));
    std::unique_ptr<JobRequest>& job = by_core[owner.value()]->jobs[taken[owner.value()]++];
    const uint64_t size = job == nullptr ? 0 : VariableBytes(*job);
    if (job == nullptr || (bytes > 0 && bytes + size > limits::kLeaseReplyBytes)) {
      CHECK(i > 0, "a part describes its first job");
      request->cursor = request->found[i - 1].behind;
      break;
    }
    if (job->state != request->state || job->queue != request->queue) continue;
    bytes += size;
    request->jobs.push_back(std::move(job));
  }
  request->parts.clear();
  Executed(request);
}

}  // namespace vestq
