#include "engine/engine_open.h"

#include <algorithm>
#include <map>
#include <set>

#include "engine/core_impl.h"
#include "keycodec/keys.h"

namespace vestq {
namespace {

// One number of the settings; kNotFound when it is not there.
Result<uint64_t> ReadSetting(const Store& store, std::string_view name) {
  std::string bytes;
  if (Error error = store.Get(Family::kRows, keycodec::SettingKey(name), &bytes); !error.ok())
    return error;
  return keycodec::DecodeNumber(bytes);
}

template <typename Visit>  // Error visit(std::string_view key, std::string_view value)
Error ForEach(const Store& store, Family family, const std::string& prefix, Visit&& visit) {
  auto it = store.NewIterator(family, prefix, keycodec::PrefixSuccessor(prefix));
  for (it->Seek(prefix); it->Valid(); it->Next())
    VESTQ_RETURN_IF_ERROR(visit(it->key(), it->value()));
  return it->error();
}

}  // namespace

Result<StoredRows> ReadStoredRows(const Store& store, uint16_t lanes_of_new_store) {
  StoredRows rows;
  const Result<uint64_t> lanes = ReadSetting(store, "lanes");
  if (!lanes.ok()) {
    if (lanes.error().code() != ErrorCode::kNotFound) return lanes.error();
    rows.fresh = true;
    rows.lanes = lanes_of_new_store;
    return rows;
  }
  rows.lanes = static_cast<uint16_t>(*lanes);
  if (*lanes == 0 || *lanes > limits::kLanesMax) {
    return Error(ErrorCode::kCorruption,
                 "the store's settings name " + std::to_string(*lanes) + " lanes");
  }
  uint64_t erasing = 0;
  for (auto [name, target] : {std::pair<const char*, uint64_t*>{"ids", &rows.next_id},
                              {"queues", &rows.next_queue},
                              {"erase", &erasing}}) {
    const Result<uint64_t> value = ReadSetting(store, name);
    if (value.ok()) *target = *value;
    if (!value.ok() && value.error().code() != ErrorCode::kNotFound) return value.error();
  }
  rows.erasing = erasing != 0;
  const Result<uint64_t> epoch = ReadSetting(store, "epoch");
  if (!epoch.ok()) return epoch.error();
  rows.epoch = static_cast<uint32_t>(*epoch);

  Error error = ForEach(store, Family::kRows, "k", [&](std::string_view, std::string_view value) {
    Result<keycodec::ClockValue> clock = keycodec::DecodeClockValue(value);
    if (!clock.ok()) return clock.error();
    rows.clocks.push_back(std::move(*clock));
    return Error::Ok();
  });
  if (!error.ok()) return error;
  error = ForEach(store, Family::kRows, "q", [&](std::string_view key, std::string_view value) {
    Result<std::string> name = keycodec::DecodeQueueKey(key);
    if (!name.ok()) return name.error();
    const Result<keycodec::QueueValue> queue = keycodec::DecodeQueueValue(value);
    if (!queue.ok()) return queue.error();
    rows.queues.emplace_back(std::move(*name), *queue);
    return Error::Ok();
  });
  if (!error.ok()) return error;
  error = ForEach(store, Family::kRows, "x", [&](std::string_view key, std::string_view) {
    const Result<QueueId> number = keycodec::DecodeDroppedKey(key);
    if (!number.ok()) return number.error();
    rows.dropped.push_back(*number);
    return Error::Ok();
  });
  if (!error.ok()) return error;
  return rows;
}

Error RestoreCounters(EngineShared* shared, const StoredRows& rows, Batch* batch) {
  std::map<QueueId, keycodec::CounterValue> first;  // of slot 0, with those that come to it
  std::set<QueueId> changed;
  const std::set<QueueId> dropped(rows.dropped.begin(), rows.dropped.end());
  VESTQ_RETURN_IF_ERROR(ForEach(
      *shared->store, Family::kRows, "c", [&](std::string_view key, std::string_view value) {
        const Result<keycodec::CounterRowKey> where = keycodec::DecodeCounterKey(key);
        if (!where.ok()) return where.error();
        Result<keycodec::CounterValue> counters = keycodec::DecodeCounterValue(value);
        if (!counters.ok()) return counters.error();
        QueueRecord* const record = shared->queues->FindById(where->queue);
        if (record == nullptr && dropped.contains(where->queue)) {
          batch->Delete(Family::kRows, key);
          return Error::Ok();
        }
        if (record == nullptr) {
          return Error(ErrorCode::kCorruption, "counters of queue number " +
                                                   std::to_string(where->queue.value()) +
                                                   ", which is not stored (QUEUE-1)");
        }
        const QueueLife life = shared->queues->Life(*record);
        for (size_t i = 0; i < kKeyKinds; ++i) {
          if (counters->incarnation < life.living[i]) (*counters)[kCounterOfKind[i]] = 0;
        }
        counters->incarnation = life.newest;
        if (where->slot > 0 && where->slot < shared->cores) {
          CoreAccess::Of(shared->core_list[where->slot].get())->RestoreCounters(record, *counters);
          return Error::Ok();
        }
        keycodec::CounterValue& sum = first[where->queue];
        sum.incarnation = life.newest;
        for (size_t i = 0; i < keycodec::kCounters; ++i) {
          const auto counter = static_cast<keycodec::Counter>(i);
          const bool latest = counter == keycodec::Counter::kRateUntil ||
                              counter == keycodec::Counter::kUnnamedRateUntil;  // no counts
          int64_t& total = sum.values[i];
          total = latest ? std::max(total, counters->values[i]) : total + counters->values[i];
        }
        if (where->slot != 0) {
          batch->Delete(Family::kRows, key);
          changed.insert(where->queue);
        }
        return Error::Ok();
      }));
  for (const auto& [queue, counters] : first) {
    CoreAccess::Of(shared->core_list[0].get())
        ->RestoreCounters(shared->queues->FindById(queue), counters);
    if (!changed.contains(queue)) continue;
    std::string bytes;
    keycodec::Append(counters, &bytes);
    batch->Put(Family::kRows, keycodec::CounterKey(0, queue), bytes);
  }
  return Error::Ok();
}

Error RestoreLeases(EngineShared* shared) {
  for (uint16_t lane = 0; lane < shared->lanes; ++lane) {
    std::string prefix;
    keycodec::AppendRangePrefix(LaneId(lane), keycodec::Range::kLeased, &prefix);
    Core::Impl* const owner =
        CoreAccess::Of(shared->core_list[shared->OwnerOf(LaneId(lane)).value()].get());
    VESTQ_RETURN_IF_ERROR(ForEach(*shared->store, Family::kVesting, prefix,
                                  [&](std::string_view key, std::string_view bytes) {
                                    const Result<keycodec::LeasedKey> where =
                                        keycodec::DecodeLeasedKey(key);
                                    if (!where.ok()) return where.error();
                                    const Result<keycodec::LeasedValue> value =
                                        keycodec::DecodeLeasedValue(bytes);
                                    if (!value.ok()) return value.error();
                                    Lease lease;
                                    lease.id = where->id;
                                    lease.lane = where->lane;
                                    lease.fence = value->fence;
                                    // The exact deadline was in memory: the stored one is never
                                    // before it (LEASE-4).
                                    lease.deadline = MonoTime(where->deadline_ms);
                                    lease.stored_deadline_ms = where->deadline_ms;
                                    lease.queue = value->zone.queue;
                                    lease.incarnation = value->zone.incarnation;
                                    lease.order = value->zone.order;
                                    lease.space = value->zone.space;
                                    lease.priority = value->priority;
                                    lease.enqueued_ms = value->enqueued_ms;
                                    lease.ready_time_ms = value->ready_time_ms;
                                    lease.flags = value->flags;
                                    lease.attempt = value->attempt;
                                    lease.attempts_max = value->attempts_max;
                                    lease.payload_bytes = value->payload_bytes;
                                    lease.granted = Duration(value->lease_ms);
                                    lease.worker = value->worker;
                                    owner->RestoreLease(lease);
                                    return Error::Ok();
                                  }));
  }
  return Error::Ok();
}

Error RestoreSpaces(EngineShared* shared, Batch* batch) {
  // The queue of a row and the core that is to know it; null: the queue was dropped.
  const auto owner = [shared](const keycodec::SpaceRowKey& key, QueueRecord** record) {
    *record = shared->queues->FindById(key.queue);
    const LaneId lane = *record == nullptr
                            ? LaneId(0)
                            : keycodec::LaneOfSpace((*record)->name, key.space, shared->lanes);
    return CoreAccess::Of(shared->core_list[shared->OwnerOf(lane).value()].get());
  };
  Error error = ForEach(
      *shared->store, Family::kRows, "o", [&](std::string_view key, std::string_view bytes) {
        const Result<keycodec::SpaceRowKey> where = keycodec::DecodeSpaceOptionsKey(key);
        if (!where.ok()) return where.error();
        const Result<keycodec::SpaceValue> options = keycodec::DecodeSpaceValue(bytes);
        if (!options.ok()) return options.error();
        QueueRecord* record = nullptr;
        Core::Impl* const core = owner(*where, &record);
        if (record != nullptr) core->RestoreSpace(record, where->space, *options);
        return Error::Ok();
      });
  if (!error.ok()) return error;
  return ForEach(
      *shared->store, Family::kRows, "g", [&](std::string_view key, std::string_view bytes) {
        const Result<keycodec::SpaceRowKey> where = keycodec::DecodeSpaceRateKey(key);
        if (!where.ok()) return where.error();
        const Result<keycodec::SpaceRateValue> rate = keycodec::DecodeSpaceRateValue(bytes);
        if (!rate.ok()) return rate.error();
        QueueRecord* record = nullptr;
        Core::Impl* const core = owner(*where, &record);
        if (record != nullptr && !core->RestoreSpaceRate(record, where->space, rate->until_ms))
          batch->Delete(Family::kRows, key);
        return Error::Ok();
      });
}

Error RestoreSchedules(EngineShared* shared) {
  return ForEach(
      *shared->store, Family::kRows, "h", [&](std::string_view key, std::string_view bytes) {
        const Result<std::string> name = keycodec::DecodeScheduleKey(key);
        if (!name.ok()) return name.error();
        const Result<keycodec::ScheduleValue> value = keycodec::DecodeScheduleValue(bytes);
        if (!value.ok()) return value.error();
        shared->schedules->SetStored(*name, LaneOfSchedule(*name, *value, shared->lanes));
        return Error::Ok();
      });
}

}  // namespace vestq
