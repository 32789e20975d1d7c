// `vestq queue drop`, for `vestq queue` to have it among its sub-commands (tools/purge.cc).
#pragma once

#include "tools/commands.h"

namespace vestq {

void AddQueueDrop(Command queue, Action* action);

}  // namespace vestq
