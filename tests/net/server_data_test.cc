// The application's own data over the wire: words, replies and errors.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/net/test_server.h"

namespace vestq::nettest {
namespace {

class ServerData : public ServerTest {};

TEST_P(ServerData, SetsReadsAndDeletes) {
  OPEN_OR_SKIP();
  Client c(port());
  EXPECT_EQ(c.Text({"SET", "a", "1"}), "OK");
  EXPECT_EQ(c.Text({"set", "a", "2", "nx"}), c.Text({"GET", "none"}));
  EXPECT_EQ(c.Text({"SET", "a", "2", "IF", "1"}), "OK");
  EXPECT_EQ(c.Text({"GET", "a"}), "2");
  EXPECT_EQ(c.Text({"EXISTS", "a", "b", "a"}), ":2");
  EXPECT_EQ(c.Call({"MGET", "a", "b"}).items.size(), 2u);
  EXPECT_EQ(c.Text({"SET", "ab", "3"}), "OK");
  EXPECT_EQ(c.Text({"RANGE", "a"}), "[0, [a, 2, ab, 3]]");
  const Value page = c.Call({"RANGE", "", "COUNT", "1"});
  EXPECT_EQ(page.items[0].text, ":a");
  EXPECT_EQ(c.Text({"RANGE", "", "COUNT", "5", "CURSOR", page.items[0].text}), "[0, [ab, 3]]");
  EXPECT_EQ(c.Text({"DEL", "a", "ab", "b"}), ":2");
  EXPECT_EQ(c.Text({"EXISTS", "a"}), ":0");
}

TEST_P(ServerData, RefusesWhatIsNotOfTheForm) {
  OPEN_OR_SKIP();
  Client c(port());
  const std::string long_key(1025, 'k');
  const struct {
    std::vector<std::string_view> args;
    const char* reply;
  } cases[] = {
      {{"SET", "k"}, "-ERR wrong number of arguments for 'set' command"},
      {{"SET", "", "v"}, "-RANGE a key of 0 bytes is outside 1 to 1024"},
      {{"SET", long_key, "v"}, "-RANGE a key of 1025 bytes is outside 1 to 1024"},
      {{"SET", "k", "v", "EX", "5"}, "-ERR unknown option 'EX' for SET"},
      {{"SET", "k", "v", "NX", "IF", "x"}, "-ERR options NX and IF contradict each other"},
      {{"GET", "k", "l"}, "-ERR wrong number of arguments for 'get' command"},
      {{"RANGE", "k", "CURSOR", "k"}, "-ERR CURSOR 'k': 0 or what the last call gave is expected"},
      {{"RANGE", "k", "COUNT", "0"}, "-RANGE COUNT '0' is outside 1 to 10000"},
  };
  for (const auto& test : cases) EXPECT_EQ(c.Text(test.args), test.reply);
}

VESTQ_SERVER_TESTS(ServerData);

}  // namespace
}  // namespace vestq::nettest
