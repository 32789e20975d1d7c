// The schedules of a store, by name: which lane each stands in, and so which core may change it.
//
// A schedule's row and its timer are changed by one core only, the owner of its lane, in one batch (SCHED-1). The lane
// follows from what the schedule enqueues, so SET may move it: the owner lets go (BeginMove) and passes the SET on to
// the new owner behind its own batch; the new owner takes over (EndMove) and finds everything the old one wrote. Between
// the two the schedule belongs to nobody, and what asks for it is passed on the same way, in order.
//
// Thread-safe. The mutex: every use is a command on a schedule or a slot that is due, both rare and both beside a read
// of the store.
#pragma once

#include <cstddef>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "engine/base/ids.h"
#include "keycodec/schedule_records.h"

namespace vestq {

// The lane that a schedule's timer and its jobs stand in: that of its space, of its unique key, or else of its name.
// Persisted by effect: never change.
[[nodiscard]] LaneId LaneOfSchedule(std::string_view name, const keycodec::ScheduleValue& schedule,
                                    uint16_t lanes);

class ScheduleRegistry {
 public:
  struct Place {
    LaneId lane;
    std::optional<LaneId> moving_to;  // under way there
    bool exists = false;              // a row is stored, or about to be
  };

  // Where the schedule stands; nothing when no core knows of it.
  std::optional<Place> Find(std::string_view name) const;
  // The same, after making a place in `lane` for a new one. Nothing: limits::kSchedulesMax are there.
  std::optional<Place> Claim(std::string_view name, LaneId lane);

  // By the owner only. The row is written or deleted in this turn.
  void SetStored(std::string_view name, LaneId lane);
  void SetDeleted(std::string_view name);
  // By the owner, in a later turn than the one of SetDeleted, or when a new one was refused: whoever claims the name
  // from now on reads behind what this owner has submitted.
  void Forget(std::string_view name);
  void BeginMove(std::string_view name, LaneId to);
  // By the owner of the lane it moves to.
  void EndMove(std::string_view name);

  // Schedules that exist; any thread.
  size_t size() const;

 private:
  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const noexcept {
      return std::hash<std::string_view>{}(text);
    }
  };

  mutable std::mutex mutex_;
  std::unordered_map<std::string, Place, Hash, std::equal_to<>> places_;
  size_t stored_ = 0;
};

}  // namespace vestq
