#include "keycodec/value_fields.h"

namespace vestq::keycodec {
namespace {

size_t VarintBytes(uint64_t value) {
  size_t bytes = 1;
  for (; value >= 0x80; value >>= 7) ++bytes;
  return bytes;
}

size_t PrefixedBytes(std::string_view bytes) { return VarintBytes(bytes.size()) + bytes.size(); }

void AppendVarint(uint64_t value, std::string* out) {
  Writer<kVarint64Bytes> writer;
  writer.Varint(value);
  writer.AppendTo(out);
}

}  // namespace

void ReadVersion(Reader* reader) {
  const uint8_t version = reader->Byte("version");
  if (!reader->ok() || version == kVersion) return;
  if (version == 0) return reader->Fail("version", "is 0");
  reader->Fail("version", "written by a newer vestq", ErrorCode::kUnsupported);
}

int64_t ReadSetSpan(Reader* field, const char* name) {
  const int64_t ms = ReadSpan(field, name);
  if (ms == 0) field->Fail(name, "0 is written by leaving it out");
  return ms;
}

std::string_view ReadSetBytes(Reader* field, const char* name, size_t max) {
  const std::string_view bytes = field->Rest();
  if (bytes.empty()) field->Fail(name, "empty is written by leaving it out");
  if (bytes.size() > max) field->Fail(name, "too long");
  return bytes;
}

bool ReadBool(Reader* reader, const char* field) {
  const uint8_t byte = reader->Byte(field);
  if (byte > 1) reader->Fail(field, "neither 0 nor 1");
  return byte == 1;
}

uint32_t ReadFlags(Reader* reader) {
  const uint32_t flags = ReadU32(reader, "flags");
  if ((flags & ~kFlagsKnown) != 0) {
    reader->Fail("flags", "a flag of a newer vestq", ErrorCode::kUnsupported);
  }
  return flags;
}

LaneId ReadLane(Reader* reader) {
  return LaneId(static_cast<uint16_t>(reader->Varint("lane", UINT16_MAX)));
}

void ReadZone(Reader* reader, Zone* zone) {
  zone->queue = QueueId(ReadU32(reader, "queue"));
  zone->incarnation = Incarnation(ReadU32(reader, "incarnation"));
  zone->order = ReadOrder(reader);
  zone->space = reader->Prefixed("space", limits::kSpaceBytes);
}

void AppendTaggedNumber(uint64_t tag, uint64_t number, std::string* out) {
  Writer<kVarint64Bytes> value;
  value.Varint(number);
  AppendTaggedBytes(tag, value.view(), out);
}

void AppendTaggedSpan(uint64_t tag, int64_t ms, std::string* out) {
  Writer<kVarint48Bytes> value;
  PutSpan(ms, &value);
  AppendTaggedBytes(tag, value.view(), out);
}

void AppendTaggedBytes(uint64_t tag, std::string_view bytes, std::string* out) {
  AppendVarint(tag, out);
  AppendPrefixed(bytes, out);
}

void AppendUserHeaders(uint64_t tag, const UserHeaders& headers, std::string* out) {
  size_t bytes = VarintBytes(headers.size());
  for (const auto& [key, value] : headers) bytes += PrefixedBytes(key) + PrefixedBytes(value);
  AppendVarint(tag, out);
  AppendVarint(bytes, out);
  AppendVarint(headers.size(), out);
  for (const auto& [key, value] : headers) {
    AppendPrefixed(key, out);
    AppendPrefixed(value, out);
  }
}

void ReadUserHeaders(Reader* field, UserHeaders* headers) {
  const uint64_t count = field->Varint("headers", UINT64_MAX);
  if (count == 0) return field->Fail("headers", "none is written by leaving them out");
  // The shortest takes two bytes.
  if (count > field->left() / 2) return field->Fail("headers", "ends early");
  headers->reserve(count);
  for (uint64_t i = 0; i < count && field->ok(); ++i) {
    const std::string_view key = field->Prefixed("header's key");
    const std::string_view value = field->Prefixed("header's value");
    headers->emplace_back(key, value);
  }
}

}  // namespace vestq::keycodec
