// The fields that several values share, written and checked in one place: version, spans, flags,
// zones, tagged fields, and the options that a job header and a schedule have in common. Internal
// to keycodec.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "engine/base/check.h"
#include "engine/base/limits.h"
#include "keycodec/fields.h"
#include "keycodec/job_records.h"
#include "keycodec/reader.h"
#include "keycodec/writer.h"

namespace vestq::keycodec {

// The version byte of every value. A new version of one value is a new constant beside this one
// (FORMAT.md).
inline constexpr uint8_t kVersion = 1;

// Largest sizes, for Writer.
inline constexpr size_t kZoneBytesMax = 2 * kVarint32Bytes + 1 + kVarint16Bytes +
                                        limits::kSpaceBytes;  // queue, incarnation, order, space

// --- Plain fields ---

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

void ReadVersion(Reader* reader);
inline uint32_t ReadU32(Reader* reader, const char* field) {
  return static_cast<uint32_t>(reader->Varint(field, UINT32_MAX));
}
inline int64_t ReadSpan(Reader* reader, const char* field) {
  return static_cast<int64_t>(reader->Varint(field, uint64_t{limits::kKeyTimeMsMax}));
}
// A span in a tagged field, where 0 is written by leaving the field out.
int64_t ReadSetSpan(Reader* field, const char* name);
// The whole of a tagged field, where empty is written by leaving the field out.
std::string_view ReadSetBytes(Reader* field, const char* name, size_t max = SIZE_MAX);
bool ReadBool(Reader* reader, const char* field);
// An unknown flag stands for an extra that this reader would leave behind, so it is refused.
uint32_t ReadFlags(Reader* reader);
LaneId ReadLane(Reader* reader);
void ReadZone(Reader* reader, Zone* zone);

// --- Tagged fields ---
//
// Tags are persisted; never renumber, never reuse. Even: a reader that does not know it must refuse
// the value. Odd: it may skip it.
inline constexpr uint64_t kTagEnd = 0;

// Tags of a job header and of a schedule's job options.
enum OptionTag : uint64_t {
  kTagLease = 2,
  kTagBackoff = 4,
  kTagUniqueKey = 6,
  kTagUniqueWindow = 8,
  kTagExpire = 10,
  kTagKeep = 12,
  kTagType = 14,
  kTagUserHeaders = 16,
};

void AppendTaggedNumber(uint64_t tag, uint64_t number, std::string* out);
void AppendTaggedSpan(uint64_t tag, int64_t ms, std::string* out);
void AppendTaggedBytes(uint64_t tag, std::string_view bytes, std::string* out);
inline void AppendTagEnd(std::string* out) { out->push_back(static_cast<char>(kTagEnd)); }

// Reads tagged fields to their end, in rising order. `known(tag, field)` reads a field and says
// whether it knew it; a known one must be read to its end.
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
    Reader field = reader->Inside(bytes);
    if (known(tag, &field)) {
      reader->Finished(&field);
      if (!reader->ok()) return;
    } else if (tag % 2 == 0) {
      return reader->Fail("tag", "a field of a newer vestq", ErrorCode::kUnsupported);
    }
  }
}

// User headers inside the bytes of their tagged field. REQUIRES: not empty. Allocates nothing.
void AppendUserHeaders(uint64_t tag, const UserHeaders& headers, std::string* out);
void ReadUserHeaders(Reader* field, UserHeaders* headers);

// The options of OptionTag, of a job header or of a schedule: those that are set, in rising order.
// The end is the caller's to append. Allocates nothing.
template <typename Options>
void AppendOptions(const Options& options, std::string* out) {
  CHECK(options.unique_key.size() <= limits::kUniqueKeyBytes, "a unique key has 1 .. 512 bytes");
  if (options.lease_ms != 0) AppendTaggedSpan(kTagLease, options.lease_ms, out);
  if (!options.backoff.empty()) AppendTaggedBytes(kTagBackoff, options.backoff, out);
  if (!options.unique_key.empty()) AppendTaggedBytes(kTagUniqueKey, options.unique_key, out);
  if (options.unique_ms != 0) AppendTaggedSpan(kTagUniqueWindow, options.unique_ms, out);
  if (options.expire_ms != 0) AppendTaggedSpan(kTagExpire, options.expire_ms, out);
  if (options.keep_ms) AppendTaggedSpan(kTagKeep, *options.keep_ms, out);
  if (!options.type.empty()) AppendTaggedBytes(kTagType, options.type, out);
  if (!options.user_headers.empty()) AppendUserHeaders(kTagUserHeaders, options.user_headers, out);
}

// Whether the tag is one of those; then its field is read.
template <typename Options>
bool ReadOption(uint64_t tag, Reader* field, Options* options) {
  switch (tag) {
    case kTagLease: options->lease_ms = ReadSetSpan(field, "lease"); return true;
    case kTagBackoff: options->backoff = ReadSetBytes(field, "backoff"); return true;
    case kTagUniqueKey:
      options->unique_key = ReadSetBytes(field, "unique key", limits::kUniqueKeyBytes);
      return true;
    case kTagUniqueWindow: options->unique_ms = ReadSetSpan(field, "unique window"); return true;
    case kTagExpire: options->expire_ms = ReadSetSpan(field, "expire"); return true;
    case kTagKeep: options->keep_ms = ReadSpan(field, "keep"); return true;
    case kTagType: options->type = ReadSetBytes(field, "type"); return true;
    case kTagUserHeaders: ReadUserHeaders(field, &options->user_headers); return true;
    default: return false;
  }
}

}  // namespace vestq::keycodec
