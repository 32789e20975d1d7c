// The ring between two cores: within one thread (its instructions) and between two (its cache
// lines).
#include <benchmark/benchmark.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <thread>

#include "lanes/spsc_ring.h"

namespace vestq {
namespace {

struct Message {
  std::array<uint64_t, 8> words{};
};

void BM_RingPushPopOneThread(benchmark::State& state) {
  SpscRing<Message> ring(1024);
  Message message;
  Message got;
  uint64_t number = 0;
  for (auto _ : state) {
    message.words[0] = ++number;
    if (!ring.TryPush(message) || !ring.TryPop(&got) || got.words[0] != number) {
      state.SkipWithError("a message was lost");
      break;
    }
  }
}
BENCHMARK(BM_RingPushPopOneThread);

// Throughput: the other thread pushes as fast as it can, this one pops in batches. The pusher
// yields when the ring is full, so that it also ends on one core.
void BM_RingTwoThreads(benchmark::State& state) {
  SpscRing<Message> ring(1024);
  std::atomic<bool> stop{false};
  std::thread producer([&ring, &stop] {
    Message message;
    while (!stop.load(std::memory_order_relaxed)) {
      ++message.words[0];
      while (!ring.TryPush(message)) {
        if (stop.load(std::memory_order_relaxed)) return;
        std::this_thread::yield();
      }
    }
  });
  std::array<Message, 64> batch;
  uint64_t seen = 0;
  for (auto _ : state) {
    size_t count = 0;
    while ((count = ring.PopAll(batch.data(), batch.size())) == 0) std::this_thread::yield();
    for (size_t i = 0; i < count; ++i) {
      if (batch[i].words[0] != ++seen) state.SkipWithError("out of order");
    }
  }
  stop.store(true);
  producer.join();
  state.SetItemsProcessed(static_cast<int64_t>(seen));
}
BENCHMARK(BM_RingTwoThreads)->UseRealTime();

}  // namespace
}  // namespace vestq
