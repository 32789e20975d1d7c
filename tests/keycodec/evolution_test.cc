// VALUE-3: what a newer vestq wrote is understood, skipped or refused, never guessed at.
#include <gtest/gtest.h>

#include <string>

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
  EXPECT_EQ(CodeOf(WithTags(Tags({6, 1, 'x', 0}))), ErrorCode::kUnsupported);
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
}

TEST(QueueTags, OddIsSkippedAndEvenIsRefused) {
  const QueueValue queue{QueueId(3), Incarnation(1), Order::kTime};
  std::string bytes = Encoded(queue);
  bytes.pop_back();
  const Result<QueueValue> skipped = DecodeQueueValue(bytes + Tags({1, 2, 'x', 'y', 0}));
  ASSERT_TRUE(skipped.ok()) << skipped.error().ToString();
  EXPECT_EQ(*skipped, queue);
  EXPECT_EQ(DecodeQueueValue(bytes + Tags({2, 0, 0})).error().code(), ErrorCode::kUnsupported);
}

TEST(CounterRows, FewerReadAsZeroAndMoreAreRefused) {
  const Result<CounterValue> fewer = DecodeCounterValue(Tags({1, 9, 2, 10, 1}));
  ASSERT_TRUE(fewer.ok()) << fewer.error().ToString();
  EXPECT_EQ(fewer->incarnation, Incarnation(9));
  EXPECT_EQ((*fewer)[Counter::kReady], 5);
  EXPECT_EQ((*fewer)[Counter::kScheduled], -1);
  EXPECT_EQ((*fewer)[Counter::kCancelled], 0);

  const std::string more = Tags({1, 9, kCounters + 1}) + std::string(kCounters + 1, '\0');
  EXPECT_EQ(DecodeCounterValue(more).error().code(), ErrorCode::kUnsupported);
  EXPECT_EQ(DecodeCounterValue(Tags({1, 9, 100, 0})).error().code(), ErrorCode::kCorruption);
}

TEST(Flags, AnUnknownOneIsRefused) {
  EXPECT_TRUE(DecodeReadyValue(Tags({1, kFlagsKnown, 0})).ok());
  EXPECT_EQ(DecodeReadyValue(Tags({1, kFlagsKnown + 1, 0})).error().code(),
            ErrorCode::kUnsupported);
}

TEST(Version, ANewerOneIsUnsupportedAndZeroIsDamage) {
  Random r(61);
  int values = 0;
  for (const Codec& codec : Codecs()) {
    std::string bytes = codec.make(r);
    if (std::string_view(codec.name).ends_with("key")) continue;
    ++values;
    bytes[0] = 2;
    EXPECT_EQ(codec.recode(bytes).error().code(), ErrorCode::kUnsupported) << codec.name;
    bytes[0] = 0;
    EXPECT_EQ(codec.recode(bytes).error().code(), ErrorCode::kCorruption) << codec.name;
  }
  EXPECT_EQ(values, 11);
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
