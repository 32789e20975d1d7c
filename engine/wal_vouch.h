// What vestq writes into the log beside keys (PutLogData blobs, no key, no sequence number), for
// the check before opening (engine/wal_check.h):
//
//   vouch   "vq" 'v' keycodec::VouchValue   in front of every written group, and alone before an
//                                           idle time: everything up to `durable` was synced
//   resume  "vq" 'r' keycodec number        by an opening that found the log ending at `previous`
//                                           while RocksDB goes on at a later number (after an
//                                           accepted loss): the gap is no loss
//
// The kinds are persisted; never reuse one. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "engine/base/ids.h"

namespace vestq {

void AppendVouch(Sequence durable, std::string* out);
void AppendResume(Sequence previous, std::string* out);

// What a log record (the bytes of a write batch) says of itself.
struct WalRecordHead {
  Sequence first;      // of its first key
  uint32_t count = 0;  // keys; 0 is legal
  std::optional<Sequence> vouched;
  std::optional<Sequence> resumes_after;
};

// Reads the head of a record; the bytes may be only the record's beginning (its first fragment):
// log data is in front. nullopt when there are not even twelve bytes. Blobs that do not decode are
// ignored (other versions').
[[nodiscard]] std::optional<WalRecordHead> ParseRecordHead(std::string_view bytes);

}  // namespace vestq
