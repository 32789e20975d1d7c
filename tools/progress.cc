#include "tools/progress.h"

#include <spdlog/fmt/fmt.h>
#include <unistd.h>

#include <cstdio>
#include <utility>

#include "tools/link.h"

namespace vestq {
namespace {
constexpr int64_t kEveryMs = 500;
}  // namespace

Progress::Progress(std::string name)
    : name_(std::move(name)), terminal_(::isatty(STDERR_FILENO) == 1) {}

void Progress::Show(uint64_t count, std::string_view what) {
  if (!terminal_ || count == 0) return;
  const int64_t now_ms = NowMs();
  if (now_ms < next_ms_) return;
  next_ms_ = now_ms + kEveryMs;
  fmt::print(stderr, "\rvestq {}: {} jobs {}", name_, count, what);
  std::fflush(stderr);
  shown_ = true;
}

void Progress::End() {
  if (std::exchange(shown_, false)) fmt::print(stderr, "\n");
}

}  // namespace vestq
