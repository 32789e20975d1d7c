#include "bench/load/payload.h"

#include <algorithm>
#include <cstring>

namespace vestq::bench {
namespace {

constexpr size_t kBlock = 32;

// The fill's words, 8 bytes at a time (splitmix64).
class Words {
 public:
  explicit Words(PayloadName name) : state_(name.number * 0xD1342543DE82EF95ull + name.run) {}
  uint64_t Next() {
    uint64_t z = (state_ += 0x9E3779B97F4A7C15ull);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
    return z ^ (z >> 31);
  }

 private:
  uint64_t state_;
};

// Calls `each(offset, word, length)` for the bytes after the name.
template <typename Each>
bool ForEachWord(PayloadName name, Fill fill, size_t size, Each each) {
  Words words(name);
  for (size_t at = kPayloadBytesMin; at < size; at += 8) {
    const bool zero = fill == Fill::kHalf && (at / kBlock) % 2 == 1;
    const uint64_t word = zero ? 0 : words.Next();
    if (!each(at, word, std::min<size_t>(8, size - at))) return false;
  }
  return true;
}

}  // namespace

void MakePayload(PayloadName name, Fill fill, size_t size, char* out) {
  const uint64_t head =
      uint64_t{name.run} << 32 | uint64_t{static_cast<uint8_t>(fill)} << 24 | 0x6A7176u;
  std::memcpy(out, &head, 8);
  std::memcpy(out + 8, &name.number, 8);
  ForEachWord(name, fill, size, [out](size_t at, uint64_t word, size_t length) {
    std::memcpy(out + at, &word, length);
    return true;
  });
}

std::optional<PayloadName> CheckPayload(std::string_view payload) {
  if (payload.size() < kPayloadBytesMin) return std::nullopt;
  uint64_t head = 0;
  PayloadName name;
  std::memcpy(&head, payload.data(), 8);
  std::memcpy(&name.number, payload.data() + 8, 8);
  if ((head & 0xFFFFFFu) != 0x6A7176u) return std::nullopt;
  const uint8_t fill = static_cast<uint8_t>(head >> 24);
  if (fill != static_cast<uint8_t>(Fill::kRandom) && fill != static_cast<uint8_t>(Fill::kHalf)) {
    return std::nullopt;
  }
  name.run = static_cast<uint32_t>(head >> 32);
  const bool same = ForEachWord(name, static_cast<Fill>(fill), payload.size(),
                                [&payload](size_t at, uint64_t word, size_t length) {
                                  return std::memcmp(payload.data() + at, &word, length) == 0;
                                });
  if (!same) return std::nullopt;
  return name;
}

bool Ledger::Take(PayloadName name) {
  Run& run = runs_[name.run];
  const size_t word = static_cast<size_t>(name.number / 64);
  if (word >= run.bits.size()) run.bits.resize(std::max(word + 1, run.bits.size() * 2));
  const uint64_t bit = uint64_t{1} << (name.number % 64);
  if ((run.bits[word] & bit) != 0) return false;
  run.bits[word] |= bit;
  ++run.taken;
  return true;
}

uint64_t Ledger::Taken(uint32_t run) const {
  const auto it = runs_.find(run);
  return it == runs_.end() ? 0 : it->second.taken;
}

}  // namespace vestq::bench
