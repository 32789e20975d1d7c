// The part of the check that looks at AFTER: waiting jobs, both sides of their edges, and the words that
// are on their way. Internal to engine/check.cc.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <unordered_set>
#include <utility>

#include "engine/base/ids.h"
#include "engine/base/result.h"
#include "engine/check.h"
#include "engine/check_lane.h"
#include "engine/store.h"
#include "keycodec/records.h"

namespace vestq {

class LinkCheck {
 public:
  LinkCheck(const Store* store, uint16_t lanes, const QueueTallies* queues, CheckReport* report)
      : store_(store), lanes_(lanes), queues_(queues), report_(report) {}

  // `marked`: jobs in the vesting family that say they have edges, and have some.
  Error Run(uint64_t marked);
  // Waiting jobs that hold a unique key, all of whose rows name them.
  uint64_t unique_holders() const { return unique_holders_; }

 private:
  enum class Parent : uint8_t { kElsewhere, kInVesting, kWrong };

  Error ReadWords();
  Error CheckWaiting();
  Error CheckChildEdges();
  Error CheckParentEdges(uint64_t marked);
  Parent FindParent(JobId parent);
  bool HoldsUnique(JobId id, const keycodec::WaitingValue& waiting) const;
  void AgreeRecord(JobId id, const keycodec::WaitingValue& waiting);
  bool Has(const std::string& key, std::string* value) const {
    return store_->Get(Family::kRows, key, value).ok();
  }
  LaneId LaneOf(JobId id) const { return LaneId(static_cast<uint16_t>(id.value() % lanes_)); }

  const Store* const store_;
  const uint16_t lanes_;
  const QueueTallies* const queues_;
  CheckReport* const report_;
  // Of words: edges that they are about, and parents whose children are still to be told.
  std::set<std::pair<JobId, JobId>> told_;
  std::unordered_set<JobId> over_;
  uint64_t unique_holders_ = 0;
};

}  // namespace vestq
