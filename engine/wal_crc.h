// CRC32C (Castagnoli), as RocksDB's log has it. By the CPU's instruction where there is one, else
// by table. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace vestq {

// The checksum of what `crc` covers followed by `bytes`; start with 0.
[[nodiscard]] uint32_t ExtendCrc32c(uint32_t crc, std::string_view bytes);
// LevelDB's masking of a stored checksum, so that a checksum of bytes that hold checksums stays
// good (util/crc32c.h).
[[nodiscard]] constexpr uint32_t UnmaskCrc(uint32_t stored) {
  const uint32_t rotated = stored - 0xa282ead8u;
  return rotated >> 17 | rotated << 15;
}

}  // namespace vestq
