// Replies to job commands: a finished request in the shape that net/PROTOCOL.md gives its command.
#pragma once

#include "net/request_pool.h"
#include "net/resp_writer.h"

namespace vestq {

// Writes the answer to `slot`, whose request or group is done. Appends only.
void WriteReply(const Slot& slot, RespWriter* writer);

// About how many bytes that is; at least as many for payloads.
size_t ReplyBytes(const Slot& slot);

}  // namespace vestq
