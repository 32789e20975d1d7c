// A core's turn, and its messages to other cores.
#include "engine/core.h"

#include <algorithm>

#include "engine/base/check.h"
#include "engine/core_impl.h"
#include "engine/group_request.h"
#include "engine/space_probe.h"
#include "engine/watch_request.h"

namespace vestq {
namespace {
// Wall-clock due times and suspended machines are looked at this often.
constexpr Duration kLongestSleep = Seconds(1);
}  // namespace

Core::Core(EngineShared* shared, CoreId id) : impl_(std::make_unique<Impl>(shared, id)) {}
Core::~Core() = default;
CoreId Core::id() const { return impl_->id_; }
void Core::Start(Request* request) { impl_->Start(request); }
void Core::DropStream(Stream* stream) { impl_->DropStream(stream); }
void Core::Abandon(Request* request) { impl_->Abandon(request); }
bool Core::Turn() { return impl_->Turn(); }
Duration Core::UntilDue() const { return impl_->UntilDue(); }
void Core::set_wake(void (*wake)(void*), void* context) {
  impl_->wake_ = wake;
  impl_->wake_context_ = context;
}
bool Core::PrepareSleep() { return impl_->PrepareSleep(); }
void Core::EndSleep() { impl_->EndSleep(); }
bool Core::awaiting_durable() const { return !impl_->awaiting_.empty(); }

Core::Impl::Impl(EngineShared* shared, CoreId id)
    : shared_(shared), id_(id), alone_(shared->cores == 1) {
  outbox_.resize(shared->cores);
  for (uint16_t lane = id.value(); lane < shared->lanes;
       lane = static_cast<uint16_t>(lane + shared->cores)) {
    LaneState state;
    state.id = LaneId(lane);
    lanes_.push_back(std::move(state));
  }
  random_ = (shared->options.seed + 1) * 0x9E3779B97F4A7C15ull + id.value();
}

MonoTime Core::Impl::now() {
  if (now_stale_ && !clock_held_) {
    now_ = shared_->clock->Now();
    now_stale_ = false;
  }
  return now_;
}

LaneState* Core::Impl::LaneHere(LaneId id) {
  DCHECK(shared_->OwnerOf(id) == id_, "LANE-1");
  return &lanes_[id.value() / shared_->cores];
}

// --- Messages ---

void Core::Impl::Send(CoreId to, const Message& message) { outbox_[to.value()].push_back(message); }

void Core::Impl::FlushOutbox() {
  if (alone_) return;
  for (uint16_t to = 0; to < shared_->cores; ++to) {
    auto& pending = outbox_[to];
    if (pending.empty()) continue;
    MessageRing& ring = shared_->Ring(id_, CoreId(to));
    while (!pending.empty() && ring.TryPush(pending.front())) pending.pop_front();
    shared_->core_list[to]->impl_->Wake();
  }
}

void Core::Impl::Wake() {
  if (gate_.ShouldWake() && wake_ != nullptr) wake_(wake_context_);
}

bool Core::Impl::HandleMessages() {
  if (alone_) return false;
  bool any = false;
  for (uint16_t from = 0; from < shared_->cores; ++from) {
    if (from == id_.value()) continue;
    MessageRing& ring = shared_->Ring(CoreId(from), id_);
    Message message;
    // Bounded, so that one busy neighbour does not hold up the turn.
    for (size_t i = 0; i < limits::kSliceJobs && ring.TryPop(&message); ++i) {
      any = true;
      HandleMessage(message);
    }
  }
  return any;
}

void Core::Impl::HandleMessage(const Message& message) {
  switch (message.kind) {
    case Message::Kind::kExecute: return Execute(message.request);
    case Message::Kind::kLease: return LeaseForOther(message.request, message.record);
    case Message::Kind::kExecuted:
      if (message.request->kind == RequestKind::kLease)
        return ContinueLease(static_cast<LeaseRequest*>(message.request));
      if (message.request->kind == RequestKind::kSpaceProbe)
        return ProbeBack(static_cast<SpaceProbe*>(message.request));
      return Arrived(message.request);
    case Message::Kind::kWake: return WakeOne(message.record);
    case Message::Kind::kOptions: return OptionsChanged(message.record);
    case Message::Kind::kLetIn: return LetInHere(message.request, message.record);
    case Message::Kind::kAbandon: return AbandonHere(message.request);
    case Message::Kind::kRoom: return RoomHere(QueueHere(message.record));
    case Message::Kind::kGroupAsk: return GroupAsked(static_cast<GroupRequest*>(message.request));
    case Message::Kind::kGroupGo: return GroupGo(static_cast<GroupRequest*>(message.request));
    case Message::Kind::kGroupFreeze:
      freeze_for_ = static_cast<GroupRequest*>(message.request);
      return;
    case Message::Kind::kGroupFrozen:
      return GroupFrozen(static_cast<GroupRequest*>(message.request));
    case Message::Kind::kGroupThaw: CHECK(false, "GROUP-4: only a frozen core is thawed");
    case Message::Kind::kGroupEnd: return GroupEnded();
  }
}

bool Core::Impl::HandleReads() {
  results_.clear();
  results_.swap(held_results_);
  shared_->reads->TakeResults(id_, &results_);
  const bool any = !results_.empty();
  for (auto& task : results_) task->finish(task.get());
  results_.clear();  // they may hold large values
  return any;
}

void Core::Impl::SubmitRead(std::unique_ptr<ReadTask> task) {
  task->core = id_;
  // What this turn has changed is submitted before the read can run: see SubmitTurn.
  reads_.push_back(std::move(task));
}

// --- The turn ---

bool Core::Impl::Turn() {
  if (frozen_ && !StayFrozen()) return false;
  now_ = shared_->clock->Now();
  now_stale_ = false;
  if (shared_->writes->failed()) {
    FailEverything();
    CompleteAnswers();
    now_stale_ = true;
    return freeze_for_ != nullptr && Freeze();
  }
  ForgetSchedules();
  bool more = HandleMessages();
  more |= HandleReads();
  more |= RunLater();
  more |= ExpireLeases();
  const WallTime wall = WallNow();
  VestDue(wall);
  LookAtAged();
  LookForStep(wall);
  FireTimers(wall);
  EndPauses();
  VanishDue();
  EndRateWaits();
  EndSpaceTimers();
  ExpireWaits();
  ExpireEnqueueWaits();
  ServeWaiters();
  ServeWatches();
  ServeEvents();
  SubmitTurn();
  SendWords();
  GiveSlots();
  GiveRoom();
  TellOthers();
  FlushOutbox();
  CompleteAnswers();
  for (const auto& pending : outbox_) more |= !pending.empty();
  now_stale_ = true;
  if (freeze_for_ != nullptr) return Freeze();
  return more || HasWork();
}

bool Core::Impl::HasWork() const {
  return !batch_.empty() || !executed_.empty() || !notify_.empty() || !refused_.empty() ||
         !reads_.empty() || !later_.empty() || !forwarded_.empty() || !touched_watches_.empty() ||
         !told_.empty() || !freed_.empty() || !room_changed_.empty();
}

namespace {

bool HasJobs(const keycodec::CounterValue& counters) {
  bool any = counters[keycodec::Counter::kLeased] != 0;
  for (const keycodec::Counter counter : kCounterOfKind) any |= counters[counter] != 0;
  return any;
}

}  // namespace

// The counter rows of the queues that were touched. One that was dropped or has vanished has none until
// it is used again (QUEUE-1).
void Core::Impl::AppendCounters(Batch* batch) {
  for (CoreQueue* queue : dirty_) {
    queue->counters_dirty = false;
    WatchVanish(queue);
    if (queue->backlog != nullptr) [[unlikely]]
      RoomChanged(queue);
    if (queue->record->stored.load(std::memory_order_relaxed) || HasJobs(queue->counters)) {
      value_.clear();
      keycodec::Append(queue->counters, &value_);
      batch->Put(Family::kRows, keycodec::CounterKey(id_.value(), queue->life.number), value_);
    }
    QueueSlot& slot = queue->record->slots[id_.value()];
    for (size_t i = 0; i < keycodec::kCounters; ++i) {
      slot.counters[i].store(queue->counters.values[i], std::memory_order_relaxed);
    }
  }
  dirty_.clear();
}

void Core::Impl::SubmitTurn() {
  if (!batch_.empty() || !dirty_.empty() || clock_stepped_) {
    clock_stepped_ = false;
    AppendCounters(&batch_);
    value_.clear();
    keycodec::Append(shared_->clock->Snapshot(), &value_);
    batch_.Put(Family::kRows, keycodec::ClockKey(id_.value()), value_);
    last_ticket_ = shared_->writes->Submit(&batch_);
    next_lane_ = (next_lane_ + 1) % lanes_.size();
  }
  if (space_bytes_ != space_bytes_shown_) {
    shared_->space_bytes.fetch_add(space_bytes_ - space_bytes_shown_, std::memory_order_relaxed);
    space_bytes_shown_ = space_bytes_;
  }
  for (Request* request : executed_) {
    // A refusal shows the store's state as well: a lost lease may rest on a COMPLETE not yet durable.
    request->ticket = std::max(request->ticket, last_ticket_);
    if (request->origin == id_) {
      awaiting_.push_back(request);
    } else {
      Send(request->origin,
           Message{Message::Kind::kExecuted, request, nullptr});  // CORE-1: after the batch
    }
  }
  executed_.clear();
  SubmitEvents();
  for (const auto& [request, to] : forwarded_) {
    request->ticket = std::max(request->ticket, last_ticket_);
    Send(to, Message{Message::Kind::kExecute, request, nullptr});
  }
  forwarded_.clear();
  for (auto& task : reads_) {
    task->after = std::max(task->after, last_ticket_);
    shared_->reads->Submit(std::move(task));
  }
  reads_.clear();
  WriteBehind();
}

void Core::Impl::WriteBehind() {
  if (shared_->writer != nullptr) {
    shared_->writer->Notify();
  } else if (!shared_->options.manual) {
    write_busy_ = shared_->writes->Drain();
  }
}

bool Core::Impl::CompleteAnswers() {
  for (Request* request : refused_) answers_.push_back(request);
  refused_.clear();
  first_awaited_ = Ticket(UINT64_MAX);
  if (!awaiting_.empty()) {
    const bool failed = shared_->writes->failed();
    const Ticket answerable = shared_->Answerable();
    // Nearly sorted by ticket: a request back from another core may rest on an older batch than the
    // one before it.
    size_t kept = 0;
    for (size_t i = 0; i < awaiting_.size(); ++i) {
      Request* const request = awaiting_[i];
      if (frozen_ && request->kind == RequestKind::kJobsPart) {
        awaiting_[kept++] = request;  // the engine's own: its end touches what is held still
      } else if (request->ticket <= answerable) {  // CORE-2
        answers_.push_back(request);
      } else if (failed) {
        SetFailure(request);
        answers_.push_back(request);
      } else {
        first_awaited_ = std::min(first_awaited_, request->ticket);
        awaiting_[kept++] = request;
      }
    }
    awaiting_.resize(kept);
  }
  if (!frozen_) PublishEvents();
  const bool any = !answers_.empty();
  for (size_t i = 0; i < answers_.size(); ++i) {
    Request* const request = answers_[i];
    request->done(request, request->context);  // may call Start
  }
  answers_.clear();
  return any;
}

void Core::Impl::FailEverything() {
  // The batch of this turn was never submitted, what rests on it is unknown to the store.
  batch_.Clear();
  dirty_.clear();
  // Nothing comes of these any more; left standing they would keep the core awake.
  for (CoreQueue* queue : notify_) queue->notify = false;
  notify_.clear();
  retries_.clear();
  pauses_.clear();
  vanishing_.clear();
  rate_waits_.clear();
  space_timers_.clear();
  for (CoreQueue* queue : std::exchange(freed_, {})) queue->freed = queue->freed_unnamed = 0;
  for (CoreQueue* queue : std::exchange(room_changed_, {})) queue->backlog->listed = false;
  HandleMessages();
  HandleReads();
  // Reads that were not handed to the readers yet come to an end as those with the readers do:
  // somebody's answer hangs on each.
  while (!reads_.empty()) {
    const auto reads = std::exchange(reads_, {});
    for (auto& task : reads) {
      task->error = shared_->writes->failure();
      task->finish(task.get());
    }
  }
  while (RunLater()) {
  }
  FailWords();
  for (const auto& [request, to] : std::exchange(forwarded_, {})) Executed(request);
  for (Request* request : executed_) SetFailure(request);
  SendExecuted();
  while (!wait_timers_.empty() || !waiting_.empty()) {
    LeaseRequest* const request =
        waiting_.empty() ? wait_timers_.begin()->second : waiting_.begin()->second;
    Unregister(request);
    request->error =
        Error(ErrorCode::kShutdown, "the store has failed: " + shared_->writes->failure().text());
    FinishLease(request);
  }
  FailEnqueueWaits();
  FailWatches();
  EndEvents();
  ForgetWanted();
  for (auto& queue : queues_) {
    auto parked = std::move(queue->parked);
    queue->parked.clear();
    for (const CoreQueue::Parked& parked_here : parked) {
      SetFailure(parked_here.request);
      if (parked_here.local) DropProbes(parked_here.request);  // they would come home to it
      Executed(parked_here.request);
    }
  }
  SendExecuted();
  FlushOutbox();
}

// What may have been carried out has an unknown outcome; what was refused unseen keeps its refusal.
void Core::Impl::SetFailure(Request* request) const {
  if (request->error.code() == ErrorCode::kShutdown) return;
  request->error = Error(ErrorCode::kNotDurable,
                         "the write's outcome is unknown: " + shared_->writes->failure().text());
}

// After a failure: what was carried out goes back without waiting for a ticket.
void Core::Impl::SendExecuted() {
  for (Request* request : executed_) {
    request->ticket = Ticket(0);
    if (request->origin == id_) {
      awaiting_.push_back(request);
    } else {
      Send(request->origin, Message{Message::Kind::kExecuted, request, nullptr});
    }
  }
  executed_.clear();
}

Duration Core::Impl::UntilDue() const {
  if (frozen_) return write_busy_ ? Milliseconds(1) : Duration::Max();
  MonoTime due = leases_.NextDeadline();
  if (!wait_timers_.empty()) due = std::min(due, wait_timers_.begin()->first.first);
  if (!retries_.empty()) due = std::min(due, retries_.begin()->first);
  if (!pauses_.empty()) due = std::min(due, pauses_.begin()->first);
  if (!watch_timers_.empty()) due = std::min(due, watch_timers_.begin()->first);
  if (!vanishing_.empty()) due = std::min(due, vanishing_.begin()->first.first);
  if (!rate_waits_.empty()) due = std::min(due, rate_waits_.begin()->first);
  if (MayLookAtAged()) due = std::min(due, age_due_.begin()->first.first);
  if (!space_timers_.empty()) due = std::min(due, space_timers_.begin()->first);
  if (!enqueue_timers_.empty()) due = std::min(due, enqueue_timers_.begin()->first.first);
  int64_t wall_ms = MonoTime::Max().ms();
  for (const auto& lane : lanes_) {
    for (const DueScan* scan : {&lane.due[0], &lane.timers[0]}) {
      if (!scan->scanning) due = std::min(due, MonoTime(scan->next_ms));
    }
    for (const DueScan* scan : {&lane.due[1], &lane.timers[1]}) {
      wall_ms = std::min(wall_ms, scan->next_ms);
    }
  }
  if (write_busy_) return Milliseconds(1);
  const bool wall = wall_ms < MonoTime::Max().ms();
  if (due == MonoTime::Max() && !wall) return Duration::Max();
  Duration left = due == MonoTime::Max() ? kLongestSleep : due - shared_->clock->Now();
  // The wall clock may be stepped at any time, so it is looked at again after kLongestSleep.
  if (wall) left = std::min(left, WallTime(wall_ms) - shared_->clock->Wall());
  return std::clamp(left, Duration(0), kLongestSleep);
}

bool Core::Impl::PrepareSleep() {
  return gate_.PrepareSleep([this] {
    if (frozen_) {
      if (!refused_.empty()) return true;
    } else {
      if (HasWork() || freeze_for_ != nullptr || EventsDue()) return true;
      for (const auto& pending : outbox_) {
        if (!pending.empty()) return true;
      }
    }
    for (uint16_t from = 0; from < shared_->cores; ++from) {
      if (from != id_.value() && !shared_->Ring(CoreId(from), id_).EmptyApprox()) return true;
    }
    if (shared_->reads->HasResults(id_)) return true;
    const bool waits = !frozen_ && (!waiting_.empty() || !enqueue_waits_.empty());
    if (shared_->writes->failed() && (!awaiting_.empty() || waits)) return true;
    // Not the front's: a request back from another core may rest on an older batch.
    return !awaiting_.empty() && first_awaited_ <= shared_->Answerable();
  });
}

void Core::Impl::EndSleep() {
  gate_.EndSleep();
  if (!frozen_) now_stale_ = true;
}

}  // namespace vestq
