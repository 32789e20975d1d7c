// Replies to job commands: a finished request in the shape that net/PROTOCOL.md gives its command.
#pragma once

#include "net/request_pool.h"
#include "net/resp_writer.h"

namespace vestq {

// Writes the answer to `slot`, whose request or group is done. Appends only.
void WriteReply(const Slot& slot, RespWriter* writer);

// About how many bytes that is; at least as many for payloads.
size_t ReplyBytes(const Slot& slot);
size_t HeaderBytes(const std::vector<std::pair<std::string, std::string>>& headers);

// The answer to a request alone. REQUIRES: done, without an error, and no LEASE.
void WriteAnswer(const Request& request, RespWriter* writer);
// EXEC's (replies_group.cc).
void WriteGroupReply(const GroupRequest& group, RespWriter* writer);
size_t GroupReplyBytes(const GroupRequest& group);
// The command that a member of a group was.
std::string_view CommandOf(const Request& member);

// A job's map, as JOB answers it; `with_id` of a listing. Null when there is no such job.
void WriteJob(const JobRequest& job, bool with_id, RespWriter* writer);
void WriteQueueInfo(const QueueInfoRequest& request, RespWriter* writer);  // command_queues.cc
// Of SPACES and SPACE INFO (replies_spaces.cc).
inline constexpr size_t kSpaceReplyBytes = 448;  // of one space, with a name of common length
// "2:50", or "none".
std::string AdaptiveToText(const std::optional<keycodec::AdaptiveBounds>& bounds);
void WriteSpaces(const SpacesRequest& request, RespWriter* writer);
size_t SpacesBytes(const SpacesRequest& request);
// The same for the requests of engine/handling_request.h (replies_handling.cc). HandlingBytes: 0 for
// others.
void WriteData(const Request& request, RespWriter* writer);  // engine/kv_request.h
size_t DataBytes(const Request& request);
void WriteHandling(const Request& request, RespWriter* writer);
size_t HandlingBytes(const Request& request);

}  // namespace vestq
