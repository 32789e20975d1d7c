// Reads of the application's data. Run on a reader's thread.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/base/limits.h"
#include "engine/read_pool.h"
#include "engine/store.h"
#include "keycodec/keys.h"

namespace vestq {

// The values of some keys, at one moment.
class KvGetTask : public ReadTask {
 public:
  Error Run(const Store& store) override {
    std::vector<std::string> found;
    std::vector<bool> there;
    VESTQ_RETURN_IF_ERROR(store.MultiGet(Family::kKv, keys, &found, &there));
    values.resize(keys.size());
    for (size_t i = 0; i < keys.size(); ++i) {
      if (there[i]) values[i] = std::move(found[i]);
    }
    return Error::Ok();
  }

  std::vector<std::string> keys;
  std::vector<std::optional<std::string>> values;
  uint64_t mark = 0;  // the owner's, in its log of changed keys
};

class KvRangeTask : public ReadTask {
 public:
  Error Run(const Store& store) override {
    std::string start = prefix;
    if (from_after && *from_after >= prefix) {
      start = *from_after;
      start.push_back('\0');  // exclusive
    }
    auto it = store.NewIterator(Family::kKv, start, keycodec::PrefixSuccessor(prefix));
    size_t bytes = 0;
    for (it->Seek(start); it->Valid(); it->Next()) {
      if (entries.size() == count || bytes >= limits::kDataReplyBytes) {
        more = true;
        break;
      }
      entries.emplace_back(it->key(), it->value());
      bytes += it->key().size() + it->value().size();
    }
    return it->error();
  }

  std::string prefix;
  std::optional<std::string> from_after;
  uint32_t count = 0;
  std::vector<std::pair<std::string, std::string>> entries;
  bool more = false;
};

}  // namespace vestq
