// Every persisted format as one row of a table, so that each is put through the same truncations,
// random bytes and mutations, and a new format is covered by adding its row.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/base/result.h"
#include "tests/keycodec/random.h"

namespace vestq::keycodec::testing {

struct Codec {
  const char* name;
  std::string (*make)(Random&);  // a random valid encoding
  // Decodes and encodes again.
  Result<std::string> (*recode)(std::string_view);
  // VALUE-2 holds without exception: what decodes encodes to the same bytes. Not so for formats
  // that skip unknown odd tags or fill in missing counters.
  bool bijective = true;
  // A valid encoding, cut short, is never a valid one.
  bool prefix_free = true;
  // No allocation is larger than so many times the input. A header of two bytes becomes two strings
  // (64 bytes), and an id of seven becomes eight.
  size_t growth = 2;
};

template <typename T>
std::string Encoded(const T& value) {
  std::string out;
  Append(value, &out);
  return out;
}

template <typename T>
Result<std::string> Encoded(const Result<T>& value) {
  if (!value.ok()) return value.error();
  return Encoded(*value);
}

template <typename T>
Result<std::string> EncodedKey(const Result<T>& key) {
  if (!key.ok()) return key.error();
  return Encode(*key);
}

inline std::string EncodedJob(const JobHeader& header, std::string_view payload) {
  std::string out;
  AppendJobRecord(header, payload, &out);
  return out;
}

inline std::string JobKey(LaneId lane, JobId id) {
  std::string out;
  AppendJobKey(lane, id, &out);
  return out;
}

inline std::string EncodedRow(const DoneRowKey& k) {
  return DoneKey(k.queue, k.incarnation, k.finished_ms, k.id);
}
inline std::string EncodedRow(const WaitingRowKey& k) {
  return WaitingKey(k.queue, k.incarnation, k.id);
}
inline std::string EncodedRow(const UniqueRowKey& k) { return UniqueKey(k.queue, k.space, k.key); }
inline std::string EncodedRow(const TimerRowKey& k) {
  if (k.kind == TimerKind::kSchedule) return TimerKey(k.lane, k.clock, k.time_ms, k.schedule);
  return TimerKey(k.lane, k.clock, k.time_ms, k.kind, k.id);
}
inline std::string EncodedRow(const HandoverRowKey& k) {
  return HandoverKey(k.lane, k.epoch, k.number);
}
inline std::string EncodedChildEdge(const EdgeRowKey& k) {
  return ChildEdgeKey(k.lane, k.child, k.parent);
}
inline std::string EncodedParentEdge(const EdgeRowKey& k) {
  return ParentEdgeKey(k.lane, k.parent, k.child);
}

template <typename T>
Result<std::string> EncodedRow(const Result<T>& key) {
  if (!key.ok()) return key.error();
  return EncodedRow(*key);
}

inline const std::vector<Codec>& Codecs() {
  static const std::vector<Codec> codecs = {
      {"SCHEDULED key", [](Random& r) { return Encode(r.AnyScheduledKey()); },
       [](std::string_view b) { return EncodedKey(DecodeScheduledKey(b)); }},
      {"READY key", [](Random& r) { return Encode(r.AnyReadyKey()); },
       [](std::string_view b) { return EncodedKey(DecodeReadyKey(b)); }},
      {"LEASED key", [](Random& r) { return Encode(r.AnyLeasedKey()); },
       [](std::string_view b) { return EncodedKey(DecodeLeasedKey(b)); }},
      {"job key", [](Random& r) { return JobKey(LaneId(r.U16()), r.Id()); },
       [](std::string_view b) -> Result<std::string> {
         const Result<JobId> id = DecodeJobKey(b);
         if (!id.ok()) return id.error();
         // The lane is not handed back; it is the key's first two bytes.
         const auto high = static_cast<uint8_t>(b[0]), low = static_cast<uint8_t>(b[1]);
         return JobKey(LaneId(static_cast<uint16_t>(high << 8 | low)), *id);
       }},
      {"queue key", [](Random& r) { return QueueKey("q" + r.Text(199)); },
       [](std::string_view b) -> Result<std::string> {
         const Result<std::string> name = DecodeQueueKey(b);
         if (!name.ok()) return name.error();
         return QueueKey(*name);
       },
       true, false},
      {"clock key", [](Random& r) { return ClockKey(r.U16()); },
       [](std::string_view b) -> Result<std::string> {
         const Result<uint16_t> slot = DecodeClockKey(b);
         if (!slot.ok()) return slot.error();
         return ClockKey(*slot);
       }},
      {"counter key", [](Random& r) { return CounterKey(r.U16(), QueueId(r.U32())); },
       [](std::string_view b) -> Result<std::string> {
         const Result<CounterRowKey> key = DecodeCounterKey(b);
         if (!key.ok()) return key.error();
         return CounterKey(key->slot, key->queue);
       }},
      {"job row key", [](Random& r) { return JobRowKey(LaneId(r.U16()), r.Id()); },
       [](std::string_view b) -> Result<std::string> {
         const auto key = DecodeJobRowKey(b);
         if (!key.ok()) return key.error();
         return JobRowKey(key->first, key->second);
       }},
      {"dead letter key",
       [](Random& r) { return DeadKey(QueueId(r.U32()), Incarnation(r.U32()), r.Time(), r.Id()); },
       [](std::string_view b) -> Result<std::string> {
         const Result<DeadRowKey> key = DecodeDeadKey(b);
         if (!key.ok()) return key.error();
         return DeadKey(key->queue, key->incarnation, key->time_ms, key->id);
       }},
      {"kept result key", [](Random& r) { return EncodedRow(r.AnyDoneKey()); },
       [](std::string_view b) { return EncodedRow(DecodeDoneKey(b)); }},
      {"waiting key", [](Random& r) { return EncodedRow(r.AnyWaitingKey()); },
       [](std::string_view b) { return EncodedRow(DecodeWaitingKey(b)); }},
      {"unique key", [](Random& r) { return EncodedRow(r.AnyUniqueKey()); },
       [](std::string_view b) { return EncodedRow(DecodeUniqueKey(b)); }, true, false},
      {"timer key",
       [](Random& r) {
         TimerRowKey key = r.AnyTimerKey();
         while (key.kind == TimerKind::kSchedule) key = r.AnyTimerKey();
         return EncodedRow(key);
       },
       [](std::string_view b) { return EncodedRow(DecodeTimerKey(b)); }},
      {"schedule's timer key",
       [](Random& r) {
         TimerRowKey key = r.AnyTimerKey();
         while (key.kind != TimerKind::kSchedule) key = r.AnyTimerKey();
         return EncodedRow(key);
       },
       [](std::string_view b) { return EncodedRow(DecodeTimerKey(b)); }, true, false},
      {"child's edge key", [](Random& r) { return EncodedChildEdge(r.AnyEdgeKey()); },
       [](std::string_view b) -> Result<std::string> {
         const Result<EdgeRowKey> key = DecodeChildEdgeKey(b);
         if (!key.ok()) return key.error();
         return EncodedChildEdge(*key);
       }},
      {"parent's edge key", [](Random& r) { return EncodedParentEdge(r.AnyEdgeKey()); },
       [](std::string_view b) -> Result<std::string> {
         const Result<EdgeRowKey> key = DecodeParentEdgeKey(b);
         if (!key.ok()) return key.error();
         return EncodedParentEdge(*key);
       }},
      {"hand-over key", [](Random& r) { return EncodedRow(r.AnyHandoverKey()); },
       [](std::string_view b) { return EncodedRow(DecodeHandoverKey(b)); }},
      {"schedule key", [](Random& r) { return ScheduleKey(r.Name(limits::kScheduleNameBytes)); },
       [](std::string_view b) -> Result<std::string> {
         const Result<std::string> name = DecodeScheduleKey(b);
         if (!name.ok()) return name.error();
         return ScheduleKey(*name);
       },
       true, false},
      {"dropped queue key", [](Random& r) { return DroppedKey(QueueId(r.U32())); },
       [](std::string_view b) -> Result<std::string> {
         const Result<QueueId> queue = DecodeDroppedKey(b);
         if (!queue.ok()) return queue.error();
         return DroppedKey(*queue);
       }},
      {"space options key",
       [](Random& r) { return SpaceOptionsKey(QueueId(r.U32()), r.Text(200)); },
       [](std::string_view b) -> Result<std::string> {
         const Result<SpaceRowKey> key = DecodeSpaceOptionsKey(b);
         if (!key.ok()) return key.error();
         return SpaceOptionsKey(key->queue, key->space);
       },
       true, false},
      {"space rate key", [](Random& r) { return SpaceRateKey(QueueId(r.U32()), r.Name(200)); },
       [](std::string_view b) -> Result<std::string> {
         const Result<SpaceRowKey> key = DecodeSpaceRateKey(b);
         if (!key.ok()) return key.error();
         return SpaceRateKey(key->queue, key->space);
       },
       true, false},
      {"READY value", [](Random& r) { return Encoded(r.AnyReadyValue()); },
       [](std::string_view b) { return Encoded(DecodeReadyValue(b)); }},
      {"SCHEDULED value", [](Random& r) { return Encoded(r.AnyScheduledValue()); },
       [](std::string_view b) { return Encoded(DecodeScheduledValue(b)); }},
      {"LEASED value", [](Random& r) { return Encoded(r.AnyLeasedValue()); },
       [](std::string_view b) { return Encoded(DecodeLeasedValue(b)); }},
      {"job record", [](Random& r) { return EncodedJob(r.AnyJobHeader(), r.Text(500)); },
       [](std::string_view b) -> Result<std::string> {
         const Result<JobRecord> record = DecodeJobRecord(b);
         if (!record.ok()) return record.error();
         return EncodedJob(record->header, record->payload);
       },
       false, false, 33},
      {"job row", [](Random& r) { return Encoded(r.AnyJobRow()); },
       [](std::string_view b) { return Encoded(DecodeJobRow(b)); }, false},
      {"dead letter", [](Random& r) { return Encoded(r.AnyDeadValue()); },
       [](std::string_view b) { return Encoded(DecodeDeadValue(b)); }, false},
      {"kept result", [](Random& r) { return Encoded(r.AnyDoneValue()); },
       [](std::string_view b) { return Encoded(DecodeDoneValue(b)); }, false},
      {"waiting job", [](Random& r) { return Encoded(r.AnyWaitingValue()); },
       [](std::string_view b) { return Encoded(DecodeWaitingValue(b)); }, false},
      {"unique key's holder", [](Random& r) { return Encoded(r.AnyUniqueValue()); },
       [](std::string_view b) { return Encoded(DecodeUniqueValue(b)); }},
      {"timer", [](Random& r) { return Encoded(r.AnyTimerValue()); },
       [](std::string_view b) { return Encoded(DecodeTimerValue(b)); }},
      {"edge", [](Random&) { return Encoded(EdgeValue()); },
       [](std::string_view b) { return Encoded(DecodeEdgeValue(b)); }},
      {"hand-over", [](Random& r) { return Encoded(r.AnyHandoverValue()); },
       [](std::string_view b) { return Encoded(DecodeHandoverValue(b)); }},
      {"schedule", [](Random& r) { return Encoded(r.AnyScheduleValue()); },
       [](std::string_view b) { return Encoded(DecodeScheduleValue(b)); }, false, true, 33},
      {"dropped queue", [](Random& r) { return Encoded(r.AnyDroppedValue()); },
       [](std::string_view b) { return Encoded(DecodeDroppedValue(b)); }},
      {"space options", [](Random& r) { return Encoded(r.AnySpaceValue()); },
       [](std::string_view b) { return Encoded(DecodeSpaceValue(b)); }, false},
      {"space rate", [](Random& r) { return Encoded(SpaceRateValue{r.Time()}); },
       [](std::string_view b) { return Encoded(DecodeSpaceRateValue(b)); }},
      {"counters", [](Random& r) { return Encoded(r.AnyCounterValue()); },
       [](std::string_view b) { return Encoded(DecodeCounterValue(b)); }, false},
      {"queue", [](Random& r) { return Encoded(r.AnyQueueValue()); },
       [](std::string_view b) { return Encoded(DecodeQueueValue(b)); }, false},
      {"clock", [](Random& r) { return Encoded(r.AnyClockValue()); },
       [](std::string_view b) { return Encoded(DecodeClockValue(b)); }},
      {"vouch", [](Random& r) { return Encoded(r.AnyVouchValue()); },
       [](std::string_view b) { return Encoded(DecodeVouchValue(b)); }},
      {"number", [](Random& r) { return EncodeNumber(r.Number(UINT64_MAX)); },
       [](std::string_view b) -> Result<std::string> {
         const Result<uint64_t> number = DecodeNumber(b);
         if (!number.ok()) return number.error();
         return EncodeNumber(*number);
       }},
  };
  return codecs;
}

}  // namespace vestq::keycodec::testing
