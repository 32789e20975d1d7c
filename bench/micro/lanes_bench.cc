// The ring between two cores: within one thread (its instructions) and between two (its cache
// lines).
#include <benchmark/benchmark.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "lanes/fair_queue.h"
#include "lanes/ready_window.h"
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

ReadyJob MakeJob(uint64_t n, const std::shared_ptr<const std::string>& record) {
  ReadyJob job;
  job.rank = keycodec::ReadyRank{1024, static_cast<int64_t>(n), JobId(n)};
  job.record = record;
  return job;
}

// The hot path: a job comes in at the end, the first one is taken; `range(0)` stand in the window.
void BM_WindowInsertPop(benchmark::State& state) {
  const auto standing = static_cast<uint64_t>(state.range(0));
  ReadyWindow window(keycodec::Order::kPriority, 4096, true);
  const auto record = std::make_shared<const std::string>(256, 'x');
  uint64_t next = 1;
  for (; next <= standing; ++next) window.Insert(MakeJob(next, record));
  for (auto _ : state) {
    window.Insert(MakeJob(next, record));
    const ReadyJob first = window.PopFront();
    if (first.rank.id != JobId(next - standing)) {
      state.SkipWithError("wrong order");
      break;
    }
    ++next;
  }
}
BENCHMARK(BM_WindowInsertPop)->Arg(0)->Arg(100)->Arg(4000);

// The cold path: 64 jobs found by a scan fill an empty window and are taken again; time a job.
void BM_WindowRefill(benchmark::State& state) {
  constexpr uint64_t kBatch = 64;
  ReadyWindow window(keycodec::Order::kPriority, kBatch, false);
  uint64_t next = 1;
  for (auto _ : state) {
    std::vector<ReadyJob> found;
    found.reserve(kBatch);
    for (uint64_t i = 0; i < kBatch; ++i) found.push_back(MakeJob(next + i, nullptr));
    window.BeginRefill();
    window.FinishRefill(std::move(found), false);
    if (window.size() != kBatch) {
      state.SkipWithError("a scan was dropped");
      break;
    }
    while (!window.empty()) {
      if (window.PopFront().rank.id != JobId(next++)) state.SkipWithError("wrong order");
    }
  }
  state.SetItemsProcessed(static_cast<int64_t>(next - 1));
}
BENCHMARK(BM_WindowRefill);

// One job of the space whose turn it is, with `range(0)` active spaces.
void BM_FairQueueServe(benchmark::State& state) {
  const auto spaces = static_cast<uint64_t>(state.range(0));
  FairQueue queue;
  std::vector<uint64_t> served(spaces);
  for (uint64_t& count : served) queue.Activate(queue.Add(&count));
  for (auto _ : state) {
    const FairQueue::Handle turn = queue.Top();
    ++*static_cast<uint64_t*>(queue.TopOwner());
    queue.Charge(turn);
  }
  for (const uint64_t count : served) {
    if (count + 1 < served.front() || count > served.front() + 1) state.SkipWithError("not fair");
  }
}
BENCHMARK(BM_FairQueueServe)->Arg(1)->Arg(100)->Arg(100'000);

}  // namespace
}  // namespace vestq
