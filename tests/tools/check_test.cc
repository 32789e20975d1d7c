// The check of a store finds each kind of wrong, and nothing in a right one.
#include "engine/check.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "engine/check_lane.h"
#include "tests/tools/check_fixture.h"

namespace vestq {
namespace {

TEST_F(CheckTest, AStoreThatIsRightHasNoViolations) {
  PutOneOfEach();
  const CheckReport report = Check();
  for (const auto& [invariant, text] : report.violations) ADD_FAILURE() << invariant << " " << text;
  EXPECT_EQ(report.ready, 3u);
  EXPECT_EQ(report.scheduled, 2u);
  EXPECT_EQ(report.leased, 1u);
  EXPECT_EQ(report.dead, 1u);
  EXPECT_EQ(report.queues, 1u);
  EXPECT_EQ(report.payload_bytes, 7u * 7);
}

TEST_F(CheckTest, WhatWasPurgedIsVoidUntilItIsErased) {
  PutOneOfEach();
  PutPurged(Incarnation(2));
  PutRow(keycodec::SettingKey("erase"), keycodec::EncodeNumber(1));
  const CheckReport report = Check();  // the counters are of before the purge
  for (const auto& [invariant, text] : report.violations) ADD_FAILURE() << invariant << " " << text;
  EXPECT_EQ(report.leased, 1u) << "what is leased stays";
  EXPECT_EQ(report.ready + report.scheduled + report.dead, 0u);
  EXPECT_EQ(report.void_keys, 3u + 2 + 1);
}

TEST_F(CheckTest, Erase1VoidKeysThatNobodyMeansToErase) {
  PutOneOfEach();
  PutPurged(Incarnation(2));
  Expect(Check(), "ERASE-1", "6 keys of purged or dropped queues");
}

TEST_F(CheckTest, Life1AKeyOfALifeToCome) {
  PutRecord(4);
  batch_.Put(
      Family::kVesting,
      keycodec::Encode(keycodec::ReadyKey{LaneOf(4),
                                          {kQueue, Incarnation(2), keycodec::Order::kPriority, ""},
                                          {7, 1000, JobId(4)}}),
      Bytes(keycodec::ReadyValue{}));
  PutRow(keycodec::SettingKey("erase"), keycodec::EncodeNumber(1));
  Expect(Check(), "LIFE-1", "job 4 stands in incarnation 2 of queue 'q', which has come to 1");
}

TEST_F(CheckTest, Job1TwoVestingKeys) {
  PutRecord(4);
  PutReady(4);
  PutLeased(4);
  Expect(Check(), "JOB-1", "job 4 stands in");
}

TEST_F(CheckTest, Job1DeadAndReady) {
  PutRecord(4);
  PutReady(4, keycodec::kFlagJobRow);
  PutJobRow(4, keycodec::Place::kDead, DeadKey(4));
  PutDead(4);
  Expect(Check(), "JOB-1", "and among the dead letters");
}

TEST_F(CheckTest, Job2KeyWithoutRecord) {
  PutReady(4);
  Expect(Check(), "JOB-2", "job 4 has a READY key and no record");
}

TEST_F(CheckTest, Job2RecordWithoutKey) {
  PutRecord(4);
  Expect(Check(), "JOB-2", "job 4 has a record and neither");
}

TEST_F(CheckTest, Job3AnotherSpaceThanItsHeader) {
  PutRecord(4, 0, "one");
  PutReady(4, 0, 7, "two");
  Expect(Check(), "JOB-3", "another queue or space");
}

TEST_F(CheckTest, Job3AnotherPriorityThanItsHeader) {
  PutRecord(4);
  PutReady(4, 0, 8);
  Expect(Check(), "JOB-3", "priority 8, its header 7");
}

TEST_F(CheckTest, Job3AnotherTimeThanItsHeader) {
  PutRecord(4, 0, "", 9000);
  PutScheduled(4, 9001);
  Expect(Check(), "JOB-3", "another time");
}

TEST_F(CheckTest, Job4RowThatTheKeyDoesNotKnow) {
  PutRecord(4);
  PutReady(4);
  PutJobRow(4, keycodec::Place::kVesting, ReadyKey(4));
  Expect(Check(), "JOB-4", "its vesting key does not say so");
}

TEST_F(CheckTest, Job4MissingRow) {
  PutRecord(4);
  PutReady(4, keycodec::kFlagJobRow);
  Expect(Check(), "JOB-4", "there is none");
}

TEST_F(CheckTest, Job4RowOfNoJob) {
  PutJobRow(4, keycodec::Place::kVesting, ReadyKey(4));
  Expect(Check(), "JOB-4", "a job row and no record");
}

TEST_F(CheckTest, Job4RowThatNamesAnotherJob) {
  PutRecord(4);
  PutScheduled(4, 5000, keycodec::kFlagJobRow);
  PutJobRow(4, keycodec::Place::kVesting, ScheduledKey(8, 5000));
  Expect(Check(), "JOB-4", "not its own");
}

TEST_F(CheckTest, Dead1LetterMissing) {
  PutRecord(4);
  PutJobRow(4, keycodec::Place::kDead, DeadKey(4));
  ++counts_[Counter::kDead];
  counts_[Counter::kDeadBytes] += 7;
  Expect(Check(), "DEAD-1", "job 4 is dead by its job row");
}

TEST_F(CheckTest, Dead1LetterThatNobodyNames) {
  PutDead(4);
  --counts_[Counter::kDead];
  counts_[Counter::kDeadBytes] -= 7;
  Expect(Check(), "DEAD-1", "1 dead letters, 0 named");
}

TEST_F(CheckTest, Count1) {
  PutOneOfEach();
  counts_[Counter::kReady] += 2;
  Expect(Check(), "COUNT-1", "queue 'q': ready is counted as 5, a full count gives 3");
}

TEST_F(CheckTest, Count1BytesOfDeadLetters) {
  PutOneOfEach();
  counts_[Counter::kDeadBytes] = 0;
  Expect(Check(), "COUNT-1",
         "queue 'q': bytes of dead letters is counted as 0, a full count gives 7");
}

TEST_F(CheckTest, CountersOfSeveralCoresAreAddedUp) {
  PutOneOfEach();
  keycodec::CounterValue other;
  other.incarnation = kIncarnation;
  other[Counter::kReady] = -40;
  PutRow(keycodec::CounterKey(1, kQueue), Bytes(other));
  counts_[Counter::kReady] += 40;
  EXPECT_TRUE(Check().ok());
}

TEST_F(CheckTest, Id1AtOrAboveTheBound) {
  PutRecord(4000);
  PutReady(4000);
  const CheckReport report = Check();
  EXPECT_EQ(report.violations_by_invariant, (std::map<std::string, uint64_t>{{"ID-1", 2}}));
}

TEST_F(CheckTest, Id1InAnotherLane) {
  batch_.Put(Family::kVesting,
             keycodec::Encode(keycodec::ReadyKey{LaneId(1), ZoneOf(), {7, 1000, JobId(4)}}),
             Bytes(keycodec::ReadyValue{}));
  ++counts_[Counter::kReady];
  const CheckReport report = Check();
  EXPECT_EQ(report.violations_by_invariant,
            (std::map<std::string, uint64_t>{{"ID-1", 1}, {"JOB-2", 1}}));
}

TEST_F(CheckTest, Lease2FenceOfAnEpochToCome) {
  PutRecord(4);
  PutLeased(4, 4);
  Expect(Check(), "LEASE-2", "its fence is of epoch 4");
}

TEST_F(CheckTest, Queue1UnknownNumber) {
  keycodec::CounterValue other;
  other.incarnation = kIncarnation;
  PutRow(keycodec::CounterKey(0, QueueId(9)), Bytes(other));
  Expect(Check(), "QUEUE-1", "queue number 9");
}

TEST_F(CheckTest, Queue1SameNumberTwice) {
  PutQueue("other", kQueue, kIncarnation);
  Expect(Check(), "QUEUE-1", "have the same number 1");
}

TEST_F(CheckTest, Code1BytesThatDoNotDecode) {
  batch_.Put(Family::kJob, JobKey(4), "\xff");
  Expect(Check(), "CODE-1", "job 4: its record");
}

TEST_F(CheckTest, Code1UnknownRow) {
  PutRow("~", "x");
  Expect(Check(), "CODE-1", "no known letter");
}

TEST_F(CheckTest, ALaneThatDoesNotFitIsCheckedInSeveralRounds) {
  for (uint64_t i = 1; i <= 500; ++i) {
    PutRecord(i * kLanes);
    PutReady(i * kLanes);
  }
  PutReady(600 * kLanes);  // the one violation
  counts_.incarnation = kIncarnation;
  ASSERT_TRUE(store_->Write(batch_.rep()).ok());
  QueueTallies queues;
  queues[kQueue].name = "q";
  CheckReport report;
  LaneCheck check(store_.get(), {kLanes, 1000, 3}, LaneId(0), &queues, &report, 16);
  ASSERT_TRUE(check.Run().ok());
  EXPECT_EQ(queues[kQueue].ready, 501);
  Expect(report, "JOB-2", "job 2400 has a READY key");
}

TEST_F(CheckTest, AStoreThatDoesNotSayItsLanesCannotBeChecked) {
  batch_.Clear();
  const Result<CheckReport> report = CheckStore(store_.get());
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.error().code(), ErrorCode::kCorruption);
}

}  // namespace
}  // namespace vestq
