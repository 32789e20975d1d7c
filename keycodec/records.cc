#include "keycodec/records.h"

#include <utility>

#include "engine/base/check.h"
#include "engine/base/limits.h"
#include "keycodec/fields.h"
#include "keycodec/reader.h"
#include "keycodec/writer.h"

namespace vestq::keycodec {
namespace {

// The version byte of every value. A new version of one value is a new constant beside this one
// (FORMAT.md).
constexpr uint8_t kVersion = 1;

// Largest sizes, for Writer.
constexpr size_t kZoneBytesMax = 2 * kVarint32Bytes + 1 + kVarint16Bytes +
                                 limits::kSpaceBytes;  // queue, incarnation, order, space

// Tagged fields of a job header. Persisted; never renumber, never reuse. Even: a reader that does
// not know it must refuse the value. Odd: it may skip it.
constexpr uint64_t kTagEnd = 0;
constexpr uint64_t kTagLease = 2;
constexpr uint64_t kTagBackoff = 4;

template <size_t N>
void PutSpan(int64_t ms, Writer<N>* writer) {
  CHECK(IsKeyTime(ms), "a value's time or span is in 0 .. 2^48-1 ms");
  writer->Varint(static_cast<uint64_t>(ms));
}

template <size_t N>
void PutFlags(uint32_t flags, Writer<N>* writer) {
  CHECK((flags & ~kFlagsKnown) == 0, "a job flag without a name");
  writer->Varint(flags);
}

template <size_t N>
void PutZone(const Zone& zone, Writer<N>* writer) {
  CHECK(zone.space.size() <= limits::kSpaceBytes, "a space is at most kSpaceBytes long");
  writer->Varint(zone.queue.value());
  writer->Varint(zone.incarnation.value());
  writer->Byte(static_cast<uint8_t>(zone.order));
  writer->Prefixed(zone.space);
}

void ReadVersion(Reader* reader) {
  const uint8_t version = reader->Byte("version");
  if (!reader->ok() || version == kVersion) return;
  if (version == 0) return reader->Fail("version", "is 0");
  reader->Fail("version", "written by a newer vestq", ErrorCode::kUnsupported);
}

uint32_t ReadU32(Reader* reader, const char* field) {
  return static_cast<uint32_t>(reader->Varint(field, UINT32_MAX));
}

int64_t ReadSpan(Reader* reader, const char* field) {
  return static_cast<int64_t>(reader->Varint(field, uint64_t{limits::kKeyTimeMsMax}));
}

// An unknown flag stands for an extra that this reader would leave behind, so it is refused.
uint32_t ReadFlags(Reader* reader) {
  const uint32_t flags = ReadU32(reader, "flags");
  if ((flags & ~kFlagsKnown) != 0) {
    reader->Fail("flags", "a flag of a newer vestq", ErrorCode::kUnsupported);
  }
  return flags;
}

void ReadZone(Reader* reader, Zone* zone) {
  zone->queue = QueueId(ReadU32(reader, "queue"));
  zone->incarnation = Incarnation(ReadU32(reader, "incarnation"));
  zone->order = ReadOrder(reader);
  zone->space = reader->Prefixed("space", limits::kSpaceBytes);
}

// Reads tagged fields to their end, in rising order. `known(tag, bytes)` takes a field and says
// whether it knew it.
template <typename Known>
void ReadTagged(Reader* reader, Known&& known) {
  uint64_t previous = 0;
  for (;;) {
    const uint64_t tag = reader->Varint("tag", UINT64_MAX);
    if (!reader->ok() || tag == kTagEnd) return;
    if (tag <= previous) return reader->Fail("tag", "not in rising order");
    previous = tag;
    const std::string_view bytes = reader->Prefixed("tagged field");
    if (!reader->ok()) return;
    if (!known(tag, bytes) && tag % 2 == 0) {
      return reader->Fail("tag", "a field of a newer vestq", ErrorCode::kUnsupported);
    }
  }
}

}  // namespace

// --- The vesting family ---

void Append(const ReadyValue& value, std::string* out) {
  Writer<1 + 2 * kVarint32Bytes> writer;
  writer.Byte(kVersion);
  PutFlags(value.flags, &writer);
  writer.Varint(value.attempt);
  writer.AppendTo(out);
}

Result<ReadyValue> DecodeReadyValue(std::string_view bytes) {
  Reader reader("READY value", bytes);
  ReadyValue out;
  ReadVersion(&reader);
  out.flags = ReadFlags(&reader);
  out.attempt = ReadU32(&reader, "attempt");
  return reader.Finish(out);
}

void Append(const ScheduledValue& value, std::string* out) {
  Writer<1 + 3 * kVarint32Bytes + kZoneBytesMax + kVarint48Bytes> writer;
  writer.Byte(kVersion);
  PutFlags(value.flags, &writer);
  writer.Varint(value.attempt);
  PutZone(value.zone, &writer);
  writer.Varint(value.priority);
  PutSpan(value.enqueued_ms, &writer);
  writer.AppendTo(out);
}

Result<ScheduledValue> DecodeScheduledValue(std::string_view bytes) {
  Reader reader("SCHEDULED value", bytes);
  ScheduledValue out;
  ReadVersion(&reader);
  out.flags = ReadFlags(&reader);
  out.attempt = ReadU32(&reader, "attempt");
  ReadZone(&reader, &out.zone);
  out.priority = ReadU32(&reader, "priority");
  out.enqueued_ms = ReadSpan(&reader, "enqueued");
  return reader.Finish(std::move(out));
}

void Append(const LeasedValue& value, std::string* out) {
  Writer<1 + 6 * kVarint32Bytes + kZoneBytesMax + 3 * kVarint48Bytes + kVarint64Bytes> writer;
  writer.Byte(kVersion);
  PutFlags(value.flags, &writer);
  writer.Varint(value.attempt);
  writer.Varint(value.attempts_max);
  PutZone(value.zone, &writer);
  writer.Varint(value.priority);
  PutSpan(value.enqueued_ms, &writer);
  PutSpan(value.ready_time_ms, &writer);
  writer.Varint(value.fence.epoch);
  writer.Varint(value.fence.claim);
  PutSpan(value.lease_ms, &writer);
  writer.Varint(value.payload_bytes);
  writer.AppendTo(out);
  AppendPrefixed(value.worker, out);
}

Result<LeasedValue> DecodeLeasedValue(std::string_view bytes) {
  Reader reader("LEASED value", bytes);
  LeasedValue out;
  ReadVersion(&reader);
  out.flags = ReadFlags(&reader);
  out.attempt = ReadU32(&reader, "attempt");
  out.attempts_max = ReadU32(&reader, "attempts");
  ReadZone(&reader, &out.zone);
  out.priority = ReadU32(&reader, "priority");
  out.enqueued_ms = ReadSpan(&reader, "enqueued");
  out.ready_time_ms = ReadSpan(&reader, "ready time");
  out.fence.epoch = ReadU32(&reader, "epoch");
  out.fence.claim = reader.Varint("claim", UINT64_MAX);
  out.lease_ms = ReadSpan(&reader, "lease");
  out.payload_bytes = ReadU32(&reader, "payload bytes");
  out.worker = reader.Prefixed("worker");
  return reader.Finish(std::move(out));
}

// --- The job family ---

void AppendJobRecord(const JobHeader& header, std::string_view payload, std::string* out) {
  Writer<1 + kZoneBytesMax + 3 * kVarint32Bytes + 3 * kVarint48Bytes + 1> fixed;
  fixed.Byte(kVersion);
  PutZone(header.zone, &fixed);
  PutFlags(header.flags, &fixed);
  fixed.Varint(header.priority);
  PutSpan(header.enqueued_ms, &fixed);
  PutSpan(header.enqueued_wall_ms, &fixed);
  fixed.Byte(static_cast<uint8_t>(header.clock));
  PutSpan(header.vests_ms, &fixed);
  fixed.Varint(header.attempts_max);
  fixed.AppendTo(out);

  if (header.lease_ms != 0) {
    Writer<kVarint48Bytes> lease;
    PutSpan(header.lease_ms, &lease);
    Writer<2 + kVarint48Bytes> field;
    field.Varint(kTagLease);
    field.Prefixed(lease.view());
    field.AppendTo(out);
  }
  if (!header.backoff.empty()) {
    out->push_back(static_cast<char>(kTagBackoff));
    AppendPrefixed(header.backoff, out);
  }
  out->push_back(static_cast<char>(kTagEnd));
  out->append(payload);
}

Result<JobRecord> DecodeJobRecord(std::string_view bytes) {
  Reader reader("job record", bytes);
  JobRecord out;
  JobHeader& header = out.header;
  ReadVersion(&reader);
  ReadZone(&reader, &header.zone);
  header.flags = ReadFlags(&reader);
  header.priority = ReadU32(&reader, "priority");
  header.enqueued_ms = ReadSpan(&reader, "enqueued");
  header.enqueued_wall_ms = ReadSpan(&reader, "enqueued wall");
  header.clock = ReadClock(&reader);
  header.vests_ms = ReadSpan(&reader, "vests");
  header.attempts_max = ReadU32(&reader, "attempts");

  Error in_field;
  ReadTagged(&reader, [&](uint64_t tag, std::string_view field) {
    if (tag == kTagLease) {
      Reader lease("job record, lease", field);
      header.lease_ms = ReadSpan(&lease, "lease");
      if (header.lease_ms == 0) lease.Fail("lease", "0 is written by leaving it out");
      in_field = lease.Finish();
    } else if (tag == kTagBackoff) {
      header.backoff = field;
      if (field.empty()) reader.Fail("backoff", "empty is written by leaving it out");
    } else {
      return false;
    }
    return true;
  });
  if (!in_field.ok()) return in_field;
  out.payload = reader.Rest();
  return reader.Finish(std::move(out));
}

// --- The rows family ---

void Append(const JobRow& value, std::string* out) {
  Writer<2 + 2 * kVarint32Bytes> writer;
  writer.Byte(kVersion);
  writer.Byte(static_cast<uint8_t>(value.place));
  writer.Varint(value.attempt);
  writer.Varint(value.priority);
  writer.AppendTo(out);
  AppendPrefixed(value.key, out);
  AppendPrefixed(value.last_error, out);
  AppendPrefixed(value.checkpoint, out);
}

Result<JobRow> DecodeJobRow(std::string_view bytes) {
  Reader reader("job row", bytes);
  JobRow out;
  ReadVersion(&reader);
  out.place = reader.Enum("place", {Place::kVesting, Place::kDead});
  out.attempt = ReadU32(&reader, "attempt");
  out.priority = ReadU32(&reader, "priority");
  out.key = reader.Prefixed("key");
  out.last_error = reader.Prefixed("last error");
  out.checkpoint = reader.Prefixed("checkpoint");
  return reader.Finish(std::move(out));
}

void Append(const DeadValue& value, std::string* out) {
  Writer<1 + kZoneBytesMax + kVarint16Bytes + 4 * kVarint32Bytes + 2 * kVarint48Bytes> writer;
  writer.Byte(kVersion);
  PutZone(value.zone, &writer);
  writer.Varint(value.lane.value());
  writer.Varint(value.attempt);
  writer.Varint(value.attempts_max);
  writer.Varint(value.priority);
  PutSpan(value.enqueued_ms, &writer);
  PutSpan(value.died_wall_ms, &writer);
  writer.Varint(value.payload_bytes);
  writer.AppendTo(out);
  AppendPrefixed(value.reason, out);
  AppendPrefixed(value.last_error, out);
}

Result<DeadValue> DecodeDeadValue(std::string_view bytes) {
  Reader reader("dead letter", bytes);
  DeadValue out;
  ReadVersion(&reader);
  ReadZone(&reader, &out.zone);
  out.lane = LaneId(static_cast<uint16_t>(reader.Varint("lane", UINT16_MAX)));
  out.attempt = ReadU32(&reader, "attempt");
  out.attempts_max = ReadU32(&reader, "attempts");
  out.priority = ReadU32(&reader, "priority");
  out.enqueued_ms = ReadSpan(&reader, "enqueued");
  out.died_wall_ms = ReadSpan(&reader, "died wall");
  out.payload_bytes = ReadU32(&reader, "payload bytes");
  out.reason = reader.Prefixed("reason");
  out.last_error = reader.Prefixed("last error");
  return reader.Finish(std::move(out));
}

void Append(const CounterValue& value, std::string* out) {
  Writer<1 + kVarint32Bytes + 1 + kCounters * kVarint64Bytes> writer;
  static_assert(kCounters < 0x80, "their number is one byte");
  writer.Byte(kVersion);
  writer.Varint(value.incarnation.value());
  writer.Varint(kCounters);
  for (const int64_t counter : value.values) writer.SignedVarint(counter);
  writer.AppendTo(out);
}

// Fewer counters than are known were written by an older vestq: the rest is 0. More are a newer
// one's.
Result<CounterValue> DecodeCounterValue(std::string_view bytes) {
  Reader reader("counters", bytes);
  CounterValue out;
  ReadVersion(&reader);
  out.incarnation = Incarnation(ReadU32(&reader, "incarnation"));
  const uint64_t count = reader.Varint("count", UINT64_MAX);
  if (count > reader.left()) {
    reader.Fail("count", "ends early");
  } else if (count > kCounters) {
    reader.Fail("count", "counters of a newer vestq", ErrorCode::kUnsupported);
  }
  for (size_t i = 0; reader.ok() && i < count; ++i) out.values[i] = reader.SignedVarint("counter");
  return reader.Finish(out);
}

void Append(const QueueValue& value, std::string* out) {
  Writer<1 + 2 * kVarint32Bytes + 2> writer;
  writer.Byte(kVersion);
  writer.Varint(value.queue.value());
  writer.Varint(value.incarnation.value());
  writer.Byte(static_cast<uint8_t>(value.order));
  writer.Varint(kTagEnd);
  writer.AppendTo(out);
}

Result<QueueValue> DecodeQueueValue(std::string_view bytes) {
  Reader reader("queue", bytes);
  QueueValue out;
  ReadVersion(&reader);
  out.queue = QueueId(ReadU32(&reader, "queue"));
  out.incarnation = Incarnation(ReadU32(&reader, "incarnation"));
  out.order = ReadOrder(&reader);
  ReadTagged(&reader, [](uint64_t, std::string_view) { return false; });
  return reader.Finish(out);
}

void Append(const ClockValue& value, std::string* out) {
  Writer<1 + 3 * kVarint48Bytes> writer;
  writer.Byte(kVersion);
  PutSpan(value.mono_ms, &writer);
  PutSpan(value.wall_ms, &writer);
  PutSpan(value.boottime_ms, &writer);
  writer.AppendTo(out);
  AppendPrefixed(value.boot_id, out);
}

Result<ClockValue> DecodeClockValue(std::string_view bytes) {
  Reader reader("clock", bytes);
  ClockValue out;
  ReadVersion(&reader);
  out.mono_ms = ReadSpan(&reader, "engine time");
  out.wall_ms = ReadSpan(&reader, "wall time");
  out.boottime_ms = ReadSpan(&reader, "boot time");
  out.boot_id = reader.Prefixed("boot id");
  return reader.Finish(std::move(out));
}

// --- Log data and settings ---

void Append(const VouchValue& value, std::string* out) {
  Writer<1 + kVarint64Bytes> writer;
  writer.Byte(kVersion);
  writer.Varint(value.durable.value());
  writer.AppendTo(out);
}

Result<VouchValue> DecodeVouchValue(std::string_view bytes) {
  Reader reader("vouch", bytes);
  VouchValue out;
  ReadVersion(&reader);
  out.durable = Sequence(reader.Varint("durable", UINT64_MAX));
  return reader.Finish(out);
}

std::string EncodeNumber(uint64_t value) {
  Writer<1 + kVarint64Bytes> writer;
  writer.Byte(kVersion);
  writer.Varint(value);
  return std::string(writer.view());
}

Result<uint64_t> DecodeNumber(std::string_view bytes) {
  Reader reader("number", bytes);
  ReadVersion(&reader);
  const uint64_t value = reader.Varint("number", UINT64_MAX);
  return reader.Finish(value);
}

}  // namespace vestq::keycodec
