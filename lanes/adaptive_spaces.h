// The adaptive limits (lanes/adaptive_limit.h) of the spaces that one core owns, of all its queues, by name.
//
// A space's limit is made when a job of it is about to start, at `min`, and stays when the space is empty
// for a while: what was learned is not lost between two bursts. Not more than kSpacesMax of them are
// kept; those whose jobs have not started or ended for the longest go first, and begin at `min`
// again. So memory is bounded, by 4 MB a core, however many spaces there are.
//
// Owned by the core's thread; no clock; a call is one look-up.
#pragma once

#include <cstddef>
#include <list>
#include <string>
#include <string_view>
#include <unordered_map>

#include "engine/base/ids.h"
#include "engine/base/time.h"
#include "lanes/adaptive_limit.h"

namespace vestq {

class AdaptiveSpaces {
 public:
  static constexpr size_t kSpacesMax = 8192;

  explicit AdaptiveSpaces(size_t most = kSpacesMax) : most_(most) {}

  // The limit of that space, within the bounds; made when there is none: leases that began before `now` will not
  // be counted. Now the one that was used last. Valid until the next call.
  AdaptiveLimit* Of(QueueId queue, std::string_view space, const AdaptiveBounds& bounds,
                    MonoTime now);
  // Null when there is none: it is at `min`.
  const AdaptiveLimit* Find(QueueId queue, std::string_view space) const;
  size_t size() const { return by_name_.size(); }

 private:
  struct Entry {
    std::string name;  // queue and space
    AdaptiveLimit limit;
  };
  static std::string NameOf(QueueId queue, std::string_view space);

  const size_t most_;
  std::list<Entry> entries_;  // used last first
  std::unordered_map<std::string_view, std::list<Entry>::iterator> by_name_;
};

}  // namespace vestq
