#include "engine/wal_vouch.h"

#include "keycodec/records.h"

namespace vestq {
namespace {

constexpr std::string_view kMagic = "vq";
constexpr char kKindVouch = 'v';
constexpr char kKindResume = 'r';
constexpr size_t kBatchHeaderBytes = 12;
constexpr char kTagLogData = 0x3;

uint64_t LittleEndian(std::string_view bytes) {
  uint64_t value = 0;
  for (size_t i = bytes.size(); i-- > 0;) value = value << 8 | static_cast<unsigned char>(bytes[i]);
  return value;
}

// A varint32-prefixed string at the front of *bytes, taken off; nullopt when it does not fit.
std::optional<std::string_view> TakeString(std::string_view* bytes) {
  uint64_t length = 0;
  for (unsigned shift = 0; shift < 35; shift += 7) {
    if (bytes->empty()) return std::nullopt;
    const auto byte = static_cast<unsigned char>(bytes->front());
    bytes->remove_prefix(1);
    length |= uint64_t{byte & 0x7fu} << shift;
    if (byte < 0x80) {
      if (length > bytes->size()) return std::nullopt;
      const std::string_view string = bytes->substr(0, length);
      bytes->remove_prefix(length);
      return string;
    }
  }
  return std::nullopt;
}

void ReadBlob(std::string_view blob, WalRecordHead* head) {
  if (blob.size() < kMagic.size() + 1 || !blob.starts_with(kMagic)) return;
  const char kind = blob[kMagic.size()];
  blob.remove_prefix(kMagic.size() + 1);
  if (kind == kKindVouch) {
    if (const auto vouch = keycodec::DecodeVouchValue(blob); vouch.ok())
      head->vouched = vouch->durable;
  } else if (kind == kKindResume) {
    if (const auto previous = keycodec::DecodeNumber(blob); previous.ok()) {
      head->resumes_after = Sequence(*previous);
    }
  }
}

}  // namespace

void AppendVouch(Sequence durable, std::string* out) {
  out->append(kMagic).push_back(kKindVouch);
  keycodec::Append(keycodec::VouchValue{durable}, out);
}

void AppendResume(Sequence previous, std::string* out) {
  out->append(kMagic).push_back(kKindResume);
  out->append(keycodec::EncodeNumber(previous.value()));
}

std::optional<WalRecordHead> ParseRecordHead(std::string_view bytes) {
  if (bytes.size() < kBatchHeaderBytes) return std::nullopt;
  WalRecordHead head;
  head.first = Sequence(LittleEndian(bytes.substr(0, 8)));
  head.count = static_cast<uint32_t>(LittleEndian(bytes.substr(8, 4)));
  bytes.remove_prefix(kBatchHeaderBytes);
  while (!bytes.empty() && bytes.front() == kTagLogData) {
    bytes.remove_prefix(1);
    const auto blob = TakeString(&bytes);
    if (!blob) break;
    ReadBlob(*blob, &head);
  }
  return head;
}

}  // namespace vestq
