#include "engine/check_lane.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <utility>

#include "engine/expiry.h"

namespace vestq {
namespace {

constexpr uint64_t kNoId = std::numeric_limits<uint64_t>::max();

std::string Name(uint64_t id) { return "job " + std::to_string(id); }

uint64_t SpaceHash(std::string_view space) { return std::hash<std::string_view>()(space); }

constexpr std::string_view kStateNames[] = {"READY", "SCHEDULED", "LEASED"};

}  // namespace

Error LaneCheck::Run() {
  uint64_t from = 0;
  do {
    upper_ = kNoId;
    VESTQ_RETURN_IF_ERROR(Gather(from));
    VESTQ_RETURN_IF_ERROR(Join(from));
    from = upper_;
    first_round_ = false;
  } while (from != kNoId);
  return Error::Ok();
}

// Reads the lane's vesting keys and keeps the entries with ids in [from, upper_), upper_ sinking
// when they are too many.
Error LaneCheck::Gather(uint64_t from) {
  entries_.clear();
  for (const keycodec::Range range :
       {keycodec::Range::kScheduled, keycodec::Range::kReady, keycodec::Range::kLeased}) {
    std::string lower;
    keycodec::AppendRangePrefix(lane_, range, &lower);
    const auto it = store_->NewIterator(Family::kVesting, lower, keycodec::PrefixSuccessor(lower));
    for (it->Seek(lower); it->Valid(); it->Next()) {
      const Result<Entry> entry = Decode(range, it->key(), it->value());
      if (!entry.ok()) {
        if (first_round_)
          report_->Add("CODE-1", "a vesting key of lane " + std::to_string(lane_.value()) + ": " +
                                     entry.error().text());
        continue;
      }
      if (first_round_) Note(*entry);
      const auto queue = queues_->find(entry->queue);
      if (queue == queues_->end() || entry->id < from || entry->id >= upper_) continue;
      entries_.push_back(*entry);
      entries_.back().is_void = IsVoid(queue->second, *entry);
      if (entries_.size() >= entries_max_) MakeRoom();
    }
    VESTQ_RETURN_IF_ERROR(it->error());
  }
  std::sort(entries_.begin(), entries_.end(),
            [](const Entry& a, const Entry& b) { return a.id < b.id; });
  return Error::Ok();
}

// A leased job is of no incarnation.
bool LaneCheck::IsVoid(const QueueTally& queue, const Entry& entry) {
  switch (entry.state) {
    case State::kReady: return !queue.Lives(KeyKind::kReady, entry.incarnation);
    case State::kScheduled: return !queue.Lives(KeyKind::kScheduled, entry.incarnation);
    case State::kLeased: return queue.dropped;
  }
  return false;
}

// Keeps the half with the smaller ids; the rest is for the next round.
void LaneCheck::MakeRoom() {
  const auto middle = entries_.begin() + static_cast<ptrdiff_t>(entries_.size() / 2);
  std::nth_element(entries_.begin(), middle, entries_.end(),
                   [](const Entry& a, const Entry& b) { return a.id < b.id; });
  // At least one id is kept whole, also when a store is so wrong that one id has half a million
  // keys.
  upper_ = middle->id + 1;
  const uint64_t lowest =
      std::min_element(entries_.begin(), entries_.end(), [](const Entry& a, const Entry& b) {
        return a.id < b.id;
      })->id;
  if (middle->id > lowest) upper_ = middle->id;
  std::erase_if(entries_, [this](const Entry& entry) { return entry.id >= upper_; });
}

Result<LaneCheck::Entry> LaneCheck::Decode(keycodec::Range range, std::string_view key,
                                           std::string_view value) {
  Entry entry;
  const auto take_zone = [&entry](const keycodec::Zone& zone) {
    entry.queue = zone.queue;
    entry.incarnation = zone.incarnation;
    entry.order = zone.order;
    entry.space_hash = SpaceHash(zone.space);
  };
  switch (range) {
    case keycodec::Range::kScheduled: {
      const auto k = keycodec::DecodeScheduledKey(key);
      if (!k.ok()) return k.error();
      const auto v = keycodec::DecodeScheduledValue(value);
      if (!v.ok()) return v.error();
      take_zone(v->zone);
      entry.id = k->id.value();
      entry.time_ms = k->time_ms;
      entry.clock = k->clock;
      entry.enqueued_ms = v->enqueued_ms;
      entry.priority = v->priority;
      entry.flags = v->flags;
      entry.state = State::kScheduled;
      return entry;
    }
    case keycodec::Range::kReady: {
      const auto k = keycodec::DecodeReadyKey(key);
      if (!k.ok()) return k.error();
      const auto v = keycodec::DecodeReadyValue(value);
      if (!v.ok()) return v.error();
      take_zone(k->zone);
      entry.id = k->rank.id.value();
      entry.time_ms = entry.enqueued_ms = k->rank.time_ms;
      entry.priority = k->rank.priority;
      entry.flags = v->flags;
      entry.state = State::kReady;
      return entry;
    }
    case keycodec::Range::kLeased: {
      const auto k = keycodec::DecodeLeasedKey(key);
      if (!k.ok()) return k.error();
      const auto v = keycodec::DecodeLeasedValue(value);
      if (!v.ok()) return v.error();
      take_zone(v->zone);
      entry.id = k->id.value();
      entry.time_ms = v->ready_time_ms;
      entry.enqueued_ms = v->enqueued_ms;
      entry.priority = v->priority;
      entry.flags = v->flags;
      entry.state = State::kLeased;
      if (first_round_ && v->fence.epoch > bounds_.epoch) {
        report_->Add("LEASE-2", Name(entry.id) + ": its fence is of epoch " +
                                    std::to_string(v->fence.epoch) + ", the store has had " +
                                    std::to_string(bounds_.epoch));
      }
      return entry;
    }
  }
  return Error(ErrorCode::kCorruption, "unknown range");
}

// Counts it and checks what needs no other key.
void LaneCheck::Note(const Entry& entry) {
  CheckId(JobId(entry.id));
  QueueTally* const queue = Find(entry.queue, Name(entry.id));
  if (queue == nullptr) return;
  switch (entry.state) {
    case State::kReady:
      if (!Lives(*queue, KeyKind::kReady, entry.incarnation, Name(entry.id))) return;
      ++queue->ready;
      ++report_->ready;
      break;
    case State::kScheduled:
      if (!Lives(*queue, KeyKind::kScheduled, entry.incarnation, Name(entry.id))) return;
      ++queue->scheduled;
      ++report_->scheduled;
      break;
    case State::kLeased:  // of no incarnation: a purge leaves it
      if (queue->dropped) {
        ++report_->void_keys;
        return;
      }
      ++queue->leased;
      ++report_->leased;
      break;
  }
}

void LaneCheck::CheckId(JobId id) {
  if (id.value() % bounds_.lanes != lane_.value()) {
    report_->Add("ID-1", Name(id.value()) + " stands in lane " + std::to_string(lane_.value()) +
                             ", its id says lane " + std::to_string(id.value() % bounds_.lanes));
  }
  if (id.value() / bounds_.lanes >= bounds_.ids) {
    report_->Add("ID-1", Name(id.value()) + " is at or above the stored bound " +
                             std::to_string(bounds_.ids) + " * " + std::to_string(bounds_.lanes));
  }
}

QueueTally* LaneCheck::Find(QueueId queue, const std::string& who) {
  const auto found = queues_->find(queue);
  if (found != queues_->end()) return &found->second;
  report_->Add("QUEUE-1",
               who + " is of queue number " + std::to_string(queue.value()) + ", which has no row");
  return nullptr;
}

bool LaneCheck::Lives(const QueueTally& queue, KeyKind kind, Incarnation incarnation,
                      const std::string& who) {
  if (queue.Lives(kind, incarnation)) return true;
  ++report_->void_keys;
  if (!queue.dropped && incarnation > queue.life[kind]) {
    report_->Add("LIFE-1", who + " stands in incarnation " + std::to_string(incarnation.value()) +
                               " of queue '" + queue.name + "', which has come to " +
                               std::to_string(queue.life[kind].value()));
  }
  return false;
}

std::string LaneCheck::Key(uint64_t id, bool row) const {
  if (row) return keycodec::JobRowKey(lane_, JobId(id));
  std::string key;
  keycodec::AppendJobKey(lane_, JobId(id), &key);
  return key;
}

// Walks entries, job records and job rows together, by id.
Error LaneCheck::Join(uint64_t from) {
  const bool last = upper_ == kNoId;
  const LaneId next_lane(static_cast<uint16_t>(lane_.value() + 1));
  std::string job_upper;
  keycodec::AppendJobKey(last ? next_lane : lane_, JobId(last ? 0 : upper_), &job_upper);
  const std::string row_upper =
      keycodec::JobRowKey(last ? next_lane : lane_, JobId(last ? 0 : upper_));
  const auto jobs = store_->NewIterator(Family::kJob, Key(from, false), job_upper);
  const auto rows = store_->NewIterator(Family::kRows, Key(from, true), row_upper);
  jobs->Seek(Key(from, false));
  rows->Seek(Key(from, true));

  size_t at = 0;
  while (true) {
    uint64_t job_id = kNoId;
    uint64_t row_id = kNoId;
    if (jobs->Valid()) {
      const Result<JobId> id = keycodec::DecodeJobKey(jobs->key());
      if (!id.ok()) {
        report_->Add("CODE-1", "a job's key: " + id.error().text());
        jobs->Next();
        continue;
      }
      job_id = id->value();
    }
    if (rows->Valid()) {
      const auto id = keycodec::DecodeJobRowKey(rows->key());
      if (!id.ok()) {
        report_->Add("CODE-1", "a job row's key: " + id.error().text());
        rows->Next();
        continue;
      }
      row_id = id->second.value();
    }
    const uint64_t entry_id = at < entries_.size() ? entries_[at].id : kNoId;
    const uint64_t id = std::min({entry_id, job_id, row_id});
    if (id == kNoId) break;

    size_t count = 0;
    while (at + count < entries_.size() && entries_[at + count].id == id) ++count;
    std::optional<Job> job;
    if (job_id == id) job = DecodeJob(jobs->key(), jobs->value());
    std::optional<keycodec::JobRow> row;
    if (row_id == id) {
      Result<keycodec::JobRow> decoded = keycodec::DecodeJobRow(rows->value());
      if (decoded.ok()) {
        row = std::move(*decoded);
      } else {
        report_->Add("CODE-1", Name(id) + ": its job row: " + decoded.error().text());
      }
    }
    JoinOne(id, entries_.data() + at, count, job ? &*job : nullptr, row ? &*row : nullptr);
    at += count;
    if (job_id == id) jobs->Next();
    if (row_id == id) rows->Next();
  }
  VESTQ_RETURN_IF_ERROR(jobs->error());
  return rows->error();
}

LaneCheck::Job LaneCheck::DecodeJob(std::string_view key, std::string_view value) {
  Job job;
  const JobId id = *keycodec::DecodeJobKey(key);
  CheckId(id);
  Result<keycodec::JobRecord> record = keycodec::DecodeJobRecord(value);
  if (!record.ok()) {
    report_->Add("CODE-1", Name(id.value()) + ": its record: " + record.error().text());
    return job;
  }
  job.header = std::move(record->header);
  QueueTally* const queue = Find(job.header.zone.queue, Name(id.value()));
  if (queue == nullptr) return job;
  if (queue->dropped) {
    ++report_->void_keys;
    return job;
  }
  job.living = true;  // or purged, which its key tells: it counts until it is erased
  job.payload_bytes = record->payload.size();
  queue->bytes += static_cast<int64_t>(record->payload.size());
  report_->payload_bytes += record->payload.size();
  return job;
}

void LaneCheck::JoinOne(uint64_t id, const Entry* entries, size_t count, const Job* job,
                        const keycodec::JobRow* row) {
  const bool dead = row != nullptr && row->place == keycodec::Place::kDead;
  if (count > 1 || (count == 1 && dead)) {
    std::string places;
    for (size_t i = 0; i < count; ++i) {
      places.append(places.empty() ? "" : ", ")
          .append(kStateNames[static_cast<size_t>(entries[i].state)]);
    }
    report_->Add("JOB-1",
                 Name(id) + " stands in " + places + (dead ? " and among the dead letters" : ""));
  }
  if (job == nullptr) {
    if (count > 0) {
      report_->Add("JOB-2", Name(id) + " has a " +
                                std::string(kStateNames[static_cast<size_t>(entries[0].state)]) +
                                " key and no record");
    } else if (row != nullptr && row->place == keycodec::Place::kDone) {
      AgreeElsewhere(id, *row);
    } else if (row != nullptr) {
      report_->Add("JOB-4", Name(id) + " has a job row and no record");
    }
    return;
  }
  if (!job->living) return;
  if (count == 1 && entries[0].is_void) {
    const bool holds =
        (entries[0].flags & keycodec::kFlagUnique) != 0 && HoldsUnique(entries[0], *job);
    unique_holders_ += holds;
    if ((entries[0].flags & keycodec::kFlagParent) != 0) AgreeParent(entries[0]);
    return;
  }
  if (count == 1) Agree(entries[0], *job, row);
  if (dead) return AgreeDead(id, *job, *row);
  if (count != 0) return;
  if (row != nullptr && row->place != keycodec::Place::kVesting) return AgreeElsewhere(id, *row);
  report_->Add("JOB-2", Name(id) + " has a record and neither a vesting key nor a dead letter");
}

// A job that waits, or is done and kept: the row that its job row names is its own and exists.
void LaneCheck::AgreeElsewhere(uint64_t id, const keycodec::JobRow& row) {
  const bool waits = row.place == keycodec::Place::kWaiting;
  JobId of;
  if (waits) {
    if (const auto key = keycodec::DecodeWaitingKey(row.key); key.ok()) of = key->id;
  } else {
    if (const auto key = keycodec::DecodeDoneKey(row.key); key.ok()) {
      of = key->id;  // also a purged one, until both are erased
    }
  }
  std::string bytes;
  if (of.value() != id) {
    report_->Add("JOB-4", Name(id) + ": its job row names a " +
                              (waits ? "waiting row" : "kept result") + " that is not its own");
  } else if (const Error error = store_->Get(Family::kRows, row.key, &bytes); !error.ok()) {
    report_->Add("JOB-4", Name(id) + (waits ? " waits" : " is done and kept") +
                              " by its job row, the row that this names: " + error.ToString());
  }
}

void LaneCheck::Agree(const Entry& entry, const Job& job, const keycodec::JobRow* row) {
  const keycodec::Zone& zone = job.header.zone;
  const bool zone_agrees = zone.queue == entry.queue && zone.order == entry.order &&
                           SpaceHash(zone.space) == entry.space_hash;
  if (!zone_agrees)
    report_->Add("JOB-3",
                 Name(entry.id) + ": its key is of another queue or space than its header");
  const bool knows_enqueued =
      entry.state != State::kReady || entry.order == keycodec::Order::kPriority;
  if (knows_enqueued && entry.enqueued_ms != job.header.enqueued_ms) {
    report_->Add("JOB-3", Name(entry.id) + ": its key says enqueued at " +
                              std::to_string(entry.enqueued_ms) + ", its header " +
                              std::to_string(job.header.enqueued_ms));
  }
  const bool says_row = (entry.flags & keycodec::kFlagJobRow) != 0;
  if (says_row != (row != nullptr)) {
    report_->Add("JOB-4",
                 Name(entry.id) + (says_row ? " says it has a job row, there is none"
                                            : " has a job row, its vesting key does not say so"));
    return;
  }
  AgreeFlags(entry, job, row);
  if ((entry.flags & keycodec::kFlagParent) != 0) AgreeParent(entry);
  if ((entry.flags & keycodec::kFlagUnique) != 0) {
    if (HoldsUnique(entry, job)) {
      ++unique_holders_;
    } else {
      report_->Add("UNIQUE-1",
                   Name(entry.id) + " should hold its unique key; the key's row does not say so");
    }
  }
  if ((entry.flags & keycodec::kFlagExpire) != 0) AgreeExpiry(entry, job, row);
  AgreePlace(entry, job, row);
}

void LaneCheck::AgreeFlags(const Entry& entry, const Job& job, const keycodec::JobRow* row) {
  // Those that a job gets on its way; the first lease ends EXPIRE.
  constexpr uint32_t kOnItsWay =
      keycodec::kFlagJobRow | keycodec::kFlagCheckpoint | keycodec::kFlagParent;
  uint32_t flags = entry.flags & ~kOnItsWay;
  const uint32_t of_header = job.header.flags & ~kOnItsWay;
  flags |= of_header & keycodec::kFlagExpire;
  if (flags != of_header)
    report_->Add("JOB-3", Name(entry.id) + ": its key's flags are not those of its header");
  const bool says_checkpoint = (entry.flags & keycodec::kFlagCheckpoint) != 0;
  if (says_checkpoint != (row != nullptr && !row->checkpoint.empty()))
    report_->Add("JOB-4",
                 Name(entry.id) + (says_checkpoint ? " says it has a checkpoint, there is none"
                                                   : " has a checkpoint, its key does not say so"));
}

void LaneCheck::AgreeParent(const Entry& entry) {
  std::string prefix;
  keycodec::AppendParentEdgePrefix(lane_, JobId(entry.id), &prefix);
  const auto it = store_->NewIterator(Family::kRows, prefix, keycodec::PrefixSuccessor(prefix));
  it->Seek(prefix);
  if (it->Valid()) {
    ++parents_;
  } else {
    report_->Add("AFTER-3", Name(entry.id) + " says that others wait for it, and has no edge");
  }
}

bool LaneCheck::HoldsUnique(const Entry& entry, const Job& job) {
  const keycodec::JobHeader& header = job.header;
  if (header.unique_key.empty()) return false;
  std::string bytes;
  const Error error = store_->Get(
      Family::kRows, keycodec::UniqueKey(header.zone.queue, header.zone.space, header.unique_key),
      &bytes);
  const auto row = keycodec::DecodeUniqueValue(bytes);
  return error.ok() && row.ok() && row->live && row->id.value() == entry.id;
}

void LaneCheck::AgreeExpiry(const Entry& entry, const Job& job, const keycodec::JobRow* row) {
  const auto [clock, time_ms] = ExpiryOf(job.header, row);
  std::string bytes;
  const std::string key =
      keycodec::TimerKey(lane_, clock, time_ms, keycodec::TimerKind::kExpire, JobId(entry.id));
  if (!store_->Get(Family::kRows, key, &bytes).ok())
    report_->Add("TIMER-2", Name(entry.id) + " should expire, and has no timer for it");
}

// Where it stands follows from the header, or from the job row.
void LaneCheck::AgreePlace(const Entry& entry, const Job& job, const keycodec::JobRow* row) {
  const uint32_t priority = row == nullptr ? job.header.priority : row->priority;
  if (entry.priority != priority) {
    report_->Add("JOB-3", Name(entry.id) + ": its key has priority " +
                              std::to_string(entry.priority) +
                              (row == nullptr ? ", its header " : ", its job row ") +
                              std::to_string(priority));
  }
  if (row == nullptr) {
    const bool follows = entry.state != State::kScheduled ||
                         (entry.time_ms == job.header.vests_ms && entry.clock == job.header.clock);
    if (!follows)
      report_->Add("JOB-3", Name(entry.id) + " is scheduled for another time than its header says");
    return;
  }
  if (row->place == keycodec::Place::kWaiting || row->place == keycodec::Place::kDone)
    report_->Add("JOB-1",
                 Name(entry.id) + " has a vesting key, and waits or is done by its job row");
  if (row->place != keycodec::Place::kVesting) return;
  // The row names the key that was put with it. A job that vested or was leased since has moved on
  // by itself.
  bool of_this_job = false;
  const Result<keycodec::Range> range = keycodec::RangeOf(row->key);
  if (range.ok() && *range == keycodec::Range::kScheduled) {
    const auto key = keycodec::DecodeScheduledKey(row->key);
    of_this_job = key.ok() && key->id.value() == entry.id &&
                  (entry.state != State::kScheduled ||
                   (key->time_ms == entry.time_ms && key->clock == entry.clock));
  } else if (range.ok() && *range == keycodec::Range::kReady) {
    const auto key = keycodec::DecodeReadyKey(row->key);
    of_this_job = key.ok() && key->rank.id.value() == entry.id && entry.state != State::kScheduled;
  }
  if (!of_this_job)
    report_->Add("JOB-4", Name(entry.id) + ": its job row names a key that is not its own");
}

void LaneCheck::AgreeDead(uint64_t id, const Job& job, const keycodec::JobRow& row) {
  const auto key = keycodec::DecodeDeadKey(row.key);
  const auto queue = queues_->find(job.header.zone.queue);
  const bool is_void =
      key.ok() && queue != queues_->end() && !queue->second.Lives(KeyKind::kDead, key->incarnation);
  if (queue != queues_->end()) queue->second.dead_bytes += static_cast<int64_t>(job.payload_bytes);
  if (!is_void) {
    ++report_->dead;
    if (queue != queues_->end()) ++queue->second.dead;
  }
  if (!key.ok() || key->id.value() != id || key->queue != job.header.zone.queue) {
    return report_->Add("DEAD-1",
                        Name(id) + ": its job row names a dead letter that is not its own");
  }
  std::string bytes;
  if (const Error error = store_->Get(Family::kRows, row.key, &bytes); !error.ok()) {
    return report_->Add("DEAD-1",
                        Name(id) + " is dead by its job row, its dead letter: " + error.ToString());
  }
  if (is_void) return;
  ++dead_rows_;
  const Result<keycodec::DeadValue> dead = keycodec::DecodeDeadValue(bytes);
  if (!dead.ok())
    return report_->Add("CODE-1", Name(id) + ": its dead letter: " + dead.error().text());
  keycodec::Zone zone = job.header.zone;
  zone.incarnation = key->incarnation;
  if (!(dead->zone == zone) || dead->lane != lane_ || dead->enqueued_ms != job.header.enqueued_ms) {
    report_->Add("DEAD-1", Name(id) + ": its dead letter does not agree with its header");
  }
}

}  // namespace vestq
