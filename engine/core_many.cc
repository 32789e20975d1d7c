// ENQUEUEMANY and WORKERS, and how work that would hold up a turn is cut into slices.
#include <algorithm>

#include "engine/base/check.h"
#include "engine/core_impl.h"

namespace vestq {
namespace {
// Places of the lease table that one turn passes over: about a millisecond.
constexpr uint32_t kLeasesASlice = 4096;
}  // namespace

bool Core::Impl::RunLater() {
  if (later_.empty()) return false;
  for (auto& work : std::exchange(later_, {})) work();
  return true;
}

// --- ENQUEUEMANY ---

void Core::Impl::EnqueueMany(EnqueueManyRequest* request, const Backlog& room) {
  const auto count = static_cast<uint64_t>(request->payloads.size());
  request->ids.clear();
  request->job.subscriptions.reset();
  if (const Error error = CheckAfter(&request->job, count); !error.ok())
    return Refuse(request, error);
  const Result<QueueRecord*> found = RecordOf(request->job.queue);
  if (!found.ok()) return Refuse(request, found.error());
  CoreQueue* const queue = QueueHere(*found);
  const LaneId lane = LaneForJob(request->job);
  // All ids are there before the first job is: afterwards only what holds for all can be refused,
  // and that is found with the first.
  if (ids_.end - ids_.next < count) ids_ = shared_->ids->Take();
  if ((ids_.next + count - 1) * shared_->lanes + lane.value() > limits::kJobIdMax) {
    return Refuse(request, Error(ErrorCode::kFull, "this store has given out its last job id, " +
                                                       std::to_string(limits::kJobIdMax)));
  }
  if (queue->backlog != nullptr && !in_group_) [[unlikely]] {
    const Backlog want = WantOf(*request);
    if (!TakeRoom(queue, want, room)) return NoRoom(queue, request, &request->job, want);
  }
  request->ids.reserve(count);
  for (std::string& payload : request->payloads) {
    request->job.payload.swap(payload);
    const Error error = AddJob(queue, lane, &request->job);
    request->job.payload.swap(payload);
    if (!error.ok()) {
      CHECK(request->ids.empty(), "what is refused is refused with the first");
      return Refuse(request, error);
    }
    request->ids.push_back(request->job.id);
  }
  EndEnqueue(request, request->job.subscriptions);
}

// --- WORKERS ---

void Core::Impl::Workers(WorkersRequest* request) {
  if (request->at_core == 0 && request->at_lease == 0 && request->origin == id_ &&
      !request->queue.empty() && !KnowsQueue(request->queue)) {
    return Refuse(request,
                  Error(ErrorCode::kNotFound, "there is no queue '" + request->queue + "'"));
  }
  if (CoreId(request->at_core) != id_) return Forward(request, CoreId(request->at_core));
  WorkersSlice(request);
}

void Core::Impl::WorkersSlice(WorkersRequest* request) {
  const QueueRecord* const only =
      request->queue.empty() ? nullptr : shared_->queues->Find(request->queue);
  const MonoTime at = now();
  auto& rows = request->rows;
  request->at_lease =
      leases_.VisitSlice(request->at_lease, kLeasesASlice, [&](const Lease& lease, uint32_t) {
        if (lease.ending) return;
        const CoreQueue* const queue = QueueById(lease.queue);
        if (queue == nullptr || (only != nullptr && queue->record != only)) return;
        std::pair<std::string, std::string> key(queue->record->name, lease.worker);
        if (rows.size() == limits::kWorkerRows && std::prev(rows.end())->first < key) {
          ++request->others;
          return;
        }
        WorkersRequest::Row& row = rows[std::move(key)];
        ++row.leases;
        row.oldest = std::max(row.oldest, at - (lease.deadline - lease.granted));
        if (rows.size() <= limits::kWorkerRows) return;
        // One that makes way once has no place later either: those before it only become more.
        request->others += std::prev(rows.end())->second.leases;
        rows.erase(std::prev(rows.end()));
      });
  if (request->at_lease != 0) {
    return Later([this, request] { WorkersSlice(request); });
  }
  if (++request->at_core < shared_->cores) return Forward(request, CoreId(request->at_core));
  Executed(request);
}

}  // namespace vestq
