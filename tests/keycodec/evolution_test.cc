// VALUE-3: what a newer vestq wrote is understood, skipped or refused, never guessed at.
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "keycodec/records.h"
#include "tests/keycodec/codecs.h"

namespace vestq::keycodec {
namespace {

using testing::Codec;
using testing::Codecs;
using testing::Encoded;
using testing::EncodedJob;
using testing::Random;

JobHeader Header() {
  JobHeader header;
  header.zone = {QueueId(3), Incarnation(1), Order::kPriority, "acme"};
  header.attempts_max = 25;
  return header;
}

// A record with these bytes in place of its (empty) list of tagged fields.
std::string WithTags(const std::string& tags) {
  std::string bytes = EncodedJob(Header(), "");
  EXPECT_EQ(bytes.back(), '\0');
  bytes.pop_back();
  return bytes + tags;
}

std::string Tags(std::initializer_list<int> bytes) {
  std::string out;
  for (const int b : bytes) out.push_back(static_cast<char>(b));
  return out;
}

ErrorCode CodeOf(const std::string& bytes) { return DecodeJobRecord(bytes).error().code(); }

TEST(JobHeaderTags, LeaseAndBackoffAreRead) {
  const std::string bytes = WithTags(Tags({2, 2, 0xE8, 0x07, 4, 1, 'b', 0}) + "payload");
  const Result<JobRecord> record = DecodeJobRecord(bytes);
  ASSERT_TRUE(record.ok()) << record.error().ToString();
  EXPECT_EQ(record->header.lease_ms, 1000);
  EXPECT_EQ(record->header.backoff, "b");
  EXPECT_EQ(record->payload, "payload");
}

TEST(JobHeaderTags, AnUnknownOddTagIsSkipped) {
  const std::string bytes =
      WithTags(Tags({1, 3, 'x', 'y', 'z', 2, 1, 100, 3, 0, 0x81, 1, 1, 'w', 0}) + "payload");
  const Result<JobRecord> record = DecodeJobRecord(bytes);
  ASSERT_TRUE(record.ok()) << record.error().ToString();
  JobHeader expected = Header();
  expected.lease_ms = 100;
  EXPECT_EQ(record->header, expected);
  EXPECT_EQ(record->payload, "payload");
}

TEST(JobHeaderTags, AnUnknownEvenTagIsRefused) {
  EXPECT_EQ(CodeOf(WithTags(Tags({18, 1, 'x', 0}))), ErrorCode::kUnsupported);
  EXPECT_EQ(CodeOf(WithTags(Tags({0x80, 1, 0, 0}))), ErrorCode::kUnsupported);
}

TEST(JobHeaderTags, DamageIsCorruption) {
  EXPECT_EQ(CodeOf(WithTags("")), ErrorCode::kCorruption) << "no end";
  EXPECT_EQ(CodeOf(WithTags(Tags({1, 5, 'x', 0}))), ErrorCode::kCorruption) << "too short";
  EXPECT_EQ(CodeOf(WithTags(Tags({3, 0, 1, 0, 0}))), ErrorCode::kCorruption) << "falling";
  EXPECT_EQ(CodeOf(WithTags(Tags({4, 1, 'a', 4, 1, 'b', 0}))), ErrorCode::kCorruption) << "twice";
  EXPECT_EQ(CodeOf(WithTags(Tags({2, 0, 0}))), ErrorCode::kCorruption) << "no lease";
  EXPECT_EQ(CodeOf(WithTags(Tags({2, 1, 0, 0}))), ErrorCode::kCorruption) << "lease 0";
  EXPECT_EQ(CodeOf(WithTags(Tags({2, 2, 5, 0, 0}))), ErrorCode::kCorruption) << "left over";
  EXPECT_EQ(CodeOf(WithTags(Tags({2, 2, 0x85, 0, 0}))), ErrorCode::kCorruption) << "over-long";
  EXPECT_EQ(CodeOf(WithTags(Tags({4, 0, 0}))), ErrorCode::kCorruption) << "empty back-off";
  for (const int tag : {6, 8, 10, 12, 14, 16}) {
    EXPECT_EQ(CodeOf(WithTags(Tags({tag, 0, 0}))), ErrorCode::kCorruption) << "nothing in " << tag;
  }
  EXPECT_EQ(CodeOf(WithTags(Tags({12, 1, 0, 0}))), ErrorCode::kOk) << "KEEP 0 is said";
  for (const int tag : {8, 10, 16}) {
    EXPECT_EQ(CodeOf(WithTags(Tags({tag, 1, 0, 0}))), ErrorCode::kCorruption) << "0 in " << tag;
  }
  EXPECT_EQ(CodeOf(WithTags(Tags({16, 3, 2, 0, 0, 0}))), ErrorCode::kCorruption) << "one header";
  EXPECT_EQ(CodeOf(WithTags(Tags({16, 4, 1, 0, 0, 0, 0}))), ErrorCode::kCorruption) << "left over";
  const std::string key(limits::kUniqueKeyBytes + 1, 'k');
  EXPECT_EQ(CodeOf(WithTags(Tags({6, 0x81, 4}) + key + Tags({0}))), ErrorCode::kCorruption);
  EXPECT_EQ(CodeOf(WithTags(Tags({6, 0x80, 4}) + key.substr(1) + Tags({0}))), ErrorCode::kOk);
}

TEST(JobHeaderTags, DamageInsideAFieldSaysWhereItIs) {
  const std::string bytes = WithTags(Tags({2, 2, 0x85, 0, 0}));
  EXPECT_EQ(DecodeJobRecord(bytes).error().text(),
            "job record: lease: number not in its shortest form (byte " +
                std::to_string(bytes.size() - 3) + ")");
}

// Every value with tagged fields, without any of them.
struct Tagged {
  const char* name;
  std::string bytes;
};
std::vector<Tagged> TaggedValues() {
  return {{"job record", EncodedJob(Header(), "")}, {"job row", Encoded(JobRow{})},
          {"dead letter", Encoded(DeadValue{})},    {"kept result", Encoded(DoneValue{})},
          {"waiting job", Encoded(WaitingValue{})}, {"schedule", Encoded(ScheduleValue{})},
          {"queue", Encoded(QueueValue{})}};
}

const Codec& CodecOf(std::string_view name) {
  for (const Codec& codec : Codecs()) {
    if (codec.name == name) return codec;
  }
  ADD_FAILURE() << "no codec " << name;
  return Codecs().front();
}

TEST(Tags, OddIsSkippedAndEvenIsRefusedInEveryValueThatHasThem) {
  for (const auto& [name, bytes] : TaggedValues()) {
    const Codec& codec = CodecOf(name);
    ASSERT_EQ(bytes.back(), '\0') << name;
    const std::string head = bytes.substr(0, bytes.size() - 1);
    const Result<std::string> skipped = codec.recode(head + Tags({1, 2, 'x', 'y', 101, 0, 0}));
    ASSERT_TRUE(skipped.ok()) << name << ": " << skipped.error().ToString();
    EXPECT_EQ(*skipped, bytes) << name << ": as if it had not been there";
    EXPECT_EQ(codec.recode(head + Tags({100, 0, 0})).error().code(), ErrorCode::kUnsupported)
        << name;
    EXPECT_EQ(codec.recode(head + Tags({3, 0, 1, 0, 0})).error().code(), ErrorCode::kCorruption)
        << name << ": falling";
    EXPECT_EQ(codec.recode(head).error().code(), ErrorCode::kCorruption) << name << ": no end";
  }
}

// The first tag that each of them does not know yet.
TEST(Tags, TheNextEvenOneIsRefused) {
  const std::pair<const char*, int> next[] = {
      {"job record", 18}, {"job row", 6},   {"dead letter", 4}, {"kept result", 4},
      {"waiting job", 2}, {"schedule", 20}, {"queue", 36}};
  for (const auto& [name, tag] : next) {
    for (const auto& [value, bytes] : TaggedValues()) {
      if (std::string_view(value) != name) continue;
      const std::string head = bytes.substr(0, bytes.size() - 1);
      EXPECT_EQ(CodecOf(name).recode(head + Tags({tag, 1, 1, 0})).error().code(),
                ErrorCode::kUnsupported)
          << name;
    }
  }
}

TEST(QueueTags, SetAndNotSetAreDifferentThings) {
  QueueValue queue{QueueId(3), Incarnation(1), Order::kTime};
  queue.attempts = 0;
  queue.keep_ms = 0;
  queue.paused_until_ms = 0;
  const Result<QueueValue> back = DecodeQueueValue(Encoded(queue));
  ASSERT_TRUE(back.ok()) << back.error().ToString();
  EXPECT_EQ(*back, queue);
  EXPECT_TRUE(back->attempts.has_value());
  EXPECT_FALSE(back->lease_ms.has_value());
}

TEST(QueueTags, DamageIsCorruption) {
  std::string head = Encoded(QueueValue{QueueId(3), Incarnation(1), Order::kTime});
  head.pop_back();
  const auto code = [&head](std::initializer_list<int> tags) {
    return DecodeQueueValue(head + Tags(tags)).error().code();
  };
  EXPECT_EQ(code({2, 0, 0}), ErrorCode::kCorruption) << "no lease";
  EXPECT_EQ(code({4, 2, 1, 1, 0}), ErrorCode::kCorruption) << "left over";
  EXPECT_EQ(code({16, 3, 1, 1, 1, 0}), ErrorCode::kCorruption) << "three bounds";
  EXPECT_EQ(code({16, 4, 0, 0, 0, 0, 0}), ErrorCode::kCorruption) << "no bound";
  EXPECT_EQ(code({24, 1, 0, 0}), ErrorCode::kCorruption) << "no rate";
  EXPECT_EQ(code({26, 1, 0, 0}), ErrorCode::kCorruption) << "no burst";
}

TEST(JobRowTags, DamageIsCorruption) {
  std::string head = Encoded(JobRow{});
  head.pop_back();
  const auto code = [&head](std::initializer_list<int> tags) {
    return DecodeJobRow(head + Tags(tags)).error().code();
  };
  EXPECT_EQ(code({4, 2, 2, 9, 0}), ErrorCode::kOk);
  EXPECT_EQ(code({2, 0, 0}), ErrorCode::kCorruption) << "empty checkpoint";
  EXPECT_EQ(code({4, 2, 3, 9, 0}), ErrorCode::kCorruption) << "clock 3";
  EXPECT_EQ(code({4, 2, 2, 0, 0}), ErrorCode::kCorruption) << "time 0";
  EXPECT_EQ(code({4, 1, 2, 0}), ErrorCode::kCorruption) << "no time";
}

TEST(CounterRows, FewerReadAsZeroAndMoreAreRefused) {
  const Result<CounterValue> fewer = DecodeCounterValue(Tags({1, 9, 2, 10, 1}));
  ASSERT_TRUE(fewer.ok()) << fewer.error().ToString();
  EXPECT_EQ(fewer->incarnation, Incarnation(9));
  EXPECT_EQ((*fewer)[Counter::kReady], 5);
  EXPECT_EQ((*fewer)[Counter::kScheduled], -1);
  EXPECT_EQ((*fewer)[Counter::kCancelled], 0);

  // What was written before the last five were known.
  const Result<CounterValue> before = DecodeCounterValue(Tags({1, 9, 14}) + std::string(14, '\2'));
  ASSERT_TRUE(before.ok()) << before.error().ToString();
  EXPECT_EQ((*before)[Counter::kCancelled], 1);
  EXPECT_EQ((*before)[Counter::kDone], 0);

  const std::string more = Tags({1, 9, kCounters + 1}) + std::string(kCounters + 1, '\0');
  EXPECT_EQ(DecodeCounterValue(more).error().code(), ErrorCode::kUnsupported);
  EXPECT_EQ(DecodeCounterValue(Tags({1, 9, 100, 0})).error().code(), ErrorCode::kCorruption);
}

TEST(Flags, AnUnknownOneIsRefused) {
  static_assert(kFlagsKnown == 0xFF);
  EXPECT_TRUE(DecodeReadyValue(Tags({1, 0xFF, 1, 0})).ok());
  EXPECT_EQ(DecodeReadyValue(Tags({1, 0x80, 2, 0})).error().code(), ErrorCode::kUnsupported);
}

TEST(Version, ANewerOneIsUnsupportedAndZeroIsDamage) {
  Random r(61);
  int values = 0;
  for (const Codec& codec : Codecs()) {
    std::string bytes = codec.make(r);
    if (std::string_view(codec.name).ends_with("key")) continue;
    ++values;
    bytes[0] = 3;  // 2 is a known version of one of them
    EXPECT_EQ(codec.recode(bytes).error().code(), ErrorCode::kUnsupported) << codec.name;
    bytes[0] = 0;
    EXPECT_EQ(codec.recode(bytes).error().code(), ErrorCode::kCorruption) << codec.name;
  }
  EXPECT_EQ(values, 21);
}

TEST(Ranges, TimesBeyond48BitsAreDamage) {
  // enqueued = 2^48: the last byte of a READY-less SCHEDULED value's varint.
  const std::string head = Tags({1, 0, 0, 3, 1, 1, 0, 0});
  EXPECT_TRUE(DecodeScheduledValue(head + Tags({0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x3F})).ok());
  const auto beyond = DecodeScheduledValue(head + Tags({0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x40}));
  EXPECT_EQ(beyond.error().text(), "SCHEDULED value: enqueued: out of range (byte 8)");
  EXPECT_EQ(beyond.error().code(), ErrorCode::kCorruption);
}

}  // namespace
}  // namespace vestq::keycodec
