#include "lanes/ready_window.h"

#include <algorithm>
#include <utility>

#include "engine/base/check.h"

namespace vestq {
ReadyWindow::ReadyWindow(keycodec::Order order, size_t capacity, bool complete)
    : capacity_(capacity), jobs_(order), complete_(complete), changes_(order) {
  CHECK(capacity >= 1);
}

void ReadyWindow::set_capacity(size_t capacity) {
  CHECK(capacity >= 1 && !refilling_);
  capacity_ = std::max(capacity, jobs_.size());
}

ReadyJob ReadyWindow::PopFront() {
  CHECK(!jobs_.empty());
  return jobs_.PopFront();
}

// The last job had to go: what comes after the one that is last now is only on disk.
void ReadyWindow::LowerTheBound() {
  complete_ = false;
  bound_ = jobs_.back().rank;
  refill_void_ = refilling_;
}

ReadyWindow::InsertOutcome ReadyWindow::Insert(ReadyJob job) {
  InsertOutcome outcome;
  if (!Within(job.rank)) {
    outcome.placement = Placement::kBeyond;
    outcome.dropped_bytes = Record(Change{std::move(job), false});
    return outcome;
  }
  const size_t place = jobs_.LowerBound(job.rank);
  CHECK(!jobs_.Matches(place, job.rank), "WINDOW-3: the job is in the window already");
  if (jobs_.size() < capacity_) {
    jobs_.Insert(place, std::move(job));
    return outcome;
  }
  if (place == jobs_.size()) {
    outcome.placement = Placement::kBeyond;
    outcome.dropped_bytes = BytesOf(job);
  } else {
    outcome.dropped_bytes = BytesOf(jobs_.PopBack());
    jobs_.Insert(place, std::move(job));
  }
  LowerTheBound();
  return outcome;
}

ReadyWindow::EraseOutcome ReadyWindow::EraseRank(const keycodec::ReadyRank& rank) {
  EraseOutcome outcome;
  if (!Within(rank)) {
    Change change;
    change.job.rank = rank;
    change.erased = true;
    outcome.dropped_bytes = Record(std::move(change));
    return outcome;
  }
  const size_t place = jobs_.LowerBound(rank);
  if (!jobs_.Matches(place, rank)) return outcome;
  outcome.erased = true;
  outcome.dropped_bytes = BytesOf(jobs_.Erase(place));
  return outcome;
}

// Returns the bytes of records let go.
uint64_t ReadyWindow::Record(Change change) {
  const bool wanted =
      refilling_ && !refill_void_ &&
      !(changes_limit_.has_value() && changes_.Less(*changes_limit_, RankOf(change)));
  if (!wanted) return BytesOf(change.job);
  const size_t place = changes_.LowerBound(RankOf(change));
  if (changes_.Matches(place, RankOf(change))) {
    const uint64_t dropped = BytesOf(changes_[place].job);
    changes_[place] = std::move(change);
    return dropped;
  }
  uint64_t dropped = 0;
  if (changes_.size() < capacity_) {
    changes_.Insert(place, std::move(change));
    return dropped;
  }
  if (place == changes_.size()) {
    dropped = BytesOf(change.job);
  } else {
    dropped = BytesOf(changes_.PopBack().job);
    changes_.Insert(place, std::move(change));
  }
  changes_limit_ = RankOf(changes_.back());
  return dropped;
}

uint64_t ReadyWindow::DropChanges() {
  uint64_t dropped = 0;
  for (size_t i = 0; i < changes_.size(); ++i) dropped += BytesOf(changes_[i].job);
  changes_.Clear();
  changes_limit_.reset();
  return dropped;
}

const ReadyJob* ReadyWindow::Find(const keycodec::ReadyRank& rank) const {
  const size_t place = jobs_.LowerBound(rank);
  return jobs_.Matches(place, rank) ? &jobs_[place] : nullptr;
}

ReadyJob* ReadyWindow::FindRecordless(const keycodec::ReadyRank& rank) {
  const size_t place = jobs_.LowerBound(rank);
  if (!jobs_.Matches(place, rank) || jobs_[place].record != nullptr) return nullptr;
  return &jobs_[place];
}

void ReadyWindow::Unread(size_t max, std::vector<ReadyJob>* jobs) const {
  for (size_t i = 0; i < jobs_.size() && max > 0; ++i) {
    if (jobs_[i].record != nullptr) continue;
    jobs->push_back(jobs_[i]);
    --max;
  }
}

std::optional<keycodec::ReadyRank> ReadyWindow::BeginRefill() {
  CHECK(!complete_ && !refilling_, "WINDOW-2: one refill at a time, and only of a bounded window");
  refilling_ = true;
  refill_void_ = false;
  return bound_;
}

// The rank up to which scan and recorded changes together tell everything; none: to the zone's end.
// REQUIRES: the scan got somewhere.
std::optional<keycodec::ReadyRank> ReadyWindow::TrustedUpTo(
    const std::vector<ReadyJob>& found, bool reached_end,
    const std::optional<keycodec::ReadyRank>& scanned_to) const {
  if (reached_end) return changes_limit_;
  const keycodec::ReadyRank end = scanned_to.has_value() ? *scanned_to : found.back().rank;
  DCHECK(found.empty() || !jobs_.Less(end, found.back().rank));
  if (changes_limit_.has_value() && jobs_.Less(*changes_limit_, end)) return changes_limit_;
  return end;
}

int64_t ReadyWindow::FinishRefill(std::vector<ReadyJob> found, bool reached_end,
                                  std::optional<keycodec::ReadyRank> scanned_to) {
  CHECK(refilling_, "WINDOW-2: no refill is in flight");
  const bool nowhere = !reached_end && !scanned_to.has_value() && found.empty();
  if (refill_void_ || nowhere) return -static_cast<int64_t>(AbandonRefill());
  refilling_ = false;

  const std::optional<keycodec::ReadyRank> end = TrustedUpTo(found, reached_end, scanned_to);
  DCHECK(found.empty() || !bound_.has_value() || jobs_.Less(*bound_, found.front().rank));
  const auto trusted = [&](const keycodec::ReadyRank& rank) {
    return !end.has_value() || !jobs_.Less(*end, rank);
  };
  // Two sorted sequences into one; of one rank, the recorded change has the last word. Both lie
  // after everything that is in the window.
  int64_t gained = 0;
  bool full = false;
  size_t f = 0;
  size_t c = 0;
  for (;;) {
    const bool has_found = f < found.size() && trusted(found[f].rank);
    const bool has_change = c < changes_.size() && trusted(RankOf(changes_[c]));
    if (!has_found && !has_change) break;
    const bool take_change =
        has_change && (!has_found || !jobs_.Less(found[f].rank, RankOf(changes_[c])));
    if (take_change && has_found && found[f].rank == RankOf(changes_[c])) ++f;
    if (take_change && changes_[c].erased) {
      ++c;
      continue;
    }
    if (jobs_.size() == capacity_) {
      full = true;
      break;
    }
    if (take_change) {
      jobs_.PushBack(std::move(changes_[c++].job));  // held before and after
    } else {
      gained += static_cast<int64_t>(BytesOf(found[f]));
      jobs_.PushBack(std::move(found[f++]));
    }
  }
  gained -= static_cast<int64_t>(DropChanges());
  complete_ = !full && !end.has_value();
  bound_ = full ? std::optional(jobs_.back().rank) : end;
  return gained;
}

uint64_t ReadyWindow::AbandonRefill() {
  CHECK(refilling_, "WINDOW-2: no refill is in flight");
  refilling_ = false;
  refill_void_ = false;
  return DropChanges();
}

uint64_t ReadyWindow::Clear(bool complete) {
  uint64_t dropped = DropChanges();
  for (size_t i = 0; i < jobs_.size(); ++i) dropped += BytesOf(jobs_[i]);
  jobs_.Clear();
  complete_ = complete;
  bound_.reset();
  refill_void_ = refilling_;
  return dropped;
}

uint64_t ReadyWindow::record_bytes() const {
  uint64_t bytes = 0;
  for (size_t i = 0; i < jobs_.size(); ++i) bytes += BytesOf(jobs_[i]);
  for (size_t i = 0; i < changes_.size(); ++i) bytes += BytesOf(changes_[i].job);
  return bytes;
}

}  // namespace vestq
