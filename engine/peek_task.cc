#include "engine/peek_task.h"

#include <memory>
#include <utility>

#include "engine/store.h"
#include "keycodec/records.h"

namespace vestq {
namespace {

std::string RowsPrefix(keycodec::QueueRows rows, const keycodec::Zone& zone) {
  std::string prefix;
  keycodec::AppendQueueRowsPrefix(rows, zone.queue, zone.incarnation, &prefix);
  return prefix;
}

}  // namespace

Result<std::optional<JobId>> PeekTask::Match(std::string_view key, std::string_view value) const {
  std::optional<JobId> none;
  if (state == JobState::kReady) {
    const Result<keycodec::ReadyKey> ready = keycodec::DecodeReadyKey(key);
    if (!ready.ok()) return ready.error();
    if (ready->zone.incarnation != zone.incarnation) return none;
    if (one_space && ready->zone.space != zone.space) return none;
    return std::optional(ready->rank.id);
  }
  if (state == JobState::kScheduled) {
    const Result<keycodec::ScheduledKey> scheduled = keycodec::DecodeScheduledKey(key);
    if (!scheduled.ok()) return scheduled.error();
    const Result<keycodec::ScheduledValue> held = keycodec::DecodeScheduledValue(value);
    if (!held.ok()) return held.error();
    if (held->zone.queue != zone.queue || held->zone.incarnation != zone.incarnation) return none;
    if (one_space && held->zone.space != zone.space) return none;
    return std::optional(scheduled->id);
  }
  if (state == JobState::kDone) {
    const Result<keycodec::DoneRowKey> done = keycodec::DecodeDoneKey(key);
    if (!done.ok()) return done.error();
    const Result<keycodec::DoneValue> kept = keycodec::DecodeDoneValue(value);
    if (!kept.ok()) return kept.error();
    if (one_space && kept->zone.space != zone.space) return none;
    return std::optional(done->id);
  }
  if (state == JobState::kWaiting) {
    const Result<keycodec::WaitingRowKey> waiting = keycodec::DecodeWaitingKey(key);
    if (!waiting.ok()) return waiting.error();
    const Result<keycodec::WaitingValue> held = keycodec::DecodeWaitingValue(value);
    if (!held.ok()) return held.error();
    if (one_space && held->zone.space != zone.space) return none;
    return std::optional(waiting->id);
  }
  const Result<keycodec::DeadRowKey> dead = keycodec::DecodeDeadKey(key);
  if (!dead.ok()) return dead.error();
  if (one_space) {
    const Result<keycodec::DeadValue> letter = keycodec::DecodeDeadValue(value);
    if (!letter.ok()) return letter.error();
    if (letter->zone.space != zone.space) return none;
  }
  return std::optional(dead->id);
}

Error PeekTask::Scan(const Store& store, Family family, const std::string& lower,
                     const std::string& all, bool* stop) {
  const std::string& start = from > lower ? from : lower;
  const std::string& upper = until.empty() || (!all.empty() && all < until) ? all : until;
  if (!upper.empty() && start >= upper) return Error::Ok();
  auto it = store.NewIterator(family, start, upper);
  for (it->Seek(start); it->Valid(); it->Next()) {
    if (keys_ == max_keys || jobs.size() == max_jobs) {
      next.assign(it->key());
      *stop = true;
      return Error::Ok();
    }
    ++keys_;
    const Result<std::optional<JobId>> match = Match(it->key(), it->value());
    if (!match.ok()) return match.error();
    if (!match->has_value()) continue;
    jobs.push_back({**match, std::string(it->key()) + '\0'});
  }
  return it->error();
}

Error PeekTask::Run(const Store& store) {
  bool stop = false;
  if (state != JobState::kReady && state != JobState::kScheduled) {
    const keycodec::QueueRows rows = state == JobState::kDead   ? keycodec::QueueRows::kDead
                                     : state == JobState::kDone ? keycodec::QueueRows::kDone
                                                                : keycodec::QueueRows::kWaiting;
    const std::string prefix = RowsPrefix(rows, zone);
    return Scan(store, Family::kRows, prefix, keycodec::PrefixSuccessor(prefix), &stop);
  }
  for (uint16_t i = 0; i < lanes && !stop; ++i) {
    const LaneId lane(i);
    if (only_lane && *only_lane != lane) continue;
    std::string prefix;
    if (state == JobState::kScheduled) {
      keycodec::AppendRangePrefix(lane, keycodec::Range::kScheduled, &prefix);
    } else if (one_space) {
      keycodec::AppendZonePrefix(lane, zone.queue, zone.incarnation, zone.order, zone.space,
                                 &prefix);
    } else {
      keycodec::AppendLifePrefix(lane, zone.queue, zone.incarnation, &prefix);
    }
    VESTQ_RETURN_IF_ERROR(
        Scan(store, Family::kVesting, prefix, keycodec::PrefixSuccessor(prefix), &stop));
  }
  return Error::Ok();
}

}  // namespace vestq
