#include "net/address.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>

namespace vestq {
namespace {

constexpr int kBacklog = 4096;
// How long a busy address is tried again: about a second.
constexpr int kAddressTries = 60;
constexpr int64_t kAddressPauseMs = 50;

Error BadAddress(std::string_view address, std::string_view why) {
  return Error(ErrorCode::kSyntax,
               "address '" + std::string(address) + "': " + std::string(why) +
                   "; expected HOST:PORT, such as 127.0.0.1:7733 or [::1]:7733");
}

Error Failed(std::string_view address, std::string_view what, int error) {
  return Error(ErrorCode::kIo, "address '" + std::string(address) + "': " + std::string(what) +
                                   ": " + std::strerror(error));
}

struct HostPort {
  std::string host;
  uint16_t port = 0;
};

Result<HostPort> Split(std::string_view address) {
  HostPort result;
  std::string_view port;
  if (address.starts_with('[')) {
    const size_t close = address.find(']');
    if (close == std::string_view::npos) return BadAddress(address, "a ] is missing");
    result.host = address.substr(1, close - 1);
    const std::string_view rest = address.substr(close + 1);
    if (!rest.starts_with(':')) return BadAddress(address, "the port is missing");
    port = rest.substr(1);
  } else {
    const size_t colon = address.rfind(':');
    if (colon == std::string_view::npos) return BadAddress(address, "the port is missing");
    result.host = address.substr(0, colon);
    port = address.substr(colon + 1);
    if (result.host.find(':') != std::string::npos) {
      return BadAddress(address, "an IPv6 address stands in brackets");
    }
  }
  if (result.host.empty()) return BadAddress(address, "the host is missing");
  const auto parsed = std::from_chars(port.data(), port.data() + port.size(), result.port);
  if (port.empty() || parsed.ec != std::errc() || parsed.ptr != port.data() + port.size()) {
    return BadAddress(address, "the port must be a number from 0 to 65535");
  }
  return result;
}

std::string Format(const sockaddr_storage& storage, uint16_t* port, bool* loopback) {
  char text[INET6_ADDRSTRLEN] = "?";
  if (storage.ss_family == AF_INET) {
    const auto* in = reinterpret_cast<const sockaddr_in*>(&storage);
    inet_ntop(AF_INET, &in->sin_addr, text, sizeof text);
    *port = ntohs(in->sin_port);
    *loopback = (ntohl(in->sin_addr.s_addr) >> 24) == 127;
    return std::string(text) + ":" + std::to_string(*port);
  }
  if (storage.ss_family == AF_INET6) {
    const auto* in6 = reinterpret_cast<const sockaddr_in6*>(&storage);
    inet_ntop(AF_INET6, &in6->sin6_addr, text, sizeof text);
    *port = ntohs(in6->sin6_port);
    *loopback = IN6_IS_ADDR_LOOPBACK(&in6->sin6_addr);
    return "[" + std::string(text) + "]:" + std::to_string(*port);
  }
  return "?";
}

using NameFunction = int (*)(int, sockaddr*, socklen_t*);

std::string NameOf(int fd, NameFunction function) {
  sockaddr_storage storage{};
  socklen_t size = sizeof storage;
  if (function(fd, reinterpret_cast<sockaddr*>(&storage), &size) != 0) return "?";
  uint16_t port = 0;
  bool loopback = false;
  return Format(storage, &port, &loopback);
}

// A process that was killed gives its address up a moment later: io_uring closes its sockets after it.
int BindAndListen(int fd, const addrinfo& a) {
  for (int tries = 0;; ++tries) {
    if (bind(fd, a.ai_addr, a.ai_addrlen) == 0 && listen(fd, kBacklog) == 0) return 0;
    if (errno != EADDRINUSE || tries == kAddressTries) return -1;
    const timespec pause{0, kAddressPauseMs * 1'000'000};
    nanosleep(&pause, nullptr);
  }
}

}  // namespace

Result<BoundSocket> ListenOn(std::string_view address) {
  const Result<HostPort> split = Split(address);
  if (!split.ok()) return split.error();
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* list = nullptr;
  const int resolved =
      getaddrinfo(split->host.c_str(), std::to_string(split->port).c_str(), &hints, &list);
  if (resolved != 0) {
    return Error(ErrorCode::kIo, "address '" + std::string(address) + "': host '" + split->host +
                                     "' does not resolve: " + gai_strerror(resolved));
  }
  // The first that can be bound ("localhost" may name ::1 where there is no IPv6).
  Error error = Failed(address, "cannot be used", EADDRNOTAVAIL);
  int fd = -1;
  for (const addrinfo* a = list; a != nullptr && fd < 0; a = a->ai_next) {
    fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0) {
      error = Failed(address, "no socket", errno);
      continue;
    }
    const int on = 1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (a->ai_family == AF_INET6) setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
    if (BindAndListen(fd, *a) != 0) {
      error = Failed(address, "cannot listen", errno);
      close(fd);
      fd = -1;
    }
  }
  freeaddrinfo(list);
  if (fd < 0) return error;
  BoundSocket bound;
  bound.fd = fd;
  sockaddr_storage storage{};
  socklen_t size = sizeof storage;
  getsockname(fd, reinterpret_cast<sockaddr*>(&storage), &size);
  bound.address = Format(storage, &bound.port, &bound.loopback);
  return bound;
}

std::string PeerAddress(int fd) { return NameOf(fd, getpeername); }
std::string LocalAddress(int fd) { return NameOf(fd, getsockname); }

}  // namespace vestq
