#include "engine/engine.h"

#include <algorithm>
#include <mutex>

#include "engine/base/check.h"
#include "engine/core_impl.h"
#include "engine/engine_open.h"
#include "engine/shared.h"
#include "engine/syncer.h"
#include "engine/writer_thread.h"

namespace vestq {
namespace {
constexpr int kReadThreads = 2;
constexpr uint16_t kCoresThatWriteThemselves = 3;
// Of the memory budget, for records held by windows; the store's own share is in store_options.h.
constexpr uint64_t kPayloadShare = 8;
constexpr uint64_t kSpaceShare = 8;  // the same, for spaces with ready jobs and their windows
}  // namespace

struct Engine::Impl {
  EngineShared shared;
  std::unique_ptr<Syncer> syncer;
  std::unique_ptr<WriterThread> writer;
  std::atomic<bool> failure_told{false};
  std::function<void()> on_failure;
  bool closed = false;

  void WakeCores() {
    for (auto& core : shared.core_list) CoreAccess::Of(core.get())->Wake();
  }
  void Advanced() {
    if (shared.writes->failed() && !failure_told.exchange(true) && on_failure) on_failure();
    WakeCores();
  }
  // Errors: as Engine::Open. Leaves nothing running on an error.
  Error OpenStore();
  Error Recover(const StoredRows& rows);
  Error WriteStart(const StoredRows& rows, Batch* batch);
  void StartThreads();
};

Engine::Engine(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

Engine::~Engine() {
  if (!impl_->closed) {
    if (const Error error = Close(); !error.ok() && impl_->shared.options.log) {
      impl_->shared.options.log("closing failed: " + error.ToString());
    }
  }
}

Result<std::unique_ptr<Engine>> Engine::Open(const EngineOptions& options) {
  auto impl = std::make_unique<Impl>();
  EngineShared& shared = impl->shared;
  shared.options = options;
  if (shared.options.clock == nullptr) shared.options.clock = SystemClockSource();
  if (shared.options.seed == 0) {
    shared.options.seed =
        static_cast<uint64_t>(shared.options.clock->WallMs() ^ shared.options.clock->NowNs());
  }
  shared.cores = options.cores;
  if (options.cores == 0 || options.cores > limits::kCoresMax) {
    return Error(ErrorCode::kRange, "cores must be 1 to " + std::to_string(limits::kCoresMax) +
                                        ", not " + std::to_string(options.cores));
  }
  if (options.lanes > limits::kLanesMax) {
    return Error(ErrorCode::kRange, "lanes must be 1 to " + std::to_string(limits::kLanesMax) +
                                        ", not " + std::to_string(options.lanes));
  }
  if (options.memory < limits::kMemoryMin) {
    return Error(ErrorCode::kRange,
                 "memory must be at least " + std::to_string(limits::kMemoryMin >> 20) + " MiB");
  }
  const uint64_t most_leased = options.memory / limits::kMemoryPerLeasedMin;
  if (options.max_leased > most_leased) {
    return Error(ErrorCode::kRange, "max-leased must be at most " + std::to_string(most_leased) +
                                        " with this memory, not " +
                                        std::to_string(options.max_leased));
  }
  if (options.max_leased == 0) {
    shared.options.max_leased = static_cast<size_t>(
        std::min<uint64_t>(limits::kMaxLeasedMost, options.memory / limits::kMemoryPerLeased));
  }
  VESTQ_RETURN_IF_ERROR(impl->OpenStore());
  return std::unique_ptr<Engine>(new Engine(std::move(impl)));
}

Error Engine::Impl::OpenStore() {
  const EngineOptions& options = shared.options;
  StoreOptions store;
  store.path = options.path;
  store.memory = options.memory;
  store.lanes = options.lanes;
  store.cores = options.cores;
  store.accept_data_loss = options.accept_data_loss;
  store.compress_wal = options.compress_wal;
  store.env = options.env;
  store.statistics = options.statistics;
  store.log = options.log;
  Result<std::unique_ptr<Store>> opened = Store::Open(store);
  if (!opened.ok()) return opened.error();
  shared.store = std::move(*opened);
  const Result<StoredRows> rows = ReadStoredRows(*shared.store, shared.store->lanes());
  if (!rows.ok()) return rows.error();
  shared.lanes = rows->lanes;
  if (rows->lanes != shared.store->lanes()) {
    return Error(ErrorCode::kCorruption,
                 "the data directory \"" + options.path + "\" has a format file VESTQ that says " +
                     std::to_string(shared.store->lanes()) + " lanes, the store says " +
                     std::to_string(rows->lanes));
  }
  return Recover(*rows);
}

Error Engine::Impl::Recover(const StoredRows& rows) {
  shared.epoch = rows.epoch + 1;
  shared.clock = std::make_unique<EngineClock>(shared.options.clock, rows.clocks);
  shared.writes = std::make_unique<WriteQueue>(shared.store.get());
  shared.queues = std::make_unique<QueueRegistry>(shared.writes.get(), shared.cores);
  shared.events = std::make_unique<EventHub>(shared.cores);
  shared.schedules = std::make_unique<ScheduleRegistry>();
  shared.ids = std::make_unique<IdAllocator>(shared.writes.get(), rows.next_id);
  shared.payload_cache_bytes = shared.options.memory / kPayloadShare / shared.cores;
  const uint64_t spaces = shared.options.space_memory > 0 ? shared.options.space_memory
                                                          : shared.options.memory / kSpaceShare;
  shared.space_bytes_max = spaces / shared.cores;
  for (const auto& [name, value] : rows.queues)
    VESTQ_RETURN_IF_ERROR(shared.queues->Restore(name, value));
  for (const QueueId number : rows.dropped)
    VESTQ_RETURN_IF_ERROR(shared.queues->RestoreDropped(number));
  shared.queues->RestoreNext(static_cast<uint32_t>(rows.next_queue));
  shared.queues->RestoreErasing(rows.erasing);
  shared.reads = std::make_unique<ReadPool>(
      shared.store.get(), shared.writes.get(), shared.cores,
      [this](CoreId core) { CoreAccess::Of(shared.core_list[core.value()].get())->Wake(); });
  for (size_t i = 0; i < size_t{shared.cores} * shared.cores; ++i) {
    shared.rings.push_back(std::make_unique<MessageRing>(shared.cores > 1 ? 1024 : 1));
  }
  for (uint16_t i = 0; i < shared.cores; ++i) {
    shared.core_list.push_back(std::make_unique<Core>(&shared, CoreId(i)));
  }
  Batch start;
  VESTQ_RETURN_IF_ERROR(RestoreCounters(&shared, rows, &start));
  VESTQ_RETURN_IF_ERROR(RestoreLeases(&shared));
  VESTQ_RETURN_IF_ERROR(RestoreSchedules(&shared));
  VESTQ_RETURN_IF_ERROR(RestoreSpaces(&shared, &start));
  if (shared.options.observe_write) shared.writes->set_observer(shared.options.observe_write);
  shared.writes->set_on_written([this] {
    if (syncer) syncer->Notify();
    if (shared.options.durability != Durability::kSync || shared.writes->failed()) Advanced();
  });
  shared.writes->set_on_durable([this] {
    if (shared.options.durability == Durability::kSync || shared.writes->failed()) Advanced();
  });
  VESTQ_RETURN_IF_ERROR(WriteStart(rows, &start));
  if (!shared.options.manual) StartThreads();
  for (auto& core : shared.core_list) CoreAccess::Of(core.get())->BeginRecovery(rows.fresh);
  return Error::Ok();
}

// The new epoch is durable before the first claim can carry it (LEASE-2); and so is where engine time goes on from,
// for a start that nothing is written after (TIME-1).
Error Engine::Impl::WriteStart(const StoredRows& rows, Batch* batch) {
  if (rows.fresh)
    batch->Put(Family::kRows, keycodec::SettingKey("lanes"), keycodec::EncodeNumber(rows.lanes));
  batch->Put(Family::kRows, keycodec::SettingKey("epoch"), keycodec::EncodeNumber(shared.epoch));
  std::string clock;
  keycodec::Append(shared.clock->Snapshot(), &clock);
  batch->Put(Family::kRows, keycodec::ClockKey(0), clock);
  shared.writes->Submit(batch);
  while (shared.writes->Drain()) {
  }
  shared.writes->SyncOnce();
  return shared.writes->failed() ? shared.writes->failure() : Error::Ok();
}

void Engine::Impl::StartThreads() {
  Syncer::Options options;
  switch (shared.options.durability) {
    case Durability::kSync: options.mode = Syncer::Mode::kSync; break;
    case Durability::kInterval: options.mode = Syncer::Mode::kInterval; break;
    case Durability::kOs: options.mode = Syncer::Mode::kOs; break;
  }
  options.interval = std::chrono::milliseconds(shared.options.sync_interval.ms());
  syncer = std::make_unique<Syncer>(shared.writes.get(), options);
  syncer->Start();
  if (shared.cores > kCoresThatWriteThemselves) {
    writer = std::make_unique<WriterThread>(shared.writes.get());
    shared.writer = writer.get();
    writer->Start();
  }
  shared.reads->StartThreads(kReadThreads);
}

uint16_t Engine::cores() const { return impl_->shared.cores; }
Core* Engine::core(CoreId id) {
  CHECK(id.value() < impl_->shared.cores);
  return impl_->shared.core_list[id.value()].get();
}
EngineClock* Engine::clock() { return impl_->shared.clock.get(); }
uint64_t Engine::memory() const { return impl_->shared.options.memory; }
uint64_t Engine::max_payload() const { return impl_->shared.PayloadMax(); }

EngineInfo Engine::Info() const {
  const EngineShared& shared = impl_->shared;
  EngineInfo info;
  info.path = shared.options.path;
  info.cores = shared.cores;
  info.lanes = shared.lanes;
  info.memory = shared.options.memory;
  info.durability = shared.options.durability;
  info.epoch = shared.epoch;
  info.engine_time = shared.clock->Now();
  info.wall_time = shared.clock->Wall();
  for (QueueRecord* record : shared.queues->All()) {
    const QueueCounts counts = record->Counts(shared.cores);
    info.jobs_ready += static_cast<uint64_t>(counts.ready);
    info.jobs_scheduled += static_cast<uint64_t>(counts.scheduled);
    info.jobs_waiting += static_cast<uint64_t>(counts.waiting);
    info.jobs_leased += static_cast<uint64_t>(counts.leased);
    info.jobs_dead += static_cast<uint64_t>(counts.dead);
    info.waiters += counts.waiters;
    info.queues += record->stored.load(std::memory_order_relaxed);
  }
  info.schedules = shared.schedules->size();
  info.space_bytes = shared.space_bytes.load(std::memory_order_relaxed);
  info.leases_served = shared.leases_served.load(std::memory_order_relaxed);
  info.lease_us_p50 = shared.lease_latency.PercentileUs(0.5);
  info.lease_us_p99 = shared.lease_latency.PercentileUs(0.99);
  info.tickets_submitted = shared.writes->submitted().value();
  info.tickets_written = shared.writes->written().value();
  info.tickets_durable = shared.writes->durable().value();
  info.syncs = shared.writes->syncs();
  info.cold_reads = shared.reads->reads();
  info.reads_under_way = shared.reads->under_way();
  info.open = shared.store->report();
  return info;
}

std::vector<QueueCounts> Engine::Queues() const {
  std::vector<QueueCounts> out;
  for (QueueRecord* record : impl_->shared.queues->All()) {
    if (record->stored.load(std::memory_order_relaxed))
      out.push_back(record->Counts(impl_->shared.cores));
  }
  return out;
}

bool Engine::Queue(std::string_view name, QueueCounts* counts, QueueOptions* options) const {
  QueueRecord* const record = impl_->shared.queues->Find(name);
  if (record == nullptr || !record->stored.load(std::memory_order_relaxed)) return false;
  *counts = record->Counts(impl_->shared.cores);
  if (options != nullptr) *options = impl_->shared.queues->Options(*record);
  return true;
}

bool Engine::failed() const { return impl_->shared.writes->failed(); }
Error Engine::failure() const { return impl_->shared.writes->failure(); }
void Engine::set_on_failure(std::function<void()> f) { impl_->on_failure = std::move(f); }

Error Engine::Listen(std::shared_ptr<EventSubscription> subscription) {
  return impl_->shared.events->Add(std::move(subscription));
}
void Engine::Unlisten(const EventSubscription* subscription) {
  impl_->shared.events->Remove(subscription);
}

Error Engine::Close() {
  EngineShared& shared = impl_->shared;
  if (impl_->closed) return Error::Ok();
  impl_->closed = true;
  shared.reads->Stop();
  if (impl_->writer) impl_->writer->Stop();
  while (!shared.writes->failed() && shared.writes->Drain()) {
  }
  if (impl_->syncer) {
    impl_->syncer->Stop();
  } else if (!shared.writes->failed()) {
    shared.writes->SyncOnce();
  }
  if (shared.writes->failed()) return shared.writes->failure();
  return shared.store->Close();
}

bool Engine::WriteDrain() {
  const uint64_t before = impl_->shared.writes->written().value();
  impl_->shared.writes->Drain();
  return impl_->shared.writes->written().value() != before;
}
bool Engine::SyncOnce() { return impl_->shared.writes->SyncOnce(); }
bool Engine::RunRead() { return impl_->shared.reads->RunOne(); }
void Engine::PlantAnswerBeforeSync() { impl_->shared.writes->set_plant_answer_before_sync(true); }

}  // namespace vestq
