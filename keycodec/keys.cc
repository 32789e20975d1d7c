#include "keycodec/keys.h"

#include <tuple>
#include <utility>

#include "engine/base/check.h"
#include "engine/base/limits.h"
#include "keycodec/fields.h"
#include "keycodec/reader.h"
#include "keycodec/writer.h"

namespace vestq::keycodec {
namespace {

constexpr size_t kRangePrefixBytes = kLaneBytes + 1;
constexpr size_t kRankBytes = 4 + kTimeBytes + kIdBytes;
constexpr size_t kQueuePrefixBytes = kRangePrefixBytes + 4;
constexpr size_t kZonePrefixBytesMax = kQueuePrefixBytes + 4 + 1 + kKeySpaceBytesMax;

template <size_t N>
void PutRangePrefix(LaneId lane, Range range, Writer<N>* writer) {
  writer->template BigEndian<kLaneBytes>(lane.value());
  writer->Byte(static_cast<uint8_t>(range));
}

template <size_t N>
void PutZonePrefix(LaneId lane, QueueId queue, Incarnation incarnation, Order order,
                   std::string_view space, Writer<N>* writer) {
  PutRangePrefix(lane, Range::kReady, writer);
  writer->template BigEndian<4>(queue.value());
  writer->template BigEndian<4>(incarnation.value());
  writer->Byte(static_cast<uint8_t>(order));
  PutSpace(space, writer);
}

LaneId ReadRangePrefix(Reader* reader, Range range) {
  const LaneId lane = ReadFixed<LaneId>(reader, "lane");
  reader->Enum("range", {range});
  return lane;
}

}  // namespace

bool ReadyRankLess(Order order, const ReadyRank& a, const ReadyRank& b) {
  switch (order) {
    case Order::kPriority:
      return std::tie(a.priority, a.time_ms, a.id) < std::tie(b.priority, b.time_ms, b.id);
    case Order::kTime:
      return std::tie(a.time_ms, a.priority, a.id) < std::tie(b.time_ms, b.priority, b.id);
  }
  return false;
}

// --- Encoding the vesting family ---

void AppendScheduledKey(LaneId lane, Clock clock, int64_t time_ms, JobId id, std::string* out) {
  Writer<kRangePrefixBytes + 1 + kTimeBytes + kIdBytes> writer;
  PutRangePrefix(lane, Range::kScheduled, &writer);
  writer.Byte(static_cast<uint8_t>(clock));
  PutTime(time_ms, &writer);
  PutId(id, &writer);
  writer.AppendTo(out);
}

void AppendReadyKey(LaneId lane, QueueId queue, Incarnation incarnation, Order order,
                    std::string_view space, const ReadyRank& rank, std::string* out) {
  Writer<kZonePrefixBytesMax + kRankBytes> writer;
  PutZonePrefix(lane, queue, incarnation, order, space, &writer);
  switch (order) {
    case Order::kPriority:
      writer.BigEndian<4>(rank.priority);
      PutTime(rank.time_ms, &writer);
      break;
    case Order::kTime:
      PutTime(rank.time_ms, &writer);
      writer.BigEndian<4>(rank.priority);
      break;
  }
  PutId(rank.id, &writer);
  writer.AppendTo(out);
}

void AppendLeasedKey(LaneId lane, int64_t deadline_ms, JobId id, std::string* out) {
  Writer<kRangePrefixBytes + kTimeBytes + kIdBytes> writer;
  PutRangePrefix(lane, Range::kLeased, &writer);
  PutTime(deadline_ms, &writer);
  PutId(id, &writer);
  writer.AppendTo(out);
}

std::string Encode(const ScheduledKey& key) {
  std::string out;
  AppendScheduledKey(key.lane, key.clock, key.time_ms, key.id, &out);
  return out;
}

std::string Encode(const ReadyKey& key) {
  std::string out;
  AppendReadyKey(key.lane, key.zone.queue, key.zone.incarnation, key.zone.order, key.zone.space,
                 key.rank, &out);
  return out;
}

std::string Encode(const LeasedKey& key) {
  std::string out;
  AppendLeasedKey(key.lane, key.deadline_ms, key.id, &out);
  return out;
}

// --- Decoding the vesting family ---

Result<Range> RangeOf(std::string_view key) {
  Reader reader("vesting key", key);
  reader.BigEndian<kLaneBytes>("lane");
  const Range range = reader.Enum("range", {Range::kScheduled, Range::kReady, Range::kLeased});
  reader.Rest();
  return reader.Finish(range);
}

Result<ScheduledKey> DecodeScheduledKey(std::string_view key) {
  Reader reader("SCHEDULED key", key);
  ScheduledKey out;
  out.lane = ReadRangePrefix(&reader, Range::kScheduled);
  out.clock = ReadClock(&reader);
  out.time_ms = ReadTime(&reader, "time");
  out.id = ReadId(&reader);
  return reader.Finish(out);
}

Result<ReadyKey> DecodeReadyKey(std::string_view key) {
  Reader reader("READY key", key);
  ReadyKey out;
  out.lane = ReadRangePrefix(&reader, Range::kReady);
  out.zone.queue = ReadFixed<QueueId>(&reader, "queue");
  out.zone.incarnation = ReadFixed<Incarnation>(&reader, "incarnation");
  out.zone.order = ReadOrder(&reader);
  ReadSpace(&reader, &out.zone.space);
  switch (out.zone.order) {
    case Order::kPriority:
      out.rank.priority = static_cast<uint32_t>(reader.BigEndian<4>("priority"));
      out.rank.time_ms = ReadTime(&reader, "enqueued");
      break;
    case Order::kTime:
      out.rank.time_ms = ReadTime(&reader, "vested");
      out.rank.priority = static_cast<uint32_t>(reader.BigEndian<4>("priority"));
      break;
  }
  out.rank.id = ReadId(&reader);
  return reader.Finish(std::move(out));
}

Result<LeasedKey> DecodeLeasedKey(std::string_view key) {
  Reader reader("LEASED key", key);
  LeasedKey out;
  out.lane = ReadRangePrefix(&reader, Range::kLeased);
  out.deadline_ms = ReadTime(&reader, "deadline");
  out.id = ReadId(&reader);
  return reader.Finish(out);
}

// --- Scan bounds ---

void AppendRangePrefix(LaneId lane, Range range, std::string* out) {
  Writer<kRangePrefixBytes> writer;
  PutRangePrefix(lane, range, &writer);
  writer.AppendTo(out);
}

void AppendScheduledPrefix(LaneId lane, Clock clock, std::string* out) {
  Writer<kRangePrefixBytes + 1> writer;
  PutRangePrefix(lane, Range::kScheduled, &writer);
  writer.Byte(static_cast<uint8_t>(clock));
  writer.AppendTo(out);
}

void AppendZonePrefix(LaneId lane, QueueId queue, Incarnation incarnation, Order order,
                      std::string_view space, std::string* out) {
  Writer<kZonePrefixBytesMax> writer;
  PutZonePrefix(lane, queue, incarnation, order, space, &writer);
  writer.AppendTo(out);
}

void AppendQueuePrefix(LaneId lane, QueueId queue, std::string* out) {
  Writer<kQueuePrefixBytes> writer;
  PutRangePrefix(lane, Range::kReady, &writer);
  writer.BigEndian<4>(queue.value());
  writer.AppendTo(out);
}

void AppendLifePrefix(LaneId lane, QueueId queue, Incarnation incarnation, std::string* out) {
  AppendQueuePrefix(lane, queue, out);
  Writer<4> writer;
  writer.BigEndian<4>(incarnation.value());
  writer.AppendTo(out);
}

Result<size_t> ZonePrefixLength(std::string_view ready_key) {
  Reader reader("READY key", ready_key);
  ReadRangePrefix(&reader, Range::kReady);
  ReadFixed<QueueId>(&reader, "queue");
  ReadFixed<Incarnation>(&reader, "incarnation");
  ReadOrder(&reader);
  ReadSpace(&reader, nullptr);
  const size_t length = reader.position();
  reader.Rest();
  return reader.Finish(length);
}

std::string PrefixSuccessor(std::string_view prefix) {
  const size_t last = prefix.find_last_not_of('\xFF');
  if (last == std::string_view::npos) return {};
  std::string out(prefix.substr(0, last + 1));
  out.back() = static_cast<char>(static_cast<uint8_t>(out.back()) + 1);
  return out;
}

// --- The job family ---

void AppendJobKey(LaneId lane, JobId id, std::string* out) {
  Writer<kLaneBytes + kIdBytes> writer;
  writer.BigEndian<kLaneBytes>(lane.value());
  PutId(id, &writer);
  writer.AppendTo(out);
}

Result<JobId> DecodeJobKey(std::string_view key) {
  Reader reader("job key", key);
  ReadFixed<LaneId>(&reader, "lane");
  const JobId id = ReadId(&reader);
  return reader.Finish(id);
}

}  // namespace vestq::keycodec
