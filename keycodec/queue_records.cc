#include "keycodec/queue_records.h"

#include <utility>

#include "engine/base/check.h"
#include "engine/base/limits.h"
#include "keycodec/value_fields.h"

namespace vestq::keycodec {
namespace {

// Persisted; never renumber, never reuse.
enum QueueTag : uint64_t {
  kQueueTagLease = 2,
  kQueueTagAttempts = 4,
  kQueueTagBackoff = 6,
  kQueueTagKeep = 8,
  kQueueTagDeadKeep = 10,
  kQueueTagDeadMax = 12,
  kQueueTagPaused = 14,
  kQueueTagLiving = 16,
  kQueueTagLivingDone = 18,
  kQueueTagConcurrency = 20,
  kQueueTagSpaceConcurrency = 22,
  kQueueTagRate = 24,
  kQueueTagBurst = 26,
  kQueueTagSpaceRate = 28,
  kQueueTagSpaceBurst = 30,
  kQueueTagSpaceWeight = 32,
  kQueueTagAgeing = 40,
  kQueueTagAdaptive = 34,
  kQueueTagMaxJobs = 48,
  kQueueTagMaxBytes = 50,
};

void ReadLiving(Reader* field, PurgeBounds* living) {
  living->ready = Incarnation(ReadU32(field, "ready from"));
  living->scheduled = Incarnation(ReadU32(field, "scheduled from"));
  living->waiting = Incarnation(ReadU32(field, "waiting from"));
  living->dead = Incarnation(ReadU32(field, "dead from"));
  if (*living == PurgeBounds()) field->Fail("bounds", "all 0 is written by leaving them out");
}

void ReadLivingDone(Reader* field, PurgeBounds* living) {
  living->done = Incarnation(ReadU32(field, "done from"));
  if (living->done == Incarnation()) field->Fail("bound", "0 is written by leaving it out");
}

void AppendLimits(const QueueLimits& values, std::string* out) {
  const auto append = [out](QueueTag tag, const auto& number) {
    if (number) AppendTaggedNumber(tag, *number, out);
  };
  append(kQueueTagConcurrency, values.concurrency);
  append(kQueueTagSpaceConcurrency, values.space_concurrency);
  append(kQueueTagRate, values.rate_micro);
  append(kQueueTagBurst, values.burst);
  append(kQueueTagSpaceRate, values.space_rate_micro);
  append(kQueueTagSpaceBurst, values.space_burst);
  append(kQueueTagSpaceWeight, values.space_weight);
  if (values.adaptive) {
    Writer<2 * kVarint32Bytes> writer;
    writer.Varint(values.adaptive->min);
    writer.Varint(values.adaptive->max);
    AppendTaggedBytes(kQueueTagAdaptive, writer.view(), out);
  }
}

uint64_t ReadFromOne(Reader* field, const char* name, uint64_t most) {
  const uint64_t number = field->Varint(name, most);
  if (number == 0) field->Fail(name, "is 1 at least");
  return number;
}

// Returns whether the tag is one of them.
bool ReadLimit(uint64_t tag, Reader* field, QueueLimits* out) {
  switch (tag) {
    case kQueueTagConcurrency: out->concurrency = ReadU32(field, "concurrency"); return true;
    case kQueueTagSpaceConcurrency:
      out->space_concurrency = ReadU32(field, "space-concurrency");
      return true;
    case kQueueTagRate:
      out->rate_micro = ReadFromOne(field, "rate", limits::kRateMicroMax);
      return true;
    case kQueueTagBurst:
      out->burst = static_cast<uint32_t>(ReadFromOne(field, "burst", limits::kBurstMax));
      return true;
    case kQueueTagSpaceRate:
      out->space_rate_micro = ReadFromOne(field, "space-rate", limits::kRateMicroMax);
      return true;
    case kQueueTagSpaceBurst:
      out->space_burst =
          static_cast<uint32_t>(ReadFromOne(field, "space-burst", limits::kBurstMax));
      return true;
    case kQueueTagSpaceWeight:
      out->space_weight =
          static_cast<uint32_t>(ReadFromOne(field, "space-weight", limits::kSpaceWeightMax));
      return true;
    case kQueueTagAdaptive:
      out->adaptive.emplace();
      out->adaptive->max = limits::kConcurrencyMax;
      out->adaptive->min =
          static_cast<uint32_t>(ReadFromOne(field, "adaptive, min", limits::kConcurrencyMax));
      out->adaptive->max =
          static_cast<uint32_t>(ReadFromOne(field, "adaptive, max", limits::kConcurrencyMax));
      if (out->adaptive->min > out->adaptive->max) field->Fail("adaptive", "min is above max");
      return true;
    default: return false;
  }
}

}  // namespace

void Append(const CounterValue& value, std::string* out) {
  Writer<1 + kVarint32Bytes + 1 + kCounters * kVarint64Bytes> writer;
  static_assert(kCounters < 0x80, "their number is one byte");
  writer.Byte(kVersion);
  writer.Varint(value.incarnation.value());
  // Those at the end that are 0 are left out: this row is written with each batch.
  size_t count = kCounters;
  while (count > 0 && value.values[count - 1] == 0) --count;
  writer.Varint(count);
  for (size_t i = 0; i < count; ++i) writer.SignedVarint(value.values[i]);
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
  Writer<1 + 2 * kVarint32Bytes + 1> writer;
  writer.Byte(kVersion);
  writer.Varint(value.queue.value());
  writer.Varint(value.incarnation.value());
  writer.Byte(static_cast<uint8_t>(value.order));
  writer.AppendTo(out);
  if (value.lease_ms) AppendTaggedSpan(kQueueTagLease, *value.lease_ms, out);
  if (value.attempts) AppendTaggedNumber(kQueueTagAttempts, *value.attempts, out);
  if (value.backoff) AppendTaggedBytes(kQueueTagBackoff, *value.backoff, out);
  if (value.keep_ms) AppendTaggedSpan(kQueueTagKeep, *value.keep_ms, out);
  if (value.dead_keep_ms) AppendTaggedSpan(kQueueTagDeadKeep, *value.dead_keep_ms, out);
  if (value.dead_max) AppendTaggedNumber(kQueueTagDeadMax, *value.dead_max, out);
  if (value.paused_until_ms) AppendTaggedSpan(kQueueTagPaused, *value.paused_until_ms, out);
  PurgeBounds of_jobs = value.living;
  of_jobs.done = Incarnation();
  if (of_jobs != PurgeBounds()) {
    Writer<4 * kVarint32Bytes> living;
    living.Varint(value.living.ready.value());
    living.Varint(value.living.scheduled.value());
    living.Varint(value.living.waiting.value());
    living.Varint(value.living.dead.value());
    AppendTaggedBytes(kQueueTagLiving, living.view(), out);
  }
  if (value.living.done != Incarnation())
    AppendTaggedNumber(kQueueTagLivingDone, value.living.done.value(), out);
  AppendLimits(value.limits, out);
  if (value.ageing_ms) AppendTaggedSpan(kQueueTagAgeing, *value.ageing_ms, out);
  if (value.room.jobs) AppendTaggedNumber(kQueueTagMaxJobs, *value.room.jobs, out);
  if (value.room.bytes) AppendTaggedNumber(kQueueTagMaxBytes, *value.room.bytes, out);
  AppendTagEnd(out);
}

Result<QueueValue> DecodeQueueValue(std::string_view bytes) {
  Reader reader("queue", bytes);
  QueueValue out;
  ReadVersion(&reader);
  out.queue = QueueId(ReadU32(&reader, "queue"));
  out.incarnation = Incarnation(ReadU32(&reader, "incarnation"));
  out.order = ReadOrder(&reader);
  ReadTagged(&reader, [&out](uint64_t tag, Reader* field) {
    switch (tag) {
      case kQueueTagLease: out.lease_ms = ReadSpan(field, "lease"); return true;
      case kQueueTagAttempts: out.attempts = ReadU32(field, "attempts"); return true;
      case kQueueTagBackoff: out.backoff = field->Rest(); return true;
      case kQueueTagKeep: out.keep_ms = ReadSpan(field, "keep"); return true;
      case kQueueTagDeadKeep: out.dead_keep_ms = ReadSpan(field, "dead-keep"); return true;
      case kQueueTagDeadMax: out.dead_max = field->Varint("dead-max", UINT64_MAX); return true;
      case kQueueTagPaused: out.paused_until_ms = ReadSpan(field, "paused until"); return true;
      case kQueueTagLiving: ReadLiving(field, &out.living); return true;
      case kQueueTagLivingDone: ReadLivingDone(field, &out.living); return true;
      case kQueueTagAgeing: out.ageing_ms = ReadSetSpan(field, "ageing"); return true;
      case kQueueTagMaxJobs:
        out.room.jobs = field->Varint("max-jobs", limits::kMaxJobsMost);
        return true;
      case kQueueTagMaxBytes:
        out.room.bytes = field->Varint("max-bytes", limits::kMaxBytesMost);
        return true;
      default: return ReadLimit(tag, field, &out.limits);
    }
  });
  return reader.Finish(std::move(out));
}

void Append(const DroppedValue& value, std::string* out) {
  CHECK(!value.name.empty() && value.name.size() <= limits::kQueueNameBytes,
        "a queue name has 1 .. 200 bytes");
  out->push_back(static_cast<char>(kVersion));
  AppendPrefixed(value.name, out);
}

Result<DroppedValue> DecodeDroppedValue(std::string_view bytes) {
  Reader reader("dropped queue", bytes);
  DroppedValue out;
  ReadVersion(&reader);
  out.name = reader.Prefixed("name", limits::kQueueNameBytes);
  if (out.name.empty()) reader.Fail("name", "empty");
  return reader.Finish(std::move(out));
}

}  // namespace vestq::keycodec
