// A store for the tests of the check, whose rows are written by hand, as the cores would.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>

#include "engine/batch.h"
#include "engine/check.h"
#include "engine/store.h"
#include "keycodec/keys.h"
#include "keycodec/records.h"

namespace vestq {

using keycodec::Counter;

inline constexpr uint16_t kLanes = 4;
inline constexpr QueueId kQueue(1);
inline constexpr Incarnation kIncarnation(1);

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

  void PutPurged(Incarnation to) {
    keycodec::QueueValue value{kQueue, to, keycodec::Order::kPriority};
    value.living = {to, to, to, to, to};
    PutRow(keycodec::QueueKey("q"), Bytes(value));
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
    counts_[Counter::kDeadBytes] += 7;
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

}  // namespace vestq
