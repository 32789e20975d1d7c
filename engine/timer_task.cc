#include "engine/timer_task.h"

#include "engine/store.h"

namespace vestq {

Error TimerTask::Run(const Store& store) {
  std::string prefix;
  keycodec::AppendTimerPrefix(lane, clock, &prefix);
  // The bound is any timer of that moment: kinds and ids count from 1.
  std::string start =
      keycodec::TimerKey(lane, clock, from_ms, keycodec::TimerKind::kUniqueWindow, JobId(0));
  auto it = store.NewIterator(Family::kRows, start, keycodec::PrefixSuccessor(prefix));
  next_ms = MonoTime::Max().ms();
  for (it->Seek(start); it->Valid(); it->Next()) {
    Result<keycodec::TimerRowKey> timer = keycodec::DecodeTimerKey(it->key());
    if (!timer.ok()) return timer.error();
    if (timer->time_ms > until_ms || hits.size() == max_timers) {
      next_ms = timer->time_ms;
      break;
    }
    Result<keycodec::TimerValue> value = keycodec::DecodeTimerValue(it->value());
    if (!value.ok()) return value.error();
    Hit& hit = hits.emplace_back();
    hit.key.assign(it->key());
    hit.row_key = timer->kind == keycodec::TimerKind::kSchedule
                      ? keycodec::ScheduleKey(timer->schedule)
                      : std::move(value->row);
    hit.timer = std::move(*timer);
  }
  VESTQ_RETURN_IF_ERROR(it->error());
  it.reset();
  std::vector<std::string> keys, values;
  std::vector<bool> found;
  for (const Hit& hit : hits) {
    if (!hit.row_key.empty()) keys.push_back(hit.row_key);
  }
  if (keys.empty()) return Error::Ok();
  VESTQ_RETURN_IF_ERROR(store.MultiGet(Family::kRows, keys, &values, &found));
  size_t i = 0;
  for (Hit& hit : hits) {
    if (hit.row_key.empty()) continue;
    if (found[i]) hit.row = std::move(values[i]);
    ++i;
  }
  return Error::Ok();
}

}  // namespace vestq
