#include "tools/line_sink.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>

namespace vestq {
namespace {
constexpr size_t kFull = size_t{1} << 20;
}  // namespace

bool LineSink::full() const { return pending_.size() >= kFull; }

void LineSink::Take(std::string_view lines) {
  if (broken_) return;
  pending_.append(lines);
  taken_ += lines.size();
}

void LineSink::OnWritable() {
  // As many whole lines as one atomic write holds.
  size_t size = std::min<size_t>(pending_.size(), PIPE_BUF);
  const size_t newline = pending_.rfind('\n', size - 1);
  if (newline != std::string::npos) size = newline + 1;
  const ssize_t n = ::write(fd_, pending_.data(), size);
  if (n > 0) {
    pending_.erase(0, static_cast<size_t>(n));
  } else if (n < 0 && errno != EAGAIN && errno != EINTR) {
    broken_ = true;
    pending_.clear();
  }
}

}  // namespace vestq
