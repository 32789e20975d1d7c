#include "keycodec/job_records.h"

#include <utility>

#include "engine/base/check.h"
#include "keycodec/value_fields.h"

namespace vestq::keycodec {
namespace {

// Persisted; never renumber, never reuse.
constexpr uint64_t kRowTagCheckpoint = 2;
constexpr uint64_t kRowTagExpires = 4;
constexpr uint64_t kTypeTag = 2;  // of a dead letter and of a kept result

}  // namespace

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
  AppendOptions(header, out);
  AppendTagEnd(out);
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
  ReadTagged(&reader,
             [&header](uint64_t tag, Reader* field) { return ReadOption(tag, field, &header); });
  out.payload = reader.Rest();
  return reader.Finish(std::move(out));
}

void Append(const JobRow& value, std::string* out) {
  Writer<2 + 2 * kVarint32Bytes> writer;
  writer.Byte(kVersion);
  writer.Byte(static_cast<uint8_t>(value.place));
  writer.Varint(value.attempt);
  writer.Varint(value.priority);
  writer.AppendTo(out);
  AppendPrefixed(value.key, out);
  AppendPrefixed(value.last_error, out);
  if (!value.checkpoint.empty()) AppendTaggedBytes(kRowTagCheckpoint, value.checkpoint, out);
  if (value.expires_ms != 0) {
    Writer<1 + kVarint48Bytes> expires;
    expires.Byte(static_cast<uint8_t>(value.expires_clock));
    PutSpan(value.expires_ms, &expires);
    AppendTaggedBytes(kRowTagExpires, expires.view(), out);
  }
  AppendTagEnd(out);
}

Result<JobRow> DecodeJobRow(std::string_view bytes) {
  Reader reader("job row", bytes);
  JobRow out;
  ReadVersion(&reader);
  out.place = reader.Enum("place", {Place::kVesting, Place::kDead, Place::kDone, Place::kWaiting});
  out.attempt = ReadU32(&reader, "attempt");
  out.priority = ReadU32(&reader, "priority");
  out.key = reader.Prefixed("key");
  out.last_error = reader.Prefixed("last error");
  ReadTagged(&reader, [&out](uint64_t tag, Reader* field) {
    switch (tag) {
      case kRowTagCheckpoint: out.checkpoint = ReadSetBytes(field, "checkpoint"); return true;
      case kRowTagExpires:
        out.expires_clock = ReadClock(field);
        out.expires_ms = ReadSetSpan(field, "expires");
        return true;
      default: return false;
    }
  });
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
  if (!value.type.empty()) AppendTaggedBytes(kTypeTag, value.type, out);
  AppendTagEnd(out);
}

Result<DeadValue> DecodeDeadValue(std::string_view bytes) {
  Reader reader("dead letter", bytes);
  DeadValue out;
  ReadVersion(&reader);
  ReadZone(&reader, &out.zone);
  out.lane = ReadLane(&reader);
  out.attempt = ReadU32(&reader, "attempt");
  out.attempts_max = ReadU32(&reader, "attempts");
  out.priority = ReadU32(&reader, "priority");
  out.enqueued_ms = ReadSpan(&reader, "enqueued");
  out.died_wall_ms = ReadSpan(&reader, "died wall");
  out.payload_bytes = ReadU32(&reader, "payload bytes");
  out.reason = reader.Prefixed("reason");
  out.last_error = reader.Prefixed("last error");
  ReadTagged(&reader, [&out](uint64_t tag, Reader* field) {
    if (tag != kTypeTag) return false;
    out.type = ReadSetBytes(field, "type");
    return true;
  });
  return reader.Finish(std::move(out));
}

void Append(const DoneValue& value, std::string* out) {
  Writer<1 + kZoneBytesMax + kVarint16Bytes + 4 * kVarint32Bytes + 3 * kVarint48Bytes> writer;
  writer.Byte(kVersion);
  PutZone(value.zone, &writer);
  writer.Varint(value.lane.value());
  writer.Varint(value.attempt);
  writer.Varint(value.attempts_max);
  writer.Varint(value.priority);
  PutSpan(value.enqueued_wall_ms, &writer);
  PutSpan(value.done_wall_ms, &writer);
  PutSpan(value.keep_until_ms, &writer);
  writer.Varint(value.payload_bytes);
  writer.AppendTo(out);
  AppendPrefixed(value.last_error, out);
  AppendPrefixed(value.result, out);
  if (!value.type.empty()) AppendTaggedBytes(kTypeTag, value.type, out);
  AppendTagEnd(out);
}

Result<DoneValue> DecodeDoneValue(std::string_view bytes) {
  Reader reader("kept result", bytes);
  DoneValue out;
  ReadVersion(&reader);
  ReadZone(&reader, &out.zone);
  out.lane = ReadLane(&reader);
  out.attempt = ReadU32(&reader, "attempt");
  out.attempts_max = ReadU32(&reader, "attempts");
  out.priority = ReadU32(&reader, "priority");
  out.enqueued_wall_ms = ReadSpan(&reader, "enqueued wall");
  out.done_wall_ms = ReadSpan(&reader, "done wall");
  out.keep_until_ms = ReadSpan(&reader, "keep until");
  out.payload_bytes = ReadU32(&reader, "payload bytes");
  out.last_error = reader.Prefixed("last error");
  out.result = reader.Prefixed("result");
  ReadTagged(&reader, [&out](uint64_t tag, Reader* field) {
    if (tag != kTypeTag) return false;
    out.type = ReadSetBytes(field, "type");
    return true;
  });
  return reader.Finish(std::move(out));
}

void Append(const WaitingValue& value, std::string* out) {
  Writer<1 + kZoneBytesMax + kVarint16Bytes + 3 * kVarint32Bytes + 2 * kVarint48Bytes + 1> writer;
  writer.Byte(kVersion);
  PutFlags(value.flags, &writer);
  PutZone(value.zone, &writer);
  writer.Varint(value.lane.value());
  writer.Varint(value.priority);
  PutSpan(value.enqueued_ms, &writer);
  writer.Byte(static_cast<uint8_t>(value.clock));
  PutSpan(value.vests_ms, &writer);
  writer.Varint(value.pending);
  writer.AppendTo(out);
  AppendTagEnd(out);
}

Result<WaitingValue> DecodeWaitingValue(std::string_view bytes) {
  Reader reader("waiting job", bytes);
  WaitingValue out;
  ReadVersion(&reader);
  out.flags = ReadFlags(&reader);
  ReadZone(&reader, &out.zone);
  out.lane = ReadLane(&reader);
  out.priority = ReadU32(&reader, "priority");
  out.enqueued_ms = ReadSpan(&reader, "enqueued");
  out.clock = ReadClock(&reader);
  out.vests_ms = ReadSpan(&reader, "vests");
  out.pending = ReadU32(&reader, "pending");
  ReadTagged(&reader, [](uint64_t, Reader*) { return false; });
  return reader.Finish(std::move(out));
}

}  // namespace vestq::keycodec
