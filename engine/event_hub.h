// What happens to jobs, for operators who listen (EVENTS, `vestq tail`).
//
// A core notes events while somebody listens, keeps them until what they report is durable, and then
// gives them to every subscription; each subscription belongs to one core, which is woken. A
// subscription holds at most kEvents events and kBytes of them: one that is not read loses its oldest
// ones, and is told how many.
//
// Costs: while nobody listens, one load of a word that nobody writes and one branch an operation. While
// somebody does, an event costs about 150 bytes and a lock for each batch of them and subscription.
// The mutexes: listening is rare, and a ring a core and subscription would cost more memory than it
// saves.
//
// EVENT-1: what an event reports is as durable as an answer. EVENT-2: the events of one core come in
// the order in which they happened, none twice; what is missing is counted, before the next one.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/ids.h"
#include "engine/base/result.h"
#include "engine/base/time.h"

namespace vestq {

enum class EventKind : uint8_t {
  kEnqueued,   // a job is there: ready, scheduled, or waiting for others
  kReady,      // a scheduled job's time has come
  kLeased,     // `worker` has taken it
  kCompleted,  // its worker has done it
  kFailed,     // its worker has not, `reason` says why; a retry, or kDead, follows
  kReleased,   // its worker has given it back
  kExpired,    // its lease has ended by itself; it is ready again, or kDead follows
  kRevoked,    // the same, by REVOKE
  kDead,       // its attempts are used up, `reason` says how
  kCancelled,  // removed by CANCEL
  kLapsed,     // its EXPIRE has passed
  kPurged,     // removed by PURGE, or with its queue by QUEUE DROP; also many jobs at once: `jobs`
  kDropped,    // a dead letter that was removed by retention
  kRedriven,   // a dead letter is a job again
  kRescheduled,  // moved by PROMOTE, RESCHEDULE or UNIQUE ... REPLACE
};
[[nodiscard]] std::string_view EventName(EventKind kind);  // "enqueued", ...

struct JobEvent {
  EventKind kind = EventKind::kEnqueued;
  std::string_view queue;  // of the registry; lives as long as the engine
  JobId id;                // 0: of no single job
  WallTime at;
  uint32_t attempt = 0;
  std::string worker;
  std::string reason;
  uint64_t jobs = 0;  // how many, where there is no `id`: what one PURGE or DROP has made void

  size_t bytes() const { return sizeof(JobEvent) + worker.size() + reason.size(); }
};

// One reader's events. Push from any core's thread, the rest from its reader's.
class EventSubscription {
 public:
  static constexpr size_t kEvents = 4096;
  static constexpr size_t kBytes = size_t{1} << 20;

  // Of those queues; of all when there are none.
  EventSubscription(CoreId reader, std::vector<std::string> queues);

  CoreId reader() const { return reader_; }
  void Push(const std::vector<JobEvent>& events, uint64_t missed);
  // Moves the oldest events out, at most `max`, and how many were lost before them. False: nothing.
  bool Take(size_t max, std::vector<JobEvent>* events, uint64_t* missed);

 private:
  const CoreId reader_;
  const std::vector<std::string> queues_;  // sorted
  std::mutex mutex_;
  std::deque<JobEvent> events_;
  size_t bytes_ = 0;
  uint64_t missed_ = 0;
};

class EventHub {
 public:
  explicit EventHub(uint16_t cores) : ready_(cores) {}

  // Whether anybody listens. Any thread; the one thing that is asked on the way of a job.
  bool listening() const { return listeners_.load(std::memory_order_relaxed) != 0; }

  // Errors: kFull (limits::kEventReaders).
  Error Add(std::shared_ptr<EventSubscription> subscription);
  void Remove(const EventSubscription* subscription);
  // Gives events to all that want them; `missed` more were lost before them. Appends the cores to wake.
  void Publish(const std::vector<JobEvent>& events, uint64_t missed, std::vector<CoreId>* wake);

  // Whether something was published for readers of that core since it last asked.
  bool TakeReady(CoreId core) {
    std::atomic<bool>& ready = ready_[core.value()];
    return ready.load(std::memory_order_acquire) &&
           ready.exchange(false, std::memory_order_acq_rel);
  }
  bool Ready(CoreId core) const { return ready_[core.value()].load(std::memory_order_acquire); }

 private:
  std::atomic<uint32_t> listeners_{0};
  std::mutex mutex_;
  std::vector<std::shared_ptr<EventSubscription>> subscriptions_;
  std::vector<std::atomic<bool>> ready_;  // by core
};

}  // namespace vestq
