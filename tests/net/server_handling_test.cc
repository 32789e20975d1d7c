// Looking at jobs and moving them by hand, over the wire: words, replies and errors.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/net/test_server.h"

namespace vestq::nettest {
namespace {

class ServerHandling : public ServerTest {};

#define OPEN_OR_SKIP(...) \
  if (!Open(__VA_ARGS__)) GTEST_SKIP() << "io_uring does not work here"

TEST_P(ServerHandling, RevokePromoteAndReschedule) {
  OPEN_OR_SKIP();
  Client c(port());
  const std::string id = c.Call({"ENQUEUE", "q", "p", "DELAY", "1h", "ATTEMPTS", "2"}).text;
  EXPECT_EQ(c.Text({"RESCHEDULE", id, "DELAY", "2h", "PRIORITY", "5"}), "OK");
  EXPECT_GT(c.Call({"JOB", id}).at("vests-in").number, 7'000'000);
  EXPECT_EQ(c.Call({"JOB", id}).at("priority").number, 5);
  EXPECT_EQ(c.Text({"RESCHEDULE", id, "at", "2999-01-01T00:00:00Z"}), "OK");
  EXPECT_EQ(c.Text({"REVOKE", id}), ":0");
  EXPECT_EQ(c.Text({"PROMOTE", id}), "OK");
  EXPECT_EQ(c.Text({"PROMOTE", id}), "OK");
  EXPECT_EQ(c.Call({"JOB", id}).at("state").text, "ready");
  for (int attempt = 1; attempt <= 2; ++attempt) {
    const Value leased = c.Call({"LEASE", "q"});
    ASSERT_EQ(leased.items.size(), 1u) << leased.ToString();
    EXPECT_EQ(leased.items[0].at("attempt").number, attempt);
    EXPECT_EQ(c.Text({"PROMOTE", id}), "-BUSY job " + id + " is leased");
    EXPECT_EQ(c.Text({"RESCHEDULE", id, "DELAY", "0"}), "-BUSY job " + id + " is leased");
    EXPECT_EQ(c.Text({"REVOKE", id}), ":1");
    EXPECT_EQ(c.Call({"COMPLETE", leased.items[0].at("receipt").text}).text.substr(0, 9),
              "LEASELOST");
  }
  EXPECT_EQ(c.Call({"JOB", id}).at("reason").text, "attempts used up: the lease was revoked");
  EXPECT_EQ(c.Text({"PROMOTE", id}), "-BUSY job " + id + " is dead");
  EXPECT_EQ(c.Text({"CANCEL", id}), ":1");
  EXPECT_EQ(c.Text({"PROMOTE", id}), "-NOTFOUND there is no job " + id);
  EXPECT_EQ(c.Text({"RESCHEDULE", id, "DELAY", "1s"}), "-NOTFOUND there is no job " + id);
}

TEST_P(ServerHandling, RefusesWhatIsNotOfTheForm) {
  OPEN_OR_SKIP();
  Client c(port());
  const struct {
    std::vector<std::string_view> args;
    const char* reply;
  } cases[] = {
      {{"REVOKE"}, "-ERR wrong number of arguments for 'revoke' command"},
      {{"REVOKE", "1", "2"}, "-ERR wrong number of arguments for 'revoke' command"},
      {{"PROMOTE", "0"}, "-RANGE job id '0' is outside 1 to 9007199254740991"},
      {{"RESCHEDULE", "1"}, "-ERR wrong number of arguments for 'reschedule' command"},
      {{"RESCHEDULE", "1", "PRIORITY", "3"}, "-ERR RESCHEDULE needs DELAY d or AT t"},
      {{"RESCHEDULE", "1", "DELAY", "3s", "AT", "5"},
       "-ERR options DELAY and AT contradict each other"},
      {{"RESCHEDULE", "1", "DELAY", "1s", "DELAY", "1s"}, "-ERR option DELAY stands twice"},
      {{"RESCHEDULE", "1", "PRIORITY", "1", "DELAY"}, "-ERR option DELAY needs a value"},
      {{"RESCHEDULE", "1", "LATER", "1s"}, "-ERR unknown option 'LATER' for RESCHEDULE"},
  };
  for (const auto& test : cases) EXPECT_EQ(c.Text(test.args), test.reply);
}

VESTQ_SERVER_TESTS(ServerHandling);

}  // namespace
}  // namespace vestq::nettest
