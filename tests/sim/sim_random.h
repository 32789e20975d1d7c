// The simulation's only source of chance: xoshiro256** (Blackman and Vigna), seeded through
// splitmix64.
//
// Everything that a run decides comes from one seed, so that the seed replays the run byte for
// byte. `Fork` gives an independent generator, so that one more draw in one part does not shift the
// draws of another. Not thread-safe; does not allocate; the sequence is the same on every platform
// (no std::uniform_int_distribution, which is not).
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/base/check.h"

namespace vestq {

class SimRandom {
 public:
  explicit SimRandom(uint64_t seed) {
    for (uint64_t& word : state_) word = SplitMix(&seed);
  }

  uint64_t Next() {
    const uint64_t result = RotateLeft(state_[1] * 5, 7) * 9;
    const uint64_t shifted = state_[1] << 17;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= shifted;
    state_[3] = RotateLeft(state_[3], 45);
    return result;
  }

  // Uniform in [0, n). REQUIRES: n > 0.
  uint64_t Below(uint64_t n) {
    CHECK(n > 0);
    // Rejects the incomplete last round, so that no value is favoured.
    const uint64_t threshold = (0 - n) % n;
    for (;;) {
      const uint64_t value = Next();
      if (value >= threshold) return value % n;
    }
  }

  // Uniform in [low, high]. REQUIRES: low <= high, and not the whole range.
  uint64_t Between(uint64_t low, uint64_t high) { return low + Below(high - low + 1); }

  // True with probability p; never for p <= 0, always for p >= 1.
  bool Chance(double p) { return static_cast<double>(Next() >> 11) * 0x1.0p-53 < p; }

  // One element of a container with size() and []. REQUIRES: not empty. The reference is the
  // container's.
  template <typename Container>
  auto& Pick(Container& from) {
    return from[static_cast<size_t>(Below(from.size()))];
  }

  // A generator of its own, seeded from one draw of this one.
  SimRandom Fork() { return SimRandom(Next()); }

 private:
  static uint64_t RotateLeft(uint64_t x, int k) { return (x << k) | (x >> (64 - k)); }

  static uint64_t SplitMix(uint64_t* state) {
    uint64_t z = (*state += 0x9E3779B97F4A7C15ull);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
    return z ^ (z >> 31);
  }

  uint64_t state_[4];
};

}  // namespace vestq
