// What spans do over RESP under clocks that the test moves: back-offs step by step, waits, the retention of dead letters,
// REDRIVE at a rate, ages, which lease length holds (case B05 and the contract's numbers).
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/net/stepped_server.h"

namespace vestq::nettest {
namespace {

class ServerSpans : public SteppedServer {
 protected:
  // Takes the job at once wherever it waits, and fails it; ms until it comes again.
  static int64_t FailAgain(Client* c, const std::string& queue, const std::string& id) {
    c->Call({"PROMOTE", id});
    const Value reply = c->Call({"FAIL", Take(c, queue).at("receipt").text});
    EXPECT_EQ(reply.items.at(0).text, "retry") << reply.ToString();
    return reply.items.at(1).number;
  }
  // Uses an attempt without a FAIL.
  static void Revoke(Client* c, const std::string& queue, const std::string& id, int times) {
    c->Call({"PROMOTE", id});
    for (int i = 0; i < times; ++i) {
      c->Send({"LEASE", queue});
      c->Send({"REVOKE", id});
    }
    for (int i = 0; i < times; ++i) {
      ASSERT_EQ(c->Read().items.size(), 1u);
      ASSERT_EQ(c->Read().number, 1);
    }
  }
};

TEST_P(ServerSpans, BackOffsOfJobsAndOfQueues) {
  OPEN_OR_SKIP();
  Client c(port());
  constexpr int64_t kMinute = 60'000, kHour = 60 * kMinute;
  const struct {
    const char* spec;
    std::vector<std::pair<int64_t, int64_t>> steps;  // least and most ms after the n-th failure
  } cases[] = {
      {"fixed:0", {{0, 0}, {0, 0}}},
      {"fixed:30s", {{30'000, 30'000}, {30'000, 30'000}, {30'000, 30'000}}},
      {"list:1s,10s,1m",
       {{1'000, 1'000},
        {10'000, 10'000},
        {kMinute, kMinute},
        {kMinute, kMinute},
        {kMinute, kMinute}}},
      {"list:7s", {{7'000, 7'000}, {7'000, 7'000}}},
      {"exp:1s:10s",
       {{800, 1'200},
        {1'600, 2'400},
        {3'200, 4'800},
        {6'400, 9'600},
        {10'000, 10'000},
        {10'000, 10'000}}},
      // Of the default, the whole ladder: half a day is reached by the 14th.
      {"exp:5s:12h",
       {{4'000, 6'000},
        {8'000, 12'000},
        {16'000, 24'000},
        {32'000, 48'000},
        {64'000, 96'000},
        {128'000, 192'000},
        {256'000, 384'000},
        {512'000, 768'000},
        {1'024'000, 1'536'000},
        {2'048'000, 3'072'000},
        {4'096'000, 6'144'000},
        {8'192'000, 12'288'000},
        {16'384'000, 24'576'000},
        {32'768'000, 12 * kHour},
        {12 * kHour, 12 * kHour},
        {12 * kHour, 12 * kHour}}},
  };
  for (const auto& test : cases) {
    const bool is_default = std::string(test.spec) == "exp:5s:12h";
    EXPECT_EQ(c.Text({"QUEUE", "SET", "of-queue", "backoff", is_default ? "default" : test.spec}),
              "OK");
    EXPECT_EQ(c.Call({"QUEUE", "INFO", "of-queue"}).at("backoff").text, test.spec);
    const std::pair<std::string, std::string> jobs[] = {
        {"of-queue", Put(&c, {"ENQUEUE", "of-queue", "p"})},
        {"own", Put(&c, {"ENQUEUE", "own", "p", "BACKOFF", test.spec})},
    };
    for (const auto& [queue, id] : jobs) {
      int64_t before = 0;
      for (size_t n = 0; n < test.steps.size(); ++n) {
        const int64_t ms = FailAgain(&c, queue, id);
        EXPECT_GE(ms, test.steps[n].first)
            << test.spec << " " << queue << " after attempt " << n + 1;
        EXPECT_LE(ms, test.steps[n].second)
            << test.spec << " " << queue << " after attempt " << n + 1;
        EXPECT_GE(ms, before) << test.spec << " " << queue << " after attempt " << n + 1;
        EXPECT_EQ(c.Call({"JOB", id}).at("vests-in").number, ms);
        before = ms;
      }
      // And it comes then, not a millisecond before.
      if (before > 0) {
        Pass(&c, before - 1);
        EXPECT_EQ(Take(&c, queue).type, 0);
        Pass(&c, 1);
      }
      EXPECT_EQ(Await(&c, queue).at("id").text, id);
      EXPECT_EQ(c.Text({"CANCEL", id}), ":1");
    }
  }
  // DELAY replaces it, the limit of attempts stands; a job's own back-off is before its queue's.
  c.Call({"QUEUE", "SET", "q", "backoff", "fixed:1h"});
  const std::string id = Put(&c, {"ENQUEUE", "q", "p", "BACKOFF", "fixed:2h", "ATTEMPTS", "3"});
  EXPECT_EQ(FailAgain(&c, "q", id), 2 * kHour);
  c.Call({"PROMOTE", id});
  EXPECT_EQ(c.Text({"FAIL", Take(&c, "q").at("receipt").text, "DELAY", "7s"}), "[retry, :7000]");
  c.Call({"PROMOTE", id});
  EXPECT_EQ(c.Text({"FAIL", Take(&c, "q").at("receipt").text, "DELAY", "7s"}), "[dead, :0]");
}

TEST_P(ServerSpans, B05_BackOffAtManyFailures) {
  OPEN_OR_SKIP();
  Client c(port());
  const std::string id = Put(&c, {"ENQUEUE", "q", "p", "ATTEMPTS", "0", "BACKOFF", "exp:1s:1h"});
  int64_t before = 0;
  int failures = 0;
  for (const int n : {1, 2, 3, 4, 5, 10, 11, 12, 13, 31, 32, 40, 62, 63, 64, 65, 100, 1000}) {
    Revoke(&c, "q", id, n - 1 - failures);
    const int64_t ms = FailAgain(&c, "q", id);
    failures = n;
    EXPECT_GE(ms, std::max(before, int64_t{800})) << n;
    EXPECT_LE(ms, 3'600'000) << n;
    if (n >= 14) {  // at 13 the jitter may still be below the cap
      EXPECT_EQ(ms, 3'600'000) << n;
    }
    before = ms;
  }
  EXPECT_EQ(c.Call({"JOB", id}).at("attempt").number, 1000);
}

TEST_P(ServerSpans, B05_AWaitBlocksAndGetsWhatComesAndEndsAtItsTime) {
  OPEN_OR_SKIP();
  Client c(port());
  c.Call({"QUEUE", "SET", "q", "lease", "1h"});
  for (const int64_t seconds :
       {int64_t{1}, int64_t{2147}, int64_t{2148}, int64_t{2147483}, int64_t{2147484},
        int64_t{4294967}, int64_t{4294968}, int64_t{31536000}}) {
    const std::string block = std::to_string(seconds) + "s";
    for (const bool job_comes : {true, false}) {
      Client waiter(port()), other(port());
      waiter.Send({"LEASE", "q", "BLOCK", block});
      other.Send({"WAITFOR", "9007199254740991", "BLOCK", block});
      EXPECT_EQ(other.Read().at("state").text, "gone") << "what never was is not waited for";
      for (int i = 0; i < 10'000 && Info(&c, "q", "waiters") == 0; ++i) {
      }
      if (job_comes) {
        Pass(&c, std::min<int64_t>(2'000, seconds * 1'000 - 1));
        EXPECT_FALSE(waiter.Readable()) << block;
        const std::string id = Put(&c, {"ENQUEUE", "q", "p"});
        const Value came = waiter.Read().items.at(0);
        EXPECT_EQ(came.at("id").text, id) << block;
        EXPECT_EQ(c.Text({"COMPLETE", came.at("receipt").text}), "OK");
      } else {
        Pass(&c, seconds * 1'000 - 1);
        EXPECT_FALSE(waiter.Readable()) << block;
        Pass(&c, 1);
        EXPECT_TRUE(waiter.Read().null()) << block;
      }
    }
  }
  // Without an end.
  Client waiter(port());
  waiter.Send({"LEASE", "q", "BLOCK", "0"});
  for (int i = 0; i < 10'000 && Info(&c, "q", "waiters") == 0; ++i) {
  }
  Pass(&c, int64_t{36'500} * 86'400'000);
  EXPECT_FALSE(waiter.Readable());
  Put(&c, {"ENQUEUE", "q", "p"});
  EXPECT_EQ(waiter.Read().items.size(), 1u);
}

TEST_P(ServerSpans, B05_LongDelaysAreKeptThroughTimeAndRestart) {
  OPEN_OR_SKIP();
  std::vector<std::pair<std::string, int64_t>> jobs;  // and when they vest
  const auto look = [&](Client* c) {
    for (const auto& [id, at] : jobs) {
      const Value job = c->Call({"JOB", id});
      ASSERT_EQ(job.at("state").text, "scheduled") << job.ToString();
      EXPECT_EQ(job.at("vests").number, at);
      EXPECT_EQ(job.at("vests-in").number, at - clock.wall_ms);
    }
    EXPECT_EQ(Take(c, "q").type, 0);
  };
  {
    Client c(port());
    for (const int64_t ms :
         {int64_t{2147483647}, int64_t{2147483648}, int64_t{4294967295}, int64_t{4294967296},
          int64_t{31'536'000'000}, int64_t{36'500} * 86'400'000}) {
      const std::string delay = std::to_string(ms) + "ms", at = std::to_string(clock.wall_ms + ms);
      jobs.emplace_back(Put(&c, {"ENQUEUE", "q", "p", "DELAY", delay}), clock.wall_ms + ms);
      jobs.emplace_back(Put(&c, {"ENQUEUE", "q", "p", "AT", at}), clock.wall_ms + ms);
    }
    look(&c);
    Pass(&c, 3'000);
    look(&c);
  }
  Restart(7'000);
  Client c(port());
  look(&c);
  // Each comes at its millisecond.
  while (!jobs.empty()) {
    const int64_t at = jobs[0].second;
    Pass(&c, at - clock.wall_ms - 1);
    look(&c);
    Pass(&c, 1);
    for (int i = 0; i < 2; ++i) {
      const Value job = Await(&c, "q", "7d");
      EXPECT_TRUE(job.at("id").text == jobs[0].first || job.at("id").text == jobs[1].first)
          << job.ToString();
      EXPECT_EQ(c.Text({"COMPLETE", job.at("receipt").text}), "OK");
    }
    jobs.erase(jobs.begin(), jobs.begin() + 2);
  }
}

TEST_P(ServerSpans, B05_ADelayLongerThanTheLeaseIsOneDelivery) {
  OPEN_OR_SKIP();
  Client c(port());
  c.Call({"QUEUE", "SET", "q", "lease", "5s"});
  Put(&c, {"ENQUEUE", "q", "p", "DELAY", "30s"});
  int deliveries = 0;
  for (int second = 1; second <= 60; ++second) {
    Pass(&c, 1'000);
    const Value jobs = c.Call({"LEASE", "q"});
    if (jobs.items.empty()) continue;
    ++deliveries;
    EXPECT_EQ(second, 30);
    EXPECT_EQ(c.Text({"COMPLETE", jobs.items[0].at("receipt").text}), "OK");
  }
  EXPECT_EQ(deliveries, 1);
}

TEST_P(ServerSpans, TheNearestLeaseLengthHolds) {
  OPEN_OR_SKIP();
  Client c(port());
  const struct {
    const char* of_queue;
    const char* of_job;
    const char* of_lease;
    int64_t ms;
  } cases[] = {
      {"default", nullptr, nullptr, 30'000}, {"40s", nullptr, nullptr, 40'000},
      {"default", "50s", nullptr, 50'000},   {"40s", "50s", nullptr, 50'000},
      {"40s", nullptr, "60s", 60'000},       {"40s", "50s", "60s", 60'000},
      {"default", "50s", "60s", 60'000},     {"40s", "50s", "100ms", 100},
  };
  for (const auto& test : cases) {
    c.Call({"QUEUE", "SET", "q", "lease", test.of_queue});
    const std::string id = test.of_job ? Put(&c, {"ENQUEUE", "q", "p", "LEASE", test.of_job})
                                       : Put(&c, {"ENQUEUE", "q", "p"});
    const Value jobs =
        test.of_lease ? c.Call({"LEASE", "q", "FOR", test.of_lease}) : c.Call({"LEASE", "q"});
    ASSERT_EQ(jobs.items.size(), 1u);
    const Value& job = jobs.items[0];
    EXPECT_EQ(job.at("lease-left").number, test.ms);
    EXPECT_EQ(job.at("deadline").number, clock.wall_ms + test.ms);
    Pass(&c, test.ms / 2);
    // Without FOR: the length last granted, from now.
    const std::string receipt = job.at("receipt").text, granted = ":" + std::to_string(test.ms);
    EXPECT_EQ(c.Text({"RENEW", receipt}), granted);
    EXPECT_EQ(c.Text({"CHECKPOINT", receipt, "x"}), granted);
    EXPECT_EQ(c.Text({"RENEW", receipt, "FOR", "7s"}), ":7000");
    EXPECT_EQ(c.Text({"RENEW", receipt}), ":7000");
    Pass(&c, 6'999);
    EXPECT_EQ(State(&c, id), "leased");
    Pass(&c, 1);
    EXPECT_EQ(State(&c, id), "ready");
    c.Call({"CANCEL", id});
  }
}

TEST_P(ServerSpans, RedriveAtARate) {
  OPEN_OR_SKIP();
  Client c(port());
  std::vector<std::string> ids;
  for (int i = 0; i < 10; ++i) {
    ids.push_back(Put(&c, {"ENQUEUE", "q", "p"}));
    c.Call({"FAIL", Take(&c, "q").at("receipt").text, "DEAD"});
    Pass(&c, 5);
  }
  EXPECT_EQ(c.Text({"REDRIVE", "q", "COUNT", "4", "RATE", "3/s"}), ":4");
  EXPECT_EQ(c.Text({"REDRIVE", "q", "ALL", "TO", "r", "RATE", "2/s"}), ":6");
  // The k-th vests k/n seconds from now, the oldest first.
  for (int64_t k = 1; k <= 4; ++k)
    EXPECT_EQ(c.Call({"JOB", ids[static_cast<size_t>(k - 1)]}).at("vests-in").number, k * 1000 / 3)
        << k;
  for (int64_t k = 1; k <= 6; ++k) {
    Pass(&c, 499);
    EXPECT_EQ(Take(&c, "r", "1h").type, 0) << k;
    Pass(&c, 1);
    const Value job = Await(&c, "r", "1h");
    EXPECT_EQ(job.at("id").text, ids[static_cast<size_t>(k + 3)]);
    EXPECT_EQ(job.at("attempt").number, 1);
  }
  EXPECT_EQ(c.Call({"LEASE", "q", "COUNT", "10"}).items.size(), 4u);
  // Without a selection: all.
  c.Call({"ENQUEUE", "s", "p"});
  c.Call({"FAIL", Take(&c, "s").at("receipt").text, "DEAD"});
  EXPECT_EQ(c.Text({"REDRIVE", "s"}), ":1");
  EXPECT_EQ(c.Text({"REDRIVE", "s"}), ":0");
}

TEST_P(ServerSpans, DeadLettersAreKeptByNumberAndByTime) {
  OPEN_OR_SKIP();
  Client c(port());
  std::vector<std::string> ids;
  const auto die = [&](int jobs) {
    for (int i = 0; i < jobs; ++i) {
      ids.push_back(Put(&c, {"ENQUEUE", "q", "p"}));
      ASSERT_EQ(c.Text({"FAIL", Take(&c, "q").at("receipt").text, "DEAD"}), "[dead, :0]");
      Pass(&c, 1'000);
    }
  };
  const auto dead = [&] {
    const Value page = c.Call({"PEEK", "q", "STATE", "dead", "COUNT", "100"});
    std::vector<std::string> listed;
    for (const Value& job : page.items.at(1).items) listed.push_back(job.at("id").text);
    return listed;
  };
  const auto expect_last = [&](size_t kept) {
    for (int i = 0; i < 10'000 && Info(&c, "q", "dead") != static_cast<int64_t>(kept); ++i)
      Turn(&c);
    EXPECT_EQ(dead(),
              std::vector<std::string>(ids.end() - static_cast<std::ptrdiff_t>(kept), ids.end()));
    EXPECT_EQ(Info(&c, "q", "dropped"), static_cast<int64_t>(ids.size() - kept));
  };
  die(10);
  expect_last(10);
  c.Call({"QUEUE", "SET", "q", "dead-max", "4"});
  expect_last(4);
  die(3);
  expect_last(4);
  // The youngest died a second ago, the others each a second before.
  c.Call({"QUEUE", "SET", "q", "dead-max", "default", "dead-keep", "3500ms"});
  expect_last(3);
  Pass(&c, 499);
  expect_last(3);
  Pass(&c, 1);
  expect_last(2);
  Pass(&c, 10'000);
  expect_last(0);
  c.Call({"QUEUE", "SET", "q", "dead-keep", "default"});
  die(3);
  Pass(&c, int64_t{180} * 86'400'000 - 3'000 - 1);  // the oldest died three seconds ago
  expect_last(3);
  Pass(&c, 1);
  expect_last(2);
  c.Call({"QUEUE", "SET", "q", "dead-max", "0"});
  expect_last(0);
  die(1);
  expect_last(0);
}

TEST_P(ServerSpans, AgesOfReadyJobs) {
  OPEN_OR_SKIP();
  const auto expect = [&](Client* c,
                          const std::vector<int64_t>& ages) {  // all, urgent, normal, low; -1: none
    const char* const names[] = {"oldest-ready", "oldest-ready-urgent", "oldest-ready-normal",
                                 "oldest-ready-low"};
    const Value info = c->Call({"QUEUE", "INFO", "q"});
    EXPECT_EQ(info.at("oldest-ready-exact").number, 1);
    for (size_t i = 0; i < ages.size(); ++i) {
      const Value& age = info.at(names[i]);
      EXPECT_EQ(age.null() ? -1 : age.number, ages[i]) << names[i];
    }
  };
  {
    Client c(port());
    c.Call({"QUEUE", "SET", "q", "lease", "1h"});
    expect(&c, {-1, -1, -1, -1});
    Put(&c, {"ENQUEUE", "q", "p", "PRIORITY", "5000"});
    Pass(&c, 1'000);
    Put(&c, {"ENQUEUE", "q", "p", "SPACE", "s"});
    Pass(&c, 2'000);
    Put(&c, {"ENQUEUE", "q", "p", "PRIORITY", "1"});
    Put(&c, {"ENQUEUE", "q", "p", "DELAY", "10s"});
    Pass(&c, 4'000);
    expect(&c, {7'000, 4'000, 6'000, 7'000});
    StepWall(&c, -3'600'000);
    expect(&c, {7'000, 4'000, 6'000, 7'000});
  }
  Restart(1'000);
  Client c(port());
  expect(&c, {8'000, 5'000, 7'000, 8'000});
  EXPECT_EQ(c.Call({"LEASE", "q", "COUNT", "3"}).items.size(), 3u);
  expect(&c, {-1, -1, -1, -1});
  Pass(&c, 5'000);
  expect(&c, {10'000, -1, 10'000, -1});  // the delayed one, from its enqueue
}

VESTQ_STEPPED_TESTS(ServerSpans);

}  // namespace
}  // namespace vestq::nettest
