#include "bench/load/connection.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace vestq::bench {
namespace {
constexpr size_t kReadBytesMin = 16 * 1024;
}

Connection::~Connection() {
  if (fd_ >= 0) close(fd_);
}

Connection::Connection(Connection&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)),
      out_(std::move(other.out_)),
      out_at_(other.out_at_),
      in_(std::move(other.in_)),
      in_begin_(other.in_begin_),
      in_end_(other.in_end_) {}

bool Connection::Open(uint16_t port) {
  fd_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd_ < 0) return false;
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (connect(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) return false;
  const int one = 1;
  return setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one)) == 0;
}

bool Connection::Exchange(std::string_view request, size_t bytes, std::string* answer) {
  while (!request.empty()) {
    const ssize_t sent = send(fd_, request.data(), request.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return false;
    request.remove_prefix(static_cast<size_t>(sent));
  }
  answer->clear();
  const size_t wanted = bytes == 0 ? 1 : bytes;
  while (answer->size() < wanted) {
    char buffer[1024];
    const size_t room =
        bytes == 0 ? sizeof(buffer) : std::min(sizeof(buffer), bytes - answer->size());
    const ssize_t got = recv(fd_, buffer, room, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    answer->append(buffer, static_cast<size_t>(got));
  }
  return true;
}

bool Connection::SetNonBlocking() {
  const int flags = fcntl(fd_, F_GETFL);
  return flags >= 0 && fcntl(fd_, F_SETFL, flags | O_NONBLOCK) == 0;
}

Connection::Io Connection::Flush() {
  while (out_at_ < out_.size()) {
    const ssize_t sent = send(fd_, out_.data() + out_at_, out_.size() - out_at_, MSG_NOSIGNAL);
    if (sent >= 0) {
      out_at_ += static_cast<size_t>(sent);
    } else if (errno == EAGAIN) {
      return Io::kWouldBlock;
    } else if (errno != EINTR) {
      return Io::kClosed;
    }
  }
  out_.clear();
  out_at_ = 0;
  return Io::kDone;
}

Connection::Io Connection::Read() {
  if (in_begin_ == in_end_) in_begin_ = in_end_ = 0;
  if (in_.size() - in_end_ < kReadBytesMin / 2) {
    std::memmove(in_.data(), in_.data() + in_begin_, in_end_ - in_begin_);
    in_end_ -= in_begin_;
    in_begin_ = 0;
    if (in_.size() - in_end_ < kReadBytesMin) in_.resize(in_end_ + 2 * kReadBytesMin);
  }
  while (true) {
    const ssize_t got = recv(fd_, in_.data() + in_end_, in_.size() - in_end_, 0);
    if (got > 0) {
      in_end_ += static_cast<size_t>(got);
      return Io::kDone;
    }
    if (got < 0 && errno == EINTR) continue;
    return got < 0 && errno == EAGAIN ? Io::kWouldBlock : Io::kClosed;
  }
}

}  // namespace vestq::bench
