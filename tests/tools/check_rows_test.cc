// The check of the rows beside the jobs: each kind is legal, each damage is found.
#include "engine/check_rows.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "engine/schedule_registry.h"
#include "tests/tools/check_fixture.h"

namespace vestq {
namespace {

class CheckRowsTest : public CheckTest {
 protected:
  static std::string DoneKey(uint64_t id) {
    return keycodec::DoneKey(kQueue, kIncarnation, 2000, JobId(id));
  }
  static std::string WaitingKey(uint64_t id) {
    return keycodec::WaitingKey(kQueue, kIncarnation, JobId(id));
  }
  static std::string TimerKey(keycodec::TimerKind kind) {
    return keycodec::TimerKey(LaneOf(16), keycodec::Clock::kEngine, 9000, kind, JobId(16));
  }
  const std::string kUniqueKey = keycodec::UniqueKey(kQueue, "tenant", "order-1");
  const std::string kSpaceKey = keycodec::SpaceOptionsKey(kQueue, "tenant");
  const std::string kSpaceRateKey = keycodec::SpaceRateKey(kQueue, "tenant");

  // Job 12 waits for job 4, job 16 is done and kept and its window holds a unique key; a schedule,
  // a hand-over, and what is left of another queue.
  void PutRowsBesideTheJobs() {
    PutRecord(12);
    PutJobRow(12, keycodec::Place::kWaiting, WaitingKey(12));
    keycodec::WaitingValue waiting;
    waiting.zone = ZoneOf();
    waiting.lane = LaneOf(12);
    waiting.enqueued_ms = 1000;
    waiting.pending = 1;
    PutRow(WaitingKey(12), Bytes(waiting));
    ++counts_[Counter::kWaiting];
    PutRow(keycodec::ChildEdgeKey(LaneOf(12), JobId(12), JobId(4)), Bytes(keycodec::EdgeValue{}));
    PutRow(keycodec::ParentEdgeKey(LaneOf(4), JobId(4), JobId(12)), Bytes(keycodec::EdgeValue{}));

    PutJobRow(16, keycodec::Place::kDone, DoneKey(16));
    keycodec::DoneValue done;
    done.zone = ZoneOf();
    done.lane = LaneOf(16);
    PutRow(DoneKey(16), Bytes(done));
    ++counts_[Counter::kDone];
    PutRow(kUniqueKey, Bytes(keycodec::UniqueValue{JobId(16), 9000, false}));
    PutRow(TimerKey(keycodec::TimerKind::kKept), Bytes(keycodec::TimerValue{DoneKey(16)}));
    PutRow(TimerKey(keycodec::TimerKind::kUniqueWindow), Bytes(keycodec::TimerValue{kUniqueKey}));
    PutRow(TimerKey(keycodec::TimerKind::kExpire), Bytes(keycodec::TimerValue{}));

    PutRow(keycodec::ScheduleKey("nightly"), Bytes(keycodec::ScheduleValue{}));
    PutRow(keycodec::TimerKey(LaneId(2), keycodec::Clock::kWall, 9000, "nightly"),
           Bytes(keycodec::TimerValue{}));
    PutRow(keycodec::HandoverKey(LaneId(1), 3, 1),
           Bytes(keycodec::HandoverValue{
               keycodec::HandoverKind::kSubscribe, JobId(12), {JobId(5)}, ""}));
    // Job 4 is over, and that is still to be told.
    PutRow(keycodec::HandoverKey(LaneOf(4), 3, 2),
           Bytes(keycodec::HandoverValue{keycodec::HandoverKind::kParentDone, JobId(4), {}, ""}));
    PutRow(keycodec::DroppedKey(QueueId(7)), Bytes(keycodec::DroppedValue{"gone"}));

    keycodec::SpaceValue options;
    options.weight = 3;
    PutRow(kSpaceKey, Bytes(options));
    PutRow(kSpaceRateKey, Bytes(keycodec::SpaceRateValue{9000}));
  }
};

TEST_F(CheckRowsTest, RowsBesideTheJobsAreLegal) {
  PutOneOfEach();
  PutRowsBesideTheJobs();
  const CheckReport report = Check();
  for (const auto& [invariant, text] : report.violations) ADD_FAILURE() << invariant << " " << text;
  EXPECT_EQ(report.void_keys, 0u);
}

TEST_F(CheckRowsTest, RowsBesideTheJobsOfADroppedQueueAreVoid) {
  PutOneOfEach();
  PutRowsBesideTheJobs();
  ASSERT_TRUE(store_->Write(batch_.rep()).ok());
  batch_.Clear();
  batch_.Delete(Family::kRows, keycodec::QueueKey("q"));
  PutRow(keycodec::DroppedKey(kQueue), Bytes(keycodec::DroppedValue{"q"}));
  PutRow(keycodec::SettingKey("erase"), keycodec::EncodeNumber(1));
  const CheckReport report = Check();
  for (const auto& [invariant, text] : report.violations) ADD_FAILURE() << invariant << " " << text;
  // Vesting keys, records, dead letter; kept result, waiting job with its record, unique key, rows of a space.
  EXPECT_EQ(report.void_keys, 6u + 7 + 1 + 1 + 2 + 1 + 2);
}

TEST_F(CheckRowsTest, Sched1AScheduleHasTheTimerOfItsNextSlot) {
  const auto schedule = [](int64_t next_ms, bool paused) {
    keycodec::ScheduleValue value;
    value.next_ms = next_ms;
    value.paused = paused;
    return Bytes(value);
  };
  const auto violations = [this] {
    const CheckReport report = Check();
    const auto found = report.violations_by_invariant.find("SCHED-1");
    return found == report.violations_by_invariant.end() ? 0u : found->second;
  };
  const std::string timer =
      keycodec::TimerKey(LaneOfSchedule("nightly", keycodec::ScheduleValue{}, kLanes),
                         keycodec::Clock::kWall, 9000, "nightly");
  PutRow(keycodec::ScheduleKey("nightly"), schedule(9000, false));
  EXPECT_EQ(violations(), 1u);
  PutRow(timer, Bytes(keycodec::TimerValue{}));
  EXPECT_EQ(violations(), 0u);
  PutRow(keycodec::ScheduleKey("nightly"), schedule(9001, false));
  EXPECT_EQ(violations(), 1u);
  PutRow(keycodec::ScheduleKey("nightly"), schedule(9000, true));
  EXPECT_EQ(violations(), 1u);
  PutRow(keycodec::ScheduleKey("nightly"), schedule(0, true));
  EXPECT_EQ(violations(), 0u) << "a timer that its row does not name is void";
}

TEST_F(CheckRowsTest, Code1EachRowBesideTheJobs) {
  PutRowsBesideTheJobs();
  const std::vector<std::pair<std::string, std::string>> damaged = {
      {DoneKey(16), "a kept result"},
      {WaitingKey(12), "a waiting job's row"},
      {kUniqueKey, "a unique key"},
      {TimerKey(keycodec::TimerKind::kKept), "a timer"},
      {keycodec::ChildEdgeKey(LaneOf(12), JobId(12), JobId(4)), "a child's edge"},
      {keycodec::ParentEdgeKey(LaneOf(4), JobId(4), JobId(12)), "a parent's edge"},
      {keycodec::HandoverKey(LaneId(1), 3, 1), "a hand-over"},
      {keycodec::ScheduleKey("nightly"), "a schedule"},
      {keycodec::DroppedKey(QueueId(7)), "a dropped queue's row"},
      {kSpaceKey, "options of a space"},
      {kSpaceRateKey, "the rate of a space"},
  };
  Check();
  for (const auto& [key, text] : damaged) {
    std::string value;
    ASSERT_TRUE(store_->Get(Family::kRows, key, &value).ok()) << text;
    for (const auto& [bad_key, bad_value] :
         {std::pair(key, std::string("\xff")), std::pair(key.substr(0, 1), value)}) {
      PutRow(bad_key, bad_value);
      ASSERT_TRUE(store_->Write(batch_.rep()).ok());
      batch_.Clear();
      const Result<CheckReport> report = CheckStore(store_.get());
      ASSERT_TRUE(report.ok());
      bool found = false;
      for (const auto& [invariant, words] : report->violations)
        found |= invariant == "CODE-1" && words.find(text) == 0;
      EXPECT_TRUE(found) << text;
      if (bad_key == key) {
        PutRow(key, value);
      } else {
        batch_.Delete(Family::kRows, bad_key);
      }
      ASSERT_TRUE(store_->Write(batch_.rep()).ok());
      batch_.Clear();
    }
  }
  EXPECT_TRUE(CheckStore(store_.get())->ok()) << "each was put right again";
}

TEST_F(CheckRowsTest, Code1TimerThatNamesAnotherRow) {
  PutRow(TimerKey(keycodec::TimerKind::kKept), Bytes(keycodec::TimerValue{kUniqueKey}));
  Expect(Check(), "CODE-1", "a timer's kept result");
}

TEST_F(CheckRowsTest, Code1TimerThatNamesARowAndHasNone) {
  PutRow(TimerKey(keycodec::TimerKind::kExpire), Bytes(keycodec::TimerValue{kUniqueKey}));
  Expect(Check(), "CODE-1", "is about no row");
}

TEST_F(CheckRowsTest, Id1RowOfALaneThatIsNotThere) {
  PutRow(keycodec::HandoverKey(LaneId(kLanes), 3, 1),
         Bytes(keycodec::HandoverValue{keycodec::HandoverKind::kSubscribe, JobId(4), {}, ""}));
  Expect(Check(), "ID-1", "a hand-over is of lane 4");
}

TEST_F(CheckRowsTest, Queue1SpaceOfNoQueue) {
  PutRow(keycodec::SpaceRateKey(QueueId(9), "s"), Bytes(keycodec::SpaceRateValue{5}));
  Expect(Check(), "QUEUE-1", "the rate of a space is of queue number 9");
}

TEST_F(CheckRowsTest, Queue1UniqueKeyOfNoQueue) {
  PutRow(keycodec::UniqueKey(QueueId(9), "", "k"), Bytes(keycodec::UniqueValue{JobId(4), 0, true}));
  Expect(Check(), "QUEUE-1", "a unique key is of queue number 9");
}

TEST_F(CheckRowsTest, Life1WindowOfALifeToCome) {
  PutRow(keycodec::UniqueKey(kQueue, "", "later"),
         Bytes(keycodec::UniqueValue{JobId(4), 9000, false, Incarnation(7)}));
  Expect(Check(), "LIFE-1", "the window of a unique key of queue 'q'");
}

TEST_F(CheckRowsTest, Queue1DroppedAndThere) {
  PutRow(keycodec::DroppedKey(kQueue), Bytes(keycodec::DroppedValue{"old"}));
  Expect(Check(), "QUEUE-1", "the dropped queue 'old' and the queue 'q' have the same number 1");
}

TEST_F(CheckRowsTest, Job4WaitingRowMissing) {
  PutRecord(12);
  PutJobRow(12, keycodec::Place::kWaiting, WaitingKey(12));
  Expect(Check(), "JOB-4", "job 12 waits by its job row");
}

TEST_F(CheckRowsTest, Job4KeptResultOfAnotherJob) {
  PutJobRow(12, keycodec::Place::kDone, DoneKey(16));
  Expect(Check(), "JOB-4", "a kept result that is not its own");
}

TEST_F(CheckRowsTest, Count1WaitingAndDone) {
  PutRowsBesideTheJobs();
  --counts_[Counter::kWaiting];
  ++counts_[Counter::kDone];
  const CheckReport report = Check();
  EXPECT_EQ(report.violations_by_invariant, (std::map<std::string, uint64_t>{{"COUNT-1", 2}}));
}

}  // namespace
}  // namespace vestq
