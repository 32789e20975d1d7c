// Events: noted as they happen, published when what they report is durable, read by EVENTS.
#include <algorithm>

#include "engine/base/check.h"
#include "engine/core_impl.h"
#include "engine/lookup_task.h"
#include "engine/watch_request.h"

namespace vestq {
namespace {
// Of events that wait to be durable, on one core: as a subscription holds.
constexpr size_t kUnpublishedBytes = EventSubscription::kBytes;
}  // namespace

void Core::Impl::NoteEvent(EventKind kind, const CoreQueue* queue, JobId id, uint32_t attempt,
                           std::string_view worker, std::string_view reason, uint64_t jobs) {
  if (event_bytes_ > kUnpublishedBytes) {
    ++events_lost_;
    return;
  }
  turn_events_.push_back({kind, queue->record->name, id, shared_->clock->Wall(), attempt,
                          std::string(worker), std::string(reason), jobs});
  event_bytes_ += turn_events_.back().bytes();
}

void Core::Impl::EmitPurged(QueueRecord* record, uint64_t jobs, std::string_view command) {
  if (!shared_->events->listening()) return;
  NoteEvent(EventKind::kPurged, QueueHere(record), JobId(0), 0, {}, command, jobs);
}

void Core::Impl::EmitMoved(EventKind kind, const LookupTask* task) {
  Emit(kind, QueueById(task->record->header.zone.queue), task->id, task->attempt);
}

// What they report is in the batches up to last_ticket_.
void Core::Impl::SubmitEvents() {
  if (turn_events_.empty() && events_lost_ == 0) [[likely]]
    return;
  unpublished_.push_back(
      {last_ticket_, std::exchange(events_lost_, 0), std::exchange(turn_events_, {})});
}

bool Core::Impl::EventsDue() const {
  if (shared_->events->Ready(id_) && !event_readers_.empty()) return true;
  return !unpublished_.empty() && unpublished_.front().ticket <= shared_->Answerable();
}

void Core::Impl::PublishEvents() {
  if (unpublished_.empty()) [[likely]]
    return;
  const Ticket answerable = shared_->Answerable();
  std::vector<CoreId> wake;
  while (!unpublished_.empty() && unpublished_.front().ticket <= answerable) {  // EVENT-1
    const Unpublished& batch = unpublished_.front();
    for (const JobEvent& event : batch.events) event_bytes_ -= event.bytes();
    shared_->events->Publish(batch.events, batch.missed, &wake);
    unpublished_.pop_front();
  }
  for (const CoreId core : wake) {
    if (core != id_) shared_->core_list[core.value()]->impl_->Wake();
  }
}

void Core::Impl::Events(EventsRequest* request) {
  request->events.clear();
  request->missed = 0;
  CHECK(request->subscription->reader() == id_, "a subscription is read on its reader's core");
  if (request->abandoned) return Executed(request);
  if (request->subscription->Take(request->max_events, &request->events, &request->missed))
    return Executed(request);
  event_readers_.push_back(request);
}

void Core::Impl::ServeEvents() {
  if (event_readers_.empty() || !shared_->events->TakeReady(id_)) return;
  for (EventsRequest* request : std::exchange(event_readers_, {})) Events(request);
}

// The store has failed.
void Core::Impl::EndEvents() {
  turn_events_.clear();
  unpublished_.clear();
  event_bytes_ = events_lost_ = 0;
  for (EventsRequest* request : std::exchange(event_readers_, {})) {
    request->error =
        Error(ErrorCode::kShutdown, "the store has failed: " + shared_->writes->failure().text());
    Executed(request);
  }
}

}  // namespace vestq
