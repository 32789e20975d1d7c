// SCHEDULE over the wire: its shapes, its errors, and jobs that come by themselves.
#include <gtest/gtest.h>

#include <string>

#include "tests/net/test_server.h"

namespace vestq::nettest {
namespace {

class ServerSchedules : public ServerTest {};

TEST_P(ServerSchedules, LifeOfASchedule) {
  OPEN_OR_SKIP();
  Client c(port());
  EXPECT_EQ(c.Text({"SCHEDULE", "SET", "tick", "mail", "hello", "EVERY", "100ms", "PRIORITY", "7",
                    "TYPE", "report", "HEADER", "1", "a", "b"}),
            "OK");
  Value leased = c.Call({"LEASE", "mail", "BLOCK", "10s"});
  ASSERT_EQ(leased.items.size(), 1u) << leased.ToString();
  EXPECT_EQ(leased.items[0].at("payload").text, "hello");
  EXPECT_EQ(leased.items[0].at("priority").number, 7);
  EXPECT_EQ(leased.items[0].at("type").text, "report");
  EXPECT_EQ(c.Text({"SCHEDULE", "PAUSE", "tick"}), "OK");
  const Value got = c.Call({"SCHEDULE", "GET", "tick"});
  EXPECT_EQ(got.at("name").text, "tick");
  EXPECT_EQ(got.at("queue").text, "mail");
  EXPECT_EQ(got.at("every").number, 100);
  EXPECT_EQ(got.at("missed").text, "once");
  EXPECT_EQ(got.at("state").text, "paused");
  EXPECT_TRUE(got.at("next").null());
  EXPECT_GE(got.at("fired").number, 1);
  EXPECT_EQ(got.at("priority").number, 7);
  EXPECT_EQ(got.at("headers").items.size(), 2u);
  EXPECT_EQ(got.at("size").number, 5);
  EXPECT_EQ(got.at("payload").text, "hello");
  const Value run = c.Call({"SCHEDULE", "RUN", "tick"});
  EXPECT_EQ(c.Call({"JOB", run.text}).at("state").text, "ready");
  EXPECT_EQ(c.Text({"SCHEDULE", "RESUME", "tick"}), "OK");
  EXPECT_FALSE(c.Call({"SCHEDULE", "GET", "tick"}).at("next").null());
  EXPECT_EQ(c.Text({"SCHEDULE", "DEL", "tick"}), ":1");
  EXPECT_EQ(c.Text({"SCHEDULE", "DEL", "tick"}), ":0");
  EXPECT_EQ(c.Text({"SCHEDULE", "GET", "tick"}), "(null)");
  for (const char* sub : {"PAUSE", "RESUME", "RUN"}) {
    EXPECT_EQ(c.Text({"SCHEDULE", sub, "tick"}), "-NOTFOUND there is no schedule tick");
  }
}

TEST_P(ServerSchedules, RunWithAUniqueKeyAnswersAsEnqueueDoes) {
  OPEN_OR_SKIP();
  Client c(port());
  c.Call({"SCHEDULE", "SET", "s", "mail", "x", "CRON", "@yearly", "UNIQUE", "k"});
  const Value first = c.Call({"SCHEDULE", "RUN", "s"});
  ASSERT_EQ(first.items.size(), 3u) << first.ToString();
  EXPECT_EQ(first.items[1].number, 1);
  EXPECT_EQ(c.Text({"SCHEDULE", "RUN", "s"}), "[" + first.items[0].text + ", :0, ready]");
}

TEST_P(ServerSchedules, ListIsInPages) {
  OPEN_OR_SKIP();
  Client c(port());
  for (const char* name : {"c", "a", "b"}) {
    c.Call({"schedule", "set", name, "mail", "payload", "cron", "0 9 * * mon-fri", "tz",
            "Europe/London", "missed", "SKIP"});
  }
  const Value first = c.Call({"SCHEDULE", "LIST", "COUNT", "2"});
  ASSERT_EQ(first.items.size(), 2u) << first.ToString();
  EXPECT_EQ(first.items[0].text, ":b");
  ASSERT_EQ(first.items[1].items.size(), 2u);
  const Value& a = first.items[1].items[0];
  EXPECT_EQ(a.at("name").text, "a");
  EXPECT_EQ(a.at("cron").text, "0 9 * * mon-fri");
  EXPECT_EQ(a.at("tz").text, "Europe/London");
  EXPECT_EQ(a.at("missed").text, "skip");
  EXPECT_EQ(a.at("size").number, 7);
  EXPECT_EQ(a.at("payload").type, 0) << "a list has no payloads";
  const Value second = c.Call({"SCHEDULE", "LIST", "COUNT", "2", "CURSOR", ":b"});
  EXPECT_EQ(second.items[0].text, "0");
  ASSERT_EQ(second.items[1].items.size(), 1u);
  EXPECT_EQ(second.items[1].items[0].at("name").text, "c");
  c.Call({"HELLO", "3"});
  EXPECT_EQ(c.Call({"SCHEDULE", "GET", "a"}).type, '%');
}

TEST_P(ServerSchedules, NextTellsSlots) {
  OPEN_OR_SKIP();
  Client c(port());
  const Value slots = c.Call({"SCHEDULE", "NEXT", "0 0 29 2 *", "COUNT", "3"});
  ASSERT_EQ(slots.items.size(), 3u) << slots.ToString();
  EXPECT_GT(slots.items[1].number - slots.items[0].number, 1'400LL * 86'400'000);
  EXPECT_EQ(c.Call({"SCHEDULE", "NEXT", "* * * * *"}).items.size(), 1u);
  EXPECT_EQ(c.Call({"SCHEDULE", "NEXT", "*/5 * * * *", "TZ", "America/New_York", "COUNT", "1000"})
                .items.size(),
            1000u);
}

TEST_P(ServerSchedules, ErrorsNameWhatIsWrong) {
  OPEN_OR_SKIP();
  Client c(port());
  const std::pair<std::vector<std::string_view>, const char*> cases[] = {
      {{"SCHEDULE", "SET", "s", "q", "p"}, "-ERR SCHEDULE SET needs CRON or EVERY"},
      {{"SCHEDULE", "SET", "s", "q", "p", "TZ", "UTC"}, "-ERR option TZ belongs to CRON"},
      {{"SCHEDULE", "SET", "s", "q", "p", "EVERY", "5s", "TZ", "UTC"}, "-ERR options EVERY and TZ"},
      {{"SCHEDULE", "SET", "s", "q", "p", "CRON", "* * * * *", "EVERY", "5s"},
       "-ERR options CRON and EVERY"},
      {{"SCHEDULE", "SET", "s", "q", "p", "CRON", "*/5 * * * * *"},
       "-ERR cron must be five fields"},
      {{"SCHEDULE", "SET", "s", "q", "p", "CRON", "0 0 30 2 *"}, "-RANGE cron day-of-month"},
      {{"SCHEDULE", "SET", "s", "q", "p", "CRON", "* 24 * * *"}, "-RANGE cron hour: 24"},
      {{"SCHEDULE", "SET", "s", "q", "p", "CRON", "* * * * *", "TZ", "europe/london"},
       "-ERR there is no time zone europe/london"},
      {{"SCHEDULE", "SET", "s", "q", "p", "CRON", "* * * * *", "TZ", ""}, "-ERR TZ: "},
      {{"SCHEDULE", "SET", "s", "q", "p", "EVERY", "5"}, "-ERR EVERY"},
      {{"SCHEDULE", "SET", "s", "q", "p", "EVERY", "0"}, "-RANGE EVERY"},
      {{"SCHEDULE", "SET", "s", "q", "p", "EVERY", "99ms"}, "-RANGE EVERY"},
      {{"SCHEDULE", "SET", "s", "q", "p", "EVERY", "5s", "MISSED", "never"}, "-ERR MISSED 'never'"},
      {{"SCHEDULE", "SET", "s", "q", "p", "EVERY", "5s", "DELAY", "5s"}, "-ERR option DELAY"},
      {{"SCHEDULE", "SET", "s", "q", "p", "EVERY", "5s", "UNIQUE", "k", "REPLACE"},
       "-ERR option REPLACE"},
      {{"SCHEDULE", "SET", "s", "q", "p", "EVERY", "5s", "FOR", "5s"}, "-ERR option FOR belongs"},
      {{"SCHEDULE", "SET", "a b", "q", "p", "EVERY", "5s"}, "-ERR schedule name 'a b'"},
      {{"SCHEDULE", "SET", "", "q", "p", "EVERY", "5s"}, "-RANGE schedule name"},
      {{"SCHEDULE", "SET", "s", "q"}, "-ERR wrong number of arguments"},
      {{"SCHEDULE", "GET"}, "-ERR wrong number of arguments"},
      {{"SCHEDULE", "DEL", "s", "t"}, "-ERR wrong number of arguments"},
      {{"SCHEDULE", "NEXT"}, "-ERR wrong number of arguments"},
      {{"SCHEDULE", "NEXT", "@reboot"}, "-ERR cron @reboot"},
      {{"SCHEDULE", "NEXT", "* * * * *", "COUNT", "0"}, "-RANGE COUNT"},
      {{"SCHEDULE", "NEXT", "* * * * *", "COUNT", "1001"}, "-RANGE COUNT"},
      {{"SCHEDULE", "LIST", "CURSOR", "x"}, "-ERR CURSOR 'x'"},
      {{"SCHEDULE", "LATER"}, "-ERR unknown subcommand 'LATER'"},
      {{"SCHEDULE"}, "-ERR wrong number of arguments"},
  };
  for (const auto& [args, answer] : cases) {
    EXPECT_EQ(c.Text(args).rfind(answer, 0), 0u) << answer << " but " << c.Text(args);
  }
  EXPECT_EQ(c.Text({"SCHEDULE", "LIST"}), "[0, []]");
}

VESTQ_SERVER_TESTS(ServerSchedules);

}  // namespace
}  // namespace vestq::nettest
