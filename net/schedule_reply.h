// Replies to SCHEDULE, in the shapes that net/PROTOCOL.md gives its sub-commands.
#pragma once

#include <cstddef>

#include "engine/schedule_request.h"
#include "net/resp_writer.h"

namespace vestq {

// Writes the answer to a request that is done without an error. Appends only.
void WriteScheduleReply(const ScheduleRequest& request, RespWriter* writer);
// About how many bytes that is; at least as many for payloads.
size_t ScheduleReplyBytes(const ScheduleRequest& request);

}  // namespace vestq
