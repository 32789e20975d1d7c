// From four cores on, a thread of its own writes for all of them (engine/write_queue.h); below that
// whoever holds the token does. Sleeps on a futex while nothing is submitted.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>

#include "engine/write_queue.h"
#include "lanes/sleep_gate.h"

namespace vestq {

class WriterThread {
 public:
  explicit WriterThread(WriteQueue* writes) : writes_(writes) {}
  ~WriterThread() { Stop(); }

  void Start() {
    thread_ = std::thread([this] { Loop(); });
  }
  void Stop() {
    if (!thread_.joinable()) return;
    stop_.store(true, std::memory_order_seq_cst);
    Ring();
    thread_.join();
  }
  // A batch was submitted. Any thread.
  void Notify() {
    if (gate_.ShouldWake()) Ring();
  }

 private:
  void Ring() {
    bell_.fetch_add(1, std::memory_order_release);
    bell_.notify_one();
  }
  void Loop() {
    while (!stop_.load(std::memory_order_relaxed)) {
      const uint32_t bell = bell_.load(std::memory_order_acquire);
      if (writes_->Drain()) {  // RocksDB is busy: the same batch again soon
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
        continue;
      }
      const bool sleep = gate_.PrepareSleep([this] {
        return stop_.load(std::memory_order_relaxed) ||
               (writes_->submitted() > writes_->written() && !writes_->failed());
      });
      if (!sleep) continue;
      bell_.wait(bell, std::memory_order_acquire);
      gate_.EndSleep();
    }
  }

  WriteQueue* const writes_;
  std::atomic<bool> stop_{false};
  std::atomic<uint32_t> bell_{0};
  SleepGate gate_;
  std::thread thread_;
};

}  // namespace vestq
