// Whether io_uring works here, found out by using it: a kernel may have it and a container refuse it.
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "net/uring_poller.h"

namespace vestq {
namespace {

// Counts what a trial receive brings.
struct TrialHandler final : PollHandler {
  size_t received = 0;
  bool closed = false;
  void OnAccept(int) override {}
  void OnAcceptError(int) override {}
  void OnData(PollConn*, std::string_view bytes) override { received += bytes.size(); }
  void OnEnd(PollConn*, int) override {}
  void OnSent(PollConn*, size_t, int) override {}
  void OnClosed(PollConn*) override { closed = true; }
};

}  // namespace

Error TryUring() {
  TrialHandler handler;
  PollerOptions options;
  options.ring_entries = 8;
  options.completion_entries = 16;
  options.buffers = 4;
  options.buffer_bytes = 4096;
  Result<std::unique_ptr<Poller>> made = MakeUringPoller(options, &handler);
  if (!made.ok()) return made.error();
  int pair[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) {
    return Error(ErrorCode::kIo, std::string("socketpair: ") + std::strerror(errno));
  }
  PollConn conn;
  conn.fd = pair[0];
  (*made)->Add(&conn);
  (void)!write(pair[1], "x", 1);
  for (int turn = 0; turn < 10 && handler.received == 0 && !conn.ended; ++turn) {
    (*made)->Wait(200);
    (*made)->Dispatch();
  }
  (*made)->Close(&conn);
  for (int turn = 0; turn < 10 && !handler.closed; ++turn) {
    (*made)->Wait(200);
    (*made)->Dispatch();
  }
  close(pair[1]);
  if (handler.received == 1) return Error::Ok();
  return Error(ErrorCode::kUnsupported,
               "io_uring: a multishot receive does not work here (Linux 6.0 or later is needed)");
}

}  // namespace vestq
