// The check of a store finds each kind of wrong, and nothing in a right one.
#include "engine/check.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "engine/batch.h"
#include "engine/check_lane.h"
#include "engine/store.h"
#include "keycodec/keys.h"
#include "keycodec/records.h"

namespace vestq {
namespace {

using keycodec::Counter;

constexpr uint16_t kLanes = 4;
constexpr QueueId kQueue(1);
constexpr Incarnation kIncarnation(1);

// Writes rows by hand, as the cores would.
class CheckTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = testing::TempDir() + "vestq-check-XXXXXX";
    ASSERT_NE(mkdtemp(folder_.data()), nullptr);
    StoreOptions options;
    options.path = folder_ + "/data";
    options.memory = uint64_t{64} << 20;
    auto opened = Store::Open(options);
    ASSERT_TRUE(opened.ok()) << opened.error().text();
    store_ = std::move(*opened);
    PutRow(keycodec::SettingKey("lanes"), keycodec::EncodeNumber(kLanes));
    PutRow(keycodec::SettingKey("epoch"), keycodec::EncodeNumber(3));
    PutRow(keycodec::SettingKey("ids"), keycodec::EncodeNumber(1000));
    PutQueue("q", kQueue, kIncarnation);
  }
  void TearDown() override {
    store_.reset();
    std::filesystem::remove_all(folder_);
  }

  static LaneId LaneOf(uint64_t id) { return LaneId(static_cast<uint16_t>(id % kLanes)); }
  static keycodec::Zone ZoneOf(std::string space = "") {
    return {kQueue, kIncarnation, keycodec::Order::kPriority, std::move(space)};
  }

  void PutRow(const std::string& key, const std::string& value) {
    batch_.Put(Family::kRows, key, value);
  }
  template <typename Value>
  static std::string Bytes(const Value& value) {
    std::string bytes;
    keycodec::Append(value, &bytes);
    return bytes;
  }
  void PutQueue(const std::string& name, QueueId id, Incarnation incarnation) {
    PutRow(keycodec::QueueKey(name),
           Bytes(keycodec::QueueValue{id, incarnation, keycodec::Order::kPriority}));
  }

  static std::string JobKey(uint64_t id) {
    std::string key;
    keycodec::AppendJobKey(LaneOf(id), JobId(id), &key);
    return key;
  }
  void PutRecord(uint64_t id, uint32_t flags = 0, const std::string& space = "",
                 int64_t vests_ms = 0) {
    keycodec::JobHeader header;
    header.zone = ZoneOf(space);
    header.flags = flags;
    header.priority = 7;
    header.enqueued_ms = 1000;
    header.vests_ms = vests_ms;
    std::string bytes;
    keycodec::AppendJobRecord(header, "payload", &bytes);
    batch_.Put(Family::kJob, JobKey(id), bytes);
    counts_[Counter::kBytes] += 7;
  }
  static std::string ReadyKey(uint64_t id, uint32_t priority = 7, const std::string& space = "") {
    return keycodec::Encode(
        keycodec::ReadyKey{LaneOf(id), ZoneOf(space), {priority, 1000, JobId(id)}});
  }
  void PutReady(uint64_t id, uint32_t flags = 0, uint32_t priority = 7,
                const std::string& space = "") {
    batch_.Put(Family::kVesting, ReadyKey(id, priority, space),
               Bytes(keycodec::ReadyValue{flags, 0}));
    ++counts_[Counter::kReady];
  }
  static std::string ScheduledKey(uint64_t id, int64_t time_ms) {
    return keycodec::Encode(
        keycodec::ScheduledKey{LaneOf(id), keycodec::Clock::kEngine, time_ms, JobId(id)});
  }
  void PutScheduled(uint64_t id, int64_t time_ms, uint32_t flags = 0) {
    batch_.Put(Family::kVesting, ScheduledKey(id, time_ms),
               Bytes(keycodec::ScheduledValue{flags, 1, ZoneOf(), 7, 1000}));
    ++counts_[Counter::kScheduled];
  }
  void PutLeased(uint64_t id, uint32_t epoch = 3) {
    keycodec::LeasedValue value;
    value.attempt = 1;
    value.zone = ZoneOf();
    value.priority = 7;
    value.enqueued_ms = value.ready_time_ms = 1000;
    value.fence = {epoch, 5};
    value.lease_ms = 30'000;
    batch_.Put(Family::kVesting,
               keycodec::Encode(keycodec::LeasedKey{LaneOf(id), 31'000, JobId(id)}), Bytes(value));
    ++counts_[Counter::kLeased];
  }
  void PutJobRow(uint64_t id, keycodec::Place place, const std::string& key) {
    keycodec::JobRow row;
    row.place = place;
    row.key = key;
    row.attempt = 1;
    row.priority = 7;
    PutRow(keycodec::JobRowKey(LaneOf(id), JobId(id)), Bytes(row));
  }
  static std::string DeadKey(uint64_t id) {
    return keycodec::DeadKey(kQueue, kIncarnation, 2000, JobId(id));
  }
  void PutDead(uint64_t id) {
    keycodec::DeadValue dead;
    dead.zone = ZoneOf();
    dead.lane = LaneOf(id);
    dead.enqueued_ms = 1000;
    PutRow(DeadKey(id), Bytes(dead));
    ++counts_[Counter::kDead];
  }

  // A job in each state, all right.
  void PutOneOfEach() {
    PutRecord(4);
    PutReady(4);
    PutRecord(5, 0, "tenant");
    PutReady(5, 0, 7, "tenant");
    PutRecord(6, 0, "", 9000);
    PutScheduled(6, 9000);
    PutRecord(7);
    PutLeased(7);
    PutRecord(8);
    PutScheduled(8, 5000, keycodec::kFlagJobRow);
    PutJobRow(8, keycodec::Place::kVesting, ScheduledKey(8, 5000));
    PutRecord(9);
    PutJobRow(9, keycodec::Place::kDead, DeadKey(9));
    PutDead(9);
    // Vested since its row was written.
    PutRecord(10);
    PutReady(10, keycodec::kFlagJobRow);
    PutJobRow(10, keycodec::Place::kVesting, ScheduledKey(10, 500));
  }

  CheckReport Check() {
    counts_.incarnation = kIncarnation;
    PutRow(keycodec::CounterKey(0, kQueue), Bytes(counts_));
    EXPECT_TRUE(store_->Write(batch_.rep()).ok());
    batch_.Clear();
    const Result<CheckReport> report = CheckStore(store_.get());
    EXPECT_TRUE(report.ok()) << report.error().text();
    return report.ok() ? *report : CheckReport();
  }
  void Expect(const CheckReport& report, const std::string& invariant, const std::string& text) {
    for (const auto& [found, words] : report.violations) {
      EXPECT_EQ(found, invariant) << words;
      EXPECT_NE(words.find(text), std::string::npos) << words;
    }
    EXPECT_EQ(report.violations.size(), 1u);
  }

  std::string folder_;
  std::unique_ptr<Store> store_;
  Batch batch_;
  keycodec::CounterValue counts_;
};

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

TEST_F(CheckTest, KeysOfAnEarlierIncarnationAreVoid) {
  PutOneOfEach();
  PutQueue("q", kQueue, Incarnation(2));
  counts_ = {};
  counts_.incarnation = Incarnation(2);
  PutRow(keycodec::CounterKey(0, kQueue), Bytes(counts_));
  ASSERT_TRUE(store_->Write(batch_.rep()).ok());
  const Result<CheckReport> report = CheckStore(store_.get());
  ASSERT_TRUE(report.ok());
  for (const auto& [invariant, text] : report->violations)
    ADD_FAILURE() << invariant << " " << text;
  EXPECT_EQ(report->void_keys, 6u + 7 + 1);
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
  Expect(Check(), "DEAD-1", "job 4 is dead by its job row");
}

TEST_F(CheckTest, Dead1LetterThatNobodyNames) {
  PutDead(4);
  --counts_[Counter::kDead];
  Expect(Check(), "DEAD-1", "1 dead letters, 0 named");
}

TEST_F(CheckTest, Count1) {
  PutOneOfEach();
  counts_[Counter::kReady] += 2;
  Expect(Check(), "COUNT-1", "queue 'q': ready is counted as 5, a full count gives 3");
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
  queues[kQueue].incarnation = kIncarnation;
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
