#include "engine/event_hub.h"

#include <algorithm>

#include "engine/base/limits.h"

namespace vestq {

std::string_view EventName(EventKind kind) {
  switch (kind) {
    case EventKind::kEnqueued: return "enqueued";
    case EventKind::kReady: return "ready";
    case EventKind::kLeased: return "leased";
    case EventKind::kCompleted: return "completed";
    case EventKind::kFailed: return "failed";
    case EventKind::kReleased: return "released";
    case EventKind::kExpired: return "expired";
    case EventKind::kRevoked: return "revoked";
    case EventKind::kDead: return "dead";
    case EventKind::kCancelled: return "cancelled";
    case EventKind::kLapsed: return "lapsed";
    case EventKind::kPurged: return "purged";
    case EventKind::kDropped: return "dropped";
    case EventKind::kRedriven: return "redriven";
    case EventKind::kRescheduled: return "rescheduled";
  }
  return "unknown";
}

EventSubscription::EventSubscription(CoreId reader, std::vector<std::string> queues)
    : reader_(reader), queues_([&queues] {
        std::sort(queues.begin(), queues.end());
        return std::move(queues);
      }()) {}

void EventSubscription::Push(const std::vector<JobEvent>& events, uint64_t missed) {
  const std::lock_guard lock(mutex_);
  missed_ += missed;
  for (const JobEvent& event : events) {
    if (!queues_.empty() && !std::binary_search(queues_.begin(), queues_.end(), event.queue))
      continue;
    events_.push_back(event);
    bytes_ += event.bytes();
    while (events_.size() > kEvents || bytes_ > kBytes) {
      bytes_ -= events_.front().bytes();
      events_.pop_front();
      ++missed_;
    }
  }
}

bool EventSubscription::Take(size_t max, std::vector<JobEvent>* events, uint64_t* missed) {
  const std::lock_guard lock(mutex_);
  *missed = std::exchange(missed_, 0);
  while (!events_.empty() && events->size() < max) {
    bytes_ -= events_.front().bytes();
    events->push_back(std::move(events_.front()));
    events_.pop_front();
  }
  return *missed > 0 || !events->empty();
}

Error EventHub::Add(std::shared_ptr<EventSubscription> subscription) {
  const std::lock_guard lock(mutex_);
  if (subscriptions_.size() >= limits::kEventReaders) {
    return Error(ErrorCode::kFull, std::to_string(subscriptions_.size()) +
                                       " connections listen to events, the limit is " +
                                       std::to_string(limits::kEventReaders));
  }
  subscriptions_.push_back(std::move(subscription));
  listeners_.store(static_cast<uint32_t>(subscriptions_.size()), std::memory_order_relaxed);
  return Error::Ok();
}

void EventHub::Remove(const EventSubscription* subscription) {
  const std::lock_guard lock(mutex_);
  std::erase_if(subscriptions_, [&](const auto& s) { return s.get() == subscription; });
  listeners_.store(static_cast<uint32_t>(subscriptions_.size()), std::memory_order_relaxed);
}

void EventHub::Publish(const std::vector<JobEvent>& events, uint64_t missed,
                       std::vector<CoreId>* wake) {
  const std::lock_guard lock(mutex_);
  for (const auto& subscription : subscriptions_) {
    subscription->Push(events, missed);
    const CoreId reader = subscription->reader();
    if (!ready_[reader.value()].exchange(true, std::memory_order_acq_rel)) wake->push_back(reader);
  }
}

}  // namespace vestq
