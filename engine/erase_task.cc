#include "engine/erase_task.h"

#include "engine/base/limits.h"
#include "engine/expiry.h"
#include "engine/queue_registry.h"
#include "engine/store.h"

namespace vestq {
namespace {
constexpr size_t kKeysMax = 16'384;                      // looked at, void or not
constexpr uint64_t kRecordBytesMax = uint64_t{4} << 20;  // read for one slice

// Ok with *found false where there is no such key.
Error GetIfThere(const Store& store, Family family, const std::string& key, std::string* value,
                 bool* found) {
  const Error error = store.Get(family, key, value);
  *found = error.ok();
  return error.code() == ErrorCode::kNotFound ? Error::Ok() : error;
}

}  // namespace

// Reads job records one after the other. Jobs of a queue mostly stand in the order of their ids, where
// stepping costs a tenth of a Get; where they do not, it gives stepping up and reads by Get.
class EraseTask::Records {
 public:
  explicit Records(const Store& store) : store_(store) {}

  // *found says whether there is one; *value is valid until the next call.
  Error Read(LaneId lane, JobId id, std::string_view* value, bool* found) {
    key_.clear();
    keycodec::AppendJobKey(lane, id, &key_);
    const bool behind = it_ != nullptr && lane == lane_ && last_ < id;
    if (!behind && seeks_ < kSeeksMax) VESTQ_RETURN_IF_ERROR(Seek(lane));
    lane_ = lane;
    last_ = id;
    if (seeks_ < kSeeksMax) {
      for (int steps = 0; it_->Valid() && it_->key() < key_; it_->Next()) {
        if (++steps > kStepsMax) {
          VESTQ_RETURN_IF_ERROR(Seek(lane));
          break;
        }
      }
      VESTQ_RETURN_IF_ERROR(it_->error());
      // One that stands further on, or nowhere, is not there: it was seen by this view of the store.
      *found = it_->Valid() && it_->key() == key_;
      if (*found) *value = it_->value();
      return Error::Ok();
    }
    it_.reset();
    VESTQ_RETURN_IF_ERROR(GetIfThere(store_, Family::kJob, key_, &bytes_, found));
    *value = bytes_;
    return Error::Ok();
  }

 private:
  static constexpr int kStepsMax = 8;   // over records of other queues
  static constexpr int kSeeksMax = 32;  // then by Get

  Error Seek(LaneId lane) {
    if (it_ == nullptr || lane != lane_) {
      std::string first, last;
      keycodec::AppendJobKey(lane, JobId(0), &first);
      keycodec::AppendJobKey(lane, JobId(limits::kJobIdMax), &last);
      it_ = store_.NewIterator(Family::kJob, first, keycodec::PrefixSuccessor(last));
    }
    ++seeks_;
    it_->Seek(key_);
    return it_->error();
  }

  const Store& store_;
  std::unique_ptr<StoreIterator> it_;
  LaneId lane_;
  JobId last_;
  int seeks_ = 0;
  std::string key_;
  std::string bytes_;
};

bool EraseTask::IsVoid(const keycodec::Zone& scheduled) {
  if (scheduled.queue != asked_) {
    const std::optional<QueueLife> life = queues_->LifeOf(scheduled.queue);
    asked_ = scheduled.queue;
    living_ = life ? std::optional((*life)[KeyKind::kScheduled]) : std::nullopt;
  }
  return !living_ || scheduled.incarnation < *living_;
}

Error EraseTask::Take(std::string_view key, std::string_view value) {
  if (what != What::kReady && what != What::kScheduled) return TakeRow(key, value);
  Found job;
  if (what == What::kReady) {
    const Result<keycodec::ReadyKey> ready = keycodec::DecodeReadyKey(key);
    if (!ready.ok()) return ready.error();
    const Result<keycodec::ReadyValue> held = keycodec::DecodeReadyValue(value);
    if (!held.ok()) return held.error();
    job.id = ready->rank.id;
    job.flags = held->flags;
  } else {
    const Result<keycodec::ScheduledKey> scheduled = keycodec::DecodeScheduledKey(key);
    if (!scheduled.ok()) return scheduled.error();
    Result<keycodec::ScheduledValue> held = keycodec::DecodeScheduledValue(value);
    if (!held.ok()) return held.error();
    if (!IsVoid(held->zone)) return Error::Ok();
    job.id = scheduled->id;
    job.zone = std::move(held->zone);
    job.flags = held->flags;
  }
  job.key = key;
  job.lane = lane;
  found.push_back(std::move(job));
  return Error::Ok();
}

Error EraseTask::TakeRow(std::string_view key, std::string_view value) {
  Found row;
  row.key = key;
  if (what == What::kDead) {
    const Result<keycodec::DeadRowKey> dead = keycodec::DecodeDeadKey(key);
    if (!dead.ok()) return dead.error();
    const Result<keycodec::DeadValue> letter = keycodec::DecodeDeadValue(value);
    if (!letter.ok()) return letter.error();
    row.id = dead->id;
    row.lane = letter->lane;
    row.payload_bytes = letter->payload_bytes;
    row.has_record = true;
    row.rows.push_back(keycodec::JobRowKey(row.lane, row.id));
  } else if (what == What::kWaiting) {
    const Result<keycodec::WaitingRowKey> waiting = keycodec::DecodeWaitingKey(key);
    if (!waiting.ok()) return waiting.error();
    const Result<keycodec::WaitingValue> held = keycodec::DecodeWaitingValue(value);
    if (!held.ok()) return held.error();
    row.id = waiting->id;
    row.lane = held->lane;
    row.flags = held->flags;
  } else if (what == What::kDone) {
    const Result<keycodec::DoneRowKey> done = keycodec::DecodeDoneKey(key);
    if (!done.ok()) return done.error();
    const Result<keycodec::DoneValue> kept = keycodec::DecodeDoneValue(value);
    if (!kept.ok()) return kept.error();
    row.id = done->id;
    row.lane = kept->lane;
    row.rows.push_back(keycodec::JobRowKey(row.lane, row.id));
    row.rows.push_back(keycodec::TimerKey(kept->lane, keycodec::Clock::kEngine, kept->keep_until_ms,
                                          keycodec::TimerKind::kKept, row.id));
  } else if (windows_below) {
    const Result<keycodec::UniqueValue> holder = keycodec::DecodeUniqueValue(value);
    if (!holder.ok()) return holder.error();
    if (holder->live || holder->life >= *windows_below) return Error::Ok();
    row.id = holder->id;
    row.until_ms = holder->until_ms;
  }
  found.push_back(std::move(row));
  return Error::Ok();
}

// What hangs on a job of the vesting family.
Error EraseTask::ReadJob(const Store& store, Records* records, Found* job) {
  const uint32_t flags = job->flags;
  std::string_view bytes;
  std::string row_bytes;
  VESTQ_RETURN_IF_ERROR(records->Read(job->lane, job->id, &bytes, &job->has_record));
  const std::string row_key = keycodec::JobRowKey(job->lane, job->id);
  if ((flags & keycodec::kFlagJobRow) != 0 || what == What::kWaiting) job->rows.push_back(row_key);
  if (!job->has_record) return Error::Ok();
  const Result<keycodec::JobRecord> record = keycodec::DecodeJobRecord(bytes);
  if (!record.ok()) return record.error();
  const keycodec::JobHeader& header = record->header;
  job->payload_bytes = record->payload.size();
  // One that waits has not vested, and no timer yet.
  if ((flags & keycodec::kFlagExpire) != 0 && what != What::kWaiting) {
    std::optional<keycodec::JobRow> row;
    bool there = false;
    VESTQ_RETURN_IF_ERROR(GetIfThere(store, Family::kRows, row_key, &row_bytes, &there));
    if (there) {
      Result<keycodec::JobRow> decoded = keycodec::DecodeJobRow(row_bytes);
      if (!decoded.ok()) return decoded.error();
      row = std::move(*decoded);
    }
    const auto [clock, time_ms] = ExpiryOf(header, row ? &*row : nullptr);
    job->rows.push_back(
        keycodec::TimerKey(job->lane, clock, time_ms, keycodec::TimerKind::kExpire, job->id));
  }
  if ((flags & keycodec::kFlagUnique) == 0) return Error::Ok();
  const std::string unique =
      keycodec::UniqueKey(header.zone.queue, header.zone.space, header.unique_key);
  bool there = false;
  VESTQ_RETURN_IF_ERROR(GetIfThere(store, Family::kRows, unique, &row_bytes, &there));
  if (!there) return Error::Ok();
  const Result<keycodec::UniqueValue> holder = keycodec::DecodeUniqueValue(row_bytes);
  if (!holder.ok()) return holder.error();
  if (holder->id == job->id) job->unique_row = unique;
  return Error::Ok();
}

// A dead letter has no flags: its edges say themselves that others wait for it.
Error EraseTask::ReadParent(const Store& store, Found* job) {
  std::string edges;
  keycodec::AppendParentEdgePrefix(job->lane, job->id, &edges);
  const auto it = store.NewIterator(Family::kRows, edges, keycodec::PrefixSuccessor(edges));
  it->Seek(edges);
  if (it->Valid()) job->flags = keycodec::kFlagParent;
  return it->error();
}

Error EraseTask::Run(const Store& store) {
  const bool of_jobs = what == What::kReady || what == What::kScheduled;
  auto it = store.NewIterator(of_jobs ? Family::kVesting : Family::kRows, from, upper);
  size_t keys = 0;
  for (it->Seek(from); it->Valid(); it->Next()) {
    if (keys++ == kKeysMax || found.size() == max_jobs) {
      next.assign(it->key());
      break;
    }
    VESTQ_RETURN_IF_ERROR(Take(it->key(), it->value()));
  }
  VESTQ_RETURN_IF_ERROR(it->error());
  it.reset();
  if (what == What::kDead) {
    for (Found& job : found) VESTQ_RETURN_IF_ERROR(ReadParent(store, &job));
  }
  if (!of_jobs && what != What::kWaiting) return Error::Ok();
  Records records(store);
  uint64_t read = 0;
  for (size_t i = 0; i < found.size(); ++i) {
    if (read >= kRecordBytesMax) {  // the rest in the next slice
      next = found[i].key;
      found.resize(i);
      break;
    }
    VESTQ_RETURN_IF_ERROR(ReadJob(store, &records, &found[i]));
    read += found[i].payload_bytes;
  }
  return Error::Ok();
}

}  // namespace vestq
