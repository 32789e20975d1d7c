// Socket addresses as text: "127.0.0.1:7733", "[::1]:7733", "localhost:0". Blocking only where a
// host name is resolved.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "engine/base/result.h"

namespace vestq {

struct BoundSocket {
  int fd = -1;  // the caller's
  std::string address;
  uint16_t port = 0;
  bool loopback = false;
};

// Binds and listens. kSyntax: not of the form (the text says what was expected); kIo: the host does
// not resolve, the address is not here, is in use, or may not be bound.
Result<BoundSocket> ListenOn(std::string_view address);

// "ip:port"; "?" when the socket is gone.
std::string PeerAddress(int fd);
std::string LocalAddress(int fd);

}  // namespace vestq
