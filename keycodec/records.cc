#include "keycodec/records.h"

#include <utility>

#include "keycodec/value_fields.h"

namespace vestq::keycodec {
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

// --- Clock, log data and settings ---

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
