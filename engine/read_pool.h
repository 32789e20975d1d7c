// Cold reads: window refills, due jobs, records that are not in memory. They run on a few threads
// of their own, never on a core (READ-1), and see every batch up to the ticket they were asked with
// (READ-2).
//
// Results go back to the core they belong to through a small locked list: reads are rare and slow
// beside a lock, and a ring a reader and core would cost more memory than it saves.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "engine/base/ids.h"
#include "engine/base/result.h"

namespace vestq {

class Store;
class WriteQueue;

// One read of one core. Run on a reader's thread, then handed back to the core, which calls
// `Finish` there.
class ReadTask {
 public:
  virtual ~ReadTask() = default;
  virtual Error Run(const Store& store) = 0;

  CoreId core;
  Ticket after;                           // must be written before Run
  Error error;                            // of Run
  std::function<void(ReadTask*)> finish;  // on the core's thread
};

class ReadPool {
 public:
  // `wake(core)` is called from a reader's thread when a result is there.
  ReadPool(const Store* store, WriteQueue* writes, uint16_t cores,
           std::function<void(CoreId)> wake);
  ~ReadPool();

  void StartThreads(int threads);  // not in the deterministic driver
  void Stop();                     // waits for running reads; queued ones are dropped

  void Submit(std::unique_ptr<ReadTask> task);
  bool HasResults(CoreId core) const;
  // Moves the results for `core` into *out. Cheap when there are none.
  void TakeResults(CoreId core, std::vector<std::unique_ptr<ReadTask>>* out);

  // The deterministic driver: runs the oldest task whose ticket is written; false when there is
  // none.
  bool RunOne();
  uint64_t reads() const { return reads_.load(std::memory_order_relaxed); }
  // Submitted, and not taken by their core yet.
  uint64_t under_way() const { return under_way_.load(std::memory_order_relaxed); }

 private:
  struct Inbox;
  void Loop();
  void Deliver(std::unique_ptr<ReadTask> task);

  const Store* const store_;
  WriteQueue* const writes_;
  const std::function<void(CoreId)> wake_;
  std::mutex mutex_;
  std::condition_variable available_;
  std::deque<std::unique_ptr<ReadTask>> tasks_;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
  std::vector<std::unique_ptr<Inbox>> inboxes_;
  std::atomic<uint64_t> reads_{0};
  std::atomic<uint64_t> under_way_{0};
};

}  // namespace vestq
