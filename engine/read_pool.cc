#include "engine/read_pool.h"

#include <atomic>
#include <chrono>

#include "engine/base/check.h"
#include "engine/store.h"
#include "engine/write_queue.h"

namespace vestq {

struct ReadPool::Inbox {
  std::atomic<bool> any{false};
  std::mutex mutex;
  std::vector<std::unique_ptr<ReadTask>> results;
};

ReadPool::ReadPool(const Store* store, WriteQueue* writes, uint16_t cores,
                   std::function<void(CoreId)> wake)
    : store_(store), writes_(writes), wake_(std::move(wake)) {
  for (uint16_t i = 0; i < cores; ++i) inboxes_.push_back(std::make_unique<Inbox>());
}

ReadPool::~ReadPool() { Stop(); }

void ReadPool::StartThreads(int threads) {
  for (int i = 0; i < threads; ++i) threads_.emplace_back([this] { Loop(); });
}

void ReadPool::Stop() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  available_.notify_all();
  for (auto& thread : threads_) thread.join();
  threads_.clear();
}

void ReadPool::Submit(std::unique_ptr<ReadTask> task) {
  CHECK(task->core.value() < inboxes_.size());
  under_way_.fetch_add(1, std::memory_order_relaxed);
  {
    std::lock_guard lock(mutex_);
    tasks_.push_back(std::move(task));
  }
  if (!threads_.empty()) available_.notify_one();
}

bool ReadPool::HasResults(CoreId core) const {
  return inboxes_[core.value()]->any.load(std::memory_order_acquire);
}

void ReadPool::TakeResults(CoreId core, std::vector<std::unique_ptr<ReadTask>>* out) {
  Inbox& inbox = *inboxes_[core.value()];
  if (!inbox.any.load(std::memory_order_acquire)) return;
  std::lock_guard lock(inbox.mutex);
  inbox.any.store(false, std::memory_order_relaxed);
  for (auto& task : inbox.results) out->push_back(std::move(task));
  under_way_.fetch_sub(inbox.results.size(), std::memory_order_relaxed);
  inbox.results.clear();
}

void ReadPool::Deliver(std::unique_ptr<ReadTask> task) {
  const CoreId core = task->core;
  Inbox& inbox = *inboxes_[core.value()];
  {
    std::lock_guard lock(inbox.mutex);
    inbox.results.push_back(std::move(task));
    inbox.any.store(true, std::memory_order_release);
  }
  reads_.fetch_add(1, std::memory_order_relaxed);
  wake_(core);
}

void ReadPool::Loop() {
  for (;;) {
    std::unique_ptr<ReadTask> task;
    {
      std::unique_lock lock(mutex_);
      available_.wait(lock, [this] { return stopping_ || !tasks_.empty(); });
      if (stopping_) return;
      task = std::move(tasks_.front());
      tasks_.pop_front();
    }
    // READ-2. The ticket was submitted before the task, so whoever holds the write token will get
    // there.
    while (writes_->written() < task->after && !writes_->failed()) {
      writes_->Drain();
      if (writes_->written() < task->after) std::this_thread::yield();
    }
    task->error = writes_->failed() ? writes_->failure() : task->Run(*store_);
    Deliver(std::move(task));
  }
}

bool ReadPool::RunOne() {
  CHECK(threads_.empty(), "READ-1: the driver runs reads itself");
  std::unique_ptr<ReadTask> task;
  {
    std::lock_guard lock(mutex_);
    if (tasks_.empty() || (tasks_.front()->after > writes_->written() && !writes_->failed()))
      return false;
    task = std::move(tasks_.front());
    tasks_.pop_front();
  }
  task->error = writes_->failed() ? writes_->failure() : task->Run(*store_);
  Deliver(std::move(task));
  return true;
}

}  // namespace vestq
