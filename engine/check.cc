#include "engine/check.h"

#include <array>
#include <memory>
#include <utility>

#include "engine/base/limits.h"
#include "engine/check_lane.h"
#include "engine/check_links.h"
#include "engine/check_rows.h"
#include "engine/store.h"

namespace vestq {
namespace {

// The prefix letters of the rows family (keycodec/keys.h), ascending.
constexpr std::string_view kLetters = "acdghjkmopqrstuwx";

class StoreCheck {
 public:
  explicit StoreCheck(const Store* store) : store_(store) {}

  Result<CheckReport> Run() {
    VESTQ_RETURN_IF_ERROR(ReadSettings());
    VESTQ_RETURN_IF_ERROR(ReadQueues());
    RowCheck rows(store_, bounds_.lanes, &queues_, &report_);
    VESTQ_RETURN_IF_ERROR(rows.ReadDropped());
    VESTQ_RETURN_IF_ERROR(CheckLetters());
    VESTQ_RETURN_IF_ERROR(CheckForeignLanes());
    uint64_t dead_rows = 0;
    uint64_t unique_holders = 0;
    uint64_t parents = 0;
    for (uint32_t lane = 0; lane < bounds_.lanes; ++lane) {
      LaneCheck check(store_, bounds_, LaneId(static_cast<uint16_t>(lane)), &queues_, &report_);
      VESTQ_RETURN_IF_ERROR(check.Run());
      dead_rows += check.dead_rows();
      unique_holders += check.unique_holders();
      parents += check.parents();
    }
    VESTQ_RETURN_IF_ERROR(CheckDeadLetters(dead_rows));
    VESTQ_RETURN_IF_ERROR(rows.Run());
    LinkCheck links(store_, bounds_.lanes, &queues_, &report_);
    VESTQ_RETURN_IF_ERROR(links.Run(parents));
    unique_holders += links.unique_holders();
    // Each holder found its row, so equal numbers mean that no row names anybody else.
    if (rows.unique_live() != unique_holders) {
      report_.Add("UNIQUE-1", std::to_string(rows.unique_live()) +
                                  " unique keys are held by jobs, " +
                                  std::to_string(unique_holders) + " jobs hold one");
    }
    VESTQ_RETURN_IF_ERROR(CheckCounters());
    VESTQ_RETURN_IF_ERROR(CheckClocks());
    if (report_.void_keys > 0 && !erasing_) {
      report_.Add("ERASE-1", std::to_string(report_.void_keys) +
                                 " keys of purged or dropped queues, and no word that any are left "
                                 "to erase");
    }
    return std::move(report_);
  }

 private:
  // Calls visit(key, value) for each row with this letter.
  template <typename Visit>
  Error ForEach(char letter, Visit visit) {
    return ForEachRow(store_, letter, visit);
  }

  Error Setting(std::string_view name, uint64_t absent, uint64_t* value) {
    std::string bytes;
    const Error error = store_->Get(Family::kRows, keycodec::SettingKey(name), &bytes);
    if (error.code() == ErrorCode::kNotFound) {
      *value = absent;
      return Error::Ok();
    }
    VESTQ_RETURN_IF_ERROR(error);
    const Result<uint64_t> number = keycodec::DecodeNumber(bytes);
    if (!number.ok())
      return Error(number.error().code(),
                   "setting " + std::string(name) + ": " + number.error().text());
    *value = *number;
    return Error::Ok();
  }

  Error ReadSettings() {
    uint64_t lanes = 0;
    VESTQ_RETURN_IF_ERROR(Setting("lanes", 0, &lanes));
    VESTQ_RETURN_IF_ERROR(Setting("epoch", 0, &bounds_.epoch));
    VESTQ_RETURN_IF_ERROR(Setting("ids", 0, &bounds_.ids));
    uint64_t erasing = 0;
    VESTQ_RETURN_IF_ERROR(Setting("erase", 0, &erasing));
    erasing_ = erasing != 0;
    if (lanes == 0 || lanes > limits::kLanesMax) {
      return Error(ErrorCode::kCorruption, "the store does not say how many lanes it has");
    }
    bounds_.lanes = report_.lanes = static_cast<uint16_t>(lanes);
    return Error::Ok();
  }

  Error ReadQueues() {
    return ForEach('q', [this](std::string_view key, std::string_view value) {
      const Result<std::string> name = keycodec::DecodeQueueKey(key);
      const Result<keycodec::QueueValue> queue = keycodec::DecodeQueueValue(value);
      if (!name.ok() || !queue.ok()) {
        return report_.Add("CODE-1",
                           "a queue's row: " + (name.ok() ? queue.error() : name.error()).text());
      }
      ++report_.queues;
      QueueTally tally;
      tally.name = *name;
      tally.life = LifeOf(*queue);
      if (const auto [other, fresh] = queues_.emplace(queue->queue, tally); !fresh) {
        report_.Add("QUEUE-1", "queues '" + *name + "' and '" + other->second.name +
                                   "' have the same number " +
                                   std::to_string(queue->queue.value()));
      }
    });
  }

  // No row outside the known letters.
  Error CheckLetters() {
    std::string lower;
    for (size_t i = 0; i <= kLetters.size(); ++i) {
      const std::string upper = i < kLetters.size() ? std::string(1, kLetters[i]) : std::string();
      const auto it = store_->NewIterator(Family::kRows, lower, upper);
      it->Seek(lower);
      VESTQ_RETURN_IF_ERROR(it->error());
      if (it->Valid()) report_.Add("CODE-1", "a row whose key begins with no known letter");
      if (i < kLetters.size()) lower = keycodec::PrefixSuccessor(upper);
    }
    return Error::Ok();
  }

  // No key beyond the last lane.
  Error CheckForeignLanes() {
    std::string vesting;
    keycodec::AppendRangePrefix(LaneId(bounds_.lanes), keycodec::Range::kScheduled, &vesting);
    std::string job;
    keycodec::AppendJobKey(LaneId(bounds_.lanes), JobId(0), &job);
    const std::pair<Family, std::string> firsts[] = {
        {Family::kVesting, vesting.substr(0, keycodec::kLaneBytes)},
        {Family::kJob, job.substr(0, keycodec::kLaneBytes)}};
    for (const auto& [family, lower] : firsts) {
      const auto it = store_->NewIterator(family, lower, "");
      it->Seek(lower);
      VESTQ_RETURN_IF_ERROR(it->error());
      if (it->Valid()) {
        report_.Add("ID-1", "the family " + std::string(FamilyName(family)) +
                                " has a key beyond the last lane, " +
                                std::to_string(bounds_.lanes - 1));
      }
    }
    return Error::Ok();
  }

  // Each job row names its own dead letter, so equal numbers mean that none is left over.
  Error CheckDeadLetters(uint64_t named) {
    uint64_t letters = 0;
    const Error error = ForEach('d', [this, &letters](std::string_view key, std::string_view) {
      const Result<keycodec::DeadRowKey> dead = keycodec::DecodeDeadKey(key);
      if (!dead.ok()) return report_.Add("CODE-1", "a dead letter's key: " + dead.error().text());
      const auto queue = queues_.find(dead->queue);
      if (queue == queues_.end()) {
        report_.Add("QUEUE-1", "the dead letter of job " + std::to_string(dead->id.value()) +
                                   " is of queue number " + std::to_string(dead->queue.value()) +
                                   ", which has no row");
      } else if (queue->second.Lives(KeyKind::kDead, dead->incarnation)) {
        ++letters;
      } else {
        ++report_.void_keys;
      }
    });
    if (error.ok() && letters != named) {
      report_.Add("DEAD-1", std::to_string(letters) + " dead letters, " + std::to_string(named) +
                                " named by job rows");
    }
    return error;
  }

  Error CheckCounters() {
    std::unordered_map<QueueId, keycodec::CounterValue> sums;
    const Error error = ForEach('c', [this, &sums](std::string_view key, std::string_view value) {
      const Result<keycodec::CounterRowKey> row = keycodec::DecodeCounterKey(key);
      const Result<keycodec::CounterValue> counters = keycodec::DecodeCounterValue(value);
      if (!row.ok() || !counters.ok()) {
        return report_.Add("CODE-1",
                           "a counter row: " + (row.ok() ? counters.error() : row.error()).text());
      }
      const auto queue = queues_.find(row->queue);
      if (queue == queues_.end()) {
        return report_.Add("QUEUE-1", "counters of queue number " +
                                          std::to_string(row->queue.value()) +
                                          ", which has no row");
      }
      if (queue->second.dropped) return;
      keycodec::CounterValue& sum = sums[row->queue];
      keycodec::CounterValue living = *counters;
      for (size_t i = 0; i < kKeyKinds; ++i) {
        // Purged since it was written.
        if (counters->incarnation < queue->second.life.living[i]) living[kCounterOfKind[i]] = 0;
      }
      for (size_t i = 0; i < keycodec::kCounters; ++i) sum.values[i] += living.values[i];
    });
    VESTQ_RETURN_IF_ERROR(error);
    for (const auto& [id, tally] : queues_) {
      using keycodec::Counter;
      if (tally.dropped) continue;
      const keycodec::CounterValue& sum = sums[id];
      CompareCount(tally, "ready", sum[Counter::kReady], tally.ready);
      CompareCount(tally, "scheduled", sum[Counter::kScheduled], tally.scheduled);
      CompareCount(tally, "leased", sum[Counter::kLeased], tally.leased);
      CompareCount(tally, "dead", sum[Counter::kDead], tally.dead);
      CompareCount(tally, "waiting", sum[Counter::kWaiting], tally.waiting);
      CompareCount(tally, "done", sum[Counter::kDone], tally.done);
      CompareCount(tally, "bytes", sum[Counter::kBytes], tally.bytes);
      CompareCount(tally, "bytes of dead letters", sum[Counter::kDeadBytes], tally.dead_bytes);
    }
    return Error::Ok();
  }

  void CompareCount(const QueueTally& tally, std::string_view what, int64_t counter,
                    int64_t count) {
    if (counter == count) return;
    report_.Add("COUNT-1", "queue '" + tally.name + "': " + std::string(what) + " is counted as " +
                               std::to_string(counter) + ", a full count gives " +
                               std::to_string(count));
  }

  Error CheckClocks() {
    return ForEach('k', [this](std::string_view key, std::string_view value) {
      const auto slot = keycodec::DecodeClockKey(key);
      const auto clock = keycodec::DecodeClockValue(value);
      if (!slot.ok() || !clock.ok()) {
        report_.Add("CODE-1", "a clock row: " + (slot.ok() ? clock.error() : slot.error()).text());
      }
    });
  }

  const Store* const store_;
  LaneCheck::Bounds bounds_;
  bool erasing_ = false;
  QueueTallies queues_;
  CheckReport report_;
};

}  // namespace

void CheckReport::Add(std::string_view invariant, std::string text) {
  ++violations_by_invariant[std::string(invariant)];
  if (violations.size() < kViolationsKept)
    violations.push_back({std::string(invariant), std::move(text)});
}

Result<CheckReport> CheckStore(Store* store) { return StoreCheck(store).Run(); }

}  // namespace vestq
