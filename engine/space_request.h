// SPACE SET, SPACE INFO and SPACES: single spaces of a queue. Objects that travel between cores as those of
// engine/request.h do, under the same rules.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "engine/request.h"
#include "keycodec/space_records.h"

namespace vestq {

// SPACE SET, PAUSE and RESUME: options of one space; where one is not set, the queue's for each of its
// spaces holds. Makes the queue where there is none. Who waits follows at once. Errors: kFull (too many
// queues, or too many spaces with options of their own, as the memory budget allows).
struct SpaceSetRequest : Request {
  SpaceSetRequest() : Request(RequestKind::kSpaceSet) {}
  std::string queue;
  std::string space;
  keycodec::SpaceValue set;    // those to set; not paused_until_ms
  keycodec::SpaceValue unset;  // those to unset: any value
  Duration pause_for;          // with `pause`; 0: until it is resumed
  bool pause = false;
  bool resume = false;
};

// SPACES: a page of a queue's spaces that have ready or leased jobs or options of their own, in the order
// of their bytes; SPACE INFO (`one_space`): one space, whatever it has. Ready jobs are counted in the
// store, kJobsLookedAt of all that a page has; leases in the tables of all cores, passed over in slices. So
// a space that stays comes once over the pages; of what comes and goes meanwhile a count may have a part.
// Outputs: spaces, cursor, options, at. Errors: kNotFound (no such queue), kSyntax (the cursor).
struct SpacesRequest : Request {
  SpacesRequest() : Request(RequestKind::kSpaces) {}
  static constexpr size_t kJobsLookedAt = 100'000;
  std::string queue;
  bool one_space = false;
  std::string space;
  uint32_t count = 1;        // 1 .. limits::kSpacesCountMax
  std::string cursor = "0";  // out: where to go on, "0" at the end

  struct Row {
    uint64_t ready = 0;
    bool exact = true;  // false: there are more than were looked at
    std::optional<MonoTime>
        oldest;  // ready since, of those that were looked at; none: nothing is ready
    uint64_t leased = 0;
    keycodec::SpaceValue own;  // its own options
    // Its adaptive limit, where one was at work since the start: what it is now, the median lease that counts as
    // usual (0: none yet), and how often it was halved.
    struct Adaptive {
      uint32_t limit = 0;
      Duration usual;
      uint64_t halvings = 0;
    };
    std::optional<Adaptive> adaptive;
  };
  std::map<std::string, Row> spaces;
  QueueOptions options;  // of the queue: what holds where a space has none
  MonoTime at;           // engine time of the answer

  // The engine's.
  std::optional<std::string> after;  // the cursor's space
  bool more = false;
  uint16_t at_core = 0;
  uint32_t at_lease = 0;
};

}  // namespace vestq
