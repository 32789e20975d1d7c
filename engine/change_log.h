// What changed while reads were under way: a read finishes later than it looked, and its owner must
// know which of its findings are out of date, and may keep what is there instead.
//
// Owned by one core's thread. Notes are kept only while a read is open, and only those that an open
// read can still ask for (amortized), so an idle log is empty. All functions are O(1) on average
// but for the pruning.
#pragma once

#include <algorithm>
#include <cstdint>
#include <set>
#include <unordered_map>
#include <utility>
#include <variant>

namespace vestq {

template <typename Key, typename Value = std::monostate>
class ChangeLog {
 public:
  using Mark = uint64_t;

  // A read starts: what is noted from now on counts for it.
  Mark Begin() {
    open_.insert(++now_);
    return now_;
  }
  // Nobody asks with this mark any more. REQUIRES: a mark of Begin, ended once.
  void End(Mark mark) {
    open_.erase(open_.find(mark));
    if (open_.empty()) {
      changed_.clear();
      prune_at_ = kPruneAt;
    }
  }
  void Note(const Key& key, Value value = {}) {
    if (open_.empty()) return;
    changed_[key] = {++now_, std::move(value)};
    if (changed_.size() >= prune_at_) Prune();
  }
  // What was noted last for the key since then; nullptr: nothing. REQUIRES: the mark is open.
  const Value* Find(Mark mark, const Key& key) const {
    const auto it = changed_.find(key);
    return it != changed_.end() && it->second.first > mark ? &it->second.second : nullptr;
  }
  bool Changed(Mark mark, const Key& key) const { return Find(mark, key) != nullptr; }
  size_t size() const { return changed_.size(); }

 private:
  static constexpr size_t kPruneAt = 1024;

  void Prune() {
    const Mark oldest = *open_.begin();
    std::erase_if(changed_, [oldest](const auto& entry) { return entry.second.first <= oldest; });
    prune_at_ = std::max(kPruneAt, 2 * changed_.size());
  }

  Mark now_ = 0;
  std::multiset<Mark> open_;
  std::unordered_map<Key, std::pair<Mark, Value>> changed_;
  size_t prune_at_ = kPruneAt;
};

}  // namespace vestq
