#include "engine/timer_task.h"

#include "engine/store.h"

namespace vestq {
namespace {
// Rows of schedules hold payloads: what one scan brings along of them, about.
constexpr size_t kRowBytes = size_t{4} << 20;
}  // namespace

Error TimerTask::Run(const Store& store) {
  std::string prefix;
  keycodec::AppendTimerPrefix(lane, clock, &prefix);
  // The bound is any timer of that moment: kinds and ids count from 1.
  std::string start =
      keycodec::TimerKey(lane, clock, from_ms, keycodec::TimerKind::kUniqueWindow, JobId(0));
  if (!from_key.empty()) start = from_key;
  auto it = store.NewIterator(Family::kRows, start, keycodec::PrefixSuccessor(prefix));
  next_ms = MonoTime::Max().ms();
  size_t row_bytes = 0;
  for (it->Seek(start); it->Valid(); it->Next()) {
    Result<keycodec::TimerRowKey> timer = keycodec::DecodeTimerKey(it->key());
    if (!timer.ok()) return timer.error();
    if (timer->time_ms > until_ms || hits.size() == max_timers || row_bytes > kRowBytes) {
      next_ms = timer->time_ms;
      next_key.assign(it->key());
      break;
    }
    Result<keycodec::TimerValue> value = keycodec::DecodeTimerValue(it->value());
    if (!value.ok()) return value.error();
    Hit& hit = hits.emplace_back();
    hit.key.assign(it->key());
    hit.row_key = timer->kind == keycodec::TimerKind::kSchedule
                      ? keycodec::ScheduleKey(timer->schedule)
                      : std::move(value->row);
    hit.reads = !hit.row_key.empty() && timer->kind != keycodec::TimerKind::kKept;
    hit.timer = std::move(*timer);
    VESTQ_RETURN_IF_ERROR(ReadRow(store, &hit));
    if (hit.row) row_bytes += hit.row->size();
  }
  return it->error();
}

Error TimerTask::ReadRow(const Store& store, Hit* hit) {
  if (!hit->reads) return Error::Ok();
  std::string bytes;
  const Error got = store.Get(Family::kRows, hit->row_key, &bytes);
  if (got.code() == ErrorCode::kNotFound) return Error::Ok();
  if (!got.ok()) return got;
  hit->row = std::move(bytes);
  return Error::Ok();
}

}  // namespace vestq
