#include "engine/lookup_task.h"

#include "engine/queue_registry.h"
#include "engine/store.h"

namespace vestq {
namespace {

// Ok with *found false where there is no such key.
Error GetIfThere(const Store& store, Family family, const std::string& key, std::string* value,
                 bool* found) {
  const Error error = store.Get(family, key, value);
  *found = error.ok();
  return error.code() == ErrorCode::kNotFound ? Error::Ok() : error;
}

}  // namespace

Error LookupTask::FindScheduled(const Store& store, const std::string& key) {
  std::string value;
  bool found = false;
  VESTQ_RETURN_IF_ERROR(GetIfThere(store, Family::kVesting, key, &value, &found));
  if (!found) return Error::Ok();
  const Result<keycodec::ScheduledKey> where = keycodec::DecodeScheduledKey(key);
  if (!where.ok()) return where.error();
  const Result<keycodec::ScheduledValue> decoded = keycodec::DecodeScheduledValue(value);
  if (!decoded.ok()) return decoded.error();
  if (decoded->zone.incarnation != (*life)[KeyKind::kScheduled]) return Error::Ok();
  state = JobState::kScheduled;
  scheduled = *where;
  flags = decoded->flags;
  attempt = decoded->attempt;
  priority = decoded->priority;
  return Error::Ok();
}

Error LookupTask::FindReady(const Store& store, const keycodec::ReadyRank& where) {
  const keycodec::Zone& zone = record->header.zone;
  std::string key, value;
  keycodec::AppendReadyKey(lane, zone.queue, (*life)[KeyKind::kReady], zone.order, zone.space,
                           where, &key);
  bool found = false;
  VESTQ_RETURN_IF_ERROR(GetIfThere(store, Family::kVesting, key, &value, &found));
  if (!found) return Error::Ok();
  const Result<keycodec::ReadyValue> decoded = keycodec::DecodeReadyValue(value);
  if (!decoded.ok()) return decoded.error();
  state = JobState::kReady;
  rank = where;
  flags = decoded->flags;
  attempt = decoded->attempt;
  priority = where.priority;
  return Error::Ok();
}

Error LookupTask::FindDead(const Store& store, const std::string& key) {
  const Result<keycodec::DeadRowKey> where = keycodec::DecodeDeadKey(key);
  if (!where.ok()) return where.error();
  if (where->incarnation != (*life)[KeyKind::kDead]) return Error::Ok();
  std::string value;
  bool found = false;
  VESTQ_RETURN_IF_ERROR(GetIfThere(store, Family::kRows, key, &value, &found));
  if (!found) return Error::Ok();
  Result<keycodec::DeadValue> decoded = keycodec::DecodeDeadValue(value);
  if (!decoded.ok()) return decoded.error();
  state = JobState::kDead;
  ended = MonoTime(where->time_ms);
  dead = std::move(*decoded);
  attempt = dead.attempt;
  priority = dead.priority;
  // A dead letter has no flags: its edges say themselves that others wait for it.
  std::string edges;
  keycodec::AppendParentEdgePrefix(lane, id, &edges);
  const auto it = store.NewIterator(Family::kRows, edges, keycodec::PrefixSuccessor(edges));
  it->Seek(edges);
  if (it->Valid()) flags = keycodec::kFlagParent;
  return it->error();
}

Error LookupTask::FindWaiting(const Store& store, const std::string& key) {
  const Result<keycodec::WaitingRowKey> where = keycodec::DecodeWaitingKey(key);
  if (!where.ok()) return where.error();
  if (where->incarnation != (*life)[KeyKind::kWaiting]) return Error::Ok();
  std::string value;
  bool found = false;
  VESTQ_RETURN_IF_ERROR(GetIfThere(store, Family::kRows, key, &value, &found));
  if (!found) return Error::Ok();
  Result<keycodec::WaitingValue> decoded = keycodec::DecodeWaitingValue(value);
  if (!decoded.ok()) return decoded.error();
  state = JobState::kWaiting;
  waiting = std::move(*decoded);
  flags = waiting.flags;
  attempt = row->attempt;
  priority = waiting.priority;
  return Error::Ok();
}

Error LookupTask::FindDone(const Store& store, const std::string& key) {
  const Result<keycodec::DoneRowKey> where = keycodec::DecodeDoneKey(key);
  if (!where.ok()) return where.error();
  queue = where->queue;
  life = queues_->LifeOf(*queue);
  if (!life || where->incarnation != (*life)[KeyKind::kDone]) return Error::Ok();
  std::string value;
  bool found = false;
  VESTQ_RETURN_IF_ERROR(GetIfThere(store, Family::kRows, key, &value, &found));
  if (!found) return Error::Ok();
  Result<keycodec::DoneValue> decoded = keycodec::DecodeDoneValue(value);
  if (!decoded.ok()) return decoded.error();
  state = JobState::kDone;
  ended = MonoTime(where->finished_ms);
  done = std::move(*decoded);
  attempt = done.attempt;
  priority = done.priority;
  return Error::Ok();
}

Error LookupTask::Run(const Store& store) {
  std::string key;
  keycodec::AppendJobKey(lane, id, &key);
  bool has_record = false, found = false;
  VESTQ_RETURN_IF_ERROR(GetIfThere(store, Family::kJob, key, &record_bytes, &has_record));
  if (has_record) {
    Result<keycodec::JobRecord> decoded = keycodec::DecodeJobRecord(record_bytes);
    if (!decoded.ok()) return decoded.error();
    record = std::move(*decoded);
  }
  std::string bytes;
  VESTQ_RETURN_IF_ERROR(
      GetIfThere(store, Family::kRows, keycodec::JobRowKey(lane, id), &bytes, &found));
  if (found) {
    Result<keycodec::JobRow> decoded_row = keycodec::DecodeJobRow(bytes);
    if (!decoded_row.ok()) return decoded_row.error();
    row = std::move(*decoded_row);
  }
  if (!has_record) {
    return row && row->place == keycodec::Place::kDone ? FindDone(store, row->key) : Error::Ok();
  }

  const keycodec::JobHeader& header = record->header;
  queue = header.zone.queue;
  life = queues_->LifeOf(*queue);
  if (!life) return Error::Ok();
  // Where READY would be: the order's time is the enqueue's, or the vesting's.
  keycodec::ReadyRank ready{header.priority, header.enqueued_ms, id};
  if (header.zone.order == keycodec::Order::kTime && header.vests_ms != 0)
    ready.time_ms = header.vests_ms;
  std::string scheduled_key;
  if (row) {
    if (row->place == keycodec::Place::kDead) return FindDead(store, row->key);
    if (row->place == keycodec::Place::kWaiting) return FindWaiting(store, row->key);
    // Finished between the two reads: its owner knows, and looks again.
    if (row->place != keycodec::Place::kVesting) return Error::Ok();
    ready.priority = row->priority;
    const Result<keycodec::Range> range = keycodec::RangeOf(row->key);
    if (!range.ok()) return range.error();
    if (*range == keycodec::Range::kScheduled) {
      scheduled_key = row->key;
      const Result<keycodec::ScheduledKey> where = keycodec::DecodeScheduledKey(row->key);
      if (!where.ok()) return where.error();
      if (header.zone.order == keycodec::Order::kTime) ready.time_ms = where->time_ms;
    } else if (*range == keycodec::Range::kReady) {
      const Result<keycodec::ReadyKey> where = keycodec::DecodeReadyKey(row->key);
      if (!where.ok()) return where.error();
      ready = where->rank;
    }
  } else if (header.vests_ms != 0) {
    keycodec::AppendScheduledKey(lane, header.clock, header.vests_ms, id, &scheduled_key);
  }
  if (!scheduled_key.empty()) {
    VESTQ_RETURN_IF_ERROR(FindScheduled(store, scheduled_key));
    if (state != JobState::kGone) return Error::Ok();
  }
  return FindReady(store, ready);
}

}  // namespace vestq
