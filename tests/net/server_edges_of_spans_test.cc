// Every span, time and back-off that a command takes, at the edges of its limits.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/net/edges_fixture.h"

namespace vestq::nettest {
namespace {

class ServerEdgesOfSpans : public ServerEdges {};

TEST_P(ServerEdgesOfSpans, SpansOfJobs) {
  if (!OpenEdges()) GTEST_SKIP();
  const auto option = [](const char* name) {
    return [name](const std::string& d) { return Words{"ENQUEUE", "q", "p", name, d}; };
  };
  const auto field = [this](const char* name) {
    return [this, name](const Value& r) { return Field(r.text, name); };
  };
  Spans({"DELAY", 0, kCentury, option("DELAY"), field("vests-in")});
  Spans({"LEASE", 100, kWeek, option("LEASE"), field("lease")});
  Spans({"EXPIRE", 1, kCentury, option("EXPIRE"), field("expire")});
  Spans({"KEEP", 0, kCentury, option("KEEP"), field("keep")});
  int keys = 0;
  Spans({"FOR", 1, kCentury,
         [&](const std::string& d) {
           return Words{"ENQUEUE", "q", "p", "UNIQUE", std::to_string(++keys), "FOR", d};
         },
         [this](const Value& r) { return Field(r.items.at(0).text, "unique-for"); }});
  const std::string moved = Enqueued({"DELAY", "1h"});
  Spans({"DELAY", 0, kCentury,
         [&](const std::string& d) {
           return Words{"RESCHEDULE", moved, "DELAY", d};
         },
         [&](const Value&) { return Field(moved, "vests-in"); }});
  ExpectNothingLeft();
}

TEST_P(ServerEdgesOfSpans, SpansOfLeases) {
  if (!OpenEdges()) GTEST_SKIP();
  std::string receipt = Held();
  const auto again = [&] {
    Call({"PROMOTE", receipt_id_});
    receipt = Call({"LEASE", "held", "FOR", "1h"}).items.at(0).at("receipt").text;
  };
  const auto number = [](const Value& r) { return std::to_string(r.number); };
  const auto left = [this](const Value&) { return Field(receipt_id_, "lease-left"); };
  Spans({"FOR", 100, kWeek,
         [&](const std::string& d) {
           return Words{"RENEW", receipt, "FOR", d};
         },
         number});
  Spans({"FOR", 100, kWeek,
         [&](const std::string& d) {
           return Words{"RENEW", receipt, "FOR", d};
         },
         left});
  Spans({"FOR", 100, kWeek,
         [&](const std::string& d) {
           return Words{"CHECKPOINT", receipt, "x", "FOR", d};
         },
         number});
  Spans({"FOR", 100, kWeek,
         [&](const std::string& d) {
           Call({"REVOKE", receipt_id_});
           return Words{"LEASE", "held", "FOR", d};
         },
         [](const Value& r) { return std::to_string(r.items.at(0).at("lease-left").number); }});
  again();
  Spans({"DELAY", 0, kCentury,
         [&](const std::string& d) {
           return Words{"FAIL", receipt, "DELAY", d};
         },
         [&](const Value& r) {
           again();
           return std::to_string(r.items.at(1).number);
         }});
  Spans({"DELAY", 0, kCentury,
         [&](const std::string& d) {
           return Words{"RELEASE", receipt, "DELAY", d};
         },
         [&](const Value&) {
           const std::string kept = Field(receipt_id_, "vests-in");
           again();
           return kept;
         }});
  EXPECT_EQ(Text({"COMPLETE", receipt}), "OK") << "no refused word has ended it";
  // A wait of each length is taken; that it lasts so long is in server_spans_test.cc.
  Spans({"BLOCK", 0, kCentury,
         [&](const std::string& d) {
           Call({"ENQUEUE", "ready", "p"});
           return Words{"LEASE", "ready", "BLOCK", d};
         },
         nullptr});
  Spans({"BLOCK", 0, kCentury,
         [&](const std::string& d) {
           return Words{"WAITFOR", receipt_id_, "BLOCK", d};
         },
         nullptr});
}

TEST_P(ServerEdgesOfSpans, SpansOfQueues) {
  if (!OpenEdges()) GTEST_SKIP();
  const auto option = [this](const char* name, int64_t least, int64_t most) {
    Spans({name, static_cast<uint64_t>(least), static_cast<uint64_t>(most),
           [name](const std::string& d) {
             return Words{"QUEUE", "SET", "set", name, d};
           },
           [this, name](const Value&) {
             const auto ms =
                 words::ParseDuration("", QueueField(name), Duration(0), Duration(INT64_MAX));
             return ms.ok() ? std::to_string(ms->ms()) : ms.error().ToString();
           }});
  };
  option("lease", 100, kWeek);
  option("keep", 0, kCentury);
  option("dead-keep", 0, kCentury);
  option("ageing", 100, 365 * kDay);
  Spans({"FOR", 1, kCentury,
         [](const std::string& d) {
           return Words{"QUEUE", "PAUSE", "set", "FOR", d};
         },
         [this](const Value&) { return QueueField("paused"); }});
  ExpectNothingLeft();
}

TEST_P(ServerEdgesOfSpans, SpansOfSchedules) {
  if (!OpenEdges()) GTEST_SKIP();
  const auto got = [this](const char* name) {
    return [this, name](const Value&) {
      const Value value = Call({"SCHEDULE", "GET", "set"}).at(name);
      Call({"SCHEDULE", "DEL", "set"});
      return value.type == ':' ? std::to_string(value.number) : "0";
    };
  };
  const auto option = [](Words before) {
    return [before](const std::string& d) {
      Words words = {"SCHEDULE", "SET", "set", "q", "p"};
      words.insert(words.end(), before.begin(), before.end());
      words.push_back(d);
      return words;
    };
  };
  Spans({"EVERY", 100, kCentury, option({"EVERY"}), got("every")});
  Spans({"EXPIRE", 1, kCentury, option({"EVERY", "1h", "EXPIRE"}), got("expire")});
  Spans({"KEEP", 0, kCentury, option({"EVERY", "1h", "UNIQUE", "k", "FOR", "1h", "KEEP"}),
         got("keep")});
  ExpectNothingLeft();
}

TEST_P(ServerEdgesOfSpans, BackOffs) {
  if (!OpenEdges()) GTEST_SKIP();
  const Argument backoff = {"BACKOFF", 0, 0,
                            [](const std::string& d) {
                              return Words{"ENQUEUE", "q", "p", "BACKOFF", d};
                            },
                            [this](const Value& r) { return Field(r.text, "backoff"); }};
  std::string most = "list:0", more;
  for (int i = 1; i < 64; ++i) most += ",1ms";
  more = most + ",1ms";
  const std::string kept[] = {"fixed:0",
                              "fixed:1ms",
                              "fixed:365d",
                              "list:0",
                              "list:365d",
                              "list:1s,10s,1m",
                              most,
                              "exp:1ms:1ms",
                              "exp:1ms:365d",
                              "exp:365d:365d",
                              "exp:5s:12h",
                              "fixed:2147483647ms",
                              "fixed:2147483648ms",
                              "fixed:4294967295ms",
                              "fixed:4294967296ms"};
  for (const std::string& text : kept) ExpectTaken(backoff, text, text);
  const std::pair<std::string, const char*> refused[] = {
      {"fixed:31536000001ms", "-RANGE delay must be at most 365d"},
      {"list:1s,366d", "-RANGE list entry must be at most 365d"},
      {"exp:1s:366d", "-RANGE cap must be at most 365d"},
      {"exp:366d:366d", "-RANGE base must be at most 365d"},
      {"exp:0:1s", "-RANGE base must be at least 1ms"},
      {"exp:2s:1s", "-RANGE base must be at most the backoff cap"},
      {"fixed:9223372036854775808ms", "-RANGE "},
      {"fixed:18446744073709551616s", "-RANGE "},
      {"fixed:18446744073709551617ms", "-RANGE "},
      {"fixed:-1ms", "-ERR "},
      {"exp:-1s:1s", "-ERR "},
      {more, "-TOOBIG list must have at most 64 entries"},
      {"", "-ERR "},
      {"fixed", "-ERR "},
      {"fixed:", "-ERR "},
      {"fixed:30", "-ERR "},
      {"fixed:1e3s", "-ERR "},
      {"fixed:007s", "-ERR "},
      {"fixed:1s,2s", "-ERR "},
      {"list:", "-ERR "},
      {"list:1s,", "-ERR "},
      {"exp:1s", "-ERR "},
      {"exp:1s:2s:3s", "-ERR "},
      {"EXP:1s:2s ", "-ERR "},
  };
  // The option and its value are named, then what is wrong.
  const auto refuse = [&](const Argument& argument) {
    for (const auto& [text, error] : refused) {
      const std::string all = error, code = all.substr(0, all.find(' ') + 1);
      ExpectRefused(argument, text, code);
      Words words = argument.words(text);
      EXPECT_NE(Text(words).find(all.substr(code.size())), std::string::npos) << text;
    }
  };
  refuse(backoff);
  const Argument of_queue = {"backoff", 0, 0,
                             [](const std::string& d) {
                               return Words{"QUEUE", "SET", "set", "backoff", d};
                             },
                             [this](const Value&) { return QueueField("backoff"); }};
  for (const std::string& text : kept) ExpectTaken(of_queue, text, text);
  refuse(of_queue);
  ExpectNothingLeft();
}

TEST_P(ServerEdgesOfSpans, Times) {
  if (!OpenEdges()) GTEST_SKIP();
  const int64_t now = clock.wall_ms, last = (int64_t{1} << 48) - 1;
  const std::string moved = Enqueued({"DELAY", "1h"});
  const Argument at[] = {
      {"AT", 0, 0,
       [](const std::string& t) {
         return Words{"ENQUEUE", "q", "p", "AT", t};
       },
       [this](const Value& r) { return Field(r.text, "state") + " " + Field(r.text, "vests-in"); }},
      {"AT", 0, 0,
       [&](const std::string& t) {
         return Words{"RESCHEDULE", moved, "AT", t};
       },
       [&](const Value&) { return Field(moved, "state") + " " + Field(moved, "vests-in"); }}};
  for (const Argument& argument : at) {
    for (const int64_t past :
         {int64_t{0}, int64_t{1}, now - 365 * kDay, int64_t{1'000'000'000'000}, now - 1, now})
      ExpectTaken(argument, std::to_string(past), "ready 0");
    for (const int64_t to_come : {now + 1, now + 3'600'000, int64_t{1} << 47, last - 1, last})
      ExpectTaken(argument, std::to_string(to_come), "scheduled " + std::to_string(to_come - now));
    const std::pair<const char*, int64_t> rfc[] = {
        {"2030-01-31T08:00:00Z", 1'896'076'800'000},
        {"2030-01-31T10:00:00.123+02:00", 1'896'076'800'123},
        {"2032-02-29T23:59:59.999Z", 1'961'711'999'999},
        {"9999-12-31T23:59:59.999Z", 253'402'300'799'999}};
    for (const auto& [text, ms] : rfc)
      ExpectTaken(argument, text, "scheduled " + std::to_string(ms - now));
    ExpectTaken(argument, "1970-01-01T00:00:00Z", "ready 0");
    for (const char* text :
         {"281474976710656", "1000000000000000000", "9223372036854775808", "18446744073709551616",
          "-1", "1969-12-31T23:59:59Z", "1970-01-01T00:00:00+00:01"})
      ExpectRefused(argument, text,
                    "-RANGE AT '" + std::string(text) + "' is outside 0 to 281474976710655");
    for (const char* text :
         {"", "1e12", "007", "+5", "5.5", "0x10", "5s", "now", "2030-01-31", "2030-01-31T08:00:00",
          "2030-02-30T00:00:00Z", "2030-13-01T00:00:00Z", "2030-01-31T24:00:00Z",
          "2030-01-31T08:60:00Z", "10000-01-01T00:00:00Z"})
      ExpectRefused(argument, text, "-ERR AT '" + std::string(text) + "': a time is expected");
  }
  ExpectNothingLeft();
}

VESTQ_STEPPED_TESTS(ServerEdgesOfSpans);

}  // namespace
}  // namespace vestq::nettest
