// PURGE and QUEUE DROP over the wire: replies and errors.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/net/test_server.h"

namespace vestq::nettest {
namespace {

class ServerPurge : public ServerTest {};

TEST_P(ServerPurge, PurgeAnswersHowManyThereWere) {
  OPEN_OR_SKIP();
  Client c(port());
  for (const char* version : {"2", "3"}) {
    c.Call({"HELLO", version});
    for (int i = 0; i < 5; ++i) c.Call({"ENQUEUE", "q", "p"});
    c.Call({"ENQUEUE", "q", "p", "SPACE", "acme"});
    c.Call({"ENQUEUE", "q", "p", "SPACE", ""});
    const std::string later = c.Call({"ENQUEUE", "q", "p", "DELAY", "1h"}).text;
    const Value leased = c.Call({"LEASE", "q"});
    ASSERT_EQ(leased.items.size(), 1u);
    EXPECT_EQ(c.Text({"PURGE", "q", "SPACE", "acme"}), ":1");
    EXPECT_EQ(c.Text({"PURGE", "q", "state", "scheduled", "space", ""}), ":1");
    EXPECT_EQ(c.Text({"JOB", later}), c.Text({"JOB", "4711"}));
    EXPECT_EQ(c.Text({"PURGE", "q", "STATE", "waiting"}), ":0");
    EXPECT_EQ(c.Text({"PURGE", "q"}), ":5");
    EXPECT_EQ(c.Text({"PURGE", "q"}), ":0");
    EXPECT_EQ(c.Call({"QUEUE", "INFO", "q"}).at("leased").number, 1);
    EXPECT_EQ(c.Text({"FAIL", leased.items[0].at("receipt").text, "DEAD"}).substr(0, 1), "[");
    EXPECT_EQ(c.Text({"PURGE", "q", "STATE", "dead"}), ":1");
  }
  const std::string a = c.Call({"ENQUEUE", "q", "p"}).text;
  const std::string b = c.Call({"ENQUEUE", "other", "p"}).text;
  EXPECT_EQ(c.Text({"PURGE", "q", "id", a, b, a}), ":1");
  EXPECT_EQ(c.Call({"JOB", b}).at("state").text, "ready");
}

TEST_P(ServerPurge, DropForgetsTheQueue) {
  OPEN_OR_SKIP();
  Client c(port());
  for (int i = 0; i < 3; ++i) c.Call({"ENQUEUE", "q", "p"});
  c.Call({"QUEUE", "SET", "q", "attempts", "7"});
  const Value leased = c.Call({"LEASE", "q"});
  EXPECT_EQ(c.Text({"QUEUE", "DROP", "q"}), ":3");
  EXPECT_EQ(c.Call({"COMPLETE", leased.items[0].at("receipt").text}).text.substr(0, 9),
            "LEASELOST");
  EXPECT_EQ(c.Text({"QUEUE", "INFO", "q"}), "-NOTFOUND there is no queue 'q'");
  EXPECT_EQ(c.Text({"QUEUE", "DROP", "q"}), "-NOTFOUND there is no queue 'q'");
  EXPECT_EQ(c.Text({"PURGE", "q"}), "-NOTFOUND there is no queue 'q'");
  c.Call({"ENQUEUE", "q", "p"});
  EXPECT_EQ(c.Call({"QUEUE", "INFO", "q"}).at("attempts").number, 25);
  EXPECT_EQ(c.Call({"QUEUE", "INFO", "q"}).at("enqueued").number, 1);
}

TEST_P(ServerPurge, Refusals) {
  OPEN_OR_SKIP();
  Client c(port());
  std::vector<std::string_view> many = {"PURGE", "q", "ID"};
  for (int i = 0; i < 1001; ++i) many.push_back("7");
  const struct {
    std::vector<std::string_view> words;
    std::string reply;
  } cases[] = {
      {{"PURGE"}, "-ERR wrong number of arguments for 'purge' command"},
      {{"PURGE", "q", "STATE", "odd"},
       "-ERR STATE 'odd': ready, scheduled, waiting, leased, dead or done is expected"},
      {{"PURGE", "q", "ID"}, "-ERR PURGE ID needs at least one id"},
      {{"PURGE", "q", "SPACE", "s", "ID", "7"},
       "-ERR PURGE queue ID id ... takes no other options"},
      {many, "-RANGE number of ids 1001 is outside 0 to 1000"},
      {{"QUEUE", "DROP"}, "-ERR wrong number of arguments for 'queue' command"},
  };
  for (const auto& [words, reply] : cases) EXPECT_EQ(c.Text(words), reply);
}

VESTQ_SERVER_TESTS(ServerPurge);

}  // namespace
}  // namespace vestq::nettest
