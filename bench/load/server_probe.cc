#include "bench/load/server_probe.h"

#include <time.h>

#include <fstream>
#include <sstream>
#include <string_view>

namespace vestq::bench {
namespace {

uint64_t ReadClock(clockid_t clock) {
  timespec now{};
  if (clock_gettime(clock, &now) != 0) return 0;
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

// The number after `label` in a file of "label number" lines.
uint64_t Field(const std::string& path, std::string_view label) {
  std::ifstream file(path);
  std::string word;
  uint64_t value = 0;
  while (file >> word) {
    if (word == label && file >> value) return value;
  }
  return 0;
}

}  // namespace

ServerUse ServerProbe::Read() const {
  ServerUse use;
  if (pid_ > 0) {
    clockid_t clock = 0;
    if (clock_getcpuclockid(pid_, &clock) == 0) use.cpu_ns = ReadClock(clock);
    const std::string proc = "/proc/" + std::to_string(pid_);
    use.written_bytes = Field(proc + "/io", "write_bytes:");
    use.rss_bytes = Field(proc + "/status", "VmRSS:") * 1024;
    use.rss_peak_bytes = Field(proc + "/status", "VmHWM:") * 1024;
  }
  if (!block_stat_.empty()) {
    std::ifstream file(block_stat_);
    uint64_t fields[7] = {};
    for (uint64_t& field : fields) file >> field;
    use.device_writes = fields[4];
    use.device_bytes = fields[6] * 512;
  }
  return use;
}

uint64_t OwnCpuNs() { return ReadClock(CLOCK_PROCESS_CPUTIME_ID); }
uint64_t NowNs() { return ReadClock(CLOCK_MONOTONIC); }

}  // namespace vestq::bench
