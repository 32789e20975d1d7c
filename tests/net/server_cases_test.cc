// Public bug reports of other queues as scenarios over RESP, with their own numbers, under clocks that the test moves: no
// slack. B05 stands in server_spans_test.cc, B25 in server_unique_test.cc, B26 in server_zones_test.cc; what needs
// processes, signals and kills in tests/tools/cases_test.py.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/net/stepped_server.h"

namespace vestq::nettest {
namespace {

constexpr int64_t kHour = 3'600'000;

class ServerCases : public SteppedServer {
 protected:
  // Sends a LEASE that must wait, and returns once it does. The queue exists.
  static void Wait(Client* c, Client* waiter, const std::vector<std::string_view>& words) {
    const int64_t before = Info(c, words[1], "waiters");
    waiter->Send(words);
    int64_t now = before;
    for (int i = 0; i < 10'000 && now == before; ++i) now = Info(c, words[1], "waiters");
    ASSERT_EQ(now, before + 1);
  }
  static void ExpectRefusedEverything(Client* c, const std::string& receipt) {
    const std::string lost =
        "-LEASELOST the lease of job " + receipt.substr(0, receipt.find('.')) + " is over";
    const std::vector<std::string_view> calls[] = {
        {"RENEW", receipt, "FOR", "1h"}, {"RELEASE", receipt, "PRIORITY", "1"},
        {"FAIL", receipt, "DEAD"},       {"FAIL", receipt, "REASON", "late"},
        {"CHECKPOINT", receipt, "p=50"}, {"COMPLETE", receipt, "RESULT", "late"},
    };
    for (const auto& words : calls) EXPECT_EQ(c->Text(words), lost) << words[0];
    EXPECT_EQ(c->Text({"COMPLETEMANY", receipt}), "[:0]");
  }
};

TEST_P(ServerCases, B01_AWaitThatWasAnsweredLeavesTheLeaseAlone) {
  OPEN_OR_SKIP();
  Client a(port()), b(port()), c(port());
  const std::string id = Put(&c, {"ENQUEUE", "t1", "p"});
  ASSERT_EQ(a.Call({"LEASE", "t1", "BLOCK", "5s", "FOR", "10s"}).items.size(), 1u);
  Pass(&c, 500);
  Wait(&c, &b, {"LEASE", "t1", "BLOCK", "30s"});
  Pass(&c, 4'500);  // what A's wait would have been
  EXPECT_FALSE(b.Readable());
  Pass(&c, 4'999);
  EXPECT_FALSE(b.Readable());
  Pass(&c, 1);
  const Value job = b.Read().items.at(0);
  EXPECT_EQ(job.at("id").text, id);
  EXPECT_EQ(job.at("attempt").number, 2);
  EXPECT_EQ(Info(&c, "t1", "expired"), 1);
  EXPECT_EQ(Info(&c, "t1", "leases"), 2);
  EXPECT_FALSE(a.Readable());
}

TEST_P(ServerCases, B01_AHolderOfThreeThatWaitsElsewhere) {
  OPEN_OR_SKIP();
  Client a(port()), b(port()), c(port());
  c.Call({"QUEUE", "SET", "empty", "lease", "1m"});
  for (int i = 0; i < 3; ++i) Put(&c, {"ENQUEUE", "t1", "p"});
  std::vector<std::string> ids;
  for (const char* length : {"3s", "10s", "4s"})
    ids.push_back(Take(&a, "t1", length).at("id").text);
  Wait(&c, &a, {"LEASE", "empty", "BLOCK", "60s"});
  int64_t now = 0;
  const std::pair<int64_t, std::string> ends[] = {
      {3'000, ids[0]}, {4'000, ids[2]}, {10'000, ids[1]}};
  for (const auto& [at, id] : ends) {
    Wait(&c, &b, {"LEASE", "t1", "BLOCK", "30s", "FOR", "1h"});
    Pass(&c, at - 1 - now);
    EXPECT_FALSE(b.Readable()) << at;
    Pass(&c, 1);
    EXPECT_EQ(b.Read().items.at(0).at("id").text, id);
    now = at;
  }
  Pass(&c, 60'000 - now - 1);
  EXPECT_FALSE(a.Readable());
  Pass(&c, 1);
  EXPECT_TRUE(a.Read().null()) << "and its own wait ends at its time";
}

TEST_P(ServerCases, B01_AWaitAndALeaseOfAboutTheSameLength) {
  OPEN_OR_SKIP();
  Client c(port());
  c.Call({"QUEUE", "SET", "empty", "lease", "1m"});
  const std::pair<const char*, int64_t> lengths[] = {{"5s", 5'000}, {"4s", 4'000}, {"6s", 6'000}};
  for (const auto& [text, length] : lengths) {
    Client a(port()), b(port());
    const std::string id = Put(&c, {"ENQUEUE", "q", "p"});
    ASSERT_EQ(a.Call({"LEASE", "q", "BLOCK", "5s", "FOR", text}).items.size(), 1u);
    Wait(&c, &a, {"LEASE", "empty", "BLOCK", "5s"});
    Wait(&c, &b, {"LEASE", "q", "BLOCK", "30s"});
    for (int64_t now = 1'000; now <= 7'000; now += 1'000) {
      Pass(&c, 999);
      EXPECT_EQ(a.Readable(now > 5'000 ? 20'000 : 0), now > 5'000) << text << " " << now;
      EXPECT_EQ(b.Readable(now > length ? 20'000 : 0), now > length) << text << " " << now;
      Pass(&c, 1);
    }
    EXPECT_TRUE(a.Read().null());
    EXPECT_EQ(b.Read().items.at(0).at("id").text, id);
    EXPECT_EQ(c.Text({"CANCEL", id}), ":1");
  }
}

TEST_P(ServerCases, B02_NobodyElseHasTakenIt) {
  OPEN_OR_SKIP();
  Client a(port()), c(port());
  const std::string id = Put(&c, {"ENQUEUE", "q", "p", "PRIORITY", "7"});
  const std::string late = Take(&a, "q", "2s").at("receipt").text;
  Pass(&c, 3'000);
  ExpectRefusedEverything(&a, late);
  const Value job = c.Call({"JOB", id});
  EXPECT_EQ(job.at("state").text, "ready");
  EXPECT_EQ(job.at("priority").number, 7);
  EXPECT_EQ(job.at("attempt").number, 1);
  EXPECT_EQ(job.at("checkpoint").type, 0);
  EXPECT_EQ(job.at("last-error").type, 0);
  EXPECT_EQ(Take(&c, "q").at("attempt").number, 2) << "after a refusal it is still there";
}

TEST_P(ServerCases, B02_AnotherHasTakenIt) {
  OPEN_OR_SKIP();
  Client a(port()), b(port());
  const std::string id = Put(&a, {"ENQUEUE", "q", "p", "PRIORITY", "7", "KEEP", "1h"});
  const std::string late = Take(&a, "q", "2s").at("receipt").text;
  Pass(&a, 3'000);
  const std::string now = Await(&b, "q").at("receipt").text;
  ExpectRefusedEverything(&a, late);
  EXPECT_EQ(b.Text({"CHECKPOINT", now, "p=90"}), ":30000");
  ExpectRefusedEverything(&a, late);
  const Value job = a.Call({"JOB", id});
  EXPECT_EQ(job.at("checkpoint").text, "p=90");
  EXPECT_EQ(job.at("attempt").number, 2);
  EXPECT_EQ(job.at("priority").number, 7);
  EXPECT_EQ(job.at("last-error").type, 0);
  EXPECT_EQ(b.Text({"COMPLETE", now, "RESULT", "mine"}), "OK");
  ExpectRefusedEverything(&a, late);
  EXPECT_EQ(a.Call({"JOB", id}).at("result").text, "mine");
}

TEST_P(ServerCases, B02_ARenewedLeaseIsHonoured) {
  OPEN_OR_SKIP();
  Client a(port()), b(port());
  Put(&a, {"ENQUEUE", "q", "p"});
  const std::string receipt = Take(&a, "q", "2s").at("receipt").text;
  Wait(&a, &b, {"LEASE", "q", "BLOCK", "10s"});
  Pass(&a, 1'500);
  EXPECT_EQ(a.Text({"RENEW", receipt, "FOR", "5s"}), ":5000");
  Pass(&a, 2'500);
  EXPECT_FALSE(b.Readable());
  EXPECT_EQ(a.Text({"COMPLETE", receipt}), "OK");
  Pass(&a, 6'000);
  EXPECT_TRUE(b.Read().null()) << "no second delivery";
}

TEST_P(ServerCases, B02_TheLastAnsweredCheckpointComes) {
  OPEN_OR_SKIP();
  Client a(port()), c(port());
  Put(&c, {"ENQUEUE", "q", "p"});
  const std::string receipt = Take(&a, "q", "2s").at("receipt").text;
  std::string bytes;
  for (int i = 1; i <= 57; ++i) {
    Pass(&c, 1'000);
    EXPECT_EQ(a.Text({"RENEW", receipt}), ":2000");
    bytes = std::to_string(i) + std::string(4096, 'x');
    ASSERT_EQ(a.Text({"CHECKPOINT", receipt, bytes}), ":2000") << i;
  }
  a.Reset();
  Pass(&c, 1'999);
  EXPECT_EQ(Take(&c, "q").type, 0);
  Pass(&c, 1);
  EXPECT_EQ(Await(&c, "q").at("checkpoint").text, bytes);
}

TEST_P(ServerCases, B02_AnOldReceiptOfTheSameHolder) {
  OPEN_OR_SKIP();
  Client a(port());
  Put(&a, {"ENQUEUE", "q", "p"});
  const std::string late = Take(&a, "q", "2s").at("receipt").text;
  Pass(&a, 2'000);
  const std::string now = Await(&a, "q").at("receipt").text;
  EXPECT_NE(now, late);
  ExpectRefusedEverything(&a, late);
  EXPECT_EQ(a.Text({"COMPLETE", now}), "OK");
}

TEST_P(ServerCases, B04_ThreeTriesThatEndInThreeWays) {
  OPEN_OR_SKIP();
  for (const bool restart : {false, true}) {
    const std::string queue = restart ? "r" : "q";
    std::string id;
    {
      Client c(port());
      id = Put(&c, {"ENQUEUE", queue, "p", "ATTEMPTS", "3"});
      Client killed(port());
      EXPECT_EQ(Take(&killed, queue, "2s").at("attempt").number, 1);
      killed.Reset();
      Pass(&c, 2'000);
      Client silent(port());
      EXPECT_EQ(Await(&silent, queue, "2s").at("attempt").number, 2);
      if (!restart) {
        Pass(&c, 2'000);
        EXPECT_EQ(State(&c, id), "ready");
      }
    }
    if (restart)
      Restart(2'000);  // the second try ends while nobody serves: that was one try, no more
    Client c(port());
    Turn(&c);
    const Value third = Await(&c, queue);
    ASSERT_EQ(third.at("attempt").number, 3) << third.ToString();
    EXPECT_EQ(c.Text({"FAIL", third.at("receipt").text, "REASON", "boom"}), "[dead, :0]");
    const Value dead = c.Call({"JOB", id});
    EXPECT_EQ(dead.at("state").text, "dead");
    EXPECT_EQ(dead.at("attempt").number, 3);
    EXPECT_EQ(dead.at("reason").text, "attempts used up: the worker reported a failure");
    EXPECT_EQ(dead.at("last-error").text, "boom");
    EXPECT_EQ(Info(&c, queue, "leases"), 3);
    Pass(&c, 100 * kHour);
    EXPECT_EQ(Take(&c, queue).type, 0);
    // Redriven: three further tries, no bounce at the first.
    EXPECT_EQ(c.Text({"REDRIVE", queue, "ID", id}), ":1");
    for (int i = 1; i <= 3; ++i) {
      const Value job = Take(&c, queue);
      ASSERT_EQ(job.at("attempt").number, i);
      EXPECT_EQ(c.Text({"FAIL", job.at("receipt").text, "DELAY", "0"}),
                i < 3 ? "[retry, :0]" : "[dead, :0]");
    }
  }
}

TEST_P(ServerCases, B04_TheReasonNamesTheLastCause) {
  OPEN_OR_SKIP();
  Client c(port());
  const struct {
    const char* last;
    const char* attempts;
    const char* reason;
    const char* last_error;
  } cases[] = {
      {"expire", "2", "attempts used up: the lease expired", "first"},
      {"revoke", "2", "attempts used up: the lease was revoked", "first"},
      {"fail", "2", "attempts used up: the worker reported a failure", "last"},
      {"dead", "9", "the worker gave it up", "last"},
  };
  for (const auto& test : cases) {
    const std::string id =
        Put(&c, {"ENQUEUE", "q", "p", "ATTEMPTS", test.attempts, "BACKOFF", "fixed:0"});
    EXPECT_EQ(c.Text({"FAIL", Take(&c, "q").at("receipt").text, "REASON", "first"}), "[retry, :0]");
    const std::string receipt = Take(&c, "q", "2s").at("receipt").text;
    const std::string last = test.last;
    if (last == "expire") Pass(&c, 2'000);
    if (last == "revoke") {
      EXPECT_EQ(c.Text({"REVOKE", id}), ":1");
    }
    if (last == "fail") {
      EXPECT_EQ(c.Text({"FAIL", receipt, "REASON", "last"}), "[dead, :0]");
    }
    if (last == "dead") {
      EXPECT_EQ(c.Text({"FAIL", receipt, "REASON", "last", "DEAD"}), "[dead, :0]");
    }
    const Value job = c.Call({"JOB", id});
    EXPECT_EQ(job.at("state").text, "dead") << last;
    EXPECT_EQ(job.at("reason").text, test.reason);
    EXPECT_EQ(job.at("last-error").text, test.last_error) << last;
    EXPECT_EQ(job.at("attempt").number, 2);
  }
}

TEST_P(ServerCases, B04_OneAttemptIsOneDelivery) {
  OPEN_OR_SKIP();
  Client c(port());
  const std::string id = Put(&c, {"ENQUEUE", "q", "p", "ATTEMPTS", "1"});
  EXPECT_EQ(Take(&c, "q", "2s").at("attempts").number, 1);
  Pass(&c, 1'999);
  EXPECT_EQ(State(&c, id), "leased");
  Pass(&c, 1);
  EXPECT_EQ(State(&c, id), "dead");
  // 0 is no limit, never "dead before the first try".
  Put(&c, {"ENQUEUE", "q", "p", "ATTEMPTS", "0"});
  for (int i = 1; i <= 200; ++i) {
    ASSERT_EQ(Await(&c, "q", "100ms").at("attempt").number, i);
    Pass(&c, 100);
  }
}

TEST_P(ServerCases, B04_FiftyReleasesAreNoFailedTry) {
  OPEN_OR_SKIP();
  Client c(port());
  Put(&c, {"ENQUEUE", "q", "p", "ATTEMPTS", "3", "BACKOFF", "list:1s,10s,1m"});
  for (int i = 0; i < 50; ++i) {
    const Value job = Take(&c, "q");
    ASSERT_EQ(job.at("attempt").number, 1);
    EXPECT_EQ(c.Text({"RELEASE", job.at("receipt").text, "DELAY", "0"}), "OK");
  }
  EXPECT_EQ(c.Text({"FAIL", Take(&c, "q").at("receipt").text}), "[retry, :1000]");
}

TEST_P(ServerCases, B28_ADelayLastsItsTime) {
  OPEN_OR_SKIP();
  Client c(port());
  for (const int64_t step : {-kHour, kHour}) {
    const std::string id = Put(&c, {"ENQUEUE", "q", "p", "DELAY", "5s"});
    Pass(&c, 1'000);
    StepWall(&c, step);
    EXPECT_EQ(c.Call({"JOB", id}).at("vests-in").number, 4'000);
    Pass(&c, 3'999);
    EXPECT_EQ(State(&c, id), "scheduled");
    Pass(&c, 1);
    EXPECT_EQ(State(&c, id), "ready");
    EXPECT_EQ(c.Text({"CANCEL", id}), ":1");
  }
}

TEST_P(ServerCases, B28_ALeaseLastsItsTime) {
  OPEN_OR_SKIP();
  Client c(port());
  for (const int64_t step : {-kHour, kHour}) {
    // The holder lives: it renews and acks.
    std::string id = Put(&c, {"ENQUEUE", "q", "p"});
    const std::string receipt = Take(&c, "q", "60s").at("receipt").text;
    Pass(&c, 2'000);
    StepWall(&c, step);
    Value job = c.Call({"JOB", id});
    EXPECT_EQ(job.at("state").text, "leased");
    EXPECT_EQ(job.at("lease-left").number, 58'000);
    EXPECT_EQ(job.at("deadline").number, clock.wall_ms + 58'000);
    EXPECT_EQ(c.Text({"RENEW", receipt}), ":60000");
    Pass(&c, 59'999);
    EXPECT_EQ(c.Text({"COMPLETE", receipt}), "OK");
    // The holder dies: its lease ends after 60 s.
    id = Put(&c, {"ENQUEUE", "q", "p"});
    {
      Client holder(port());
      EXPECT_EQ(Take(&holder, "q", "60s").at("id").text, id);
      Pass(&c, 2'000);
      StepWall(&c, step);
      holder.Reset();
    }
    Pass(&c, 57'999);
    EXPECT_EQ(State(&c, id), "leased");
    Pass(&c, 1);
    EXPECT_EQ(State(&c, id), "ready");
    EXPECT_EQ(c.Text({"CANCEL", id}), ":1");
  }
}

TEST_P(ServerCases, B28_WaitsPausesRatesWindowsAndBackOffsLastTheirTime) {
  OPEN_OR_SKIP();
  for (const int64_t step : {-kHour, kHour}) {
    Client c(port()), waiter(port()), paused(port()), limited(port());
    c.Call({"QUEUE", "SET", "empty", "lease", "1m"});
    c.Call({"QUEUE", "SET", "rated", "rate", "0.1", "burst", "1"});
    Put(&c, {"ENQUEUE", "rated", "p"});
    Put(&c, {"ENQUEUE", "rated", "p"});
    EXPECT_EQ(Take(&c, "rated", "1h").at("attempt").number, 1);
    Put(&c, {"ENQUEUE", "paused", "p"});
    EXPECT_EQ(c.Text({"QUEUE", "PAUSE", "paused", "FOR", "10s"}), "OK");
    Put(&c, {"ENQUEUE", "window", "p", "UNIQUE", "k", "FOR", "10s"});
    EXPECT_EQ(c.Text({"COMPLETE", Take(&c, "window").at("receipt").text}), "OK");
    const std::string retried = Put(&c, {"ENQUEUE", "retried", "p", "BACKOFF", "fixed:10s"});
    EXPECT_EQ(c.Text({"FAIL", Take(&c, "retried").at("receipt").text}), "[retry, :10000]");
    Wait(&c, &waiter, {"LEASE", "empty", "BLOCK", "10s"});
    Wait(&c, &paused, {"LEASE", "paused", "BLOCK", "1m", "FOR", "1h"});
    Wait(&c, &limited, {"LEASE", "rated", "BLOCK", "1m", "FOR", "1h"});
    Pass(&c, 3'000);
    StepWall(&c, step);
    EXPECT_EQ(Info(&c, "paused", "paused"), 7'000);
    Pass(&c, 6'999);
    for (Client* one : {&waiter, &paused, &limited}) EXPECT_FALSE(one->Readable());
    EXPECT_EQ(c.Call({"ENQUEUE", "window", "p", "UNIQUE", "k"}).items.at(2).text, "gone");
    EXPECT_EQ(State(&c, retried), "scheduled");
    Pass(&c, 1);
    EXPECT_TRUE(waiter.Read().null());
    EXPECT_EQ(paused.Read().items.size(), 1u);
    EXPECT_EQ(limited.Read().items.size(), 1u);
    EXPECT_EQ(State(&c, retried), "ready");
    EXPECT_EQ(c.Call({"ENQUEUE", "window", "p", "UNIQUE", "k"}).items.at(2).text, "new");
    for (const char* queue : {"rated", "paused", "window", "retried"})
      c.Call({"QUEUE", "DROP", queue});
  }
}

TEST_P(ServerCases, B28_IdsAndOrderDoNotFollowTheWallClock) {
  OPEN_OR_SKIP();
  std::vector<std::string> put;
  for (const int64_t step : {int64_t{0}, -kHour, int64_t{0}}) {
    Client c(port());
    StepWall(&c, step);
    std::vector<std::string_view> words = {"ENQUEUEMANY", "q", "1000"};
    words.resize(1003, "p");
    for (const Value& id : c.Call(words).items) put.push_back(id.text);
    if (step != 0) Restart();
  }
  Client c(port());
  std::vector<std::string> came;
  for (int i = 0; i < 3; ++i) {
    for (const Value& job : c.Call({"LEASE", "q", "COUNT", "1000"}).items)
      came.push_back(job.at("id").text);
  }
  EXPECT_EQ(came, put);
}

// A machine that boots in 1970 and is corrected after 5 s, and one that stands 20 years ahead.
TEST_P(ServerCases, B28_NothingIsNegativeOrHugeAfterACorrection) {
  constexpr int64_t kYear = 365 * 24 * kHour;
  const int64_t right = clock.wall_ms;
  for (const int64_t start : {int64_t{0}, right + 20 * kYear}) {
    clock.wall_ms = start;
    if (engine_ != nullptr) {
      Restart();
    } else {
      OPEN_OR_SKIP();
    }
    Client c(port());
    const std::string ready = Put(&c, {"ENQUEUE", "q", "p"});
    const std::string later = Put(&c, {"ENQUEUE", "q", "p", "DELAY", "1m"});
    const std::string held = Put(&c, {"ENQUEUE", "held", "p"});
    const std::string receipt = Take(&c, "held", "1m").at("receipt").text;
    Pass(&c, 5'000);
    clock.wall_ms = right;
    Turn(&c);
    const auto look = [&](int64_t passed) {
      for (const std::string& id : {ready, later, held}) {
        const Value job = c.Call({"JOB", id});
        EXPECT_EQ(clock.wall_ms - job.at("enqueued").number, passed) << job.ToString();
        if (id == later) {
          EXPECT_EQ(job.at("vests-in").number, 60'000 - passed);
          EXPECT_EQ(job.at("vests").number, clock.wall_ms + 60'000 - passed);
        }
        if (id == held) {
          EXPECT_EQ(job.at("lease-left").number, 60'000 - passed);
        }
      }
      EXPECT_EQ(Info(&c, "q", "oldest-ready"), passed);
      const Value worker = c.Call({"WORKERS", "held"}).items.at(1).items.at(0);
      EXPECT_EQ(worker.at("oldest").number, passed);
    };
    look(5'000);
    Pass(&c, 10'000);
    look(15'000);
    EXPECT_EQ(c.Text({"COMPLETE", receipt}), "OK");
    for (const std::string& id : {ready, later}) EXPECT_EQ(c.Text({"CANCEL", id}), ":1");
  }
}

// After a restart spans go on from the wall clock: by what it advanced where the machine was booted meanwhile.
TEST_P(ServerCases, B28_SpansGoOnAfterABoot) {
  OPEN_OR_SKIP();
  std::string id;
  {
    Client c(port());
    id = Put(&c, {"ENQUEUE", "q", "p", "DELAY", "1m"});
    Pass(&c, 10'000);
  }
  CloseServer();
  ++clock.boot;
  clock.mono_ms = 5'000;  // up for five seconds
  clock.wall_ms += 20'000;
  ASSERT_TRUE(Open());
  Client c(port());
  EXPECT_EQ(c.Call({"JOB", id}).at("vests-in").number, 30'000);
  Pass(&c, 29'999);
  EXPECT_EQ(State(&c, id), "scheduled");
  Pass(&c, 1);
  EXPECT_EQ(State(&c, id), "ready");
}

VESTQ_STEPPED_TESTS(ServerCases);

}  // namespace
}  // namespace vestq::nettest
