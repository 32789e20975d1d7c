// RocksDB's environment for the simulation: one thread, a virtual clock, jobs that wait until the
// driver runs them.
//
// Schedule() only queues a flush, compaction or purge; the driver runs one with RunOne(random).
// Where RocksDB itself would wait for a job (Close, a flush or compaction that is waited for, a
// stall), the waiting thread runs the queued jobs, oldest first, until what it waits for has
// happened; a wait that no queued job can end is a CHECK, not a hang. That, and taking chance out
// of RocksDB, needs functions of RocksDB replaced at link time (ld --wrap, set by the CMake library
// vestq_sim_env; works with the static library only; sim_rocksdb_hooks.cc has the list with the
// reasons). They act on threads on which a SimEnv lives, and otherwise call the original.
//
// What the options must say (SimOptions sets it; StoreOptions of the engine has to agree):
//   max_file_opening_threads = 1     otherwise Open loads tables on threads of its own
//   max_subcompactions = 1           otherwise a compaction starts threads
//   max_bgerror_resume_count = 0     otherwise a retryable error starts a recovery thread
//   a listener that refuses recovery (NoRecoveryListener): otherwise ENOSPC starts SstFileManager's
//   polling thread,
//                                    whatever the resume count says; the hook makes that a CHECK
//   enable_write_thread_adaptive_yield = false    it measures real time (no effect with one thread,
//   but draws chance) no rate limiter, no delete rate, no follower, no manual_wal_flush
// stats_dump_period_sec and stats_persist_period_sec may be anything: periodic tasks are never
// registered here (nor is the info log's flush), so their timer thread does not exist. The info log
// is null unless options name one.
//
// Order at the end: close the DB, then destroy the SimEnv (a job still queued there is a CHECK),
// then the file system.
//
// Determinism: two runs with one seed in one process, or in two, give the same bytes on disk and
// the same history. RocksDB's chance was: the session id (in every table file), the DB id, the
// thread-local Random (skip list heights, which move the flush points), malloc_usable_size
// (memtable and filter sizes), the host name, the clock. All are replaced. What remains reaches no
// file: the charge of block cache entries, so which of them is evicted, so how often a block is
// read.
//
// Cost (-O2, one core of a 2-core AMD guest, four families): open 2.4 ms, 100 random batches 2.1
// ms, crash and close 0.2 ms, reopen 4.1 ms (half of an open is RocksDB writing and parsing its
// OPTIONS file).
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <thread>

#include "rocksdb/env.h"
#include "rocksdb/options.h"
#include "rocksdb/system_clock.h"
#include "tests/sim/sim_file_system.h"
#include "tests/sim/sim_random.h"

namespace vestq {

inline constexpr uint64_t kSimStartMicros = 1'700'000'000'000'000;  // November 2023

// The virtual clock. Never moves by itself.
class SimClock : public rocksdb::SystemClock {
 public:
  explicit SimClock(uint64_t start_us) : now_us_(start_us) {}
  const char* Name() const override { return "SimClock"; }
  uint64_t NowMicros() override { return now_us_; }
  uint64_t NowNanos() override { return now_us_ * 1000; }
  // Sleeping is time that passes.
  void SleepForMicroseconds(int us) override { Advance(us > 0 ? static_cast<uint64_t>(us) : 0); }
  // Runs a queued job if there is one; otherwise the time is up at once.
  bool TimedWait(rocksdb::port::CondVar* cv, std::chrono::microseconds deadline) override;
  rocksdb::Status GetCurrentTime(int64_t* seconds) override;
  std::string TimeToString(uint64_t seconds) override { return std::to_string(seconds); }

  void Advance(uint64_t us) { now_us_ += us; }
  void AdvanceTo(uint64_t us) {
    if (us > now_us_) now_us_ = us;
  }

 private:
  uint64_t now_us_;
};

class SimEnv : public rocksdb::EnvWrapper {
 public:
  // `seed` is for what RocksDB draws inside (see above), apart from the driver's own SimRandom.
  SimEnv(std::shared_ptr<SimFileSystem> fs, uint64_t seed, uint64_t start_us = kSimStartMicros);
  ~SimEnv() override;

  SimFileSystem& fs() { return *fs_; }
  SimClock& clock() { return *clock_; }

  // --- Jobs ---
  size_t queued() const { return jobs_.size(); }
  // Runs one queued job, picked by `random`; false when there is none. A job runs to its end, and
  // may queue others.
  bool RunOne(SimRandom& random);
  // Runs the oldest queued job; false when there is none.
  bool RunOldest();
  // Runs jobs until none is queued.
  void RunAll(SimRandom& random) {
    while (RunOne(random)) {
    }
  }
  uint64_t jobs_run() const { return jobs_run_; }

  // --- rocksdb::Env ---
  const char* Name() const override { return "SimEnv"; }
  void Schedule(void (*function)(void*), void* argument, Priority priority, void* tag,
                void (*unschedule)(void*)) override;
  int UnSchedule(void* tag, Priority priority) override;
  // Refused: a thread cannot be replayed.
  void StartThread(void (*function)(void*), void* argument) override;
  void WaitForJoin() override {}
  unsigned int GetThreadPoolQueueLen(Priority priority) const override;
  void SetBackgroundThreads(int number, Priority priority) override;
  int GetBackgroundThreads(Priority priority) override;
  void IncBackgroundThreadsIfNeeded(int number, Priority priority) override;
  int ReserveThreads(int, Priority) override { return 0; }
  int ReleaseThreads(int, Priority) override { return 0; }
  void LowerThreadPoolIOPriority(Priority) override {}
  void LowerThreadPoolCPUPriority(Priority) override {}
  rocksdb::Status LowerThreadPoolCPUPriority(Priority, rocksdb::CpuPriority) override {
    return rocksdb::Status::OK();
  }
  uint64_t NowMicros() override { return clock_->NowMicros(); }
  uint64_t NowNanos() override { return clock_->NowNanos(); }
  uint64_t NowCPUNanos() override { return 0; }
  void SleepForMicroseconds(int us) override { clock_->SleepForMicroseconds(us); }
  rocksdb::Status GetCurrentTime(int64_t* seconds) override {
    return clock_->GetCurrentTime(seconds);
  }
  std::string TimeToString(uint64_t seconds) override { return clock_->TimeToString(seconds); }
  rocksdb::Status GetHostName(char* name, uint64_t size) override;
  std::string GenerateUniqueId() override;
  uint64_t GetThreadID() const override { return 1; }
  rocksdb::Status GetThreadList(std::vector<rocksdb::ThreadStatus>*) override;
  rocksdb::ThreadStatusUpdater* GetThreadStatusUpdater() const override { return nullptr; }

  // The newest SimEnv living on this thread, or nullptr. For the hooks.
  static SimEnv* Current();
  // One step for a thread that waits inside RocksDB: runs the oldest job of any SimEnv of this
  // thread; false: none.
  static bool StepForWaiter();
  // The next number of RocksDB's own draws.
  uint64_t Draw() { return inner_random_.Next(); }

 private:
  struct Job {
    void (*function)(void*);
    void* argument;
    Priority priority;
    void* tag;
    void (*unschedule)(void*);
  };
  void Run(std::deque<Job>::iterator job);

  const std::shared_ptr<SimFileSystem> fs_;
  const std::shared_ptr<SimClock> clock_;
  const std::thread::id thread_;
  SimRandom inner_random_;
  std::deque<Job> jobs_;
  int background_threads_[TOTAL];
  uint64_t jobs_run_ = 0;
};

// DBOptions with all that the simulation needs (the list above), on `env`.
rocksdb::DBOptions SimOptions(SimEnv* env);
// Refuses every automatic recovery from a background error.
std::shared_ptr<rocksdb::EventListener> NoRecoveryListener();
// Seeds RocksDB's Random of this thread. SimEnv's constructor does it; a driver that runs several
// SimEnvs at once may do it again.
void SeedRocksRandom(uint64_t seed);

}  // namespace vestq
