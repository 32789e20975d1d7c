// The whole engine in one process: a store, its write queue and syncer, and cores that own lanes
// (engine/core.h).
//
// A daemon drives each core from a reactor thread (net/); a program that embeds the engine does the
// same from its own loop; the simulation drives everything from one thread. Open, then for each
// core, on the thread that is to own it: loop { core.Start(requests...); core.Turn(); sleep if
// core.PrepareSleep() }.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/ids.h"
#include "engine/base/limits.h"
#include "engine/base/result.h"
#include "engine/core.h"
#include "engine/engine_clock.h"
#include "engine/event_hub.h"
#include "engine/request.h"
#include "engine/store.h"

namespace vestq {

// Which event lets an answer leave.
enum class Durability : uint8_t {
  kSync,      // the log is synced
  kInterval,  // written; the log is synced every interval, at most that much is lost in a power cut
  kOs,        // written; the operating system syncs when it likes
};

struct EngineOptions {
  std::string path;
  uint16_t cores = 1;
  uint16_t lanes = 0;  // 0: the store's, limits::kLanesDefault for a new one
  uint64_t memory = limits::kMemoryDefault;
  Durability durability = Durability::kSync;
  Duration sync_interval = Milliseconds(50);
  size_t max_leased =
      0;  // 0: by memory, limits::kMemoryPerLeased; at most memory / kMemoryPerLeasedMin
  // What spaces with ready jobs take of memory, over all cores; beyond it they are looked for in the store,
  // in turn. 0: an eighth of `memory`.
  uint64_t space_memory = 0;
  bool accept_data_loss = false;
  bool compress_wal = false;
  ClockSource* clock = nullptr;  // nullptr: SystemClockSource()
  uint64_t seed = 0;             // of the back-off's jitter; 0: from the clock
  std::function<void(std::string_view line)> log;

  // The deterministic driver: no thread is started; the driver calls WriteDrain, SyncOnce and
  // RunRead itself.
  bool manual = false;
  rocksdb::Env* env = nullptr;
  std::shared_ptr<rocksdb::Statistics> statistics;
  std::function<void(const std::string& rep)> observe_write;  // WriteQueue::set_observer
};

struct EngineInfo {
  std::string path;
  uint16_t cores = 0;
  uint16_t lanes = 0;
  uint64_t memory = 0;
  Durability durability = Durability::kSync;
  uint32_t epoch = 0;  // starts of this store
  MonoTime engine_time;
  WallTime wall_time;
  uint64_t jobs_ready = 0, jobs_scheduled = 0, jobs_waiting = 0, jobs_leased = 0, jobs_dead = 0;
  uint64_t queues = 0;
  uint64_t schedules = 0;
  uint64_t waiters = 0;
  uint64_t space_bytes = 0;    // of spaces with ready jobs in memory
  uint64_t leases_served = 0;  // LEASEs that were answered with a job
  double lease_us_p50 =
      0;  // inside the engine: from Start to the claim, blocking and sync not counted
  double lease_us_p99 = 0;
  uint64_t tickets_submitted = 0, tickets_written = 0, tickets_durable = 0;
  uint64_t syncs = 0;
  uint64_t cold_reads = 0;
  uint64_t reads_under_way = 0;
  OpenReport open;
};

class Engine {
 public:
  // Opens (or creates) the data directory and rebuilds what memory must know: leases, counters, due
  // times; not where ready jobs stand, which is looked for when somebody asks. Blocks.
  // Errors as Store::Open, and kRange: more cores than lanes, lanes other than the store's.
  static Result<std::unique_ptr<Engine>> Open(const EngineOptions& options);
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  uint16_t cores() const;
  Core* core(CoreId id);
  EngineClock* clock();
  uint64_t memory() const;
  uint64_t max_payload() const;  // the greatest that memory allows: min(64 MiB, memory / 16)

  // Snapshots for INFO and stats; any thread, does not block the cores. Exact at a quiet moment.
  EngineInfo Info() const;
  std::vector<QueueCounts> Queues() const;
  // False when there is no such queue.
  bool Queue(std::string_view name, QueueCounts* counts, QueueOptions* options = nullptr) const;

  // A write or sync has failed: every answer from now on is NOTDURABLE or SHUTDOWN. The daemon
  // ends.
  bool failed() const;
  Error failure() const;
  // Called once, from any thread, when failed() becomes true. REQUIRES: set before the first Turn.
  void set_on_failure(std::function<void()> f);

  // Events of jobs go to the subscription from now on, until Unlisten; EventsRequest reads them. Any
  // thread. Errors: kFull (limits::kEventReaders).
  Error Listen(std::shared_ptr<EventSubscription> subscription);
  void Unlisten(const EventSubscription* subscription);

  // REQUIRES: no core is inside Turn any more. Writes and syncs what is left, leaves the clean
  // mark, closes. Blocks.
  Error Close();

  // The deterministic driver (EngineOptions::manual). Each returns false when there was nothing to
  // do.
  bool WriteDrain();
  bool SyncOnce();
  bool RunRead();
  void PlantAnswerBeforeSync();  // the planted bug of the simulation

 private:
  struct Impl;
  explicit Engine(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace vestq
