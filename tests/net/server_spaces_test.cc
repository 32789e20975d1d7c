// SPACES and SPACE over the wire: replies and errors.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/net/test_server.h"

namespace vestq::nettest {
namespace {

class ServerSpaces : public ServerTest {};

TEST_P(ServerSpaces, InfoSaysWhatThereIsAndWhatHolds) {
  OPEN_OR_SKIP();
  Client c(port());
  for (const char* version : {"2", "3"}) {
    c.Call({"HELLO", version});
    for (int i = 0; i < 4; ++i) c.Call({"ENQUEUE", "q", "p", "SPACE", "acme"});
    const Value leased = c.Call({"LEASE", "q", "SPACE", "acme"});
    ASSERT_EQ(leased.items.size(), 1u);
    EXPECT_EQ(c.Text({"QUEUE", "SET", "q", "space-weight", "2", "space-rate", "100", "space-burst",
                      "50", "space-concurrency", "9"}),
              "OK");
    const Value info = c.Call({"SPACE", "INFO", "q", "acme"});
    EXPECT_EQ(info.at("queue").text, "q");
    EXPECT_EQ(info.at("space").text, "acme");
    EXPECT_EQ(info.at("ready").number, 3);
    EXPECT_EQ(info.at("ready-exact").number, 1);
    EXPECT_GE(info.at("oldest-ready").number, 0);
    EXPECT_EQ(info.at("leased").number, 1);
    EXPECT_EQ(info.at("weight").number, 2);
    EXPECT_EQ(info.at("concurrency").number, 9);
    EXPECT_EQ(info.at("rate").text, "100/s");
    EXPECT_EQ(info.at("burst").number, 50);
    EXPECT_EQ(info.at("paused").number, 0);
    EXPECT_TRUE(info.at("own").items.empty());
    EXPECT_EQ(c.Text({"SPACE", "SET", "q", "acme", "weight", "3", "concurrency", "NONE", "rate",
                      "0.5/s", "burst", "7", "pause", "1h"}),
              "OK");
    const Value own = c.Call({"space", "info", "q", "acme"});
    EXPECT_EQ(own.at("weight").number, 3);
    EXPECT_EQ(own.at("concurrency").text, "none");
    EXPECT_EQ(own.at("rate").text, "0.5/s");
    EXPECT_EQ(own.at("burst").number, 7);
    EXPECT_GT(own.at("paused").number, 3'590'000);
    EXPECT_EQ(own.at("adaptive").text, "none");
    EXPECT_TRUE(own.at("usual-lease").null());
    EXPECT_EQ(own.at("halvings").number, 0);
    EXPECT_EQ(own.at("own").ToString(), "[weight, concurrency, rate, burst, pause]");
    EXPECT_TRUE(c.Call({"LEASE", "q", "SPACE", "acme"}).null());
    EXPECT_EQ(c.Text({"SPACE", "PAUSE", "q", "acme"}), "OK");
    EXPECT_EQ(c.Call({"SPACE", "INFO", "q", "acme"}).at("paused").number, -1);
    EXPECT_EQ(c.Text({"SPACE", "RESUME", "q", "acme"}), "OK");
    EXPECT_EQ(c.Text({"SPACE", "SET", "q", "acme", "rate", "none"}), "OK");
    EXPECT_EQ(c.Call({"SPACE", "INFO", "q", "acme"}).at("rate").text, "none");
    EXPECT_EQ(c.Call({"LEASE", "q", "COUNT", "9"}).items.size(), 3u);
    EXPECT_EQ(c.Text({"SPACE", "SET", "q", "acme", "weight", "default", "concurrency", "default",
                      "rate", "default", "burst", "default", "pause", "default"}),
              "OK");
    EXPECT_TRUE(c.Call({"SPACE", "INFO", "q", "acme"}).at("own").items.empty());
    const Value nobody = c.Call({"SPACE", "INFO", "q", ""});
    EXPECT_EQ(nobody.at("ready").number, 0);
    EXPECT_TRUE(nobody.at("oldest-ready").null());
    EXPECT_EQ(c.Text({"QUEUE", "DROP", "q"}), ":4");
  }
}

TEST_P(ServerSpaces, AreListedInPages) {
  OPEN_OR_SKIP();
  Client c(port());
  for (const char* space : {"b", "", "a", "b"}) c.Call({"ENQUEUE", "q", "p", "SPACE", space});
  c.Call({"SPACE", "SET", "q", "c", "weight", "5"});
  const Value all = c.Call({"SPACES", "q"});
  EXPECT_EQ(all.items[0].text, "0");
  ASSERT_EQ(all.items[1].items.size(), 4u);
  EXPECT_EQ(all.items[1].items[0].at("space").text, "");
  EXPECT_EQ(all.items[1].items[2].at("ready").number, 2);
  EXPECT_EQ(all.items[1].items[3].at("weight").number, 5);
  std::string cursor = "0", seen;
  do {
    const Value page = c.Call({"SPACES", "q", "COUNT", "1", "CURSOR", cursor});
    ASSERT_EQ(page.items[1].items.size(), 1u);
    seen += page.items[1].items[0].at("space").text + ",";
    cursor = page.items[0].text;
  } while (cursor != "0");
  EXPECT_EQ(seen, ",a,b,c,");
}

TEST_P(ServerSpaces, APausedSpaceIsServedWhenItIsResumed) {
  OPEN_OR_SKIP();
  Client c(port()), worker(port());
  c.Call({"SPACE", "PAUSE", "q", "a", "FOR", "1h"});
  c.Call({"ENQUEUE", "q", "p", "SPACE", "a"});
  EXPECT_TRUE(c.Call({"LEASE", "q"}).null());
  worker.Send({"LEASE", "q", "BLOCK", "20s"});
  c.Call({"SPACE", "RESUME", "q", "a"});
  EXPECT_EQ(worker.Read().items.size(), 1u);
}

TEST_P(ServerSpaces, Help) {
  OPEN_OR_SKIP();
  Client c(port());
  const Value help = c.Call({"SPACE", "HELP"});
  ASSERT_EQ(help.items.size(), 11u);
  EXPECT_EQ(help.items[1].text, "INFO <queue> <space>");
}

TEST_P(ServerSpaces, Refusals) {
  OPEN_OR_SKIP();
  Client c(port());
  c.Call({"ENQUEUE", "q", "p"});
  const std::string long_space(201, 'x');
  const struct {
    std::vector<std::string_view> words;
    std::string reply;
  } cases[] = {
      {{"SPACE"}, "-ERR wrong number of arguments for 'space' command"},
      {{"SPACE", "ODD", "q", "s"}, "-ERR unknown subcommand 'ODD'. Try SPACE HELP."},
      {{"SPACE", "SET", "q"}, "-ERR wrong number of arguments for 'space' command"},
      {{"SPACE", "SET", "q", "s"}, "-ERR SPACE SET needs an option and its value"},
      {{"SPACE", "SET", "q", "s", "weight", "0"}, "-RANGE weight '0' is outside 1 to 1000"},
      {{"SPACE", "SET", "q", "s", "weight", "1001"}, "-RANGE weight '1001' is outside 1 to 1000"},
      {{"SPACE", "SET", "q", "s", "burst", "0"}, "-RANGE burst '0' is outside 1 to 1000000"},
      {{"SPACE", "SET", "q", "s", "concurrency", "1000001"},
       "-RANGE concurrency '1000001' is outside 0 to 1000000"},
      {{"SPACE", "SET", "q", "s", "rate", "0"},
       "-RANGE rate must be from 0.000001 to 1000000 jobs a second"},
      {{"SPACE", "SET", "q", "s", "pause", "maybe"},
       "-ERR pause 'maybe': yes, no or a duration (write 30s) is expected"},
      {{"SPACE", "SET", "q", "s", "pause", "30"},
       "-ERR pause '30': yes, no or a duration (write 30s) is expected"},
      {{"SPACE", "INFO", "nobody", "s"}, "-NOTFOUND there is no queue 'nobody'"},
      {{"SPACE", "INFO", "q", "s", "x"}, "-ERR wrong number of arguments for 'space|info' command"},
      {{"SPACE", "RESUME", "q", "s", "x"},
       "-ERR wrong number of arguments for 'space|resume' command"},
      {{"SPACES"}, "-ERR wrong number of arguments for 'spaces' command"},
      {{"SPACES", "nobody"}, "-NOTFOUND there is no queue 'nobody'"},
      {{"SPACES", "q", "COUNT", "1001"}, "-RANGE COUNT '1001' is outside 1 to 1000"},
      {{"SPACES", "q", "CURSOR", "odd"}, "-ERR CURSOR: 0 or what the last call gave is expected"},
      {{"QUEUE", "SET", "q", "space-weight", "0"}, "-RANGE space-weight '0' is outside 1 to 1000"},
  };
  for (const auto& [words, reply] : cases) EXPECT_EQ(c.Text(words), reply);
  EXPECT_EQ(c.Text({"SPACE", "SET", "q", "s", "odd", "1"}).substr(0, 4), "-ERR");
  EXPECT_EQ(c.Text({"SPACE", "SET", "q", "s", "weight"}).substr(0, 4), "-ERR");
  EXPECT_EQ(c.Text({"SPACE", "SET", "q", long_space, "weight", "1"}).substr(0, 6), "-RANGE");
  EXPECT_EQ(c.Text({"SPACE", "PAUSE", "q", "s", "FOR", "0"}).substr(0, 6), "-RANGE");
}

VESTQ_SERVER_TESTS(ServerSpaces);

}  // namespace
}  // namespace vestq::nettest
