// The first ready jobs of one (zone, lane), in memory: a window onto the zone's READY keys.
//
// A job that becomes ready while the window is complete goes straight in, its record too while
// memory allows, so the hot path reads nothing. A backlog larger than the window stays on disk;
// what lies beyond the window's bound is read by a refill when the window runs low. Owned by the
// core's thread; reads no disk, starts nothing. Insert at the end and PopFront are O(1) and
// allocate nothing in steady state; Insert and Erase elsewhere are O(capacity) moves, FinishRefill
// O(jobs + changes).
//
// States: complete (every ready job of the zone is here), or bounded (every ready job up to and
// including the bound is here, what comes after it is only on disk), or bounded with no bound yet
// (nothing is known: from the zone's start).
//
// WINDOW-1: jobs stand in rank order, at most `capacity` of them.
// WINDOW-2: no ready job of the zone is missing that the state says is here; so Front is the zone's
// first job.
// WINDOW-3: no job stands here twice, and none that is not ready (any more).
//
// A refill may be in flight while jobs come and go. What happens beyond the bound meanwhile is
// recorded, and outweighs what the scan saw; so the scan may look at any moment in between. At most
// `capacity` changes are recorded; with more of them, the window trusts the scan only up to the
// last recorded rank. WINDOW-2 and WINDOW-3 rest on the owner: a scan sees the zone at one moment
// (a snapshot), not before every change reported to the window up to BeginRefill is written, and
// not after FinishRefill.
//
// Records count in the owner's budget: each function that takes in or lets go of records says by
// how many bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/limits.h"
#include "keycodec/keys.h"
#include "lanes/ranked_ring.h"

namespace vestq {

struct ReadyJob {
  keycodec::ReadyRank rank;
  uint32_t flags = 0;
  uint32_t attempt = 0;
  std::shared_ptr<const std::string> record;  // header and payload; null: not in memory
  // The job row, for a job that is leased with what its row says; not null while `record` is not.
  std::shared_ptr<const std::string> row = nullptr;
};
inline const keycodec::ReadyRank& RankOf(const ReadyJob& job) { return job.rank; }
// Of what it holds in memory, as it counts in the owner's budget.
inline uint64_t BytesOf(const ReadyJob& job) {
  return (job.record == nullptr ? 0 : job.record->size()) +
         (job.row == nullptr ? 0 : job.row->size());
}

class ReadyWindow {
 public:
  // Where a job went: into the window, or only on disk.
  enum class Placement : uint8_t { kInserted, kBeyond };
  struct InsertOutcome {
    Placement placement = Placement::kInserted;
    uint64_t dropped_bytes =
        0;  // of records let go: the job's own, or that of one that had to make way
  };
  struct EraseOutcome {
    bool erased = false;  // it stood in the window
    uint64_t dropped_bytes = 0;
  };

  // A window that is empty. `complete`: so is the zone; otherwise nothing is known about it.
  // REQUIRES: capacity >= 1.
  ReadyWindow(keycodec::Order order, size_t capacity, bool complete);
  ReadyWindow(const ReadyWindow&) = delete;
  ReadyWindow& operator=(const ReadyWindow&) = delete;

  size_t size() const { return jobs_.size(); }
  bool empty() const { return jobs_.empty(); }
  bool complete() const { return complete_; }
  bool refilling() const { return refilling_; }
  size_t capacity() const { return capacity_; }
  // How many jobs it may hold from now on, as memory allows; at least those it has. REQUIRES: no refill in
  // flight, capacity >= 1.
  void set_capacity(size_t capacity);
  // An Insert may make it larger than it is.
  bool at_its_size() const { return jobs_.size() == jobs_.slots(); }
  // Up to which rank nothing is missing; none when complete, or when nothing is known.
  const std::optional<keycodec::ReadyRank>& bound() const { return bound_; }

  // The zone's first ready job. REQUIRES: !empty(). Valid until the window changes.
  const ReadyJob& Front() const { return jobs_[0]; }
  // In rank order. REQUIRES: i < size().
  const ReadyJob& at(size_t i) const { return jobs_[i]; }
  ReadyJob PopFront();

  // A job has become ready. When the window is full the last one makes way, and the window is
  // bounded from then on. REQUIRES: the job is not in the window (WINDOW-3).
  InsertOutcome Insert(ReadyJob job);
  // A job is ready no longer, wherever it stands.
  EraseOutcome EraseRank(const keycodec::ReadyRank& rank);

  // The job of that rank, or null; FindRecordless: only if its record is not in memory, to put it
  // in.
  const ReadyJob* Find(const keycodec::ReadyRank& rank) const;
  ReadyJob* FindRecordless(const keycodec::ReadyRank& rank);
  // Appends the first jobs whose records are not in memory, at most `max` of them.
  void Unread(size_t max, std::vector<ReadyJob>* jobs) const;

  // Bounded, less than half full, and no refill in flight.
  bool NeedsRefill() const {
    return !complete_ && !refilling_ && (empty() || 2 * size() < capacity_);
  }
  // Starts recording and returns the rank after which to scan; none means from the zone's start.
  // REQUIRES: not complete, no refill in flight.
  std::optional<keycodec::ReadyRank> BeginRefill();
  // What the scan found, in rank order, all after that rank; `reached_end`: it saw the zone's end.
  // `scanned_to`: how far it looked when that is beyond the last job (jobs that are masked were
  // left out); at least the last job's rank. What does not fit stays on disk. When the window had
  // to give up jobs while the scan was under way, the scan is of no use and is dropped: NeedsRefill
  // says whether to go again. Returns the change in bytes of records held.
  int64_t FinishRefill(std::vector<ReadyJob> jobs, bool reached_end,
                       std::optional<keycodec::ReadyRank> scanned_to = std::nullopt);
  // The scan failed. Returns the bytes of records let go.
  uint64_t AbandonRefill();

  // Forgets all jobs; `complete` as in the constructor. A refill in flight comes to nothing, but
  // still has to be finished or abandoned. Returns the bytes of records let go.
  uint64_t Clear(bool complete);

  // Bytes of all records held, those of recorded changes included; O(size).
  uint64_t record_bytes() const;
  // Heap bytes of the window itself, without records.
  size_t memory_bytes() const { return jobs_.memory_bytes() + changes_.memory_bytes(); }

 private:
  // What happened beyond the bound during a refill: the last word on that rank.
  struct Change {
    ReadyJob job;
    bool erased = false;
    friend const keycodec::ReadyRank& RankOf(const Change& change) { return change.job.rank; }
  };

  bool Within(const keycodec::ReadyRank& rank) const {
    return complete_ || (bound_.has_value() && !jobs_.Less(*bound_, rank));
  }
  void LowerTheBound();
  uint64_t Record(Change change);
  uint64_t DropChanges();
  std::optional<keycodec::ReadyRank> TrustedUpTo(
      const std::vector<ReadyJob>& found, bool reached_end,
      const std::optional<keycodec::ReadyRank>& scanned_to) const;

  // Constant after construction.
  size_t capacity_;

  RankedRing<ReadyJob> jobs_;
  bool complete_;
  std::optional<keycodec::ReadyRank> bound_;

  // The refill in flight.
  bool refilling_ = false;
  bool refill_void_ = false;  // the bound has moved away from where the scan started
  RankedRing<Change> changes_;
  std::optional<keycodec::ReadyRank>
      changes_limit_;  // recorded are all changes up to it; none: all
};

}  // namespace vestq
