#include "engine/batch.h"

#include <algorithm>

#include "engine/base/check.h"

namespace vestq {
namespace {

// db/write_batch.cc: 8 bytes sequence, 4 bytes count, then the records.
constexpr size_t kHeaderBytes = 12;
constexpr size_t kCountOffset = 8;

// db/dbformat.h, ValueType. Persisted in the log; never renumber.
enum Tag : uint8_t {
  kTagDelete = 0x0,
  kTagPut = 0x1,
  kTagLogData = 0x3,
  kTagFamilyDelete = 0x4,
  kTagFamilyPut = 0x5,
  kTagSingleDelete = 0x7,
  kTagFamilySingleDelete = 0x8,
};

void AppendVarint(uint32_t value, std::string* out) {
  while (value >= 0x80) {
    out->push_back(static_cast<char>(value | 0x80));
    value >>= 7;
  }
  out->push_back(static_cast<char>(value));
}

uint32_t TakeVarint(const std::string& bytes, size_t* at) {
  uint32_t value = 0;
  for (int shift = 0;; shift += 7) {
    const auto byte = static_cast<uint8_t>(bytes[(*at)++]);
    value |= static_cast<uint32_t>(byte & 0x7f) << shift;
    if (byte < 0x80) return value;
  }
}

void AppendString(std::string_view bytes, std::string* out) {
  CHECK(bytes.size() <= UINT32_MAX);
  AppendVarint(static_cast<uint32_t>(bytes.size()), out);
  out->append(bytes);
}

}  // namespace

std::string_view FamilyName(Family family) {
  switch (family) {
    case Family::kRows: return "default";
    case Family::kVesting: return "vesting";
    case Family::kJob: return "job";
    case Family::kKv: return "kv";
  }
  return "";
}

Batch::Batch() : rep_(kHeaderBytes, '\0') {}

// Records of family 0 have a tag of their own and no family number.
void Batch::AppendHeader(uint8_t tag_default, uint8_t tag_family, Family family) {
  if (family == Family::kRows) {
    rep_.push_back(static_cast<char>(tag_default));
  } else {
    rep_.push_back(static_cast<char>(tag_family));
    AppendVarint(static_cast<uint32_t>(family), &rep_);
  }
}

void Batch::Put(Family family, std::string_view key, std::string_view value) {
  AppendHeader(kTagPut, kTagFamilyPut, family);
  AppendString(key, &rep_);
  AppendString(value, &rep_);
  ++count_;
}

void Batch::SingleDelete(Family family, std::string_view key) {
  CHECK(family == Family::kVesting || family == Family::kJob,
        "FAMILY-1: single-deletes are for families whose keys are put once");
  AppendHeader(kTagSingleDelete, kTagFamilySingleDelete, family);
  AppendString(key, &rep_);
  ++count_;
}

void Batch::Delete(Family family, std::string_view key) {
  CHECK(family == Family::kRows || family == Family::kKv,
        "FAMILY-1: plain deletes are for families whose keys are overwritten");
  AppendHeader(kTagDelete, kTagFamilyDelete, family);
  AppendString(key, &rep_);
  ++count_;
}

void Batch::LogData(std::string_view bytes) {
  rep_.push_back(static_cast<char>(kTagLogData));
  AppendString(bytes, &rep_);
}

void Batch::Append(const Batch& other) {
  CHECK(&other != this);
  rep_.append(other.rep_, kHeaderBytes);
  count_ += other.count_;
}

void Batch::LogDataFirst(std::string_view bytes) {
  std::string record(1, static_cast<char>(kTagLogData));
  AppendString(bytes, &record);
  rep_.insert(kHeaderBytes, record);
}

void Batch::Take(Batch* other) {
  if (rep_.size() == kHeaderBytes) {
    rep_.swap(other->rep_);
    std::swap(count_, other->count_);
  } else {
    Append(*other);
  }
  other->Clear();
}

size_t Batch::Visit(size_t from, const std::function<void(const Record&)>& visit) const {
  size_t at = std::max(from, kHeaderBytes);
  while (at < rep_.size()) {
    const auto tag = static_cast<uint8_t>(rep_[at++]);
    const bool put = tag == kTagPut || tag == kTagFamilyPut;
    const bool of_default = tag == kTagPut || tag == kTagDelete;
    CHECK(put || tag == kTagDelete || tag == kTagFamilyDelete || tag == kTagFamilySingleDelete,
          "a batch of puts and deletes");
    Record record;
    record.family = of_default ? Family::kRows : static_cast<Family>(TakeVarint(rep_, &at));
    record.put = put;
    const size_t key_bytes = TakeVarint(rep_, &at);
    record.key = std::string_view(rep_).substr(at, key_bytes);
    at += key_bytes;
    if (put) {
      record.value_bytes = TakeVarint(rep_, &at);
      record.value_at = at;
      at += record.value_bytes;
    }
    visit(record);
  }
  return at;
}

void Batch::Recycle(size_t keep) {
  // Not `rep_ = std::string()`: assigning a short string keeps the capacity.
  if (rep_.capacity() > keep) std::string(kHeaderBytes, '\0').swap(rep_);
  Clear();
}

void Batch::Clear() {
  rep_.resize(kHeaderBytes);
  count_ = 0;
}

const std::string& Batch::rep() {
  // Sequence zero: RocksDB fills it in. The count is little-endian.
  for (size_t i = 0; i < kCountOffset; ++i) rep_[i] = '\0';
  for (size_t i = 0; i < 4; ++i) rep_[kCountOffset + i] = static_cast<char>(count_ >> (8 * i));
  return rep_;
}

std::string* Batch::mutable_rep() {
  rep();
  return &rep_;
}

}  // namespace vestq
