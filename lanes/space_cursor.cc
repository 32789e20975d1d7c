#include "lanes/space_cursor.h"

#include <algorithm>

namespace vestq {

bool SpaceCursor::Known(const ZonePlace& place) const {
  if (state_ == State::kAll) return true;
  if (place.space.empty()) return unnamed_known_;
  if (state_ == State::kHeldOnly || missed_ || held_ > 0) return false;
  // What a read under way has passed counts once it was taken in.
  return Passed(place);
}

void SpaceCursor::StartOver() {
  position_ = ZonePlace();
  at_end_ = missed_ = false;
  held_ = guesses_ = 0;
}

void SpaceCursor::Begin(uint64_t tag) {
  if (state_ == State::kSweeping) return;
  if (state_ == State::kAll) unnamed_known_ = true;
  state_ = State::kSweeping;
  tag_ = tag;
  StartOver();
}

void SpaceCursor::Reset() {
  state_ = State::kAll;
  unnamed_known_ = true;
  StartOver();
  ++read_id_;
  EndRead();
}

void SpaceCursor::EndRead() {
  reading_ = too_many_ = false;
  touched_.reset();
}

void SpaceCursor::Touch(const ZonePlace& place, Change change) {
  if (!reading_) return;
  if (!place.space.empty() && touched_->size() >= kTouchedMax && !touched_->contains(place)) {
    too_many_ = true;
    return;
  }
  Change& known = touched_->try_emplace(place, change).first->second;
  known = std::max(known, change);
}

void SpaceCursor::Note(const ZonePlace& place, Change change) {
  Touch(place, change);
  if (change == Change::kGone) return;
  CHECK(may_find(), "CURSOR-2: what may start is looked for");
  if (!place.space.empty() && Passed(place)) missed_ = true;
}

void SpaceCursor::NoteHeld(const ZonePlace& place) {
  if (state_ == State::kHeldOnly || Passed(place)) ++held_;
  Touch(place, Change::kWork);
}

bool SpaceCursor::NoteLoaded() {
  if (state_ != State::kHeldOnly) return false;
  if (held_ > 0) --held_;
  return held_ == 0;
}

bool SpaceCursor::HeldMayStart() {
  if (state_ == State::kHeldOnly) return true;
  if (held_ > 0) missed_ = true;
  return false;
}

void SpaceCursor::Rewind(const ZonePlace& place) {
  CHECK(!reading_, "CURSOR-1: what a read passes is not passed again meanwhile");
  if (!Passed(place)) return;
  // What was passed from there on is known no longer.
  position_ = place;
  at_end_ = false;
}

void SpaceCursor::StartRead() {
  CHECK(may_find() && !reading_ && !at_end_, "CURSOR-1: one read at a time");
  EndRead();
  reading_ = true;
  ++read_id_;
}

void SpaceCursor::AbandonRead() {
  CHECK(reading_, "CURSOR-1: a read is under way");
  EndRead();
}

void SpaceCursor::Advance(const std::optional<ZonePlace>& next, bool read_unnamed) {
  DCHECK(!next || !(*next < position_));
  if (read_unnamed) unnamed_known_ = true;
  at_end_ = !next.has_value();
  if (next) position_ = *next;
  EndRead();
}

void SpaceCursor::EndSweep(bool turns) {
  CHECK(may_find() && at_end_ && !reading_, "CURSOR-2: the sweep is over");
  const bool unnamed = unnamed_known_;
  if (unnamed && !missed_ && held_ == 0) {
    state_ = State::kAll;
  } else if (unnamed && !missed_) {
    state_ = State::kHeldOnly;
    return;  // held_ counts on
  }
  if (turns) tag_ += FairQueue::kRound;
  StartOver();
}

}  // namespace vestq
