// max-jobs, max-bytes and ENQUEUE … WAIT over the wire: every reply and every end of a wait.
#include <gtest/gtest.h>

#include <string>

#include "tests/net/test_server.h"

namespace vestq::nettest {
namespace {

class ServerRoom : public ServerTest {
 protected:
  // Returns when so many ENQUEUEs wait.
  static void ExpectWaiting(Client* c, int64_t count) {
    for (int i = 0; i < 20'000; ++i) {
      if (c->Call({"QUEUE", "INFO", "q"}).at("enqueues-waiting").number == count) return;
    }
    FAIL() << c->Call({"QUEUE", "INFO", "q"}).ToString();
  }
  static void TakeOne(Client* c) {
    const Value jobs = c->Call({"LEASE", "q"});
    ASSERT_EQ(jobs.items.size(), 1u) << jobs.ToString();
    EXPECT_EQ(c->Text({"COMPLETE", jobs.items[0].at("receipt").text}), "OK");
  }
};

TEST_P(ServerRoom, LimitsAreSetShownAndUnset) {
  OPEN_OR_SKIP();
  Client c(port());
  EXPECT_EQ(c.Text({"QUEUE", "SET", "q", "max-jobs", "2", "max-bytes", "1KiB"}), "OK");
  Value info = c.Call({"QUEUE", "INFO", "q"});
  EXPECT_EQ(info.at("max-jobs").number, 2);
  EXPECT_EQ(info.at("max-bytes").number, 1024);
  EXPECT_EQ(info.at("unfinished-bytes").number, 0);
  EXPECT_EQ(info.at("refused").number, 0);
  EXPECT_EQ(c.Text({"QUEUE", "SET", "q", "max-jobs", "none", "max-bytes", "default"}), "OK");
  info = c.Call({"QUEUE", "INFO", "q"});
  EXPECT_EQ(info.at("max-jobs").text, "none");
  EXPECT_EQ(info.at("max-bytes").text, "none");
  EXPECT_EQ(c.Text({"QUEUE", "SET", "q", "max-jobs", "-1"}).substr(0, 7), "-RANGE ");
  EXPECT_EQ(c.Text({"QUEUE", "SET", "q", "max-jobs", "281474976710657"}).substr(0, 7), "-RANGE ");
  EXPECT_EQ(c.Text({"QUEUE", "SET", "q", "max-bytes", "many"}).substr(0, 5), "-ERR ");
}

TEST_P(ServerRoom, FullNamesTheQueueTheLimitAndWhatStands) {
  OPEN_OR_SKIP();
  Client c(port());
  EXPECT_EQ(c.Text({"QUEUE", "SET", "q", "max-jobs", "2", "max-bytes", "10"}), "OK");
  EXPECT_EQ(c.Call({"ENQUEUE", "q", "12345"}).type, '$');
  EXPECT_EQ(c.Text({"ENQUEUE", "q", "123456"}),
            "-FULL queue 'q' holds 1 job of 5 bytes, max-bytes is 10 and 6 more are wanted: wait "
            "until some are done, cancel or purge some, or raise it");
  EXPECT_EQ(
      c.Text({"ENQUEUE", "q", "12345678901", "WAIT", "5s"}),
      "-FULL queue 'q' never has room for 1 job of 11 bytes: its max-bytes is 10; raise it or "
      "send less");
  EXPECT_EQ(c.Call({"ENQUEUE", "q", "12", "SPACE", "s"}).type, '$');
  EXPECT_EQ(c.Text({"ENQUEUE", "q", ""}),
            "-FULL queue 'q' holds 2 jobs of 7 bytes, max-jobs is 2: wait until some are done, "
            "cancel or purge some, or raise it");
  EXPECT_EQ(c.Text({"ENQUEUEMANY", "q", "3", "a", "b", "c"}),
            "-FULL queue 'q' never has room for 3 jobs of 3 bytes: its max-jobs is 2; raise it or "
            "send less");
  EXPECT_EQ(c.Text({"ENQUEUE", "q", "x", "WAIT", "1ms"}).substr(0, 9), "-FULL que");
  EXPECT_EQ(c.Text({"ENQUEUE", "q", "x", "WAIT", "0"}).substr(0, 9), "-FULL que");
  EXPECT_EQ(c.Call({"QUEUE", "INFO", "q"}).at("refused").number, 6);
  EXPECT_EQ(c.Text({"ENQUEUE", "q", "x", "WAIT", "36501d"}).substr(0, 7), "-RANGE ");
}

TEST_P(ServerRoom, AWaitingEnqueueIsAnsweredWhenThereIsRoom) {
  OPEN_OR_SKIP();
  Client c(port());
  EXPECT_EQ(c.Text({"QUEUE", "SET", "q", "max-jobs", "1"}), "OK");
  EXPECT_EQ(c.Call({"ENQUEUE", "q", "first", "WAIT", "60s"}).type, '$') << "there is room: at once";
  Client near(port()), far(port());
  near.Send({"ENQUEUE", "q", "near", "WAIT", "60s"});
  ExpectWaiting(&c, 1);
  // What is behind it on its connection waits too.
  near.Send({"ENQUEUE", "other", "behind"});
  far.Send({"ENQUEUEMANY", "q", "1", "far", "SPACE", "s", "WAIT", "60s"});
  ExpectWaiting(&c, 2);
  EXPECT_FALSE(near.Readable());
  TakeOne(&c);
  EXPECT_EQ(near.Read().type, '$');
  EXPECT_EQ(near.Read().type, '$');
  EXPECT_FALSE(far.Readable());
  TakeOne(&c);
  EXPECT_EQ(far.Read().items.size(), 1u);
  EXPECT_EQ(c.Call({"QUEUE", "INFO", "q"}).at("enqueues-waiting").number, 0);
}

TEST_P(ServerRoom, AClientThatGoesWhileItWaitsEnqueuesNothing) {
  OPEN_OR_SKIP();
  Client c(port());
  EXPECT_EQ(c.Text({"QUEUE", "SET", "q", "max-jobs", "1"}), "OK");
  c.Call({"ENQUEUE", "q", "first"});
  {
    Client gone(port()), reset(port()), half(port());
    gone.Send({"ENQUEUE", "q", "gone", "WAIT", "60s"});
    reset.Send({"ENQUEUE", "q", "reset", "SPACE", "far", "WAIT", "60s"});
    half.Send({"ENQUEUE", "q", "half", "UNIQUE", "u", "WAIT", "60s"});
    ExpectWaiting(&c, 3);
    gone.Close();
    reset.Reset();
    half.CloseWrite();
    EXPECT_EQ(half.Read().text.substr(0, 5), "FULL ");
    ExpectWaiting(&c, 0);
  }
  TakeOne(&c);
  EXPECT_EQ(c.Text({"LEASE", "q"}), "(null)");
  EXPECT_EQ(c.Call({"QUEUE", "INFO", "q"}).at("enqueued").number, 1);
}

TEST_P(ServerRoom, ClientUnblockEndsAWait) {
  OPEN_OR_SKIP();
  Client c(port());
  EXPECT_EQ(c.Text({"QUEUE", "SET", "q", "max-jobs", "0"}), "OK");
  EXPECT_EQ(c.Text({"QUEUE", "SET", "q", "max-jobs", "1"}), "OK");
  c.Call({"ENQUEUE", "q", "first"});
  Client waiter(port());
  const std::string id = std::to_string(waiter.Call({"CLIENT", "ID"}).number);
  waiter.Send({"ENQUEUE", "q", "x", "WAIT", "60s"});
  ExpectWaiting(&c, 1);
  EXPECT_EQ(c.Text({"CLIENT", "UNBLOCK", id, "ERROR"}), ":1");
  EXPECT_EQ(waiter.Read().text, "UNBLOCKED client unblocked via CLIENT UNBLOCK");
  waiter.Send({"ENQUEUE", "q", "x", "WAIT", "60s"});
  ExpectWaiting(&c, 1);
  EXPECT_EQ(c.Text({"CLIENT", "UNBLOCK", id}), ":1");
  EXPECT_EQ(waiter.Read().text.substr(0, 9), "FULL queu");
  EXPECT_EQ(waiter.Text({"PING"}), "PONG");
}

TEST_P(ServerRoom, GroupsAreRefusedWholeAndDoNotWait) {
  OPEN_OR_SKIP();
  Client c(port());
  EXPECT_EQ(c.Text({"QUEUE", "SET", "q", "max-jobs", "1"}), "OK");
  c.Text({"MULTI"});
  EXPECT_EQ(
      c.Text({"ENQUEUE", "q", "x", "WAIT", "1s"}),
      "-ERR WAIT is not possible between MULTI and EXEC: all of it is done at once, or nothing");
  EXPECT_EQ(c.Text({"EXEC"}).substr(0, 10), "-EXECABORT");
  c.Text({"MULTI"});
  c.Text({"ENQUEUE", "q", "a"});
  c.Text({"ENQUEUE", "q", "b"});
  const std::string full = c.Text({"EXEC"});
  EXPECT_EQ(full.substr(0, 10), "-EXECABORT") << full;
  EXPECT_NE(full.find("never has room for 2 jobs"), std::string::npos) << full;
  EXPECT_EQ(c.Call({"ENQUEUE", "q", "a"}).type, '$');
  const Value jobs = c.Call({"LEASE", "q"});
  c.Text({"MULTI"});
  c.Text({"COMPLETE", jobs.items.at(0).at("receipt").text});
  c.Text({"ENQUEUE", "q", "next"});
  EXPECT_EQ(c.Call({"EXEC"}).items.size(), 2u);
}

TEST_P(ServerRoom, AServerThatEndsAnswersThoseWhoWait) {
  OPEN_OR_SKIP();
  Client c(port()), waiter(port());
  EXPECT_EQ(c.Text({"QUEUE", "SET", "q", "max-jobs", "1"}), "OK");
  c.Call({"ENQUEUE", "q", "first"});
  waiter.Send({"ENQUEUE", "q", "x", "WAIT", "60s"});
  ExpectWaiting(&c, 1);
  CloseServer();
  EXPECT_EQ(waiter.Read().text.substr(0, 5), "FULL ");
  EXPECT_TRUE(waiter.Ended());
}

TEST_P(ServerRoom, RedriveAnswersWithWhatHadRoom) {
  OPEN_OR_SKIP();
  Client c(port());
  for (int i = 0; i < 3; ++i) c.Call({"ENQUEUE", "q", "x"});
  const Value jobs = c.Call({"LEASE", "q", "COUNT", "3"});
  for (const Value& job : jobs.items) c.Call({"FAIL", job.at("receipt").text, "DEAD"});
  EXPECT_EQ(c.Text({"QUEUE", "SET", "q", "max-jobs", "2"}), "OK");
  EXPECT_EQ(c.Text({"REDRIVE", "q", "ALL"}), ":2");
  EXPECT_EQ(c.Text({"REDRIVE", "q", "ALL"}).substr(0, 6), "-FULL ");
  EXPECT_EQ(c.Call({"QUEUE", "INFO", "q"}).at("bytes").number, 3);
  EXPECT_EQ(c.Call({"QUEUE", "INFO", "q"}).at("unfinished-bytes").number, 2);
}

VESTQ_SERVER_TESTS(ServerRoom);

}  // namespace
}  // namespace vestq::nettest
