// The two pollers have the same meaning, also with hardly any buffers or queue entries.
#include "net/poller.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <deque>
#include <string>
#include <thread>
#include <vector>

#include "net/address.h"
#include "net/epoll_poller.h"
#include "net/uring_poller.h"

namespace vestq {
namespace {

struct Recorder final : PollHandler {
  struct Conn : PollConn {
    std::string received;
    size_t sent = 0;
    int send_error = 0;
    bool peer_ended = false;
    bool gone = false;
    int closings = 0;
    int sends_after_gone = 0;
    int peer = -1;
  };
  std::deque<Conn> conns;
  // Closes the connection from inside the handler, as a session does.
  Poller* close_on_data = nullptr;
  Poller* close_on_end = nullptr;
  Poller* close_on_sent = nullptr;
  std::vector<int> accepted;
  int accept_error = 0;

  static Conn* As(PollConn* conn) { return static_cast<Conn*>(conn); }
  void OnAccept(int fd) override { accepted.push_back(fd); }
  void OnAcceptError(int error) override { accept_error = error; }
  void OnData(PollConn* conn, std::string_view bytes) override {
    As(conn)->received.append(bytes);
    if (close_on_data != nullptr) close_on_data->Close(conn);
  }
  void OnEnd(PollConn* conn, int) override {
    As(conn)->peer_ended = true;
    if (close_on_end != nullptr) close_on_end->Close(conn);
  }
  void OnSent(PollConn* conn, size_t bytes, int error) override {
    As(conn)->sent += bytes;
    As(conn)->send_error = error;
    if (As(conn)->gone) ++As(conn)->sends_after_gone;
    if (close_on_sent != nullptr) close_on_sent->Close(conn);
  }
  void OnClosed(PollConn* conn) override {
    As(conn)->gone = true;
    ++As(conn)->closings;
  }
};

class PollerTest : public testing::TestWithParam<IoKind> {
 protected:
  void Open(const PollerOptions& options = {}) {
    auto made = GetParam() == IoKind::kUring ? MakeUringPoller(options, &handler_)
                                             : MakeEpollPoller(options, &handler_);
    if (!made.ok()) GTEST_SKIP() << made.error().text();
    poller_ = std::move(*made);
  }

  Recorder::Conn* Connect() {
    int pair[2];
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    Recorder::Conn& conn = handler_.conns.emplace_back();
    conn.fd = pair[0];
    conn.peer = pair[1];
    poller_->Add(&conn);
    return &conn;
  }

  template <typename F>
  bool Until(F&& condition) {
    for (int turn = 0; turn < 20'000 && !condition(); ++turn) {
      poller_->Wait(100);
      poller_->Dispatch();
    }
    return condition();
  }

  void TearDown() override {
    if (poller_ == nullptr) return;
    for (auto& conn : handler_.conns) poller_->Close(&conn);
    EXPECT_TRUE(Until([&] {
      for (auto& conn : handler_.conns) {
        if (!conn.gone) return false;
      }
      return true;
    }));
    for (auto& conn : handler_.conns) {
      EXPECT_EQ(conn.sends_after_gone, 0) << "POLL-1";
      EXPECT_EQ(conn.closings, 1) << "POLL-1";
      close(conn.peer);
    }
  }

  Recorder handler_;
  std::unique_ptr<Poller> poller_;
};

TEST_P(PollerTest, ReceivesAndSends) {
  Open();
  if (!poller_) return;
  Recorder::Conn* conn = Connect();
  ASSERT_EQ(write(conn->peer, "hello", 5), 5);
  ASSERT_TRUE(Until([&] { return conn->received == "hello"; }));
  poller_->Send(conn, "world");
  ASSERT_TRUE(Until([&] { return conn->sent == 5; }));
  char bytes[16];
  EXPECT_EQ(read(conn->peer, bytes, sizeof bytes), 5);
  close(conn->peer);
  conn->peer = -1;
  EXPECT_TRUE(Until([&] { return conn->peer_ended; }));
}

TEST_P(PollerTest, ManyConnectionsShareFewBuffers) {
  PollerOptions options;
  options.buffers = 2;
  options.buffer_bytes = 64;
  options.ring_entries = 4;
  options.completion_entries = 8;
  Open(options);
  if (!poller_) return;
  const std::string message(1000, 'm');
  std::vector<Recorder::Conn*> conns;
  for (int i = 0; i < 100; ++i) conns.push_back(Connect());
  for (int round = 0; round < 5; ++round) {
    for (auto* conn : conns) {
      ASSERT_EQ(write(conn->peer, message.data(), message.size()),
                static_cast<ssize_t>(message.size()));
    }
    ASSERT_TRUE(Until([&] {
      for (auto* conn : conns) {
        if (conn->received.size() < message.size() * static_cast<size_t>(round + 1)) return false;
      }
      return true;
    })) << "round "
        << round;
  }
}

TEST_P(PollerTest, ReadsNothingWhileReadingIsOff) {
  Open();
  if (!poller_) return;
  Recorder::Conn* conn = Connect();
  ASSERT_EQ(write(conn->peer, "a", 1), 1);
  ASSERT_TRUE(Until([&] { return conn->received == "a"; }));
  for (int i = 0; i < 50; ++i) {  // on and off in one turn, as a session does
    poller_->SetReading(conn, false);
    poller_->SetReading(conn, true);
  }
  poller_->SetReading(conn, false);
  Recorder::Conn* other = Connect();
  ASSERT_TRUE(Until([&] { return !conn->receiving || GetParam() == IoKind::kEpoll; }));
  ASSERT_EQ(write(conn->peer, "b", 1), 1);
  ASSERT_EQ(write(other->peer, "c", 1), 1);
  ASSERT_TRUE(Until([&] { return other->received == "c"; }));
  EXPECT_EQ(conn->received, "a") << "POLL-3";
  poller_->SetReading(conn, true);
  EXPECT_TRUE(Until([&] { return conn->received == "ab"; }));
}

TEST_P(PollerTest, ASendToAPeerThatDoesNotReadWaitsAndCanBeClosed) {
  Open();
  if (!poller_) return;
  Recorder::Conn* conn = Connect();
  const std::string big(16 << 20, 'x');
  size_t at = 0;
  // Hands over until the socket is full: then a send stays under way.
  for (int turn = 0; turn < 2000; ++turn) {
    if (!conn->sending) {
      at = conn->sent;
      ASSERT_LT(at, big.size());
      poller_->Send(conn, std::string_view(big).substr(at));
    }
    poller_->Wait(0);
    poller_->Dispatch();
  }
  EXPECT_TRUE(conn->sending);
  const size_t sent = conn->sent;
  poller_->Close(conn);
  ASSERT_TRUE(Until([&] { return conn->gone; }));
  // What the peer can still read is what we were told was sent.
  size_t readable = 0;
  std::vector<char> bytes(1 << 20);
  for (ssize_t n; (n = read(conn->peer, bytes.data(), bytes.size())) > 0;)
    readable += static_cast<size_t>(n);
  EXPECT_EQ(readable, conn->sent);
  EXPECT_GE(conn->sent, sent);
}

TEST_P(PollerTest, NothingIsHeardOfAClosedConnection) {
  Open();
  if (!poller_) return;
  for (int i = 0; i < 200; ++i) {
    Recorder::Conn* conn = Connect();
    ASSERT_EQ(write(conn->peer, "x", 1), 1);
    if (i % 2 == 0) {
      poller_->Wait(0);
      poller_->Dispatch();
    }
    poller_->Close(conn);
    const size_t received = conn->received.size();
    (void)!send(conn->peer, "y", 1, MSG_NOSIGNAL);
    ASSERT_TRUE(Until([&] { return conn->gone; }));
    EXPECT_EQ(conn->received.size(), received);
  }
}

TEST_P(PollerTest, ClosesOnceFromInsideTheHandler) {
  Open();
  if (!poller_) return;
  for (int i = 0; i < 60; ++i) {
    handler_.close_on_data = i % 3 == 0 ? poller_.get() : nullptr;
    handler_.close_on_end = i % 3 == 1 ? poller_.get() : nullptr;
    handler_.close_on_sent = i % 3 == 2 ? poller_.get() : nullptr;
    Recorder::Conn* conn = Connect();
    if (i % 3 == 0) {
      ASSERT_EQ(write(conn->peer, "x", 1), 1);
    } else if (i % 3 == 1) {
      shutdown(conn->peer, SHUT_WR);
    } else {
      poller_->Send(conn, "y");
    }
    ASSERT_TRUE(Until([&] { return conn->gone; })) << i;
    // Its place is free for others: both of them are served.
    handler_.close_on_data = handler_.close_on_end = handler_.close_on_sent = nullptr;
    Recorder::Conn* next = Connect();
    Recorder::Conn* other = Connect();
    ASSERT_EQ(write(next->peer, "n", 1), 1);
    ASSERT_EQ(write(other->peer, "o", 1), 1);
    ASSERT_TRUE(Until([&] { return next->received == "n" && other->received == "o"; })) << i;
  }
}

TEST_P(PollerTest, WakesFromAnotherThread) {
  Open();
  if (!poller_) return;
  for (int i = 0; i < 100; ++i) {
    std::thread waker([&] { poller_->Wake(); });
    poller_->Wait(60'000);  // ends long before, or the test's own limit fails it
    poller_->Dispatch();
    waker.join();
  }
}

TEST_P(PollerTest, AcceptsAndStops) {
  Open();
  if (!poller_) return;
  Result<BoundSocket> bound = ListenOn("127.0.0.1:0");
  ASSERT_TRUE(bound.ok()) << bound.error().text();
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  ASSERT_EQ(getsockname(bound->fd, reinterpret_cast<sockaddr*>(&address), &size), 0);
  poller_->Listen(bound->fd);
  std::vector<int> clients;
  for (int i = 0; i < 10; ++i) {
    clients.push_back(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    ASSERT_EQ(connect(clients.back(), reinterpret_cast<sockaddr*>(&address), size), 0);
  }
  EXPECT_TRUE(Until([&] { return handler_.accepted.size() == 10; }));
  poller_->StopAccept();
  for (int i = 0; i < 3; ++i) {
    poller_->Wait(0);
    poller_->Dispatch();
  }
  clients.push_back(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  ASSERT_EQ(connect(clients.back(), reinterpret_cast<sockaddr*>(&address), size), 0);
  for (int i = 0; i < 3; ++i) {
    poller_->Wait(5);
    poller_->Dispatch();
  }
  EXPECT_EQ(handler_.accepted.size(), 10u);
  for (int fd : clients) close(fd);
  for (int fd : handler_.accepted) close(fd);
  close(bound->fd);
}

std::string IoName(const testing::TestParamInfo<IoKind>& info) {
  return info.param == IoKind::kUring ? "uring" : "epoll";
}
INSTANTIATE_TEST_SUITE_P(Io, PollerTest, testing::Values(IoKind::kUring, IoKind::kEpoll), IoName);

TEST(Address, IsHostAndPort) {
  for (const char* bad :
       {"", "7733", "127.0.0.1", ":7733", "127.0.0.1:", "127.0.0.1:65536", "127.0.0.1:x",
        "127.0.0.1:-1", "::1:7733", "[::1", "[::1]", "[::1]7733"}) {
    const Result<BoundSocket> bound = ListenOn(bad);
    ASSERT_FALSE(bound.ok()) << bad;
    EXPECT_EQ(bound.error().code(), ErrorCode::kSyntax) << bad;
    EXPECT_NE(bound.error().text().find("HOST:PORT"), std::string::npos) << bad;
  }
  Result<BoundSocket> first = ListenOn("127.0.0.1:0");
  ASSERT_TRUE(first.ok());
  EXPECT_TRUE(first->loopback);
  EXPECT_GT(first->port, 0);
  const Result<BoundSocket> second = ListenOn(first->address);
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.error().code(), ErrorCode::kIo);
  EXPECT_NE(second.error().text().find("in use"), std::string::npos) << second.error().text();
  close(first->fd);
}

}  // namespace
}  // namespace vestq
