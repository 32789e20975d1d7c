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
  Writer<1 + 4 + 4 + kTimeBytes + kIdBytes> writer;
  writer.Byte('d');
  writer.BigEndian<4>(queue.value());
  writer.BigEndian<4>(incarnation.value());
  PutTime(time_ms, &writer);
  PutId(id, &writer);
  return std::string(writer.view());
}

Result<std::string> DecodeQueueKey(std::string_view key) {
  Reader reader = RowReader("queue key", 'q', key);
  const std::string_view name = reader.Rest();
  if (name.empty()) reader.Fail("name", "empty");
  if (name.size() > limits::kQueueNameBytes) reader.Fail("name", "too long");
  if (!reader.ok()) return reader.Finish();
  return std::string(name);
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
