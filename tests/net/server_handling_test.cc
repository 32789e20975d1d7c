// Looking at jobs and moving them by hand, over the wire: words, replies and errors.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/net/test_server.h"

namespace vestq::nettest {
namespace {

class ServerHandling : public ServerTest {};

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

TEST_P(ServerHandling, AJobTellsItsTimesAndItsOwnOptions) {
  OPEN_OR_SKIP();
  Client c(port());
  for (const char* version : {"2", "3"}) {
    c.Call({"HELLO", version});
    const std::string plain = c.Call({"ENQUEUE", "q", "p"}).text;
    Value job = c.Call({"JOB", plain});
    EXPECT_EQ(job.at("vests").number, job.at("enqueued").number) << job.ToString();
    for (const char* none : {"backoff", "lease", "unique", "unique-for", "expire", "keep"})
      EXPECT_EQ(job.ToString().find(none), std::string::npos) << job.ToString();

    const std::string id =
        c.Call({"ENQUEUE", "q", "p", "PRIORITY", "1", "BACKOFF", "fixed:7s", "LEASE", "9s",
                "UNIQUE", "k", "FOR", "2h", "EXPIRE", "3h", "KEEP", "1h", "AT", "4000000000000"})
            .items.at(0)
            .text;
    job = c.Call({"PEEK", "q", "STATE", "scheduled"}).items.at(1).items.at(0);
    EXPECT_EQ(job.at("vests").number, 4'000'000'000'000) << job.ToString();
    EXPECT_EQ(job.at("backoff").text, "fixed:7s");
    EXPECT_EQ(job.at("lease").number, 9'000);
    EXPECT_EQ(job.at("unique").text, "k");
    EXPECT_EQ(job.at("unique-for").number, 7'200'000);
    EXPECT_EQ(job.at("expire").number, 10'800'000);
    EXPECT_EQ(job.at("keep").number, 3'600'000);

    EXPECT_EQ(c.Text({"PROMOTE", id}), "OK");
    job = c.Call({"JOB", id});
    EXPECT_EQ(job.at("vests").number, job.at("enqueued").number) << "not a time to come";
    const Value leased = c.Call({"LEASE", "q"}).items.at(0);
    ASSERT_EQ(leased.at("id").text, id);
    job = c.Call({"JOB", id});
    EXPECT_NEAR(static_cast<double>(job.at("deadline").number),
                static_cast<double>(leased.at("deadline").number), 2'000);
    EXPECT_EQ(job.at("unique").text, "k");
    EXPECT_EQ(job.ToString().find("expire"), std::string::npos) << "it was leased";
    EXPECT_EQ(c.Text({"CANCEL", id}), ":1");
    EXPECT_EQ(c.Text({"CANCEL", plain}), ":1");
  }
}

TEST_P(ServerHandling, ManyJobsAtOnce) {
  OPEN_OR_SKIP();
  Client c(port());
  for (const char* version : {"2", "3"}) {
    c.Call({"HELLO", version});
    const Value ids = c.Call({"ENQUEUEMANY", "many", "3", "a", "PRIORITY", "", "priority", "7"});
    ASSERT_EQ(ids.items.size(), 3u) << ids.ToString();
    for (const Value& id : ids.items) EXPECT_EQ(c.Call({"JOB", id.text}).at("priority").number, 7);
    const Value leased = c.Call({"LEASE", "many", "COUNT", "5"});
    ASSERT_EQ(leased.items.size(), 3u);
    const char* const payloads[] = {"a", "PRIORITY", ""};
    for (size_t i = 0; i < 3; ++i) {
      EXPECT_EQ(leased.items[i].at("id").text, ids.items[i].text);
      EXPECT_EQ(leased.items[i].at("payload").text, payloads[i]);
    }
  }
  EXPECT_EQ(c.Call({"QUEUE", "INFO", "many"}).at("enqueued").number, 6);
  std::vector<std::string_view> words = {"ENQUEUEMANY", "big", "1000"};
  words.resize(1003, "x");
  EXPECT_EQ(c.Call(words).items.size(), 1000u);
  EXPECT_EQ(c.Call({"QUEUE", "INFO", "big"}).at("ready").number, 1000);
}

TEST_P(ServerHandling, PeekListsInPages) {
  OPEN_OR_SKIP();
  Client c(port());
  EXPECT_EQ(c.Text({"PEEK", "q"}), "-NOTFOUND there is no queue 'q'");
  for (int i = 0; i < 25; ++i) {
    const std::string payload = "p" + std::to_string(i);
    c.Call({"ENQUEUE", "q", payload, "SPACE", "s"});
  }
  for (const char* version : {"2", "3"}) {
    c.Call({"HELLO", version});
    EXPECT_EQ(c.Text({"PEEK", "q", "STATE", "dead"}), "[0, []]");
    std::string cursor = "0";
    int seen = 0;
    for (int pages = 0; pages < 5; ++pages) {
      const Value page = c.Call({"PEEK", "q", "COUNT", "10", "CURSOR", cursor, "PAYLOAD"});
      ASSERT_EQ(page.items.size(), 2u) << page.ToString();
      for (const Value& job : page.items[1].items) {
        EXPECT_EQ(job.type, version[0] == '3' ? '%' : '*');
        EXPECT_EQ(job.at("state").text, "ready");
        EXPECT_EQ(job.at("payload").text, "p" + std::to_string(seen++));
        EXPECT_EQ(c.Call({"JOB", job.at("id").text}).at("space").text, "s");
      }
      cursor = page.items[0].text;
      if (cursor == "0") break;
    }
    EXPECT_EQ(seen, 25);
  }
  EXPECT_EQ(c.Call({"PEEK", "q", "SPACE", "t"}).items[1].items.size(), 0u);
  EXPECT_EQ(c.Call({"PEEK", "q", "SPACE", "s", "STATE", "READY"}).items[1].items.size(), 10u);
}

TEST_P(ServerHandling, RedriveGivesNumbers) {
  OPEN_OR_SKIP();
  Client c(port());
  for (const char* version : {"2", "3"}) {
    c.Call({"HELLO", version});
    std::vector<std::string> ids;
    for (int i = 0; i < 4; ++i) {
      ids.push_back(c.Call({"ENQUEUE", "q", "x", "SPACE", "s", "ATTEMPTS", "1"}).text);
      const std::string receipt = c.Call({"LEASE", "q"}).items.at(0).at("receipt").text;
      EXPECT_EQ(c.Text({"FAIL", receipt, "REASON", "bad"}), "[dead, :0]");
    }
    EXPECT_EQ(c.Text({"REDRIVE", "q", "ID", ids[0]}), ":1");
    EXPECT_EQ(c.Text({"REDRIVE", "q", "ID", ids[0]}), "-BUSY job " + ids[0] + " is ready");
    EXPECT_EQ(c.Text({"REDRIVE", "q", "COUNT", "1", "RATE", "1/s"}), ":1");
    EXPECT_EQ(c.Text({"REDRIVE", "q", "all", "to", "r"}), ":2");
    EXPECT_EQ(c.Text({"REDRIVE", "q", "ALL"}), ":0");
    EXPECT_EQ(c.Text({"REDRIVE", "q", "ID", "1"}), "-NOTFOUND there is no job 1");
    const Value moved = c.Call({"LEASE", "r", "COUNT", "5", "BLOCK", "5s"});
    ASSERT_GE(moved.items.size(), 1u);
    EXPECT_EQ(moved.items[0].at("attempt").number, 1);
    EXPECT_EQ(moved.items[0].at("space").text, "s");
    c.Call({"CANCEL", ids[0]});
    c.Call({"CANCEL", ids[1]});
  }
}

TEST_P(ServerHandling, WorkersListsWhoHoldsLeases) {
  OPEN_OR_SKIP();
  Client c(port());
  EXPECT_EQ(c.Text({"WORKERS"}), "[:0, []]");
  EXPECT_EQ(c.Text({"WORKERS", "q"}), "-NOTFOUND there is no queue 'q'");
  for (int i = 0; i < 3; ++i) c.Call({"ENQUEUE", "q", "x"});
  c.Call({"ENQUEUE", "r", "x"});
  c.Call({"LEASE", "q", "COUNT", "2", "WORKER", "w1"});
  c.Call({"LEASE", "q", "r", "COUNT", "2"});
  for (const char* version : {"2", "3"}) {
    c.Call({"HELLO", version});
    const Value all = c.Call({"WORKERS"});
    ASSERT_EQ(all.items.size(), 2u) << all.ToString();
    ASSERT_EQ(all.items[1].items.size(), 3u) << all.ToString();
    EXPECT_EQ(all.items[1].items[0].at("queue").text, "q");
    EXPECT_EQ(all.items[1].items[0].at("worker").text, "");
    EXPECT_EQ(all.items[1].items[0].at("leases").number, 1);
    EXPECT_EQ(all.items[1].items[1].at("worker").text, "w1");
    EXPECT_EQ(all.items[1].items[1].at("leases").number, 2);
    EXPECT_LT(all.items[1].items[1].at("oldest").number, 20'000);
    EXPECT_EQ(all.items[1].items[2].at("queue").text, "r");
    EXPECT_EQ(c.Call({"WORKERS", "r"}).items[1].items.size(), 1u);
  }
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
      {{"ENQUEUEMANY", "q", "0", "x"}, "-RANGE number of jobs '0' is outside 1 to 1000"},
      {{"ENQUEUEMANY", "q", "1001", "x"}, "-RANGE number of jobs '1001' is outside 1 to 1000"},
      {{"ENQUEUEMANY", "q", "x", "x"}, "-ERR number of jobs 'x': a whole number is expected"},
      {{"ENQUEUEMANY", "q", "2", "x"}, "-ERR ENQUEUEMANY of 2 jobs needs 2 payloads, there are 1"},
      {{"ENQUEUEMANY", "q", "1", "x", "y"}, "-ERR unknown option 'y' for ENQUEUEMANY"},
      {{"REDRIVE"}, "-ERR wrong number of arguments for 'redrive' command"},
      {{"REDRIVE", "none", "TO", "r"}, "-NOTFOUND there is no queue 'none'"},
      {{"REDRIVE", "q", "ALL", "COUNT", "3"}, "-ERR options ALL and COUNT contradict each other"},
      {{"REDRIVE", "q", "ALL", "RATE", "3"},
       "-ERR RATE '3': jobs a second are expected, as in 100/s"},
      {{"REDRIVE", "q", "ALL", "RATE", "0/s"}, "-RANGE RATE '0' is outside 1 to 1000000"},
      {{"REDRIVE", "none", "ALL"}, "-NOTFOUND there is no queue 'none'"},
      {{"PEEK", "q", "STATE", "odd"},
       "-ERR STATE 'odd': ready, scheduled, waiting, leased, dead or done is expected"},
      {{"PEEK", "q", "COUNT", "0"}, "-RANGE COUNT '0' is outside 1 to 1000"},
      {{"PEEK", "q", "COUNT", "1001"}, "-RANGE COUNT '1001' is outside 1 to 1000"},
      {{"WORKERS", "q", "r"}, "-ERR wrong number of arguments for 'workers' command"},
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
