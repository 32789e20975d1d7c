#include "keycodec/space_records.h"

#include <utility>

#include "engine/base/check.h"
#include "engine/base/limits.h"
#include "keycodec/fields.h"
#include "keycodec/reader.h"
#include "keycodec/value_fields.h"
#include "keycodec/writer.h"

namespace vestq::keycodec {
namespace {

// Persisted; never renumber, never reuse.
enum SpaceTag : uint64_t {
  kSpaceTagConcurrency = 2,
  kSpaceTagRate = 4,
  kSpaceTagBurst = 6,
  kSpaceTagWeight = 8,
  kSpaceTagPaused = 10,
};

std::string SpaceKey(char letter, QueueId queue, std::string_view space) {
  CHECK(space.size() <= limits::kSpaceBytes, "a space is at most kSpaceBytes long");
  Writer<1 + 4 + limits::kSpaceBytes> writer;
  writer.Byte(static_cast<uint8_t>(letter));
  writer.BigEndian<4>(queue.value());
  writer.Raw(space);
  return std::string(writer.view());
}

Result<SpaceRowKey> DecodeSpaceKey(const char* what, char letter, std::string_view key,
                                   size_t least) {
  Reader reader(what, key);
  if (reader.Byte("letter") != static_cast<uint8_t>(letter)) reader.Fail("letter", "another row's");
  SpaceRowKey out;
  out.queue = ReadFixed<QueueId>(&reader, "queue");
  const std::string_view space = reader.Rest();
  if (space.size() < least || space.size() > limits::kSpaceBytes) {
    reader.Fail("space", space.empty() ? "empty" : "too long");
  } else {
    out.space = space;
  }
  return reader.Finish(std::move(out));
}

uint32_t ReadFromOne(Reader* field, const char* name, uint64_t most) {
  const uint64_t number = field->Varint(name, most);
  if (number == 0) field->Fail(name, "is 1 at least");
  return static_cast<uint32_t>(number);
}

}  // namespace

std::string SpaceOptionsKey(QueueId queue, std::string_view space) {
  return SpaceKey('o', queue, space);
}
std::string SpaceRateKey(QueueId queue, std::string_view space) {
  CHECK(!space.empty(), "the empty space's rate is a counter");
  return SpaceKey('g', queue, space);
}
Result<SpaceRowKey> DecodeSpaceOptionsKey(std::string_view key) {
  return DecodeSpaceKey("space options key", 'o', key, 0);
}
Result<SpaceRowKey> DecodeSpaceRateKey(std::string_view key) {
  return DecodeSpaceKey("space rate key", 'g', key, 1);
}

void Append(const SpaceValue& value, std::string* out) {
  CHECK(!value.empty(), "options of which none is set have no row");
  out->push_back(static_cast<char>(kVersion));
  if (value.concurrency) AppendTaggedNumber(kSpaceTagConcurrency, *value.concurrency, out);
  if (value.rate_micro) AppendTaggedNumber(kSpaceTagRate, *value.rate_micro, out);
  if (value.burst) AppendTaggedNumber(kSpaceTagBurst, *value.burst, out);
  if (value.weight) AppendTaggedNumber(kSpaceTagWeight, *value.weight, out);
  if (value.paused_until_ms) AppendTaggedSpan(kSpaceTagPaused, *value.paused_until_ms, out);
  AppendTagEnd(out);
}

Result<SpaceValue> DecodeSpaceValue(std::string_view bytes) {
  Reader reader("space options", bytes);
  SpaceValue out;
  ReadVersion(&reader);
  ReadTagged(&reader, [&out](uint64_t tag, Reader* field) {
    switch (tag) {
      case kSpaceTagConcurrency: out.concurrency = ReadU32(field, "concurrency"); return true;
      case kSpaceTagRate:
        out.rate_micro = field->Varint("rate", limits::kRateMicroMax);
        return true;
      case kSpaceTagBurst: out.burst = ReadFromOne(field, "burst", limits::kBurstMax); return true;
      case kSpaceTagWeight:
        out.weight = ReadFromOne(field, "weight", limits::kSpaceWeightMax);
        return true;
      case kSpaceTagPaused: out.paused_until_ms = ReadSpan(field, "paused until"); return true;
      default: return false;
    }
  });
  if (reader.ok() && out.empty()) reader.Fail("options", "none is set");
  return reader.Finish(out);
}

void Append(const SpaceRateValue& value, std::string* out) {
  Writer<1 + kVarint48Bytes> writer;
  writer.Byte(kVersion);
  PutSpan(value.until_ms, &writer);
  writer.AppendTo(out);
}

Result<SpaceRateValue> DecodeSpaceRateValue(std::string_view bytes) {
  Reader reader("space rate", bytes);
  SpaceRateValue out;
  ReadVersion(&reader);
  out.until_ms = ReadSpan(&reader, "until");
  return reader.Finish(out);
}

}  // namespace vestq::keycodec
