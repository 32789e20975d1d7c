// Bytes from a damaged disk: truncated, random, mutated (VALUE-1, VALUE-2, KEY-2). Inputs stand in
// buffers of their exact size, so that AddressSanitizer sees a read of one byte too many.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>

#include "tests/keycodec/allocations.h"
#include "tests/keycodec/codecs.h"

namespace vestq::keycodec {
namespace {

using testing::Codec;
using testing::Codecs;
using testing::Random;

class Exact {
 public:
  explicit Exact(std::string_view bytes)
      : size_(bytes.size()), bytes_(std::make_unique<char[]>(size_)) {
    if (size_ > 0) std::memcpy(bytes_.get(), bytes.data(), size_);
  }
  std::string_view view() const { return std::string_view(bytes_.get(), size_); }

 private:
  const size_t size_;
  const std::unique_ptr<char[]> bytes_;
};

// Room for the text of an error, which is all that a decoder may allocate beyond its input. A
// string may reserve twice what it holds.
constexpr size_t kErrorTextBytes = 240;

// Decodes; checks that the outcome is clean. Returns whether it was a value.
bool DecodesCleanly(const Codec& codec, std::string_view bytes) {
  const Exact input(bytes);
  testing::ResetAllocations();
  const Result<std::string> again = codec.recode(input.view());
  // Encoding again may outgrow the input where unknown counters are filled in, and doubles its
  // string.
  const size_t bound = std::max(kErrorTextBytes, codec.growth * bytes.size() + 32);
  EXPECT_LE(testing::CountedAllocations().largest, bound) << codec.name;
  if (!again.ok()) {
    const Error error = again.error();
    EXPECT_TRUE(error.code() == ErrorCode::kCorruption || error.code() == ErrorCode::kUnsupported)
        << codec.name << ": " << error.ToString();
    EXPECT_FALSE(error.text().empty());
    return false;
  }
  if (codec.bijective) {
    EXPECT_EQ(*again, bytes) << codec.name;
  } else {
    // What was skipped stays away: the second time nothing changes.
    const Result<std::string> third = codec.recode(*again);
    EXPECT_TRUE(third.ok() && *third == *again) << codec.name;
  }
  return true;
}

TEST(Hostile, EveryTruncationIsRefused) {
  Random r(51);
  for (const Codec& codec : Codecs()) {
    for (int i = 0; i < 200; ++i) {
      const std::string bytes = codec.make(r);
      ASSERT_TRUE(DecodesCleanly(codec, bytes)) << codec.name;
      for (size_t size = 0; size < bytes.size(); ++size) {
        const bool value = DecodesCleanly(codec, std::string_view(bytes).substr(0, size));
        ASSERT_FALSE(value && codec.prefix_free) << codec.name << " cut to " << size;
      }
      if (::testing::Test::HasFailure()) return;
    }
  }
}

TEST(Hostile, AByteMoreIsRefused) {
  Random r(52);
  for (const Codec& codec : Codecs()) {
    if (!codec.prefix_free) continue;
    for (int i = 0; i < 500; ++i) {
      ASSERT_FALSE(DecodesCleanly(codec, codec.make(r) + r.Bytes(1))) << codec.name;
    }
  }
}

TEST(Hostile, AMillionRandomStringsDecodeOrFailCleanly) {
  Random r(53);
  int values = 0;
  const std::vector<Codec>& codecs = Codecs();
  for (int i = 0; i < 1'000'000 && !HasFailure(); ++i) {
    const Codec& codec = codecs[static_cast<size_t>(i) % codecs.size()];
    std::string bytes = r.Bytes(r.Below(r.OneIn(10) ? 300 : 24));
    // Half of them begin as the format does, so that they reach further in.
    if (r.OneIn(2)) bytes.insert(0, codec.make(r).substr(0, 1 + r.Below(4)));
    values += DecodesCleanly(codec, bytes) ? 1 : 0;
  }
  EXPECT_GT(values, 1000) << "too few got through to say anything";
}

std::string Mutated(std::string bytes, Random& r) {
  for (uint64_t n = 1 + r.Below(3); n > 0; --n) {
    const size_t at = bytes.empty() ? 0 : r.Below(bytes.size());
    switch (r.Below(6)) {
      case 0: bytes.insert(at, r.Bytes(1 + r.Below(3))); break;
      case 1: bytes.erase(at, 1 + r.Below(3)); break;
      case 2: bytes.resize(at); break;
      case 3: bytes.append(r.Bytes(1 + r.Below(4))); break;
      case 4:
        if (!bytes.empty()) bytes[at] = static_cast<char>(bytes[at] ^ (1 << r.Below(8)));
        break;
      default:
        if (!bytes.empty()) bytes[at] = r.Bytes(1)[0];
    }
  }
  return bytes;
}

TEST(Hostile, AMillionMutationsDecodeOrFailCleanly) {
  Random r(54);
  int values = 0, errors = 0;
  const std::vector<Codec>& codecs = Codecs();
  for (int i = 0; i < 1'000'000 && !HasFailure(); ++i) {
    const Codec& codec = codecs[static_cast<size_t>(i) % codecs.size()];
    ++(DecodesCleanly(codec, Mutated(codec.make(r), r)) ? values : errors);
  }
  EXPECT_GT(values, 100'000);
  EXPECT_GT(errors, 100'000);
}

TEST(Hostile, RangeAndZoneOfRandomKeysNeverReadOutside) {
  Random r(55);
  for (int i = 0; i < 200'000; ++i) {
    const Exact key(Mutated(Encode(r.AnyReadyKey()), r));
    const Result<Range> range = RangeOf(key.view());
    ASSERT_EQ(range.error().code(), range.ok() ? ErrorCode::kOk : ErrorCode::kCorruption);
    const Result<size_t> length = ZonePrefixLength(key.view());
    if (length.ok()) {
      ASSERT_LE(*length, key.view().size());
      ASSERT_EQ(*range, Range::kReady);
    } else {
      ASSERT_EQ(length.error().code(), ErrorCode::kCorruption);
    }
  }
}

struct Refused {
  const char* why;
  std::string bytes;
  const char* text;
};

std::string B(std::initializer_list<int> bytes) {
  std::string out;
  for (const int b : bytes) out.push_back(static_cast<char>(b));
  return out;
}

TEST(Hostile, NumbersAreRefusedByName) {
  const Refused cases[] = {
      {"no bytes", "", "version: ends early"},
      {"version 0", B({0, 1}), "version: is 0"},
      {"no number", B({1}), "number: ends early"},
      {"unfinished", B({1, 0x80}), "number: ends early"},
      {"over-long 0", B({1, 0x80, 0}), "not in its shortest form"},
      {"over-long 1", B({1, 0x81, 0x80, 0}), "not in its shortest form"},
      {"2^64", B({1, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 2}), "too long"},
      {"eleven", B({1, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x81, 0}), "too long"},
      {"left over", B({1, 5, 0}), "end: bytes left over (byte 2)"},
  };
  for (const Refused& c : cases) {
    const Result<uint64_t> number = DecodeNumber(c.bytes);
    ASSERT_FALSE(number.ok()) << c.why;
    EXPECT_EQ(number.error().code(), ErrorCode::kCorruption) << c.why;
    EXPECT_NE(number.error().text().find(c.text), std::string::npos) << number.error().text();
  }
}

TEST(Hostile, ReadyKeysAreRefusedByName) {
  const std::string head = B({0, 7, 0x20, 0, 0, 0, 3, 0, 0, 0, 1, 1});
  const std::string rank = B({0, 0, 4, 0, 0, 0, 0, 0, 0, 1});
  const std::string id = B({0, 0, 0, 0, 0, 0, 9});
  const std::string end = B({0, 1});
  ASSERT_TRUE(DecodeReadyKey(head + end + rank + id).ok());
  const std::string longest(limits::kSpaceBytes, 'x');
  ASSERT_TRUE(DecodeReadyKey(head + longest + end + rank + id).ok());
  const Refused cases[] = {
      {"another range", B({0, 7, 0x30}) + head.substr(3) + end + rank + id, "range"},
      {"order 0", head.substr(0, 11) + B({0}) + end + rank + id, "order"},
      {"order 3", head.substr(0, 11) + B({3}) + end + rank + id, "order"},
      {"escape", head + B({0, 2}) + end + rank + id, "space: unknown escape"},
      {"no terminator", head + "abc", "space: ends early"},
      {"half a terminator", head + B({'a', 0}), "space: ends early"},
      {"space too long", head + longest + "x" + end + rank + id, "space: too long"},
      {"zeros too long", head + longest + B({0, 0xFF}) + end + rank + id, "space: too long"},
      {"id 0", head + end + rank + B({0, 0, 0, 0, 0, 0, 0}), "id: out of range"},
      {"id 2^53", head + end + rank + B({0x20, 0, 0, 0, 0, 0, 0}), "id: out of range"},
      {"left over", head + end + rank + id + "x", "end: bytes left over"},
  };
  for (const Refused& c : cases) {
    const Result<ReadyKey> key = DecodeReadyKey(c.bytes);
    ASSERT_FALSE(key.ok()) << c.why;
    EXPECT_EQ(key.error().code(), ErrorCode::kCorruption) << c.why;
    EXPECT_NE(key.error().text().find(c.text), std::string::npos) << key.error().text();
  }
}

TEST(Hostile, QueueKeysNeedANameOfLegalLength) {
  EXPECT_FALSE(DecodeQueueKey("q").ok());
  EXPECT_FALSE(DecodeQueueKey("smail").ok());
  EXPECT_TRUE(DecodeQueueKey("q" + std::string(limits::kQueueNameBytes, 'x')).ok());
  EXPECT_FALSE(DecodeQueueKey("q" + std::string(limits::kQueueNameBytes + 1, 'x')).ok());
}

TEST(Hostile, NamesAndUniqueKeysNeedALegalLength) {
  EXPECT_FALSE(DecodeScheduleKey("h").ok());
  EXPECT_TRUE(DecodeScheduleKey("h" + std::string(limits::kScheduleNameBytes, 'x')).ok());
  EXPECT_FALSE(DecodeScheduleKey("h" + std::string(limits::kScheduleNameBytes + 1, 'x')).ok());
  const std::string unique = B({'u', 0, 0, 0, 3, 'a', 0, 1});
  EXPECT_FALSE(DecodeUniqueKey(unique).ok());
  EXPECT_TRUE(DecodeUniqueKey(unique + std::string(limits::kUniqueKeyBytes, 'x')).ok());
  EXPECT_FALSE(DecodeUniqueKey(unique + std::string(limits::kUniqueKeyBytes + 1, 'x')).ok());
  EXPECT_FALSE(DecodeUniqueKey(B({'u', 0, 0, 0, 3, 'a', 0, 2, 'k'})).ok());
  EXPECT_FALSE(DecodeDroppedValue(B({1, 0})).ok());
  const std::string options = B({'o', 0, 0, 0, 3}), rate = B({'g', 0, 0, 0, 3});
  EXPECT_TRUE(DecodeSpaceOptionsKey(options).ok());
  EXPECT_FALSE(DecodeSpaceRateKey(rate).ok());
  EXPECT_FALSE(DecodeSpaceOptionsKey(options.substr(0, 4)).ok());
  EXPECT_TRUE(DecodeSpaceRateKey(rate + std::string(limits::kSpaceBytes, 'x')).ok());
  EXPECT_FALSE(DecodeSpaceRateKey(rate + std::string(limits::kSpaceBytes + 1, 'x')).ok());
  EXPECT_FALSE(DecodeSpaceValue(B({1, 0})).ok());                    // none is set
  EXPECT_FALSE(DecodeSpaceValue(B({1, 8, 1, 0, 0})).ok());           // weight 0
  EXPECT_FALSE(DecodeSpaceValue(B({1, 8, 2, 0xE9, 0x07, 0})).ok());  // weight 1001
  EXPECT_EQ(DecodeSpaceValue(B({1, 12, 1, 1, 0})).error().code(), ErrorCode::kUnsupported);
  EXPECT_FALSE(DecodeDroppedValue(B({1, 0xC9, 1}) + std::string(201, 'x')).ok());
}

TEST(Hostile, TimerKeysAreRefusedByName) {
  const std::string head = B({'t', 0, 7, 1, 0, 0, 0, 0, 0, 9});
  const std::string id = B({0, 0, 0, 0, 0, 0, 9});
  ASSERT_TRUE(DecodeTimerKey(head + B({3}) + id).ok());
  ASSERT_TRUE(DecodeTimerKey(head + B({4}) + "nightly").ok());
  const Refused cases[] = {
      {"clock 3", B({'t', 0, 7, 3}) + head.substr(4) + B({3}) + id, "clock"},
      {"kind 0", head + B({0}) + id, "kind"},
      {"kind 5", head + B({5}) + id, "kind"},
      {"no id", head + B({1}), "id: ends early"},
      {"id 0", head + B({2, 0, 0, 0, 0, 0, 0, 0}), "id: out of range"},
      {"left over", head + B({2}) + id + "x", "end: bytes left over"},
      {"no name", head + B({4}), "schedule: empty"},
      {"long name", head + B({4}) + std::string(201, 'x'), "schedule: too long"},
  };
  for (const Refused& c : cases) {
    const Result<TimerRowKey> key = DecodeTimerKey(c.bytes);
    ASSERT_FALSE(key.ok()) << c.why;
    EXPECT_EQ(key.error().code(), ErrorCode::kCorruption) << c.why;
    EXPECT_NE(key.error().text().find(c.text), std::string::npos) << key.error().text();
  }
}

TEST(Hostile, AHugeCountAllocatesNothing) {
  const std::string huge = B({0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 1});
  const std::string handover = B({1, 1, 0, 0, 0, 0, 0, 0, 9}) + huge + std::string(20, '\1');
  std::string job = testing::EncodedJob(JobHeader(), "");
  job.pop_back();
  job += B({16, 30}) + huge + std::string(20, '\0') + B({0});
  testing::ResetAllocations();
  const Result<HandoverValue> jobs = DecodeHandoverValue(handover);
  const Result<JobRecord> headers = DecodeJobRecord(job);
  EXPECT_LE(testing::CountedAllocations().largest, kErrorTextBytes);
  ASSERT_FALSE(jobs.ok() || headers.ok());
  EXPECT_EQ(jobs.error().text(), "hand-over: jobs: ends early (byte 19)");
  EXPECT_NE(headers.error().text().find("headers: ends early"), std::string::npos);
}

TEST(Hostile, AHugeLengthAllocatesNothing) {
  // A job row whose key claims 2^63 bytes.
  const std::string bytes =
      B({1, 1, 0, 0, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 1}) + "key";
  testing::ResetAllocations();
  const Result<JobRow> row = DecodeJobRow(bytes);
  const testing::Allocations allocations = testing::CountedAllocations();
  ASSERT_FALSE(row.ok());
  EXPECT_LE(allocations.largest, kErrorTextBytes);
  EXPECT_EQ(row.error().text(), "job row: key: ends early (byte 14)");
}

}  // namespace
}  // namespace vestq::keycodec
