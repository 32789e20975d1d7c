// The io_uring backend: multishot receives into a ring of provided buffers, sends through the ring,
// one-shot accepts (multishot accept is broken in several kernels), one entry into the kernel a
// turn. Needs Linux 6.0; the ring is made with DEFER_TASKRUN | SINGLE_ISSUER, else COOP_TASKRUN,
// else plainly, on the thread that uses it.
#pragma once

#include <memory>

#include "net/poller.h"

namespace vestq {

// On the thread that is to use it. kUnsupported names what the kernel refused and, where it is
// known, the setting.
Result<std::unique_ptr<Poller>> MakeUringPoller(const PollerOptions& options, PollHandler* handler);

// Whether a ring works here: makes one and receives a byte through it.
Error TryUring();

}  // namespace vestq
