#include "engine/queue_registry.h"

#include <algorithm>

#include "engine/base/limits.h"
#include "engine/batch.h"
#include "engine/write_queue.h"
#include "keycodec/keys.h"
#include "lanes/published_head.h"

namespace vestq {

QueueSlot::QueueSlot()
    : head(kNoHead),
      oldest_waiter(kNoWaiter),
      waiters(0),
      virtual_time(0),
      tagged(false),
      core_queue(nullptr) {
  for (auto& counter : counters) counter.store(0, std::memory_order_relaxed);
}

QueueRecord::QueueRecord(std::string n, QueueId number, uint16_t cores)
    : name(std::move(n)), id(number), slots(new QueueSlot[cores]) {}

int64_t QueueRecord::Total(keycodec::Counter counter, uint16_t cores) const {
  int64_t sum = rest[counter];
  for (uint16_t i = 0; i < cores; ++i) {
    sum += slots[i].counters[static_cast<size_t>(counter)].load(std::memory_order_relaxed);
  }
  return sum;
}

QueueCounts QueueRecord::Counts(uint16_t cores) const {
  using keycodec::Counter;
  // A sum taken while cores work may pass through a moment that never was; it never shows less than
  // nothing.
  auto total = [&](Counter c) { return std::max<int64_t>(0, Total(c, cores)); };
  QueueCounts out;
  out.name = name;
  out.ready = total(Counter::kReady);
  out.scheduled = total(Counter::kScheduled);
  out.leased = total(Counter::kLeased);
  out.dead = total(Counter::kDead);
  out.waiting = total(Counter::kWaiting);
  out.bytes = total(Counter::kBytes);
  out.enqueued = total(Counter::kEnqueued);
  out.leases = total(Counter::kLeases);
  out.completed = total(Counter::kCompleted);
  out.failed = total(Counter::kFailed);
  out.released = total(Counter::kReleased);
  out.expired = total(Counter::kExpired);
  out.died = total(Counter::kDied);
  out.cancelled = total(Counter::kCancelled);
  for (uint16_t i = 0; i < cores; ++i)
    out.waiters += slots[i].waiters.load(std::memory_order_relaxed);
  return out;
}

QueueRegistry::QueueRegistry(WriteQueue* writes, uint16_t cores) : writes_(writes), cores_(cores) {}
QueueRegistry::~QueueRegistry() = default;

Error QueueRegistry::Restore(std::string_view name, const keycodec::QueueValue& value) {
  std::lock_guard lock(mutex_);
  if (by_name_.count(name) != 0 || by_id_.count(value.queue.value()) != 0) {
    return Error(ErrorCode::kCorruption, "queue '" + std::string(name) + "' or its number " +
                                             std::to_string(value.queue.value()) +
                                             " is stored twice");
  }
  auto record = std::make_unique<QueueRecord>(std::string(name), value.queue, cores_);
  record->incarnation.store(value.incarnation.value(), std::memory_order_relaxed);
  record->stored.store(true, std::memory_order_relaxed);
  by_id_[value.queue.value()] = record.get();
  next_id_ = std::max(next_id_, value.queue.value() + 1);
  const std::string_view key = record->name;
  by_name_[key] = std::move(record);
  return Error::Ok();
}

Result<QueueRecord*> QueueRegistry::Get(std::string_view name) {
  std::lock_guard lock(mutex_);
  if (auto it = by_name_.find(name); it != by_name_.end()) return it->second.get();
  if (by_name_.size() >= limits::kQueuesMax) {
    return Error(ErrorCode::kFull, "this store knows " + std::to_string(by_name_.size()) +
                                       " queues, the limit is " +
                                       std::to_string(limits::kQueuesMax));
  }
  const QueueId id(next_id_++);
  auto record = std::make_unique<QueueRecord>(std::string(name), id, cores_);
  QueueRecord* const out = record.get();
  by_id_[id.value()] = out;
  by_name_[std::string_view(out->name)] = std::move(record);
  return out;
}

QueueRecord* QueueRegistry::Find(std::string_view name) const {
  std::lock_guard lock(mutex_);
  auto it = by_name_.find(name);
  return it == by_name_.end() ? nullptr : it->second.get();
}

QueueRecord* QueueRegistry::FindById(QueueId id) const {
  std::lock_guard lock(mutex_);
  auto it = by_id_.find(id.value());
  return it == by_id_.end() ? nullptr : it->second;
}

void QueueRegistry::EnsureStored(QueueRecord* record) {
  if (record->stored.load(std::memory_order_acquire)) return;
  std::lock_guard lock(mutex_);
  if (record->stored.load(std::memory_order_relaxed)) return;
  keycodec::QueueValue value;
  value.queue = record->id;
  value.incarnation = record->current();
  value.order = record->order;
  std::string bytes;
  keycodec::Append(value, &bytes);
  Batch batch;
  batch.Put(Family::kRows, keycodec::QueueKey(record->name), bytes);
  writes_->Submit(&batch);
  record->stored.store(true, std::memory_order_release);  // QUEUE-1
}

std::vector<QueueRecord*> QueueRegistry::All() const {
  std::vector<QueueRecord*> out;
  {
    std::lock_guard lock(mutex_);
    out.reserve(by_name_.size());
    for (const auto& [name, record] : by_name_) out.push_back(record.get());
  }
  std::sort(out.begin(), out.end(), [](auto* a, auto* b) { return a->name < b->name; });
  return out;
}

}  // namespace vestq
