// One TCP connection of the load generator: a socket with a buffer each way. Owned by the one
// thread; nothing blocks after Open and Exchange.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace vestq::bench {

class Connection {
 public:
  enum class Io { kDone, kWouldBlock, kClosed };

  Connection() = default;
  ~Connection();
  Connection(Connection&& other) noexcept;
  Connection& operator=(Connection&&) = delete;

  // Connects (blocking) to 127.0.0.1. False with errno set.
  [[nodiscard]] bool Open(uint16_t port);
  // Sends and reads until `answer` has `bytes` bytes, or with bytes 0 until something came;
  // blocking, so only before SetNonBlocking. False when the peer closed or an error came.
  [[nodiscard]] bool Exchange(std::string_view request, size_t bytes, std::string* answer);
  [[nodiscard]] bool SetNonBlocking();

  // What is appended here is sent by Flush.
  std::string& out() { return out_; }
  Io Flush();
  // Reads what is there (at most one buffer's free space).
  Io Read();
  // Read but not yet consumed; the view lives until the next Read.
  std::string_view Pending() const { return {in_.data() + in_begin_, in_end_ - in_begin_}; }
  void Consume(size_t bytes) { in_begin_ += bytes; }
  int fd() const { return fd_; }

 private:
  int fd_ = -1;
  std::string out_;
  size_t out_at_ = 0;
  std::vector<char> in_;
  size_t in_begin_ = 0;
  size_t in_end_ = 0;
};

}  // namespace vestq::bench
