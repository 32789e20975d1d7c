#include "net/resp_parser.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace vestq {
namespace {

using Status = RespParser::Status;

RespLimits SmallLimits() {
  RespLimits limits;
  limits.bulk_max = 64;
  limits.bulk_hard_max = 1024;
  limits.command_max = 256;
  limits.args_max = 1000;
  limits.inline_max = 128;
  return limits;
}

// Everything that a parser makes of a stream: one line an event. `cuts` are the sizes of the pieces it arrives in.
std::string Transcript(std::string_view stream, size_t piece,
                       const RespLimits& limits = SmallLimits()) {
  RespParser parser(limits);
  std::string buffer, out;
  for (size_t at = 0; at < stream.size() || at == 0; at += piece) {
    buffer.append(stream.substr(at, piece));
    for (bool more = true; more;) {
      // A copy at another address: views must not depend on where the bytes were in an earlier call.
      const std::string moved = buffer;
      size_t consumed = 0;
      const Status status = parser.Parse(moved, &consumed);
      EXPECT_LE(consumed, moved.size());
      switch (status) {
        case Status::kNeedMore: more = false; break;
        case Status::kCommand:
          out += "command";
          for (std::string_view arg : parser.args()) out.append(" [").append(arg).append("]");
          out += "\n";
          break;
        case Status::kEmpty: break;
        case Status::kTooBig: out += "too big\n"; break;
        case Status::kError: return out + parser.error() + "\n";
        case Status::kForeign: return out + "foreign\n";
      }
      buffer.erase(0, consumed);
      if (stream.empty()) return out;
    }
  }
  return out;
}

struct Case {
  const char* name;
  std::string stream;
  std::string expected;
};

std::vector<Case> Cases() {
  const std::string big(65, 'x');
  return {
      {"a command", "*2\r\n$4\r\nECHO\r\n$2\r\nhi\r\n", "command [ECHO] [hi]\n"},
      {"two commands", "*1\r\n$4\r\nPING\r\n*1\r\n$4\r\nPING\r\n",
       "command [PING]\ncommand [PING]\n"},
      {"empty argument", "*2\r\n$1\r\na\r\n$0\r\n\r\n", "command [a] []\n"},
      {"CRLF inside a bulk", "*2\r\n$1\r\na\r\n$4\r\n\r\n\r\n\r\n", "command [a] [\r\n\r\n]\n"},
      {"empty and negative arrays are no commands", "*0\r\n*-1\r\n*1\r\n$1\r\na\r\n",
       "command [a]\n"},
      {"inline", "PING\r\n  a  b\t c \n\r\n", "command [PING]\ncommand [a] [b] [c]\n"},
      {"inline quotes", "a \"b c\" 'd e' \"\\x41\\n\\\"\" 'it\\'s'\r\n",
       "command [a] [b c] [d e] [A\n\"] [it's]\n"},
      {"inline empty string", "a \"\" b\r\n", "command [a] [] [b]\n"},
      {"inline unbalanced", "a \"b\r\n", "Protocol error: unbalanced quotes in request\n"},
      {"inline text after a quote", "a \"b\"c\r\n",
       "Protocol error: unbalanced quotes in request\n"},
      {"inline quote inside", "a b\"c\"\r\n", "Protocol error: unbalanced quotes in request\n"},
      {"array length not a number", "*x\r\n", "Protocol error: invalid multibulk length\n"},
      {"array length empty", "*\r\n", "Protocol error: invalid multibulk length\n"},
      {"array length with a sign", "*+1\r\n", "Protocol error: invalid multibulk length\n"},
      {"array length with a zero before", "*01\r\n", "Protocol error: invalid multibulk length\n"},
      {"array too long", "*1001\r\n", "Protocol error: invalid multibulk length\n"},
      {"array of 2^63", "*9223372036854775808\r\n", "Protocol error: invalid multibulk length\n"},
      {"array of 2^64 + 1", "*18446744073709551617\r\n",
       "Protocol error: invalid multibulk length\n"},
      {"CR without LF", "*1\rx", "Protocol error: invalid multibulk length\n"},
      {"no bulk", "*1\r\n:1\r\n", "Protocol error: expected '$', got ':'\n"},
      {"no bulk but a control byte", std::string("*1\r\n\x01\r\n"),
       "Protocol error: expected '$', got '?'\n"},
      {"bulk length -1", "*1\r\n$-1\r\n", "Protocol error: invalid bulk length\n"},
      {"bulk of 2^63", "*1\r\n$9223372036854775808\r\n", "Protocol error: invalid bulk length\n"},
      {"bulk of 2^63 - 1", "*1\r\n$9223372036854775807\r\n",
       "Protocol error: invalid bulk length\n"},
      {"bulk of 2^32", "*1\r\n$4294967296\r\n", "Protocol error: invalid bulk length\n"},
      {"bulk over the hard limit", "*1\r\n$1025\r\n", "Protocol error: invalid bulk length\n"},
      {"bulk length in hex", "*1\r\n$0x10\r\n", "Protocol error: invalid bulk length\n"},
      {"bulk without its CRLF", "*1\r\n$1\r\nabc",
       "Protocol error: bulk string without CRLF at its end\n"},
      {"bulk at the limit", "*1\r\n$64\r\n" + std::string(64, 'y') + "\r\n",
       "command [" + std::string(64, 'y') + "]\n"},
      {"bulk over the limit is swallowed", "*2\r\n$1\r\na\r\n$65\r\n" + big + "\r\nPING\r\n",
       "too big\ncommand [PING]\n"},
      {"what is swallowed holds commands",
       "*2\r\n$65\r\n" + std::string(65 - 8, 'x') + "\r\nDEL 1\r" + "\r\n$1\r\nb\r\nPING\r\n",
       "too big\ncommand [PING]\n"},
      {"command over its limit",
       "*5\r\n$60\r\n" + std::string(60, 'a') + "\r\n$60\r\n" + std::string(60, 'b') +
           "\r\n$60\r\n" + std::string(60, 'c') + "\r\n$60\r\n" + std::string(60, 'd') +
           "\r\n$1\r\ne\r\nPING\r\n",
       "too big\ncommand [PING]\n"},
      {"swallowing has its limit too",
       "*1000\r\n$1000\r\n" + std::string(1000, 'a') + "\r\n$1000\r\n",
       "Protocol error: command too long\n"},
      {"inline too long", std::string(129, 'a'), "Protocol error: too big inline request\n"},
      {"inline too long with its end", std::string(129, 'a') + "\n",
       "Protocol error: too big inline request\n"},
      {"HTTP", "GET / HTTP/1.1\r\nHost: a\r\n\r\n", "foreign\n"},
      {"HTTP with a body", "POST /x HTTP/1.1\r\n\r\nPING\r\n", "foreign\n"},
      {"HTTP header inside", "PING\r\nHost: a\r\nPING\r\n", "command [PING]\nforeign\n"},
      {"HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "foreign\n"},
      {"GET is not HTTP", "GET key\r\n", "command [GET] [key]\n"},
      {"TLS", std::string("\x16\x03\x01\x02\x00\x01", 6),
       "Protocol error: expected '*' or an inline command\n"},
      {"a NUL", std::string("\0\0\0\0", 4), "Protocol error: expected '*' or an inline command\n"},
  };
}

TEST(RespParser, AnswersAsTheTableSays) {
  for (const Case& c : Cases())
    EXPECT_EQ(Transcript(c.stream, c.stream.size()), c.expected) << c.name;
}

TEST(RespParser, AnswersTheSameHoweverTheBytesAreCut) {
  for (const Case& c : Cases()) {
    for (size_t piece = 1; piece < c.stream.size(); ++piece) {
      ASSERT_EQ(Transcript(c.stream, piece), c.expected) << c.name << " in pieces of " << piece;
    }
  }
}

TEST(RespParser, AllocatesNothingFromAClaim) {
  RespParser parser(RespLimits{});
  const std::string claim = "*1048576\r\n$1048576\r\n";
  size_t consumed = 0;
  EXPECT_EQ(parser.Parse(claim, &consumed), Status::kNeedMore);
  EXPECT_EQ(consumed, 0u);
  EXPECT_TRUE(parser.inside());
  EXPECT_TRUE(parser.args().empty());
}

TEST(RespParser, SwallowedBytesNeedNotBeKept) {
  RespLimits limits = SmallLimits();
  RespParser parser(limits);
  size_t consumed = 0;
  std::string begin = "*1\r\n$1000\r\nabc";
  EXPECT_EQ(parser.Parse(begin, &consumed), Status::kNeedMore);
  EXPECT_EQ(consumed, begin.size());
  EXPECT_EQ(parser.Parse(std::string(997, 'x'), &consumed), Status::kNeedMore);
  EXPECT_EQ(consumed, 997u);
  EXPECT_EQ(parser.Parse("\r\n", &consumed), Status::kTooBig);
  EXPECT_EQ(consumed, 2u);
  EXPECT_EQ(parser.error(), "an argument of 1000 bytes exceeds the limit of 64");
  EXPECT_FALSE(parser.inside());
}

TEST(RespParser, IsStrictBeforeLogin) {
  const auto parse = [](const std::string& stream) {
    RespParser parser(RespLimits{});
    parser.set_unauthenticated(true);
    size_t consumed = 0;
    return parser.Parse(stream, &consumed) == Status::kError ? parser.error() : std::string();
  };
  EXPECT_EQ(parse("*10\r\n"), "");
  EXPECT_EQ(parse("*11\r\n"), "Protocol error: unauthenticated multibulk length");
  EXPECT_EQ(parse("*1\r\n$16384\r\n"), "");
  EXPECT_EQ(parse("*1\r\n$16385\r\n"), "Protocol error: unauthenticated bulk length");
  EXPECT_EQ(parse("a b c d e f g h i j k\r\n"), "Protocol error: unauthenticated multibulk length");
}

TEST(RespParser, TheSameCommandIsParsedAgainWhenItWasNotTaken) {
  RespParser parser(RespLimits{});
  const std::string stream = "*1\r\n$4\r\nPING\r\n";
  for (int i = 0; i < 3; ++i) {
    size_t consumed = 0;
    ASSERT_EQ(parser.Parse(stream, &consumed), Status::kCommand);
    EXPECT_EQ(consumed, stream.size());
    ASSERT_EQ(parser.args().size(), 1u);
    EXPECT_EQ(parser.args()[0], "PING");
  }
}

// Random bytes with a liking for what the grammar is made of, whole and in pieces.
TEST(RespParser, AMillionRandomStrings) {
  constexpr int kStrings = 1'000'000;
  constexpr std::string_view kPieces[] = {
      "*",      "$",           "\r\n",       "\r",  "\n",
      "1",      "2",           "0",          "-",   "9",
      "64",     "65",          "PING",       " ",   "\"",
      "'",      "\\x",         "a",          "\t",  "*1\r\n$4\r\nPING\r\n",
      "*2\r\n", "$1\r\na\r\n", "$0\r\n\r\n", "1000"};
  std::mt19937_64 random(20260101);
  size_t commands = 0;
  for (int i = 0; i < kStrings; ++i) {
    std::string stream;
    const size_t parts = 1 + random() % 12;
    for (size_t p = 0; p < parts; ++p) {
      if (random() % 16 == 0) {
        stream.push_back(static_cast<char>(random() & 0xff));
      } else {
        stream.append(kPieces[random() % std::size(kPieces)]);
      }
    }
    const std::string whole = Transcript(stream, stream.size());
    if (i % 8 == 0) {
      ASSERT_EQ(Transcript(stream, 1 + random() % 3), whole) << "string " << i;
    }
    commands += whole.find("command") != std::string::npos;
  }
  EXPECT_GT(commands, size_t{1000});
}

}  // namespace
}  // namespace vestq
