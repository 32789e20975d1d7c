// How the program reads sizes and addresses from its command line, and bytes from lines of text.
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "tools/address.h"
#include "tools/encoding.h"
#include "tools/printable.h"
#include "tools/time_text.h"
#include "tools/units.h"

namespace vestq {
namespace {

TEST(ParseSize, UnitsArePowersOf1024) {
  EXPECT_EQ(*ParseSize("0"), 0u);
  EXPECT_EQ(*ParseSize("65536"), 65536u);
  EXPECT_EQ(*ParseSize("1KiB"), 1024u);
  EXPECT_EQ(*ParseSize("256M"), uint64_t{256} << 20);
  EXPECT_EQ(*ParseSize("256MiB"), uint64_t{256} << 20);
  EXPECT_EQ(*ParseSize("2G"), uint64_t{2} << 30);
}

TEST(Printable, NothingThatATerminalObeysIsLeft) {
  const std::pair<std::string_view, std::string_view> cases[] = {
      {"", ""},
      {"text \xc3\xa4 \xe2\x82\xac \xf0\x9f\x98\x80",
       "text \xc3\xa4 \xe2\x82\xac \xf0\x9f\x98\x80"},
      {"a\nb\r\tc", R"(a\nb\r\tc)"},
      {std::string_view("\0\x1b[2J\x7f", 6), R"(\x00\x1b[2J\x7f)"},
      {"\xc2\x9b\xc2\xa0", "\\xc2\\x9b\xc2\xa0"},           // CSI; a blank that is none of them
      {"\xff\xe2\x82", R"(\xff\xe2\x82)"},                  // no UTF-8, and a cut character
      {"\xc0\x8a\xed\xa0\x80", R"(\xc0\x8a\xed\xa0\x80)"},  // a newline in two bytes; half a pair
      {"C:\\new", "C:\\new"}};
  for (const auto& [text, shown] : cases) EXPECT_EQ(Printable(text), shown);
}

TEST(Tail, DoesNotBeginInsideACharacter) {
  const std::string text =
      "ab\xe2\x82\xac"
      "cd";
  EXPECT_EQ(Tail(text, 7), text);
  EXPECT_EQ(Tail(text, 5),
            "\xe2\x82\xac"
            "cd");
  EXPECT_EQ(Tail(text, 4), "cd");
  EXPECT_EQ(Tail(text, 3), "cd");
  EXPECT_EQ(Tail(text, 0), "");
  EXPECT_EQ(Tail("\x80\x80\x80\x80\x80", 4), "\x80");  // no UTF-8: not all of it is given up
}

TEST(CheckMoment, SecondsAreNoMilliseconds) {
  for (const char* text : {"0", "1796075448", "999999999999", "0001"}) {
    const Error error = CheckMoment("--at", text);
    EXPECT_EQ(error.code(), ErrorCode::kSyntax) << text;
    EXPECT_NE(error.text().find("--at " + std::string(text)), std::string::npos);
  }
  // Moments, and what the daemon is to judge.
  for (const char* text : {"1000000000000", "1796075448000", "2030-01-31T08:00:00Z", "", "soon",
                           "12x", "-5", "99999999999999999999"}) {
    EXPECT_TRUE(CheckMoment("--at", text).ok()) << text;
  }
}

TEST(TimeText, SpansHaveTheirTwoGreatestUnits) {
  const std::pair<int64_t, const char*> cases[] = {{0, "0s"},
                                                   {1, "1ms"},
                                                   {999, "999ms"},
                                                   {1000, "1s"},
                                                   {5302, "5.3s"},
                                                   {59'999, "59.9s"},
                                                   {60'000, "1m"},
                                                   {252'000, "4m 12s"},
                                                   {3'599'999, "59m 59s"},
                                                   {3'600'000, "1h"},
                                                   {11'100'000, "3h 5m"},
                                                   {86'400'000, "1d"},
                                                   {187'200'000, "2d 4h"},
                                                   {-1500, "-1.5s"}};
  for (const auto& [ms, text] : cases) EXPECT_EQ(SpanText(ms), text);
  EXPECT_EQ(SpanText(INT64_MIN), "-" + SpanText(INT64_MAX));
}

TEST(TimeText, MomentsAreRfc3339) {
  EXPECT_EQ(MomentText(0), "1970-01-01T00:00:00Z");
  EXPECT_EQ(MomentText(1'896'163'200'123), "2030-02-01T08:00:00.123Z");
  EXPECT_EQ(MomentText(1'896'163'200'000, 19'800), "2030-02-01T13:30:00+05:30");
  EXPECT_EQ(MomentText(1'896'163'200'000, -18'000), "2030-02-01T03:00:00-05:00");
  EXPECT_EQ(MomentText((int64_t{1} << 48) - 1), "10889-08-02T05:31:50.655Z");
}

TEST(TimeText, AWordMeansWhatItsMapIsAbout) {
  EXPECT_EQ(NumberText(MapOf::kJob, "enqueued", 0), "1970-01-01T00:00:00Z");
  EXPECT_EQ(NumberText(MapOf::kQueue, "enqueued", 90'000), "90000");
  EXPECT_EQ(NumberText(MapOf::kJob, "lease-left", 90'000), "1m 30s");
  EXPECT_EQ(NumberText(MapOf::kSchedule, "every", 90'000), "1m 30s");
  EXPECT_EQ(NumberText(MapOf::kJob, "attempt", 3), "3");
  EXPECT_EQ(NumberText(MapOf::kQueue, "paused", -1), "until resumed");
  EXPECT_EQ(NumberText(MapOf::kQueue, "paused", 0), "no");
  EXPECT_EQ(NumberText(MapOf::kQueue, "paused", 7'200'000), "2h");
}

TEST(ParseSize, RefusesWhatIsNotASize) {
  for (const char* text : {"", "-1", "+1", "1.5GiB", "MiB", "1mib", "1 MiB", "1MB", "0x10",
                           "99999999999999999999", "18446744073709551615KiB"}) {
    const auto size = ParseSize(text);
    EXPECT_FALSE(size.ok()) << text;
    EXPECT_EQ(size.error().code(), ErrorCode::kSyntax) << text;
  }
}

TEST(FormatSize, UsesTheLargestUnitThatDividesIt) {
  EXPECT_EQ(FormatSize(0), "0B");
  EXPECT_EQ(FormatSize(1000), "1000B");
  EXPECT_EQ(FormatSize(2048), "2KiB");
  EXPECT_EQ(FormatSize(uint64_t{256} << 20), "256MiB");
  EXPECT_EQ(FormatSize(uint64_t{3} << 30), "3GiB");
  for (const uint64_t size : {uint64_t{1}, uint64_t{1536}, uint64_t{5} << 31}) {
    EXPECT_EQ(*ParseSize(FormatSize(size)), size);
  }
}

TEST(ParseAddress, TakesHostAndPort) {
  EXPECT_EQ(ParseAddress("127.0.0.1:7733")->ToString(), "127.0.0.1:7733");
  EXPECT_EQ(ParseAddress("localhost:0")->port, 0);
  EXPECT_EQ(ParseAddress("[::1]:65535")->host, "::1");
  EXPECT_EQ(ParseAddress("[::1]:65535")->ToString(), "[::1]:65535");
}

TEST(ParseAddress, RefusesTheRest) {
  for (const char* text : {"", ":", "host", "7733", "host:", ":7733", "host:65536", "host:-1",
                           "host:1x", "::1:7733", "[]:1", "host: 1"}) {
    EXPECT_FALSE(ParseAddress(text).ok()) << text;
  }
}

TEST(Base64, TheVectorsOfRfc4648) {
  const std::pair<const char*, const char*> vectors[] = {{"", ""},
                                                         {"f", "Zg=="},
                                                         {"fo", "Zm8="},
                                                         {"foo", "Zm9v"},
                                                         {"foob", "Zm9vYg=="},
                                                         {"fooba", "Zm9vYmE="},
                                                         {"foobar", "Zm9vYmFy"}};
  for (const auto& [bytes, text] : vectors) {
    EXPECT_EQ(ToBase64(bytes), text);
    EXPECT_EQ(FromBase64(text), bytes);
  }
}

TEST(Base64, EveryByteThereAndBack) {
  std::string bytes;
  for (int i = 0; i < 1000; ++i) {
    EXPECT_EQ(FromBase64(ToBase64(bytes)), bytes);
    EXPECT_EQ(FromHex(ToHex(bytes)), bytes);
    bytes.push_back(static_cast<char>(i * 7));
  }
}

TEST(Base64, RefusesAllButTheOneEncoding) {
  for (const char* text : {"Z", "Zg", "Zg=", "Zh==", "Zm9=", "Zg==Zg==", "Z===", "====", "Zm 9v",
                           "Zm9-", "=m9v", "Z=9v", "Zm9v\n"})
    EXPECT_EQ(FromBase64(text), std::nullopt) << text;
  EXPECT_EQ(FromBase64(std::string_view("Zm9\0", 4)), std::nullopt);
}

TEST(Hex, RefusesAllButPairsOfDigits) {
  EXPECT_EQ(FromHex("00fFaA"), std::string("\0\xff\xaa", 3));
  EXPECT_EQ(ToHex(std::string_view("\0\xff", 2)), "00ff");
  for (const char* text : {"0", "0g", "0x", " 00", "00 "})
    EXPECT_EQ(FromHex(text), std::nullopt) << text;
}

}  // namespace
}  // namespace vestq
