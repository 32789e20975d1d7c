#include "net/replies.h"

#include <charconv>
#include <string_view>

namespace vestq {
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

void WriteLeasedJob(const LeasedJob& job, RespWriter* w) {
  w->Map(11);
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
}

}  // namespace

void WriteJob(const JobRequest& job, bool with_id, RespWriter* w) {
  if (job.state == JobState::kGone) return w->NullArray();
  const bool scheduled = job.state == JobState::kScheduled;
  const bool leased = job.state == JobState::kLeased;
  const bool dead = job.state == JobState::kDead;
  const bool last_error = !job.last_error.empty();
  w->Map(static_cast<size_t>(8 + with_id + scheduled + 2 * leased + dead + last_error +
                             job.want_payload));
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
  if (scheduled) {
    w->Bulk("vests-in");
    w->Int(job.vests_in.ms());
  }
  if (leased) {
    w->Bulk("lease-left");
    w->Int(job.lease_left.ms());
    w->Bulk("worker");
    w->Bulk(job.worker);
  }
  if (dead) {
    w->Bulk("reason");
    w->Bulk(job.reason);
  }
  if (last_error) {
    w->Bulk("last-error");
    w->Bulk(job.last_error);
  }
  w->Bulk("size");
  w->Int(static_cast<int64_t>(job.size));
  if (job.want_payload) {
    w->Bulk("payload");
    w->Bulk(job.payload);
  }
}

namespace {

void WriteGroup(const CompleteGroup& group, RespWriter* w) {
  if (!group.error.ok()) return w->Error(group.error);
  w->Array(group.completed.size());
  for (uint8_t completed : group.completed) w->Int(completed);
}

void WriteLease(const Slot& slot, const LeaseRequest& lease, RespWriter* w) {
  if (lease.jobs.empty()) {
    if (slot.unblocked_error) return w->Error("UNBLOCKED", "client unblocked via CLIENT UNBLOCK");
    return w->NullArray();
  }
  w->Array(lease.jobs.size());
  for (const LeasedJob& job : lease.jobs) WriteLeasedJob(job, w);
}

}  // namespace

void WriteReply(const Slot& slot, RespWriter* w) {
  if (slot.group != nullptr) return WriteGroup(*slot.group, w);
  const Request& request = *slot.request;
  if (!request.error.ok()) return w->Error(request.error);
  switch (request.kind) {
    case RequestKind::kEnqueue:
      return w->BulkNumber(static_cast<const EnqueueRequest&>(request).id.value());
    case RequestKind::kLease: return WriteLease(slot, static_cast<const LeaseRequest&>(request), w);
    case RequestKind::kRenew: return w->Int(static_cast<const RenewRequest&>(request).left.ms());
    case RequestKind::kEnqueueMany:
    case RequestKind::kWorkers:
    case RequestKind::kPeek: return WriteHandling(request, w);
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
      bytes += kJobBytes + job.payload.size() + job.space.size();
    }
    return bytes;
  }
  if (const size_t bytes = HandlingBytes(*slot.request); bytes > 0) return bytes;
  if (slot.request->kind == RequestKind::kJob) {
    const auto* job = static_cast<const JobRequest*>(slot.request);
    return kJobBytes + job->payload.size() + job->last_error.size() + job->reason.size();
  }
  return 64;
}

}  // namespace vestq
