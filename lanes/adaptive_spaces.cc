#include "lanes/adaptive_spaces.h"

namespace vestq {

std::string AdaptiveSpaces::NameOf(QueueId queue, std::string_view space) {
  std::string name = std::to_string(queue.value());
  name += '/';
  name += space;
  return name;
}

AdaptiveLimit* AdaptiveSpaces::Of(QueueId queue, std::string_view space,
                                  const AdaptiveBounds& bounds, MonoTime now) {
  std::string name = NameOf(queue, space);
  if (const auto it = by_name_.find(name); it != by_name_.end()) {
    entries_.splice(entries_.begin(), entries_, it->second);
    it->second->limit.SetBounds(bounds);
    return &it->second->limit;
  }
  if (by_name_.size() == most_) {
    by_name_.erase(entries_.back().name);
    entries_.pop_back();
  }
  entries_.push_front({std::move(name), AdaptiveLimit(bounds, now)});
  by_name_.emplace(entries_.front().name, entries_.begin());
  return &entries_.front().limit;
}

const AdaptiveLimit* AdaptiveSpaces::Find(QueueId queue, std::string_view space) const {
  const auto it = by_name_.find(NameOf(queue, space));
  return it == by_name_.end() ? nullptr : &it->second->limit;
}

}  // namespace vestq
