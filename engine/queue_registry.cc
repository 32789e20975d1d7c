#include "engine/queue_registry.h"

#include <algorithm>

#include "engine/base/limits.h"
#include "engine/batch.h"
#include "engine/write_queue.h"
#include "keycodec/keys.h"
#include "lanes/published_head.h"

namespace vestq {
namespace {

QueueOptions OptionsOf(const keycodec::QueueValue& value) {
  const auto span = [](const std::optional<int64_t>& ms) {
    return ms ? std::optional(Duration(*ms)) : std::optional<Duration>();
  };
  QueueOptions out;
  out.lease = span(value.lease_ms);
  out.attempts = value.attempts;
  out.backoff = value.backoff;
  out.keep = span(value.keep_ms);
  if (value.order != keycodec::Order::kPriority) out.order = value.order;
  out.dead_keep = span(value.dead_keep_ms);
  out.dead_max = value.dead_max;
  out.concurrency = value.limits.concurrency;
  out.space_concurrency = value.limits.space_concurrency;
  out.rate_micro = value.limits.rate_micro;
  out.burst = value.limits.burst;
  out.ageing = span(value.ageing_ms);
  out.space_rate_micro = value.limits.space_rate_micro;
  out.space_burst = value.limits.space_burst;
  out.space_weight = value.limits.space_weight;
  out.adaptive = value.limits.adaptive;
  out.max_jobs = value.room.jobs;
  out.max_bytes = value.room.bytes;
  if (value.paused_until_ms) {
    out.paused_until = *value.paused_until_ms >= limits::kKeyTimeMsMax
                           ? MonoTime::Max()
                           : MonoTime(*value.paused_until_ms);
  }
  return out;
}

}  // namespace

keycodec::SpaceValue SpaceWords::Load() const {
  keycodec::SpaceValue out;
  const auto load = [](const std::atomic<int64_t>& word, auto* field) {
    using Number = typename std::remove_pointer_t<decltype(field)>::value_type;
    if (const int64_t value = word.load(std::memory_order_acquire); value >= 0)
      *field = static_cast<Number>(value);
  };
  load(concurrency, &out.concurrency);
  load(rate_micro, &out.rate_micro);
  load(burst, &out.burst);
  load(weight, &out.weight);
  load(paused_until_ms, &out.paused_until_ms);
  return out;
}

void SpaceWords::Store(const keycodec::SpaceValue& value) {
  const auto store = [](const auto& field, std::atomic<int64_t>* word) {
    word->store(field ? static_cast<int64_t>(*field) : -1, std::memory_order_release);
  };
  store(value.concurrency, &concurrency);
  store(value.rate_micro, &rate_micro);
  store(value.burst, &burst);
  store(value.weight, &weight);
  store(value.paused_until_ms, &paused_until_ms);
}

QueueSlot::QueueSlot()
    : head(kNoHead),
      oldest_waiter(kNoWaiter),
      waiters(0),
      virtual_time(0),
      tagged(false),
      touched_ms(0),
      core_queue(nullptr) {
  for (auto& counter : counters) counter.store(0, std::memory_order_relaxed);
}

QueueRecord::QueueRecord(std::string n, const QueueLife& first, uint16_t cores)
    : name(std::move(n)), ordinal(first.number.value()), slots(new QueueSlot[cores]), life(first) {}

QueueRecord::~QueueRecord() {
  delete unnamed_adaptive.load(std::memory_order_relaxed);
  delete backlog.load(std::memory_order_relaxed);
}

SharedAdaptiveLimit* QueueRecord::UnnamedAdaptive(const keycodec::AdaptiveBounds& bounds,
                                                  MonoTime now) {
  SharedAdaptiveLimit* there = unnamed_adaptive.load(std::memory_order_acquire);
  if (there != nullptr) return there;
  auto made = std::make_unique<SharedAdaptiveLimit>(bounds, now);
  if (unnamed_adaptive.compare_exchange_strong(there, made.get(), std::memory_order_acq_rel))
    return made.release();
  return there;
}

int64_t QueueRecord::Total(keycodec::Counter counter, uint16_t cores) const {
  int64_t sum = 0;
  for (uint16_t i = 0; i < cores; ++i) {
    sum += slots[i].counters[static_cast<size_t>(counter)].load(std::memory_order_relaxed);
  }
  return sum;
}

MonoTime QueueRecord::RateUntil(keycodec::Counter counter, uint16_t cores) const {
  int64_t latest = 0;
  for (uint16_t i = 0; i < cores; ++i) {
    const auto at = static_cast<size_t>(counter);
    latest = std::max(latest, slots[i].counters[at].load(std::memory_order_relaxed));
  }
  return MonoTime(latest);
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
  out.done = total(Counter::kDone);
  out.lapsed = total(Counter::kLapsed);
  out.dropped = total(Counter::kDropped);
  out.duplicates = total(Counter::kDuplicates);
  out.unfinished_bytes =
      std::max<int64_t>(0, Total(Counter::kBytes, cores) - Total(Counter::kDeadBytes, cores));
  if (const QueueBacklog* const all = backlog.load(std::memory_order_acquire)) {
    out.enqueues_waiting = all->line.waiting();
    out.held_jobs = all->shared.held().jobs;
    out.held_bytes = all->shared.held().bytes;
    out.refused = all->refused.load(std::memory_order_relaxed);
  }
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
  auto record = std::make_unique<QueueRecord>(std::string(name), vestq::LifeOf(value), cores_);
  record->stored.store(true, std::memory_order_relaxed);
  Publish(record.get(), value);
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
  QueueLife life;
  life.number = QueueId(next_id_++);
  auto record = std::make_unique<QueueRecord>(std::string(name), life, cores_);
  QueueRecord* const out = record.get();
  by_id_[life.number.value()] = out;
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
  Batch batch;
  PutRow(*record, &batch);
  writes_->Submit(&batch);
  record->stored.store(true, std::memory_order_release);  // QUEUE-1
}

void QueueRegistry::PutRow(const QueueRecord& record, Batch* batch) const {
  std::string bytes;
  keycodec::Append(ValueOf(record), &bytes);
  batch->Put(Family::kRows, keycodec::QueueKey(record.name), bytes);
}

// What the queue's row says now. REQUIRES: mutex_ is held.
keycodec::QueueValue QueueRegistry::ValueOf(const QueueRecord& record) const {
  const QueueSettings& s = record.settings;
  const auto number = [](const std::atomic<int64_t>& field) {
    const int64_t value = field.load(std::memory_order_relaxed);
    return value < 0 ? std::nullopt : std::optional(value);
  };
  keycodec::QueueValue value;
  value.queue = record.life.number;
  value.incarnation = record.life.newest;
  value.living = BoundsOf(record.life);
  value.order = record.order();
  value.lease_ms = number(s.lease_ms);
  if (const auto attempts = number(s.attempts)) value.attempts = static_cast<uint32_t>(*attempts);
  value.keep_ms = number(s.keep_ms);
  value.dead_keep_ms = number(s.dead_keep_ms);
  if (const auto most = number(s.dead_max)) value.dead_max = static_cast<uint64_t>(*most);
  value.paused_until_ms = number(s.paused_until_ms);
  const auto number32 = [&number](const std::atomic<int64_t>& field) {
    const auto wide = number(field);
    return wide ? std::optional(static_cast<uint32_t>(*wide)) : std::nullopt;
  };
  value.limits.concurrency = number32(s.concurrency);
  value.limits.space_concurrency = number32(s.space_concurrency);
  if (const auto rate = number(s.rate_micro))
    value.limits.rate_micro = static_cast<uint64_t>(*rate);
  value.limits.burst = number32(s.burst);
  value.ageing_ms = number(s.ageing_ms);
  if (const auto rate = number(s.space_rate_micro))
    value.limits.space_rate_micro = static_cast<uint64_t>(*rate);
  value.limits.space_burst = number32(s.space_burst);
  value.limits.space_weight = number32(s.space_weight);
  value.limits.adaptive = s.Adaptive();
  if (const QueueBacklog* const all = record.backlog.load(std::memory_order_relaxed)) {
    const auto limit = [&number](const std::atomic<int64_t>& field) {
      const auto wide = number(field);
      return wide ? std::optional(static_cast<uint64_t>(*wide)) : std::nullopt;
    };
    value.room = {limit(all->max_jobs), limit(all->max_bytes)};
  }
  if (const std::string* backoff = s.backoff.load(std::memory_order_relaxed))
    value.backoff = *backoff;
  return value;
}

// REQUIRES: mutex_ is held, or the cores do not run yet.
void QueueRegistry::Publish(QueueRecord* record, const keycodec::QueueValue& value) {
  record->ready_order.store(value.order, std::memory_order_relaxed);
  QueueSettings& s = record->settings;
  const auto store = [](std::atomic<int64_t>& field, int64_t number) {
    field.store(number, std::memory_order_relaxed);
  };
  store(s.lease_ms, value.lease_ms.value_or(-1));
  store(s.attempts, value.attempts ? static_cast<int64_t>(*value.attempts) : -1);
  store(s.keep_ms, value.keep_ms.value_or(-1));
  store(s.dead_keep_ms, value.dead_keep_ms.value_or(-1));
  store(s.dead_max, value.dead_max ? static_cast<int64_t>(*value.dead_max) : -1);
  const auto or_none = [](const auto& number) {
    return number ? static_cast<int64_t>(*number) : int64_t{-1};
  };
  store(s.concurrency, or_none(value.limits.concurrency));
  store(s.space_concurrency, or_none(value.limits.space_concurrency));
  store(s.rate_micro, or_none(value.limits.rate_micro));
  store(s.burst, or_none(value.limits.burst));
  store(s.ageing_ms, value.ageing_ms.value_or(-1));
  store(s.space_rate_micro, or_none(value.limits.space_rate_micro));
  store(s.space_burst, or_none(value.limits.space_burst));
  store(s.space_weight, or_none(value.limits.space_weight));
  store(s.adaptive, value.limits.adaptive ? QueueSettings::Packed(*value.limits.adaptive) : -1);
  keycodec::QueueLimits limiting = value.limits;
  limiting.space_weight.reset();
  if (limiting != keycodec::QueueLimits()) s.limited.store(true, std::memory_order_release);
  QueueBacklog* const all = value.room != keycodec::QueueRoom()
                                ? MakeBacklog(record)
                                : record->backlog.load(std::memory_order_relaxed);
  if (all != nullptr) {
    store(all->max_jobs, or_none(value.room.jobs));
    store(all->max_bytes, or_none(value.room.bytes));
  }
  const std::string* const backoff =
      value.backoff ? &*backoffs_.insert(*value.backoff).first : nullptr;
  s.backoff.store(backoff, std::memory_order_release);
  s.paused_until_ms.store(value.paused_until_ms.value_or(-1), std::memory_order_release);
}

// REQUIRES: mutex_ is held, or the cores do not run yet.
QueueBacklog* QueueRegistry::MakeBacklog(QueueRecord* record) {
  QueueBacklog* all = record->backlog.load(std::memory_order_relaxed);
  if (all == nullptr) {
    all = new QueueBacklog();
    record->backlog.store(all, std::memory_order_release);
  }
  return all;
}

QueueBacklog* QueueRegistry::Backlogs(QueueRecord* record) {
  std::lock_guard lock(mutex_);
  return MakeBacklog(record);
}

Ticket QueueRegistry::Set(QueueRecord* record, const std::function<void(QueueOptions*)>& change) {
  std::scoped_lock lock(changes_, mutex_);
  keycodec::QueueValue value = ValueOf(*record);
  QueueOptions options = OptionsOf(value);
  change(&options);
  const auto ms = [](const auto& span) {
    return span ? std::optional(span->ms()) : std::optional<int64_t>();
  };
  value.lease_ms = ms(options.lease);
  value.attempts = options.attempts;
  value.backoff = options.backoff;
  value.keep_ms = ms(options.keep);
  value.order = options.order.value_or(keycodec::Order::kPriority);
  value.dead_keep_ms = ms(options.dead_keep);
  value.dead_max = options.dead_max;
  value.limits = {options.concurrency,  options.space_concurrency, options.rate_micro,
                  options.burst,        options.space_rate_micro,  options.space_burst,
                  options.space_weight, options.adaptive};
  value.ageing_ms = ms(options.ageing);
  value.room = {options.max_jobs, options.max_bytes};
  value.paused_until_ms = ms(options.paused_until);
  if (value.paused_until_ms)
    value.paused_until_ms = std::min(*value.paused_until_ms, limits::kKeyTimeMsMax);
  std::string bytes;
  keycodec::Append(value, &bytes);
  Batch batch;
  batch.Put(Family::kRows, keycodec::QueueKey(record->name), bytes);
  const Ticket ticket = writes_->Submit(&batch);
  record->stored.store(true, std::memory_order_release);  // QUEUE-1
  Publish(record, value);
  return ticket;
}

QueueOptions QueueRegistry::Options(const QueueRecord& record) const {
  std::lock_guard lock(mutex_);
  return OptionsOf(ValueOf(record));
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

bool QueueRegistry::HasOptions(const QueueRecord& record, MonoTime now) {
  const QueueSettings& s = record.settings;
  bool any = record.order() != keycodec::Order::kPriority ||
             s.backoff.load(std::memory_order_relaxed) != nullptr ||
             s.paused_until_ms.load(std::memory_order_relaxed) > now.ms() ||
             record.space_rows.load(std::memory_order_relaxed) > 0;
  for (const auto* number :
       {&s.lease_ms, &s.attempts, &s.keep_ms, &s.dead_keep_ms, &s.dead_max, &s.concurrency,
        &s.space_concurrency, &s.rate_micro, &s.burst, &s.space_rate_micro, &s.space_burst,
        &s.space_weight, &s.ageing_ms, &s.adaptive})
    any |= number->load(std::memory_order_relaxed) >= 0;
  if (const QueueBacklog* const all = record.backlog.load(std::memory_order_acquire))
    any |= all->limits() != BacklogLimits();
  return any;
}

}  // namespace vestq
