// A core: the single-threaded owner of some lanes, and of the requests that start on it.
//
// Everything that touches a lane's jobs runs on its owner (LANE-1). A core takes requests from its
// own thread (Start) and messages from other cores (bounded single-producer single-consumer rings),
// works on them, and at the end of a turn submits one batch with all changes; only then do messages
// caused by that batch leave (CORE-1). Answers leave when their ticket is as durable as the mode
// asks (CORE-2). All functions are called from the owning thread unless they say otherwise; none
// blocks on the disk.
#pragma once

#include <cstdint>
#include <memory>

#include "engine/base/ids.h"
#include "engine/base/time.h"
#include "engine/handling_request.h"
#include "engine/request.h"

namespace vestq {

struct EngineShared;

class Core {
 public:
  Core(EngineShared* shared, CoreId id);
  ~Core();
  Core(const Core&) = delete;
  Core& operator=(const Core&) = delete;

  CoreId id() const;

  // Takes a request. It may be carried out at once, in this call, or later, here or on another
  // core; requests of one stream are carried out in the order they were started. `request->done` is
  // called from a later Turn.
  void Start(Request* request);

  // The stream's caller has gone: requests still held back are done with kShutdown and never
  // carried out; those under way are done as usual, a waiting LEASE when the caller abandons it.
  void DropStream(Stream* stream);

  // Ends a request that waits (the client has gone, or was unblocked): `done` comes with nothing, or
  // with its outputs when it was too late. One that its stream still holds back takes nothing when
  // its turn comes. REQUIRES: `done` has not come yet.
  void Abandon(Request* request);

  // One round: messages, results of reads, due times, then submits the batch and completes what can
  // be answered. Returns true when there is more to do at once.
  bool Turn();

  // How long the core may sleep when nobody wakes it: until its next due time; Duration::Max() for
  // ever.
  Duration UntilDue() const;

  // Sleeping. The owner calls PrepareSleep; when it returns true it may sleep until woken or
  // UntilDue; then EndSleep. Another thread that has something for this core calls the function
  // given here, once a sleep, from any thread. A store-load fence stands on both sides, so no
  // wake-up is lost (CORE-3).
  void set_wake(void (*wake)(void* context), void* context);
  bool PrepareSleep();
  void EndSleep();

  // True when requests wait for the disk, so that a caller may prefer to spin or to sleep briefly.
  bool awaiting_durable() const;

  class Impl;

 private:
  friend struct CoreAccess;
  std::unique_ptr<Impl> impl_;
};

}  // namespace vestq
