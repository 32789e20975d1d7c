// Texts held once however many leases carry them: worker and space names.
//
// Add gives a view that stays valid until as many Drops as Adds of that text. A hash of the text
// each; none for the empty text and for the text last added. Owned by one core's thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

#include "engine/base/check.h"

namespace vestq {

class TextPool {
 public:
  std::string_view Add(std::string_view text) {
    if (text.empty()) return {};
    if (last_ == nullptr || last_->first != text) {
      auto at = texts_.find(text);
      if (at == texts_.end()) {
        at = texts_.emplace(std::string(text), 0).first;
        bytes_ += Cost(text);
      }
      last_ = &*at;
    }
    ++last_->second;
    return last_->first;
  }

  // REQUIRES: a view that Add gave.
  void Drop(std::string_view text) {
    if (text.empty()) return;
    if (last_ != nullptr && last_->first.data() == text.data() && last_->second > 1) {
      --last_->second;
      return;
    }
    const auto at = texts_.find(text);
    CHECK(at != texts_.end());
    if (--at->second > 0) return;
    if (last_ == &*at) last_ = nullptr;
    bytes_ -= Cost(text);
    texts_.erase(at);
  }

  size_t size() const { return texts_.size(); }
  // Estimate of the heap bytes in use.
  size_t memory_bytes() const { return bytes_ + texts_.bucket_count() * sizeof(void*); }

 private:
  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };
  using Texts = std::unordered_map<std::string, uint64_t, Hash, std::equal_to<>>;

  // A node, its allocation, and the characters when they do not stand in the string itself.
  static size_t Cost(std::string_view text) {
    return sizeof(Texts::value_type) + 32 + (text.size() < 16 ? 0 : text.size() + 17);
  }

  Texts texts_;
  Texts::value_type* last_ = nullptr;
  size_t bytes_ = 0;
};

}  // namespace vestq
