#include "engine/engine_clock.h"

#include <time.h>

#include <algorithm>
#include <fstream>

#include "engine/base/limits.h"

namespace vestq {
namespace {

// Where a new store's time starts: positive, and "a day ago" is too.
constexpr int64_t kStartMs = Days(1).ms();
// Keys hold 48 bits. Rows that claim more are damaged; time must not end because of them.
constexpr int64_t kMonoMsMax = limits::kKeyTimeMsMax / 2;

int64_t ReadClockNs(clockid_t id) {
  timespec t{};
  CHECK(clock_gettime(id, &t) == 0);
  return int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
}

class SystemClock : public ClockSource {
 public:
  int64_t BoottimeMs() override { return ReadClockNs(CLOCK_BOOTTIME) / 1'000'000; }
  int64_t WallMs() override { return ReadClockNs(CLOCK_REALTIME) / 1'000'000; }
  std::string BootId() override {
    std::ifstream file("/proc/sys/kernel/random/boot_id");
    std::string id;
    std::getline(file, id);
    return id;  // empty when there is no /proc: then each start counts as a new boot
  }
  int64_t NowNs() override { return ReadClockNs(CLOCK_MONOTONIC); }
};

// b - a, never less than nothing, whatever a damaged row holds.
int64_t Advance(int64_t a, int64_t b) {
  if (b <= a) return 0;
  int64_t span = 0;
  if (__builtin_sub_overflow(b, a, &span)) return 0;
  return std::min(span, limits::kDelayMax.ms());
}

}  // namespace

ClockSource* SystemClockSource() {
  static SystemClock clock;
  return &clock;
}

EngineClock::EngineClock(ClockSource* source, const std::vector<keycodec::ClockValue>& rows)
    : source_(source), boot_id_(source->BootId()) {
  const int64_t boottime = source->BoottimeMs();
  const int64_t wall = source->WallMs();
  int64_t now = kStartMs;
  int64_t newest = 0;  // of the rows of other boots
  int64_t down = 0;
  bool same_boot = false;
  for (const keycodec::ClockValue& row : rows) {
    const int64_t mono = std::clamp<int64_t>(row.mono_ms, 0, kMonoMsMax);
    now = std::max(now, mono);
    if (!boot_id_.empty() && row.boot_id == boot_id_) {
      same_boot = true;
      now = std::max(now, std::min(mono + Advance(row.boottime_ms, boottime), kMonoMsMax));
      continue;
    }
    // An older row may be from before a step of the wall clock, which the newest one knows of.
    const int64_t advance = Advance(row.wall_ms, wall);
    down = mono > newest ? advance : mono == newest ? std::min(down, advance) : down;
    newest = std::max(newest, mono);
  }
  if (!same_boot) now = std::max(now, std::min(newest + down, kMonoMsMax));
  offset_ms_ = now - boottime;
  last_ms_.store(now, std::memory_order_relaxed);
}

MonoTime EngineClock::Now() {
  const int64_t now = source_->BoottimeMs() + offset_ms_;
  // TIME-1: one greatest value for all threads; a reading that another thread overtook is not
  // given.
  int64_t last = last_ms_.load(std::memory_order_relaxed);
  while (now > last && !last_ms_.compare_exchange_weak(last, now, std::memory_order_relaxed)) {
  }
  return MonoTime(std::max(now, last));
}

WallTime EngineClock::Wall() { return WallTime(source_->WallMs()); }

keycodec::ClockValue EngineClock::Snapshot() {
  keycodec::ClockValue value;
  value.boottime_ms = source_->BoottimeMs();
  value.wall_ms = source_->WallMs();
  value.boot_id = boot_id_;
  // Not Now(): that could be later than the boottime beside it, and a restart would count the
  // difference twice.
  value.mono_ms = value.boottime_ms + offset_ms_;
  return value;
}

WallTime EngineClock::ToWall(MonoTime t) { return Wall() + (t - Now()); }

MonoTime EngineClock::ToMono(WallTime t) { return Now() + (t - Wall()); }

}  // namespace vestq
