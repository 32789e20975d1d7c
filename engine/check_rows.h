// The part of the check that looks at the rows beside the jobs: kept results, waiting jobs, unique
// keys, timers, edges, hand-overs, schedules, spaces and dropped queues. Each must decode (CODE-1), be of a
// queue that exists or is being erased (QUEUE-1), and of a lane that exists (ID-1). Internal to
// engine/check.cc.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "engine/base/ids.h"
#include "engine/base/result.h"
#include "engine/check.h"
#include "engine/check_lane.h"
#include "engine/store.h"
#include "keycodec/keys.h"

namespace vestq {

// Calls visit(key, value) for each row with this letter. Errors: those of reading the store.
template <typename Visit>
Error ForEachRow(const Store* store, char letter, Visit visit) {
  const std::string lower(1, letter);
  const auto it = store->NewIterator(Family::kRows, lower, keycodec::PrefixSuccessor(lower));
  for (it->Seek(lower); it->Valid(); it->Next()) visit(it->key(), it->value());
  return it->error();
}

class RowCheck {
 public:
  RowCheck(const Store* store, uint16_t lanes, QueueTallies* queues, CheckReport* report)
      : store_(store), lanes_(lanes), queues_(queues), report_(report) {}

  // Adds the dropped queues to the tallies. REQUIRES: those that live are in there.
  Error ReadDropped();
  // Checks all the other rows, and counts what waits and what is kept. REQUIRES: ReadDropped.
  Error Run();
  // Live rows of unique keys, of queues that are not dropped.
  uint64_t unique_live() const { return unique_live_; }

 private:
  Error CheckDone();
  Error CheckWaiting();
  Error CheckUnique();
  Error CheckTimers();
  Error CheckEdges();
  Error CheckHandovers();
  Error CheckSchedules();
  Error CheckSpaces();
  // The queue's tally; nullptr, after the report is told, when there is no such queue.
  QueueTally* Find(QueueId queue, const char* what);
  void CheckLane(LaneId lane, const char* what);

  const Store* const store_;
  const uint16_t lanes_;
  QueueTallies* const queues_;
  CheckReport* const report_;
  uint64_t unique_live_ = 0;
};

}  // namespace vestq
