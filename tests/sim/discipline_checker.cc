#include "tests/sim/discipline_checker.h"

#include <cstdint>
#include <utility>
#include <vector>

#include "rocksdb/slice.h"
#include "rocksdb/status.h"
#include "rocksdb/write_batch.h"

namespace vestq {

namespace {

bool IsOnce(uint32_t family) {
  return family == static_cast<uint32_t>(Family::kVesting) ||
         family == static_cast<uint32_t>(Family::kJob);
}

}  // namespace

// Applies the records and remembers how to take them back.
class DisciplineHandler : public rocksdb::WriteBatch::Handler {
 public:
  explicit DisciplineHandler(DisciplineChecker* checker) : checker_(checker) {}

  const std::string& breach() const { return breach_; }

  void TakeBack() {
    for (auto change = changes_.rbegin(); change != changes_.rend(); ++change) {
      auto& keys = checker_->keys_[change->family];
      if (change->inserted) {
        keys.erase(change->key);
      } else {
        keys.insert(change->key);
      }
    }
  }

  rocksdb::Status PutCF(uint32_t family, const rocksdb::Slice& key,
                        const rocksdb::Slice& /*value*/) override {
    if (family >= kFamilies) return Breach("put into an unknown family", family, key);
    if (!IsOnce(family)) return rocksdb::Status::OK();
    if (!checker_->keys_[family].insert(key.ToString()).second)
      return Breach("put over a put", family, key);
    changes_.push_back({family, key.ToString(), true});
    return rocksdb::Status::OK();
  }
  rocksdb::Status SingleDeleteCF(uint32_t family, const rocksdb::Slice& key) override {
    if (!IsOnce(family)) return Breach("single-delete outside the once families", family, key);
    if (checker_->keys_[family].erase(key.ToString()) == 0) {
      return Breach("single-delete of an absent key", family, key);
    }
    changes_.push_back({family, key.ToString(), false});
    return rocksdb::Status::OK();
  }
  rocksdb::Status DeleteCF(uint32_t family, const rocksdb::Slice& key) override {
    return RowsOnly("plain delete", family, key);
  }
  rocksdb::Status DeleteRangeCF(uint32_t family, const rocksdb::Slice& begin,
                                const rocksdb::Slice& /*end*/) override {
    return RowsOnly("range delete", family, begin);
  }
  rocksdb::Status MergeCF(uint32_t family, const rocksdb::Slice& key,
                          const rocksdb::Slice& /*value*/) override {
    return Breach("merge", family, key);
  }
  rocksdb::Status PutEntityCF(uint32_t family, const rocksdb::Slice& key,
                              const rocksdb::Slice& /*entity*/) override {
    return Breach("entity", family, key);
  }
  rocksdb::Status TimedPutCF(uint32_t family, const rocksdb::Slice& key,
                             const rocksdb::Slice& /*value*/, uint64_t /*time*/) override {
    return Breach("timed put", family, key);
  }
  rocksdb::Status PutBlobIndexCF(uint32_t family, const rocksdb::Slice& key,
                                 const rocksdb::Slice& /*value*/) override {
    return Breach("blob index", family, key);
  }
  void LogData(const rocksdb::Slice& /*bytes*/) override {}

 private:
  struct Change {
    uint32_t family;
    std::string key;
    bool inserted;
  };

  rocksdb::Status RowsOnly(const char* what, uint32_t family, const rocksdb::Slice& key) {
    if (family < kFamilies && !IsOnce(family)) return rocksdb::Status::OK();
    return Breach(what, family, key);
  }

  rocksdb::Status Breach(const char* what, uint32_t family, const rocksdb::Slice& key) {
    breach_ = std::string("FAMILY-1: ") + what + " in family " + std::to_string(family) + ", key " +
              key.ToString(true);
    return rocksdb::Status::Aborted(breach_);
  }

  DisciplineChecker* const checker_;
  std::vector<Change> changes_;
  std::string breach_;
};

Error DisciplineChecker::Check(const std::string& rep) {
  constexpr size_t kHeaderBytes = 12;
  if (rep.size() < kHeaderBytes) return Error(ErrorCode::kCorruption, "no batch: too short");
  const rocksdb::WriteBatch batch(rep);
  DisciplineHandler handler(this);
  const rocksdb::Status status = batch.Iterate(&handler);
  if (status.ok()) return Error::Ok();
  handler.TakeBack();
  if (!handler.breach().empty()) return Error(ErrorCode::kBusy, handler.breach());
  return Error(ErrorCode::kCorruption, "no batch: " + status.ToString());
}

void DisciplineChecker::Clear() {
  for (auto& keys : keys_) keys.clear();
}

void DisciplineChecker::Insert(Family family, std::string_view key) {
  const auto id = static_cast<uint32_t>(family);
  if (IsOnce(id)) keys_[id].emplace(key);
}

bool DisciplineChecker::Contains(Family family, std::string_view key) const {
  return keys_[static_cast<uint32_t>(family)].contains(key);
}

size_t DisciplineChecker::size(Family family) const {
  return keys_[static_cast<uint32_t>(family)].size();
}

}  // namespace vestq
