// Golden bytes of every persisted key and value. They never change: a store written by any release
// must stay readable. keycodec/FORMAT.md shows the same bytes; the test compares both sets.
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <map>
#include <string>
#include <string_view>

#include "keycodec/keys.h"
#include "keycodec/records.h"
#include "tests/keycodec/codecs.h"

namespace vestq::keycodec {
namespace {

using testing::Encoded;
using testing::EncodedJob;
using testing::JobKey;

constexpr LaneId kLane(7);
constexpr JobId kId(111'111);
constexpr QueueId kQueue(3);
constexpr Incarnation kIncarnation(1);
constexpr int64_t kEngineMs = 90'061'001;
constexpr int64_t kWallMs = 1'700'000'000'000;
constexpr JobId kParent(99'999);
constexpr LaneId kParentLane(15);
constexpr int64_t kHourMs = 3'600'000;
constexpr int64_t kDayMs = 24 * kHourMs;
constexpr ReadyRank kRank{1024, kEngineMs, kId};

Zone Acme() { return {kQueue, kIncarnation, Order::kPriority, "acme"}; }
Zone WithSpace(std::string space) {
  return {kQueue, kIncarnation, Order::kPriority, std::move(space)};
}
Zone ByTime() { return {kQueue, kIncarnation, Order::kTime, "acme"}; }

std::string Hex(std::string_view bytes) {
  std::string out;
  for (const char c : bytes) {
    char pair[4];
    std::snprintf(pair, sizeof pair, out.empty() ? "%02x" : " %02x", static_cast<uint8_t>(c));
    out.append(pair);
  }
  return out;
}

std::map<std::string, std::string> EncodedKeys() {
  return {
      {"key scheduled", Encode(ScheduledKey{kLane, Clock::kEngine, kEngineMs, kId})},
      {"key scheduled wall", Encode(ScheduledKey{kLane, Clock::kWall, kWallMs, kId})},
      {"key ready", Encode(ReadyKey{kLane, Acme(), kRank})},
      {"key ready no space", Encode(ReadyKey{kLane, WithSpace(""), kRank})},
      {"key ready escaped", Encode(ReadyKey{kLane, WithSpace(std::string("a\0b", 3)), kRank})},
      {"key ready by time", Encode(ReadyKey{kLane, ByTime(), kRank})},
      {"key leased", Encode(LeasedKey{kLane, kEngineMs, kId})},
      {"key job", JobKey(kLane, kId)},
      {"key setting", SettingKey("epoch")},
      {"key clock", ClockKey(2)},
      {"key queue", QueueKey("mail")},
      {"key counters", CounterKey(2, kQueue)},
      {"key job row", JobRowKey(kLane, kId)},
      {"key dead letter", DeadKey(kQueue, kIncarnation, kEngineMs, kId)},
      {"key kept result", DoneKey(kQueue, kIncarnation, kEngineMs, kId)},
      {"key waiting", WaitingKey(kQueue, kIncarnation, kId)},
      {"key unique", UniqueKey(kQueue, "acme", "order-1")},
      {"key unique escaped", UniqueKey(kQueue, std::string("a\0b", 3), "order-1")},
      {"key timer", TimerKey(kLane, Clock::kEngine, kEngineMs, TimerKind::kExpire, kId)},
      {"key timer schedule", TimerKey(kLane, Clock::kWall, kWallMs, "nightly")},
      {"key child edge", ChildEdgeKey(kLane, kId, kParent)},
      {"key parent edge", ParentEdgeKey(kParentLane, kParent, kId)},
      {"key hand-over", HandoverKey(kParentLane, 5, 4160)},
      {"key schedule", ScheduleKey("nightly")},
      {"key dropped queue", DroppedKey(kQueue)},
      {"key space options", SpaceOptionsKey(kQueue, "acme")},
      {"key space rate", SpaceRateKey(kQueue, "acme")},
  };
}

LeasedValue Leased() {
  return {.flags = kFlagBackoff,
          .attempt = 2,
          .attempts_max = 25,
          .zone = Acme(),
          .priority = 1024,
          .enqueued_ms = kEngineMs,
          .ready_time_ms = kEngineMs,
          .fence = {5, 4160},
          .lease_ms = 30'000,
          .payload_bytes = 300,
          .worker = "w1"};
}

JobHeader PlainJob() {
  JobHeader header;
  header.zone = WithSpace("");
  header.priority = 1024;
  header.enqueued_ms = kEngineMs;
  header.enqueued_wall_ms = kWallMs;
  header.attempts_max = 25;
  return header;
}

JobHeader FullJob() {
  JobHeader header = PlainJob();
  header.zone = Acme();
  header.flags = kFlagBackoff;
  header.clock = Clock::kWall;
  header.vests_ms = kWallMs + 60'000;
  header.lease_ms = 60'000;
  header.backoff = "\1\2\3";
  return header;
}

template <typename Options>
void GiveOptions(Options* options) {
  options->unique_key = "order-1";
  options->unique_ms = kHourMs;
  options->expire_ms = 600'000;
  options->keep_ms = kDayMs;
  options->type = "mail";
  options->user_headers = {{"trace", "7f"}, {"a", ""}};
}

JobHeader JobWithOptions() {
  JobHeader header = PlainJob();
  header.flags = kFlagUnique | kFlagKeep | kFlagExpire | kFlagExtra;
  GiveOptions(&header);
  return header;
}

JobRow Retried() {
  return {.key = Encode(ScheduledKey{kLane, Clock::kEngine, kEngineMs, kId}),
          .attempt = 1,
          .priority = 1024,
          .last_error = "boom",
          .checkpoint = "p3"};
}

JobRow RetriedThatExpires() {
  JobRow row = Retried();
  row.expires_clock = Clock::kWall;
  row.expires_ms = kWallMs;
  return row;
}

DeadValue Dead(std::string type) {
  return {Acme(), kLane,          25, 25, 1024, kEngineMs, kWallMs, 300, "attempts used up",
          "boom", std::move(type)};
}

DoneValue Done(std::string type) {
  return {.zone = Acme(),
          .lane = kLane,
          .attempt = 2,
          .attempts_max = 25,
          .priority = 1024,
          .enqueued_wall_ms = kWallMs,
          .done_wall_ms = kWallMs + 60'000,
          .keep_until_ms = kEngineMs + kDayMs,
          .payload_bytes = 300,
          .last_error = "boom",
          .result = "sent",
          .type = std::move(type)};
}

ScheduleValue Cron() {
  ScheduleValue schedule;
  schedule.queue = "mail";
  schedule.space = "acme";
  schedule.payload = "hello";
  schedule.cron = "0 3 * * *";
  schedule.zone = "Europe/Berlin";
  schedule.next_ms = kWallMs + 60'000;
  schedule.created_wall_ms = kWallMs;
  return schedule;
}

ScheduleValue Every() {
  ScheduleValue schedule = Cron();
  schedule.kind = ScheduleKind::kEvery;
  schedule.cron = schedule.zone = "";
  schedule.every_ms = kHourMs;
  schedule.phase_ms = 60'000;
  schedule.missed = Missed::kAll;
  schedule.paused = true;
  schedule.next_ms = 0;
  schedule.last_ms = kWallMs;
  schedule.fired = 300;
  schedule.skipped = 2;
  schedule.missed_count = 1;
  schedule.attempts_set = true;
  schedule.lease_ms = 60'000;
  schedule.backoff = "\1\2\3";
  GiveOptions(&schedule);
  return schedule;
}

QueueValue QueueWithOptions() {
  QueueValue queue{kQueue, kIncarnation, Order::kPriority};
  queue.lease_ms = 60'000;
  queue.attempts = 0;
  queue.backoff = "\1\2\3";
  queue.keep_ms = kHourMs;
  queue.dead_keep_ms = kDayMs;
  queue.dead_max = 1000;
  queue.paused_until_ms = limits::kKeyTimeMsMax;
  queue.living = {Incarnation(1), Incarnation(0), Incarnation(0), Incarnation(300), Incarnation(4)};
  queue.limits = {0, 5, 500'000, 10, 250'000, 4, 7, AdaptiveBounds{2, 300}};
  queue.ageing_ms = 60'000;
  return queue;
}

CounterValue Counters() {
  CounterValue counters;
  counters.incarnation = kIncarnation;
  counters.values = {5, -1, 64, 0, 0, -4096, 7, 0, 0, 0, 0, 0, 0, INT64_MIN, 0, 300, 0, 0, 1};
  return counters;
}

std::map<std::string, std::string> EncodedValues() {
  const std::string dead = DeadKey(kQueue, kIncarnation, kEngineMs, kId);
  const std::string done = DoneKey(kQueue, kIncarnation, kEngineMs, kId);
  const std::string waiting = WaitingKey(kQueue, kIncarnation, kId);
  return {
      {"ready", Encoded(ReadyValue{})},
      {"ready flags", Encoded(ReadyValue{kFlagJobRow | kFlagBackoff | kFlagExpire, 300})},
      {"scheduled", Encoded(ScheduledValue{kFlagBackoff, 1, Acme(), 1024, kEngineMs})},
      {"leased", Encoded(Leased())},
      {"job", EncodedJob(PlainJob(), "hello")},
      {"job full", EncodedJob(FullJob(), "hello")},
      {"job options", EncodedJob(JobWithOptions(), "hello")},
      {"job row", Encoded(Retried())},
      {"job row expires", Encoded(RetriedThatExpires())},
      {"job row dead", Encoded(JobRow{Place::kDead, dead, 25, 1024, "", ""})},
      {"job row done", Encoded(JobRow{Place::kDone, done, 1, 1024, "", ""})},
      {"job row waiting", Encoded(JobRow{Place::kWaiting, waiting, 0, 1024, "", ""})},
      {"dead letter", Encoded(Dead(""))},
      {"dead letter type", Encoded(Dead("mail"))},
      {"kept result", Encoded(Done(""))},
      {"kept result type", Encoded(Done("mail"))},
      {"waiting", Encoded(WaitingValue{kFlagUnique, Acme(), kLane, 1024, kEngineMs, Clock::kWall,
                                       kWallMs + 60'000, 2})},
      {"unique", Encoded(UniqueValue{kId, 0, true})},
      {"unique window", Encoded(UniqueValue{kId, kEngineMs + kHourMs, false})},
      {"unique window life",
       Encoded(UniqueValue{kId, kEngineMs + kHourMs, false, Incarnation(300)})},
      {"timer", Encoded(TimerValue{UniqueKey(kQueue, "acme", "order-1")})},
      {"timer no row", Encoded(TimerValue{})},
      {"edge", Encoded(EdgeValue{})},
      {"hand-over", Encoded(HandoverValue{HandoverKind::kSubscribe, kId, {kParent}, ""})},
      {"hand-over gone",
       Encoded(
           HandoverValue{HandoverKind::kParentGone, kParent, {kId, JobId(111'127)}, "cancelled"})},
      {"schedule cron", Encoded(Cron())},
      {"schedule every", Encoded(Every())},
      {"counters", Encoded(Counters())},
      {"queue", Encoded(QueueValue{kQueue, kIncarnation, Order::kTime})},
      {"queue options", Encoded(QueueWithOptions())},
      {"dropped queue", Encoded(DroppedValue{"mail"})},
      {"space options", Encoded(SpaceValue{5, 500'000, 10, 3, kEngineMs})},
      {"space options none", Encoded(SpaceValue{kSlotsUnlimited, 0})},
      {"space rate", Encoded(SpaceRateValue{kEngineMs})},
      {"clock", Encoded(ClockValue{kEngineMs, kWallMs, 3'600'000, "0f3c"})},
      {"vouch", Encoded(VouchValue{Sequence(123'456)})},
      {"number", EncodeNumber(16)},
      {"number max", EncodeNumber(UINT64_MAX)},
  };
}

// Made by a second encoder, written from FORMAT.md alone.
const std::map<std::string, std::string> kGolden = {
    // clang-format off
    {"key scheduled", "00 07 10 01 00 00 05 5e 38 c9 00 00 00 00 01 b2 07"},
    {"key scheduled wall", "00 07 10 02 01 8b cf e5 68 00 00 00 00 00 01 b2 07"},
    {"key ready", "00 07 20 00 00 00 03 00 00 00 01 01 61 63 6d 65 00 01 00 00 04 00 00 00 05 5e 38 c9 00 00 00 00 01 b2 07"},
    {"key ready no space", "00 07 20 00 00 00 03 00 00 00 01 01 00 01 00 00 04 00 00 00 05 5e 38 c9 00 00 00 00 01 b2 07"},
    {"key ready escaped", "00 07 20 00 00 00 03 00 00 00 01 01 61 00 ff 62 00 01 00 00 04 00 00 00 05 5e 38 c9 00 00 00 00 01 b2 07"},
    {"key ready by time", "00 07 20 00 00 00 03 00 00 00 01 02 61 63 6d 65 00 01 00 00 05 5e 38 c9 00 00 04 00 00 00 00 00 01 b2 07"},
    {"key leased", "00 07 30 00 00 05 5e 38 c9 00 00 00 00 01 b2 07"},
    {"key job", "00 07 00 00 00 00 01 b2 07"},
    {"key setting", "73 65 70 6f 63 68"},
    {"key clock", "6b 00 02"},
    {"key queue", "71 6d 61 69 6c"},
    {"key counters", "63 00 02 00 00 00 03"},
    {"key job row", "6a 00 07 00 00 00 00 01 b2 07"},
    {"key dead letter", "64 00 00 00 03 00 00 00 01 00 00 05 5e 38 c9 00 00 00 00 01 b2 07"},
    {"key kept result", "72 00 00 00 03 00 00 00 01 00 00 05 5e 38 c9 00 00 00 00 01 b2 07"},
    {"key waiting", "77 00 00 00 03 00 00 00 01 00 00 00 00 01 b2 07"},
    {"key unique", "75 00 00 00 03 61 63 6d 65 00 01 6f 72 64 65 72 2d 31"},
    {"key unique escaped", "75 00 00 00 03 61 00 ff 62 00 01 6f 72 64 65 72 2d 31"},
    {"key timer", "74 00 07 01 00 00 05 5e 38 c9 03 00 00 00 00 01 b2 07"},
    {"key timer schedule", "74 00 07 02 01 8b cf e5 68 00 04 6e 69 67 68 74 6c 79"},
    {"key child edge", "61 00 07 00 00 00 00 01 b2 07 00 00 00 00 01 86 9f"},
    {"key parent edge", "70 00 0f 00 00 00 00 01 86 9f 00 00 00 00 01 b2 07"},
    {"key hand-over", "6d 00 0f 00 00 00 05 00 00 00 00 00 00 10 40"},
    {"key schedule", "68 6e 69 67 68 74 6c 79"},
    {"key dropped queue", "78 00 00 00 03"},
    {"ready", "01 00 00"},
    {"ready flags", "01 23 ac 02"},
    {"scheduled", "01 02 01 03 01 01 04 61 63 6d 65 80 08 c9 f1 f8 2a"},
    {"leased", "01 02 02 19 03 01 01 04 61 63 6d 65 80 08 c9 f1 f8 2a c9 f1 f8 2a 05 c0 20 b0 ea 01 ac 02 02 77 31"},
    {"job", "01 03 01 01 00 00 80 08 c9 f1 f8 2a 80 d0 95 ff bc 31 01 00 19 00 68 65 6c 6c 6f"},
    {"job full", "01 03 01 01 04 61 63 6d 65 02 80 08 c9 f1 f8 2a 80 d0 95 ff bc 31 02 e0 a4 99 ff bc 31 19 02 03 e0 d4 03 04 03 01 02 03 00 68 65 6c 6c 6f"},
    {"job row", "01 01 01 80 08 11 00 07 10 01 00 00 05 5e 38 c9 00 00 00 00 01 b2 07 04 62 6f 6f 6d 02 02 70 33 00"},
    {"job row dead", "01 02 19 80 08 16 64 00 00 00 03 00 00 00 01 00 00 05 5e 38 c9 00 00 00 00 01 b2 07 00 00"},
    {"dead letter", "01 03 01 01 04 61 63 6d 65 07 19 19 80 08 c9 f1 f8 2a 80 d0 95 ff bc 31 ac 02 10 61 74 74 65 6d 70 74 73 20 75 73 65 64 20 75 70 04 62 6f 6f 6d 00"},
    {"counters", "01 01 13 0a 01 80 01 00 00 ff 3f 0e 00 00 00 00 00 00 ff ff ff ff ff ff ff ff ff 01 00 d8 04 00 00 02"},
    {"queue", "01 03 01 02 00"},
    {"clock", "01 c9 f1 f8 2a 80 d0 95 ff bc 31 80 dd db 01 04 30 66 33 63"},
    {"vouch", "01 c0 c4 07"},
    {"number", "01 10"},
    {"number max", "01 ff ff ff ff ff ff ff ff ff 01"},
    {"job options", "01 03 01 01 00 6c 80 08 c9 f1 f8 2a 80 d0 95 ff bc 31 01 00 19 06 07 6f 72 64 65 72 2d 31 08 04 80 dd db 01 0a 03 c0 cf 24 0c 04 80 b8 99 29 0e 04 6d 61 69 6c 10 0d 02 05 74 72 61 63 65 02 37 66 01 61 00 00 68 65 6c 6c 6f"},
    {"job row expires", "01 01 01 80 08 11 00 07 10 01 00 00 05 5e 38 c9 00 00 00 00 01 b2 07 04 62 6f 6f 6d 02 02 70 33 04 07 02 80 d0 95 ff bc 31 00"},
    {"job row done", "01 03 01 80 08 16 72 00 00 00 03 00 00 00 01 00 00 05 5e 38 c9 00 00 00 00 01 b2 07 00 00"},
    {"job row waiting", "01 04 00 80 08 10 77 00 00 00 03 00 00 00 01 00 00 00 00 01 b2 07 00 00"},
    {"dead letter type", "01 03 01 01 04 61 63 6d 65 07 19 19 80 08 c9 f1 f8 2a 80 d0 95 ff bc 31 ac 02 10 61 74 74 65 6d 70 74 73 20 75 73 65 64 20 75 70 04 62 6f 6f 6d 02 04 6d 61 69 6c 00"},
    {"kept result", "01 03 01 01 04 61 63 6d 65 07 02 19 80 08 80 d0 95 ff bc 31 e0 a4 99 ff bc 31 c9 a9 92 54 ac 02 04 62 6f 6f 6d 04 73 65 6e 74 00"},
    {"kept result type", "01 03 01 01 04 61 63 6d 65 07 02 19 80 08 80 d0 95 ff bc 31 e0 a4 99 ff bc 31 c9 a9 92 54 ac 02 04 62 6f 6f 6d 04 73 65 6e 74 02 04 6d 61 69 6c 00"},
    {"waiting", "01 04 03 01 01 04 61 63 6d 65 07 80 08 c9 f1 f8 2a 02 e0 a4 99 ff bc 31 02 00"},
    {"unique", "01 00 00 00 00 01 b2 07 00 01"},
    {"unique window", "01 00 00 00 00 01 b2 07 c9 ce d4 2c 00"},
    {"unique window life", "02 00 00 00 00 01 b2 07 c9 ce d4 2c 00 ac 02"},
    {"timer", "01 12 75 00 00 00 03 61 63 6d 65 00 01 6f 72 64 65 72 2d 31"},
    {"timer no row", "01 00"},
    {"edge", "01"},
    {"hand-over", "01 01 00 00 00 00 01 b2 07 01 00 00 00 00 01 86 9f 00"},
    {"hand-over gone", "01 03 00 00 00 00 01 86 9f 02 00 00 00 00 01 b2 07 00 00 00 00 01 b2 17 09 63 61 6e 63 65 6c 6c 65 64"},
    {"schedule cron", "01 04 6d 61 69 6c 04 61 63 6d 65 05 68 65 6c 6c 6f 01 09 30 20 33 20 2a 20 2a 20 2a 0d 45 75 72 6f 70 65 2f 42 65 72 6c 69 6e 00 00 01 00 e0 a4 99 ff bc 31 00 00 00 00 80 d0 95 ff bc 31 80 08 00"},
    {"schedule every", "01 04 6d 61 69 6c 04 61 63 6d 65 05 68 65 6c 6c 6f 02 00 00 80 dd db 01 e0 d4 03 03 01 00 80 d0 95 ff bc 31 ac 02 02 01 80 d0 95 ff bc 31 80 08 02 03 e0 d4 03 04 03 01 02 03 06 07 6f 72 64 65 72 2d 31 08 04 80 dd db 01 0a 03 c0 cf 24 0c 04 80 b8 99 29 0e 04 6d 61 69 6c 10 0d 02 05 74 72 61 63 65 02 37 66 01 61 00 12 01 00 00"},
    {"queue options", "01 03 01 01 02 03 e0 d4 03 04 01 00 06 03 01 02 03 08 04 80 dd db 01 0a 04 80 b8 99 29 0c 02 e8 07 0e 07 ff ff ff ff ff ff 3f 10 05 01 00 00 ac 02 12 01 04 14 01 00 16 01 05 18 03 a0 c2 1e 1a 01 0a 1c 03 90 a1 0f 1e 01 04 20 01 07 22 03 02 ac 02 28 03 e0 d4 03 00"},
    {"dropped queue", "01 04 6d 61 69 6c"},
    {"key space options", "6f 00 00 00 03 61 63 6d 65"},
    {"key space rate", "67 00 00 00 03 61 63 6d 65"},
    {"space options", "01 02 01 05 04 03 a0 c2 1e 06 01 0a 08 01 03 0a 04 c9 f1 f8 2a 00"},
    {"space options none", "01 02 05 ff ff ff ff 0f 04 01 00 00"},
    {"space rate", "01 c9 f1 f8 2a"},
    // clang-format on
};

TEST(Golden, KeysAndValuesHaveTheirBytes) {
  std::map<std::string, std::string> encoded = EncodedKeys();
  encoded.merge(EncodedValues());
  EXPECT_EQ(encoded.size(), kGolden.size());
  for (const auto& [name, bytes] : encoded) {
    const auto golden = kGolden.find(name);
    ASSERT_NE(golden, kGolden.end()) << name;
    EXPECT_EQ(Hex(bytes), golden->second) << name;
  }
}

TEST(Golden, TheDocumentShowsTheSameBytes) {
  std::ifstream document(VESTQ_FORMAT_MD);
  ASSERT_TRUE(document.is_open()) << VESTQ_FORMAT_MD;
  std::map<std::string, std::string> shown;
  bool golden = false;
  constexpr size_t kNameColumns = 21;
  for (std::string line; std::getline(document, line);) {
    if (line.starts_with("```")) {
      golden = line == "```golden";
    } else if (golden) {
      ASSERT_GT(line.size(), kNameColumns) << line;
      const std::string name = line.substr(0, line.find_last_not_of(' ', kNameColumns - 1) + 1);
      EXPECT_TRUE(shown.emplace(name, line.substr(kNameColumns)).second) << name;
    }
  }
  EXPECT_EQ(shown, kGolden);
}

TEST(Golden, PersistedNumbersKeepTheirValues) {
  EXPECT_EQ(static_cast<int>(Range::kScheduled), 0x10);
  EXPECT_EQ(static_cast<int>(Range::kReady), 0x20);
  EXPECT_EQ(static_cast<int>(Range::kLeased), 0x30);
  EXPECT_EQ(static_cast<int>(Clock::kEngine), 1);
  EXPECT_EQ(static_cast<int>(Clock::kWall), 2);
  EXPECT_EQ(static_cast<int>(Order::kPriority), 1);
  EXPECT_EQ(static_cast<int>(Order::kTime), 2);
  EXPECT_EQ(static_cast<int>(Place::kVesting), 1);
  EXPECT_EQ(static_cast<int>(Place::kDead), 2);
  EXPECT_EQ(static_cast<int>(Place::kDone), 3);
  EXPECT_EQ(static_cast<int>(Place::kWaiting), 4);
  EXPECT_EQ(static_cast<int>(TimerKind::kUniqueWindow), 1);
  EXPECT_EQ(static_cast<int>(TimerKind::kKept), 2);
  EXPECT_EQ(static_cast<int>(TimerKind::kExpire), 3);
  EXPECT_EQ(static_cast<int>(TimerKind::kSchedule), 4);
  EXPECT_EQ(static_cast<int>(HandoverKind::kSubscribe), 1);
  EXPECT_EQ(static_cast<int>(HandoverKind::kParentDone), 2);
  EXPECT_EQ(static_cast<int>(HandoverKind::kParentGone), 3);
  EXPECT_EQ(static_cast<int>(HandoverKind::kAnswer), 4);
  EXPECT_EQ(static_cast<int>(ScheduleKind::kCron), 1);
  EXPECT_EQ(static_cast<int>(ScheduleKind::kEvery), 2);
  EXPECT_EQ(static_cast<int>(Missed::kOnce), 1);
  EXPECT_EQ(static_cast<int>(Missed::kSkip), 2);
  EXPECT_EQ(static_cast<int>(Missed::kAll), 3);
  EXPECT_EQ(int{kFlagJobRow}, 1);
  EXPECT_EQ(int{kFlagBackoff}, 2);
  EXPECT_EQ(int{kFlagUnique}, 4);
  EXPECT_EQ(int{kFlagKeep}, 8);
  EXPECT_EQ(int{kFlagParent}, 16);
  EXPECT_EQ(int{kFlagExpire}, 32);
  EXPECT_EQ(int{kFlagExtra}, 64);
  EXPECT_EQ(int{kFlagCheckpoint}, 128);
  EXPECT_EQ(static_cast<int>(Counter::kReady), 0);
  EXPECT_EQ(static_cast<int>(Counter::kBytes), 5);
  EXPECT_EQ(static_cast<int>(Counter::kEnqueued), 6);
  EXPECT_EQ(static_cast<int>(Counter::kCancelled), 13);
  EXPECT_EQ(static_cast<int>(Counter::kDone), 14);
  EXPECT_EQ(static_cast<int>(Counter::kDeadBytes), 15);
  EXPECT_EQ(static_cast<int>(Counter::kLapsed), 16);
  EXPECT_EQ(static_cast<int>(Counter::kDropped), 17);
  EXPECT_EQ(static_cast<int>(Counter::kDuplicates), 18);
  EXPECT_EQ(static_cast<int>(Counter::kRateUntil), 19);
  EXPECT_EQ(static_cast<int>(Counter::kUnnamedRateUntil), 20);
}

// From XXH3_64bits of libxxhash called by another program.
TEST(Golden, LanesOfSpacesStay) {
  struct Case {
    std::string queue, space;
    uint16_t of_16, of_1024;
  };
  const Case cases[] = {
      {"mail", "acme", 11, 715},
      {"mail", "acme2", 6, 70},
      {"maila", "cme", 0, 448},
      {"mail", std::string("\0\1\xFF", 3), 12, 492},
      {std::string(200, 'q'), std::string(200, 's'), 14, 526},
      {"mail", std::string(2000, 'k'), 13, 957},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(LaneOfSpace(c.queue, c.space, 1), LaneId(0));
    EXPECT_EQ(LaneOfSpace(c.queue, c.space, 16), LaneId(c.of_16)) << c.queue << " " << c.space;
    EXPECT_EQ(LaneOfSpace(c.queue, c.space, 1024), LaneId(c.of_1024)) << c.queue;
  }
}

}  // namespace
}  // namespace vestq::keycodec
