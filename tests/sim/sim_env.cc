#include "tests/sim/sim_env.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <utility>
#include <vector>

#include "engine/base/check.h"
#include "rocksdb/listener.h"
#include "rocksdb/thread_status.h"

namespace vestq {

namespace {

std::vector<SimEnv*>& EnvsOfThread() {
  thread_local std::vector<SimEnv*> envs;
  return envs;
}

class NoRecovery : public rocksdb::EventListener {
 public:
  void OnErrorRecoveryBegin(rocksdb::BackgroundErrorReason /*reason*/, rocksdb::Status /*error*/,
                            bool* automatic) override {
    *automatic = false;
  }
};

}  // namespace

bool SimClock::TimedWait(rocksdb::port::CondVar* /*cv*/, std::chrono::microseconds deadline) {
  AdvanceTo(static_cast<uint64_t>(std::max<int64_t>(deadline.count(), 0)));
  return true;
}

rocksdb::Status SimClock::GetCurrentTime(int64_t* seconds) {
  *seconds = static_cast<int64_t>(now_us_ / 1'000'000);
  return rocksdb::Status::OK();
}

SimEnv::SimEnv(std::shared_ptr<SimFileSystem> fs, uint64_t seed, uint64_t start_us)
    : rocksdb::EnvWrapper(std::shared_ptr<rocksdb::Env>(rocksdb::NewCompositeEnv(fs))),
      fs_(std::move(fs)),
      clock_(std::make_shared<SimClock>(start_us)),
      thread_(std::this_thread::get_id()),
      inner_random_(seed) {
  file_system_ = fs_;
  system_clock_ = clock_;
  background_threads_[BOTTOM] = 0;
  background_threads_[LOW] = 1;
  background_threads_[HIGH] = 1;
  background_threads_[USER] = 1;
  EnvsOfThread().push_back(this);
  SeedRocksRandom(Draw());
}

SimEnv::~SimEnv() {
  CHECK(jobs_.empty(), "close the DB before its SimEnv");
  std::erase(EnvsOfThread(), this);
}

SimEnv* SimEnv::Current() { return EnvsOfThread().empty() ? nullptr : EnvsOfThread().back(); }

bool SimEnv::StepForWaiter() {
  for (SimEnv* env : EnvsOfThread()) {
    if (env->RunOldest()) return true;
  }
  return false;
}

void SimEnv::Run(std::deque<Job>::iterator job) {
  const Job taken = *job;
  jobs_.erase(job);
  ++jobs_run_;
  taken.function(taken.argument);
}

bool SimEnv::RunOne(SimRandom& random) {
  if (jobs_.empty()) return false;
  Run(jobs_.begin() + static_cast<std::ptrdiff_t>(random.Below(jobs_.size())));
  return true;
}

bool SimEnv::RunOldest() {
  if (jobs_.empty()) return false;
  Run(jobs_.begin());
  return true;
}

void SimEnv::Schedule(void (*function)(void*), void* argument, Priority priority, void* tag,
                      void (*unschedule)(void*)) {
  CHECK(std::this_thread::get_id() == thread_, "the simulation has one thread");
  jobs_.push_back({function, argument, priority, tag, unschedule});
}

int SimEnv::UnSchedule(void* tag, Priority priority) {
  std::vector<Job> removed;
  std::erase_if(jobs_, [&](const Job& job) {
    const bool match = job.tag == tag && job.priority == priority;
    if (match) removed.push_back(job);
    return match;
  });
  for (const Job& job : removed) {
    if (job.unschedule != nullptr) job.unschedule(job.argument);
  }
  return static_cast<int>(removed.size());
}

void SimEnv::StartThread(void (* /*function*/)(void*), void* /*argument*/) {
  CHECK(false, "the simulation has one thread; see the options in sim_env.h");
}

unsigned int SimEnv::GetThreadPoolQueueLen(Priority priority) const {
  return static_cast<unsigned int>(std::count_if(
      jobs_.begin(), jobs_.end(), [&](const Job& job) { return job.priority == priority; }));
}

void SimEnv::SetBackgroundThreads(int number, Priority priority) {
  background_threads_[priority] = number;
}

int SimEnv::GetBackgroundThreads(Priority priority) { return background_threads_[priority]; }

void SimEnv::IncBackgroundThreadsIfNeeded(int number, Priority priority) {
  background_threads_[priority] = std::max(background_threads_[priority], number);
}

rocksdb::Status SimEnv::GetHostName(char* name, uint64_t size) {
  std::snprintf(name, size, "sim");
  return rocksdb::Status::OK();
}

std::string SimEnv::GenerateUniqueId() {
  char text[37];
  const uint64_t high = Draw();
  const uint64_t low = Draw();
  std::snprintf(text, sizeof text, "%08x-%04x-4%03x-8%03x-%012llx",
                static_cast<unsigned>(high >> 32), static_cast<unsigned>(high >> 16 & 0xFFFF),
                static_cast<unsigned>(high & 0xFFF), static_cast<unsigned>(low >> 52),
                static_cast<unsigned long long>(low & 0xFFFFFFFFFFFFull));
  return text;
}

rocksdb::Status SimEnv::GetThreadList(std::vector<rocksdb::ThreadStatus>* /*list*/) {
  return rocksdb::Status::NotSupported("GetThreadList");
}

rocksdb::DBOptions SimOptions(SimEnv* env) {
  rocksdb::DBOptions options;
  options.env = env;
  options.max_file_opening_threads = 1;
  options.max_subcompactions = 1;
  options.max_bgerror_resume_count = 0;
  options.enable_write_thread_adaptive_yield = false;
  options.listeners.push_back(NoRecoveryListener());
  options.stats_dump_period_sec = 0;
  options.stats_persist_period_sec = 0;
  return options;
}

std::shared_ptr<rocksdb::EventListener> NoRecoveryListener() {
  return std::make_shared<NoRecovery>();
}

}  // namespace vestq
