// The jobs of one (zone, lane) that have waited longer than their queue's `ageing`, oldest first, in
// memory: what is served before the window's front (lanes/ready_window.h), whatever its priority.
//
// READY keys stand by priority, then by age, so nothing in their order tells who is overdue. They are
// found by looks: the owner reads the zone in the store, from priority to priority, of each those that
// are older than a bound, and hands in the oldest of all. A look may come in slices; a pass is all the
// slices from the first priority to the last. In between one number says when the next look is worth
// anything, so a zone where nothing is overdue costs one comparison for each job that becomes ready and one
// pass for each span of `ageing`.
//
// Owned by the core's thread; reads no disk, no clock. Note is O(1), Erase and a merged job O(capacity)
// moves at worst. Records count in the owner's budget, as with the window.
//
// AGE-1: jobs stand oldest first (time, then priority, then id), at most `capacity`, each ready and with
// its record.
// AGE-2: no ready job of the zone that is not here is older than first_ms(). So none is overdue before
// first_ms() plus the span, and after a pass with room left none is overdue that is not here.
//
// AGE-1's "ready" and AGE-2 rest on the owner: it tells of every job that becomes ready (Note) and of every
// one that ceases to be (Erase), hands in no job of a look that has changed since the look began, and a look
// sees at least what was written when it began.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "keycodec/keys.h"
#include "lanes/ranked_ring.h"
#include "lanes/ready_window.h"

namespace vestq {

class AgedJobs {
 public:
  static constexpr int64_t kNever = std::numeric_limits<int64_t>::max();

  // `empty_zone`: no job of the zone is ready; otherwise nothing is known of it. REQUIRES: capacity >= 2.
  AgedJobs(size_t capacity, bool empty_zone);
  AgedJobs(const AgedJobs&) = delete;
  AgedJobs& operator=(const AgedJobs&) = delete;

  bool empty() const { return jobs_.empty(); }
  size_t size() const { return jobs_.size(); }
  size_t capacity() const { return capacity_; }
  const ReadyJob& Front() const { return jobs_[0]; }  // REQUIRES: !empty()
  ReadyJob PopFront();

  // A lower bound of the times of ready jobs that are not here; kNever: there are none.
  int64_t first_ms() const { return first_ms_; }
  // Jobs are overdue that are not here: the last pass left them out for want of room.
  bool more() const { return more_; }
  // Nothing is known of a zone that is served at once: its first look comes before any other job.
  void LookFirst() { more_ = true; }

  // A job with that time has become ready.
  void Note(int64_t time_ms);
  // A job is ready no longer. Returns the bytes of records let go.
  uint64_t Erase(const keycodec::ReadyRank& rank);

  // Whether a look is worth its while, at a time when jobs up to `until_ms` are overdue: a pass is not
  // finished, or there may be such jobs and there is room for them, or they would go first.
  bool WantsLook(int64_t until_ms) const {
    return !looking_ && (from_.has_value() || (Hungry() && first_ms_ <= until_ms));
  }
  // The same as a time: from then on `now - span` is a reason to look; kNever: not until something changes.
  int64_t WantedFrom() const {
    if (looking_) return kNever;
    return from_ ? std::numeric_limits<int64_t>::min() : Hungry() ? first_ms_ : kNever;
  }
  bool looking() const { return looking_; }

  // Where a look goes: from that priority on, of jobs with times up to until_ms (of a pass always the same),
  // the oldest `capacity`.
  struct Look {
    uint32_t from = 0;
    int64_t until_ms = 0;
  };
  // REQUIRES: not looking.
  Look BeginLook(int64_t until_ms);
  // What it found: `jobs`, in any order, with records; `left_ms`: the least time of a job that it saw and
  // left out, of whatever age, kNever where there was none; `next`: the priority to go on from, none at the
  // end; `cramped`: some were left out for want of memory. Returns the change in bytes of records held.
  int64_t FinishLook(std::vector<ReadyJob> jobs, int64_t left_ms, std::optional<uint32_t> next,
                     bool cramped = false);
  // It failed: the pass begins anew at the next look.
  void AbandonLook();

  // The span is another one: all begins anew. A look in flight comes to nothing, but still has to be
  // finished or abandoned. Returns the bytes of records let go.
  uint64_t Clear();

 private:
  // Less than half full, or one that is not here may be older than one that is. When there is no memory
  // for more, a look would bring the same again as long as these stand here.
  bool Hungry() const {
    if (jobs_.empty() || first_ms_ < jobs_.back().rank.time_ms) return true;
    return !cramped_ && 2 * jobs_.size() < capacity_;
  }
  int64_t Take(ReadyJob job);

  // Constant after construction.
  const size_t capacity_;

  RankedRing<ReadyJob> jobs_;
  int64_t first_ms_;
  bool more_ = false;
  bool cramped_ = false;  // by the last look

  // The pass under way.
  bool looking_ = false;
  bool void_ = false;             // the look in flight began before a Clear
  std::optional<uint32_t> from_;  // where its next slice begins; none: no pass is under way
  int64_t until_ms_ = 0;
  int64_t left_ms_ = kNever;   // of what its slices have left out so far
  int64_t noted_ms_ = kNever;  // of what has become ready since it began
};

}  // namespace vestq
