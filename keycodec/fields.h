// The fields that several keys and values share, written and checked in one place. Internal to
// keycodec.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "engine/base/check.h"
#include "engine/base/ids.h"
#include "engine/base/limits.h"
#include "keycodec/keys.h"
#include "keycodec/reader.h"
#include "keycodec/writer.h"

namespace vestq::keycodec {

// What both sides of every time check: 0 .. 2^48-1 ms.
constexpr bool IsKeyTime(int64_t time_ms) {
  return time_ms >= 0 && time_ms <= limits::kKeyTimeMsMax;
}

template <size_t N>
void PutTime(int64_t time_ms, Writer<N>* writer) {
  CHECK(IsKeyTime(time_ms), "a key's time is in 0 .. 2^48-1 ms");
  writer->template BigEndian<kTimeBytes>(static_cast<uint64_t>(time_ms));
}

template <size_t N>
void PutId(JobId id, Writer<N>* writer) {
  CHECK(id.value() <= limits::kJobIdMax, "a job id is below 2^53");
  writer->template BigEndian<kIdBytes>(id.value());
}

inline JobId ReadId(Reader* reader) {
  const uint64_t id = reader->BigEndian<kIdBytes>("id");
  if (reader->ok() && (id == 0 || id > limits::kJobIdMax)) reader->Fail("id", "out of range");
  return JobId(id);
}

inline int64_t ReadTime(Reader* reader, const char* field) {
  return static_cast<int64_t>(reader->BigEndian<kTimeBytes>(field));
}

// An id of ids.h in its own width.
template <typename Id>
Id ReadFixed(Reader* reader, const char* field) {
  using Rep = typename Id::Representation;
  return Id(static_cast<Rep>(reader->BigEndian<sizeof(Rep)>(field)));
}

inline Clock ReadClock(Reader* reader) {
  return reader->Enum("clock", {Clock::kEngine, Clock::kWall});
}

inline Order ReadOrder(Reader* reader) {
  return reader->Enum("order", {Order::kPriority, Order::kTime});
}

inline constexpr uint8_t kEscapedZero = 0xFF;
inline constexpr uint8_t kSpaceEnd = 0x01;
// A space in a key: every byte may be an escaped 00; two bytes end it.
inline constexpr size_t kKeySpaceBytesMax = 2 * limits::kSpaceBytes + 2;

// 00 becomes 00 FF, and 00 01 ends the space, so that a space sorts before its own continuations
// (KEY-1) and no encoded space is the beginning of another (KEY-3).
template <size_t N>
void PutSpace(std::string_view space, Writer<N>* writer) {
  CHECK(space.size() <= limits::kSpaceBytes, "a space is at most kSpaceBytes long");
  while (!space.empty()) {
    const size_t zero = space.find('\0');
    if (zero == std::string_view::npos) {
      writer->Raw(space);
      break;
    }
    writer->Raw(space.substr(0, zero + 1));
    writer->Byte(kEscapedZero);
    space.remove_prefix(zero + 1);
  }
  writer->Byte(0);
  writer->Byte(kSpaceEnd);
}

// Reads over an escaped space. Appends its bytes to *out unless that is null.
inline void ReadSpace(Reader* reader, std::string* out) {
  size_t size = 0;
  for (;;) {
    const std::string_view plain = reader->Until("space", '\0');
    const uint8_t escape = reader->Byte("space");
    if (!reader->ok()) return;
    const bool more = escape == kEscapedZero;
    if (!more && escape != kSpaceEnd) return reader->Fail("space", "unknown escape");
    size += plain.size() + (more ? 1 : 0);
    if (size > limits::kSpaceBytes) return reader->Fail("space", "too long");
    if (out != nullptr) out->append(plain);
    if (!more) return;
    if (out != nullptr) out->push_back('\0');
  }
}

// A name to the end, 1 .. `max` bytes; a view into the input.
inline std::string_view ReadName(Reader* reader, const char* field, size_t max) {
  const std::string_view name = reader->Rest();
  if (name.empty()) reader->Fail(field, "empty");
  if (name.size() > max) reader->Fail(field, "too long");
  return name;
}

}  // namespace vestq::keycodec
