// How the network side of a daemon is set up, and its limits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "engine/base/limits.h"
#include "engine/base/result.h"
#include "engine/base/time.h"
#include "net/poller.h"

namespace vestq {

// Limits of a connection and of all of them. Settable so that tests can reach them.
struct SessionLimits {
  size_t payload_max = limits::kPayloadDefaultMax;
  size_t pipeline = 1000;                // unanswered commands, then parsing stops
  size_t output_soft = size_t{1} << 20;  // unsent replies, then parsing stops
  size_t output_hard =
      limits::kLeaseReplyBytes;  // before one more reply, then the connection closes
  size_t read_ahead =
      size_t{64} << 10;  // unparsed bytes while parsing has stopped, then reading stops
  size_t input_total = size_t{32} << 20;   // a reactor's; then its greatest input is closed
  size_t output_total = size_t{32} << 20;  // a reactor's; then parsing stops wherever replies wait
  Duration first_byte = Seconds(30);       // a connection that says nothing
  Duration half_command = Seconds(30);     // plus a second for each 16 KiB that arrived
  Duration stalled_reader = Seconds(60);   // unsent replies, and not a byte taken
};

struct ServerOptions {
  std::string resp = "127.0.0.1:7733";
  IoKind io = IoKind::kAuto;
  size_t connections_max = 10'000;
  SessionLimits limits;  // payload_max is lowered to what the engine's memory allows
  PollerOptions poller;
  std::string version = "0.1.0";
  // A line for the log (a warning). From any thread.
  std::function<void(std::string_view)> log;
  // A client sent SHUTDOWN: the program should stop the server. From a reactor's thread: must not
  // block or call Stop.
  std::function<void()> on_shutdown;
  // The engine has failed: the program should stop and exit non-zero. Once, from any thread; must
  // not call Stop.
  std::function<void(const Error&)> on_failure;
};

}  // namespace vestq
