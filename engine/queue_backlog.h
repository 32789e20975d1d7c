// What all cores share of a queue that has `max-jobs` or `max-bytes`, or had one in this run: the limits,
// how much is held (lanes/backlog.h), and the line of the ENQUEUEs that wait for room.
//
// The line is first come, first served, over all cores: while anybody stands in it nobody else gets room,
// so that one that needs much is not overtaken for ever by those that need little. The first waits until
// there is room for all of it, the others behind it; none for longer than its own WAIT.
//
// BACKLOG-3: nobody stands first in the line while there is room for it. Who joins, joins, fences and then
// looks for room; who makes room, makes it, fences and then looks at the line.
//
// The mutex: the line is touched only when a queue is full, and taking room for its first and taking that
// one out must be one step, or two cores would both do so. It is held for nothing else.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <vector>

#include "engine/base/ids.h"
#include "engine/base/time.h"
#include "engine/request.h"
#include "lanes/backlog.h"

namespace vestq {

struct QueueRecord;

// An ENQUEUE or ENQUEUEMANY that waits. Owned by the core that will carry it out.
struct EnqueueWait {
  Request* request = nullptr;
  EnqueueRequest* job = nullptr;  // its options
  QueueRecord* record = nullptr;
  CoreId core;
  Backlog room;         // it needs
  uint64_t memory = 0;  // it holds
  MonoTime until;
  uint64_t order = 0;     // in which those of its core came
  uint64_t place = 0;     // in the line, of its mutex; 0: it is in none
  bool has_room = false;  // set when it leaves the line with room taken for it
};

class EnqueueLine {
 public:
  // Any thread.
  void Join(EnqueueWait* wait);
  // False: it has left the line before, and its core is being told.
  [[nodiscard]] bool Leave(EnqueueWait* wait);
  // Takes out of the line, as long as it is their turn, those for which there is room, which is taken for
  // them, and those for which there never will be. They are the caller's to send home.
  std::vector<EnqueueWait*> LetIn(SharedBacklog* backlog, const BacklogLimits& limits);
  uint32_t waiting() const { return waiting_.load(std::memory_order_acquire); }

 private:
  std::mutex mutex_;
  std::map<uint64_t, EnqueueWait*> line_;
  uint64_t last_ = 0;
  std::atomic<uint32_t> waiting_{0};
};

struct QueueBacklog {
  std::atomic<int64_t> max_jobs{kNoRoomLimit};
  std::atomic<int64_t> max_bytes{kNoRoomLimit};
  SharedBacklog shared;
  std::atomic<uint16_t> counting{0};  // cores that do; all, before a limit is set
  EnqueueLine line;
  std::atomic<uint64_t> refused{0};  // ENQUEUEs and ENQUEUEMANYs, in this run

  BacklogLimits limits() const {
    return {max_jobs.load(std::memory_order_acquire), max_bytes.load(std::memory_order_acquire)};
  }
};

// A core's own side of it.
struct CoreBacklog {
  QueueBacklog* queue = nullptr;
  Backlog held;         // what this core has taken of the shared count
  Backlog promised;     // of it, to ENQUEUEs that were let in and are not carried out yet
  Backlog withheld;     // what a purge has made void here, until every core has switched
  bool listed = false;  // stands in Core::Impl::room_changed_
};

}  // namespace vestq
