// When EXPIRE ends a job. Pure.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include "engine/base/limits.h"
#include "keycodec/records.h"

namespace vestq {

// By the job's row where it has one that says, else by its header: from its first vesting. REQUIRES: the
// header has kFlagExpire.
inline std::pair<keycodec::Clock, int64_t> ExpiryOf(const keycodec::JobHeader& header,
                                                    const keycodec::JobRow* row) {
  if (row != nullptr && row->expires_ms != 0) return {row->expires_clock, row->expires_ms};
  const bool scheduled = header.vests_ms != 0;
  const int64_t from_ms = scheduled ? header.vests_ms : header.enqueued_ms;
  return {scheduled ? header.clock : keycodec::Clock::kEngine,
          std::min(from_ms + header.expire_ms, limits::kKeyTimeMsMax)};
}

}  // namespace vestq
