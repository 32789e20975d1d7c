// AFTER over the wire: words, replies, errors, and the state `waiting` wherever a client can see it.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/net/test_server.h"

namespace vestq::nettest {
namespace {

class ServerAfter : public ServerTest {};

TEST_P(ServerAfter, AJobWaitsForOthersAndRunsAfterThem) {
  OPEN_OR_SKIP();
  Client c(port());
  const std::string first = c.Call({"ENQUEUE", "p", "a"}).text;
  const std::string second = c.Call({"ENQUEUE", "p", "b"}).text;
  const std::string child = c.Call({"ENQUEUE", "c", "x", "after", "2", first, second}).text;
  Value job = c.Call({"JOB", child});
  EXPECT_EQ(job.at("state").text, "waiting");
  EXPECT_EQ(job.at("waits-for").number, 2);
  EXPECT_EQ(c.Call({"QUEUE", "INFO", "c"}).at("waiting").number, 1);
  const Value page = c.Call({"PEEK", "c", "STATE", "waiting"});
  EXPECT_EQ(page.items.at(1).items.at(0).at("id").text, child);
  EXPECT_EQ(c.Text({"PROMOTE", child}), "-BUSY job " + child + " is waiting");
  Client worker(port());
  worker.Send({"LEASE", "c", "BLOCK", "20s"});
  for (int i = 0; i < 2; ++i) {
    const std::string receipt = c.Call({"LEASE", "p"}).items.at(0).at("receipt").text;
    EXPECT_EQ(c.Text({"COMPLETE", receipt}), "OK");
  }
  EXPECT_EQ(worker.Read().items.at(0).at("id").text, child);
  EXPECT_EQ(c.Call({"QUEUE", "INFO", "c"}).at("waiting").number, 0);
}

TEST_P(ServerAfter, ACancelledParentIsTheReason) {
  OPEN_OR_SKIP();
  Client c(port());
  const std::string parent = c.Call({"ENQUEUE", "p", "a"}).text;
  const std::string child = c.Call({"ENQUEUE", "c", "x", "AFTER", "1", parent}).text;
  EXPECT_EQ(c.Text({"CANCEL", parent}), ":1");
  Value job;
  for (int i = 0; i < 100'000; ++i) {
    job = c.Call({"JOB", child});
    if (job.at("state").text == "dead") break;
  }
  EXPECT_EQ(job.at("reason").text, "job " + parent + ", which it waited for, was cancelled");
}

TEST_P(ServerAfter, ADeadParentIsRedriven) {
  OPEN_OR_SKIP();
  Client c(port());
  const std::string parent = c.Call({"ENQUEUE", "p", "a"}).text;
  const std::string child = c.Call({"ENQUEUE", "c", "x", "AFTER", "1", parent}).text;
  c.Call({"FAIL", c.Call({"LEASE", "p"}).items.at(0).at("receipt").text, "DEAD"});
  EXPECT_EQ(c.Call({"JOB", child}).at("state").text, "waiting");
  EXPECT_EQ(c.Text({"REDRIVE", "p", "ID", parent}), ":1");
  EXPECT_EQ(c.Call({"JOB", child}).at("waits-for").number, 1);
  c.Call({"COMPLETE", c.Call({"LEASE", "p"}).items.at(0).at("receipt").text});
  EXPECT_EQ(c.Call({"LEASE", "c", "BLOCK", "20s"}).items.at(0).at("id").text, child);
}

TEST_P(ServerAfter, TenThousandParents) {
  OPEN_OR_SKIP();
  Client c(port());
  std::vector<std::string> parents;
  for (int i = 0; i < 10; ++i) {
    std::vector<std::string_view> words = {"ENQUEUEMANY", "p", "1000"};
    words.resize(1003, "x");
    for (const Value& id : c.Call(words).items) parents.push_back(id.text);
  }
  std::vector<std::string_view> words = {"ENQUEUE", "c", "x", "AFTER", "10000"};
  words.insert(words.end(), parents.begin(), parents.end());
  const std::string child = c.Call(words).text;
  EXPECT_EQ(c.Call({"JOB", child}).at("waits-for").number, 10'000);
  EXPECT_EQ(c.Text({"PURGE", "c", "STATE", "waiting", "SPACE", "none"}), ":0");
  for (size_t done = 0; done < parents.size();) {
    const Value jobs = c.Call({"LEASE", "p", "COUNT", "1000", "FOR", "1h"});
    std::vector<std::string_view> receipts = {"COMPLETEMANY"};
    for (const Value& job : jobs.items) receipts.push_back(job.at("receipt").text);
    ASSERT_GT(receipts.size(), 1u) << done;
    done += receipts.size() - 1;
    if (done == parents.size()) {  // all but one
      receipts.pop_back();
      EXPECT_EQ(c.Call(receipts).items.size(), receipts.size() - 1);
      EXPECT_EQ(c.Call({"JOB", child}).at("state").text, "waiting");
      receipts = {"COMPLETEMANY", jobs.items.back().at("receipt").text};
    }
    EXPECT_EQ(c.Call(receipts).items.size(), receipts.size() - 1);
  }
  EXPECT_EQ(c.Call({"LEASE", "c", "BLOCK", "20s"}).items.at(0).at("id").text, child);
  EXPECT_EQ(c.Call({"JOB", child}).at("state").text, "leased");
}

TEST_P(ServerAfter, ManyWaitForMany) {
  OPEN_OR_SKIP();
  Client c(port());
  std::vector<std::string> words = {"ENQUEUEMANY", "p", "500"};
  for (int i = 0; i < 500; ++i) words.push_back("x");
  const Value parents = c.Call({words.begin(), words.end()});
  ASSERT_EQ(parents.items.size(), 500u);
  words = {"ENQUEUEMANY", "c", "20", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10"};
  for (int i = 0; i < 10; ++i) words.push_back("x");
  words.insert(words.end(), {"AFTER", "500"});
  for (const Value& id : parents.items) words.push_back(id.text);
  const Value children = c.Call({words.begin(), words.end()});
  ASSERT_EQ(children.items.size(), 20u) << children.ToString();
  EXPECT_EQ(c.Call({"JOB", children.items[7].text}).at("waits-for").number, 500);
  words[2] = "21";
  words.insert(words.begin() + 3, "one more");
  EXPECT_EQ(c.Text({words.begin(), words.end()}),
            "-RANGE AFTER: 21 jobs that wait for 500 each are more than 10000 edges");
}

TEST_P(ServerAfter, RefusesWhatIsNotOfTheForm) {
  OPEN_OR_SKIP();
  Client c(port());
  const std::string hint = ": how many there are comes first, as in AFTER 2 17 18";
  const struct {
    std::vector<std::string_view> args;
    std::string reply;
  } cases[] = {
      {{"ENQUEUE", "q", "p", "AFTER"}, "-ERR option AFTER needs a value"},
      {{"ENQUEUE", "q", "p", "AFTER", "0"}, "-RANGE AFTER '0' is outside 1 to 10000" + hint},
      {{"ENQUEUE", "q", "p", "AFTER", "10001", "1"},
       "-RANGE AFTER '10001' is outside 1 to 10000" + hint},
      {{"ENQUEUE", "q", "p", "AFTER", "2", "1"},
       "-ERR option AFTER 2 needs 2 words, there are 1" + hint},
      {{"ENQUEUE", "q", "p", "AFTER", "1", "99999999"},
       "-NOTFOUND AFTER: there has never been a job 99999999"},
      {{"SCHEDULE", "SET", "s", "q", "p", "EVERY", "1h", "AFTER", "1", "7"},
       "-ERR option AFTER does not go with SCHEDULE SET"},
  };
  for (const auto& test : cases) EXPECT_EQ(c.Text(test.args), test.reply);
  EXPECT_EQ(c.Text({"ENQUEUE", "q", "p", "AFTER", "1", "x"}).substr(0, 4), "-ERR");
  EXPECT_EQ(c.Call({"QUEUE", "INFO", "q"}).at("enqueued").number, 0);
}

VESTQ_SERVER_TESTS(ServerAfter);

}  // namespace
}  // namespace vestq::nettest
