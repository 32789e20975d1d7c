// FAMILY-1, watched from outside: the engine's batches are fed to it in the order they are written,
// and it tells the first one that breaks the discipline of its column families (engine/batch.h).
//
//   vesting, job (`once`): a put only of an absent key, a single-delete only of a present one;
//   nothing else. RocksDB
//     brings old values back when this is broken, and says nothing.
//   rows, kv: puts and plain deletes (also of ranges); no single-delete, no merge.
//
// Keeps the keys of the `once` families in memory. One thread; a batch costs a set operation a
// record.
#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <string_view>

#include "engine/base/result.h"
#include "engine/batch.h"

namespace vestq {

class DisciplineChecker {
 public:
  // Checks the records of a batch (Batch::rep) in order and takes them in. Errors leave the keys as
  // they were before the batch: kBusy for a breach, its text naming FAMILY-1, the family and the
  // key in hex; kCorruption for bytes that are no batch.
  Error Check(const std::string& rep);

  // After a crash: forget all, then Insert each key that the store came back with.
  void Clear();
  void Insert(Family family, std::string_view key);

  bool Contains(Family family, std::string_view key) const;
  size_t size(Family family) const;

 private:
  friend class DisciplineHandler;
  std::set<std::string, std::less<>> keys_[kFamilies];  // of kVesting and kJob
};

}  // namespace vestq
