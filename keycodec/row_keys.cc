// Keys of the rows family, and the lane of a space.
#include <xxhash.h>

#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "engine/base/check.h"
#include "engine/base/limits.h"
#include "keycodec/fields.h"
#include "keycodec/keys.h"
#include "keycodec/reader.h"
#include "keycodec/writer.h"

namespace vestq::keycodec {
namespace {

constexpr size_t kOfQueueBytes = 1 + 4 + 4;
constexpr size_t kOfLaneBytes = 1 + kLaneBytes;
constexpr size_t kTimerHeadBytes = kOfLaneBytes + 1 + kTimeBytes + 1;

// A rows key: its letter, then the reader stands at the first field.
Reader RowReader(const char* what, char letter, std::string_view key) {
  Reader reader(what, key);
  if (reader.Byte("letter") != static_cast<uint8_t>(letter)) reader.Fail("letter", "another row's");
  return reader;
}

std::string NamedKey(char letter, std::string_view name) {
  std::string key;
  key.reserve(1 + name.size());
  key.push_back(letter);
  key.append(name);
  return key;
}

// The key of a row that has a name of 1 .. `max` bytes.
Result<std::string> DecodeNamedKey(const char* what, char letter, std::string_view key,
                                   size_t max) {
  Reader reader = RowReader(what, letter, key);
  const std::string_view name = ReadName(&reader, "name", max);
  return reader.Finish(std::string(name));
}

// letter, queue, incarnation: the beginning of a job's row that is found by its queue.
template <size_t N>
void PutOfQueue(char letter, QueueId queue, Incarnation incarnation, Writer<N>* writer) {
  writer->Byte(static_cast<uint8_t>(letter));
  writer->template BigEndian<4>(queue.value());
  writer->template BigEndian<4>(incarnation.value());
}

std::string TimedKey(char letter, QueueId queue, Incarnation incarnation, int64_t time_ms,
                     JobId id) {
  Writer<kOfQueueBytes + kTimeBytes + kIdBytes> writer;
  PutOfQueue(letter, queue, incarnation, &writer);
  PutTime(time_ms, &writer);
  PutId(id, &writer);
  return std::string(writer.view());
}

template <size_t N>
void PutOfLane(char letter, LaneId lane, Writer<N>* writer) {
  writer->Byte(static_cast<uint8_t>(letter));
  writer->template BigEndian<kLaneBytes>(lane.value());
}

template <size_t N>
void PutTimer(LaneId lane, Clock clock, int64_t time_ms, TimerKind kind, Writer<N>* writer) {
  PutOfLane('t', lane, writer);
  writer->Byte(static_cast<uint8_t>(clock));
  PutTime(time_ms, writer);
  writer->Byte(static_cast<uint8_t>(kind));
}

std::string EdgeKey(char letter, LaneId lane, JobId here, JobId there) {
  Writer<kOfLaneBytes + 2 * kIdBytes> writer;
  PutOfLane(letter, lane, &writer);
  PutId(here, &writer);
  PutId(there, &writer);
  return std::string(writer.view());
}

void AppendEdgePrefix(char letter, LaneId lane, JobId here, std::string* out) {
  Writer<kOfLaneBytes + kIdBytes> writer;
  PutOfLane(letter, lane, &writer);
  PutId(here, &writer);
  writer.AppendTo(out);
}

}  // namespace

std::string SettingKey(std::string_view name) { return NamedKey('s', name); }

std::string ClockKey(uint16_t slot) {
  Writer<1 + 2> writer;
  writer.Byte('k');
  writer.BigEndian<2>(slot);
  return std::string(writer.view());
}

std::string QueueKey(std::string_view name) { return NamedKey('q', name); }

std::string CounterKey(uint16_t slot, QueueId queue) {
  Writer<1 + 2 + 4> writer;
  writer.Byte('c');
  writer.BigEndian<2>(slot);
  writer.BigEndian<4>(queue.value());
  return std::string(writer.view());
}

std::string JobRowKey(LaneId lane, JobId id) {
  Writer<1 + kLaneBytes + kIdBytes> writer;
  writer.Byte('j');
  writer.BigEndian<kLaneBytes>(lane.value());
  PutId(id, &writer);
  return std::string(writer.view());
}

std::string DeadKey(QueueId queue, Incarnation incarnation, int64_t time_ms, JobId id) {
  return TimedKey('d', queue, incarnation, time_ms, id);
}

std::string DoneKey(QueueId queue, Incarnation incarnation, int64_t finished_ms, JobId id) {
  return TimedKey('r', queue, incarnation, finished_ms, id);
}

std::string WaitingKey(QueueId queue, Incarnation incarnation, JobId id) {
  Writer<kOfQueueBytes + kIdBytes> writer;
  PutOfQueue('w', queue, incarnation, &writer);
  PutId(id, &writer);
  return std::string(writer.view());
}

std::string UniqueKey(QueueId queue, std::string_view space, std::string_view key) {
  CHECK(!key.empty() && key.size() <= limits::kUniqueKeyBytes, "a unique key has 1 .. 512 bytes");
  Writer<1 + 4 + kKeySpaceBytesMax + limits::kUniqueKeyBytes> writer;
  writer.Byte('u');
  writer.BigEndian<4>(queue.value());
  PutSpace(space, &writer);
  writer.Raw(key);
  return std::string(writer.view());
}

void AppendUniqueSpacePrefix(QueueId queue, std::string_view space, std::string* out) {
  Writer<1 + 4 + kKeySpaceBytesMax> writer;
  writer.Byte('u');
  writer.BigEndian<4>(queue.value());
  PutSpace(space, &writer);
  writer.AppendTo(out);
}

std::string TimerKey(LaneId lane, Clock clock, int64_t time_ms, TimerKind kind, JobId id) {
  CHECK(kind != TimerKind::kSchedule, "a schedule's timer has its name, not a job");
  Writer<kTimerHeadBytes + kIdBytes> writer;
  PutTimer(lane, clock, time_ms, kind, &writer);
  PutId(id, &writer);
  return std::string(writer.view());
}

std::string TimerKey(LaneId lane, Clock clock, int64_t time_ms, std::string_view schedule) {
  CHECK(!schedule.empty() && schedule.size() <= limits::kScheduleNameBytes,
        "a schedule's name has 1 .. 200 bytes");
  Writer<kTimerHeadBytes + limits::kScheduleNameBytes> writer;
  PutTimer(lane, clock, time_ms, TimerKind::kSchedule, &writer);
  writer.Raw(schedule);
  return std::string(writer.view());
}

std::string ChildEdgeKey(LaneId lane, JobId child, JobId parent) {
  return EdgeKey('a', lane, child, parent);
}

std::string ParentEdgeKey(LaneId lane, JobId parent, JobId child) {
  return EdgeKey('p', lane, parent, child);
}

std::string HandoverKey(LaneId lane, uint32_t epoch, uint64_t number) {
  Writer<kOfLaneBytes + 4 + 8> writer;
  PutOfLane('m', lane, &writer);
  writer.BigEndian<4>(epoch);
  writer.BigEndian<8>(number);
  return std::string(writer.view());
}

std::string ScheduleKey(std::string_view name) { return NamedKey('h', name); }

std::string DroppedKey(QueueId queue) {
  Writer<1 + 4> writer;
  writer.Byte('x');
  writer.BigEndian<4>(queue.value());
  return std::string(writer.view());
}

// --- Decoding ---

Result<std::string> DecodeQueueKey(std::string_view key) {
  return DecodeNamedKey("queue key", 'q', key, limits::kQueueNameBytes);
}

Result<std::string> DecodeScheduleKey(std::string_view key) {
  return DecodeNamedKey("schedule key", 'h', key, limits::kScheduleNameBytes);
}

Result<QueueId> DecodeDroppedKey(std::string_view key) {
  Reader reader = RowReader("dropped queue key", 'x', key);
  const auto queue = ReadFixed<QueueId>(&reader, "queue");
  return reader.Finish(queue);
}

Result<uint16_t> DecodeClockKey(std::string_view key) {
  Reader reader = RowReader("clock key", 'k', key);
  const auto slot = static_cast<uint16_t>(reader.BigEndian<2>("slot"));
  return reader.Finish(slot);
}

Result<CounterRowKey> DecodeCounterKey(std::string_view key) {
  Reader reader = RowReader("counter key", 'c', key);
  CounterRowKey out;
  out.slot = static_cast<uint16_t>(reader.BigEndian<2>("slot"));
  out.queue = ReadFixed<QueueId>(&reader, "queue");
  return reader.Finish(out);
}

Result<std::pair<LaneId, JobId>> DecodeJobRowKey(std::string_view key) {
  Reader reader = RowReader("job row key", 'j', key);
  const LaneId lane = ReadFixed<LaneId>(&reader, "lane");
  const JobId id = ReadId(&reader);
  return reader.Finish(std::pair(lane, id));
}

Result<DeadRowKey> DecodeDeadKey(std::string_view key) {
  Reader reader = RowReader("dead letter key", 'd', key);
  DeadRowKey out;
  out.queue = ReadFixed<QueueId>(&reader, "queue");
  out.incarnation = ReadFixed<Incarnation>(&reader, "incarnation");
  out.time_ms = ReadTime(&reader, "time");
  out.id = ReadId(&reader);
  return reader.Finish(out);
}

Result<DoneRowKey> DecodeDoneKey(std::string_view key) {
  Reader reader = RowReader("kept result key", 'r', key);
  DoneRowKey out;
  out.queue = ReadFixed<QueueId>(&reader, "queue");
  out.incarnation = ReadFixed<Incarnation>(&reader, "incarnation");
  out.finished_ms = ReadTime(&reader, "finished");
  out.id = ReadId(&reader);
  return reader.Finish(out);
}

Result<WaitingRowKey> DecodeWaitingKey(std::string_view key) {
  Reader reader = RowReader("waiting job key", 'w', key);
  WaitingRowKey out;
  out.queue = ReadFixed<QueueId>(&reader, "queue");
  out.incarnation = ReadFixed<Incarnation>(&reader, "incarnation");
  out.id = ReadId(&reader);
  return reader.Finish(out);
}

Result<UniqueRowKey> DecodeUniqueKey(std::string_view key) {
  Reader reader = RowReader("unique key", 'u', key);
  UniqueRowKey out;
  out.queue = ReadFixed<QueueId>(&reader, "queue");
  ReadSpace(&reader, &out.space);
  out.key = ReadName(&reader, "key", limits::kUniqueKeyBytes);
  return reader.Finish(std::move(out));
}

Result<TimerRowKey> DecodeTimerKey(std::string_view key) {
  Reader reader = RowReader("timer key", 't', key);
  TimerRowKey out;
  out.lane = ReadFixed<LaneId>(&reader, "lane");
  out.clock = ReadClock(&reader);
  out.time_ms = ReadTime(&reader, "time");
  out.kind = reader.Enum("kind", {TimerKind::kUniqueWindow, TimerKind::kKept, TimerKind::kExpire,
                                  TimerKind::kSchedule});
  if (out.kind == TimerKind::kSchedule) {
    out.schedule = ReadName(&reader, "schedule", limits::kScheduleNameBytes);
  } else {
    out.id = ReadId(&reader);
  }
  return reader.Finish(std::move(out));
}

Result<EdgeRowKey> DecodeChildEdgeKey(std::string_view key) {
  Reader reader = RowReader("child's edge key", 'a', key);
  EdgeRowKey out;
  out.lane = ReadFixed<LaneId>(&reader, "lane");
  out.child = ReadId(&reader);
  out.parent = ReadId(&reader);
  return reader.Finish(out);
}

Result<EdgeRowKey> DecodeParentEdgeKey(std::string_view key) {
  Reader reader = RowReader("parent's edge key", 'p', key);
  EdgeRowKey out;
  out.lane = ReadFixed<LaneId>(&reader, "lane");
  out.parent = ReadId(&reader);
  out.child = ReadId(&reader);
  return reader.Finish(out);
}

Result<HandoverRowKey> DecodeHandoverKey(std::string_view key) {
  Reader reader = RowReader("hand-over key", 'm', key);
  HandoverRowKey out;
  out.lane = ReadFixed<LaneId>(&reader, "lane");
  out.epoch = static_cast<uint32_t>(reader.BigEndian<4>("epoch"));
  out.number = reader.BigEndian<8>("number");
  return reader.Finish(out);
}

// --- Scan prefixes ---

void AppendQueueRowsPrefix(QueueRows rows, QueueId queue, std::string* out) {
  Writer<1 + 4> writer;
  writer.Byte(static_cast<uint8_t>(rows));
  writer.BigEndian<4>(queue.value());
  writer.AppendTo(out);
}

void AppendQueueRowsPrefix(QueueRows rows, QueueId queue, Incarnation incarnation,
                           std::string* out) {
  CHECK(rows != QueueRows::kUnique && rows != QueueRows::kSpaceOptions &&
            rows != QueueRows::kSpaceRates,
        "a unique key and a row of a space are of no incarnation");
  Writer<kOfQueueBytes> writer;
  PutOfQueue(static_cast<char>(rows), queue, incarnation, &writer);
  writer.AppendTo(out);
}

void AppendTimerPrefix(LaneId lane, Clock clock, std::string* out) {
  Writer<kOfLaneBytes + 1> writer;
  PutOfLane('t', lane, &writer);
  writer.Byte(static_cast<uint8_t>(clock));
  writer.AppendTo(out);
}

void AppendChildEdgePrefix(LaneId lane, JobId child, std::string* out) {
  AppendEdgePrefix('a', lane, child, out);
}

void AppendParentEdgePrefix(LaneId lane, JobId parent, std::string* out) {
  AppendEdgePrefix('p', lane, parent, out);
}

void AppendHandoverPrefix(LaneId lane, std::string* out) {
  Writer<kOfLaneBytes> writer;
  PutOfLane('m', lane, &writer);
  writer.AppendTo(out);
}

// --- Lanes ---

LaneId LaneOfSpace(std::string_view queue_name, std::string_view space, uint16_t lanes) {
  CHECK(lanes > 0);
  CHECK(queue_name.size() <= limits::kQueueNameBytes, "a queue name is at most kQueueNameBytes");
  // Names, spaces and unique keys (512 bytes) fit the stack; the hash does not depend on which way
  // it went.
  constexpr size_t kOnStack = 4 + limits::kQueueNameBytes + 1024;
  const auto length = static_cast<uint32_t>(queue_name.size());
  std::array<char, 4> prefix;
  for (size_t i = 0; i < prefix.size(); ++i) prefix[i] = static_cast<char>(length >> (8 * i));
  const std::string_view head(prefix.data(), prefix.size());

  XXH64_hash_t hash = 0;
  if (head.size() + queue_name.size() + space.size() <= kOnStack) {
    Writer<kOnStack> input;
    input.Raw(head);
    input.Raw(queue_name);
    input.Raw(space);
    hash = XXH3_64bits(input.view().data(), input.view().size());
  } else {
    std::string input(head);
    input.append(queue_name).append(space);
    hash = XXH3_64bits(input.data(), input.size());
  }
  return LaneId(static_cast<uint16_t>(hash % lanes));
}

}  // namespace vestq::keycodec
