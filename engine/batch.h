// One atomic set of changes, built by a core during a turn.
//
// The bytes are those of RocksDB's WriteBatch (db/write_batch.cc, the format of its write-ahead
// log, and as stable as that): building them directly lets the write queue join the batches of
// several cores by appending bytes. Owned by one thread at a time. A batch of discipline `once`
// (vesting, job) holds puts of keys that do not exist and single-deletes of keys that do; a
// replaced value is single-delete + put (FAMILY-1). `rows` and `kv` are overwritten and plainly
// deleted.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace vestq {

// The value is the column family's id; persisted, never renumber.
enum class Family : uint32_t { kRows = 0, kVesting = 1, kJob = 2, kKv = 3 };
inline constexpr size_t kFamilies = 4;
// The column family's name in the store: "default", "vesting", "job", "kv".
[[nodiscard]] std::string_view FamilyName(Family family);

class Batch {
 public:
  Batch();

  void Put(Family family, std::string_view key, std::string_view value);
  // REQUIRES: family is kVesting or kJob, and the key exists, put once.
  void SingleDelete(Family family, std::string_view key);
  // REQUIRES: family is kRows or kKv.
  void Delete(Family family, std::string_view key);
  // Bytes that go to the log only (no key). At most one a written group is needed; the write queue
  // adds it.
  void LogData(std::string_view bytes);
  // The same before all records, for a batch that is too large to be copied.
  void LogDataFirst(std::string_view bytes);
  // Appends all records of `other`.
  void Append(const Batch& other);
  // The same, and `other` is empty: an empty batch takes its memory instead of a copy.
  void Take(Batch* other);
  // Room for so many bytes more.
  void Reserve(size_t bytes) { rep_.reserve(rep_.size() + bytes); }

  // One record: a value that was put lies at [value_at, value_at + value_bytes) of rep(), for as long as
  // the batch only grows.
  struct Record {
    Family family;
    bool put;  // else deleted
    std::string_view key;
    size_t value_at = 0;
    size_t value_bytes = 0;
  };
  // Visits the records from `from` on, a place that an earlier call returned (0: the first), and returns
  // the place behind the last. REQUIRES: no LogData in it.
  size_t Visit(size_t from, const std::function<void(const Record&)>& visit) const;
  std::string_view Bytes(size_t at, size_t bytes) const {
    return std::string_view(rep_).substr(at, bytes);
  }

  bool empty() const { return count_ == 0; }
  uint32_t count() const { return count_; }  // records that take a sequence number
  size_t bytes() const { return rep_.size(); }
  void Clear();  // keeps the capacity
  // Clears, and gives the memory back when it is more than `keep` bytes.
  void Recycle(size_t keep);
  size_t capacity() const { return rep_.capacity(); }

  // The finished bytes, for a rocksdb::WriteBatch; valid until the next change.
  const std::string& rep();
  // The same to borrow: Store::Write takes the memory for the call and gives it back.
  std::string* mutable_rep();

 private:
  void AppendHeader(uint8_t tag_default, uint8_t tag_family, Family family);
  std::string rep_;
  uint32_t count_ = 0;
};

}  // namespace vestq
