#include "net/words.h"

#include <gtest/gtest.h>

#include <string>

#include "engine/base/limits.h"
#include "net/options.h"

namespace vestq {
namespace {

using words::ParseDuration;
using words::ParseNumber;
using words::ParseSize;
using words::ParseTime;

// "ok MS", "ERR ..." or "RANGE ...".
std::string Span(std::string_view text, Duration min = Duration(0),
                 Duration max = limits::kDelayMax) {
  const Result<Duration> d = ParseDuration("DELAY", text, min, max);
  return d.ok() ? "ok " + std::to_string(d->ms()) : d.error().ToString();
}

TEST(Words, DurationsHaveUnits) {
  EXPECT_EQ(Span("250ms"), "ok 250");
  EXPECT_EQ(Span("30s"), "ok 30000");
  EXPECT_EQ(Span("5m"), "ok 300000");
  EXPECT_EQ(Span("2h"), "ok 7200000");
  EXPECT_EQ(Span("7d"), "ok 604800000");
  EXPECT_EQ(Span("0"), "ok 0");
  EXPECT_EQ(Span("0s"), "ok 0");
  EXPECT_EQ(Span("30"), "ERR DELAY '30': a duration needs its unit: write 30s or 30ms");
}

TEST(Words, NoOtherFormIsADuration) {
  for (const char* text :
       {"",    "s",   "+5", "+5s",  "5.5", "5.5s",  "1e9", "1e9s", "0x10", "0x10s", "5 s",
        " 5s", "5s ", "5S", "5sec", "5w",  "1h30m", "08s", "-",    "--5s", "5-s"}) {
    EXPECT_EQ(Span(text).substr(0, 4), "ERR ") << "'" << text << "'";
  }
  EXPECT_EQ(Span(std::string_view("5s\0", 3)).substr(0, 4), "ERR ");
}

// The numbers of public bug reports about time fields (32-bit seconds and milliseconds, 64-bit nanoseconds).
TEST(Words, DurationsAtTheEdgesAreExactOrRefused) {
  for (const char* number : {"2147483", "2147484", "4294967", "4294968", "31536000", "2147483647",
                             "2147483648", "4294967295", "4294967296"}) {
    const uint64_t n = std::stoull(number);
    EXPECT_EQ(Span(std::string(number) + "ms"), "ok " + std::to_string(n));
    const std::string seconds = Span(std::string(number) + "s");
    if (n * 1000 <= static_cast<uint64_t>(limits::kDelayMax.ms())) {
      EXPECT_EQ(seconds, "ok " + std::to_string(n * 1000));
    } else {
      EXPECT_EQ(seconds, "RANGE DELAY '" + std::string(number) + "s' is outside 0 to 36500d");
    }
    EXPECT_EQ(Span(number).substr(0, 4), "ERR ");
  }
  for (const char* text :
       {"9223372036s", "9223372036854775s", "9223372036854775807s", "18446744073709551616s",
        "18446744073709551617s", "9223372036854775808ms", "18446744073709551615d", "106751991168d",
        "-1s", "-1800000001s", "-1ms", "99999999999999999999999999999ms"}) {
    EXPECT_EQ(Span(text).substr(0, 6), "RANGE ") << text;
  }
  EXPECT_EQ(Span("36500d"), "ok " + std::to_string(limits::kDelayMax.ms()));
  EXPECT_EQ(Span("3153600000001ms").substr(0, 6), "RANGE ");
}

TEST(Words, LeaseLengthsHaveTheirLimits) {
  const auto lease = [](std::string_view text) {
    return Span(text, limits::kLeaseMin, limits::kLeaseMax);
  };
  EXPECT_EQ(lease("100ms"), "ok 100");
  EXPECT_EQ(lease("99ms"), "RANGE DELAY '99ms' is outside 100ms to 7d");
  EXPECT_EQ(lease("0").substr(0, 5), "RANGE");
  EXPECT_EQ(lease("7d"), "ok 604800000");
  EXPECT_EQ(lease("8d").substr(0, 5), "RANGE");
}

TEST(Words, NumbersAreExactOrRefused) {
  const auto number = [](std::string_view text) {
    const Result<uint64_t> n = ParseNumber("PRIORITY", text, 0, UINT32_MAX);
    return n.ok() ? "ok " + std::to_string(*n) : n.error().ToString();
  };
  EXPECT_EQ(number("0"), "ok 0");
  EXPECT_EQ(number("4294967295"), "ok 4294967295");
  EXPECT_EQ(number("4294967296"), "RANGE PRIORITY '4294967296' is outside 0 to 4294967295");
  EXPECT_EQ(number("-1"), "RANGE PRIORITY '-1' is outside 0 to 4294967295");
  EXPECT_EQ(number("18446744073709551617").substr(0, 5), "RANGE");
  for (const char* text : {"", "+5", "5.5", "1e9", "0x10", "05", " 5", "5 ", "a", "-"}) {
    EXPECT_EQ(number(text).substr(0, 4), "ERR ") << "'" << text << "'";
  }
}

TEST(Words, TimesAreUnixMillisecondsOrRfc3339) {
  const auto time = [](std::string_view text) {
    const Result<WallTime> t = ParseTime("AT", text);
    return t.ok() ? "ok " + std::to_string(t->ms()) : t.error().ToString().substr(0, 5);
  };
  EXPECT_EQ(time("0"), "ok 0");
  EXPECT_EQ(time("1000000000000"), "ok 1000000000000");
  EXPECT_EQ(time("281474976710655"), "ok 281474976710655");
  EXPECT_EQ(time("281474976710656"), "RANGE");
  EXPECT_EQ(time("1000000000000000000"), "RANGE");
  EXPECT_EQ(time("18446744073709551617"), "RANGE");
  EXPECT_EQ(time("-1"), "RANGE");
  EXPECT_EQ(time("1970-01-01T00:00:00Z"), "ok 0");
  EXPECT_EQ(time("2030-01-31T08:00:00Z"), "ok 1896076800000");
  EXPECT_EQ(time("2030-01-31t08:00:00.25z"), "ok 1896076800250");
  EXPECT_EQ(time("2030-01-31 08:00:00.123456789Z"), "ok 1896076800123");
  EXPECT_EQ(time("2030-01-31T08:00:00+02:00"), "ok 1896069600000");
  EXPECT_EQ(time("2030-01-31T08:00:00-05:30"), "ok 1896096600000");
  EXPECT_EQ(time("2024-02-29T00:00:00Z"), "ok 1709164800000");
  EXPECT_EQ(time("9999-12-31T23:59:59Z"), "ok 253402300799000");
  EXPECT_EQ(time("1969-12-31T23:59:59Z"), "RANGE");
  for (const char* text :
       {"", "2023-02-29T00:00:00Z", "2030-13-01T00:00:00Z", "2030-01-00T00:00:00Z",
        "2030-01-31T24:00:00Z", "2030-01-31T08:60:00Z", "2030-01-31T08:00:00", "2030-01-31",
        "2030-01-31T08:00Z", "2030-01-31T08:00:00.Z", "2030-01-31T08:00:00Zx", "08",
        "2030-01-31T08:00:00+2:00", "tomorrow", "1e12", "5s"}) {
    EXPECT_EQ(time(text), "ERR A") << text;
  }
}

TEST(Words, SizesMayHaveUnits) {
  const auto size = [](std::string_view text) {
    const Result<uint64_t> n = ParseSize("max-bytes", text, 1, uint64_t{1} << 40);
    return n.ok() ? "ok " + std::to_string(*n) : n.error().ToString().substr(0, 5);
  };
  EXPECT_EQ(size("4096"), "ok 4096");
  EXPECT_EQ(size("64KiB"), "ok 65536");
  EXPECT_EQ(size("64MiB"), "ok 67108864");
  EXPECT_EQ(size("1GiB"), "ok 1073741824");
  EXPECT_EQ(size("7B"), "ok 7");
  EXPECT_EQ(size("0"), "RANGE");
  EXPECT_EQ(size("-1MiB"), "RANGE");
  EXPECT_EQ(size("17179869184GiB"), "RANGE");
  EXPECT_EQ(size("64MB"), "ERR m");
  EXPECT_EQ(size("1.5MiB"), "ERR m");
  EXPECT_EQ(size(""), "ERR m");
}

TEST(Words, QueueNamesOf200BytesAndNotOf201) {
  EXPECT_TRUE(CheckQueueName("a").ok());
  EXPECT_TRUE(CheckQueueName(std::string(199, 'x')).ok());
  EXPECT_TRUE(CheckQueueName(std::string(200, 'x')).ok());
  EXPECT_EQ(CheckQueueName(std::string(201, 'x')).ToString(),
            "RANGE queue name of 201 bytes is outside 1 to 200");
  EXPECT_EQ(CheckQueueName("").ToString(), "RANGE queue name of 0 bytes is outside 1 to 200");
  EXPECT_EQ(CheckQueueName(std::string(64 << 10, 'x')).code(), ErrorCode::kRange);
  for (const char* name : {"-abc", "a:b", "a_b", "../../etc", "\"quoted\"", "COUNT", "!", "~"}) {
    EXPECT_TRUE(CheckQueueName(name).ok()) << name;
  }
  for (std::string_view name :
       {std::string_view("a b"), std::string_view("a\nb"), std::string_view("a: b"),
        std::string_view("\x7f"), std::string_view("\xc3\xa9"), std::string_view("a\0b", 3)}) {
    EXPECT_EQ(CheckQueueName(name).code(), ErrorCode::kSyntax) << name;
  }
}

TEST(Words, OtherNamesAreAnyBytesOfALength) {
  EXPECT_TRUE(CheckSpaceName("").ok());
  EXPECT_TRUE(CheckSpaceName(std::string(200, '\0')).ok());
  EXPECT_EQ(CheckSpaceName(std::string(201, 's')).code(), ErrorCode::kRange);
}

TEST(Words, QuotedTextCannotBreakALine) {
  EXPECT_EQ(words::Quote("a\r\n\x01z"), "'a\\x0d\\x0a\\x01z'");
  EXPECT_EQ(words::Quote(std::string(65, 'a')), "'" + std::string(64, 'a') + "...'");
}

TEST(Words, GlobsMatch) {
  EXPECT_TRUE(words::MatchGlob("*", ""));
  EXPECT_TRUE(words::MatchGlob("a*c", "abbc"));
  EXPECT_TRUE(words::MatchGlob("a?c", "abc"));
  EXPECT_FALSE(words::MatchGlob("a?c", "ac"));
  EXPECT_FALSE(words::MatchGlob("a", "ab"));
  EXPECT_TRUE(words::MatchGlob("*b*", "abc"));
  // Redis CVE-2022-36021's kind: time must not explode.
  std::string pattern;
  for (int i = 0; i < 60; ++i) pattern += "*a";
  EXPECT_FALSE(words::MatchGlob(pattern + "b", std::string(200, 'a')));
}

constexpr OptionSpec kSpecs[] = {{"DELAY", true, true, 1u << 1},
                                 {"AT", true, true, 1u << 0},
                                 {"DEAD", false},
                                 {"UNIQUE", true, false}};

std::string Read(std::vector<std::string_view> args) {
  OptionReader reader("TEST", kSpecs, args);
  std::string out;
  while (reader.Next()) {
    out.append(kSpecs[reader.option()].name);
    if (kSpecs[reader.option()].value) out.append("=").append(reader.value());
    out += " ";
  }
  return reader.error().ok() ? out : reader.error().ToString();
}

TEST(Options, StandInAnyOrderAndCase) {
  EXPECT_EQ(Read({}), "");
  EXPECT_EQ(Read({"dead", "Delay", "5s"}), "DEAD DELAY=5s ");
  EXPECT_EQ(Read({"AT", "DEAD"}), "AT=DEAD ");
}

TEST(Options, WrongOnesAreNamed) {
  EXPECT_EQ(Read({"COLOUR", "red"}), "ERR unknown option 'COLOUR' for TEST");
  EXPECT_EQ(Read({"DELAY", "1s", "delay", "2s"}), "ERR option DELAY stands twice");
  EXPECT_EQ(Read({"DELAY", "1s", "AT", "5"}), "ERR options DELAY and AT contradict each other");
  EXPECT_EQ(Read({"AT", "5", "DELAY", "1s"}), "ERR options AT and DELAY contradict each other");
  EXPECT_EQ(Read({"DELAY"}), "ERR option DELAY needs a value");
  EXPECT_EQ(Read({"unique", "k"}), "ERR option UNIQUE is not supported by this version");
}

}  // namespace
}  // namespace vestq
