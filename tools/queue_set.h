// `vestq queue set`, for `vestq queue` to have it among its sub-commands (tools/queue_set.cc).
#pragma once

#include "tools/commands.h"

namespace vestq {

void AddQueueSet(Command queue, Action* action);

}  // namespace vestq
