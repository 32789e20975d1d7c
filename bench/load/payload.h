// Payloads that prove themselves, and the ledger of which were seen. A payload begins with the run
// that put it and its number in that run; the rest is generated from those two, so whoever takes it
// can regenerate every byte and needs no memory of what was put. Owned by one thread; making or
// checking 256 bytes costs about 30 ns.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <vector>

namespace vestq::bench {

inline constexpr size_t kPayloadBytesMin = 16;

enum class Fill : uint8_t {
  kRandom = 1,  // incompressible
  kHalf = 2,    // every second 32 bytes are zero: compresses to about a half
};

struct PayloadName {
  uint32_t run = 0;
  uint64_t number = 0;
};

// Writes `size` bytes at `out`. REQUIRES: size at least kPayloadBytesMin, run below 2^24.
void MakePayload(PayloadName name, Fill fill, size_t size, char* out);
// The name, when every byte is as MakePayload made it; nothing when a byte is wrong.
std::optional<PayloadName> CheckPayload(std::string_view payload);

// Which numbers of which runs were taken: a second take of the same is what it exists to find.
class Ledger {
 public:
  // False when this name was taken before.
  bool Take(PayloadName name);
  // How many different numbers of this run were taken.
  uint64_t Taken(uint32_t run) const;

 private:
  struct Run {
    std::vector<uint64_t> bits;
    uint64_t taken = 0;
  };
  std::map<uint32_t, Run> runs_;
};

}  // namespace vestq::bench
