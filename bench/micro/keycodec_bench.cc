// Encoding and decoding the keys and values that each job's life goes through.
#include <benchmark/benchmark.h>

#include <random>
#include <string>
#include <vector>

#include "keycodec/keys.h"
#include "keycodec/records.h"

namespace vestq::keycodec {
namespace {

constexpr uint64_t kSeed = 20250101;
constexpr size_t kSamples = 1024;

std::vector<ReadyKey> ReadyKeys(size_t space_bytes) {
  std::mt19937_64 random(kSeed);
  std::vector<ReadyKey> keys(kSamples);
  for (ReadyKey& key : keys) {
    key.lane = LaneId(static_cast<uint16_t>(random() % 16));
    key.zone.queue = QueueId(static_cast<uint32_t>(random() % 1000 + 1));
    key.zone.incarnation = Incarnation(1);
    for (size_t i = 0; i < space_bytes; ++i) {
      key.zone.space.push_back(static_cast<char>('a' + random() % 26));
    }
    key.rank.priority = 1024;
    key.rank.time_ms = static_cast<int64_t>(random() % 1'000'000'000'000);
    key.rank.id = JobId(random() % (uint64_t{1} << 53));
  }
  return keys;
}

void BM_ReadyKeyEncode(benchmark::State& state) {
  const std::vector<ReadyKey> keys = ReadyKeys(static_cast<size_t>(state.range(0)));
  std::string out;
  size_t i = 0;
  for (auto _ : state) {
    const ReadyKey& key = keys[i++ % kSamples];
    out.clear();
    AppendReadyKey(key.lane, key.zone.queue, key.zone.incarnation, key.zone.order, key.zone.space,
                   key.rank, &out);
    benchmark::DoNotOptimize(out.data());
    benchmark::ClobberMemory();
  }
  const ReadyKey& last = keys[(i - 1) % kSamples];
  const Result<ReadyKey> back = DecodeReadyKey(out);
  if (!back.ok() || !(*back == last)) state.SkipWithError("the key did not come back");
}
BENCHMARK(BM_ReadyKeyEncode)->Arg(0)->Arg(16)->Arg(200);

void BM_ReadyKeyDecode(benchmark::State& state) {
  const std::vector<ReadyKey> keys = ReadyKeys(static_cast<size_t>(state.range(0)));
  std::vector<std::string> bytes;
  for (const ReadyKey& key : keys) bytes.push_back(Encode(key));
  size_t i = 0;
  for (auto _ : state) {
    const Result<ReadyKey> key = DecodeReadyKey(bytes[i % kSamples]);
    if (!key.ok() || key->rank.id != keys[i % kSamples].rank.id) {
      state.SkipWithError("wrong key");
      break;
    }
    ++i;
  }
}
BENCHMARK(BM_ReadyKeyDecode)->Arg(0)->Arg(16)->Arg(200);

void BM_LeasedKeyEncodeDecode(benchmark::State& state) {
  std::string out;
  uint64_t id = 1;
  for (auto _ : state) {
    out.clear();
    AppendLeasedKey(LaneId(3), 1'700'000'000'000, JobId(++id), &out);
    const Result<LeasedKey> key = DecodeLeasedKey(out);
    if (!key.ok() || key->id != JobId(id)) {
      state.SkipWithError("wrong key");
      break;
    }
  }
}
BENCHMARK(BM_LeasedKeyEncodeDecode);

void BM_LeasedValueEncodeDecode(benchmark::State& state) {
  LeasedValue value;
  value.attempt = 1;
  value.attempts_max = 25;
  value.zone.queue = QueueId(7);
  value.zone.incarnation = Incarnation(1);
  value.priority = 1024;
  value.enqueued_ms = 123'456'789;
  value.ready_time_ms = 123'456'789;
  value.lease_ms = 30'000;
  value.worker = "worker-17";
  std::string out;
  uint64_t claim = 0;
  for (auto _ : state) {
    value.fence = Fence{4, ++claim};
    out.clear();
    Append(value, &out);
    const Result<LeasedValue> back = DecodeLeasedValue(out);
    if (!back.ok() || back->fence != value.fence) {
      state.SkipWithError("wrong value");
      break;
    }
  }
  state.counters["bytes"] = static_cast<double>(out.size());
}
BENCHMARK(BM_LeasedValueEncodeDecode);

void BM_JobRecordEncodeDecode(benchmark::State& state) {
  JobHeader header;
  header.zone.queue = QueueId(7);
  header.zone.incarnation = Incarnation(1);
  header.priority = 1024;
  header.enqueued_ms = 123'456'789;
  header.enqueued_wall_ms = 1'700'000'000'000;
  header.attempts_max = 25;
  const std::string payload(static_cast<size_t>(state.range(0)), 'x');
  std::string out;
  for (auto _ : state) {
    out.clear();
    AppendJobRecord(header, payload, &out);
    const Result<JobRecord> back = DecodeJobRecord(out);
    if (!back.ok() || back->payload.size() != payload.size()) {
      state.SkipWithError("wrong record");
      break;
    }
  }
  state.counters["header_bytes"] = static_cast<double>(out.size() - payload.size());
}
BENCHMARK(BM_JobRecordEncodeDecode)->Arg(256)->Arg(1024);

}  // namespace
}  // namespace vestq::keycodec
