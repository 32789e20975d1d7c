// A server with a real engine in a temporary folder, and a client that speaks RESP over a raw socket.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "engine/engine.h"
#include "engine/engine_clock.h"
#include "net/server.h"

namespace vestq::nettest {

// A reply: its type byte, its text or number, its elements (of a map: keys and values in turn).
struct Value {
  char type = 0;  // '+', '-', ':', '$', '*', '%', '~', '=', '_'; 0: the connection has ended
  std::string text;
  int64_t number = 0;
  std::vector<Value> items;

  bool null() const { return type == '_'; }
  bool error() const { return type == '-'; }
  // "OK", "-ERR ...", ":5", "(null)", "[a, b]", "(end)".
  std::string ToString() const;
  // A field of a map or of a flat array; (end) when it has none.
  const Value& at(std::string_view key) const;
};

class Client {
 public:
  explicit Client(uint16_t port) : Client(port, NewSocket()) {}
  // Connects a socket made before.
  Client(uint16_t port, int fd);
  static int NewSocket();
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  void SendRaw(std::string_view bytes);
  void Send(const std::vector<std::string_view>& args);
  // The next reply; type 0 when the peer has closed. Fails the test after 20 s.
  Value Read();
  Value Call(const std::vector<std::string_view>& args);
  std::string Text(const std::vector<std::string_view>& args) { return Call(args).ToString(); }
  // True when the peer closes within 20 s, and nothing more comes before.
  bool Ended();
  // True when bytes can be read at once.
  bool Readable(int timeout_ms = 0);
  // No more is written: the peer sees our end.
  void CloseWrite();
  void Close();
  // Closes with a reset.
  void Reset();
  int fd() const { return fd_; }

 private:
  bool Fill();
  std::string Line();
  int fd_ = -1;
  std::string buffer_;
  size_t at_ = 0;
};

std::string Encode(const std::vector<std::string_view>& args);
// Bytes resident now.
size_t ResidentBytes();

// Parameters: poller, cores.
class ServerTest : public testing::TestWithParam<std::tuple<IoKind, int>> {
 protected:
  ServerTest();
  ~ServerTest() override;
  // Skips the test where the poller does not work.
  bool Open(const SessionLimits& limits = {}, size_t connections_max = 10'000);
  void CloseServer();
  uint16_t port() const { return server_->port(); }

  std::string folder_;
  ClockSource* clock_ = nullptr;  // of the next Open; null: the machine's
  Durability durability_ = Durability::kSync;
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<Server> server_;
  std::atomic<int> shutdowns_{0};
};

std::string ServerTestName(const testing::TestParamInfo<std::tuple<IoKind, int>>& info);

// Begins a test of a ServerTest: the server runs, or the test is skipped where it cannot.
#define OPEN_OR_SKIP(...) \
  if (!Open(__VA_ARGS__)) GTEST_SKIP() << "io_uring does not work here"

#define VESTQ_SERVER_TESTS(fixture)                                                             \
  INSTANTIATE_TEST_SUITE_P(                                                                     \
      Io, fixture,                                                                              \
      testing::Combine(testing::Values(IoKind::kUring, IoKind::kEpoll), testing::Values(1, 2)), \
      ServerTestName)

}  // namespace vestq::nettest
