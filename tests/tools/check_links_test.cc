// The check of what ties jobs to each other, to keys and to moments: each broken tie is found, and a whole
// one is not.
#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tests/tools/check_fixture.h"

namespace vestq {
namespace {

using keycodec::HandoverKind;

class CheckLinksTest : public CheckTest {
 protected:
  static constexpr uint64_t kChild = 12;
  static constexpr uint64_t kParent = 5;

  // A record of one that has EXPIRE, a unique key, or neither, by its flags.
  void PutHeader(uint64_t id, uint32_t flags) {
    keycodec::JobHeader header;
    header.zone = ZoneOf();
    header.flags = flags;
    header.priority = 7;
    header.enqueued_ms = 1000;
    if ((flags & keycodec::kFlagUnique) != 0) header.unique_key = "order-1";
    if ((flags & keycodec::kFlagExpire) != 0) header.expire_ms = 500;
    std::string bytes;
    keycodec::AppendJobRecord(header, "payload", &bytes);
    batch_.Put(Family::kJob, JobKey(id), bytes);
    counts_[Counter::kBytes] += 7;
  }
  void PutJob(uint64_t id, uint32_t flags, uint32_t key_flags) {
    PutHeader(id, flags);
    PutReady(id, flags | key_flags);
  }
  void PutJob(uint64_t id, uint32_t flags = 0) { PutJob(id, flags, 0); }
  void PutHolder(uint64_t id, bool live) {
    PutRow(keycodec::UniqueKey(kQueue, "", "order-1"),
           Bytes(keycodec::UniqueValue{JobId(id), live ? 0 : 9000, live}));
  }
  void PutExpireTimer(int64_t time_ms) {
    PutRow(keycodec::TimerKey(LaneOf(4), keycodec::Clock::kEngine, time_ms,
                              keycodec::TimerKind::kExpire, JobId(4)),
           Bytes(keycodec::TimerValue{}));
  }

  void PutWaiting(uint32_t pending, uint32_t flags = 0) {
    const std::string key = keycodec::WaitingKey(kQueue, kIncarnation, JobId(kChild));
    PutHeader(kChild, flags);
    PutJobRow(kChild, keycodec::Place::kWaiting, key);
    keycodec::WaitingValue waiting;
    waiting.zone = ZoneOf();
    waiting.lane = LaneOf(kChild);
    waiting.enqueued_ms = 1000;
    waiting.pending = pending;
    waiting.flags = flags;
    PutRow(key, Bytes(waiting));
    ++counts_[Counter::kWaiting];
  }
  void PutChildSide() {
    PutRow(keycodec::ChildEdgeKey(LaneOf(kChild), JobId(kChild), JobId(kParent)),
           Bytes(keycodec::EdgeValue{}));
  }
  void PutParentSide() {
    PutRow(keycodec::ParentEdgeKey(LaneOf(kParent), JobId(kParent), JobId(kChild)),
           Bytes(keycodec::EdgeValue{}));
  }
  void PutWord(HandoverKind kind, uint64_t from, std::vector<JobId> jobs) {
    PutRow(keycodec::HandoverKey(LaneOf(kParent), 3, 1),
           Bytes(keycodec::HandoverValue{kind, JobId(from), std::move(jobs), ""}));
  }
  void ExpectNothing() {
    for (const auto& [invariant, text] : Check().violations)
      ADD_FAILURE() << invariant << " " << text;
  }
};

// --- UNIQUE-1 ---

TEST_F(CheckLinksTest, AKeyThatItsJobHoldsIsRight) {
  PutJob(4, keycodec::kFlagUnique);
  PutHolder(4, true);
  ExpectNothing();
}

TEST_F(CheckLinksTest, Unique1AKeyThatNoRowHoldsForItsJob) {
  PutJob(4, keycodec::kFlagUnique);
  Expect(Check(), "UNIQUE-1", "job 4 should hold its unique key");
}

TEST_F(CheckLinksTest, Unique1ARowThatTakesAnUnfinishedJobForDone) {
  PutJob(4, keycodec::kFlagUnique);
  PutHolder(4, false);
  Expect(Check(), "UNIQUE-1", "job 4 should hold its unique key");
}

TEST_F(CheckLinksTest, Unique1ARowThatNamesAnotherJob) {
  PutJob(4, keycodec::kFlagUnique);
  PutJob(8);
  PutHolder(8, true);
  const CheckReport report = Check();
  EXPECT_EQ(report.violations_by_invariant, (std::map<std::string, uint64_t>{{"UNIQUE-1", 2}}));
}

TEST_F(CheckLinksTest, Unique1AKeyThatNobodyHolds) {
  PutHolder(4, true);
  Expect(Check(), "UNIQUE-1", "1 unique keys are held by jobs, 0 jobs hold one");
}

TEST_F(CheckLinksTest, AJobThatSaysUniqueAndHasNoKeyIsFound) {
  PutJob(4, 0, keycodec::kFlagUnique);
  const CheckReport report = Check();
  EXPECT_EQ(report.violations_by_invariant,
            (std::map<std::string, uint64_t>{{"JOB-3", 1}, {"UNIQUE-1", 1}}));
}

TEST_F(CheckLinksTest, Unique1AJobThatWaitsHoldsItsKeyToo) {
  PutWaiting(1, keycodec::kFlagUnique);
  PutChildSide();
  PutParentSide();
  PutJob(kParent, 0, keycodec::kFlagParent);
  Expect(Check(), "UNIQUE-1", "job 12 should hold its unique key");
}

// --- TIMER-2 ---

TEST_F(CheckLinksTest, AJobWithTheTimerOfItsExpiryIsRight) {
  PutJob(4, keycodec::kFlagExpire);
  PutExpireTimer(1500);
  ExpectNothing();
}

TEST_F(CheckLinksTest, Timer2AJobThatShouldExpireAndHasNoTimer) {
  PutJob(4, keycodec::kFlagExpire);
  Expect(Check(), "TIMER-2", "job 4 should expire, and has no timer for it");
}

TEST_F(CheckLinksTest, Timer2ATimerOfAnotherMoment) {
  PutJob(4, keycodec::kFlagExpire);
  PutExpireTimer(1501);
  Expect(Check(), "TIMER-2", "job 4 should expire, and has no timer for it");
}

// --- AFTER-1 to AFTER-3 ---

TEST_F(CheckLinksTest, AnEdgeWithBothSidesIsRight) {
  PutWaiting(1);
  PutChildSide();
  PutParentSide();
  PutJob(kParent, 0, keycodec::kFlagParent);
  ExpectNothing();
}

TEST_F(CheckLinksTest, After1AJobThatWaitsForMoreThanItHasEdges) {
  PutWaiting(2);
  PutChildSide();
  PutParentSide();
  PutJob(kParent, 0, keycodec::kFlagParent);
  Expect(Check(), "AFTER-1", "job 12 waits for 2 jobs, and has edges to 1");
}

TEST_F(CheckLinksTest, After1AJobThatWaitsForNothing) {
  PutWaiting(1);
  Expect(Check(), "AFTER-1", "job 12 waits for 1 jobs, and has edges to 0");
}

TEST_F(CheckLinksTest, After2AnEdgeThatTheParentDoesNotKnowOf) {
  PutWaiting(1);
  PutChildSide();
  PutJob(kParent);
  Expect(Check(), "AFTER-2", "job 12 has an edge to job 5, which has none to it");
}

TEST_F(CheckLinksTest, AnEdgeThatAWordIsAboutIsRight) {
  PutWaiting(1);
  PutChildSide();
  PutJob(kParent);
  PutWord(HandoverKind::kSubscribe, kChild, {JobId(kParent)});
  ExpectNothing();
}

TEST_F(CheckLinksTest, After3AParentThatIsOverAndTellsNobody) {
  PutWaiting(1);
  PutChildSide();
  PutParentSide();
  Expect(Check(), "AFTER-3", "job 5 has edges, is not unfinished, and no word is on its way");
}

TEST_F(CheckLinksTest, AParentThatIsOverAndStillHasToTellIsRight) {
  PutWaiting(1);
  PutChildSide();
  PutParentSide();
  PutWord(HandoverKind::kParentDone, kParent, {});
  ExpectNothing();
}

TEST_F(CheckLinksTest, After3AParentThatDoesNotSaySo) {
  PutWaiting(1);
  PutChildSide();
  PutParentSide();
  PutJob(kParent);
  Expect(Check(), "AFTER-3", "1 jobs have edges, 0 of them say so");
}

TEST_F(CheckLinksTest, After3AParentThatSaysSoAndHasNoEdge) {
  PutJob(kParent, 0, keycodec::kFlagParent);
  Expect(Check(), "AFTER-3", "job 5 says that others wait for it, and has no edge");
}

}  // namespace
}  // namespace vestq
