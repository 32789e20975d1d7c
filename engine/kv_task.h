// Reads of the application's data. Run on a reader's thread.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/base/limits.h"
#include "engine/read_pool.h"
#include "engine/store.h"
#include "keycodec/keys.h"

namespace vestq {

// The values of some keys. Reads a few at a time: many large values are never in memory together.
class KvGetTask : public ReadTask {
 public:
  Error Run(const Store& store) override {
    constexpr size_t kChunk = 8;
    std::vector<std::string> chunk, found;
    std::vector<bool> there;
    values.resize(keys.size());
    size_t bytes = 0;
    for (size_t i = 0; i < keys.size(); i += chunk.size()) {
      chunk.assign(keys.begin() + static_cast<ptrdiff_t>(i),
                   keys.begin() + static_cast<ptrdiff_t>(std::min(keys.size(), i + kChunk)));
      VESTQ_RETURN_IF_ERROR(store.MultiGet(Family::kKv, chunk, &found, &there));
      for (size_t k = 0; k < chunk.size(); ++k) {
        if (!there[k]) continue;
        bytes += found[k].size();
        values[i + k] = presence_only ? std::string() : std::move(found[k]);
      }
      if (!presence_only && keys.size() > 1 && bytes > limits::kDataReplyBytes) {
        return Error(ErrorCode::kTooBig, "these values have more than " +
                                             std::to_string(limits::kDataReplyBytes) +
                                             " bytes together, the most a reply may have");
      }
    }
    return Error::Ok();
  }

  std::vector<std::string> keys;
  bool presence_only = false;  // what is there is given as empty
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
    const std::string upper = keycodec::PrefixSuccessor(prefix);
    if (!upper.empty() && start >= upper) return Error::Ok();  // a cursor beyond the prefix
    auto it = store.NewIterator(Family::kKv, start, upper);
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
