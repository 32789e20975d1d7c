// Functions of RocksDB replaced at link time (ld --wrap=SYMBOL makes calls to SYMBOL from other
// object files go to
// __wrap_SYMBOL, and __real_SYMBOL the original). RocksDB has seams for these in builds with
// assertions only (SyncPoint), and the product is tested with the library it ships with. Each acts
// only on threads with a SimEnv.
//
// | replaced                                | why | | port::CondVar::Wait, TimedWait          |
// nobody else would signal: the waiter runs the queued jobs itself  | |
// SemiStructuredUniqueIdGen::GenerateNext | session ids, in every table file, come from
// std::random_device    | | PeriodicTaskScheduler::Register (both)  | starts a timer thread on the
// real clock                           | | SstFileManagerImpl::StartErrorRecovery  | starts a
// thread that polls; a listener has to refuse it           | | malloc_usable_size, operator new[]
// | depends on the heap's state, and decides when a memtable is full: | | | answers what was asked
// for                                        |
//
// Layouts relied on (checked with 9.10.0, port/port_posix.h and util/random.h): CondVar is
// {pthread_cond_t, Mutex*}, Mutex starts with its pthread_mutex_t, Random is one uint32_t.
#include <pthread.h>

#include <cstddef>
#include <cstdint>
#include <functional>

#include "engine/base/check.h"
#include "rocksdb/status.h"
#include "tests/sim/sim_env.h"

namespace rocksdb {

// Declared in RocksDB's util/random.h, which is not installed; only this function's symbol is used.
class Random {
 public:
  static Random* GetTLSInstance();
};

}  // namespace rocksdb

namespace {

struct CondVarLayout {
  pthread_cond_t condition;
  pthread_mutex_t* mutex;
};

// Gives the mutex back while a job runs, as a wait does. False when there was no job.
bool RunJobWhileWaiting(void* cond_var) {
  pthread_mutex_t* const mutex = static_cast<CondVarLayout*>(cond_var)->mutex;
  CHECK(pthread_mutex_unlock(mutex) == 0);
  const bool ran = vestq::SimEnv::StepForWaiter();
  CHECK(pthread_mutex_lock(mutex) == 0);
  return ran;
}

thread_local void* last_block = nullptr;  // of operator new[]
thread_local size_t last_block_size = 0;

constexpr uint32_t kRandomModulus = 2147483647;  // Random's seed lies in [1, modulus - 1]

}  // namespace

extern "C" {

void __real__ZN7rocksdb4port7CondVar4WaitEv(void* self);
void __wrap__ZN7rocksdb4port7CondVar4WaitEv(void* self) {
  if (vestq::SimEnv::Current() == nullptr) {
    __real__ZN7rocksdb4port7CondVar4WaitEv(self);
    return;
  }
  CHECK(RunJobWhileWaiting(self),
        "RocksDB waits, and no queued job could wake it: it would hang for ever");
}

bool __real__ZN7rocksdb4port7CondVar9TimedWaitEm(void* self, uint64_t deadline_us);
bool __wrap__ZN7rocksdb4port7CondVar9TimedWaitEm(void* self, uint64_t deadline_us) {
  vestq::SimEnv* const env = vestq::SimEnv::Current();
  if (env == nullptr) return __real__ZN7rocksdb4port7CondVar9TimedWaitEm(self, deadline_us);
  if (RunJobWhileWaiting(self)) return false;
  env->clock().AdvanceTo(deadline_us);
  return true;
}

void __real__ZN7rocksdb25SemiStructuredUniqueIdGen12GenerateNextEPmS1_(void* self, uint64_t* upper,
                                                                       uint64_t* lower);
void __wrap__ZN7rocksdb25SemiStructuredUniqueIdGen12GenerateNextEPmS1_(void* self, uint64_t* upper,
                                                                       uint64_t* lower) {
  vestq::SimEnv* const env = vestq::SimEnv::Current();
  if (env == nullptr) {
    __real__ZN7rocksdb25SemiStructuredUniqueIdGen12GenerateNextEPmS1_(self, upper, lower);
    return;
  }
  *upper = env->Draw();
  *lower = env->Draw() | 1;  // RocksDB asks again for a zero
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpragmas"
#pragma GCC diagnostic ignored \
    "-Wreturn-type-c-linkage"  // clang; the symbol is C++'s, only its name is spelt out
using Task = std::function<void()>;
rocksdb::Status
__real__ZN7rocksdb21PeriodicTaskScheduler8RegisterENS_16PeriodicTaskTypeERKSt8functionIFvvEE(
    void* self, uint8_t type, const Task& task);
rocksdb::Status
__wrap__ZN7rocksdb21PeriodicTaskScheduler8RegisterENS_16PeriodicTaskTypeERKSt8functionIFvvEE(
    void* self, uint8_t type, const Task& task) {
  if (vestq::SimEnv::Current() != nullptr) return rocksdb::Status::OK();
  return __real__ZN7rocksdb21PeriodicTaskScheduler8RegisterENS_16PeriodicTaskTypeERKSt8functionIFvvEE(
      self, type, task);
}

rocksdb::Status
__real__ZN7rocksdb21PeriodicTaskScheduler8RegisterENS_16PeriodicTaskTypeERKSt8functionIFvvEEm(
    void* self, uint8_t type, const Task& task, uint64_t period_s);
rocksdb::Status
__wrap__ZN7rocksdb21PeriodicTaskScheduler8RegisterENS_16PeriodicTaskTypeERKSt8functionIFvvEEm(
    void* self, uint8_t type, const Task& task, uint64_t period_s) {
  if (vestq::SimEnv::Current() != nullptr) return rocksdb::Status::OK();
  return __real__ZN7rocksdb21PeriodicTaskScheduler8RegisterENS_16PeriodicTaskTypeERKSt8functionIFvvEEm(
      self, type, task, period_s);
}
#pragma GCC diagnostic pop

// `error` is passed by value, which for a class with a destructor means by address.
void __real__ZN7rocksdb18SstFileManagerImpl18StartErrorRecoveryEPNS_12ErrorHandlerENS_6StatusE(
    void* self, void* handler, void* error);
void __wrap__ZN7rocksdb18SstFileManagerImpl18StartErrorRecoveryEPNS_12ErrorHandlerENS_6StatusE(
    void* self, void* handler, void* error) {
  CHECK(vestq::SimEnv::Current() == nullptr,
        "ENOSPC recovery needs a thread: options lack NoRecoveryListener");
  __real__ZN7rocksdb18SstFileManagerImpl18StartErrorRecoveryEPNS_12ErrorHandlerENS_6StatusE(
      self, handler, error);
}

void* __real__Znam(size_t size);
void* __wrap__Znam(size_t size) {
  last_block = __real__Znam(size);
  last_block_size = size;
  return last_block;
}

size_t __real_malloc_usable_size(void* block);
size_t __wrap_malloc_usable_size(void* block) {
  // Memtable arenas and filter builders ask right after the `new char[]`, and what they learn
  // reaches the disk (when a memtable is full, how long a filter is). Caches ask about other
  // blocks, which only moves their eviction.
  if (block == last_block && vestq::SimEnv::Current() != nullptr) return last_block_size;
  return __real_malloc_usable_size(block);
}

}  // extern "C"

namespace vestq {

void SeedRocksRandom(uint64_t seed) {
  auto* const state = reinterpret_cast<uint32_t*>(rocksdb::Random::GetTLSInstance());
  *state = static_cast<uint32_t>(seed % (kRandomModulus - 1)) + 1;
}

}  // namespace vestq
