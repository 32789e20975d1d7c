#include "engine/zone_tasks.h"

#include <algorithm>
#include <memory>

#include "engine/store.h"

namespace vestq {
namespace {

// Job rows of those that were read and need one, at most about `bytes` of them, at least one. A job whose
// row is not there was changed meanwhile; it, and those beyond the limit, count as not read.
Error ReadJobRows(const Store& store, LaneId lane, uint64_t bytes, std::vector<ReadyJob>* jobs) {
  uint64_t read = 0;
  for (ReadyJob& job : *jobs) {
    if (job.record == nullptr || !NeedsJobRow(job.flags)) continue;
    std::string value;
    const Error error =
        read > 0 && read >= bytes
            ? Error(ErrorCode::kNotFound, "no room")
            : store.Get(Family::kRows, keycodec::JobRowKey(lane, job.rank.id), &value);
    if (error.code() == ErrorCode::kNotFound) {
      job.record = nullptr;
      continue;
    }
    VESTQ_RETURN_IF_ERROR(error);
    const Result<keycodec::JobRow> row = keycodec::DecodeJobRow(value);
    if (!row.ok()) return row.error();
    read += value.size();
    job.row = std::make_shared<const std::string>(std::move(value));
  }
  return Error::Ok();
}

}  // namespace

Error ReadRecords(const Store& store, LaneId lane, uint64_t bytes, Missing missing,
                  std::vector<ReadyJob>* jobs) {
  std::vector<std::string> keys, values;
  std::vector<bool> found;
  uint64_t read = 0;
  // Grows while the records are small, so that large ones overshoot little.
  size_t chunk = bytes < 4096 ? 1 : 4;
  for (size_t i = 0; i < jobs->size() && (i == 0 || read < bytes);) {
    const size_t end = std::min(jobs->size(), i + chunk);
    keys.clear();
    for (size_t k = i; k < end; ++k) {
      keys.emplace_back();
      keycodec::AppendJobKey(lane, (*jobs)[k].rank.id, &keys.back());
    }
    VESTQ_RETURN_IF_ERROR(store.MultiGet(Family::kJob, keys, &values, &found));
    for (size_t k = i; k < end; ++k) {
      if (!found[k - i]) {
        if (missing == Missing::kIsLeftOut) continue;
        return Error(ErrorCode::kCorruption, "job " + std::to_string((*jobs)[k].rank.id.value()) +
                                                 " has a key but no record (JOB-2)");
      }
      const Result<keycodec::JobRecord> decoded = keycodec::DecodeJobRecord(values[k - i]);
      if (!decoded.ok()) return decoded.error();
      read += values[k - i].size();
      (*jobs)[k].record = std::make_shared<const std::string>(std::move(values[k - i]));
    }
    i = end;
    chunk = read / i < 4096 ? std::min<size_t>(64, chunk * 2) : 4;
  }
  return ReadJobRows(store, lane, bytes, jobs);
}

Error RefillTask::Run(const Store& store) {
  std::string prefix, start;
  keycodec::AppendZonePrefix(lane, zone.queue, zone.incarnation, zone.order, zone.space, &prefix);
  if (from) {
    keycodec::AppendReadyKey(lane, zone.queue, zone.incarnation, zone.order, zone.space, *from,
                             &start);
    start.push_back('\0');  // exclusive
  } else {
    start = prefix;
  }
  auto it = store.NewIterator(Family::kVesting, start, keycodec::PrefixSuccessor(prefix));
  for (it->Seek(start); it->Valid() && jobs.size() < max_jobs; it->Next()) {
    const Result<keycodec::ReadyKey> key = keycodec::DecodeReadyKey(it->key());
    if (!key.ok()) return key.error();
    const Result<keycodec::ReadyValue> value = keycodec::DecodeReadyValue(it->value());
    if (!value.ok()) return value.error();
    ReadyJob& job = jobs.emplace_back();
    job.rank = key->rank;
    job.flags = value->flags;
    job.attempt = value->attempt;
  }
  VESTQ_RETURN_IF_ERROR(it->error());
  reached_end = !it->Valid();
  it.reset();
  // The records are read later than the keys: a job that was cancelled in between has none. Its owner
  // knows (ReadyWindow records it); one that is missing for no reason is found when its turn comes.
  return jobs.empty() ? Error::Ok()
                      : ReadRecords(store, lane, max_bytes, Missing::kIsLeftOut, &jobs);
}

Error DueTask::Run(const Store& store) {
  std::string prefix, start;
  keycodec::AppendScheduledPrefix(lane, clock, &prefix);
  if (from_key.empty()) {
    keycodec::AppendScheduledKey(lane, clock, from_ms, JobId(0), &start);
  } else {
    start = from_key;
  }
  auto it = store.NewIterator(Family::kVesting, start, keycodec::PrefixSuccessor(prefix));
  next_ms = MonoTime::Max().ms();
  for (it->Seek(start); it->Valid(); it->Next()) {
    const Result<keycodec::ScheduledKey> key = keycodec::DecodeScheduledKey(it->key());
    if (!key.ok()) return key.error();
    if (key->time_ms > until_ms || jobs.size() == max_jobs) {
      next_ms = key->time_ms;
      next_key.assign(it->key());
      break;
    }
    Result<keycodec::ScheduledValue> value = keycodec::DecodeScheduledValue(it->value());
    if (!value.ok()) return value.error();
    jobs.emplace_back(*key, std::move(*value));
  }
  VESTQ_RETURN_IF_ERROR(it->error());
  it.reset();
  for (const auto& [key, value] : jobs) {
    if (clock != keycodec::Clock::kWall || value.zone.order != keycodec::Order::kTime ||
        (value.flags & keycodec::kFlagJobRow) == 0)
      continue;
    std::string bytes;
    const Error got = store.Get(Family::kRows, keycodec::JobRowKey(lane, key.id), &bytes);
    if (got.code() == ErrorCode::kNotFound) continue;  // cancelled meanwhile, its owner knows
    if (!got.ok()) return got;
    Result<keycodec::JobRow> row = keycodec::DecodeJobRow(bytes);
    if (!row.ok()) return row.error();
    rows.emplace(key.id, std::move(*row));
  }
  return Error::Ok();
}

}  // namespace vestq
