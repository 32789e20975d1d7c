// Where a queue looks for spaces with ready jobs that it does not hold in memory.
//
// A core holds the spaces that memory has room for; READY keys of the others stand in the store, in one
// contiguous range a lane, space after space. A *sweep* passes over that range once, from its start to
// its end, a bounded read at a time, and installs what it meets. While anything may be hidden one sweep
// follows another, as LEASEs ask for it; one sweep is one *round* of fairness. Pure bookkeeping: which
// reads there are, what they find and who is let go of is the owner's business. Owned by the core's
// thread; no clock. O(log touched) a call.
//
// Each space that a sweep installs takes its turn at `tag`; any other that comes into memory meanwhile, at
// `gate`, a round later; and nobody has a turn at the gate or beyond before the sweep is over. So (FAIR-4),
// while spaces are hidden, in the course of one sweep a space of weight w is served w times, or twice as
// often if it was in memory and was let go of before the sweep came to its place; and the first job of a
// space, wherever it stands, is served in this sweep's round or in the next.
//
// The jobs of the empty space are not of the sweep's range: they are spread over lanes and are read
// together, before the sweep's next step, when they are not known.
//
// CURSOR-1: a zone (lane, order, space) that is not in memory and is Known has no ready job.
// CURSOR-2: in state kAll every zone is known. In state kHeldOnly every zone that is neither known nor in
// memory could not start a job when it was met or let go of, nor since.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "engine/base/check.h"
#include "engine/base/lazy.h"
#include "keycodec/keys.h"
#include "lanes/fair_queue.h"

namespace vestq {

// A zone in the order of its keys: lanes of a core by their place among them.
struct ZonePlace {
  uint32_t lane = 0;
  keycodec::Order order = keycodec::Order::kPriority;
  std::string space;
  auto operator<=>(const ZonePlace&) const = default;
  bool operator==(const ZonePlace&) const = default;
};

class SpaceCursor {
 public:
  enum class State : uint8_t {
    kAll,       // nothing is hidden
    kSweeping,  // what is hidden may start: a sweep is under way, or will be when somebody asks
    kHeldOnly,  // hidden is only what may not start just now
  };
  // What has changed at a place that is not in memory.
  enum class Change : uint8_t { kGone, kWork };

  State state() const { return state_; }
  bool hidden() const { return state_ != State::kAll; }
  bool may_find() const { return state_ == State::kSweeping; }
  bool unnamed_known() const { return state_ == State::kAll || unnamed_known_; }
  bool Known(const ZonePlace& place) const;

  // The sweep has passed the place.
  bool Passed(const ZonePlace& place) const { return at_end_ || place < position_; }

  // At which spaces enter that the sweep finds; nobody is served from the gate on. REQUIRES: may_find().
  uint64_t tag() const { return tag_; }
  uint64_t gate() const { return tag_ + FairQueue::kRound; }
  // The queue's virtual time was moved on.
  void AdvanceTo(uint64_t tag) {
    if (tag > tag_) tag_ = tag;
  }

  // Something is hidden: from state kAll or kHeldOnly a sweep begins, with spaces entering at `tag`, the
  // queue's virtual time. Nothing in state kSweeping.
  void Begin(uint64_t tag);
  // Nothing is hidden any more, whatever there was; a read under way comes to nothing.
  void Reset();

  // A job that may start stands at a place that is not in memory, or `kGone`: one stands there no longer,
  // or the zone is not in memory any more and has none. REQUIRES for kWork: may_find().
  void Note(const ZonePlace& place, Change change);
  // A zone with jobs of which none may start was let go of; or was found by the read that is taken in, and
  // not installed.
  void NoteHeld(const ZonePlace& place);
  void PassHeld() { ++held_; }
  // A space that may have been held was taken in by its name; true: it may have been the last one, a new
  // sweep is worth while (Begin).
  bool NoteLoaded();
  // In state kHeldOnly a job became ready in a space that is not in memory, which is read although it may have
  // nothing else. True: it has happened so often that a sweep is cheaper, which tells (Begin).
  bool NoteGuess() { return ++guesses_ > (held_ > kGuesses ? held_ : kGuesses); }
  // Limits have changed: what was held may start. True: a new sweep must begin (Begin).
  bool HeldMayStart();
  // The empty space is not in memory (any more), and may have ready jobs. REQUIRES: may_find().
  void LoseUnnamed() { unnamed_known_ = false; }
  // The sweep goes on from there, if that is behind it. REQUIRES: no read is under way.
  void Rewind(const ZonePlace& place);

  // One read at a time, of what comes from `position` on, and, if it is not known, of the whole empty
  // space. `id` tells it from reads before a Reset.
  bool reading() const { return reading_; }
  uint64_t read_id() const { return read_id_; }
  const ZonePlace& position() const { return position_; }
  void StartRead();
  void AbandonRead();
  // What the read under way finds at the place may be out of date.
  bool Touched(const ZonePlace& place) const {
    return (too_many_ && !place.space.empty()) || touched_->contains(place);
  }
  // The places of the empty space where that is so because a job became ready.
  template <typename Visit>
  void VisitUnnamedWork(const Visit& visit) const {
    for (const auto& [place, change] : *touched_) {
      if (place.space.empty() && change == Change::kWork) visit(place);
    }
  }
  // The read was taken in, with all that it found: the sweep has come to `next`, or, nullopt, to the end.
  // `found(place)`: whether it had found something at a place that was touched. A job that became ready
  // where the read passed and found nothing is left to the next sweep.
  template <typename Found>
  void FinishRead(const std::optional<ZonePlace>& next, bool read_unnamed, const Found& found) {
    CHECK(reading_, "CURSOR-1: a read is under way");
    missed_ |= too_many_;
    for (const auto& [place, change] : *touched_) {
      if (place.space.empty() || change == Change::kGone || found(place)) continue;
      if (!(place < position_) && (!next || place < *next)) missed_ = true;
    }
    Advance(next, read_unnamed);
  }
  // The sweep has come to its end. REQUIRES: may_find(), no read is under way.
  bool at_end() const { return at_end_; }
  // The same, and EndSweep will say that nothing that may start is hidden.
  bool clean() const { return may_find() && at_end_ && unnamed_known_ && !missed_; }
  // Another one begins, or nothing that may start is hidden. `turns`: a space was installed, or has work
  // in memory, so that a round is over.
  void EndSweep(bool turns);

 private:
  static constexpr size_t kTouchedMax = 4096;
  static constexpr uint64_t kGuesses = 256;

  void Advance(const std::optional<ZonePlace>& next, bool read_unnamed);
  void StartOver();
  void EndRead();
  void Touch(const ZonePlace& place, Change change);

  State state_ = State::kAll;
  uint64_t tag_ = 0;
  ZonePlace position_;  // everything before it was passed in this sweep
  bool at_end_ = false;
  bool unnamed_known_ = true;
  // Behind the position: a zone that is neither in memory nor known; jobs of which none may start.
  bool missed_ = false;
  uint64_t held_ = 0;
  uint64_t guesses_ = 0;
  bool reading_ = false;
  uint64_t read_id_ = 0;
  // Since the read under way was started; beyond kTouchedMax all of them are.
  Lazy<std::map<ZonePlace, Change>> touched_;
  bool too_many_ = false;
};

}  // namespace vestq
