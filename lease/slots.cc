#include "lease/slots.h"

#include <algorithm>

#include "engine/base/check.h"
#include "engine/base/limits.h"

namespace vestq {

Result<Slots> Slots::Of(const keycodec::ScheduleValue& schedule) {
  Slots out;
  if (schedule.kind == keycodec::ScheduleKind::kCron) {
    const Result<Cron> cron =
        Cron::Parse(schedule.cron, schedule.zone.empty() ? "UTC" : schedule.zone);
    if (!cron.ok()) return cron.error();
    out.cron_ = *cron;
  } else {
    out.every_ = Duration(std::max<int64_t>(1, schedule.every_ms));
    out.phase_ = WallTime(schedule.phase_ms);
  }
  return out;
}

std::optional<WallTime> Slots::Next(WallTime after) const {
  if (after < WallTime(0)) after = WallTime(0);  // a machine that does not know the year yet
  if (cron_) return cron_->Next(after);
  const WallTime next = NextEvery(phase_, every_, after);
  if (next.ms() > limits::kKeyTimeMsMax) return std::nullopt;
  return next;
}

// Passes over the slots older than kSlotsCounted when there are more than kSlotsSeen altogether. False: there
// are not.
bool Slots::LeaveOut(WallTime next, WallTime now, Due* due) const {
  const WallTime oldest = now - kSlotsCounted;
  if (cron_) {
    uint32_t seen = 0, old = 0;
    for (std::optional<WallTime> slot = next; slot && *slot <= now; slot = Next(*slot)) {
      old += *slot <= oldest;
      if (++seen > kSlotsSeen) break;
    }
    if (seen <= kSlotsSeen) return false;
    due->missed = old;
    due->next = Next(oldest);
  } else {
    if ((now - next).ms() / every_.ms() < kSlotsSeen) return false;
    due->next = Next(oldest);
    due->missed = static_cast<uint64_t>((*due->next - next).ms() / every_.ms());
  }
  due->left_out = true;
  return true;
}

Slots::Due Slots::TakeDue(keycodec::Missed missed, WallTime next, WallTime now,
                          uint32_t jobs_most) const {
  CHECK(next <= now && jobs_most >= 1, "a slot is due");
  Due due;
  due.next = next;
  const bool late = now - next > kSlotLate;
  if (late && !cron_ && missed != keycodec::Missed::kAll) {
    // To the last slot at one step: a short period over a long downtime is many slots.
    due.next = NextEvery(phase_, every_, now) - every_;
    due.missed = static_cast<uint64_t>((*due.next - next).ms() / every_.ms());
  }
  if (missed == keycodec::Missed::kAll && next + kSlotsCounted < now && LeaveOut(next, now, &due))
    return due;
  for (uint32_t seen = 0; due.next && *due.next <= now; ++seen) {
    if (seen == kSlotsSeen || due.jobs == jobs_most) break;
    const WallTime slot = *due.next;
    due.next = Next(slot);
    CHECK(!due.next || *due.next > slot, "SLOT-1: the next slot lies after the one taken");
    const bool last = !due.next || *due.next > now;
    const bool last_runs = last && (missed == keycodec::Missed::kOnce || now - slot <= kSlotLate);
    if (!late || missed == keycodec::Missed::kAll || last_runs) {
      ++due.jobs;
      due.last = slot;
    } else {
      ++due.missed;
    }
  }
  if (due.jobs == 0 && due.next && *due.next + kSlotsCounted < now) {
    due.next = Next(now - kSlotsCounted);
  }
  return due;
}

}  // namespace vestq
