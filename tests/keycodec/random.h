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

  std::string Name(size_t max) { return "n" + Text(max - 1); }
  // Options: half of them are not given.
  int64_t SomeTime() { return OneIn(2) ? 0 : Time(); }
  std::string SomeText(size_t max) { return OneIn(2) ? std::string() : Text(max); }
  UserHeaders SomeHeaders() {
    UserHeaders out;
    if (OneIn(2)) return out;
    for (uint64_t n = Below(OneIn(20) ? 100 : 4); n > 0; --n) out.emplace_back(Text(20), Text(40));
    return out;
  }

  Order AnyOrder() { return OneIn(2) ? Order::kPriority : Order::kTime; }
  Clock AnyClock() { return OneIn(2) ? Clock::kEngine : Clock::kWall; }
  uint32_t Flags() { return static_cast<uint32_t>(Below(kFlagsKnown + 1)); }

  Zone AnyZone() { return Zone{QueueId(U32()), Incarnation(U32()), AnyOrder(), Space()}; }
  ScheduledKey AnyScheduledKey() { return {LaneId(U16()), AnyClock(), Time(), Id()}; }
  LeasedKey AnyLeasedKey() { return {LaneId(U16()), Time(), Id()}; }
  ReadyKey AnyReadyKey() { return {LaneId(U16()), AnyZone(), ReadyRank{U32(), Time(), Id()}}; }

  DoneRowKey AnyDoneKey() { return {QueueId(U32()), Incarnation(U32()), Time(), Id()}; }
  WaitingRowKey AnyWaitingKey() { return {QueueId(U32()), Incarnation(U32()), Id()}; }
  UniqueRowKey AnyUniqueKey() { return {QueueId(U32()), Space(), Name(limits::kUniqueKeyBytes)}; }
  TimerRowKey AnyTimerKey() {
    TimerRowKey key{
        LaneId(U16()), AnyClock(), Time(), static_cast<TimerKind>(1 + Below(4)), {}, {}};
    if (key.kind == TimerKind::kSchedule) {
      key.schedule = Name(limits::kScheduleNameBytes);
    } else {
      key.id = Id();
    }
    return key;
  }
  EdgeRowKey AnyEdgeKey() { return {LaneId(U16()), Id(), Id()}; }
  HandoverRowKey AnyHandoverKey() { return {LaneId(U16()), U32(), Number(UINT64_MAX)}; }

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
            SomeTime(),
            SomeText(300),
            SomeText(limits::kUniqueKeyBytes),
            SomeTime(),
            SomeTime(),
            SomeTime(),
            SomeText(40),
            SomeHeaders()};
  }
  JobRow AnyJobRow() {
    JobRow row{
        static_cast<Place>(1 + Below(4)), Text(40), U32(), U32(), Text(4096), SomeText(2000)};
    row.expires_ms = SomeTime();
    if (row.expires_ms != 0) row.expires_clock = AnyClock();
    return row;
  }
  DeadValue AnyDeadValue() {
    return {AnyZone(), LaneId(U16()), U32(),     U32(),      U32(),       Time(),
            Time(),    U32(),         Text(100), Text(4096), SomeText(40)};
  }
  DoneValue AnyDoneValue() {
    return {AnyZone(), LaneId(U16()), U32(), U32(),      U32(),      Time(),
            Time(),    Time(),        U32(), Text(4096), Text(3000), SomeText(40)};
  }
  WaitingValue AnyWaitingValue() {
    return {Flags(), AnyZone(), LaneId(U16()), U32(), Time(), AnyClock(), SomeTime(), U32()};
  }
  UniqueValue AnyUniqueValue() {
    UniqueValue out{Id(), SomeTime(), OneIn(2)};
    if (!out.live && OneIn(2)) out.life = Incarnation(1 + Below(300));
    return out;
  }
  TimerValue AnyTimerValue() { return {Text(60)}; }
  HandoverValue AnyHandoverValue() {
    HandoverValue out{static_cast<HandoverKind>(1 + Below(4)), Id(), {}, Text(100)};
    for (uint64_t n = Below(OneIn(20) ? 200 : 4); n > 0; --n) out.jobs.push_back(Id());
    return out;
  }
  ScheduleValue AnyScheduleValue() {
    ScheduleValue out;
    out.queue = Name(limits::kQueueNameBytes);
    out.space = Space();
    out.payload = Text(1000);
    out.kind = OneIn(2) ? ScheduleKind::kCron : ScheduleKind::kEvery;
    out.cron = Text(60);
    out.zone = Text(30);
    out.every_ms = SomeTime();
    out.phase_ms = SomeTime();
    out.missed = static_cast<Missed>(1 + Below(3));
    out.paused = OneIn(2);
    out.next_ms = SomeTime();
    out.last_ms = SomeTime();
    out.fired = Number(UINT64_MAX);
    out.skipped = Number(UINT64_MAX);
    out.missed_count = Number(UINT64_MAX);
    out.created_wall_ms = Time();
    out.priority = U32();
    out.attempts_set = OneIn(2);
    if (out.attempts_set) out.attempts = U32();
    const JobHeader options = AnyJobHeader();
    out.lease_ms = options.lease_ms;
    out.backoff = options.backoff;
    out.unique_key = options.unique_key;
    out.unique_ms = options.unique_ms;
    out.expire_ms = options.expire_ms;
    out.keep_ms = options.keep_ms;
    out.type = options.type;
    out.user_headers = options.user_headers;
    return out;
  }
  CounterValue AnyCounterValue() {
    CounterValue out;
    out.incarnation = Incarnation(U32());
    for (int64_t& value : out.values) value = static_cast<int64_t>(Number(UINT64_MAX));
    return out;
  }
  QueueValue AnyQueueValue() {
    QueueValue out{QueueId(U32()), Incarnation(U32()), AnyOrder()};
    if (OneIn(2)) out.lease_ms = Time();
    if (OneIn(2)) out.attempts = U32();
    if (OneIn(2)) out.backoff = Text(300);
    if (OneIn(2)) out.keep_ms = Time();
    if (OneIn(2)) out.dead_keep_ms = Time();
    if (OneIn(2)) out.dead_max = Number(UINT64_MAX);
    if (OneIn(2)) out.paused_until_ms = Time();
    if (OneIn(2)) {
      out.living = {Incarnation(U32()), Incarnation(U32()), Incarnation(U32()), Incarnation(U32()),
                    Incarnation(0)};
    }
    if (OneIn(2)) out.living.done = Incarnation(U32());
    if (OneIn(2)) out.limits.concurrency = U32();
    if (OneIn(2)) out.limits.space_concurrency = U32();
    if (OneIn(2)) {
      const uint32_t min = 1 + U32() % limits::kConcurrencyMax;
      out.limits.adaptive = {min, min + U32() % (limits::kConcurrencyMax - min + 1)};
    }
    if (OneIn(2)) out.room.jobs = U32();
    if (OneIn(2)) out.room.bytes = uint64_t{U32()} << 20;
    if (OneIn(2)) out.limits.rate_micro = 1 + Number(limits::kRateMicroMax - 1);
    if (OneIn(2)) out.limits.burst = static_cast<uint32_t>(1 + Number(limits::kBurstMax - 1));
    if (OneIn(2)) out.ageing_ms = 1 + SomeTime() / 2;
    if (OneIn(2)) out.limits.space_rate_micro = 1 + Number(limits::kRateMicroMax - 1);
    if (OneIn(2)) out.limits.space_burst = static_cast<uint32_t>(1 + Number(limits::kBurstMax - 1));
    if (OneIn(2))
      out.limits.space_weight = static_cast<uint32_t>(1 + Number(limits::kSpaceWeightMax - 1));
    return out;
  }
  SpaceValue AnySpaceValue() {
    SpaceValue out;
    if (OneIn(2)) out.concurrency = U32();
    if (OneIn(2)) out.rate_micro = Number(limits::kRateMicroMax);
    if (OneIn(2)) out.burst = static_cast<uint32_t>(1 + Number(limits::kBurstMax - 1));
    if (OneIn(2)) out.paused_until_ms = Time();
    if (out.empty() || OneIn(2))
      out.weight = static_cast<uint32_t>(1 + Number(limits::kSpaceWeightMax - 1));
    return out;
  }
  DroppedValue AnyDroppedValue() { return {Name(limits::kQueueNameBytes)}; }
  ClockValue AnyClockValue() { return {Time(), Time(), Time(), Text(40)}; }
  VouchValue AnyVouchValue() { return {Sequence(Number(UINT64_MAX))}; }

 private:
  std::mt19937_64 engine_;
};

}  // namespace vestq::keycodec::testing
