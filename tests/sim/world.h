// The deterministic driver: an engine with all its cores, its writer, syncer and readers on one
// thread, over RocksDB on SimEnv, under a clock that only the test moves. Tests and the simulation
// (tests/sim/simulation.h) drive it.
//
// Everything that may happen next is a step; `Step` picks one by the seeded random source, `Settle`
// takes them in a fixed order until nothing is left to do at this moment.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/check.h"
#include "engine/engine.h"
#include "tests/sim/discipline_checker.h"
#include "tests/sim/sim_env.h"
#include "tests/sim/sim_file_system.h"
#include "tests/sim/sim_random.h"

namespace vestq {

// The machine's clocks, moved by the test.
class ManualClockSource : public ClockSource {
 public:
  int64_t BoottimeMs() override { return boottime_ms; }
  int64_t WallMs() override { return wall_ms; }
  std::string BootId() override { return "boot-" + std::to_string(boot); }
  int64_t NowNs() override { return boottime_ms * 1'000'000; }

  int64_t boottime_ms = 1'000;
  int64_t wall_ms = 1'700'000'000'000;
  int boot = 1;
};

struct WorldOptions {
  uint64_t seed = 1;
  uint16_t cores = 1;
  uint16_t lanes = 4;
  uint64_t memory = uint64_t{32} << 20;
  uint64_t space_memory = 0;  // EngineOptions::space_memory
  Durability durability = Durability::kSync;
  size_t max_leased = 0;
  std::shared_ptr<rocksdb::Statistics> statistics;
  bool plant_answer_before_sync = false;
};

class World {
 public:
  explicit World(const WorldOptions& options = {});
  ~World();

  // Opens the engine; CHECKs that it opens.
  void Open();
  Error TryOpen();
  bool is_open() const { return engine_ != nullptr; }
  Error Close();  // an orderly end

  // The process is killed (what was written stays) or the power is cut; requests under way never
  // come back.
  void Kill();
  void PowerCut(CrashMode mode);
  // After a power cut a machine boots: the clocks go on after `down`.
  void Boot(Duration down);

  void Advance(Duration time);  // both clocks
  void StepWall(Duration by) { clock_.wall_ms += by.ms(); }

  // One random thing that could happen next; false when there is nothing.
  bool Step();
  // Everything that can happen now, in a fixed order.
  void Settle();

  // Starts a request on a core and settles until it is done. CHECKs that it is.
  void Run(Request* request, uint16_t core = 0);
  // Starts it only; `*done` becomes true.
  void Start(Request* request, bool* done, uint16_t core = 0, Stream* stream = nullptr);

  // The plain cases, run to their end.
  JobId Enqueue(const std::string& queue, const std::string& payload, const std::string& space = "",
                uint16_t core = 0);
  std::vector<LeasedJob> Lease(const std::string& queue, uint32_t count = 1,
                               Duration lease = Duration(0), uint16_t core = 0);
  Error Complete(const Receipt& receipt, uint16_t core = 0);
  QueueCounts Counts(const std::string& queue);
  JobState State(JobId id);
  // Closes, checks every invariant offline, opens again; the report's violations.
  std::vector<std::string> Violations();
  // The same of a store that no engine has open, after a crash.
  std::vector<std::string> CheckOffline();
  // What the last of these checks counted.
  const CheckReport& last_report() const { return last_report_; }

  Engine* engine() { return engine_.get(); }
  Core* core(uint16_t i) { return engine_->core(CoreId(i)); }
  ManualClockSource& clock() { return clock_; }
  SimRandom& random() { return random_; }
  SimFileSystem& fs() { return *fs_; }
  SimEnv& env() { return *env_; }
  const WorldOptions& options() const { return options_; }
  // For the next Open.
  void set_cores(uint16_t cores) { options_.cores = cores; }
  void set_lanes(uint16_t lanes) { options_.lanes = lanes; }
  std::vector<std::string>& log() { return log_; }
  // The first breach of FAMILY-1 by a batch that was written; empty when there was none. Checked from a
  // new store on, and after a crash once CheckOffline has looked.
  const std::string& discipline_breach() const { return discipline_breach_; }
  // Puts and deletes of all batches so far, those of counters and clocks too.
  uint64_t records_written() const { return records_written_; }
  // And the bytes of those batches, as they go to the log.
  uint64_t bytes_written() const { return bytes_written_; }

 private:
  void Drop();

  WorldOptions options_;
  ManualClockSource clock_;
  SimRandom random_;
  std::shared_ptr<SimFileSystem> fs_;
  std::unique_ptr<SimEnv> env_;
  std::unique_ptr<Engine> engine_;
  std::vector<std::string> log_;
  CheckReport last_report_;
  DisciplineChecker discipline_;
  bool discipline_known_ = true;  // discipline_ holds the store's keys
  std::string discipline_breach_;
  uint64_t records_written_ = 0;
  uint64_t bytes_written_ = 0;
};

}  // namespace vestq
