// The slots of a schedule: which of them are due, and what becomes of those that passed while nothing ran.
//
// A slot is a moment at which a schedule enqueues one job. A schedule remembers its next slot; when the wall clock has
// reached it, TakeDue says how many jobs that makes and which slot comes then. Since the next slot is always later than
// every slot taken, none is taken twice, whatever the clock does (SLOT-1).
//
// Slots of which the first is at most kSlotLate late are all run: a busy moment costs nothing. If it is later than that,
// slots were missed, and the schedule's policy decides: `once` makes one job of all that are due, `skip` none unless the
// last of them is not late itself, `all` one of each. So every slot that is due is either run or counted as missed
// (SLOT-2). When more than kSlotsSeen are due, those older than kSlotsCounted are left out whatever the policy says (a
// clock that began in 1970 would make a job of every minute of half a century): they count as missed, of a cron
// expression up to kSlotsSeen of them, which are not counted one by one beyond that.
//
// Pure values; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "engine/base/result.h"
#include "engine/base/time.h"
#include "keycodec/schedule_records.h"
#include "lease/cron.h"

namespace vestq {

inline constexpr Duration kSlotLate = Seconds(2);
// What one call takes at most, so that a long downtime is worked off in slices: jobs, and slots looked at.
inline constexpr uint32_t kSlotJobs = 64;
inline constexpr uint32_t kSlotsSeen = 4096;
inline constexpr Duration kSlotsCounted = Days(31);

class Slots {
 public:
  // Slots by the schedule's own words. Errors: those of Cron::Parse.
  [[nodiscard]] static Result<Slots> Of(const keycodec::ScheduleValue& schedule);

  // The first slot strictly after `after`; nothing when there is none any more.
  [[nodiscard]] std::optional<WallTime> Next(WallTime after) const;

  struct Due {
    uint32_t jobs = 0;             // slots to run now
    uint64_t missed = 0;           // slots passed over
    bool left_out = false;         // some of them although the policy is `all`
    WallTime last;                 // the last slot to run; meaningful with jobs
    std::optional<WallTime> next;  // the slot after all of these; due as well when a slice ended
  };
  // Takes the slots from `next` to `now`, `next` included. Takes at most `jobs_most` jobs (1 to kSlotJobs).
  // REQUIRES: next <= now.
  [[nodiscard]] Due TakeDue(keycodec::Missed missed, WallTime next, WallTime now,
                            uint32_t jobs_most = kSlotJobs) const;

 private:
  bool LeaveOut(WallTime next, WallTime now, Due* due) const;

  std::optional<Cron> cron_;
  Duration every_;
  WallTime phase_;
};

}  // namespace vestq
