#include "engine/check_rows.h"

#include "engine/schedule_registry.h"
#include "keycodec/records.h"

namespace vestq {
namespace {

// Whether key and value of a row decoded; if not, the report is told.
template <typename Key, typename Value>
bool Decoded(const char* what, const Result<Key>& key, const Result<Value>& value,
             CheckReport* report) {
  if (key.ok() && value.ok()) return true;
  report->Add("CODE-1", std::string(what) + ": " + (key.ok() ? value.error() : key.error()).text());
  return false;
}

}  // namespace

Error RowCheck::ReadDropped() {
  return ForEachRow(store_, 'x', [this](std::string_view key, std::string_view value) {
    const Result<QueueId> queue = keycodec::DecodeDroppedKey(key);
    const Result<keycodec::DroppedValue> dropped = keycodec::DecodeDroppedValue(value);
    if (!Decoded("a dropped queue's row", queue, dropped, report_)) return;
    QueueTally tally;
    tally.name = dropped->name;
    tally.dropped = true;
    if (const auto [other, fresh] = queues_->emplace(*queue, tally); !fresh) {
      report_->Add("QUEUE-1", "the dropped queue '" + dropped->name + "' and the queue '" +
                                  other->second.name + "' have the same number " +
                                  std::to_string(queue->value()));
    }
  });
}

Error RowCheck::Run() {
  VESTQ_RETURN_IF_ERROR(CheckDone());
  VESTQ_RETURN_IF_ERROR(CheckWaiting());
  VESTQ_RETURN_IF_ERROR(CheckUnique());
  VESTQ_RETURN_IF_ERROR(CheckTimers());
  VESTQ_RETURN_IF_ERROR(CheckEdges());
  VESTQ_RETURN_IF_ERROR(CheckHandovers());
  VESTQ_RETURN_IF_ERROR(CheckSpaces());
  return CheckSchedules();
}

QueueTally* RowCheck::Find(QueueId queue, const char* what) {
  const auto found = queues_->find(queue);
  if (found != queues_->end()) return &found->second;
  report_->Add("QUEUE-1", std::string(what) + " is of queue number " +
                              std::to_string(queue.value()) + ", which has no row");
  return nullptr;
}

void RowCheck::CheckLane(LaneId lane, const char* what) {
  if (lane.value() < lanes_) return;
  report_->Add("ID-1", std::string(what) + " is of lane " + std::to_string(lane.value()) +
                           ", beyond the last lane, " + std::to_string(lanes_ - 1));
}

Error RowCheck::CheckDone() {
  return ForEachRow(store_, 'r', [this](std::string_view key, std::string_view value) {
    constexpr auto kWhat = "a kept result";
    const auto row = keycodec::DecodeDoneKey(key);
    const auto done = keycodec::DecodeDoneValue(value);
    if (!Decoded(kWhat, row, done, report_)) return;
    CheckLane(done->lane, kWhat);
    QueueTally* const queue = Find(row->queue, kWhat);
    if (queue == nullptr) return;
    if (queue->Lives(KeyKind::kDone, row->incarnation)) {
      ++queue->done;
    } else {
      ++report_->void_keys;
    }
  });
}

Error RowCheck::CheckWaiting() {
  return ForEachRow(store_, 'w', [this](std::string_view key, std::string_view value) {
    constexpr auto kWhat = "a waiting job's row";
    const auto row = keycodec::DecodeWaitingKey(key);
    const auto waiting = keycodec::DecodeWaitingValue(value);
    if (!Decoded(kWhat, row, waiting, report_)) return;
    CheckLane(waiting->lane, kWhat);
    QueueTally* const queue = Find(row->queue, kWhat);
    if (queue == nullptr) return;
    if (queue->Lives(KeyKind::kWaiting, row->incarnation)) {
      ++queue->waiting;
    } else {
      ++report_->void_keys;
    }
  });
}

Error RowCheck::CheckUnique() {
  return ForEachRow(store_, 'u', [this](std::string_view key, std::string_view value) {
    constexpr auto kWhat = "a unique key";
    const auto row = keycodec::DecodeUniqueKey(key);
    const auto holder = keycodec::DecodeUniqueValue(value);
    if (!Decoded(kWhat, row, holder, report_)) return;
    const QueueTally* const queue = Find(row->queue, kWhat);
    if (queue == nullptr) return;
    const Incarnation life = queue->life[KeyKind::kDone];
    if (queue->dropped || (!holder->live && holder->life < life)) {
      ++report_->void_keys;
    } else if (!holder->live && holder->life > life) {
      report_->Add("LIFE-1", "the window of a unique key of queue '" + queue->name +
                                 "' is of a life that its kept results have not come to");
    } else {
      ++report_->unique_keys;
      unique_live_ += holder->live;
    }
  });
}

Error RowCheck::CheckTimers() {
  return ForEachRow(store_, 't', [this](std::string_view key, std::string_view value) {
    constexpr auto kWhat = "a timer";
    const auto row = keycodec::DecodeTimerKey(key);
    const auto timer = keycodec::DecodeTimerValue(value);
    if (!Decoded(kWhat, row, timer, report_)) return;
    CheckLane(row->lane, kWhat);
    ++report_->timers;
    switch (row->kind) {
      case keycodec::TimerKind::kUniqueWindow:
        Decoded("a timer's unique key", keycodec::DecodeUniqueKey(timer->row), timer, report_);
        break;
      case keycodec::TimerKind::kKept:
        Decoded("a timer's kept result", keycodec::DecodeDoneKey(timer->row), timer, report_);
        break;
      case keycodec::TimerKind::kExpire:
      case keycodec::TimerKind::kSchedule:
        if (!timer->row.empty()) report_->Add("CODE-1", "a timer that is about no row names one");
        break;
    }
  });
}

Error RowCheck::CheckEdges() {
  const auto check = [this](const char* what, const Result<keycodec::EdgeRowKey>& edge,
                            std::string_view value) {
    if (Decoded(what, edge, keycodec::DecodeEdgeValue(value), report_)) CheckLane(edge->lane, what);
  };
  VESTQ_RETURN_IF_ERROR(
      ForEachRow(store_, 'a', [&check](std::string_view key, std::string_view value) {
        check("a child's edge", keycodec::DecodeChildEdgeKey(key), value);
      }));
  return ForEachRow(store_, 'p', [&check](std::string_view key, std::string_view value) {
    check("a parent's edge", keycodec::DecodeParentEdgeKey(key), value);
  });
}

Error RowCheck::CheckHandovers() {
  return ForEachRow(store_, 'm', [this](std::string_view key, std::string_view value) {
    constexpr auto kWhat = "a hand-over";
    const auto row = keycodec::DecodeHandoverKey(key);
    if (Decoded(kWhat, row, keycodec::DecodeHandoverValue(value), report_))
      CheckLane(row->lane, kWhat);
  });
}

Error RowCheck::CheckSpaces() {
  const auto check = [this](const char* what, const Result<keycodec::SpaceRowKey>& row,
                            const auto& value) {
    if (!Decoded(what, row, value, report_)) return;
    const QueueTally* const queue = Find(row->queue, what);
    if (queue != nullptr && queue->dropped) ++report_->void_keys;
  };
  VESTQ_RETURN_IF_ERROR(
      ForEachRow(store_, 'o', [&check](std::string_view key, std::string_view value) {
        check("options of a space", keycodec::DecodeSpaceOptionsKey(key),
              keycodec::DecodeSpaceValue(value));
      }));
  return ForEachRow(store_, 'g', [&check](std::string_view key, std::string_view value) {
    check("the rate of a space", keycodec::DecodeSpaceRateKey(key),
          keycodec::DecodeSpaceRateValue(value));
  });
}

Error RowCheck::CheckSchedules() {
  return ForEachRow(store_, 'h', [this](std::string_view key, std::string_view value) {
    const auto name = keycodec::DecodeScheduleKey(key);
    const auto schedule = keycodec::DecodeScheduleValue(value);
    if (!Decoded("a schedule", name, schedule, report_)) return;
    if (schedule->paused && schedule->next_ms != 0)
      report_->Add("SCHED-1", "schedule '" + *name + "' is paused and has a next slot");
    if (schedule->next_ms == 0) return;
    const std::string timer = keycodec::TimerKey(LaneOfSchedule(*name, *schedule, lanes_),
                                                 keycodec::Clock::kWall, schedule->next_ms, *name);
    std::string bytes;
    if (const Error error = store_->Get(Family::kRows, timer, &bytes); !error.ok()) {
      report_->Add("SCHED-1", "schedule '" + *name +
                                  "' has a next slot, the timer of it: " + error.ToString());
    }
  });
}

}  // namespace vestq
