// Sweeps over what is not in memory: the bookkeeping by table, and the bound of fairness by a model.
#include "lanes/space_cursor.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <vector>

namespace vestq {
namespace {

using Change = SpaceCursor::Change;
using State = SpaceCursor::State;

ZonePlace At(uint32_t lane, std::string space) {
  return {lane, keycodec::Order::kPriority, std::move(space)};
}
const auto kNothingFound = [](const ZonePlace&) { return false; };

TEST(SpaceCursor, PlacesComeInTheOrderOfTheirKeys) {
  const ZonePlace by_time{0, keycodec::Order::kTime, "a"};
  EXPECT_LT(At(0, "a"), At(0, "b"));
  EXPECT_LT(At(0, "b"), by_time);
  EXPECT_LT(by_time, At(1, ""));
  EXPECT_LT(At(0, "a"), At(0, std::string("a\0", 2)));
  EXPECT_LT(At(0, "a"), At(0, "\xff"));  // bytes, not characters
}

TEST(SpaceCursor, KnowsEverythingUntilSomethingIsHidden) {
  SpaceCursor cursor;
  EXPECT_EQ(cursor.state(), State::kAll);
  EXPECT_TRUE(cursor.Known(At(3, "x")));
  cursor.Begin(7);
  EXPECT_TRUE(cursor.may_find());
  EXPECT_EQ(cursor.tag(), 7u);
  EXPECT_FALSE(cursor.Known(At(3, "x")));
  EXPECT_TRUE(cursor.Known(At(3, ""))) << "the empty space is told apart";
  cursor.LoseUnnamed();
  EXPECT_FALSE(cursor.Known(At(3, "")));
}

TEST(SpaceCursor, KnowsWhatTheSweepHasPassedUntilItMissesSomething) {
  SpaceCursor cursor;
  cursor.Begin(0);
  cursor.StartRead();
  cursor.FinishRead(At(1, "m"), false, kNothingFound);
  EXPECT_TRUE(cursor.Known(At(0, "z")));
  EXPECT_TRUE(cursor.Known(At(1, "a")));
  EXPECT_FALSE(cursor.Known(At(1, "m")));
  cursor.Note(At(1, "q"), Change::kWork);  // ahead: it comes to it
  EXPECT_TRUE(cursor.Known(At(1, "a")));
  cursor.Note(At(1, "b"), Change::kWork);  // behind
  EXPECT_FALSE(cursor.Known(At(1, "a")));
  cursor.StartRead();
  cursor.FinishRead(std::nullopt, false, kNothingFound);
  EXPECT_TRUE(cursor.at_end());
  cursor.EndSweep(true);
  EXPECT_TRUE(cursor.may_find()) << "another sweep";
  EXPECT_EQ(cursor.tag(), FairQueue::kRound);
  cursor.StartRead();
  cursor.FinishRead(std::nullopt, false, kNothingFound);
  cursor.EndSweep(true);
  EXPECT_EQ(cursor.state(), State::kAll);
}

TEST(SpaceCursor, WhatChangesDuringAReadIsOutOfDate) {
  SpaceCursor cursor;
  cursor.Begin(0);
  cursor.StartRead();
  cursor.Note(At(0, "gone"), Change::kGone);
  EXPECT_TRUE(cursor.Touched(At(0, "gone")));
  EXPECT_FALSE(cursor.Touched(At(0, "other")));
  cursor.FinishRead(At(1, ""), false, kNothingFound);
  EXPECT_FALSE(cursor.Touched(At(0, "gone")));
  EXPECT_TRUE(cursor.Known(At(0, "gone"))) << "nothing was missed";
  cursor.StartRead();
  cursor.Note(At(1, "new"), Change::kWork);
  cursor.FinishRead(std::nullopt, false, [](const ZonePlace&) { return true; });
  EXPECT_TRUE(cursor.Known(At(1, "x"))) << "it was found";
  cursor.EndSweep(false);
  EXPECT_EQ(cursor.state(), State::kAll);
}

TEST(SpaceCursor, AJobThatAReadPassedAndDidNotFindIsLeftToTheNextSweep) {
  SpaceCursor cursor;
  cursor.Begin(0);
  cursor.StartRead();
  cursor.Note(At(0, "new"), Change::kWork);
  cursor.FinishRead(std::nullopt, false, kNothingFound);
  cursor.EndSweep(false);
  EXPECT_TRUE(cursor.may_find());
  // The same beyond where the read got: the next one comes to it.
  cursor.StartRead();
  cursor.Note(At(2, "new"), Change::kWork);
  cursor.FinishRead(At(1, ""), false, kNothingFound);
  cursor.StartRead();
  cursor.FinishRead(std::nullopt, false, kNothingFound);
  cursor.EndSweep(false);
  EXPECT_EQ(cursor.state(), State::kAll);
}

TEST(SpaceCursor, TooManyChangesDuringAReadMakeAllOfItOutOfDate) {
  SpaceCursor cursor;
  cursor.Begin(0);
  cursor.LoseUnnamed();
  cursor.StartRead();
  for (int i = 0; i < 5000; ++i) cursor.Note(At(5, std::to_string(i)), Change::kGone);
  EXPECT_TRUE(cursor.Touched(At(0, "whatever")));
  EXPECT_FALSE(cursor.Touched(At(0, "")));
  cursor.Note(At(0, ""), Change::kWork);  // of the empty space all are kept
  EXPECT_TRUE(cursor.Touched(At(0, "")));
  size_t unnamed = 0;
  cursor.VisitUnnamedWork([&](const ZonePlace&) { ++unnamed; });
  EXPECT_EQ(unnamed, 1u);
  cursor.FinishRead(std::nullopt, true, kNothingFound);
  EXPECT_TRUE(cursor.unnamed_known());
  cursor.EndSweep(false);
  EXPECT_TRUE(cursor.may_find());
}

TEST(SpaceCursor, WhatIsHeldIsNotLookedForUntilItMayStart) {
  SpaceCursor cursor;
  cursor.Begin(0);
  cursor.StartRead();
  cursor.PassHeld();
  cursor.PassHeld();
  cursor.FinishRead(std::nullopt, false, kNothingFound);
  EXPECT_FALSE(cursor.Known(At(0, "held")));
  cursor.EndSweep(false);
  EXPECT_EQ(cursor.state(), State::kHeldOnly);
  EXPECT_FALSE(cursor.Known(At(0, "held")));
  EXPECT_TRUE(cursor.Known(At(0, "")));
  EXPECT_FALSE(cursor.NoteLoaded());
  EXPECT_TRUE(cursor.NoteLoaded()) << "that was the last one";
  cursor.NoteHeld(At(0, "again"));
  EXPECT_TRUE(cursor.HeldMayStart());
  cursor.Begin(3);
  EXPECT_FALSE(cursor.HeldMayStart()) << "nothing was passed yet";
  cursor.NoteHeld(At(0, "ahead"));
  EXPECT_FALSE(cursor.HeldMayStart());
  cursor.StartRead();
  cursor.PassHeld();
  cursor.FinishRead(std::nullopt, false, kNothingFound);
  EXPECT_FALSE(cursor.HeldMayStart()) << "this sweep goes on, and another follows";
  cursor.EndSweep(false);
  EXPECT_TRUE(cursor.may_find());
}

TEST(SpaceCursor, ASpaceThatIsLetGoOfAsHeldDuringAReadIsNotTakenForKnown) {
  SpaceCursor cursor;
  cursor.Begin(0);
  cursor.StartRead();
  cursor.NoteHeld(At(0, "a"));
  cursor.FinishRead(At(1, ""), false, kNothingFound);
  EXPECT_FALSE(cursor.Known(At(0, "a")));
}

TEST(SpaceCursor, GoesBackToWhatHasNotHadItsTurn) {
  SpaceCursor cursor;
  cursor.Begin(0);
  cursor.StartRead();
  cursor.FinishRead(std::nullopt, false, kNothingFound);
  cursor.Rewind(At(0, "k"));
  EXPECT_FALSE(cursor.at_end());
  EXPECT_TRUE(cursor.Known(At(0, "a")));
  EXPECT_FALSE(cursor.Known(At(0, "k")));
  cursor.Rewind(At(0, "z"));
  EXPECT_EQ(cursor.position(), At(0, "k"));
}

TEST(SpaceCursor, OfALifeThatIsOverNothingIsHidden) {
  SpaceCursor cursor;
  cursor.Begin(0);
  cursor.LoseUnnamed();
  cursor.StartRead();
  const uint64_t read = cursor.read_id();
  cursor.Reset();
  EXPECT_EQ(cursor.state(), State::kAll);
  EXPECT_TRUE(cursor.Known(At(0, "")));
  EXPECT_FALSE(cursor.reading());
  cursor.Begin(0);
  cursor.StartRead();
  EXPECT_NE(cursor.read_id(), read);
}

// --- FAIR-4 ---

// One queue of one core, as engine/core_hidden.cc has it, with a store that is a map: jobs come and are
// cancelled at any time, also while a read is under way; LEASEs are served one at a time.
class Hidden {
 public:
  explicit Hidden(uint64_t seed) : random_(seed) {
    room_ = 1 + random_() % 8;
    batch_ = 1 + random_() % 5;
    for (size_t i = 0; i < 4 + random_() % 40; ++i) {
      const ZonePlace place = At(static_cast<uint32_t>(i % 3), "s" + std::to_string(i));
      spaces_[place].weight = random_() % 4 == 0 ? 3 : 1;
      places_.push_back(place);
    }
  }

  void Run(int steps) {
    for (int i = 0; i < steps && !::testing::Test::HasFailure(); ++i) {
      const uint64_t pressure = i / 400 % 3 == 0 ? 7 : 3;
      const uint64_t choice = random_() % 12;
      if (choice < pressure) {
        Arrive(Any());
      } else if (choice < 11) {
        Lease();
      } else {
        Cancel(Any());
      }
      if (i % 64 == 0) CheckKnown();
    }
    quiet_ = true;
    // All of it is served, and what is hidden ends.
    while (!::testing::Test::HasFailure() && Lease()) {
    }
    for (const auto& [place, space] : spaces_) ASSERT_EQ(space.jobs, 0) << place.space;
    ASSERT_FALSE(cursor_.hidden());
    ASSERT_EQ(in_memory_, 0u);
  }
  uint64_t served() const { return served_; }
  uint64_t sweeps() const { return sweep_; }

 private:
  struct Space {
    uint32_t weight = 1;
    int jobs = 0;  // in the store
    bool in_memory = false;
    FairQueue::Handle fair{};
    uint64_t ready_sweep = 0;   // when it got its first job
    uint64_t served_sweep = 0;  // and how often it was served in that
    uint32_t served = 0;
  };

  const ZonePlace& Any() { return places_[random_() % places_.size()]; }

  void Arrive(const ZonePlace& place) {
    Space& space = spaces_[place];
    const bool hide = !space.in_memory && (in_memory_ >= room_ || !cursor_.Known(place));
    if (hide) Begin();
    if (space.jobs++ == 0) space.ready_sweep = sweep_;
    if (space.in_memory) return;
    if (hide) {
      return cursor_.Note(place, Change::kWork);
    }
    Enter(place, false);
  }

  void Cancel(const ZonePlace& place) {
    Space& space = spaces_[place];
    if (space.jobs == 0) return;
    --space.jobs;
    if (!space.in_memory) return cursor_.Note(place, Change::kGone);
    if (space.jobs == 0) Forget(place);
  }

  void Enter(const ZonePlace& place, bool by_sweep) {
    Space& space = spaces_[place];
    space.in_memory = true;
    ++in_memory_;
    space.fair = fair_.Add(const_cast<ZonePlace*>(&spaces_.find(place)->first), space.weight);
    if (cursor_.may_find()) fair_.Defer(space.fair, by_sweep ? cursor_.tag() : cursor_.gate());
    fair_.Activate(space.fair);
  }

  void Forget(const ZonePlace& place) {
    Space& space = spaces_[place];
    space.in_memory = false;
    --in_memory_;
    fair_.Remove(space.fair);
    cursor_.Note(place, Change::kGone);
  }

  void Begin() {
    if (cursor_.may_find()) return;
    cursor_.Begin(fair_.virtual_time());
    fair_.HoldTime(cursor_.tag());
    ++sweep_;
  }

  void EndSweep() {
    cursor_.EndSweep(found_ || !fair_.empty());
    found_ = false;
    fair_.HoldTime(cursor_.may_find() ? cursor_.tag() : UINT64_MAX);
    if (cursor_.may_find()) ++sweep_;
  }

  void Meanwhile() {
    if (quiet_) return;
    for (uint64_t i = random_() % 4; i > 0; --i) random_() % 3 == 0 ? Cancel(Any()) : Arrive(Any());
  }

  // A read: the store at one moment, in between of what else happens.
  void Read() {
    cursor_.StartRead();
    Meanwhile();
    std::vector<ZonePlace> found;
    std::optional<ZonePlace> next;
    for (auto it = spaces_.lower_bound(cursor_.position()); it != spaces_.end(); ++it) {
      if (it->second.jobs == 0) continue;
      if (found.size() == batch_) {
        next = it->first;
        break;
      }
      found.push_back(it->first);
    }
    Meanwhile();
    for (const ZonePlace& place : found) {
      if (spaces_[place].in_memory) continue;
      found_ = true;
      Enter(place, true);
    }
    cursor_.FinishRead(next, false, [&](const ZonePlace& place) {
      return std::find(found.begin(), found.end(), place) != found.end();
    });
  }

  // False: there is nothing.
  bool Lease() {
    for (;;) {
      if (!fair_.empty() && !(cursor_.may_find() && fair_.TopTag() >= cursor_.gate())) {
        const ZonePlace place = *static_cast<const ZonePlace*>(fair_.TopOwner());
        if (spaces_[place].jobs > 0) {
          Serve(place);
          return true;
        }
        Forget(place);  // it was found out of date
      } else if (!cursor_.may_find()) {
        EXPECT_TRUE(std::all_of(spaces_.begin(), spaces_.end(), [](const auto& space) {
          return space.second.jobs == 0;
        })) << "a LEASE finds nothing beside a ready job (WAIT-1)";
        return false;
      } else if (cursor_.at_end()) {
        EndSweep();
      } else {
        Read();
      }
    }
  }

  void Serve(const ZonePlace& place) {
    Space& space = spaces_[place];
    ++served_;
    if (space.served_sweep != sweep_) space.served = 0;
    space.served_sweep = sweep_;
    ++space.served;
    if (cursor_.may_find()) {
      EXPECT_LE(space.served, 2 * space.weight) << "FAIR-4 " << place.space;
      EXPECT_LE(sweep_, space.ready_sweep + 2) << "FAIR-4: first served late " << place.space;
    }
    fair_.Charge(space.fair);
    space.ready_sweep = sweep_;
    if (--space.jobs == 0) return Forget(place);
    if (2 * in_memory_ > room_ && cursor_.may_find() && fair_.tag(space.fair) >= cursor_.gate()) {
      Forget(place);
      cursor_.Note(place, Change::kWork);
    }
  }

  // CURSOR-1, CURSOR-2.
  void CheckKnown() {
    fair_.CheckInvariants();
    for (const auto& [place, space] : spaces_) {
      if (!space.in_memory && cursor_.Known(place)) {
        ASSERT_EQ(space.jobs, 0) << place.space;
      }
    }
  }

  std::mt19937_64 random_;
  size_t room_ = 0;
  size_t batch_ = 0;
  std::map<ZonePlace, Space> spaces_;
  std::vector<ZonePlace> places_;
  size_t in_memory_ = 0;
  SpaceCursor cursor_;
  FairQueue fair_;
  bool found_ = false;
  bool quiet_ = false;
  uint64_t sweep_ = 0;
  uint64_t served_ = 0;
};

TEST(SpaceCursorModel, EachSpaceIsServedOnceASweepAndNothingIsForgotten) {
  uint64_t served = 0, sweeps = 0;
  for (uint64_t seed = 1; seed <= 100 && !::testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    Hidden hidden(seed);
    hidden.Run(3000);
    served += hidden.served();
    sweeps += hidden.sweeps();
  }
  EXPECT_GT(served, 50'000u);
  EXPECT_GT(sweeps, 5'000u);
}

TEST(SpaceCursor, CountsAnewWhatIsHeldWhenGuessesCostMoreThanASweep) {
  SpaceCursor cursor;
  cursor.Begin(0);
  cursor.StartRead();
  for (int i = 0; i < 1000; ++i) cursor.PassHeld();
  cursor.FinishRead(std::nullopt, false, kNothingFound);
  cursor.EndSweep(true);
  ASSERT_EQ(cursor.state(), State::kHeldOnly);
  int guesses = 1;
  while (!cursor.NoteGuess()) ++guesses;
  EXPECT_EQ(guesses, 1001);
  cursor.Begin(0);
  cursor.StartRead();
  cursor.FinishRead(std::nullopt, false, kNothingFound);
  cursor.EndSweep(true);
  EXPECT_EQ(cursor.state(), State::kAll) << "there was nothing any more";
}

}  // namespace
}  // namespace vestq
