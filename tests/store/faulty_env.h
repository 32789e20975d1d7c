// An Env for tests whose log files fail on demand and whose background jobs can be held back.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "rocksdb/env.h"
#include "rocksdb/file_system.h"

namespace vestq {

class FaultyFileSystem : public rocksdb::FileSystemWrapper {
 public:
  FaultyFileSystem() : rocksdb::FileSystemWrapper(rocksdb::FileSystem::Default()) {}
  const char* Name() const override { return "FaultyFileSystem"; }
  rocksdb::IOStatus NewWritableFile(const std::string& name, const rocksdb::FileOptions& options,
                                    std::unique_ptr<rocksdb::FSWritableFile>* file,
                                    rocksdb::IODebugContext* context) override {
    const auto s = target()->NewWritableFile(name, options, file, context);
    if (s.ok() && name.ends_with(".log")) *file = std::make_unique<LogFile>(this, std::move(*file));
    return s;
  }

  std::atomic<bool> fail_appends{false};
  std::atomic<bool> fail_syncs{false};
  std::atomic<int> syncs{0};

 private:
  class LogFile : public rocksdb::FSWritableFileOwnerWrapper {
   public:
    LogFile(FaultyFileSystem* fs, std::unique_ptr<rocksdb::FSWritableFile>&& file)
        : rocksdb::FSWritableFileOwnerWrapper(std::move(file)), fs_(fs) {}
    rocksdb::IOStatus Append(const rocksdb::Slice& data, const rocksdb::IOOptions& options,
                             rocksdb::IODebugContext* context) override {
      if (fs_->fail_appends.load()) return rocksdb::IOStatus::IOError("injected append error");
      return FSWritableFileOwnerWrapper::Append(data, options, context);
    }
    rocksdb::IOStatus Append(const rocksdb::Slice& data, const rocksdb::IOOptions& options,
                             const rocksdb::DataVerificationInfo&,
                             rocksdb::IODebugContext* context) override {
      return Append(data, options, context);
    }
    rocksdb::IOStatus Sync(const rocksdb::IOOptions& options,
                           rocksdb::IODebugContext* context) override {
      fs_->syncs.fetch_add(1);
      if (fs_->fail_syncs.load()) return rocksdb::IOStatus::IOError("injected sync error");
      return FSWritableFileOwnerWrapper::Sync(options, context);
    }
    rocksdb::IOStatus Fsync(const rocksdb::IOOptions& options,
                            rocksdb::IODebugContext* context) override {
      return Sync(options, context);
    }

   private:
    FaultyFileSystem* const fs_;
  };
};

class FaultyEnv : public rocksdb::EnvWrapper {
 public:
  FaultyEnv() : FaultyEnv(std::make_shared<FaultyFileSystem>()) {}
  ~FaultyEnv() override { HoldJobs(false); }

  void FailLogAppends(bool on) { fs_->fail_appends.store(on); }
  void FailLogSyncs(bool on) { fs_->fail_syncs.store(on); }
  int log_syncs() const { return fs_->syncs.load(); }

  // While held, background jobs wait; then they run as ever.
  void HoldJobs(bool on) {
    std::vector<Job> release;
    {
      const std::lock_guard lock(mutex_);
      hold_ = on;
      if (!on) release.swap(held_);
    }
    for (const Job& job : release)
      target()->Schedule(job.run, job.argument, job.priority, job.tag, job.unschedule);
  }
  void Schedule(void (*run)(void*), void* argument, Priority priority, void* tag,
                void (*unschedule)(void*)) override {
    {
      const std::lock_guard lock(mutex_);
      if (hold_) {
        held_.push_back({run, argument, priority, tag, unschedule});
        return;
      }
    }
    target()->Schedule(run, argument, priority, tag, unschedule);
  }
  const char* Name() const override { return "FaultyEnv"; }

 private:
  struct Job {
    void (*run)(void*);
    void* argument;
    Priority priority;
    void* tag;
    void (*unschedule)(void*);
  };

  explicit FaultyEnv(std::shared_ptr<FaultyFileSystem> fs)
      : FaultyEnv(fs, rocksdb::NewCompositeEnv(fs)) {}
  FaultyEnv(std::shared_ptr<FaultyFileSystem> fs, std::unique_ptr<rocksdb::Env> env)
      : rocksdb::EnvWrapper(env.get()), env_(std::move(env)), fs_(std::move(fs)) {
    file_system_ = fs_;  // what GetFileSystem gives
  }

  const std::unique_ptr<rocksdb::Env> env_;
  const std::shared_ptr<FaultyFileSystem> fs_;
  std::mutex mutex_;
  bool hold_ = false;
  std::vector<Job> held_;
};

}  // namespace vestq
