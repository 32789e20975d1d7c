// The fields that several keys and values share, written and checked in one place. Internal to
// keycodec.
#pragma once

#include <cstddef>
#include <cstdint>

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

}  // namespace vestq::keycodec
