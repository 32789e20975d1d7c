// LEASE: choosing a core, a space, a lane and a job; and claims. Those that wait: core_waiting.cc.
#include <algorithm>

#include "engine/base/check.h"
#include "engine/core_impl.h"
#include "engine/lookup_task.h"
#include "lanes/published_head.h"

namespace vestq {
namespace {
// Spaces of a queue on a core that are read at once for LEASEs. Enough to keep the readers busy.
constexpr size_t kColdSpacesMax = 16;
// A LEASE of several jobs looks at the other cores' heads after so many from one, or a sixteenth of them if
// that is more: each change of cores is a message. And how many rounds better a head must be.
constexpr size_t kLookAfter = 16;
constexpr uint64_t kRoundsBetter = 16;

// Another core's head is better than this one's: by priority or time, or, where spaces share the queue, by
// some rounds.
bool BetterElsewhere(const QueueRecord& record, CoreId here, uint16_t cores) {
  const bool by_tag = record.has_spaces.load(std::memory_order_relaxed);
  const uint64_t own = record.slots[here.value()].head.load(std::memory_order_relaxed);
  if (own == kNoHead) return false;
  for (uint16_t i = 0; i < cores; ++i) {
    const QueueSlot& slot = record.slots[i];
    const bool tagged = slot.tagged.load(std::memory_order_acquire);
    const uint64_t head = slot.head.load(std::memory_order_relaxed);
    if (head >= kUnknownHead || tagged != by_tag) continue;
    // In whole rounds: the time beside a tag tells nothing here.
    const bool better =
        by_tag ? TagOfHead(head) + kRoundsBetter * FairQueue::kRound < TagOfHead(own) : head < own;
    if (better) return true;
  }
  return false;
}
}  // namespace

// --- The request's way over queues and cores (its origin) ---

void Core::Impl::StartLease(LeaseRequest* request) {
  now_stale_ = true;  // a lease runs from now, not from this turn's beginning (LEASE-5)
  if (leases_.NextDeadline() <= now()) ExpireLeases();  // also before this turn has come to it
  if (!notify_.empty()) ServeWaiters();                 // those who wait come first
  request->started_ns = static_cast<uint64_t>(shared_->clock->source()->NowNs());
  request->jobs.clear();
  request->reply_bytes = 0;
  request->tried.clear();
  request->records.clear();
  request->wait_order = 0;
  if (request->abandoned) return FinishLease(request);
  for (const std::string& name : request->queues) {
    // One that does not wait leaves no trace of a queue that nobody has made.
    if (!request->wait && !KnowsQueue(name)) continue;
    const Result<QueueRecord*> record = RecordOf(name);
    if (!record.ok()) {
      request->error = record.error();
      return FinishLease(request);
    }
    request->records.push_back(*record);
  }
  if (request->wait) {
    request->wait_until = request->block == Duration(0) ? MonoTime::Max() : now() + request->block;
  }
  ContinueLease(request);
}

// The same for a LEASE of one space: the owner of its lane, or, of the empty space, any core that has
// something. `kCoresMax` when there is none.
CoreId Core::Impl::NextCore(const QueueRecord& record, const LeaseRequest& request) const {
  const auto tried = [&](CoreId core) {
    return std::find(request.tried.begin(), request.tried.end(), core) != request.tried.end();
  };
  const auto empty = [&](CoreId core) {
    return record.slots[core.value()].head.load(std::memory_order_acquire) == kNoHead;
  };
  if (!request.space.empty()) {
    const CoreId owner =
        shared_->OwnerOf(keycodec::LaneOfSpace(record.name, request.space, shared_->lanes));
    return tried(owner) || empty(owner) ? CoreId(limits::kCoresMax) : owner;
  }
  for (uint16_t i = 0; i < shared_->cores; ++i) {
    const CoreId core(static_cast<uint16_t>((id_.value() + i) % shared_->cores));
    if (!tried(core) && !empty(core)) return core;
  }
  return CoreId(limits::kCoresMax);
}

// The core that has the best head for the queue and was not asked yet in this pass; `kCoresMax`
// when there is none.
CoreId Core::Impl::BestCore(const QueueRecord& record, const LeaseRequest& request) const {
  uint64_t best = kNoHead;
  CoreId core(limits::kCoresMax);
  for (uint16_t i = 0; i < shared_->cores; ++i) {
    if (std::find(request.tried.begin(), request.tried.end(), CoreId(i)) != request.tried.end())
      continue;
    const QueueSlot& slot = record.slots[i];
    const bool tagged = slot.tagged.load(std::memory_order_acquire);
    uint64_t head = slot.head.load(std::memory_order_acquire);
    // Its head is of the form from before the queue had spaces and compares with none: asking it
    // makes it anew.
    if (!tagged && head != kNoHead && record.has_spaces.load(std::memory_order_relaxed))
      head = kUnseenHead;
    // Equal heads go to the nearest, which is here.
    if (head < best || (head == best && head != kNoHead && CoreId(i) == id_)) {
      best = head;
      core = CoreId(i);
    }
  }
  return core;
}

// `closed_too`: also of queues whose limits let nothing start just now.
bool Core::Impl::AnyHead(const LeaseRequest& request, bool closed_too) const {
  for (QueueRecord* record : request.records) {
    const CoreQueue* const queue = record->slots[id_.value()].core_queue;
    if (!closed_too && queue != nullptr && Limited(*record) && Closed(*queue)) continue;
    if (alone_) {
      if (queue != nullptr && !Paused(*record) &&
          (!queue->fair.empty() || queue->cold_spaces > 0 || queue->cursor.may_find())) {
        return true;
      }
      continue;
    }
    for (uint16_t i = 0; i < shared_->cores; ++i) {
      if (record->slots[i].head.load(std::memory_order_acquire) != kNoHead) return true;
    }
  }
  return false;
}

// Runs at the start, when an owner sends the request back, and when a waiting one is woken. `stage`
// is the queue it is at.
void Core::Impl::ContinueLease(LeaseRequest* request) {
  request->under_way = false;
  if (!request->error.ok()) return FinishLease(request);
  for (; request->stage < request->records.size() && request->jobs.size() < request->count;
       ++request->stage) {
    QueueRecord* const record = request->records[request->stage];
    for (;;) {
      if (const CoreQueue* const queue = record->slots[id_.value()].core_queue;
          queue != nullptr && Limited(*record) && Closed(*queue)) {
        break;
      }
      if (request->jobs.size() >= request->count) break;
      if (request->reply_bytes >= limits::kLeaseReplyBytes) return FinishLease(request);
      CoreId core = id_;
      if (alone_) {
        if (!request->tried.empty()) break;
      } else {
        core = request->one_space ? NextCore(*record, *request) : BestCore(*record, *request);
        if (core == CoreId(limits::kCoresMax)) break;
      }
      request->tried.push_back(core);
      if (core == id_) {
        if (LeaseHere(QueueHere(record), request, true) == LeaseStep::kParked) {
          request->under_way = true;
          return;
        }
        if (!request->error.ok()) return FinishLease(request);
      } else {
        request->under_way = true;
        return Send(core, Message{Message::Kind::kLease, request, record});
      }
    }
    request->tried.clear();
  }
  if (!request->jobs.empty() || !request->wait || request->abandoned) return FinishLease(request);
  if (now() >= request->wait_until) return FinishLease(request);
  Register(request);
}

void Core::Impl::FinishLease(LeaseRequest* request) {
  request->tried.clear();
  if (!request->probes.empty()) DropProbes(request);
  if (!request->jobs.empty()) {
    shared_->leases_served.fetch_add(1, std::memory_order_relaxed);
    if (request->wait_order == 0) {  // one that waited says nothing about the engine's speed
      shared_->lease_latency.Record(static_cast<uint64_t>(shared_->clock->source()->NowNs()) -
                                    request->started_ns);
    } else if (!request->one_space && AnyHead(*request, true)) {
      // One that waited went to look elsewhere and found something; there may be more for those
      // behind it, if only when the next token is due.
      for (QueueRecord* record : request->records) {
        CoreQueue* const queue = QueueHere(record);
        if (!queue->waiters.empty()) {
          MarkNotify(queue);
        } else {
          PassOnWake(record);
        }
      }
    }
  }
  // Jobs that another core claimed rest on that core's ticket, which the request carries already.
  Executed(request);
}

// --- At the owner ---

void Core::Impl::LeaseForOther(Request* request, QueueRecord* record) {
  auto* const lease = static_cast<LeaseRequest*>(request);
  now_stale_ = true;  // LEASE-5
  if (LeaseHere(QueueHere(record), lease, false) == LeaseStep::kParked) return;
  executed_.push_back(lease);
}

Core::Impl::LeaseStep Core::Impl::LeaseHere(CoreQueue* queue, LeaseRequest* request, bool local) {
  size_t claimed = 0;
  const size_t look_after = std::max<size_t>(kLookAfter, request->count / 16);
  size_t lapsed = 0;
  queue->asked = true;
  if (Paused(*queue->record)) {
    PublishHead(queue);
    return LeaseStep::kEmpty;
  }
  while (request->jobs.size() < request->count) {
    if (Limited(*queue->record) && Closed(*queue)) break;
    LaneZone* zone = nullptr;
    bool cold = false;
    SpaceState* const space = request->one_space ? PickOneSpace(queue, request->space, &zone, &cold)
                                                 : PickSpace(queue, &zone);
    if (space == nullptr) {
      const bool unseen = !queue->cursor.unnamed_known();
      if (!request->one_space) cold = Sweep(queue) || queue->cold_spaces > 0;
      PublishHead(queue);  // what sent the LEASE here is out of date
      if (!cold) break;
      // Of a queue that is one order over all cores the best core is known only now.
      const bool compare = unseen && !alone_ && !request->one_space &&
                           !queue->record->has_spaces.load(std::memory_order_relaxed);
      queue->parked.push_back({request, local, compare});
      if (request->one_space) queue->looking = std::max(queue->looking, queue->parked.size());
      return LeaseStep::kParked;
    }
    if (DropLapsed(zone)) {
      if (++lapsed < limits::kSliceJobs) continue;
      MarkNotify(queue);  // the rest in the next turn
      break;
    }
    const auto& record = FirstJob(*zone).record;
    if (request->reply_bytes > 0 &&
        request->reply_bytes + record->size() > limits::kLeaseReplyBytes)
      break;
    if (LeasesAreFull(request)) break;
    if (Limited(*queue->record)) {
      const Taken taken = TakeSlot(queue, space);
      if (taken == Taken::kSpaceIsFull) {
        SpaceChanged(space);  // set aside until there is room
        continue;
      }
      if (taken == Taken::kQueueIsFull) break;
    }
    Claim(queue, zone, request);
    if (++claimed % look_after == 0 && !alone_ && !request->one_space &&
        BetterElsewhere(*queue->record, id_, shared_->cores)) {
      std::erase(request->tried, id_);  // it may come back
      break;
    }
  }
  return claimed > 0 ? LeaseStep::kDone : LeaseStep::kEmpty;
}

// The space whose turn it is, and its first job, in memory with its record. Spaces whose next job
// must be read first are set aside (and read) meanwhile, a few at a time: after a start thousands may
// have to be, and each read brings jobs into memory.
SpaceState* Core::Impl::PickSpace(CoreQueue* queue, LaneZone** zone) {
  while (!queue->fair.empty()) {
    if (queue->cursor.may_find() && queue->fair.TopTag() >= queue->cursor.gate()) [[unlikely]] {
      // Spaces that are not in memory come first, until the sweep has met all of them (FAIR-4).
      if (!queue->cursor.at_end()) break;
      EndSweep(queue);
      continue;
    }
    auto* const space = static_cast<SpaceState*>(queue->fair.TopOwner());
    *zone = FirstZone(space);
    if (*zone != nullptr) return space;
    SetAside(space);
    if (queue->cold_spaces >= kColdSpacesMax) break;
  }
  return nullptr;
}

// Where the job of an active space that is next stands, in memory with its record: the oldest that is
// overdue, else the first in order. nullptr: it must be read first, which is under way then.
LaneZone* Core::Impl::FirstZone(SpaceState* space) {
  LaneZone* best = nullptr;
  if (space->queue->ageing_ms >= 0 && OldestAged(space, &best)) [[unlikely]]
    return best;
  bool cold = false;
  const keycodec::Order order = space->queue->record->order();
  for (auto& candidate : space->zones) {
    if (candidate->window.empty()) {
      if (candidate->window.complete()) continue;
      // Its next job may come before all others: read on before choosing.
      StartRefill(candidate.get());
      cold = true;
    } else if (best == nullptr || keycodec::ReadyRankLess(order, candidate->window.Front().rank,
                                                          best->window.Front().rank)) {
      best = candidate.get();
    }
  }
  if (!cold && best != nullptr && best->window.Front().record == nullptr) {
    StartFetch(best);
    cold = true;
  }
  DCHECK(cold || best != nullptr, "an active space has work");
  return cold ? nullptr : best;
}

void Core::Impl::SetAside(SpaceState* space) {
  CoreQueue* const queue = space->queue;
  queue->fair.Deactivate(space->fair);
  space->active = false;
  space->cold = true;
  ++queue->cold_spaces;
  PublishHead(queue);
}

// The zone's first job is past its EXPIRE, and its timer has not been seen to yet.
bool Core::Impl::DropLapsed(LaneZone* zone) {
  const ReadyJob& front = FirstJob(*zone);
  if ((front.flags & keycodec::kFlagExpire) == 0) return false;
  const Result<keycodec::JobRecord> decoded = keycodec::DecodeJobRecord(*front.record);
  CHECK(decoded.ok(), "JOB-2: a record that was read and checked decodes");
  std::optional<keycodec::JobRow> row;
  if (front.row != nullptr) row = *keycodec::DecodeJobRow(*front.row);
  if (!HasLapsed(decoded->header, row ? &*row : nullptr)) return false;
  LookupTask found(zone->lane, front.rank.id, shared_->queues.get());
  const std::shared_ptr<const std::string> held = front.record;  // the payload points into it
  found.record = *decoded;
  found.row = std::move(row);
  found.state = JobState::kReady;
  found.rank = front.rank;
  found.flags = front.flags;
  EraseFound(&found, EventKind::kLapsed);
  return true;
}

// True: no lease more; that is the answer where there is none yet.
bool Core::Impl::LeasesAreFull(LeaseRequest* request) const {
  if (shared_->leased.load(std::memory_order_relaxed) < shared_->options.max_leased) return false;
  if (request->jobs.empty()) {
    request->error =
        Error(ErrorCode::kFull,
              "max-leased: " + std::to_string(shared_->options.max_leased) + " jobs are leased");
  }
  return true;
}

void Core::Impl::Claim(CoreQueue* queue, LaneZone* zone, LeaseRequest* request) {
  SpaceState* const space = zone->space;
  ReadyJob job = TakeFirst(zone);
  Result<keycodec::JobRecord> decoded = keycodec::DecodeJobRecord(*job.record);
  CHECK(decoded.ok(), "JOB-2: a record that was read and checked decodes");
  const keycodec::JobHeader& header = decoded->header;

  // READY key out, LEASED key in.
  key_.clear();
  AppendReadyKey(*queue, zone->lane, space->space, header.zone.order, job.rank, &key_);
  batch_.SingleDelete(Family::kVesting, key_);

  Lease lease;
  lease.id = job.rank.id;
  lease.lane = zone->lane;
  lease.fence = Fence{shared_->epoch, ++claims_};
  lease.queue = queue->life.number;
  lease.incarnation = queue->life[KeyKind::kReady];
  lease.order = header.zone.order;
  lease.space = space->space;
  lease.priority = job.rank.priority;
  lease.enqueued_ms = header.enqueued_ms;
  lease.ready_time_ms = job.rank.time_ms;
  lease.flags = job.flags & ~uint32_t{keycodec::kFlagExpire};
  std::optional<keycodec::JobRow> row;
  if (job.row != nullptr) row = *keycodec::DecodeJobRow(*job.row);
  if ((job.flags & keycodec::kFlagExpire) != 0)
    DropExpiry(lease.lane, header, row ? &*row : nullptr, lease.id);
  lease.attempt = job.attempt + 1;
  lease.attempts_max = header.attempts_max;
  lease.payload_bytes = static_cast<uint32_t>(decoded->payload.size());
  lease.granted = request->lease > Duration(0) ? request->lease
                  : header.lease_ms > 0        ? Duration(header.lease_ms)
                                               : QueueLease(*queue->record);
  lease.began_ms = static_cast<uint32_t>(now().ms());
  lease.deadline = now() + lease.granted;
  lease.stored_deadline_ms = lease.deadline.ms();
  lease.worker = request->worker;
  PutLeased(lease);
  Count(queue, keycodec::Counter::kReady, -1);
  Count(queue, keycodec::Counter::kLeased, 1);
  Count(queue, keycodec::Counter::kLeases, 1);

  LeasedJob& out = request->jobs.emplace_back();
  out.receipt = {lease.id, lease.fence};
  out.queue = queue->record->name;
  out.space = space->space;
  out.payload = decoded->payload;
  out.attempt = lease.attempt;
  out.attempts = lease.attempts_max;
  out.priority = lease.priority;
  const WallTime wall = shared_->clock->ToWall(now());
  out.enqueued =
      WallOfPast(WallTime(header.enqueued_wall_ms), MonoTime(header.enqueued_ms), now(), wall);
  out.lease_left = lease.granted;
  out.deadline = wall + lease.granted;
  if ((lease.flags & keycodec::kFlagExtra) != 0) {
    out.type = header.type;
    out.headers = header.user_headers;
  }
  if (row) out.checkpoint = std::move(row->checkpoint);
  request->reply_bytes += job.record->size() + out.checkpoint.size();
  out.record = std::move(job.record);
  leases_.Insert(lease);
  TouchJob(lease.id);
  Emit(EventKind::kLeased, lease);
  shared_->leased.fetch_add(1, std::memory_order_relaxed);

  queue->fair.Charge(space->fair);
  CountWindow(zone);
  if ((queue->cursor.hidden() || space->fresh) && AfterTurn(space)) [[unlikely]]
    return;
  if (zone->window.NeedsRefill() && !zone->refilling) StartRefill(zone);
  SpaceChanged(space);
  MaybeForget(space);
}

Duration Core::Impl::QueueLease(const QueueRecord& record) {
  const int64_t ms = record.settings.lease_ms.load(std::memory_order_relaxed);
  return ms < 0 ? limits::kLeaseDefault : Duration(ms);
}

void Core::Impl::PutLeased(const Lease& lease) {
  key_.clear();
  keycodec::AppendLeasedKey(lease.lane, lease.stored_deadline_ms, lease.id, &key_);
  keycodec::LeasedValue value;
  value.flags = lease.flags;
  value.attempt = lease.attempt;
  value.attempts_max = lease.attempts_max;
  value.zone = {lease.queue, lease.incarnation, lease.order, std::string(lease.space)};
  value.priority = lease.priority;
  value.enqueued_ms = lease.enqueued_ms;
  value.ready_time_ms = lease.ready_time_ms;
  value.fence = lease.fence;
  value.lease_ms = lease.granted.ms();
  value.payload_bytes = lease.payload_bytes;
  value.worker = std::string(lease.worker);
  value_.clear();
  keycodec::Append(value, &value_);
  batch_.Put(Family::kVesting, key_, value_);
}

// A cold read is back: LEASEs that waited for it look again.
void Core::Impl::UnparkLeases(CoreQueue* queue) {
  if (queue->parked.empty()) return;
  auto parked = std::move(queue->parked);
  queue->parked.clear();
  for (const auto& [lease, local, compare] : parked) {
    now_stale_ = true;  // LEASE-5
    if (compare) {
      std::erase(lease->tried, id_);
    } else if (LeaseHere(queue, lease, local) == LeaseStep::kParked) {
      continue;
    }
    if (local) {
      ContinueLease(lease);
    } else {
      executed_.push_back(lease);
    }
  }
}

}  // namespace vestq
