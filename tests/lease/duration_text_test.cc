#include "lease/duration_text.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>

namespace vestq {
namespace {

struct Accepted {
  const char* text;
  int64_t ms;
};

TEST(DurationText, EachUnitIsExact) {
  const Accepted accepted[] = {
      {"0", 0},
      {"0ms", 0},
      {"0d", 0},
      {"250ms", 250},
      {"30s", 30'000},
      {"5m", 300'000},
      {"2h", 7'200'000},
      {"7d", 604'800'000},
      {"2147484s", 2'147'484'000},
      {"4294967296ms", 4'294'967'296},
      {"9223372036854775s", -1},  // 2^63 us: above Duration::Max
      {"2305843009213693951ms", 2'305'843'009'213'693'951},
  };
  for (const Accepted& a : accepted) {
    const Result<Duration> parsed = ParseDuration(a.text);
    if (a.ms < 0) {
      EXPECT_EQ(parsed.error().code(), ErrorCode::kRange) << a.text;
      continue;
    }
    ASSERT_TRUE(parsed.ok()) << a.text << ": " << parsed.error().ToString();
    EXPECT_EQ(parsed->ms(), a.ms) << a.text;
  }
}

TEST(DurationText, BareNumberIsRefusedWithTheHint) {
  for (const char* text : {"30", "1", "9223372036854775807", "18446744073709551616"}) {
    const Result<Duration> parsed = ParseDuration(text, "lease");
    ASSERT_FALSE(parsed.ok()) << text;
    EXPECT_EQ(parsed.error().ToString(), "ERR lease needs a unit: write 30s or 30ms");
  }
}

TEST(DurationText, OtherFormsAreRefused) {
  for (const char* text :
       {"",    " ",  "s",    "ms",    "-1s", "+5s", "5.5s", "1e9s", "0x10s", " 5s", "5s ",
        "5 s", "5S", "5sec", "1h30m", "5us", "5ns", "5w",   "5y",   "00",    "007s"}) {
    const Result<Duration> parsed = ParseDuration(text, "delay");
    ASSERT_FALSE(parsed.ok()) << text;
    EXPECT_EQ(parsed.error().code(), ErrorCode::kSyntax) << text;
    EXPECT_EQ(parsed.error().text().rfind("delay ", 0), 0u) << parsed.error().text();
  }
}

TEST(DurationText, OverflowIsARangeErrorNeverAWrap) {
  for (const char* text :
       {"2305843009213693952ms", "9223372036854775807ms", "18446744073709551615ms",
        "18446744073709551616ms", "18446744073709551617ms", "18446744073709552s",
        "213503982334602d", "99999999999999999999999999999999d"}) {
    const Result<Duration> parsed = ParseDuration(text);
    ASSERT_FALSE(parsed.ok()) << text;
    EXPECT_EQ(parsed.error().code(), ErrorCode::kRange) << text;
  }
}

TEST(DurationText, WritesTheLargestUnitThatDivides) {
  EXPECT_EQ(DurationToText(Duration(0)), "0");
  EXPECT_EQ(DurationToText(Duration(1)), "1ms");
  EXPECT_EQ(DurationToText(Duration(90'000)), "90s");
  EXPECT_EQ(DurationToText(Duration(3'600'000)), "1h");
  EXPECT_EQ(DurationToText(Days(7)), "7d");
  EXPECT_EQ(DurationToText(Duration(-5'000)), "-5s");
  EXPECT_EQ(DurationToText(Duration(std::numeric_limits<int64_t>::min())),
            "-9223372036854775808ms");
}

TEST(DurationText, RoundTrips) {
  for (int64_t ms : {int64_t{1}, int64_t{999}, int64_t{1'000}, int64_t{59'999}, int64_t{86'400'001},
                     Days(36'500).ms(), Duration::Max().ms()}) {
    const Result<Duration> parsed = ParseDuration(DurationToText(Duration(ms)));
    ASSERT_TRUE(parsed.ok()) << ms;
    EXPECT_EQ(parsed->ms(), ms);
  }
}

}  // namespace
}  // namespace vestq
