#include "keycodec/link_records.h"

#include <utility>

#include "keycodec/value_fields.h"

namespace vestq::keycodec {

namespace {
// A window of a later life than the first; all else is of version 1.
constexpr uint8_t kVersionWithLife = 2;
}  // namespace

void Append(const UniqueValue& value, std::string* out) {
  const bool later = value.life != Incarnation(1);
  CHECK(value.life != Incarnation(0) && !(later && value.live), "a window has a life, from 1 on");
  Writer<1 + kIdBytes + kVarint48Bytes + 1 + kVarint32Bytes> writer;
  writer.Byte(later ? kVersionWithLife : kVersion);
  PutId(value.id, &writer);
  PutSpan(value.until_ms, &writer);
  writer.Byte(value.live ? 1 : 0);
  if (later) writer.Varint(value.life.value());
  writer.AppendTo(out);
}

Result<UniqueValue> DecodeUniqueValue(std::string_view bytes) {
  Reader reader("unique key's holder", bytes);
  UniqueValue out;
  const bool later = !bytes.empty() && static_cast<uint8_t>(bytes[0]) == kVersionWithLife;
  if (later) {
    reader.Byte("version");
  } else {
    ReadVersion(&reader);
  }
  out.id = ReadId(&reader);
  out.until_ms = ReadSpan(&reader, "until");
  out.live = ReadBool(&reader, "live");
  if (later) {
    out.life = Incarnation(ReadU32(&reader, "life"));
    if (reader.ok() && (out.live || out.life <= Incarnation(1)))
      reader.Fail("life", "only of a window, and 1 is written by leaving it out");
  }
  return reader.Finish(out);
}

void Append(const TimerValue& value, std::string* out) {
  out->push_back(static_cast<char>(kVersion));
  AppendPrefixed(value.row, out);
}

Result<TimerValue> DecodeTimerValue(std::string_view bytes) {
  Reader reader("timer", bytes);
  TimerValue out;
  ReadVersion(&reader);
  out.row = reader.Prefixed("row");
  return reader.Finish(std::move(out));
}

void Append(const EdgeValue&, std::string* out) { out->push_back(static_cast<char>(kVersion)); }

Result<EdgeValue> DecodeEdgeValue(std::string_view bytes) {
  Reader reader("edge", bytes);
  ReadVersion(&reader);
  return reader.Finish(EdgeValue());
}

void Append(const HandoverValue& value, std::string* out) {
  Writer<2 + kIdBytes + kVarint64Bytes> head;
  head.Byte(kVersion);
  head.Byte(static_cast<uint8_t>(value.kind));
  PutId(value.from, &head);
  head.Varint(value.jobs.size());
  head.AppendTo(out);
  for (const JobId job : value.jobs) {
    Writer<kIdBytes> id;
    PutId(job, &id);
    id.AppendTo(out);
  }
  AppendPrefixed(value.text, out);
}

Result<HandoverValue> DecodeHandoverValue(std::string_view bytes) {
  Reader reader("hand-over", bytes);
  HandoverValue out;
  ReadVersion(&reader);
  out.kind = reader.Enum("kind", {HandoverKind::kSubscribe, HandoverKind::kParentDone,
                                  HandoverKind::kParentGone, HandoverKind::kAnswer});
  out.from = ReadId(&reader);
  const uint64_t count = reader.Varint("jobs", UINT64_MAX);
  if (count > reader.left() / kIdBytes) reader.Fail("jobs", "ends early");
  if (reader.ok()) out.jobs.reserve(count);
  for (uint64_t i = 0; i < count && reader.ok(); ++i) out.jobs.push_back(ReadId(&reader));
  out.text = reader.Prefixed("text");
  return reader.Finish(std::move(out));
}

}  // namespace vestq::keycodec
