// A bounded ring of fixed-size messages from one thread to one other: how cores talk.
//
// One thread pushes, one thread pops; which ones is fixed for the ring's life. Each side keeps a
// copy of the other side's index and looks at the real one only when the copy says full or empty,
// so a push or a pop costs no shared cache line while there is room or data. Nothing blocks,
// nothing allocates after construction. A push publishes with release and a pop reads with acquire;
// that alone does not wake a sleeper: see lanes/sleep_gate.h.
//
// RING-1: messages come out once each, in the order they went in.
// RING-2: a push that returned true is seen by every later pop; one that returned false left no
// trace.
#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <type_traits>

#include "engine/base/check.h"

namespace vestq {

// What one core may write without disturbing another: two lines, since x86 fetches them in pairs.
inline constexpr size_t kCacheLinePair = 128;

template <typename Message>
class SpscRing {
  static_assert(std::is_trivially_copyable_v<Message>);

 public:
  // Room for `capacity` messages, rounded up to a power of two. REQUIRES: 1 <= capacity <= 2^31.
  explicit SpscRing(size_t capacity) : mask_(std::bit_ceil(capacity) - 1) {
    CHECK(capacity >= 1 && capacity <= (size_t{1} << 31));
    slots_ = std::make_unique<Message[]>(mask_ + 1);
  }
  SpscRing(const SpscRing&) = delete;
  SpscRing& operator=(const SpscRing&) = delete;

  size_t capacity() const { return mask_ + 1; }

  // Producer. False when full; nothing changed then.
  [[nodiscard]] bool TryPush(const Message& message) {
    const uint64_t tail = producer_.tail.load(std::memory_order_relaxed);
    if (tail - producer_.head_seen > mask_) {
      producer_.head_seen = consumer_.head.load(std::memory_order_acquire);
      if (tail - producer_.head_seen > mask_) return false;
    }
    slots_[tail & mask_] = message;
    producer_.tail.store(tail + 1, std::memory_order_release);
    return true;
  }

  // Producer. How many pushes are sure to succeed.
  size_t Room() {
    const uint64_t tail = producer_.tail.load(std::memory_order_relaxed);
    producer_.head_seen = consumer_.head.load(std::memory_order_acquire);
    return capacity() - static_cast<size_t>(tail - producer_.head_seen);
  }

  // Consumer. False when empty.
  [[nodiscard]] bool TryPop(Message* message) { return PopAll(message, 1) == 1; }

  // Consumer. Moves what is there, at most `max`, to messages[0 ..], and returns how many.
  size_t PopAll(Message* messages, size_t max) {
    const uint64_t head = consumer_.head.load(std::memory_order_relaxed);
    if (consumer_.tail_seen - head < max) {
      consumer_.tail_seen = producer_.tail.load(std::memory_order_acquire);
    }
    const auto available = static_cast<size_t>(consumer_.tail_seen - head);
    const size_t count = available < max ? available : max;
    for (size_t i = 0; i < count; ++i) messages[i] = slots_[(head + i) & mask_];
    if (count > 0) consumer_.head.store(head + count, std::memory_order_release);
    return count;
  }

  // Any thread. For the consumer exact when it says false (there is something to pop), and what
  // SleepGate::PrepareSleep asks; for others a moment's view.
  bool EmptyApprox() const {
    return consumer_.head.load(std::memory_order_relaxed) ==
           producer_.tail.load(std::memory_order_acquire);
  }

 private:
  // Constant after construction.
  const uint64_t mask_;
  std::unique_ptr<Message[]> slots_;

  // Written by the producer. Indices count messages since construction; they do not wrap.
  struct alignas(kCacheLinePair) Producer {
    std::atomic<uint64_t> tail{0};
    uint64_t head_seen = 0;
  } producer_;
  // Written by the consumer.
  struct alignas(kCacheLinePair) Consumer {
    std::atomic<uint64_t> head{0};
    uint64_t tail_seen = 0;
  } consumer_;
};

}  // namespace vestq
