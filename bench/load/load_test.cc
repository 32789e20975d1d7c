// The load generator's own parts: a generator that misjudges answers or times measures nothing.
#include <gtest/gtest.h>

#include <string>

#include "bench/load/dialect.h"
#include "bench/load/histogram.h"
#include "bench/load/payload.h"
#include "bench/load/resp.h"

namespace vestq::bench {
namespace {

TEST(Histogram, BucketsCoverEveryValueWithinTwoPercent) {
  for (uint64_t ns = 1; ns < uint64_t{1} << 40; ns += ns / 7 + 1) {
    const size_t bucket = Histogram::BucketOf(ns);
    EXPECT_GE(Histogram::EndOf(bucket), ns);
    EXPECT_LE(Histogram::EndOf(bucket), ns + ns / 60 + 1);
    if (bucket > 0) {
      EXPECT_LT(Histogram::EndOf(bucket - 1), ns);
    }
  }
}

TEST(Histogram, PercentilesOfAKnownSeries) {
  Histogram histogram;
  EXPECT_EQ(histogram.Percentile(0.5), 0u);
  for (uint64_t i = 1; i <= 1000; ++i) histogram.Record(i * 1000);
  EXPECT_NEAR(static_cast<double>(histogram.Percentile(0.5)), 500e3, 10e3);
  EXPECT_NEAR(static_cast<double>(histogram.Percentile(0.99)), 990e3, 20e3);
  EXPECT_EQ(histogram.Percentile(1), 1000'000u);
}

TEST(Payload, RoundTripAndEveryFlippedByteIsSeen) {
  for (const Fill fill : {Fill::kRandom, Fill::kHalf}) {
    for (const size_t size : {size_t{16}, size_t{17}, size_t{64}, size_t{256}, size_t{1021}}) {
      std::string payload(size, '\0');
      MakePayload(PayloadName{7, 123456789}, fill, size, payload.data());
      const auto name = CheckPayload(payload);
      ASSERT_TRUE(name.has_value());
      EXPECT_EQ(name->run, 7u);
      EXPECT_EQ(name->number, 123456789u);
      // Without a fill the name is all there is, and a flipped number is another name.
      for (size_t i = 16; i < size; ++i) {
        payload[i] = static_cast<char>(payload[i] ^ 1);
        EXPECT_FALSE(CheckPayload(payload).has_value()) << size << " " << i;
        payload[i] = static_cast<char>(payload[i] ^ 1);
      }
    }
  }
}

TEST(Ledger, FindsTheSecondTake) {
  Ledger ledger;
  EXPECT_TRUE(ledger.Take({1, 5}));
  EXPECT_TRUE(ledger.Take({1, 100000}));
  EXPECT_TRUE(ledger.Take({2, 5}));
  EXPECT_FALSE(ledger.Take({1, 5}));
  EXPECT_EQ(ledger.Taken(1), 2u);
  EXPECT_EQ(ledger.Taken(3), 0u);
}

struct Case {
  const char* dialect;
  Op op;
  std::string bytes;
  Answer::Kind kind;
  std::string receipt = {};
  std::string payload = {};
};

const Case kCases[] = {
    {"vestq", Op::kPut, "$2\r\n42\r\n", Answer::Kind::kOk},
    {"vestq", Op::kPut, "-FULL max-jobs\r\n", Answer::Kind::kWrong},
    {"vestq", Op::kTake, "*-1\r\n", Answer::Kind::kEmpty},
    {"vestq", Op::kTake,
     "*1\r\n*10\r\n$7\r\nreceipt\r\n$5\r\n3-4-5\r\n$2\r\nid\r\n$1\r\n4\r\n$7\r\npayload\r\n"
     "$3\r\na\r\n\r\n$7\r\nattempt\r\n:1\r\n$7\r\nheaders\r\n*2\r\n$1\r\nk\r\n$1\r\nv\r\n",
     Answer::Kind::kOk, "3-4-5", "a\r\n"},
    {"vestq", Op::kTake, "*1\r\n%2\r\n$7\r\nreceipt\r\n$1\r\nr\r\n$7\r\npayload\r\n$0\r\n\r\n",
     Answer::Kind::kOk, "r"},
    {"vestq", Op::kTake, "*1\r\n*2\r\n$2\r\nid\r\n$1\r\n4\r\n", Answer::Kind::kWrong},
    {"vestq", Op::kTake, "-ERR no\r\n", Answer::Kind::kWrong},
    {"vestq", Op::kComplete, "+OK\r\n", Answer::Kind::kOk},
    {"vestq", Op::kComplete, "-LEASELOST over\r\n", Answer::Kind::kWrong},
    {"redis-lists", Op::kPut, ":12\r\n", Answer::Kind::kOk},
    {"redis-lists", Op::kTake, "$3\r\nabc\r\n", Answer::Kind::kOk, "abc", "abc"},
    {"redis-lists", Op::kTake, "$-1\r\n", Answer::Kind::kEmpty},
    {"redis-lists", Op::kComplete, ":0\r\n", Answer::Kind::kWrong},
    {"redis-streams", Op::kPut, "$3\r\n1-0\r\n", Answer::Kind::kOk},
    {"redis-streams", Op::kTake,
     "*1\r\n*2\r\n$1\r\nq\r\n*1\r\n*2\r\n$3\r\n1-0\r\n*2\r\n$1\r\np\r\n$2\r\nxy\r\n",
     Answer::Kind::kOk, "1-0", "xy"},
    {"redis-streams", Op::kTake, "*-1\r\n", Answer::Kind::kEmpty},
    {"redis-streams", Op::kComplete, ":1\r\n:1\r\n", Answer::Kind::kOk},
    {"redis-streams", Op::kComplete, ":1\r\n:0\r\n", Answer::Kind::kWrong},
    {"beanstalkd", Op::kPut, "INSERTED 9\r\n", Answer::Kind::kOk},
    {"beanstalkd", Op::kTake, "RESERVED 9 4\r\na\r\nb\r\n", Answer::Kind::kOk, "9", "a\r\nb"},
    {"beanstalkd", Op::kTake, "TIMED_OUT\r\n", Answer::Kind::kEmpty},
    {"beanstalkd", Op::kTake, "DEADLINE_SOON\r\n", Answer::Kind::kWrong},
    {"beanstalkd", Op::kComplete, "DELETED\r\n", Answer::Kind::kOk},
    {"beanstalkd", Op::kComplete, "NOT_FOUND\r\n", Answer::Kind::kWrong},
};

TEST(Dialect, ReadsEachAnswerAndNothingBeyondIt) {
  for (const Case& c : kCases) {
    SCOPED_TRACE(std::string(c.dialect) + ": " + c.bytes);
    const auto dialect = MakeDialect(c.dialect, "q");
    ASSERT_NE(dialect, nullptr);
    const Answer answer = dialect->Parse(c.op, c.bytes + "+NEXT\r\n");
    ASSERT_EQ(answer.kind, c.kind);
    if (c.kind == Answer::Kind::kWrong) continue;
    EXPECT_EQ(answer.consumed, c.bytes.size());
  }
}

TEST(Dialect, TakesPayloadAndReceipt) {
  for (const Case& c : kCases) {
    if (c.op != Op::kTake || c.kind != Answer::Kind::kOk) continue;
    const Answer answer = MakeDialect(c.dialect, "q")->Parse(c.op, c.bytes);
    EXPECT_EQ(answer.receipt, c.receipt);
    EXPECT_EQ(answer.payload, c.payload);
  }
}

TEST(Dialect, EveryTruncationIsIncomplete) {
  for (const Case& c : kCases) {
    if (c.kind == Answer::Kind::kWrong) continue;
    for (size_t length = 0; length < c.bytes.size(); ++length) {
      const Answer answer = MakeDialect(c.dialect, "q")->Parse(c.op, c.bytes.substr(0, length));
      EXPECT_EQ(answer.kind, Answer::Kind::kIncomplete) << c.bytes << " cut to " << length;
    }
  }
}

TEST(RespReader, SkipsWholeValues) {
  RespReader reader("*2\r\n%1\r\n$1\r\na\r\n*0\r\n_\r\n:5\r\n");
  EXPECT_EQ(reader.Skip(), RespReader::Step::kItem);
  RespItem item;
  ASSERT_EQ(reader.Next(&item), RespReader::Step::kItem);
  EXPECT_EQ(item.number, 5);
  EXPECT_EQ(RespReader("hello\r\n").Skip(), RespReader::Step::kMalformed);
}

}  // namespace
}  // namespace vestq::bench
