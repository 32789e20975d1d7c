// Where requests go: to the core that owns what they are about, in the order of their stream.
#include <algorithm>

#include "engine/base/check.h"
#include "engine/core_impl.h"
#include "engine/group_request.h"
#include "engine/jobs_part.h"
#include "engine/kv_request.h"
#include "engine/purge_request.h"
#include "engine/request_check.h"
#include "engine/schedule_request.h"
#include "engine/space_probe.h"
#include "engine/space_request.h"
#include "engine/watch_request.h"

namespace vestq {
namespace {
// Stands for "no single owner": the request runs alone in its stream.
constexpr CoreId kNoCore(0xFFFF);

inline void BeginWait(EnqueueRequest* job) {
  if (job->wait == Duration(0)) return;
  job->abandoned.store(false, std::memory_order_relaxed);
  job->wait_until = MonoTime();
}
}  // namespace

CoreId Core::Impl::Target(const EngineShared& shared, const Request& request, CoreId self) {
  auto owner = [&](JobId id) { return shared.OwnerOf(shared.LaneOf(id)); };
  switch (request.kind) {
    case RequestKind::kEnqueue: {
      const auto& enqueue = static_cast<const EnqueueRequest&>(request);
      const std::string_view fixed = FixesLane(enqueue);
      if (fixed.empty()) return self;
      return shared.OwnerOf(keycodec::LaneOfSpace(enqueue.queue, fixed, shared.lanes));
    }
    case RequestKind::kEnqueueMany: {
      const auto& job = static_cast<const EnqueueManyRequest&>(request).job;
      const std::string_view fixed = FixesLane(job);
      if (fixed.empty()) return self;
      return shared.OwnerOf(keycodec::LaneOfSpace(job.queue, fixed, shared.lanes));
    }
    case RequestKind::kJobsPart: return static_cast<const JobsPart&>(request).owner;
    case RequestKind::kWorkers:
    case RequestKind::kPeek:
    case RequestKind::kQueueSet:
    case RequestKind::kDataGet:
    case RequestKind::kDataRange:
    case RequestKind::kRedrive:
    case RequestKind::kGroup:
    case RequestKind::kCompleteMany:
    case RequestKind::kEvents:
    case RequestKind::kQueueInfo:
    case RequestKind::kPurge:
    case RequestKind::kSpaces:
    case RequestKind::kLease: return self;
    case RequestKind::kSpaceSet: {
      const auto& set = static_cast<const SpaceSetRequest&>(request);
      return shared.OwnerOf(keycodec::LaneOfSpace(set.queue, set.space, shared.lanes));
    }
    case RequestKind::kSpaceProbe: return static_cast<const SpaceProbe&>(request).owner;
    case RequestKind::kWaitFor: return owner(static_cast<const WaitForRequest&>(request).id);
    case RequestKind::kDataSet:
      return OwnerOfData(shared, static_cast<const DataSetRequest&>(request).key);
    case RequestKind::kDataDelete:
      return OwnerOfData(shared, static_cast<const DataDeleteRequest&>(request).keys.front());
    case RequestKind::kRenew: return owner(static_cast<const RenewRequest&>(request).receipt.id);
    case RequestKind::kComplete:
      return owner(static_cast<const CompleteRequest&>(request).receipt.id);
    case RequestKind::kFail: return owner(static_cast<const FailRequest&>(request).receipt.id);
    case RequestKind::kRelease:
      return owner(static_cast<const ReleaseRequest&>(request).receipt.id);
    case RequestKind::kCancel: return owner(static_cast<const CancelRequest&>(request).id);
    case RequestKind::kJob: return owner(static_cast<const JobRequest&>(request).id);
    case RequestKind::kRevoke: return owner(static_cast<const RevokeRequest&>(request).id);
    case RequestKind::kPromote: return owner(static_cast<const PromoteRequest&>(request).id);
    case RequestKind::kReschedule: return owner(static_cast<const RescheduleRequest&>(request).id);
    case RequestKind::kSchedule: return self;  // finds its owner when it is carried out
    case RequestKind::kCheckpoint:
      return owner(static_cast<const CheckpointRequest&>(request).receipt.id);
  }
  return self;
}

// Requests that may look at several cores, or wait for a read: nothing of the same stream runs
// beside them.
bool Core::Impl::Exclusive(const Request& request) {
  switch (request.kind) {
    case RequestKind::kEnqueue: {
      const auto& job = static_cast<const EnqueueRequest&>(request);
      return !job.unique_key.empty() || job.wait > Duration(0);
    }
    case RequestKind::kDataSet:
      return static_cast<const DataSetRequest&>(request).when != DataSetRequest::When::kAlways;
    case RequestKind::kEnqueueMany:
      return static_cast<const EnqueueManyRequest&>(request).job.wait > Duration(0);
    case RequestKind::kRenew:
    case RequestKind::kComplete: return false;
    case RequestKind::kLease:
    case RequestKind::kFail:
    case RequestKind::kRelease:
    case RequestKind::kCancel:
    case RequestKind::kJob:
    case RequestKind::kRevoke:
    case RequestKind::kPromote:
    case RequestKind::kReschedule:
    case RequestKind::kDataDelete:
    case RequestKind::kDataGet:
    case RequestKind::kDataRange:
    case RequestKind::kCheckpoint:
    case RequestKind::kSchedule:
    case RequestKind::kQueueSet:
    case RequestKind::kWorkers:
    case RequestKind::kPeek:
    case RequestKind::kRedrive:
    case RequestKind::kGroup:
    case RequestKind::kCompleteMany:
    case RequestKind::kWaitFor:
    case RequestKind::kEvents:
    case RequestKind::kQueueInfo:
    case RequestKind::kSpaceProbe:
    case RequestKind::kSpaceSet:
    case RequestKind::kSpaces:
    case RequestKind::kPurge:
    case RequestKind::kJobsPart: return true;
  }
  return true;
}

void Core::Impl::Start(Request* request) {
  request->origin = id_;
  request->error = Error::Ok();
  request->ticket = Ticket(0);
  request->stage = 0;
  request->executed = false;
  request->next = nullptr;
  if (request->kind == RequestKind::kLease) {
    // Not when it is carried out: it may be abandoned while its stream holds it back.
    auto* const lease = static_cast<LeaseRequest*>(request);
    lease->abandoned = false;
    lease->waiting = false;
  } else if (request->kind == RequestKind::kEnqueue) {
    BeginWait(static_cast<EnqueueRequest*>(request));
  } else if (request->kind == RequestKind::kEnqueueMany) {
    BeginWait(&static_cast<EnqueueManyRequest*>(request)->job);
  } else if (request->kind == RequestKind::kWaitFor) {
    auto* const wait = static_cast<WaitForRequest*>(request);
    wait->abandoned = wait->under_way = wait->ended = false;
  } else if (request->kind == RequestKind::kEvents) {
    static_cast<EventsRequest*>(request)->abandoned = false;
  }
  Stream* const stream = request->stream;
  if (stream != nullptr) {
    (stream->head == nullptr ? stream->head : stream->tail->next) = request;
    stream->tail = request;
    PumpStream(stream);
  } else {
    Dispatch(request);
  }
}

void Core::Impl::PumpStream(Stream* stream) {
  // What is carried out at once comes back here (Executed): the loop below goes on, not a deeper one.
  if (stream->pumping) return;
  if (frozen_) {
    held_streams_.push_back(stream);
    return;
  }
  stream->pumping = true;
  while (stream->head != nullptr) {
    Request* const request = stream->head;
    const bool exclusive = Exclusive(*request);
    CoreId target = exclusive ? kNoCore : Target(*shared_, *request, id_);
    // A COMPLETE may wait for a read at its owner, so only further ones go beside it.
    if (request->kind == RequestKind::kComplete)
      target = CoreId(static_cast<uint16_t>(target.value() + limits::kCoresMax));
    if (stream->running > 0 && (exclusive || stream->owner != target)) break;
    stream->head = request->next;
    if (stream->head == nullptr) stream->tail = nullptr;
    request->next = nullptr;
    stream->owner = target;
    ++stream->running;
    Dispatch(request);
  }
  stream->pumping = false;
}

void Core::Impl::DropStream(Stream* stream) {
  while (stream->head != nullptr) {
    Request* const request = stream->head;
    stream->head = request->next;
    request->next = nullptr;
    request->error = Error(ErrorCode::kShutdown, "the connection is gone");
    request->stream = nullptr;
    refused_.push_back(request);
  }
  stream->tail = nullptr;
  if (frozen_) std::erase(held_streams_, stream);
}

void Core::Impl::Dispatch(Request* request) {
  if (frozen_) {
    held_requests_.push_back(request);
    return;
  }
  if (shared_->writes->failed()) {
    request->error =
        Error(ErrorCode::kShutdown, "the store has failed: " + shared_->writes->failure().text());
    Executed(request);
    return;
  }
  if (Error error = CheckRequest(request, shared_->PayloadMax()); !error.ok()) [[unlikely]] {
    request->error = std::move(error);
    return Executed(request);
  }
  if (request->kind == RequestKind::kWaitFor) {
    auto* const wait = static_cast<WaitForRequest*>(request);
    if (wait->abandoned) return Executed(request);
    wait->under_way = true;
  }
  const CoreId target = Target(*shared_, *request, id_);
  if (target == id_) {
    Execute(request);
  } else {
    Send(target, Message{Message::Kind::kExecute, request, nullptr});
  }
}

void Core::Impl::Execute(Request* request) {
  switch (request->kind) {
    case RequestKind::kEnqueue: Enqueue(static_cast<EnqueueRequest*>(request)); return;
    case RequestKind::kLease: StartLease(static_cast<LeaseRequest*>(request)); return;
    case RequestKind::kRenew: Renew(static_cast<RenewRequest*>(request)); return;
    case RequestKind::kComplete: Complete(static_cast<CompleteRequest*>(request)); return;
    case RequestKind::kFail: Fail(static_cast<FailRequest*>(request), nullptr); return;
    case RequestKind::kRelease: Release(static_cast<ReleaseRequest*>(request), nullptr); return;
    case RequestKind::kCancel: Cancel(static_cast<CancelRequest*>(request)); return;
    case RequestKind::kJob: Describe(static_cast<JobRequest*>(request)); return;
    case RequestKind::kEnqueueMany: EnqueueMany(static_cast<EnqueueManyRequest*>(request)); return;
    case RequestKind::kWorkers: Workers(static_cast<WorkersRequest*>(request)); return;
    case RequestKind::kPeek: Peek(static_cast<PeekRequest*>(request)); return;
    case RequestKind::kRedrive: Redrive(static_cast<RedriveRequest*>(request)); return;
    case RequestKind::kPurge: Purge(static_cast<PurgeRequest*>(request)); return;
    case RequestKind::kJobsPart: DoPart(static_cast<JobsPart*>(request)); return;
    case RequestKind::kRevoke: Revoke(static_cast<RevokeRequest*>(request)); return;
    case RequestKind::kPromote: Promote(static_cast<PromoteRequest*>(request)); return;
    case RequestKind::kReschedule: Reschedule(static_cast<RescheduleRequest*>(request)); return;
    case RequestKind::kDataSet: SetData(static_cast<DataSetRequest*>(request)); return;
    case RequestKind::kDataDelete: DeleteData(static_cast<DataDeleteRequest*>(request)); return;
    case RequestKind::kDataGet: GetData(static_cast<DataGetRequest*>(request)); return;
    case RequestKind::kDataRange: RangeData(static_cast<DataRangeRequest*>(request)); return;
    case RequestKind::kQueueSet: SetQueue(static_cast<QueueSetRequest*>(request)); return;
    case RequestKind::kSchedule: Schedule(static_cast<ScheduleRequest*>(request)); return;
    case RequestKind::kWaitFor: WaitFor(static_cast<WaitForRequest*>(request)); return;
    case RequestKind::kEvents: Events(static_cast<EventsRequest*>(request)); return;
    case RequestKind::kQueueInfo: QueueInfo(static_cast<QueueInfoRequest*>(request)); return;
    case RequestKind::kSpaceProbe: Probe(static_cast<SpaceProbe*>(request)); return;
    case RequestKind::kSpaceSet: SetSpace(static_cast<SpaceSetRequest*>(request)); return;
    case RequestKind::kSpaces: Spaces(static_cast<SpacesRequest*>(request)); return;
    case RequestKind::kCheckpoint:
      Checkpoint(static_cast<CheckpointRequest*>(request), nullptr);
      return;
    case RequestKind::kGroup: Group(static_cast<GroupRequest*>(request)); return;
    case RequestKind::kCompleteMany:
      return Refuse(request, Error(ErrorCode::kSyntax, "COMPLETEMANY as one request is a group's"));
  }
}

void Core::Impl::Executed(Request* request) {
  executed_.push_back(request);
  // Its stream goes on at once when it started here: what comes behind it sees its effect.
  if (request->origin == id_ && request->stream != nullptr && !request->executed) {
    request->executed = true;
    Stream* const stream = request->stream;
    DCHECK(stream->running > 0);
    if (--stream->running == 0 && stream->head != nullptr) PumpStream(stream);
  }
}

void Core::Impl::Arrived(Request* request) {
  awaiting_.push_back(request);
  if (request->stream != nullptr && !request->executed) {
    request->executed = true;
    Stream* const stream = request->stream;
    DCHECK(stream->running > 0);
    if (--stream->running == 0 && stream->head != nullptr) PumpStream(stream);
  }
}

}  // namespace vestq
