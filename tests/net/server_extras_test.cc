// What a job may have beyond its payload, and options of queues, over the wire: words, replies and
// errors.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/net/test_server.h"

namespace vestq::nettest {
namespace {

class ServerExtras : public ServerTest {};

TEST_P(ServerExtras, TypeHeadersAndCheckpointComeWithTheLease) {
  OPEN_OR_SKIP();
  Client c(port());
  const std::string id =
      c.Call({"ENQUEUE", "q", "p", "type", "resize", "HEADER", "2", "trace", "a b", "n", ""}).text;
  Value job = c.Call({"LEASE", "q"}).items.at(0);
  EXPECT_EQ(job.at("type").text, "resize");
  ASSERT_EQ(job.at("headers").items.size(), 4u);
  EXPECT_EQ(job.at("headers").items[1].text, "a b");
  const std::string receipt = job.at("receipt").text;
  EXPECT_EQ(c.Text({"CHECKPOINT", receipt, "page 7", "FOR", "40s"}), ":40000");
  EXPECT_EQ(c.Text({"RELEASE", receipt}), "OK");
  job = c.Call({"LEASE", "q"}).items.at(0);
  EXPECT_EQ(job.at("checkpoint").text, "page 7");
  EXPECT_EQ(job.at("attempt").number, 1);
  EXPECT_EQ(c.Call({"CHECKPOINT", receipt, "old"}).text,
            "LEASELOST the lease of job " + id + " is over");
  const Value described = c.Call({"JOB", id});
  EXPECT_EQ(described.at("checkpoint").text, "page 7");
  EXPECT_EQ(described.at("type").text, "resize");
  const std::string big(64 * 1024 + 1, 'x');
  EXPECT_EQ(c.Text({"CHECKPOINT", job.at("receipt").text, big}),
            "-TOOBIG a checkpoint of 65537 bytes is more than 65536");
  EXPECT_EQ(c.Text({"COMPLETE", job.at("receipt").text}), "OK");
}

TEST_P(ServerExtras, UniqueAnswersWhoHoldsTheKey) {
  OPEN_OR_SKIP();
  Client c(port());
  Value first = c.Call({"ENQUEUE", "q", "p", "UNIQUE", "k", "FOR", "1h"});
  ASSERT_EQ(first.items.size(), 3u) << first.ToString();
  EXPECT_EQ(first.items[1].number, 1);
  EXPECT_EQ(first.items[2].text, "new");
  // In one write: each sees what came before it.
  c.Send({"ENQUEUE", "q", "x", "UNIQUE", "k"});
  c.Send({"LEASE", "q"});
  c.Send({"ENQUEUE", "q", "x", "UNIQUE", "k", "REPLACE"});
  Value again = c.Read();
  EXPECT_EQ(again.items[0].text, first.items[0].text);
  EXPECT_EQ(again.items[1].number, 0);
  EXPECT_EQ(again.items[2].text, "ready");
  const std::string receipt = c.Read().items.at(0).at("receipt").text;
  EXPECT_EQ(c.Read().items[2].text, "leased");
  EXPECT_EQ(c.Text({"COMPLETE", receipt}), "OK");
  EXPECT_EQ(c.Call({"ENQUEUE", "q", "x", "UNIQUE", "k"}).items[2].text, "gone");
  EXPECT_EQ(c.Call({"QUEUE", "INFO", "q"}).at("duplicates").number, 3);
}

TEST_P(ServerExtras, AResultIsKeptAndAnExpiredJobIsCounted) {
  OPEN_OR_SKIP();
  Client c(port());
  const std::string id = c.Call({"ENQUEUE", "q", "p", "KEEP", "1h"}).text;
  const std::string receipt = c.Call({"LEASE", "q"}).items.at(0).at("receipt").text;
  EXPECT_EQ(c.Text({"COMPLETE", receipt, "RESULT", "42"}), "OK");
  const Value done = c.Call({"JOB", id, "PAYLOAD"});
  EXPECT_EQ(done.at("state").text, "done");
  EXPECT_EQ(done.at("result").text, "42");
  EXPECT_GT(done.at("kept-for").number, 3'500'000);
  EXPECT_EQ(c.Call({"QUEUE", "INFO", "q"}).at("done").number, 1);
  c.Call({"QUEUE", "PAUSE", "q"});
  c.Call({"ENQUEUE", "q", "p", "EXPIRE", "1ms"});
  int64_t lapsed = 0;
  for (int i = 0; i < 100'000 && lapsed == 0; ++i)
    lapsed = c.Call({"QUEUE", "INFO", "q"}).at("lapsed").number;
  EXPECT_EQ(lapsed, 1);
}

TEST_P(ServerExtras, QueueOptionsAndPauses) {
  OPEN_OR_SKIP();
  Client c(port());
  EXPECT_EQ(c.Text({"QUEUE", "SET", "q", "lease", "7s", "ATTEMPTS", "3", "backoff", "fixed:2s"}),
            "OK");
  Value info = c.Call({"QUEUE", "INFO", "q"});
  EXPECT_EQ(info.at("lease").text, "7s");
  EXPECT_EQ(info.at("attempts").number, 3);
  EXPECT_EQ(info.at("backoff").text, "fixed:2s");
  EXPECT_EQ(info.at("keep").text, "0");
  EXPECT_EQ(info.at("paused").number, 0);
  EXPECT_EQ(c.Text({"QUEUE", "SET", "q", "lease", "default"}), "OK");
  EXPECT_EQ(c.Call({"QUEUE", "INFO", "q"}).at("lease").text, "30s");
  EXPECT_EQ(c.Text({"QUEUE", "PAUSE", "q"}), "OK");
  c.Call({"ENQUEUE", "q", "p"});
  EXPECT_EQ(c.Text({"LEASE", "q"}), c.Text({"LEASE", "nothing"}));
  EXPECT_EQ(c.Call({"QUEUE", "INFO", "q"}).at("paused").number, -1);
  Client worker(port());
  worker.Send({"LEASE", "q", "BLOCK", "10s"});
  EXPECT_EQ(c.Text({"QUEUE", "RESUME", "q"}), "OK");
  EXPECT_EQ(worker.Read().items.at(0).at("attempts").number, 3);
}

TEST_P(ServerExtras, AdaptiveLimits) {
  OPEN_OR_SKIP();
  Client c(port());
  EXPECT_EQ(c.Call({"QUEUE", "INFO", "q"}).text.substr(0, 8), "NOTFOUND");
  EXPECT_EQ(c.Text({"QUEUE", "SET", "q", "adaptive", "2:50"}), "OK");
  EXPECT_EQ(c.Call({"QUEUE", "INFO", "q"}).at("adaptive").text, "2:50");
  for (int i = 0; i < 120; ++i) c.Call({"ENQUEUE", "q", "p", "SPACE", "acme"});
  Value space = c.Call({"SPACE", "INFO", "q", "acme"});
  EXPECT_EQ(space.at("adaptive").text, "2:50");
  EXPECT_EQ(space.at("concurrency").number, 2);
  EXPECT_TRUE(space.at("usual-lease").null());
  for (int i = 0; i < 50; ++i) {
    const Value jobs = c.Call({"LEASE", "q", "COUNT", "10"});
    ASSERT_EQ(jobs.items.size(), 2u) << i;
    for (const Value& job : jobs.items)
      EXPECT_EQ(c.Text({"COMPLETE", job.at("receipt").text}), "OK");
  }
  space = c.Call({"SPACE", "INFO", "q", "acme"});
  EXPECT_EQ(space.at("concurrency").number, 3);
  EXPECT_GE(space.at("usual-lease").number, 1);
  EXPECT_EQ(space.at("halvings").number, 0);
  EXPECT_EQ(c.Text({"SPACE", "SET", "q", "acme", "concurrency", "7"}), "OK");
  space = c.Call({"SPACE", "INFO", "q", "acme"});
  EXPECT_EQ(space.at("concurrency").number, 7);
  EXPECT_EQ(space.at("adaptive").text, "none");
  EXPECT_EQ(c.Text({"QUEUE", "SET", "q", "adaptive", "none"}), "OK");
  EXPECT_EQ(c.Call({"QUEUE", "INFO", "q"}).at("adaptive").text, "none");
}

TEST_P(ServerExtras, LimitsOfAQueue) {
  OPEN_OR_SKIP();
  Client c(port());
  EXPECT_EQ(c.Text({"QUEUE", "SET", "q", "concurrency", "2", "space-concurrency", "0"}), "OK");
  EXPECT_EQ(c.Text({"QUEUE", "SET", "q", "rate", "0.5/s", "burst", "3"}), "OK");
  Value info = c.Call({"QUEUE", "INFO", "q"});
  EXPECT_EQ(info.at("concurrency").number, 2);
  EXPECT_EQ(info.at("space-concurrency").number, 0);
  EXPECT_EQ(info.at("rate").text, "0.5/s");
  EXPECT_EQ(info.at("burst").number, 3);
  EXPECT_EQ(c.Text({"QUEUE", "SET", "q", "space-concurrency", "none", "rate", "none", "burst",
                    "default"}),
            "OK");
  info = c.Call({"QUEUE", "INFO", "q"});
  EXPECT_EQ(info.at("space-concurrency").text, "none");
  EXPECT_EQ(info.at("rate").text, "none");
  EXPECT_EQ(info.at("burst").number, 1);
  for (int i = 0; i < 4; ++i) c.Call({"ENQUEUE", "q", "p"});
  const Value jobs = c.Call({"LEASE", "q", "COUNT", "10"});
  ASSERT_EQ(jobs.items.size(), 2u);
  EXPECT_EQ(c.Text({"LEASE", "q"}), c.Text({"LEASE", "nothing"}));
  Client worker(port());
  worker.Send({"LEASE", "q", "BLOCK", "10s"});
  EXPECT_EQ(c.Text({"COMPLETE", jobs.items[0].at("receipt").text}), "OK");
  EXPECT_EQ(worker.Read().items.at(0).at("attempt").number, 1);
  EXPECT_EQ(c.Text({"QUEUE", "SET", "q", "rate", "0"}),
            "-RANGE rate must be from 0.000001 to 1000000 jobs a second");
  EXPECT_EQ(c.Text({"QUEUE", "SET", "q", "rate", "fast"}).substr(0, 5), "-ERR ");
  EXPECT_EQ(c.Text({"QUEUE", "SET", "q", "burst", "0"}).substr(0, 7), "-RANGE ");
  EXPECT_EQ(c.Text({"QUEUE", "SET", "q", "concurrency", "1000001"}).substr(0, 7), "-RANGE ");
}

TEST_P(ServerExtras, RefusesWhatIsNotOfTheForm) {
  OPEN_OR_SKIP();
  Client c(port());
  const std::string long_key(513, 'k');
  const struct {
    std::vector<std::string_view> args;
    const char* reply;
  } cases[] = {
      {{"ENQUEUE", "q", "p", "UNIQUE", ""}, "-RANGE UNIQUE: a key of 0 bytes is outside 1 to 512"},
      {{"ENQUEUE", "q", "p", "UNIQUE", long_key},
       "-RANGE UNIQUE: a key of 513 bytes is outside 1 to 512"},
      {{"ENQUEUE", "q", "p", "FOR", "1s"}, "-ERR option FOR belongs to UNIQUE, which is missing"},
      {{"ENQUEUE", "q", "p", "REPLACE"}, "-ERR option REPLACE belongs to UNIQUE, which is missing"},
      {{"ENQUEUE", "q", "p", "HEADER", "0"},
       "-RANGE HEADER '0' is outside 1 to 64: how many there are comes first, as in HEADER 1 trace "
       "7f"},
      {{"ENQUEUE", "q", "p", "HEADER", "2", "a", "b", "c"},
       "-ERR option HEADER 2 needs 4 words, there are 3: how many there are comes first, as in "
       "HEADER 1 "
       "trace 7f"},
      {{"ENQUEUE", "q", "p", "TYPE", ""}, "-RANGE TYPE: a name of 0 bytes is outside 1 to 200"},
      {{"CHECKPOINT", "1.1.1"}, "-ERR wrong number of arguments for 'checkpoint' command"},
      {{"QUEUE", "SET", "q"}, "-ERR QUEUE SET needs an option and its value"},
      {{"QUEUE", "SET", "q", "lease", "1h", "lease", "2h"}, "-ERR option lease stands twice"},
      {{"QUEUE", "SET", "q", "ageing", "99ms"}, "-RANGE ageing '99ms' is outside 100ms to 365d"},
      {{"QUEUE", "SET", "q", "ageing", "0"}, "-RANGE ageing '0' is outside 100ms to 365d"},
      {{"QUEUE", "SET", "q", "ageing", "5"},
       "-ERR ageing '5': a duration needs its unit: write 5s or 5ms"},
      {{"QUEUE", "SET", "q", "adaptive", "19"},
       "-ERR adaptive '19': min:max is expected, two numbers as in 2:50, or none"},
      {{"QUEUE", "SET", "q", "adaptive", "0:9"}, "-RANGE adaptive min '0' is outside 1 to 1000000"},
      {{"QUEUE", "SET", "q", "adaptive", "1:1000001"},
       "-RANGE adaptive max '1000001' is outside 1 to 1000000"},
      {{"QUEUE", "SET", "q", "adaptive", "9:8"}, "-RANGE adaptive '9:8': min is above max"},
      {{"QUEUE", "SET", "q", "adaptive", "1:"}, "-ERR adaptive max '': a whole number is expected"},
      {{"ENQUEUE", "q", "p", "BACKOFF", "exp:5"},
       "-ERR BACKOFF 'exp:5': backoff must be exp:BASE:CAP, fixed:DURATION or "
       "list:DURATION,DURATION,... such as exp:5s:12h, fixed:30s, list:1s,10s,1m"},
      {{"ENQUEUE", "q", "p", "BACKOFF", "exp:2h:1h"},
       "-RANGE BACKOFF 'exp:2h:1h': backoff base must be at most the backoff cap"},
      {{"QUEUE", "RESUME", "q"}, "-NOTFOUND there is no queue 'q'"},
      {{"QUEUE", "PAUSE", "q", "FOR", "0"}, "-RANGE FOR '0' is outside 1ms to 36500d"},
      {{"QUEUE", "RESUME", "q", "now"},
       "-ERR wrong number of arguments for 'queue|resume' command"},
  };
  for (const auto& test : cases) EXPECT_EQ(c.Text(test.args), test.reply);
  const std::string unknown = c.Text({"QUEUE", "SET", "q", "color", "5"});
  EXPECT_EQ(unknown.substr(0, 83),
            "-ERR unknown option 'color' for QUEUE SET; there are lease, attempts, backoff, keep");
  EXPECT_EQ(c.Call({"QUEUE", "INFO", "q"}).text.substr(0, 8), "NOTFOUND");  // nothing was made
}

VESTQ_SERVER_TESTS(ServerExtras);

}  // namespace
}  // namespace vestq::nettest
