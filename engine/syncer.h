// The thread that makes written groups durable: the one syncer of WRITE-3.
//
//   kSync      syncs as soon as something is written; while a sync runs, more is written, and the
//              next sync takes it all
//   kInterval  syncs at most once in `interval`: at most that much is lost
//   kOs        never syncs while running; the operating system writes when it likes
//
// All modes sync once when stopping. An idle syncer is parked and takes no CPU; Notify wakes it. In
// the modes that sync, after `idle_vouch` without work it lets the queue vouch for what is durable
// (WriteQueue::VouchIdle), once. Thread-safe: Notify. Start and Stop belong to the owner's thread.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>

namespace vestq {

class WriteQueue;

class Syncer {
 public:
  enum class Mode : uint8_t { kSync, kInterval, kOs };
  struct Options {
    Mode mode = Mode::kSync;
    std::chrono::milliseconds interval{100};  // kInterval
    std::chrono::milliseconds idle_vouch{1000};
  };

  // REQUIRES: queue outlives the syncer.
  Syncer(WriteQueue* queue, const Options& options) : queue_(queue), options_(options) {}
  // Stops.
  ~Syncer();
  Syncer(const Syncer&) = delete;
  Syncer& operator=(const Syncer&) = delete;

  // Starts the thread. The owner calls Notify from the queue's on_written
  // (WriteQueue::set_on_written).
  void Start();
  // Something was written. Cheap when the syncer is awake: a fence and a load. Never blocks on the
  // disk.
  void Notify();
  // Syncs what is written and ends the thread. Blocks for the sync. Further calls do nothing.
  void Stop();

  // How often the queue vouched for an idle log.
  uint64_t idle_vouches() const { return idle_vouches_.load(std::memory_order_acquire); }

 private:
  void Loop();
  // Parks until notified or stopped, or until `until`; true when notified.
  bool Park(std::chrono::steady_clock::time_point until);

  WriteQueue* const queue_;
  const Options options_;
  std::atomic<bool> work_{false};
  std::atomic<bool> asleep_{false};
  std::atomic<bool> stop_{false};
  std::atomic<uint64_t> idle_vouches_{0};
  // Only for parking: a condition variable needs one. Not taken while the syncer is awake.
  std::mutex mutex_;
  std::condition_variable wake_;
  std::thread thread_;
};

}  // namespace vestq
