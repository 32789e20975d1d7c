// The lease table: what a claim, a renewal and a complete cost in memory, with few and with many
// leases in flight.
#include <benchmark/benchmark.h>

#include <random>
#include <vector>

#include "lease/lease_table.h"

namespace vestq {
namespace {

constexpr uint64_t kSeed = 20250101;

Lease MakeLease(uint64_t n, int64_t deadline_ms) {
  Lease lease;
  lease.id = JobId(n * 16 + 3);
  lease.fence = Fence{1, n};
  lease.deadline = MonoTime(deadline_ms);
  lease.stored_deadline_ms = deadline_ms;
  lease.worker = "worker-17";
  lease.granted = Seconds(30);
  return lease;
}

// `range(0)` leases stand in the table; each turn claims one more and completes the oldest.
void BM_ClaimComplete(benchmark::State& state) {
  LeaseTable table;
  const auto standing = static_cast<uint64_t>(state.range(0));
  table.Reserve(standing + 1);
  uint64_t next = 1;
  for (; next <= standing; ++next)
    table.Insert(MakeLease(next, static_cast<int64_t>(next) + 30'000));
  for (auto _ : state) {
    table.Insert(MakeLease(next, static_cast<int64_t>(next) + 30'000));
    const Lease done = MakeLease(next - standing, 0);
    Lease* found = table.Find(done.id, done.fence);
    if (found == nullptr) {
      state.SkipWithError("a lease was lost");
      break;
    }
    table.Erase(found);
    ++next;
  }
  if (table.size() != standing) state.SkipWithError("wrong size at the end");
  state.counters["bytes_per_lease"] =
      static_cast<double>(table.memory_bytes()) / static_cast<double>(standing);
}
BENCHMARK(BM_ClaimComplete)->Arg(100)->Arg(10'000)->Arg(1'000'000);

void BM_Renew(benchmark::State& state) {
  LeaseTable table;
  const auto standing = static_cast<uint64_t>(state.range(0));
  for (uint64_t n = 1; n <= standing; ++n) table.Insert(MakeLease(n, 30'000));
  std::mt19937_64 random(kSeed);
  std::vector<uint64_t> picks(4096);
  for (uint64_t& pick : picks) pick = random() % standing + 1;
  int64_t now_ms = 1;
  size_t i = 0;
  uint64_t moves = 0;
  for (auto _ : state) {
    const uint64_t n = picks[i++ % picks.size()];
    Lease* lease = table.Find(JobId(n * 16 + 3), Fence{1, n});
    if (lease == nullptr) {
      state.SkipWithError("a lease was lost");
      break;
    }
    moves += table.Renew(lease, MonoTime(now_ms), Seconds(30)).covered ? 0 : 1;
    if (lease->deadline != MonoTime(now_ms) + Seconds(30)) state.SkipWithError("wrong deadline");
    now_ms += i % 256 == 0 ? 1 : 0;
  }
  state.counters["disk_moves"] =
      benchmark::Counter(static_cast<double>(moves), benchmark::Counter::kAvgIterations);
}
BENCHMARK(BM_Renew)->Arg(100)->Arg(10'000)->Arg(1'000'000);

}  // namespace
}  // namespace vestq
