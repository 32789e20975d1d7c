#include "lanes/aged_jobs.h"

#include <algorithm>
#include <utility>

#include "engine/base/check.h"

namespace vestq {

AgedJobs::AgedJobs(size_t capacity, bool empty_zone)
    : capacity_(capacity),
      jobs_(keycodec::Order::kTime),
      first_ms_(empty_zone ? kNever : std::numeric_limits<int64_t>::min()) {
  CHECK(capacity >= 2);
}

ReadyJob AgedJobs::PopFront() {
  CHECK(!jobs_.empty(), "AGE-1: nothing is overdue");
  return jobs_.PopFront();
}

void AgedJobs::Note(int64_t time_ms) {
  first_ms_ = std::min(first_ms_, time_ms);
  noted_ms_ = std::min(noted_ms_, time_ms);
}

uint64_t AgedJobs::Erase(const keycodec::ReadyRank& rank) {
  const size_t place = jobs_.LowerBound(rank);
  if (!jobs_.Matches(place, rank)) return 0;
  return BytesOf(jobs_.Erase(place));
}

AgedJobs::Look AgedJobs::BeginLook(int64_t until_ms) {
  CHECK(!looking_, "AGE-2: one look at a time");
  looking_ = true;
  if (!from_) {
    from_ = 0;
    until_ms_ = until_ms;
    left_ms_ = noted_ms_ = kNever;
  }
  return {*from_, until_ms_};
}

// Returns the bytes that it adds to those held.
int64_t AgedJobs::Take(ReadyJob job) {
  CHECK(job.record != nullptr, "AGE-1: an overdue job is kept with its record");
  const size_t place = jobs_.LowerBound(job.rank);
  if (jobs_.Matches(place, job.rank)) return 0;
  int64_t gained = 0;
  if (jobs_.size() == capacity_) {
    if (place == capacity_) {
      left_ms_ = std::min(left_ms_, job.rank.time_ms);
      return 0;
    }
    left_ms_ = std::min(left_ms_, jobs_.back().rank.time_ms);
    gained -= static_cast<int64_t>(BytesOf(jobs_.PopBack()));
  }
  gained += static_cast<int64_t>(BytesOf(job));
  jobs_.Insert(place, std::move(job));
  return gained;
}

int64_t AgedJobs::FinishLook(std::vector<ReadyJob> jobs, int64_t left_ms,
                             std::optional<uint32_t> next, bool cramped) {
  CHECK(looking_, "AGE-2: no look is in flight");
  if (std::exchange(void_, false)) {
    AbandonLook();
    return 0;
  }
  looking_ = false;
  left_ms_ = std::min(left_ms_, left_ms);
  int64_t gained = 0;
  for (ReadyJob& job : jobs) {
    DCHECK(job.rank.time_ms <= until_ms_, "AGE-1: a look is for what is overdue");
    gained += Take(std::move(job));
  }
  cramped_ = cramped;
  from_ = next;
  if (!next) {
    first_ms_ = std::min(left_ms_, noted_ms_);
    more_ = left_ms_ <= until_ms_;
  } else if (first_ms_ == std::numeric_limits<int64_t>::min()) {
    more_ = false;  // LookFirst: what the first look brought is enough to go on with
  }
  return gained;
}

void AgedJobs::AbandonLook() {
  CHECK(looking_, "AGE-2: no look is in flight");
  looking_ = false;
  void_ = false;
  from_.reset();
  more_ = false;
}

uint64_t AgedJobs::Clear() {
  uint64_t dropped = 0;
  for (size_t i = 0; i < jobs_.size(); ++i) dropped += BytesOf(jobs_[i]);
  jobs_.Clear();
  first_ms_ = std::numeric_limits<int64_t>::min();
  more_ = false;
  from_.reset();
  void_ = looking_;
  return dropped;
}

}  // namespace vestq
