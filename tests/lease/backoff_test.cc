#include "lease/backoff.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <initializer_list>
#include <random>
#include <string>
#include <string_view>

#include "engine/base/limits.h"

namespace vestq {
namespace {

std::string Bytes(std::initializer_list<int> bytes) {
  std::string out;
  for (const int byte : bytes) out.push_back(static_cast<char>(byte));
  return out;
}

std::string MustParse(std::string_view text) {
  Result<std::string> encoded = ParseBackoff(text);
  EXPECT_TRUE(encoded.ok()) << text << ": " << encoded.error().ToString();
  return encoded.ok() ? *encoded : std::string();
}

int64_t DelayMs(std::string_view encoded, uint32_t failures, uint64_t random) {
  Result<Duration> delay = BackoffDelay(encoded, failures, random);
  EXPECT_TRUE(delay.ok()) << delay.error().ToString();
  return delay.ok() ? delay->ms() : -1;
}

TEST(Backoff, GoldenBytes) {
  EXPECT_EQ(MustParse("exp:5s:12h"), Bytes({1, 1, 0x88, 0x27, 0x80, 0xDC, 0xCC, 0x14}));
  EXPECT_EQ(MustParse("fixed:30s"), Bytes({1, 2, 0xB0, 0xEA, 0x01}));
  EXPECT_EQ(MustParse("fixed:0"), Bytes({1, 2, 0}));
  EXPECT_EQ(MustParse("list:1s,10s,1m"),
            Bytes({1, 3, 3, 0xE8, 0x07, 0x90, 0x4E, 0xE0, 0xD4, 0x03}));
  EXPECT_EQ(MustParse("fixed:365d"), Bytes({1, 2, 0x80, 0xD8, 0xC4, 0xBD, 0x75}));
}

TEST(Backoff, TextRoundTripsInItsShortestForm) {
  for (const char* text : {"exp:5s:12h", "exp:1ms:1ms", "exp:1s:365d", "fixed:30s", "fixed:0",
                           "list:1s,10s,1m", "list:0", "list:250ms,1d"}) {
    EXPECT_EQ(BackoffToText(MustParse(text)), text);
  }
  EXPECT_EQ(BackoffToText(MustParse("list:60s,3600s,1000ms")), "list:1m,1h,1s");
  EXPECT_EQ(BackoffToText(""), kBackoffDefaultText);
  EXPECT_EQ(BackoffToText("\x07zzz"), "unknown");
}

TEST(Backoff, EmptyEncodingIsTheDefault) {
  const std::string encoded = MustParse(kBackoffDefaultText);
  for (uint32_t failures = 1; failures < 100; ++failures) {
    EXPECT_EQ(DelayMs("", failures, 12345 * failures),
              DelayMs(encoded, failures, 12345 * failures));
  }
}

TEST(Backoff, DefaultGivesUpAfterAboutSixDays) {
  int64_t total = 0;
  for (uint32_t failures = 1; failures < limits::kAttemptsDefault; ++failures) {
    total += DelayMs("", failures, 0);
  }
  EXPECT_GT(total, Days(5).ms());
  EXPECT_LT(total, Days(7).ms());
}

struct Refusal {
  const char* text;
  ErrorCode code;
  const char* says;
};

TEST(Backoff, RefusalsNameFieldAndLimit) {
  const Refusal refusals[] = {
      {"", ErrorCode::kSyntax, "exp:BASE:CAP"},
      {"exp", ErrorCode::kSyntax, "exp:BASE:CAP"},
      {"exp:5s", ErrorCode::kSyntax, "exp:BASE:CAP"},
      {"linear:5s", ErrorCode::kSyntax, "exp:BASE:CAP"},
      {"EXP:5s:1h", ErrorCode::kSyntax, "exp:BASE:CAP"},
      {"exp:5:12h", ErrorCode::kSyntax, "backoff base needs a unit: write 30s or 30ms"},
      {"exp:5s:12", ErrorCode::kSyntax, "backoff cap needs a unit: write 30s or 30ms"},
      {"exp:5s:12h:1", ErrorCode::kSyntax, "backoff cap"},
      {"exp:0:12h", ErrorCode::kRange, "backoff base must be at least 1ms"},
      {"exp:2h:1h", ErrorCode::kRange, "backoff base must be at most the backoff cap"},
      {"exp:5s:366d", ErrorCode::kRange, "backoff cap must be at most 365d"},
      {"exp:5s:99999999999999999999d", ErrorCode::kRange, "backoff cap must be at most 365d"},
      {"fixed:", ErrorCode::kSyntax, "backoff delay"},
      {"fixed:-5s", ErrorCode::kSyntax, "backoff delay"},
      {"fixed:31536000001ms", ErrorCode::kRange, "backoff delay must be at most 365d"},
      {"list:", ErrorCode::kSyntax, "backoff list entry"},
      {"list:1s,", ErrorCode::kSyntax, "backoff list entry"},
      {"list:1s,,2s", ErrorCode::kSyntax, "backoff list entry"},
      {"list:1s, 2s", ErrorCode::kSyntax, "backoff list entry"},
  };
  for (const Refusal& refusal : refusals) {
    const Result<std::string> result = ParseBackoff(refusal.text);
    ASSERT_FALSE(result.ok()) << refusal.text;
    EXPECT_EQ(result.error().code(), refusal.code)
        << refusal.text << ": " << result.error().ToString();
    EXPECT_NE(result.error().text().find(refusal.says), std::string::npos)
        << refusal.text << ": " << result.error().text();
  }
}

TEST(Backoff, ListHoldsAtMostSixtyFour) {
  std::string text = "list:1s";
  for (size_t i = 1; i < limits::kBackoffListMax; ++i) text += ",1s";
  EXPECT_EQ(BackoffToText(MustParse(text)), text);
  const Result<std::string> longer = ParseBackoff(text + ",1s");
  ASSERT_FALSE(longer.ok());
  EXPECT_EQ(longer.error().code(), ErrorCode::kTooBig);
  EXPECT_NE(longer.error().text().find("64"), std::string::npos);
}

TEST(Backoff, FixedAndListAreExact) {
  const std::string fixed = MustParse("fixed:30s");
  const std::string list = MustParse("list:1s,10s,1m");
  for (const uint64_t random : {uint64_t{0}, uint64_t{1} << 63, UINT64_MAX}) {
    EXPECT_EQ(DelayMs(fixed, 1, random), 30'000);
    EXPECT_EQ(DelayMs(fixed, UINT32_MAX, random), 30'000);
    EXPECT_EQ(DelayMs(list, 1, random), 1'000);
    EXPECT_EQ(DelayMs(list, 2, random), 10'000);
    EXPECT_EQ(DelayMs(list, 3, random), 60'000);
    EXPECT_EQ(DelayMs(list, 4, random), 60'000);
    EXPECT_EQ(DelayMs(list, UINT32_MAX, random), 60'000);
  }
}

// Case B05, step 4.
TEST(Backoff, HugeFailureCountsNeitherOverflowNorExceedTheCap) {
  const std::string encoded = MustParse("exp:1s:1h");
  for (const uint32_t failures : {31u, 32u, 40u, 62u, 63u, 64u, 65u, 100u, 1000u, UINT32_MAX}) {
    for (const uint64_t random : {uint64_t{0}, uint64_t{1} << 63, UINT64_MAX}) {
      EXPECT_EQ(DelayMs(encoded, failures, random), Hours(1).ms()) << failures;
    }
  }
  const std::string widest = MustParse("exp:1ms:365d");
  for (const uint32_t failures : {40u, 62u, 63u, 64u, 100u, 1000u, UINT32_MAX}) {
    EXPECT_EQ(DelayMs(widest, failures, 0), Days(365).ms()) << failures;
  }
}

TEST(Backoff, NoStepIsShorterThanTheOneBefore) {
  std::mt19937_64 random(7);
  for (const char* text : {"exp:1s:1h", "exp:5s:12h", "exp:1ms:365d", "exp:1ms:1ms", "exp:3ms:7ms",
                           "exp:365d:365d", "exp:7ms:1000000ms"}) {
    const std::string encoded = MustParse(text);
    const int64_t cap = DelayMs(encoded, 1000, 0);
    for (int run = 0; run < 200; ++run) {
      int64_t before = 1;  // BACKOFF-2: never 0
      for (uint32_t failures = 1; failures <= 70; ++failures) {
        const int64_t delay = DelayMs(encoded, failures, random());
        ASSERT_GE(delay, before) << text << " at failure " << failures;
        ASSERT_LE(delay, cap) << text << " at failure " << failures;
        before = delay;
      }
    }
  }
}

TEST(Backoff, JitterSpansTwentyPercent) {
  const std::string encoded = MustParse("exp:10s:1h");
  std::mt19937_64 random(1);
  int64_t least = INT64_MAX, most = 0, sum = 0;
  for (int i = 0; i < 100'000; ++i) {
    const int64_t delay = DelayMs(encoded, 2, random());
    least = std::min(least, delay);
    most = std::max(most, delay);
    sum += delay;
  }
  EXPECT_GE(least, 16'000);
  EXPECT_LT(least, 16'050);
  EXPECT_LE(most, 24'000);
  EXPECT_GT(most, 23'950);
  EXPECT_NEAR(static_cast<double>(sum) / 100'000, 20'000, 50);
}

TEST(Backoff, DamagedBytesAreNamedErrors) {
  const std::string good = MustParse("list:1s,10s,1m");
  for (size_t size = 1; size < good.size(); ++size) {
    EXPECT_EQ(BackoffDelay(good.substr(0, size), 1, 0).error().code(), ErrorCode::kCorruption)
        << size;
  }
  EXPECT_EQ(BackoffDelay(good + "x", 1, 0).error().code(), ErrorCode::kCorruption);
  EXPECT_EQ(BackoffDelay(Bytes({2, 1, 1, 1}), 1, 0).error().code(), ErrorCode::kUnsupported);
  for (const std::string& bytes :
       {Bytes({0, 1, 1, 1}), Bytes({1, 0}), Bytes({1, 4, 1}), Bytes({1, 1, 0, 5}),
        Bytes({1, 1, 6, 5}), Bytes({1, 3, 0}), Bytes({1, 3, 65}), Bytes({1, 2, 0x80, 0x00}),
        Bytes({1, 2, 0x81, 0xD8, 0xC4, 0xBD, 0x75}),
        Bytes({1, 2, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x01})}) {
    EXPECT_EQ(BackoffDelay(bytes, 1, 0).error().code(), ErrorCode::kCorruption);
  }
}

TEST(Backoff, RandomBytesNeverLeaveTheBounds) {
  std::mt19937_64 random(3);
  for (int i = 0; i < 200'000; ++i) {
    std::string bytes = Bytes({1, static_cast<int>(random() % 5)});
    for (size_t n = random() % 12; n > 0; --n) bytes.push_back(static_cast<char>(random()));
    const Result<Duration> delay =
        BackoffDelay(bytes, static_cast<uint32_t>(random() | 1), random());
    if (delay.ok()) {
      ASSERT_GE(*delay, Duration());
      ASSERT_LE(*delay, limits::kBackoffMax);
      ASSERT_EQ(*ParseBackoff(BackoffToText(bytes)), bytes);  // BACKOFF-3
    }
  }
}

}  // namespace
}  // namespace vestq
