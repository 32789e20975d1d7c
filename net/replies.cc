#include "net/replies.h"

#include <charconv>
#include <string_view>

#include "lease/backoff.h"
#include "net/schedule_reply.h"

namespace vestq {

size_t HeaderBytes(const std::vector<std::pair<std::string, std::string>>& headers) {
  size_t bytes = 0;
  for (const auto& [name, value] : headers) bytes += 32 + name.size() + value.size();
  return bytes;
}

namespace {

// "id.epoch.claim" without a string of its own.
void WriteReceipt(const Receipt& receipt, RespWriter* w) {
  constexpr size_t kDigits = 20;
  char text[3 * kDigits + 2];
  char* p = std::to_chars(text, text + kDigits, receipt.id.value()).ptr;
  *p++ = '.';
  p = std::to_chars(p, p + kDigits, receipt.fence.epoch).ptr;
  *p++ = '.';
  p = std::to_chars(p, p + kDigits, receipt.fence.claim).ptr;
  w->Bulk(std::string_view(text, static_cast<size_t>(p - text)));
}

using Headers = std::vector<std::pair<std::string, std::string>>;

// Names and values in turn, as they were given: a name may stand twice.
void WriteHeaders(const Headers& headers, RespWriter* w) {
  w->Bulk("headers");
  w->Array(2 * headers.size());
  for (const auto& [name, value] : headers) {
    w->Bulk(name);
    w->Bulk(value);
  }
}

void WriteText(std::string_view name, std::string_view value, RespWriter* w) {
  w->Bulk(name);
  w->Bulk(value);
}

void WriteLeasedJob(const LeasedJob& job, RespWriter* w) {
  w->Map(11u + !job.type.empty() + !job.headers.empty() + !job.checkpoint.empty());
  w->Bulk("receipt");
  WriteReceipt(job.receipt, w);
  w->Bulk("id");
  w->BulkNumber(job.receipt.id.value());
  w->Bulk("queue");
  w->Bulk(job.queue);
  w->Bulk("space");
  w->Bulk(job.space);
  w->Bulk("payload");
  w->Bulk(job.payload);
  w->Bulk("attempt");
  w->Int(job.attempt);
  w->Bulk("attempts");
  w->Int(job.attempts);
  w->Bulk("priority");
  w->Int(job.priority);
  w->Bulk("enqueued");
  w->Int(job.enqueued.ms());
  w->Bulk("lease-left");
  w->Int(job.lease_left.ms());
  w->Bulk("deadline");
  w->Int(job.deadline.ms());
  if (!job.type.empty()) WriteText("type", job.type, w);
  if (!job.headers.empty()) WriteHeaders(job.headers, w);
  if (!job.checkpoint.empty()) WriteText("checkpoint", job.checkpoint, w);
}

void WriteSpan(std::string_view name, Duration span, RespWriter* w) {
  w->Bulk(name);
  w->Int(span.ms());
}

// Options of the job's own, those that there are; without a writer they are only counted.
size_t WriteOwn(const OwnOptions& own, RespWriter* w) {
  size_t n = 0;
  auto span = [&](std::string_view name, Duration value) {
    if (value == Duration(0)) return;
    ++n;
    if (w != nullptr) WriteSpan(name, value, w);
  };
  if (!own.backoff.empty()) {
    ++n;
    if (w != nullptr) WriteText("backoff", BackoffToText(own.backoff), w);
  }
  span("lease", own.lease);
  if (!own.unique_key.empty()) {
    ++n;
    if (w != nullptr) WriteText("unique", own.unique_key, w);
  }
  span("unique-for", own.unique_window);
  span("expire", own.expire);
  if (own.keep) {
    ++n;
    if (w != nullptr) WriteSpan("keep", *own.keep, w);
  }
  return n;
}

}  // namespace

void WriteJob(const JobRequest& job, bool with_id, RespWriter* w) {
  if (job.state == JobState::kGone) return w->NullArray();
  const bool scheduled = job.state == JobState::kScheduled;
  const bool leased = job.state == JobState::kLeased;
  const bool dead = job.state == JobState::kDead;
  const bool done = job.state == JobState::kDone;
  const bool waiting = job.state == JobState::kWaiting;
  const bool last_error = !job.last_error.empty();
  const bool payload = job.want_payload && !done;  // a kept result has none
  const bool vests = scheduled || job.state == JobState::kReady;
  w->Map(static_cast<size_t>(8 + with_id + scheduled + vests + waiting + 3 * leased + 2 * dead +
                             3 * done + last_error + payload + !job.type.empty() +
                             !job.headers.empty() + !job.checkpoint.empty()) +
         WriteOwn(job.own, nullptr));
  if (with_id) {
    w->Bulk("id");
    w->BulkNumber(job.id.value());
  }
  w->Bulk("state");
  w->Bulk(JobStateName(job.state));
  w->Bulk("queue");
  w->Bulk(job.queue);
  w->Bulk("space");
  w->Bulk(job.space);
  w->Bulk("priority");
  w->Int(job.priority);
  w->Bulk("attempt");
  w->Int(job.attempt);
  w->Bulk("attempts");
  w->Int(job.attempts);
  w->Bulk("enqueued");
  w->Int(job.enqueued.ms());
  if (scheduled) WriteSpan("vests-in", job.vests_in, w);
  if (vests) {
    w->Bulk("vests");
    w->Int(job.vests.ms());
  }
  if (leased) {
    WriteSpan("lease-left", job.lease_left, w);
    w->Bulk("deadline");
    w->Int(job.deadline.ms());
    w->Bulk("worker");
    w->Bulk(job.worker);
  }
  if (waiting) {
    w->Bulk("waits-for");
    w->Int(job.parents);
  }
  if (dead) {
    w->Bulk("reason");
    w->Bulk(job.reason);
    w->Bulk("died");
    w->Int(job.died.ms());
  }
  if (done) {
    WriteText("result", job.result, w);
    w->Bulk("finished");
    w->Int(job.finished.ms());
    WriteSpan("kept-for", job.kept_for, w);
  }
  WriteOwn(job.own, w);
  if (!job.type.empty()) WriteText("type", job.type, w);
  if (!job.headers.empty()) WriteHeaders(job.headers, w);
  if (!job.checkpoint.empty()) WriteText("checkpoint", job.checkpoint, w);
  if (last_error) {
    w->Bulk("last-error");
    w->Bulk(job.last_error);
  }
  w->Bulk("size");
  w->Int(static_cast<int64_t>(job.size));
  if (payload) {
    w->Bulk("payload");
    w->Bulk(job.payload);
  }
}

namespace {

void WriteEnqueue(const EnqueueRequest& request, RespWriter* w) {
  if (request.unique_key.empty()) return w->BulkNumber(request.id.value());
  w->Array(3);
  w->BulkNumber(request.id.value());
  w->Int(request.added ? 1 : 0);
  w->Bulk(request.added ? std::string_view("new") : JobStateName(request.holder_state));
}

void WriteGroup(const CompleteGroup& group, RespWriter* w) {
  if (!group.error.ok()) return w->Error(group.error);
  w->Array(group.completed.size());
  for (uint8_t completed : group.completed) w->Int(completed);
}

// Of one that has waited in vain.
void WriteNothing(const Slot& slot, RespWriter* w) {
  if (slot.unblocked_error) return w->Error("UNBLOCKED", "client unblocked via CLIENT UNBLOCK");
  w->NullArray();
}

void WriteWaitFor(const Slot& slot, const WaitForRequest& request, RespWriter* w) {
  if (!request.ended) return WriteNothing(slot, w);
  if (request.state != JobState::kGone) return WriteJob(request, false, w);
  w->Map(1);
  WriteText("state", JobStateName(request.state), w);
}

void WriteLease(const Slot& slot, const LeaseRequest& lease, RespWriter* w) {
  if (lease.jobs.empty()) return WriteNothing(slot, w);
  w->Array(lease.jobs.size());
  for (const LeasedJob& job : lease.jobs) WriteLeasedJob(job, w);
}

}  // namespace

void WriteReply(const Slot& slot, RespWriter* w) {
  if (slot.group != nullptr) return WriteGroup(*slot.group, w);
  const Request& request = *slot.request;
  if (request.kind == RequestKind::kGroup)
    return WriteGroupReply(static_cast<const GroupRequest&>(request), w);
  if (!request.error.ok()) {
    // An ENQUEUE that waited for room.
    if (slot.unblocked_error && JobOf(request) != nullptr) return WriteNothing(slot, w);
    return w->Error(request.error);
  }
  if (request.kind == RequestKind::kLease)
    return WriteLease(slot, static_cast<const LeaseRequest&>(request), w);
  if (request.kind == RequestKind::kWaitFor)
    return WriteWaitFor(slot, static_cast<const WaitForRequest&>(request), w);
  WriteAnswer(request, w);
}

void WriteAnswer(const Request& request, RespWriter* w) {
  switch (request.kind) {
    case RequestKind::kEnqueue: return WriteEnqueue(static_cast<const EnqueueRequest&>(request), w);
    case RequestKind::kCheckpoint:
      return w->Int(static_cast<const CheckpointRequest&>(request).left.ms());
    case RequestKind::kSchedule:
      return WriteScheduleReply(static_cast<const ScheduleRequest&>(request), w);
    case RequestKind::kSpaceSet:
    case RequestKind::kQueueSet: return w->Simple("OK");
    case RequestKind::kSpaces: return WriteSpaces(static_cast<const SpacesRequest&>(request), w);
    case RequestKind::kQueueInfo:
      return WriteQueueInfo(static_cast<const QueueInfoRequest&>(request), w);
    case RequestKind::kRenew: return w->Int(static_cast<const RenewRequest&>(request).left.ms());
    case RequestKind::kDataSet:
    case RequestKind::kDataDelete:
    case RequestKind::kDataGet:
    case RequestKind::kDataRange: return WriteData(request, w);
    case RequestKind::kEnqueueMany:
    case RequestKind::kWorkers:
    case RequestKind::kPeek:
    case RequestKind::kPurge:
    case RequestKind::kRedrive: return WriteHandling(request, w);
    case RequestKind::kRevoke:
      return w->Int(static_cast<const RevokeRequest&>(request).revoked ? 1 : 0);
    case RequestKind::kComplete:
    case RequestKind::kPromote:
    case RequestKind::kReschedule:
    case RequestKind::kRelease: return w->Simple("OK");
    case RequestKind::kFail: {
      const auto& fail = static_cast<const FailRequest&>(request);
      w->Array(2);
      w->Bulk(fail.dead ? "dead" : "retry");
      w->Int(fail.dead ? 0 : fail.retry_in.ms());
      return;
    }
    case RequestKind::kCancel:
      return w->Int(static_cast<const CancelRequest&>(request).cancelled ? 1 : 0);
    case RequestKind::kJob: return WriteJob(static_cast<const JobRequest&>(request), false, w);
    case RequestKind::kCompleteMany: {
      const auto& many = static_cast<const CompleteManyRequest&>(request);
      w->Array(many.completed.size());
      for (const uint8_t completed : many.completed) w->Int(completed);
      return;
    }
    case RequestKind::kLease:
    case RequestKind::kGroup:
    case RequestKind::kEvents:
    case RequestKind::kSpaceProbe:
    case RequestKind::kWaitFor:
    case RequestKind::kJobsPart: break;
  }
  CHECK(false, "a request without a reply");
}

size_t ReplyBytes(const Slot& slot) {
  constexpr size_t kJobBytes = 640;
  if (slot.group != nullptr) return 32 + slot.group->completed.size() * 4;
  if (slot.request->kind == RequestKind::kLease) {
    size_t bytes = 32;
    for (const LeasedJob& job : static_cast<const LeaseRequest*>(slot.request)->jobs) {
      bytes += kJobBytes + job.payload.size() + job.space.size() + job.type.size() +
               HeaderBytes(job.headers) + job.checkpoint.size();
    }
    return bytes;
  }
  if (slot.request->kind == RequestKind::kGroup)
    return GroupReplyBytes(static_cast<const GroupRequest&>(*slot.request));
  if (const size_t bytes = HandlingBytes(*slot.request); bytes > 0) return bytes;
  if (slot.request->kind == RequestKind::kJob || slot.request->kind == RequestKind::kWaitFor) {
    const auto* job = static_cast<const JobRequest*>(slot.request);
    return kJobBytes + VariableBytes(*job);
  }
  if (slot.request->kind == RequestKind::kSpaces)
    return SpacesBytes(static_cast<const SpacesRequest&>(*slot.request));
  if (slot.request->kind == RequestKind::kSchedule)
    return ScheduleReplyBytes(static_cast<const ScheduleRequest&>(*slot.request));
  return DataBytes(*slot.request);
}

}  // namespace vestq
