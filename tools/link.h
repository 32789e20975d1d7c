// A connection for a poll loop that comes back by itself: RESP2 over hiredis, answers in the order
// of the commands, and a back-off between attempts (50 ms doubling to 2 s, reset by an answer).
// It is up once a PING has been answered, so that a port where something else listens, or nobody answers, never is.
// Owned by one thread; only OnEvents, Tick and Send do I/O, and none blocks, except that a host
// name is looked up when connecting.
//
// LINK-1: each command's handler is called exactly once, with the answer, or with nullptr when the
// connection went away before it came (its outcome is then unknown).
// LINK-2: a server that says nothing for `patience_ms`, and for as long as a command waits on purpose, counts as
// gone.
#pragma once

#include <hiredis/hiredis.h>
#include <poll.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tools/address.h"

namespace vestq {

class Link {
 public:
  // The reply lives until the handler returns.
  using Handler = std::function<void(const redisReply* reply)>;

  // `name` stands in log lines ("leasing"). `patience_ms` 0: it may be silent for ever.
  Link(Address address, std::string name, int64_t patience_ms)
      : address_(std::move(address)), name_(std::move(name)), patience_ms_(patience_ms) {}

  bool up() const { return state_ == State::kUp; }
  // Something is sent and not answered.
  bool waiting() const { return !sent_.empty(); }
  // Closed by Close or by the server after HalfClose; it will not come back.
  bool closed() const { return state_ == State::kClosed; }

  // `wait_ms` is how long the server may wait before it answers (BLOCK). REQUIRES: up().
  void Send(const std::vector<std::string_view>& command, Handler handler, int64_t wait_ms = 0);

  // Tells the server that no more commands come: it ends a waiting LEASE, answers what it has and
  // closes.
  void HalfClose();
  void Close();

  // For poll: an fd below 0 when there is none.
  pollfd Poll() const;
  void OnEvents(short events);
  // Connects when it is time, and gives up on a silent server. Returns how many ms until it wants to be called again; -1 for never.
  int64_t Tick(int64_t now_ms);

 private:
  enum class State : uint8_t { kDown, kConnecting, kGreeting, kUp, kClosing, kClosed };
  struct Sent {
    Handler handler;
    int64_t answer_by_ms;  // unless something comes
    int64_t wait_ms;
  };
  struct FreeContext {
    void operator()(redisContext* context) const { redisFree(context); }
  };
  void Connect(int64_t now_ms);
  void OnConnected();
  // The answer to the PING.
  void OnGreeted(const redisReply& reply);
  // Ms until the server has been silent for too long; -1 for never.
  int64_t SilentIn(int64_t now_ms) const;
  void Flush();
  void Read();
  void Down(const std::string& why);

  const Address address_;
  const std::string name_;
  const int64_t patience_ms_;

  State state_ = State::kDown;
  std::unique_ptr<redisContext, FreeContext> context_;
  std::deque<Sent> sent_;
  bool unsent_ = false;
  int64_t try_at_ms_ = 0;
  int64_t backoff_ms_ = 0;
  int64_t connect_by_ms_ = 0;  // and answer the PING
  int64_t heard_ms_ = 0;
  bool reported_down_ = false;  // one line an outage, not one an attempt
};

// CLOCK_BOOTTIME in ms: what leases go by, also across a suspend.
[[nodiscard]] int64_t NowMs();

}  // namespace vestq
