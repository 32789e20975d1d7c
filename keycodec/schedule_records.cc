#include "keycodec/schedule_records.h"

#include <utility>

#include "engine/base/check.h"
#include "keycodec/value_fields.h"

namespace vestq::keycodec {
namespace {

// Behind those of OptionTag. Persisted; never renumber, never reuse.
constexpr uint64_t kTagAttempts = 18;

}  // namespace

void Append(const ScheduleValue& value, std::string* out) {
  CHECK(value.queue.size() <= limits::kQueueNameBytes, "a queue name is at most kQueueNameBytes");
  CHECK(value.space.size() <= limits::kSpaceBytes, "a space is at most kSpaceBytes long");
  out->push_back(static_cast<char>(kVersion));
  AppendPrefixed(value.queue, out);
  AppendPrefixed(value.space, out);
  AppendPrefixed(value.payload, out);
  out->push_back(static_cast<char>(value.kind));
  AppendPrefixed(value.cron, out);
  AppendPrefixed(value.zone, out);
  Writer<2 + 5 * kVarint48Bytes + 3 * kVarint64Bytes + kVarint32Bytes> numbers;
  PutSpan(value.every_ms, &numbers);
  PutSpan(value.phase_ms, &numbers);
  numbers.Byte(static_cast<uint8_t>(value.missed));
  numbers.Byte(value.paused ? 1 : 0);
  PutSpan(value.next_ms, &numbers);
  PutSpan(value.last_ms, &numbers);
  numbers.Varint(value.fired);
  numbers.Varint(value.skipped);
  numbers.Varint(value.missed_count);
  PutSpan(value.created_wall_ms, &numbers);
  numbers.Varint(value.priority);
  numbers.AppendTo(out);
  AppendOptions(value, out);
  if (value.attempts_set) AppendTaggedNumber(kTagAttempts, value.attempts, out);
  AppendTagEnd(out);
}

Result<ScheduleValue> DecodeScheduleValue(std::string_view bytes) {
  Reader reader("schedule", bytes);
  ScheduleValue out;
  ReadVersion(&reader);
  out.queue = reader.Prefixed("queue", limits::kQueueNameBytes);
  out.space = reader.Prefixed("space", limits::kSpaceBytes);
  out.payload = reader.Prefixed("payload");
  out.kind = reader.Enum("kind", {ScheduleKind::kCron, ScheduleKind::kEvery});
  out.cron = reader.Prefixed("cron");
  out.zone = reader.Prefixed("zone");
  out.every_ms = ReadSpan(&reader, "every");
  out.phase_ms = ReadSpan(&reader, "phase");
  out.missed = reader.Enum("missed", {Missed::kOnce, Missed::kSkip, Missed::kAll});
  out.paused = ReadBool(&reader, "paused");
  out.next_ms = ReadSpan(&reader, "next");
  out.last_ms = ReadSpan(&reader, "last");
  out.fired = reader.Varint("fired", UINT64_MAX);
  out.skipped = reader.Varint("skipped", UINT64_MAX);
  out.missed_count = reader.Varint("missed count", UINT64_MAX);
  out.created_wall_ms = ReadSpan(&reader, "created wall");
  out.priority = ReadU32(&reader, "priority");
  ReadTagged(&reader, [&out](uint64_t tag, Reader* field) {
    if (tag != kTagAttempts) return ReadOption(tag, field, &out);
    out.attempts_set = true;
    out.attempts = ReadU32(field, "attempts");
    return true;
  });
  return reader.Finish(std::move(out));
}

}  // namespace vestq::keycodec
