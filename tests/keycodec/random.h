// Random keys and values for the tests of keycodec, with a fixed seed each. They lean to what
// breaks codecs: edge bytes in spaces, times and ids at their ends, few distinct lanes and queues
// so that tuples share beginnings.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "engine/base/limits.h"
#include "keycodec/keys.h"
#include "keycodec/records.h"

namespace vestq::keycodec::testing {

class Random {
 public:
  explicit Random(uint64_t seed) : engine_(seed) {}

  uint64_t Bits() { return engine_(); }
  // 0 .. n-1. The bias of the remainder does not matter here.
  uint64_t Below(uint64_t n) { return engine_() % n; }
  bool OneIn(uint64_t n) { return Below(n) == 0; }

  // 0 .. max, often at an end, at a byte border, or small.
  uint64_t Number(uint64_t max) {
    switch (Below(6)) {
      case 0: return 0;
      case 1: return max;
      case 2: return std::min<uint64_t>(max, Below(4));
      case 3: return std::min<uint64_t>(max, (uint64_t{1} << Below(64)) - Below(2));
      case 4: return max - std::min<uint64_t>(max, Below(4));
      default: return max == UINT64_MAX ? Bits() : Below(max + 1);
    }
  }
  uint32_t U32() { return static_cast<uint32_t>(Number(UINT32_MAX)); }
  uint16_t U16() { return static_cast<uint16_t>(Number(UINT16_MAX)); }
  int64_t Time() {
    return static_cast<int64_t>(Number(static_cast<uint64_t>(limits::kKeyTimeMsMax)));
  }
  JobId Id() { return JobId(std::max<uint64_t>(1, Number(limits::kJobIdMax))); }

  // Mostly of edge bytes.
  std::string Bytes(size_t size) {
    static constexpr std::array<uint8_t, 7> kEdges = {0x00, 0x01, 0xFF, 0xFE, 0x02, 'a', 0x80};
    std::string out(size, '\0');
    for (char& c : out) {
      c = static_cast<char>(OneIn(8) ? Below(256) : kEdges[Below(kEdges.size())]);
    }
    return out;
  }
  std::string Space() { return Bytes(OneIn(50) ? limits::kSpaceBytes - Below(3) : Below(7)); }
  std::string Text(size_t max) { return Bytes(OneIn(20) ? Below(max + 1) : Below(12)); }

  Order AnyOrder() { return OneIn(2) ? Order::kPriority : Order::kTime; }
  Clock AnyClock() { return OneIn(2) ? Clock::kEngine : Clock::kWall; }
  uint32_t Flags() { return static_cast<uint32_t>(Below(kFlagsKnown + 1)); }

  Zone AnyZone() { return Zone{QueueId(U32()), Incarnation(U32()), AnyOrder(), Space()}; }
  ScheduledKey AnyScheduledKey() { return {LaneId(U16()), AnyClock(), Time(), Id()}; }
  LeasedKey AnyLeasedKey() { return {LaneId(U16()), Time(), Id()}; }
  ReadyKey AnyReadyKey() { return {LaneId(U16()), AnyZone(), ReadyRank{U32(), Time(), Id()}}; }

  ReadyValue AnyReadyValue() { return {Flags(), U32()}; }
  ScheduledValue AnyScheduledValue() { return {Flags(), U32(), AnyZone(), U32(), Time()}; }
  LeasedValue AnyLeasedValue() {
    return {Flags(), U32(),  U32(),    AnyZone(),
            U32(),   Time(), Time(),   Fence{U32(), Number(UINT64_MAX)},
            Time(),  U32(),  Text(200)};
  }
  JobHeader AnyJobHeader() {
    return {AnyZone(),
            Flags(),
            U32(),
            Time(),
            Time(),
            AnyClock(),
            Time(),
            U32(),
            OneIn(2) ? 0 : Time(),
            OneIn(2) ? std::string() : Text(300)};
  }
  JobRow AnyJobRow() {
    return {
        OneIn(2) ? Place::kVesting : Place::kDead, Text(40), U32(), U32(), Text(4096), Text(2000)};
  }
  DeadValue AnyDeadValue() {
    return {AnyZone(), LaneId(U16()), U32(), U32(),     U32(),
            Time(),    Time(),        U32(), Text(100), Text(4096)};
  }
  CounterValue AnyCounterValue() {
    CounterValue out;
    out.incarnation = Incarnation(U32());
    for (int64_t& value : out.values) value = static_cast<int64_t>(Number(UINT64_MAX));
    return out;
  }
  QueueValue AnyQueueValue() { return {QueueId(U32()), Incarnation(U32()), AnyOrder()}; }
  ClockValue AnyClockValue() { return {Time(), Time(), Time(), Text(40)}; }
  VouchValue AnyVouchValue() { return {Sequence(Number(UINT64_MAX))}; }

 private:
  std::mt19937_64 engine_;
};

}  // namespace vestq::keycodec::testing
