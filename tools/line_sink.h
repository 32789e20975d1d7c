// Whole lines on the way to stdout or stderr, so that the lines of several commands do not run into
// each other, and so that a slow reader never keeps a worker from renewing. Owned by one thread;
// nothing blocks.
//
// SINK-1: what was taken is written in order, lines of at most 4096 bytes each in one write, so
// that several processes may share a pipe or a file opened for appending.
#pragma once

#include <poll.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace vestq {

class LineSink {
 public:
  explicit LineSink(int fd) : fd_(fd) {}

  // REQUIRES: the text ends with a newline.
  void Take(std::string_view lines);
  // Bytes taken and written since the beginning: what was taken at one `taken()` is out once
  // `written()` reaches it.
  uint64_t taken() const { return taken_; }
  uint64_t written() const { return taken_ - pending_.size(); }
  // So much is waiting that commands should be held up instead.
  bool full() const;
  // The other end has gone; everything taken since is thrown away.
  bool broken() const { return broken_; }

  pollfd Poll() const { return pollfd{pending_.empty() ? -1 : fd_, POLLOUT, 0}; }
  // REQUIRES: poll said that the fd is writable (then a write of up to PIPE_BUF does not block).
  void OnWritable();

 private:
  const int fd_;
  std::string pending_;
  uint64_t taken_ = 0;
  bool broken_ = false;
};

}  // namespace vestq
