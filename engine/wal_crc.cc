#include "engine/wal_crc.h"

#include <array>
#include <cstring>

namespace vestq {
namespace {

constexpr std::array<uint32_t, 256> MakeTable() {
  std::array<uint32_t, 256> table{};
  for (uint32_t i = 0; i < 256; ++i) {
    uint32_t crc = i;
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78u : 0u);
    table[i] = crc;
  }
  return table;
}

uint32_t ExtendByTable(uint32_t state, std::string_view bytes) {
  static constexpr std::array<uint32_t, 256> kTable = MakeTable();
  for (const char c : bytes)
    state = state >> 8 ^ kTable[(state ^ static_cast<unsigned char>(c)) & 0xff];
  return state;
}

#if defined(__x86_64__)
__attribute__((target("sse4.2"))) uint32_t ExtendBySse42(uint32_t state, std::string_view bytes) {
  uint64_t wide = state;
  while (bytes.size() >= sizeof(uint64_t)) {
    uint64_t word;
    std::memcpy(&word, bytes.data(), sizeof(word));
    wide = __builtin_ia32_crc32di(wide, word);
    bytes.remove_prefix(sizeof(word));
  }
  state = static_cast<uint32_t>(wide);
  for (const char c : bytes) state = __builtin_ia32_crc32qi(state, static_cast<unsigned char>(c));
  return state;
}

const bool has_sse42 = __builtin_cpu_supports("sse4.2");
#endif

}  // namespace

uint32_t ExtendCrc32c(uint32_t crc, std::string_view bytes) {
#if defined(__x86_64__)
  if (has_sse42) return ~ExtendBySse42(~crc, bytes);
#endif
  return ~ExtendByTable(~crc, bytes);
}

}  // namespace vestq
