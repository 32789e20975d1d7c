#include "net/request_pool.h"

#include <string>

namespace vestq {
namespace {

void Clear(std::string* text) {
  if (text->capacity() > RequestPool::kKeptBytes) {
    std::string().swap(*text);
  } else {
    text->clear();
  }
}

void Reset(EnqueueRequest* r) {
  Clear(&r->queue);
  Clear(&r->space);
  Clear(&r->payload);
  Clear(&r->backoff);
  r->priority = limits::kPriorityDefault;
  r->when = EnqueueRequest::When::kNow;
  r->delay = Duration();
  r->at = WallTime();
  r->attempts_set = false;
  r->attempts = 0;
  r->lease = Duration();
  Clear(&r->unique_key);
  r->unique_window = Duration();
  r->unique_replace = false;
  r->expire = Duration();
  r->keep.reset();
  Clear(&r->type);
  r->headers.clear();
  std::vector<JobId>().swap(r->after);
  r->wait = Duration();
  r->subscriptions.reset();
  r->id = JobId();
  r->added = true;
  r->holder_state = JobState::kGone;
}

void Reset(LeaseRequest* r) {
  // `queues` keeps its strings: the parser assigns over them.
  Clear(&r->worker);
  r->count = 1;
  r->wait = false;
  r->block = Duration();
  r->lease = Duration();
  r->one_space = false;
  Clear(&r->space);
  r->jobs.clear();
  r->started_ns = 0;
  r->reply_bytes = 0;
  r->wait_until = MonoTime();
  r->wait_order = 0;
  r->waiting = false;
  r->under_way = false;
  r->abandoned = false;
  r->tried.clear();
  r->records.clear();
}

void Reset(RenewRequest* r) {
  r->receipt = Receipt();
  r->lease = Duration();
  r->left = Duration();
}

void Reset(PooledComplete* r) {
  r->receipt = Receipt();
  Clear(&r->result);
  r->index = 0;
}

void Reset(FailRequest* r) {
  r->receipt = Receipt();
  Clear(&r->reason);
  r->delay_set = false;
  r->delay = Duration();
  r->to_dead = false;
  r->dead = false;
  r->retry_in = Duration();
}

void Reset(ReleaseRequest* r) {
  r->receipt = Receipt();
  r->delay = Duration();
  r->priority_set = false;
  r->priority = 0;
}

void Reset(CancelRequest* r) {
  r->id = JobId();
  r->cancelled = false;
}

void Reset(JobRequest* r) {
  r->id = JobId();
  r->want_payload = false;
  r->state = JobState::kGone;
  Clear(&r->queue);
  Clear(&r->space);
  r->priority = 0;
  r->attempt = 0;
  r->attempts = 0;
  r->enqueued = WallTime();
  r->vests_in = Duration();
  r->vests = WallTime();
  r->lease_left = Duration();
  r->deadline = WallTime();
  Clear(&r->worker);
  Clear(&r->last_error);
  Clear(&r->reason);
  r->died = WallTime();
  r->size = 0;
  Clear(&r->payload);
  Clear(&r->type);
  r->headers.clear();
  std::string().swap(r->checkpoint);
  r->own = OwnOptions();
  std::string().swap(r->result);
  r->finished = WallTime();
  r->kept_for = Duration();
}

}  // namespace

template <typename T>
void RequestPool::Keep(Request* request) {
  T* typed = static_cast<T*>(request);
  Free<T>& free = FreeOf(typed);
  std::unique_ptr<T> owner(typed);
  if (free.size() >= kKept) return;
  typed->done = nullptr;
  typed->context = nullptr;
  typed->stream = nullptr;
  if (!typed->error.ok()) typed->error = Error();
  typed->origin = CoreId();
  typed->ticket = Ticket();
  typed->stage = 0;
  typed->executed = false;
  typed->next = nullptr;
  Reset(typed);
  if (std::string* const text = LongText(typed)) {
    if (kept_bytes_ + text->capacity() > kKeptBytesAll) std::string().swap(*text);
    kept_bytes_ += text->capacity();
  }
  free.push_back(std::move(owner));
}

void RequestPool::Put(Request* request) {
  CHECK(taken_ > 0);
  --taken_;
  switch (request->kind) {
    case RequestKind::kEnqueue: return Keep<EnqueueRequest>(request);
    case RequestKind::kLease: return Keep<LeaseRequest>(request);
    case RequestKind::kRenew: return Keep<RenewRequest>(request);
    case RequestKind::kComplete: return Keep<PooledComplete>(request);
    case RequestKind::kFail: return Keep<FailRequest>(request);
    case RequestKind::kRelease: return Keep<ReleaseRequest>(request);
    case RequestKind::kCancel: return Keep<CancelRequest>(request);
    case RequestKind::kJob: return Keep<JobRequest>(request);
    case RequestKind::kRevoke:
    case RequestKind::kPromote:
    case RequestKind::kReschedule:
    case RequestKind::kCheckpoint:
    case RequestKind::kSchedule:
    case RequestKind::kQueueSet:
    case RequestKind::kDataSet:
    case RequestKind::kDataDelete:
    case RequestKind::kDataGet:
    case RequestKind::kDataRange:
    case RequestKind::kEnqueueMany:
    case RequestKind::kWaitFor:
    case RequestKind::kQueueInfo:
    case RequestKind::kSpaceSet:
    case RequestKind::kSpaces:
    case RequestKind::kWorkers:
    case RequestKind::kPeek:
    case RequestKind::kPurge:
    case RequestKind::kRedrive:
    case RequestKind::kCompleteMany: delete request; return;
    case RequestKind::kGroup: {
      const std::unique_ptr<GroupRequest> group(static_cast<GroupRequest*>(request));
      for (auto& member : group->members) Put(member.release());
      return;
    }
    case RequestKind::kEvents:
    case RequestKind::kSpaceProbe:
    case RequestKind::kJobsPart: break;
  }
  CHECK(false, "a request of a kind that the pool does not make");
}

Slot* RequestPool::TakeSlot() {
  if (slots_.empty()) return new Slot();
  Slot* slot = slots_.back().release();
  slots_.pop_back();
  return slot;
}

void RequestPool::PutSlot(Slot* slot) {
  std::unique_ptr<Slot> owner(slot);
  if (slots_.size() >= kKept) return;
  slot->session = nullptr;
  slot->request = nullptr;
  slot->next = nullptr;
  slot->group.reset();
  slot->charge = 0;
  slot->done = false;
  slot->silent = false;
  slot->unblocked_error = false;
  slots_.push_back(std::move(owner));
}

}  // namespace vestq
