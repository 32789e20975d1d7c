// What a server process used up between two moments, read from the kernel. Reading costs some tens
// of microseconds; it is done at the two ends of a measurement, not during it.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

namespace vestq::bench {

struct ServerUse {
  uint64_t cpu_ns = 0;          // all threads of the process, exited ones too
  uint64_t written_bytes = 0;   // pages this process made dirty (/proc/PID/io write_bytes)
  uint64_t device_bytes = 0;    // the whole block device, journal and other processes too
  uint64_t device_writes = 0;   // write requests the device completed
  uint64_t rss_bytes = 0;       // now
  uint64_t rss_peak_bytes = 0;  // VmHWM
};

class ServerProbe {
 public:
  // `pid` 0: no process is looked at; `block_stat` empty: no device is (path of a block device's
  // `stat` file in sysfs).
  ServerProbe(pid_t pid, std::string block_stat) : pid_(pid), block_stat_(std::move(block_stat)) {}
  // What cannot be read stays 0.
  ServerUse Read() const;

 private:
  pid_t pid_;
  std::string block_stat_;
};

// CPU time of this process so far.
uint64_t OwnCpuNs();
uint64_t NowNs();

}  // namespace vestq::bench
