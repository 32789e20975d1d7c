// The lives of queues: what PURGE, QUEUE DROP and vanishing change in the registry (engine/queue_life.h).
#include <utility>

#include "engine/base/check.h"
#include "engine/batch.h"
#include "engine/queue_registry.h"
#include "engine/write_queue.h"
#include "keycodec/keys.h"

namespace vestq {
namespace {
// Settings: something is left to erase; the least number that no queue has had.
constexpr std::string_view kErase = "erase";
constexpr std::string_view kNext = "queues";
}  // namespace

QueueLife QueueRegistry::Life(const QueueRecord& record) const {
  std::lock_guard lock(mutex_);
  return record.life;
}

std::optional<QueueLife> QueueRegistry::LifeOf(QueueId number) const {
  std::lock_guard lock(mutex_);
  const auto it = by_id_.find(number.value());
  if (it == by_id_.end()) return std::nullopt;
  return it->second->life;
}

// REQUIRES: mutex_ is held, and what makes it so is submitted.
void QueueRegistry::Renew(QueueRecord* record, const QueueLife& life) {
  const uint64_t version = record->life.version + 1;
  record->life = life;
  record->life.version = version;
  record->version.store(version, std::memory_order_release);
  renewals_.fetch_add(1, std::memory_order_release);
}

// REQUIRES: mutex_ is held.
void QueueRegistry::BeginErasing(QueueRecord* record, QueueId number, Batch* batch) {
  batch->Put(Family::kRows, keycodec::SettingKey(kErase), keycodec::EncodeNumber(1));  // ERASE-1
  erasing_ += cores_;
  if (record != nullptr) {
    record->erasing += cores_;
  } else {
    dropped_[number.value()] = cores_;
  }
}

Ticket QueueRegistry::Purge(QueueRecord* record, KeyKinds kinds) {
  std::scoped_lock lock(changes_, mutex_);
  const QueueLife old = record->life;
  QueueLife life = old;
  life.newest = Incarnation(old.newest.value() + 1);
  for (size_t i = 0; i < kKeyKinds; ++i) {
    if (Has(kinds, static_cast<KeyKind>(i))) life.living[i] = life.newest;
  }
  record->life = life;
  Batch batch;
  PutRow(*record, &batch);
  record->life = old;
  BeginErasing(record, life.number, &batch);
  const Ticket ticket = writes_->Submit(&batch);
  record->stored.store(true, std::memory_order_release);  // QUEUE-1
  Renew(record, life);                                    // LIFE-2
  return ticket;
}

std::optional<QueueRegistry::Dropped> QueueRegistry::Drop(QueueRecord* record) {
  std::scoped_lock lock(changes_, mutex_);
  if (!record->stored.load(std::memory_order_relaxed)) return std::nullopt;
  const QueueId old = record->life.number;
  QueueLife life;
  life.number = QueueId(next_id_++);
  Batch batch;
  batch.Delete(Family::kRows, keycodec::QueueKey(record->name));
  std::string bytes;
  keycodec::Append(keycodec::DroppedValue{record->name}, &bytes);
  batch.Put(Family::kRows, keycodec::DroppedKey(old), bytes);
  batch.Put(Family::kRows, keycodec::SettingKey(kNext), keycodec::EncodeNumber(next_id_));
  BeginErasing(nullptr, old, &batch);
  const Ticket ticket = writes_->Submit(&batch);
  record->stored.store(false, std::memory_order_release);
  by_id_.erase(old.value());
  by_id_[life.number.value()] = record;
  Publish(record, keycodec::QueueValue());
  record->unnamed.Store(keycodec::SpaceValue());
  Renew(record, life);  // LIFE-2
  return Dropped{ticket, old};
}

Error QueueRegistry::RestoreDropped(QueueId number) {
  std::lock_guard lock(mutex_);
  if (by_id_.count(number.value()) != 0) {
    return Error(ErrorCode::kCorruption, "queue number " + std::to_string(number.value()) +
                                             " is stored as a queue and as a dropped one");
  }
  next_id_ = std::max(next_id_, number.value() + 1);
  dropped_[number.value()] = 0;
  return Error::Ok();
}

void QueueRegistry::RestoreErasing(bool pending) {
  std::lock_guard lock(mutex_);
  for (auto& [number, cores] : dropped_) {
    cores = cores_;
    to_erase_.emplace_back(nullptr, QueueId(number));
  }
  for (const auto& [number, record] : by_id_) {
    if (!pending || !record->life.purged()) continue;
    record->erasing += cores_;
    to_erase_.emplace_back(record, QueueId(number));
  }
  erasing_ = static_cast<int>(to_erase_.size()) * cores_;
}

void QueueRegistry::Erased(QueueRecord* record, QueueId number) {
  std::lock_guard lock(mutex_);
  Batch batch;
  if (record != nullptr) {
    --record->erasing;
  } else if (const auto it = dropped_.find(number.value()); --it->second == 0) {
    dropped_.erase(it);
    batch.Delete(Family::kRows, keycodec::DroppedKey(number));
  }
  CHECK(erasing_ > 0, "ERASE-1: each core says once that it has erased");
  if (--erasing_ == 0) batch.Delete(Family::kRows, keycodec::SettingKey(kErase));
  if (!batch.empty()) writes_->Submit(&batch);
}

// --- Vanishing ---

bool QueueRegistry::BeginVanish(QueueRecord* record) {
  std::lock_guard lock(mutex_);
  if (!record->stored.load(std::memory_order_relaxed) || record->erasing > 0) return false;
  record->stored.store(false, std::memory_order_seq_cst);
  return true;
}

std::optional<Ticket> QueueRegistry::EndVanish(QueueRecord* record, MonoTime now) {
  std::lock_guard lock(mutex_);
  if (record->stored.load(std::memory_order_relaxed)) return std::nullopt;  // somebody used it
  bool stays = HasOptions(*record, now);
  for (const keycodec::Counter counter : kCounterOfKind)
    stays |= record->Total(counter, cores_) != 0;
  stays |= record->Total(keycodec::Counter::kLeased, cores_) != 0;
  for (uint16_t i = 0; i < cores_; ++i) {
    stays |=
        record->slots[i].waiters.load(std::memory_order_relaxed) != 0 ||
        MonoTime(record->slots[i].touched_ms.load(std::memory_order_relaxed)) + kVanishAfter > now;
  }
  if (stays) {
    record->stored.store(true, std::memory_order_release);  // its row stands as it was
    return std::nullopt;
  }
  Batch batch;
  batch.Delete(Family::kRows, keycodec::QueueKey(record->name));
  for (uint16_t i = 0; i < cores_; ++i)
    batch.Delete(Family::kRows, keycodec::CounterKey(i, record->life.number));
  batch.Put(Family::kRows, keycodec::SettingKey(kNext), keycodec::EncodeNumber(next_id_));
  return writes_->Submit(&batch);
}

}  // namespace vestq
