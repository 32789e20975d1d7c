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

CounterValue Counters() {
  CounterValue counters;
  counters.incarnation = kIncarnation;
  counters.values = {5, -1, 64, 0, 0, -4096, 7, 0, 0, 0, 0, 0, 0, INT64_MIN};
  return counters;
}

std::map<std::string, std::string> EncodedValues() {
  const std::string scheduled = Encode(ScheduledKey{kLane, Clock::kEngine, kEngineMs, kId});
  const std::string dead = DeadKey(kQueue, kIncarnation, kEngineMs, kId);
  return {
      {"ready", Encoded(ReadyValue{})},
      {"ready flags", Encoded(ReadyValue{kFlagJobRow | kFlagBackoff | kFlagExpire, 300})},
      {"scheduled", Encoded(ScheduledValue{kFlagBackoff, 1, Acme(), 1024, kEngineMs})},
      {"leased", Encoded(Leased())},
      {"job", EncodedJob(PlainJob(), "hello")},
      {"job full", EncodedJob(FullJob(), "hello")},
      {"job row", Encoded(JobRow{Place::kVesting, scheduled, 1, 1024, "boom", "p3"})},
      {"job row dead", Encoded(JobRow{Place::kDead, dead, 25, 1024, "", ""})},
      {"dead letter", Encoded(DeadValue{Acme(), kLane, 25, 25, 1024, kEngineMs, kWallMs, 300,
                                        "attempts used up", "boom"})},
      {"counters", Encoded(Counters())},
      {"queue", Encoded(QueueValue{kQueue, kIncarnation, Order::kTime})},
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
    {"ready", "01 00 00"},
    {"ready flags", "01 23 ac 02"},
    {"scheduled", "01 02 01 03 01 01 04 61 63 6d 65 80 08 c9 f1 f8 2a"},
    {"leased", "01 02 02 19 03 01 01 04 61 63 6d 65 80 08 c9 f1 f8 2a c9 f1 f8 2a 05 c0 20 b0 ea 01 ac 02 02 77 31"},
    {"job", "01 03 01 01 00 00 80 08 c9 f1 f8 2a 80 d0 95 ff bc 31 01 00 19 00 68 65 6c 6c 6f"},
    {"job full", "01 03 01 01 04 61 63 6d 65 02 80 08 c9 f1 f8 2a 80 d0 95 ff bc 31 02 e0 a4 99 ff bc 31 19 02 03 e0 d4 03 04 03 01 02 03 00 68 65 6c 6c 6f"},
    {"job row", "01 01 01 80 08 11 00 07 10 01 00 00 05 5e 38 c9 00 00 00 00 01 b2 07 04 62 6f 6f 6d 02 70 33"},
    {"job row dead", "01 02 19 80 08 16 64 00 00 00 03 00 00 00 01 00 00 05 5e 38 c9 00 00 00 00 01 b2 07 00 00"},
    {"dead letter", "01 03 01 01 04 61 63 6d 65 07 19 19 80 08 c9 f1 f8 2a 80 d0 95 ff bc 31 ac 02 10 61 74 74 65 6d 70 74 73 20 75 73 65 64 20 75 70 04 62 6f 6f 6d"},
    {"counters", "01 01 0e 0a 01 80 01 00 00 ff 3f 0e 00 00 00 00 00 00 ff ff ff ff ff ff ff ff ff 01"},
    {"queue", "01 03 01 02 00"},
    {"clock", "01 c9 f1 f8 2a 80 d0 95 ff bc 31 80 dd db 01 04 30 66 33 63"},
    {"vouch", "01 c0 c4 07"},
    {"number", "01 10"},
    {"number max", "01 ff ff ff ff ff ff ff ff ff 01"},
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
  EXPECT_EQ(int{kFlagJobRow}, 1);
  EXPECT_EQ(int{kFlagBackoff}, 2);
  EXPECT_EQ(int{kFlagUnique}, 4);
  EXPECT_EQ(int{kFlagKeep}, 8);
  EXPECT_EQ(int{kFlagParent}, 16);
  EXPECT_EQ(int{kFlagExpire}, 32);
  EXPECT_EQ(static_cast<int>(Counter::kReady), 0);
  EXPECT_EQ(static_cast<int>(Counter::kBytes), 5);
  EXPECT_EQ(static_cast<int>(Counter::kEnqueued), 6);
  EXPECT_EQ(static_cast<int>(Counter::kCancelled), 13);
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
