// Rows of a space of a queue: options of its own, and where its rate limit stands. Pure; the rules of all
// values stand in keycodec/records.h, those of keys in keycodec/keys.h.
//
//   o queue space       options
//   g queue space       the engine time at which its rate limit is free again, of a space with a name
//
// A queue's rows stand in the order of their spaces. A row without anything in it is not written: it goes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "engine/base/ids.h"
#include "engine/base/result.h"

namespace vestq::keycodec {

// Of a space's concurrency: no limit, whatever its queue says of its spaces.
inline constexpr uint32_t kSlotsUnlimited = UINT32_MAX;

// Without a value: not set, what the queue says of all its spaces holds.
struct SpaceValue {
  std::optional<uint32_t> concurrency = std::nullopt;  // leases at once; kSlotsUnlimited
  std::optional<uint64_t> rate_micro = std::nullopt;   // starts in 10^6 seconds; 0: no limit
  std::optional<uint32_t> burst = std::nullopt;        // 1 and up
  std::optional<uint32_t> weight = std::nullopt;       // 1 .. limits::kSpaceWeightMax
  // Paused until that engine time; limits::kKeyTimeMsMax: for ever.
  std::optional<int64_t> paused_until_ms = std::nullopt;
  bool operator==(const SpaceValue&) const = default;
  bool empty() const { return *this == SpaceValue(); }
};

struct SpaceRateValue {
  int64_t until_ms = 0;
  bool operator==(const SpaceRateValue&) const = default;
};

struct SpaceRowKey {
  QueueId queue;
  std::string space;
};

// REQUIRES: a space of at most limits::kSpaceBytes; it may be empty, but that of a rate.
std::string SpaceOptionsKey(QueueId queue, std::string_view space);
std::string SpaceRateKey(QueueId queue, std::string_view space);
[[nodiscard]] Result<SpaceRowKey> DecodeSpaceOptionsKey(std::string_view key);
[[nodiscard]] Result<SpaceRowKey> DecodeSpaceRateKey(std::string_view key);

// REQUIRES: !value.empty().
void Append(const SpaceValue& value, std::string* out);
void Append(const SpaceRateValue& value, std::string* out);
[[nodiscard]] Result<SpaceValue> DecodeSpaceValue(std::string_view bytes);
[[nodiscard]] Result<SpaceRateValue> DecodeSpaceRateValue(std::string_view bytes);

}  // namespace vestq::keycodec
