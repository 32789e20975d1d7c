// What a group of commands sees of the store: its own changes, which stand in a batch that is not
// written yet, over what was there when it was first asked for.
//
// Used by one thread at a time: a reader's while the group reads, then the core's that carries it out.
// What a reader has read is kept, up to kKeptBytes, so that the core reads nothing from the disk
// (READ-1); beyond that the store is asked again, whose blocks are in memory by then. REQUIRES: nobody
// else changes what the group reads while the view lives: the cores that own it are frozen.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/batch.h"
#include "engine/store.h"

namespace vestq {

class GroupView final : public Store {
 public:
  static constexpr size_t kKeptBytes = size_t{4} << 20;

  // REQUIRES: both outlive the view, or the next Follow.
  GroupView(const Store* base, const Batch* changes) : base_(base), changes_(changes) {}
  // The same changes, and those to come, lie in this batch from now on.
  void Follow(const Batch* changes) { changes_ = changes; }

  Error Get(Family family, std::string_view key, std::string* value) const override;
  Error MultiGet(Family family, const std::vector<std::string>& keys,
                 std::vector<std::string>* values, std::vector<bool>* found) const override;
  std::unique_ptr<StoreIterator> NewIterator(Family family, std::string_view lower,
                                             std::string_view upper) const override;

 private:
  struct Change {
    bool there;
    size_t at;  // of its value in the batch
    size_t bytes;
  };
  using Changes = std::map<std::string, Change, std::less<>>;
  class Iterator;

  void CatchUp() const;

  const Store* const base_;
  const Batch* changes_;
  mutable size_t seen_ = 0;  // of the batch
  mutable std::array<Changes, kFamilies> changed_;
  mutable std::array<std::map<std::string, std::optional<std::string>, std::less<>>, kFamilies>
      kept_;
  mutable size_t kept_bytes_ = 0;
};

}  // namespace vestq
