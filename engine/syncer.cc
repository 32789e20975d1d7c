#include "engine/syncer.h"

#include "engine/write_queue.h"

namespace vestq {
namespace {

using Time = std::chrono::steady_clock::time_point;
constexpr Time kNever = Time::max();

}  // namespace

Syncer::~Syncer() { Stop(); }

void Syncer::Start() {
  thread_ = std::thread([this] { Loop(); });
}

// Store the word, fence, look for a sleeper; the sleeper says that it sleeps, fences, looks for the
// word. With less than these fences both can miss each other.
void Syncer::Notify() {
  work_.store(true, std::memory_order_release);
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (!asleep_.load(std::memory_order_relaxed)) return;
  { const std::lock_guard lock(mutex_); }
  wake_.notify_one();
}

void Syncer::Stop() {
  if (!thread_.joinable()) return;
  stop_.store(true, std::memory_order_release);
  Notify();
  thread_.join();
}

bool Syncer::Park(Time until) {
  std::unique_lock lock(mutex_);
  asleep_.store(true, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_seq_cst);
  const auto awake = [this] {
    return work_.load(std::memory_order_acquire) || stop_.load(std::memory_order_acquire);
  };
  if (until == kNever) {
    wake_.wait(lock, awake);
  } else {
    wake_.wait_until(lock, until, awake);
  }
  asleep_.store(false, std::memory_order_relaxed);
  return work_.exchange(false, std::memory_order_acquire);
}

void Syncer::Loop() {
  bool vouched = true;
  Time last_sync = std::chrono::steady_clock::now() - options_.interval;
  while (!stop_.load(std::memory_order_acquire)) {
    const bool may_vouch = !vouched && options_.mode != Mode::kOs;
    const Time until = may_vouch ? std::chrono::steady_clock::now() + options_.idle_vouch : kNever;
    if (!Park(until)) {
      if (may_vouch && !stop_.load(std::memory_order_acquire)) {
        if (queue_->VouchIdle()) idle_vouches_.fetch_add(1, std::memory_order_release);
        vouched = true;
      }
      continue;
    }
    if (options_.mode == Mode::kOs) continue;
    if (options_.mode == Mode::kInterval) {
      // What is written until then is taken along; only stopping ends the wait.
      std::unique_lock lock(mutex_);
      asleep_.store(true, std::memory_order_relaxed);
      std::atomic_thread_fence(std::memory_order_seq_cst);
      wake_.wait_until(lock, last_sync + options_.interval,
                       [this] { return stop_.load(std::memory_order_acquire); });
      asleep_.store(false, std::memory_order_relaxed);
      // Not a plain store: what was written before the word that this takes must be seen by SyncOnce.
      work_.exchange(false, std::memory_order_acquire);
    }
    while (queue_->SyncOnce() && options_.mode == Mode::kSync) {
    }
    last_sync = std::chrono::steady_clock::now();
    vouched = false;
  }
  queue_->SyncOnce();
}

}  // namespace vestq
