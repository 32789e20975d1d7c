// Jobs over the wire: the whole life of one, order, waiting, and what becomes of leases when a client goes.
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <chrono>
#include <string>

#include "tests/net/test_server.h"

namespace vestq::nettest {
namespace {

class ServerJobs : public ServerTest {};

TEST_P(ServerJobs, LifeOfAJob) {
  OPEN_OR_SKIP();
  Client c(port());
  const Value id = c.Call({"ENQUEUE", "mail", "hello", "PRIORITY", "7", "attempts", "3"});
  ASSERT_EQ(id.type, '$') << id.ToString();
  EXPECT_EQ(c.Call({"JOB", id.text}).at("state").text, "ready");
  EXPECT_EQ(c.Text({"LEASE", "other"}), "(null)");
  Value leased = c.Call({"LEASE", "mail", "FOR", "10s", "WORKER", "w1"});
  ASSERT_EQ(leased.items.size(), 1u) << leased.ToString();
  const Value& job = leased.items[0];
  EXPECT_EQ(job.at("id").text, id.text);
  EXPECT_EQ(job.at("queue").text, "mail");
  EXPECT_EQ(job.at("space").text, "");
  EXPECT_EQ(job.at("payload").text, "hello");
  EXPECT_EQ(job.at("attempt").number, 1);
  EXPECT_EQ(job.at("attempts").number, 3);
  EXPECT_EQ(job.at("priority").number, 7);
  EXPECT_LE(job.at("lease-left").number, 10'000);
  EXPECT_GT(job.at("lease-left").number, 5'000);
  const std::string receipt = job.at("receipt").text;
  const Value described = c.Call({"JOB", id.text, "PAYLOAD"});
  EXPECT_EQ(described.at("state").text, "leased");
  EXPECT_EQ(described.at("worker").text, "w1");
  EXPECT_EQ(described.at("payload").text, "hello");
  EXPECT_EQ(described.at("size").number, 5);
  const Value left = c.Call({"RENEW", receipt, "FOR", "60s"});
  EXPECT_GT(left.number, 50'000) << left.ToString();
  const Value failed = c.Call({"FAIL", receipt, "REASON", "no route", "DELAY", "0"});
  ASSERT_EQ(failed.items.size(), 2u) << failed.ToString();
  EXPECT_EQ(failed.items[0].text, "retry");
  EXPECT_EQ(failed.items[1].number, 0);
  EXPECT_EQ(c.Call({"COMPLETE", receipt}).text.substr(0, 9), "LEASELOST");
  leased = c.Call({"LEASE", "mail", "BLOCK", "5s"});
  ASSERT_EQ(leased.items.size(), 1u) << leased.ToString();
  EXPECT_EQ(leased.items[0].at("attempt").number, 2);
  EXPECT_EQ(c.Text({"RELEASE", leased.items[0].at("receipt").text}), "OK");
  leased = c.Call({"LEASE", "mail", "BLOCK", "5s"});
  ASSERT_EQ(leased.items.size(), 1u) << leased.ToString();
  EXPECT_EQ(leased.items[0].at("attempt").number, 2) << "RELEASE gives the attempt back";
  EXPECT_EQ(c.Text({"COMPLETE", leased.items[0].at("receipt").text}), "OK");
  EXPECT_EQ(c.Text({"JOB", id.text}), "(null)");
  EXPECT_EQ(c.Text({"CANCEL", id.text}), ":0");
  const Value second = c.Call({"ENQUEUE", "mail", "later", "DELAY", "1h"});
  EXPECT_EQ(c.Call({"JOB", second.text}).at("state").text, "scheduled");
  EXPECT_GT(c.Call({"JOB", second.text}).at("vests-in").number, 3'500'000);
  EXPECT_EQ(c.Text({"CANCEL", second.text}), ":1");
  const Value dead = c.Call({"ENQUEUE", "mail", "poison"});
  leased = c.Call({"LEASE", "mail"});
  ASSERT_EQ(leased.items.size(), 1u);
  EXPECT_EQ(c.Text({"FAIL", leased.items[0].at("receipt").text, "DEAD", "REASON", "bad"}),
            "[dead, :0]");
  EXPECT_EQ(c.Call({"JOB", dead.text}).at("state").text, "dead");
  EXPECT_EQ(c.Call({"JOB", dead.text}).at("last-error").text, "bad");
}

TEST_P(ServerJobs, Resp3HasMapsAndNulls) {
  OPEN_OR_SKIP();
  Client c(port());
  const Value hello = c.Call({"HELLO", "3", "SETNAME", "me"});
  EXPECT_EQ(hello.type, '%');
  EXPECT_EQ(hello.at("proto").number, 3);
  EXPECT_EQ(c.Text({"CLIENT", "GETNAME"}), "me");
  c.Call({"ENQUEUE", "q", "x"});
  const Value leased = c.Call({"LEASE", "q"});
  ASSERT_EQ(leased.items.size(), 1u);
  EXPECT_EQ(leased.items[0].type, '%');
  EXPECT_EQ(c.Text({"LEASE", "q"}), "(null)");
  EXPECT_EQ(c.Call({"INFO"}).type, '=');
  EXPECT_EQ(c.Call({"HELLO", "2"}).type, '*');
  EXPECT_EQ(c.Call({"INFO"}).type, '$');
  EXPECT_EQ(c.Call({"HELLO", "4"}).text.substr(0, 7), "NOPROTO");
}

TEST_P(ServerJobs, BinaryPayloadsComeBackByteForByte) {
  OPEN_OR_SKIP();
  Client c(port());
  std::string all;
  for (int i = 0; i < 256; ++i) all.push_back(static_cast<char>(i));
  for (const std::string& payload :
       {std::string(), all, std::string("a\r\nb\r\n"), std::string("*1\r\n$4\r\nPING\r\n"),
        std::string(1 << 20, 'm')}) {
    ASSERT_EQ(c.Call({"ENQUEUE", "q", payload}).type, '$');
    const Value leased = c.Call({"LEASE", "q"});
    ASSERT_EQ(leased.items.size(), 1u);
    EXPECT_TRUE(leased.items[0].at("payload").text == payload) << payload.size() << " bytes";
    EXPECT_EQ(c.Text({"COMPLETE", leased.items[0].at("receipt").text}), "OK");
  }
}

TEST_P(ServerJobs, RepliesKeepTheOrderOfPipelinedCommands) {
  OPEN_OR_SKIP();
  Client c(port());
  constexpr int kRounds = 500;
  std::string stream;
  for (int i = 0; i < kRounds; ++i) {
    const std::string payload = "p" + std::to_string(i);
    stream += Encode({"ENQUEUE", "q", payload});
    if (i % 7 == 0) stream += Encode({"ECHO", payload});
    if (i % 11 == 0) stream += Encode({"ENQUEUE", "q", "x", "DELAY", "5"});
    if (i % 13 == 0) stream += Encode({"NONSENSE", payload});
    stream += Encode({"LEASE", "q"});
  }
  c.SendRaw(stream);
  std::vector<std::string> receipts;
  for (int i = 0; i < kRounds; ++i) {
    const std::string payload = "p" + std::to_string(i);
    const Value id = c.Read();
    ASSERT_EQ(id.type, '$') << id.ToString();
    if (i % 7 == 0) {
      ASSERT_EQ(c.Read().text, payload);
    }
    if (i % 11 == 0) {
      ASSERT_EQ(c.Read().text.substr(0, 13), "ERR DELAY '5'");
    }
    if (i % 13 == 0) {
      ASSERT_NE(c.Read().text.find(payload), std::string::npos);
    }
    const Value leased = c.Read();
    ASSERT_EQ(leased.items.size(), 1u) << i;
    ASSERT_EQ(leased.items[0].at("id").text, id.text);
    ASSERT_EQ(leased.items[0].at("payload").text, payload);
    receipts.push_back(leased.items[0].at("receipt").text);
  }
  std::vector<std::string_view> args = {"COMPLETEMANY"};
  for (const std::string& receipt : receipts) args.push_back(receipt);
  args.push_back(receipts[0]);
  const Value completed = c.Call(args);
  ASSERT_EQ(completed.items.size(), receipts.size() + 1);
  for (size_t i = 0; i < receipts.size(); ++i) ASSERT_EQ(completed.items[i].number, 1) << i;
  EXPECT_EQ(completed.items.back().number, 0);
}

TEST_P(ServerJobs, CompleteManyOfMoreThanASlice) {
  OPEN_OR_SKIP();
  Client c(port());
  constexpr size_t kJobs = 3500;
  std::string stream;
  for (size_t i = 0; i < kJobs; ++i) stream += Encode({"ENQUEUE", "q", "x"});
  c.SendRaw(stream);
  for (size_t i = 0; i < kJobs; ++i) ASSERT_EQ(c.Read().type, '$');
  std::vector<std::string> receipts;
  while (receipts.size() < kJobs) {
    const Value leased = c.Call({"LEASE", "q", "COUNT", "1000"});
    ASSERT_FALSE(leased.items.empty()) << receipts.size();
    for (const Value& job : leased.items) receipts.push_back(job.at("receipt").text);
  }
  std::vector<std::string_view> args = {"COMPLETEMANY"};
  for (const std::string& receipt : receipts) args.push_back(receipt);
  c.Send(args);
  c.Send({"PING"});
  const Value completed = c.Read();
  ASSERT_EQ(completed.items.size(), kJobs);
  for (const Value& one : completed.items) ASSERT_EQ(one.number, 1);
  EXPECT_EQ(c.Read().text, "PONG");
  EXPECT_EQ(c.Call({"COMPLETEMANY", receipts[0], "rubbish"}).text.substr(0, 3), "ERR");
}

TEST_P(ServerJobs, AWaitingLeaseIsWokenByAnEnqueue) {
  OPEN_OR_SKIP();
  Client worker(port());
  Client producer(port());
  for (int i = 0; i < 50; ++i) {
    worker.Send({"LEASE", "q", "BLOCK", "0"});
    const Value id = producer.Call({"ENQUEUE", "q", "x"});
    const Value leased = worker.Read();
    ASSERT_EQ(leased.items.size(), 1u) << i;
    EXPECT_EQ(leased.items[0].at("id").text, id.text);
  }
  EXPECT_EQ(worker.Text({"LEASE", "q", "BLOCK", "20ms"}), "(null)");
}

TEST_P(ServerJobs, AWaitingLeaseHoldsWhatIsBehindIt) {
  OPEN_OR_SKIP();
  Client worker(port());
  Client producer(port());
  worker.Send({"LEASE", "q", "BLOCK", "0"});
  worker.Send({"PING"});
  worker.Send({"ENQUEUE", "other", "y"});
  EXPECT_EQ(producer.Text({"PING"}), "PONG");
  EXPECT_EQ(producer.Text({"LEASE", "other"}), "(null)");
  EXPECT_FALSE(worker.Readable());
  producer.Call({"ENQUEUE", "q", "x"});
  EXPECT_EQ(worker.Read().items.size(), 1u);
  EXPECT_EQ(worker.Read().text, "PONG");
  EXPECT_EQ(worker.Read().type, '$');
}

TEST_P(ServerJobs, AClientThatGoesWhileItWaitsGetsNoJob) {
  OPEN_OR_SKIP();
  Client producer(port());
  for (int i = 0; i < 6; ++i) {
    Client worker(port());
    worker.Send({"LEASE", "q", "BLOCK", "0"});
    worker.Send({"LEASE", "q"});  // behind it: never carried out
    Client watcher(port());
    while (watcher.Call({"INFO", "clients"}).text.find("blocked_clients:1") == std::string::npos) {
    }
    if (i % 3 == 0) worker.Close();
    if (i % 3 == 1) worker.Reset();
    if (i % 3 == 2) worker.CloseWrite();
    while (watcher.Call({"INFO", "clients"}).text.find("blocked_clients:0") == std::string::npos) {
    }
    producer.Call({"ENQUEUE", "q", "x"});
    const Value leased = producer.Call({"LEASE", "q", "BLOCK", "5s"});
    ASSERT_EQ(leased.items.size(), 1u) << i;
    EXPECT_EQ(leased.items[0].at("attempt").number, 1);
    EXPECT_EQ(producer.Text({"COMPLETE", leased.items[0].at("receipt").text}), "OK");
  }
}

TEST_P(ServerJobs, AHalfClosedClientGetsItsAnswers) {
  OPEN_OR_SKIP();
  Client c(port());
  c.SendRaw(Encode({"ENQUEUE", "q", "a"}) + Encode({"LEASE", "q"}) + Encode({"PING"}));
  c.CloseWrite();
  EXPECT_EQ(c.Read().type, '$');
  EXPECT_EQ(c.Read().items.size(), 1u);
  EXPECT_EQ(c.Read().text, "PONG");
  EXPECT_TRUE(c.Ended());
}

// SESSION-3: what the client's kernel never took is leased to nobody.
TEST_P(ServerJobs, LeasesThatWereNotHandedOverAreGivenBack) {
  OPEN_OR_SKIP();
  Client producer(port());
  constexpr int kJobs = 60;
  const std::string payload(256 << 10, 'p');
  for (int i = 0; i < kJobs; ++i) ASSERT_EQ(producer.Call({"ENQUEUE", "q", payload}).type, '$');
  {
    Client worker(port());
    const int small = 4096;
    setsockopt(worker.fd(), SOL_SOCKET, SO_RCVBUF, &small, sizeof small);
    for (int i = 0; i < kJobs; ++i) worker.Send({"LEASE", "q", "FOR", "1h"});
    // It never reads: some replies fit the sockets' buffers, the server stops at its limit with others unsent.
    Client watcher(port());
    const auto leased = [&] { return watcher.Call({"QUEUE", "INFO", "q"}).at("leased").number; };
    int64_t before = -1;
    for (int64_t now = leased(); now != before || now == 0; now = leased()) {
      before = now;
      watcher.Call({"LEASE", "nothing", "BLOCK", "100ms"});
    }
    EXPECT_LT(before, kJobs) << "a client that does not read must not get everything";
    worker.Reset();
  }
  // Those whose reply was not wholly taken come back at once, with their attempt; the others with their leases' end.
  Client watcher(port());
  int64_t undone = 0;
  while (undone == 0) {
    const std::string info = watcher.Call({"INFO", "stats"}).text;
    undone = std::stoll(info.substr(info.find("leases_undone:") + 14));
  }
  const Value again = producer.Call({"LEASE", "q", "COUNT", "1000", "BLOCK", "5s"});
  ASSERT_FALSE(again.items.empty());
  for (const Value& job : again.items) EXPECT_EQ(job.at("attempt").number, 1);
}

TEST_P(ServerJobs, UnblockEndsAWait) {
  OPEN_OR_SKIP();
  Client worker(port());
  Client other(port());
  const Value id = worker.Call({"CLIENT", "ID"});
  const std::string text = std::to_string(id.number);
  EXPECT_EQ(other.Text({"CLIENT", "UNBLOCK", text}), ":0");
  for (const char* how : {"TIMEOUT", "ERROR"}) {
    worker.Send({"LEASE", "q", "BLOCK", "0"});
    while (other.Call({"CLIENT", "UNBLOCK", text, how}).number == 0) {
    }
    const Value reply = worker.Read();
    if (std::string_view(how) == "ERROR") {
      EXPECT_EQ(reply.text, "UNBLOCKED client unblocked via CLIENT UNBLOCK");
    } else {
      EXPECT_TRUE(reply.null()) << reply.ToString();
    }
    EXPECT_EQ(worker.Text({"PING"}), "PONG");
  }
}

TEST_P(ServerJobs, StopAnswersThoseWhoWait) {
  OPEN_OR_SKIP();
  std::vector<std::unique_ptr<Client>> waiting;
  for (int i = 0; i < 20; ++i) {
    waiting.push_back(std::make_unique<Client>(port()));
    waiting.back()->Send({"LEASE", "q", "BLOCK", "0"});
  }
  Client watcher(port());
  while (watcher.Call({"INFO", "clients"}).text.find("blocked_clients:20") == std::string::npos) {
  }
  const auto begin = std::chrono::steady_clock::now();
  CloseServer();
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(10));
  for (auto& client : waiting) {
    EXPECT_TRUE(client->Read().null());
    EXPECT_TRUE(client->Ended());
  }
}

VESTQ_SERVER_TESTS(ServerJobs);

}  // namespace
}  // namespace vestq::nettest
