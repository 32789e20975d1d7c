// What a LEASE that waits for one space leaves with the owners of that space's jobs.
//
// The LEASE waits where it started; for each queue and each core that may own jobs of the space it has
// a probe. An armed probe stands with its owner until the space has something to lease: one new job
// sends one probe home, of the LEASE that waits longest. The LEASE then looks again, and arms its
// probes anew if it found nothing; arming looks first, so nothing is missed in between. A probe that
// comes home to a LEASE that has ended, or whose LEASE has ended since, is sent back once to pass its
// wake-up on (SPACE-1). A job of another space neither wakes nor holds up anything here.
//
// Owned by the origin's list of probes until it is home and its LEASE has ended: about 200 bytes, and
// as much in the owner's lists.
#pragma once

#include <cstdint>
#include <string>

#include "engine/request.h"

namespace vestq {

struct SpaceProbe : Request {
  SpaceProbe() : Request(RequestKind::kSpaceProbe) {}

  // Constant.
  CoreId owner;
  QueueRecord* record = nullptr;
  std::string space;
  uint64_t order = 0;  // of its LEASE among those that wait

  // The origin's.
  LeaseRequest* lease = nullptr;  // nullptr: it has ended
  bool armed = false;             // with its owner, or on its way

  // Whoever has it.
  bool fired = false;    // the space had something
  bool pass_on = false;  // its wake-up is for another
};

}  // namespace vestq
