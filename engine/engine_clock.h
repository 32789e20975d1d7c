// Engine time: milliseconds that advance with CLOCK_BOOTTIME while the machine is up and with the
// wall clock's advance while it was down, never backwards (TIME-1), whatever the wall clock does.
// Delay, lease, wait, back-off, age and order go by it; run-at goes by wall time.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "engine/base/time.h"
#include "keycodec/records.h"

namespace vestq {

// The machine's clocks; injected. Thread-safe.
class ClockSource {
 public:
  virtual ~ClockSource() = default;
  virtual int64_t BoottimeMs() = 0;  // CLOCK_BOOTTIME
  virtual int64_t WallMs() = 0;      // CLOCK_REALTIME
  virtual std::string BootId() = 0;  // changes with each boot of the machine
  virtual int64_t NowNs() = 0;       // for measuring spans only (CLOCK_MONOTONIC)
};

// The real ones.
ClockSource* SystemClockSource();

class EngineClock {
 public:
  // Starts from the clock rows found in the store (any number, any order; none in a new store,
  // which starts at a positive time). Same boot id: the row's mono + what BOOTTIME advanced; else the
  // newest row's + what the wall clock advanced since (an older one may be from before a step of it).
  EngineClock(ClockSource* source, const std::vector<keycodec::ClockValue>& rows);

  // Reads the source. Never less than a value returned before, on any thread.
  MonoTime Now();
  WallTime Wall();
  // What to store in a turn's clock row.
  keycodec::ClockValue Snapshot();

  // A point of one kind on the other scale, by the clocks as they stand now.
  WallTime ToWall(MonoTime t);
  MonoTime ToMono(WallTime t);

  ClockSource* source() const { return source_; }

 private:
  ClockSource* const source_;
  std::string boot_id_;
  int64_t offset_ms_;  // engine time = BoottimeMs() + offset
  std::atomic<int64_t> last_ms_{0};
};

// When something happened, for people: what the wall clock said then (`noted`), unless it has been
// stepped since; then by how long ago it was. So ages are right although a machine booted in 1970,
// and what is shown does not waver by the clocks' rounding.
inline WallTime WallOfPast(WallTime noted, MonoTime then, MonoTime now, WallTime wall) {
  constexpr Duration kStep = Seconds(10);
  const WallTime derived = std::max(WallTime(0), wall - (now - then));
  const Duration off = derived - noted;
  return off < kStep && off > Duration(0) - kStep ? noted : derived;
}

}  // namespace vestq
