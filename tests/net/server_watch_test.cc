// WAITFOR, LEASE of one space, EVENTS, order and ages over the wire.
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <memory>
#include <string>
#include <vector>

#include "tests/net/test_server.h"

namespace vestq::nettest {
namespace {

class ServerWatch : public ServerTest {
 protected:
  std::string Take(Client& c, std::string_view queue = "q") {
    return c.Call({"LEASE", queue, "WORKER", "w"}).items.at(0).at("receipt").text;
  }
  // Blocks until the connection of that name waits.
  void AwaitBlocked(Client& c, const std::string& id) {
    for (int i = 0; i < 20'000; ++i) {
      if (c.Text({"CLIENT", "UNBLOCK", id, "TIMEOUT"}) == ":1") return;
    }
    FAIL() << "it never waits";
  }
};

TEST_P(ServerWatch, WaitForGivesTheJobAtItsEnd) {
  OPEN_OR_SKIP();
  Client c(port()), w(port());
  for (const char* version : {"2", "3"}) {
    w.Call({"HELLO", version});
    const std::string id = c.Call({"ENQUEUE", "q", "p", "KEEP", "1m"}).text;
    EXPECT_EQ(w.Text({"WAITFOR", id}), "(null)") << "without BLOCK it looks once";
    EXPECT_EQ(w.Text({"WAITFOR", id, "BLOCK", "10ms"}), "(null)");
    w.Send({"WAITFOR", id, "BLOCK", "0"});
    w.Send({"PING"});
    EXPECT_EQ(c.Text({"COMPLETE", Take(c), "RESULT", "42"}), "OK");
    const Value done = w.Read();
    EXPECT_EQ(done.type, version[0] == '3' ? '%' : '*');
    EXPECT_EQ(done.at("state").text, "done");
    EXPECT_EQ(done.at("result").text, "42");
    EXPECT_EQ(done.at("queue").text, "q");
    EXPECT_EQ(w.Read().text, "PONG");
    EXPECT_EQ(w.Call({"WAITFOR", id, "BLOCK", "1m"}).at("result").text, "42");

    const std::string gone = c.Call({"ENQUEUE", "q", "p"}).text;
    w.Send({"WAITFOR", gone, "BLOCK", "1m"});
    EXPECT_EQ(c.Text({"CANCEL", gone}), ":1");
    EXPECT_EQ(w.Read().ToString(), version[0] == '3' ? "{state, gone}" : "[state, gone]");

    const std::string dead = c.Call({"ENQUEUE", "q", "p"}).text;
    w.Send({"WAITFOR", dead, "BLOCK", "1m"});
    EXPECT_EQ(c.Text({"FAIL", Take(c), "REASON", "no", "DEAD"}), "[dead, :0]");
    EXPECT_EQ(w.Read().at("last-error").text, "no");
  }
  EXPECT_EQ(c.Text({"WAITFOR", "x"}).substr(0, 4), "-ERR");
  EXPECT_EQ(c.Text({"WAITFOR", "5", "BLOCK", "5"}),
            "-ERR BLOCK '5': a duration needs its unit: write 5s or 5ms");
  EXPECT_EQ(c.Text({"WAITFOR", "5", "PAYLOAD"}).substr(0, 4), "-ERR");
}

TEST_P(ServerWatch, TheEndOfTheClientEndsWaitFor) {
  OPEN_OR_SKIP();
  Client c(port());
  const std::string id = c.Call({"ENQUEUE", "q", "p"}).text;
  {  // UNBLOCK, with null and with an error
    Client w(port());
    const std::string me = std::to_string(w.Call({"CLIENT", "ID"}).number);
    w.Send({"WAITFOR", id, "BLOCK", "0"});
    AwaitBlocked(c, me);
    EXPECT_EQ(w.Read().ToString(), "(null)");
    w.Send({"WAITFOR", id, "BLOCK", "0"});
    while (c.Text({"CLIENT", "UNBLOCK", me, "ERROR"}) != ":1") {
    }
    EXPECT_EQ(w.Read().text, "UNBLOCKED client unblocked via CLIENT UNBLOCK");
  }
  {  // CLIENT KILL, and its own end
    Client w(port()), half(port()), cut(port());
    const std::string me = std::to_string(w.Call({"CLIENT", "ID"}).number);
    for (Client* each : {&w, &half, &cut}) each->Send({"WAITFOR", id, "BLOCK", "0"});
    EXPECT_EQ(c.Text({"CLIENT", "KILL", "ID", me}), ":1");
    EXPECT_TRUE(w.Ended());
    half.CloseWrite();
    EXPECT_TRUE(half.Ended());
    cut.Reset();
  }
  Client last(port());
  last.Send({"WAITFOR", id, "BLOCK", "0"});
  last.Send({"PING"});
  EXPECT_FALSE(last.Readable(20));
  CloseServer();  // answers it with null, or cuts it off
}

TEST_P(ServerWatch, LeaseOfOneSpace) {
  OPEN_OR_SKIP();
  Client c(port()), w(port());
  c.Call({"ENQUEUE", "q", "none"});
  c.Call({"ENQUEUE", "q", "a", "SPACE", "a"});
  w.Send({"LEASE", "q", "SPACE", "b", "BLOCK", "1m"});
  EXPECT_EQ(c.Call({"LEASE", "q", "SPACE", "a", "COUNT", "5"}).items.size(), 1u);
  EXPECT_EQ(c.Call({"LEASE", "q", "SPACE", "", "COUNT", "5"}).items.at(0).at("payload").text,
            "none");
  c.Call({"ENQUEUE", "q", "other", "SPACE", "a"});
  EXPECT_FALSE(w.Readable(20));
  c.Call({"ENQUEUE", "q", "mine", "SPACE", "b"});
  EXPECT_EQ(w.Read().items.at(0).at("payload").text, "mine");
  w.Send({"LEASE", "q", "r", "SPACE", "b", "BLOCK", "1m"});
  w.CloseWrite();  // a reply that the kernel took before it saw the end would be a lease
  EXPECT_TRUE(w.Ended());
  c.Call({"ENQUEUE", "q", "for whoever is there", "SPACE", "b"});
  EXPECT_EQ(c.Call({"LEASE", "q", "SPACE", "b", "BLOCK", "20s"}).items.size(), 1u);
}

TEST_P(ServerWatch, EventsArePushed) {
  OPEN_OR_SKIP();
  Client c(port()), e(port());
  for (const char* version : {"2", "3"}) {
    e.Call({"HELLO", version});
    EXPECT_EQ(e.Text({"EVENTS", "q"}), "OK");
    const std::string id = c.Call({"ENQUEUE", "q", "p"}).text;
    c.Call({"ENQUEUE", "unheard", "p"});
    EXPECT_EQ(c.Text({"FAIL", Take(c), "REASON", "no", "DEAD"}), "[dead, :0]");
    const char* const kinds[] = {"enqueued", "leased", "failed", "dead"};
    for (const char* kind : kinds) {
      const Value event = e.Read();
      ASSERT_EQ(event.items.size(), 3u) << event.ToString();
      EXPECT_EQ(event.type, version[0] == '3' ? '>' : '*');
      EXPECT_EQ(event.items[0].text, "event");
      EXPECT_EQ(event.items[1].text, kind);
      EXPECT_EQ(event.items[2].at("id").text, id);
      EXPECT_EQ(event.items[2].at("queue").text, "q");
      EXPECT_GT(event.items[2].at("time").number, 1'500'000'000'000);
      if (event.items[1].text == "failed") {
        EXPECT_EQ(event.items[2].at("reason").text, "no");
        EXPECT_EQ(event.items[2].at("worker").text, "w");
        EXPECT_EQ(event.items[2].at("attempt").number, 1);
      }
    }
    // Other commands, as in Redis's subscribe mode.
    if (version[0] == '3') {
      EXPECT_EQ(e.Text({"PING"}), "PONG");
      EXPECT_EQ(e.Call({"JOB", id}).at("state").text, "dead");
    } else {
      EXPECT_EQ(e.Text({"PING"}), "[pong, ]");
      EXPECT_EQ(e.Text({"PING", "x"}), "[pong, x]");
      EXPECT_EQ(e.Text({"JOB", id}),
                "-ERR Can't execute 'JOB': only EVENTS / PING / QUIT / RESET are allowed in this "
                "context");
    }
    EXPECT_EQ(e.Text({"EVENTS", "other"}), "OK") << "in place of the first";
    c.Call({"ENQUEUE", "q", "p"});
    c.Call({"ENQUEUE", "other", "p"});
    EXPECT_EQ(e.Read().items.at(2).at("queue").text, "other");
    EXPECT_EQ(e.Text({"RESET"}), "RESET");
    c.Call({"ENQUEUE", "other", "p"});
    EXPECT_EQ(e.Text({"JOB", "1"}), "(null)") << "no event any more";
    c.Call({"LEASE", "q", "other", "COUNT", "10"});
  }
  EXPECT_EQ(e.Text({"EVENTS"}), "OK");
  EXPECT_EQ(e.Text({"QUIT"}), "OK");
  EXPECT_TRUE(e.Ended());
  EXPECT_EQ(c.Text({"EVENTS", "bad queue"}).substr(0, 4), "-ERR");
}

TEST_P(ServerWatch, EventsTellWhatAPurgeTook) {
  OPEN_OR_SKIP();
  Client c(port()), e(port());
  for (const char* payload : {"a", "b", "c"}) c.Call({"ENQUEUE", "q", payload});
  EXPECT_EQ(e.Text({"EVENTS", "q"}), "OK");
  const auto expect = [&e](int64_t count, const char* reason) {
    const Value event = e.Read();
    EXPECT_EQ(event.items.at(1).text, "purged");
    const Value& map = event.items.at(2);
    EXPECT_EQ(map.items.size(), 8u) << map.ToString() << ": no id, no attempt";
    EXPECT_EQ(map.at("queue").text, "q");
    EXPECT_EQ(map.at("count").number, count);
    EXPECT_EQ(map.at("reason").text, reason);
    EXPECT_GT(map.at("time").number, 1'500'000'000'000);
  };
  EXPECT_EQ(c.Text({"PURGE", "q"}), ":3");
  expect(3, "PURGE");
  EXPECT_EQ(c.Text({"QUEUE", "DROP", "q"}), ":0");
  expect(0, "QUEUE DROP");
  const std::string id = c.Call({"ENQUEUE", "q", "p"}).text;
  EXPECT_EQ(c.Text({"PURGE", "q", "ID", id}), ":1");
  EXPECT_EQ(e.Read().items.at(1).text, "enqueued");
  const Value one = e.Read();
  EXPECT_EQ(one.items.at(1).text, "purged");
  EXPECT_EQ(one.items.at(2).at("id").text, id);
}

TEST_P(ServerWatch, AListenerThatDoesNotReadCostsLittleAndHearsWhatItMissed) {
  SessionLimits limits;
  limits.output_soft = 4096;
  OPEN_OR_SKIP(limits);
  Client c(port());
  const int fd = Client::NewSocket();
  const int small = 4096;
  ASSERT_EQ(setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof small), 0);
  Client e(port(), fd);
  EXPECT_EQ(e.Text({"EVENTS"}), "OK");
  constexpr int kJobs = 60'000;
  std::vector<std::string_view> words = {"ENQUEUEMANY", "q", "1000"};
  words.resize(1003, "x");
  for (int i = 0; i < kJobs / 1000; ++i) EXPECT_EQ(c.Call(words).items.size(), 1000u);
  int64_t heard = 0, missed = 0;
  while (heard + missed < kJobs) {
    const Value event = e.Read();
    ASSERT_EQ(event.items.size(), 3u) << event.ToString();
    if (event.items[1].text == "missed") {
      missed += event.items[2].at("count").number;
    } else {
      ++heard;
    }
  }
  EXPECT_EQ(heard + missed, kJobs);
  EXPECT_GT(missed, 0);
  e.Close();
  EXPECT_EQ(c.Text({"PING"}), "PONG");
}

TEST_P(ServerWatch, ManyListenersComeAndGo) {
  OPEN_OR_SKIP();
  Client c(port());
  for (int round = 0; round < 3; ++round) {
    std::vector<std::unique_ptr<Client>> all;
    for (int i = 0; i < 20; ++i) {
      all.push_back(std::make_unique<Client>(port()));
      EXPECT_EQ(all.back()->Text({"EVENTS"}), "OK");
    }
    const std::string id = c.Call({"ENQUEUE", "q", "p"}).text;
    for (auto& client : all) EXPECT_EQ(client->Read().items.at(2).at("id").text, id);
    for (int i = 0; i < 20; ++i) {
      if (i % 3 == 0) all[static_cast<size_t>(i)]->Reset();
    }
    c.Call({"ENQUEUE", "q", "p"});
  }
  Client e(port());
  EXPECT_EQ(e.Text({"EVENTS"}), "OK");
  CloseServer();
}

TEST_P(ServerWatch, OrderAgesAndKeepZero) {
  OPEN_OR_SKIP();
  Client c(port());
  EXPECT_EQ(c.Text({"QUEUE", "SET", "t", "order", "time"}), "OK");
  EXPECT_EQ(c.Call({"QUEUE", "INFO", "t"}).at("order").text, "time");
  EXPECT_EQ(c.Call({"QUEUE", "INFO", "t"}).at("oldest-ready").ToString(), "(null)");
  EXPECT_EQ(c.Text({"QUEUE", "SET", "t", "order", "lifo"}),
            "-ERR order 'lifo': priority or time is expected");
  c.Call({"ENQUEUE", "t", "1", "PRIORITY", "9"});
  c.Call({"ENQUEUE", "t", "2", "PRIORITY", "5000"});
  EXPECT_EQ(c.Text({"QUEUE", "SET", "t", "order", "default"}),
            "-BUSY queue 't' has 2 jobs, order changes only while it has none");
  const Value info = c.Call({"QUEUE", "INFO", "t"});
  EXPECT_GE(info.at("oldest-ready").number, info.at("oldest-ready-low").number);
  EXPECT_EQ(info.at("oldest-ready-normal").ToString(), "(null)");
  EXPECT_GE(info.at("oldest-ready-urgent").number, 0);
  EXPECT_EQ(info.at("oldest-ready-exact").number, 1);

  EXPECT_EQ(c.Text({"QUEUE", "SET", "k", "keep", "1h"}), "OK");
  const std::string id = c.Call({"ENQUEUE", "k", "p", "KEEP", "0"}).text;
  EXPECT_EQ(c.Text({"COMPLETE", Take(c, "k")}), "OK");
  EXPECT_EQ(c.Text({"JOB", id}), "(null)");
}

VESTQ_SERVER_TESTS(ServerWatch);

}  // namespace
}  // namespace vestq::nettest
