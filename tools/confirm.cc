#include "tools/confirm.h"

#include <spdlog/fmt/fmt.h>
#include <unistd.h>

#include <cstdio>

#include "tools/printable.h"

namespace vestq {

bool CanAsk() { return ::isatty(STDIN_FILENO) != 0; }

bool AskedAndYes(const std::string& question) {
  if (!CanAsk()) return false;
  fmt::print(stderr, "{} [y/N] ", Printable(question));
  char answer[16] = {};
  if (std::fgets(answer, sizeof(answer), stdin) == nullptr) return false;
  return answer[0] == 'y' || answer[0] == 'Y';
}

}  // namespace vestq
