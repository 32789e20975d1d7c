// Clients that are wrong, slow, silent or hostile; each time others must not notice.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <string>

#include "tests/net/test_server.h"

namespace vestq::nettest {
namespace {

class ServerHostile : public ServerTest {
 protected:
  // Something that another connection does all the while.
  void ExpectServing() {
    Client c(port());
    ASSERT_EQ(c.Text({"PING"}), "PONG");
    const Value id = c.Call({"ENQUEUE", "good", "job"});
    ASSERT_EQ(id.type, '$') << id.ToString();
    const Value leased = c.Call({"LEASE", "good"});
    ASSERT_EQ(leased.items.size(), 1u);
    ASSERT_EQ(c.Text({"COMPLETE", leased.items[0].at("receipt").text}), "OK");
  }
};

TEST_P(ServerHostile, ForeignProtocolsAreClosed) {
  OPEN_OR_SKIP();
  const std::string post =
      "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 20\r\n\r\nENQUEUE q evil\r\n";
  for (const std::string& bytes : {std::string("GET / HTTP/1.1\r\n\r\n"), post}) {
    Client c(port());
    c.SendRaw(bytes);
    EXPECT_TRUE(c.Ended()) << bytes;
  }
  for (const std::string& bytes :
       {std::string("\x16\x03\x01\x02\x00\x01\x00\x01", 8), std::string("\0\0\0\x08\0\0\0\1", 8)}) {
    Client c(port());
    c.SendRaw(bytes);
    EXPECT_EQ(c.Read().text, "ERR Protocol error: expected '*' or an inline command");
    EXPECT_TRUE(c.Ended());
  }
  Client c(port());
  c.SendRaw("SSH-2.0-OpenSSH_9.2\r\n");
  EXPECT_EQ(c.Read().text.substr(0, 19), "ERR unknown command");
  EXPECT_EQ(c.Call({"QUEUE", "INFO", "q"}).text.substr(0, 8), "NOTFOUND")
      << "nothing in an HTTP body may be obeyed";
  ExpectServing();
}

TEST_P(ServerHostile, ProtocolErrorsAreAnsweredOnceAndClosed) {
  OPEN_OR_SKIP();
  const std::pair<std::string, std::string> cases[] = {
      {"*2\r\n$7\r\nENQUEUE\r\n$9223372036854775807\r\n",
       "ERR Protocol error: invalid bulk length"},
      {"*1\r\n$1073741824\r\n" + std::string(100'000, 'x'),
       "ERR Protocol error: invalid bulk length"},
      {"*9223372036854775807\r\n", "ERR Protocol error: invalid multibulk length"},
      {"*-9223372036854775808\r\n", "ERR Protocol error: invalid multibulk length"},
      {"*1\r\n:1\r\nPING\r\n", "ERR Protocol error: expected '$', got ':'"},
      {"*1\r\n$4\r\nPINGxxPING\r\n", "ERR Protocol error: bulk string without CRLF at its end"},
      {"ECHO \"a\r\nPING\r\n", "ERR Protocol error: unbalanced quotes in request"},
      {std::string(70'000, 'a'), "ERR Protocol error: too big inline request"},
  };
  for (const auto& [bytes, expected] : cases) {
    Client c(port());
    c.Send({"PING"});
    c.SendRaw(bytes);
    EXPECT_EQ(c.Read().text, "PONG");
    EXPECT_EQ(c.Read().text, expected);
    EXPECT_TRUE(c.Ended()) << expected;
  }
  ExpectServing();
}

TEST_P(ServerHostile, ATooLongPayloadIsSwallowedExactly) {
  SessionLimits limits;
  limits.payload_max = 100'000;
  OPEN_OR_SKIP(limits);
  Client c(port());
  std::string commands;
  while (commands.size() < 200'000) commands += "\r\nENQUEUE q evil\r\n";
  for (int i = 0; i < 3; ++i) {
    c.Send({"PING"});
    c.Send({"ENQUEUE", "q", commands, "DELAY", "1s"});
    c.Send({"ECHO", "in step"});
    EXPECT_EQ(c.Read().text, "PONG");
    EXPECT_EQ(c.Read().text, "TOOBIG an argument of " + std::to_string(commands.size()) +
                                 " bytes exceeds the limit of 100000");
    EXPECT_EQ(c.Read().text, "in step");
  }
  EXPECT_EQ(c.Call({"ENQUEUE", "q2", std::string(100'000, 'x')}).type, '$');
  EXPECT_EQ(c.Call({"ENQUEUE", "q2", std::string(100'001, 'x')}).text.substr(0, 6), "TOOBIG");
  EXPECT_EQ(c.Call({"QUEUE", "INFO", "q"}).text.substr(0, 8), "NOTFOUND") << "a body was obeyed";
}

TEST_P(ServerHostile, NumbersAtTheEdgesMakeNoJob) {
  OPEN_OR_SKIP();
  Client c(port());
  for (const char* d : {"9223372036854775807s", "18446744073709551616ms", "-1s", "4294967296d"}) {
    EXPECT_EQ(c.Call({"ENQUEUE", "q", "x", "DELAY", d}).text.substr(0, 6), "RANGE ") << d;
    EXPECT_EQ(c.Call({"ENQUEUE", "q", "x", "LEASE", d}).text.substr(0, 6), "RANGE ") << d;
    EXPECT_EQ(c.Call({"LEASE", "q", "BLOCK", d}).text.substr(0, 6), "RANGE ") << d;
  }
  for (const char* d : {"2147483648", "+5s", "5.5s", "1e9s", "0x10s", ""}) {
    EXPECT_EQ(c.Call({"ENQUEUE", "q", "x", "DELAY", d}).text.substr(0, 4), "ERR ") << d;
  }
  EXPECT_EQ(c.Call({"ENQUEUE", "q", "x", "PRIORITY", "4294967296"}).text.substr(0, 6), "RANGE ");
  EXPECT_EQ(c.Call({"ENQUEUE", "q", "x", "AT", "1000000000000000000"}).text.substr(0, 6), "RANGE ");
  EXPECT_EQ(c.Call({"LEASE", "q", "COUNT", "0"}).text.substr(0, 6), "RANGE ");
  EXPECT_EQ(c.Call({"LEASE", "q", "COUNT", "1001"}).text.substr(0, 6), "RANGE ");
  EXPECT_EQ(c.Call({"LEASE", "q", "COUNT", "9223372036854775808"}).text.substr(0, 6), "RANGE ");
  EXPECT_EQ(c.Call({"ENQUEUE", std::string(201, 'q'), "x"}).text.substr(0, 6), "RANGE ");
  EXPECT_EQ(c.Call({"ENQUEUE", "a b", "x"}).text.substr(0, 4), "ERR ");
  EXPECT_EQ(c.Call({"CANCEL", "9007199254740992"}).text.substr(0, 6), "RANGE ");
  EXPECT_EQ(c.Call({"COMPLETE", "1.2"}).text.substr(0, 4), "ERR ");
  EXPECT_EQ(c.Call({"QUEUE", "INFO", "q"}).text.substr(0, 8), "NOTFOUND");
  EXPECT_EQ(c.Text({"LEASE", "q"}), "(null)");
  // Kept exactly, and not early.
  const Value id = c.Call({"ENQUEUE", "far", "x", "DELAY", "31536000s"});
  const int64_t vests_in = c.Call({"JOB", id.text}).at("vests-in").number;
  EXPECT_LE(vests_in, 31'536'000'000);
  EXPECT_GT(vests_in, 31'535'900'000);
  EXPECT_EQ(c.Text({"LEASE", "far"}), "(null)");
}

TEST_P(ServerHostile, NamesOf200BytesWork) {
  OPEN_OR_SKIP();
  Client c(port());
  const std::string one = std::string(199, 'n') + "1", two = std::string(199, 'n') + "2";
  const Value a = c.Call({"ENQUEUE", one, "first"});
  const Value b = c.Call({"ENQUEUE", two, "second"});
  ASSERT_EQ(a.type, '$');
  ASSERT_EQ(b.type, '$');
  const Value leased = c.Call({"LEASE", two, one, "COUNT", "2"});
  ASSERT_EQ(leased.items.size(), 2u);
  EXPECT_EQ(leased.items[0].at("queue").text, two);
  EXPECT_EQ(leased.items[1].at("queue").text, one);
  const Value page = c.Call({"QUEUES", "n*1"});
  ASSERT_EQ(page.items.size(), 2u) << page.ToString();
  ASSERT_EQ(page.items[1].items.size(), 1u);
  EXPECT_EQ(page.items[1].items[0].text, one);
}

TEST_P(ServerHostile, SilentAndSlowClientsAreClosed) {
  SessionLimits limits;
  limits.first_byte = Milliseconds(200);
  limits.half_command = Milliseconds(200);
  OPEN_OR_SKIP(limits);
  Client good(port());
  EXPECT_EQ(good.Text({"PING"}), "PONG");
  Client silent(port());
  Client half(port());
  half.SendRaw("*2\r\n$4\r\nECHO\r\n$10\r\nhal");
  EXPECT_TRUE(silent.Ended());
  EXPECT_EQ(half.Read().text, "ERR Protocol error: timed out inside a command");
  EXPECT_TRUE(half.Ended());
  EXPECT_EQ(good.Text({"PING"}), "PONG") << "an idle client that has said something stays";
}

// CVE-2025-21605's kind: replies to a client that does not read.
TEST_P(ServerHostile, AClientThatNeverReadsCostsLittle) {
  OPEN_OR_SKIP();
  ExpectServing();
  Client producer(port());
  const std::string payload(64 << 10, 'p');
  const Value id = producer.Call({"ENQUEUE", "big", payload});
  [[maybe_unused]] const size_t before = ResidentBytes();
  std::vector<std::unique_ptr<Client>> readers;
  const std::string ask = Encode({"JOB", id.text, "PAYLOAD"});
  std::string batch;
  for (int i = 0; i < 200; ++i) batch += ask;
  for (int i = 0; i < 20; ++i) {
    readers.push_back(std::make_unique<Client>(port()));
    timeval patience{0, 20'000};  // a send that finds no room gives up
    setsockopt(readers.back()->fd(), SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    for (int b = 0; b < 5; ++b) readers.back()->SendRaw(batch);  // 20 x 1,000 x 64 KiB of replies
  }
  for (int i = 0; i < 20; ++i) ExpectServing();
#if !defined(__SANITIZE_ADDRESS__) && \
    !defined(__SANITIZE_THREAD__)  // which keep memory of their own
  RecordProperty("grown_mib", static_cast<int>((ResidentBytes() - before) >> 20));
  EXPECT_LT(ResidentBytes(), before + (size_t{96} << 20));
#endif
  // One that reads at last gets all of its answers.
  for (int i = 0; i < 1000; ++i) {
    const Value job = readers[0]->Read();
    ASSERT_EQ(job.at("payload").text.size(), payload.size()) << i;
  }
}

TEST_P(ServerHostile, AClaimedLengthTakesNoMemory) {
  SessionLimits limits;
  OPEN_OR_SKIP(limits);
  const size_t before = ResidentBytes();
  std::vector<std::unique_ptr<Client>> clients;
  for (int i = 0; i < 200; ++i) {
    clients.push_back(std::make_unique<Client>(port()));
    clients.back()->SendRaw("*1048576\r\n$7\r\nENQUEUE\r\n$1\r\nq\r\n$1048576\r\nabc");
  }
  ExpectServing();
  EXPECT_LT(ResidentBytes(), before + (size_t{64} << 20));
}

TEST_P(ServerHostile, TheGreatestUnfinishedInputPaysForAll) {
  SessionLimits limits;
  limits.input_total = 1 << 20;
  OPEN_OR_SKIP(limits);
  Client small(port());
  small.SendRaw("*2\r\n$4\r\nECHO\r\n$5\r\nhe");
  std::vector<std::unique_ptr<Client>> hogs;
  // The server fits its limit to a whole payload twice over: a few megabytes of unfinished commands pass it.
  for (int i = 0; i < 40; ++i) {
    hogs.push_back(std::make_unique<Client>(port()));
    hogs.back()->SendRaw("*3\r\n$7\r\nENQUEUE\r\n$1\r\nq\r\n$1000000\r\n" +
                         std::string(900'000, 'x'));
  }
  Client watcher(port());
  while (watcher.Call({"INFO", "stats"}).text.find("closed_for_a_limit:0") != std::string::npos) {
  }
  small.SendRaw("llo\r\n");
  EXPECT_EQ(small.Read().text, "hello");
  ExpectServing();
}

TEST_P(ServerHostile, TwoThousandConnections) {
  rlimit files{};
  getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  setrlimit(RLIMIT_NOFILE, &files);
  if (files.rlim_max < 5000) GTEST_SKIP() << "too few descriptors";
  OPEN_OR_SKIP();
  std::vector<std::unique_ptr<Client>> clients;
  for (int i = 0; i < 2000; ++i) clients.push_back(std::make_unique<Client>(port()));
  for (int round = 0; round < 3; ++round) {
    for (auto& c : clients) c->Send({"PING"});
    for (auto& c : clients) ASSERT_EQ(c->Read().text, "PONG");
  }
  for (size_t i = 0; i < clients.size(); i += 2) clients[i]->Reset();
  for (size_t i = 1; i < clients.size(); i += 2) ASSERT_EQ(clients[i]->Text({"PING"}), "PONG");
  ExpectServing();
}

TEST_P(ServerHostile, OneConnectionTooMany) {
  OPEN_OR_SKIP({}, 3);
  std::vector<std::unique_ptr<Client>> clients;
  for (int i = 0; i < 3; ++i) {
    clients.push_back(std::make_unique<Client>(port()));
    ASSERT_EQ(clients.back()->Text({"PING"}), "PONG");
  }
  Client extra(port());
  EXPECT_EQ(extra.Read().text, "ERR max number of clients reached");
  EXPECT_TRUE(extra.Ended());
  clients.pop_back();
  for (;;) {  // its place is free a moment later
    Client next(port());
    const Value pong = next.Call({"PING"});
    if (pong.text == "PONG") break;
    ASSERT_TRUE(pong.type == 0 || pong.text == "ERR max number of clients reached")
        << pong.ToString();
  }
}

// The store opens a file for each new log: clients that took the last descriptor would end the daemon.
TEST_P(ServerHostile, ConnectionsLeaveTheStoreItsDescriptors) {
  rlimit before{};
  getrlimit(RLIMIT_NOFILE, &before);
  if (before.rlim_max < 256) GTEST_SKIP() << "too few descriptors";
  rlimit tight = before;
  tight.rlim_cur = 256;
  setrlimit(RLIMIT_NOFILE, &tight);
  const bool opened = Open();
  setrlimit(RLIMIT_NOFILE, &before);
  if (!opened) GTEST_SKIP() << "io_uring does not work here";
  Client first(port());
  EXPECT_NE(first.Call({"INFO", "clients"}).text.find("maxclients:128\r"), std::string::npos);
  std::vector<std::unique_ptr<Client>> clients;
  for (int i = 1; i < 128; ++i) {
    clients.push_back(std::make_unique<Client>(port()));
    ASSERT_EQ(clients.back()->Text({"PING"}), "PONG");
  }
  Client extra(port());
  EXPECT_EQ(extra.Read().text, "ERR max number of clients reached");
  EXPECT_EQ(first.Call({"ENQUEUE", "q", "x"}).type, '$');
}

TEST_P(ServerHostile, DescriptorsThatRunOutAreSurvived) {
  OPEN_OR_SKIP();
  Client first(port());
  ASSERT_EQ(first.Text({"PING"}), "PONG");
  rlimit before{};
  getrlimit(RLIMIT_NOFILE, &before);
  // Our ends are made before the last descriptor goes, so that only the server's are wanting.
  std::vector<int> sockets;
  for (int i = 0; i < 4; ++i) sockets.push_back(Client::NewSocket());
  const int top = dup(0);
  close(top);
  rlimit tight = before;
  tight.rlim_cur = static_cast<rlim_t>(top);
  setrlimit(RLIMIT_NOFILE, &tight);
  std::vector<std::unique_ptr<Client>> clients;
  bool turned_away = false;
  for (int fd : sockets) {
    // An accept that was armed before may still succeed; those after it cannot.
    clients.push_back(std::make_unique<Client>(port(), fd));
    const Value reply = clients.back()->Call({"PING"});
    turned_away |= reply.type == 0 || reply.text == "ERR max number of clients reached";
    EXPECT_EQ(first.Text({"PING"}), "PONG");
  }
  setrlimit(RLIMIT_NOFILE, &before);
  EXPECT_TRUE(turned_away);
  EXPECT_EQ(first.Text({"PING"}), "PONG");
  clients.clear();
  ExpectServing();
}

VESTQ_SERVER_TESTS(ServerHostile);

}  // namespace
}  // namespace vestq::nettest
