// How much stands in a queue, of jobs that are not finished, against its limits `max-jobs` and
// `max-bytes`. Pure.
//
// The jobs of a queue are spread over cores, each of which counts its own. What they share is one count
// of what all of them *hold*: a core holds at least what stands with it. Before it adds a job it takes
// room, and afterwards it gives back what it holds beyond what stands. So the sum is never below the
// truth, and equal to it when nobody is in the middle of a turn. A job that ends and one that comes in
// the same turn of a core use the same room: what it holds beyond what stands is its `credit`.
//
// BACKLOG-1: room is taken only while all that is held, the taker's credit excepted, and what it wants
// stay within the limits.
// BACKLOG-2: what is held is what stands, exactly, at a quiet moment.
//
// The two numbers are taken one after the other. Of two takers at the brink of both limits, at the same
// instant, each may be refused for what the other gives back at once; never is more taken than allowed.
#pragma once

#include <atomic>
#include <cstdint>

namespace vestq {

// A number of jobs and the bytes of their payloads; also a difference of such.
struct Backlog {
  int64_t jobs = 0;
  int64_t bytes = 0;

  bool operator==(const Backlog&) const = default;
  Backlog operator+(const Backlog& o) const { return {jobs + o.jobs, bytes + o.bytes}; }
  Backlog operator-(const Backlog& o) const { return {jobs - o.jobs, bytes - o.bytes}; }
  Backlog& operator+=(const Backlog& o) { return *this = *this + o; }
  Backlog& operator-=(const Backlog& o) { return *this = *this - o; }
};

inline constexpr int64_t kNoRoomLimit = -1;

struct BacklogLimits {
  int64_t jobs = kNoRoomLimit;
  int64_t bytes = kNoRoomLimit;

  bool operator==(const BacklogLimits&) const = default;

  // Whether a limit is asked for so much. Nothing is ever refused for what it does not want.
  bool Concern(const Backlog& want) const {
    return (want.jobs > 0 && jobs != kNoRoomLimit) || (want.bytes > 0 && bytes != kNoRoomLimit);
  }
  // More than would fit if nothing else stood there.
  bool Exceeded(const Backlog& want) const {
    return (want.jobs > 0 && jobs != kNoRoomLimit && want.jobs > jobs) ||
           (want.bytes > 0 && bytes != kNoRoomLimit && want.bytes > bytes);
  }
};

// Any thread, lock-free.
class SharedBacklog {
 public:
  // Takes room for `want`, of which `credit` is held already by the taker: `*taken` is what it holds more
  // from now on. False: it does not fit, nothing is taken; but `*taken`, which is 0 then, may for an
  // instant have been in the way of others: look for those who wait.
  [[nodiscard]] bool TryTake(const Backlog& want, const Backlog& credit,
                             const BacklogLimits& limits, Backlog* taken);
  // Of what stands there whatever the limits say; or what a taker no longer holds, negative. Whoever makes
  // room reads the line of those who wait afterwards, behind a fence (BACKLOG-3).
  void Add(const Backlog& difference);

  Backlog held() const {
    return {jobs_.load(std::memory_order_acquire), bytes_.load(std::memory_order_acquire)};
  }

 private:
  std::atomic<int64_t> jobs_{0};
  std::atomic<int64_t> bytes_{0};
};

}  // namespace vestq
