// The epoll backend, for where io_uring is refused: level-triggered, one read into a shared buffer
// a ready connection and turn, writes at the end of a turn. Descriptors are made non-blocking.
#pragma once

#include <memory>

#include "net/poller.h"

namespace vestq {

// kIo: the kernel refused a descriptor.
Result<std::unique_ptr<Poller>> MakeEpollPoller(const PollerOptions& options, PollHandler* handler);

}  // namespace vestq
