// EXEC's reply: the members' own, or why there are none.
#include <string>

#include "engine/base/check.h"
#include "engine/group_request.h"
#include "engine/kv_request.h"
#include "net/replies.h"

namespace vestq {

std::string_view CommandOf(const Request& member) {
  switch (member.kind) {
    case RequestKind::kEnqueue: return "ENQUEUE";
    case RequestKind::kEnqueueMany: return "ENQUEUEMANY";
    case RequestKind::kComplete: return "COMPLETE";
    case RequestKind::kCompleteMany: return "COMPLETEMANY";
    case RequestKind::kFail: return "FAIL";
    case RequestKind::kRelease: return "RELEASE";
    case RequestKind::kRenew: return "RENEW";
    case RequestKind::kCheckpoint: return "CHECKPOINT";
    case RequestKind::kCancel: return "CANCEL";
    case RequestKind::kDataSet: return "SET";
    case RequestKind::kDataDelete: return "DEL";
    case RequestKind::kDataRange: return "RANGE";
    case RequestKind::kDataGet:
      switch (static_cast<const DataGetRequest&>(member).form) {
        case DataGetRequest::Form::kOne: return "GET";
        case DataGetRequest::Form::kAll: return "MGET";
        case DataGetRequest::Form::kCount: return "EXISTS";
      }
      break;
    default: break;
  }
  CHECK(false, "a command that may stand in a group");
}

void WriteGroupReply(const GroupRequest& group, RespWriter* w) {
  if (group.error.ok()) {
    w->Array(group.members.size());
    for (const auto& member : group.members) WriteAnswer(*member, w);
    return;
  }
  if (group.failed == GroupRequest::kNone) return w->Error(group.error);
  w->Error("EXECABORT", "nothing was changed: command " + std::to_string(group.failed + 1) + " (" +
                            std::string(CommandOf(*group.members[group.failed])) +
                            "): " + group.error.ToString());
}

size_t GroupReplyBytes(const GroupRequest& group) {
  size_t bytes = 64;
  for (const auto& member : group.members) {
    const size_t many = HandlingBytes(*member);
    bytes += many > 0 ? many : DataBytes(*member);
  }
  return bytes;
}

}  // namespace vestq
