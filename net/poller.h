// How a reactor waits for the network: sockets, an accepting socket, and a wake-up from other
// threads. Two backends with the same meaning, io_uring (net/uring_poller.h) and epoll
// (net/epoll_poller.h).
//
// A turn is Wait, then Dispatch, which calls the handler for everything that happened. All
// functions are for the reactor's thread, but Wake. The poller owns the descriptors given to it.
//
// Invariants:
//  POLL-1  After Close, the handler hears of what was under way (OnSent with the bytes that the
//  kernel took) and then
//          OnClosed, once, from a Dispatch; only then may the connection's memory go.
//  POLL-2  A connection has at most one Send under way; its bytes stay in place until OnSent.
//  POLL-3  Nothing is read from a connection whose reading is off, but what was already on its way.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "engine/base/result.h"

namespace vestq {

// A connection as the poller sees it; the session derives from it.
struct PollConn {
  int fd = -1;

  // The poller's.
  uint32_t index = 0;
  uint32_t cancels = 0;     // cancellations under way
  bool reading = false;     // wanted
  bool receiving = false;   // a receive is under way
  bool sending = false;     // a send is under way
  bool send_waits = false;  // epoll: for room in the socket
  bool closing = false;
  bool released = false;       // io_uring: nothing is under way any more
  bool ended = false;          // OnEnd has been called
  std::string_view send_left;  // epoll: what Send was given
};

class PollHandler {
 public:
  virtual ~PollHandler() = default;
  virtual void OnAccept(int fd) = 0;
  // accept failed with this errno; the poller accepts no more until ResumeAccept.
  virtual void OnAcceptError(int error) = 0;
  // `bytes` are valid during the call.
  virtual void OnData(PollConn* conn, std::string_view bytes) = 0;
  // The peer has ended its side (error 0), or the connection has failed. Once.
  virtual void OnEnd(PollConn* conn, int error) = 0;
  // The kernel has taken `bytes` of the Send (perhaps not all), or it failed with `error`.
  virtual void OnSent(PollConn* conn, size_t bytes, int error) = 0;
  virtual void OnClosed(PollConn* conn) = 0;
};

struct PollerOptions {
  unsigned ring_entries = 1024;
  unsigned completion_entries = 8192;
  unsigned buffers = 256;  // a power of two; shared by all connections of the reactor
  size_t buffer_bytes = 16 << 10;
};

enum class IoKind : uint8_t { kAuto, kUring, kEpoll };

class Poller {
 public:
  virtual ~Poller() = default;
  Poller() = default;
  Poller(const Poller&) = delete;
  Poller& operator=(const Poller&) = delete;

  virtual std::string_view name() const = 0;

  // Accepts on a listening socket that stays the caller's.
  virtual void Listen(int fd) = 0;
  virtual void ResumeAccept() = 0;
  virtual void StopAccept() = 0;

  // Takes over conn->fd and starts to read.
  virtual void Add(PollConn* conn) = 0;
  virtual void SetReading(PollConn* conn, bool on) = 0;
  // REQUIRES: no Send under way, not closing, `bytes` not empty.
  virtual void Send(PollConn* conn, std::string_view bytes) = 0;
  virtual void Close(PollConn* conn) = 0;

  // Blocks until something happens, Wake, or `timeout_ms` (0: does not block; negative: for ever).
  virtual void Wait(int64_t timeout_ms) = 0;
  virtual void Dispatch() = 0;

  // Ends the Wait under way, or the next one. Any thread, signal-safe.
  virtual void Wake() = 0;
};

}  // namespace vestq
