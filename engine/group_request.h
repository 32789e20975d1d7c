// MULTI ... EXEC: commands that are carried out together or not at all, as a request (engine/request.h
// says how those are started and answered).
//
// GROUP-1: all of a group is one batch, so no crash leaves a part of it. GROUP-2: when one member fails
// nothing is changed by any. GROUP-3: nothing else is carried out between its members, and each sees what
// those before it did.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "engine/base/limits.h"
#include "engine/request.h"

namespace vestq {

// Members in their order: ENQUEUE, ENQUEUEMANY, COMPLETE, COMPLETEMANY (CompleteManyRequest), FAIL,
// RELEASE, RENEW, CHECKPOINT, CANCEL, SET, GET/MGET/EXISTS, DEL, RANGE; at most
// limits::kGroupCommandsMax. Only the outputs of members are theirs: `done`, `stream` and the rest are
// not used. Errors: of the first member that fails, whose place is `failed` (kLeaseLost, kRange, kFull,
// kTooBig: the values read by all members together are more than limits::kDataReplyBytes; kSyntax: not
// allowed in a group); without `failed` of the whole (kNotDurable: the outcome is unknown; kShutdown).
// A unique key that is held, a SET whose condition does not hold, a CANCEL of nothing and a lost lease of
// a COMPLETEMANY are answers, no errors.
struct GroupRequest : Request {
  GroupRequest() : Request(RequestKind::kGroup) {}
  std::vector<std::unique_ptr<Request>> members;

  static constexpr size_t kNone = SIZE_MAX;
  size_t failed = kNone;

  // The engine's.
  uint64_t cores = 0;                // that take part, as bits
  uint32_t awaited = 0;              // of them, not frozen yet
  std::atomic<uint32_t> untold = 0;  // members with AFTER whose parents do not know of them yet
};
static_assert(limits::kCoresMax <= 64, "a bit for each core");

// COMPLETE for each receipt. Outputs: completed[i], 0 where the lease is over.
struct CompleteManyRequest : Request {
  CompleteManyRequest() : Request(RequestKind::kCompleteMany) {}
  std::vector<Receipt> receipts;

  std::vector<uint8_t> completed;
};

}  // namespace vestq
