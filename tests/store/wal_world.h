// A store that died: what lay in its directory, which keys each group had, and what was synced.
// Trials damage copies.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "engine/durable_file.h"
#include "engine/store.h"
#include "engine/write_queue.h"
#include "tests/store/store_test_util.h"

namespace vestq {

class WalWorld {
 public:
  struct Shape {
    bool compress = false;
    int durable_groups = 400;
    int unsynced_groups = 40;
    size_t big_every = 17;  // each so many groups one is larger than a block
    uint64_t seed = 1;
  };
  struct Group {
    std::vector<std::string> keys;  // of the job family; the value is the key repeated
    bool durable = false;
  };

  explicit WalWorld(const Shape& shape) : shape_(shape), random_(shape.seed) {
    options_ = TestOptions(dir_.Path("base"));
    options_.memory = uint64_t{16} << 20;
    options_.compress_wal = shape.compress;
    store_ = OpenOrDie(options_);
    queue_ = std::make_unique<WriteQueue>(store_.get());
    for (int i = 0; i < shape.durable_groups; ++i) {
      WriteGroup();
      if (i % 3 == 2 || i + 1 == shape.durable_groups) {
        EXPECT_TRUE(queue_->SyncOnce());
        for (Group& group : groups_) group.durable = true;
        synced_ = LogSizes();
        vouched_ = vouched_next_;
        vouched_next_ = groups_.size();
      }
    }
    // What the last sync covered is vouched for by the groups written after it.
    if (shape.unsynced_groups > 0) vouched_ = vouched_next_;
    for (int i = 0; i < shape.unsynced_groups; ++i) WriteGroup();
  }

  // A copy of the directory as a crash leaves it now. Table files are shared, logs are copied.
  StoreOptions Crash() {
    StoreOptions copy = options_;
    copy.path = dir_.Path("trial-" + std::to_string(++trials_));
    std::filesystem::create_directory(copy.path);
    for (const auto& entry : std::filesystem::directory_iterator(options_.path)) {
      const std::string to = copy.path + "/" + entry.path().filename().string();
      if (entry.path().extension() == ".sst" || entry.path().extension() == ".blob") {
        std::filesystem::create_hard_link(entry.path(), to);
      } else {
        std::filesystem::copy_file(entry.path(), to);
      }
    }
    return copy;
  }

  void WriteGroup() {
    const bool big = groups_.size() % shape_.big_every == shape_.big_every - 1;
    WriteGroup(1 + random_() % 8, big ? 40'000 : 300);
  }
  void WriteGroup(size_t jobs, size_t value_bytes_max) {
    Batch batch;
    Group group;
    for (size_t i = 0; i < jobs; ++i) {
      const std::string key = "key-" + std::to_string(next_key_++);
      batch.Put(Family::kJob, key,
                Value(key, value_bytes_max > 1000 ? value_bytes_max : random_() % value_bytes_max));
      batch.Put(Family::kVesting, key, "v");
      if (i == 0) batch.Put(Family::kRows, "counter", key);
      group.keys.push_back(key);
    }
    groups_.push_back(group);
    queue_->Submit(&batch);
    EXPECT_FALSE(queue_->Drain());
  }

  // Recoverable again from the key alone, hard to compress.
  static std::string Value(const std::string& key, size_t size) {
    std::mt19937_64 random(std::hash<std::string>()(key));
    std::string value = key + ":";
    const size_t prefix = value.size();
    value.resize(std::max(size, prefix));
    for (size_t at = prefix; at < value.size(); at += sizeof(uint64_t)) {
      const uint64_t word = random();
      std::memcpy(&value[at], &word, std::min(sizeof word, value.size() - at));
    }
    return value;
  }

  // Sizes of the logs, by path's file name.
  std::map<std::string, uint64_t> LogSizes() const {
    std::map<std::string, uint64_t> sizes;
    for (const std::string& path : FilesEndingWith(options_.path, ".log")) {
      sizes[std::filesystem::path(path).filename()] = std::filesystem::file_size(path);
    }
    return sizes;
  }

  // How many groups, from the first, are there whole; -1 when what is there is not such a prefix.
  int PrefixIn(const Store& store) const {
    int prefix = 0;
    bool ended = false;
    for (const Group& group : groups_) {
      size_t found = 0;
      for (const std::string& key : group.keys) {
        std::string value;
        std::string vesting;
        const bool has = store.Get(Family::kJob, key, &value).ok();
        if (has != store.Get(Family::kVesting, key, &vesting).ok()) return -1;
        if (has && !value.starts_with(key + ":")) return -1;
        found += has;
      }
      if (found != 0 && found != group.keys.size()) return -1;
      if (found != 0 && ended) return -1;
      if (found == 0) ended = true;
      prefix += found != 0;
    }
    return prefix;
  }

  int durable_groups() const {
    return static_cast<int>(std::count_if(groups_.begin(), groups_.end(),
                                          [](const Group& group) { return group.durable; }));
  }
  // Groups that a group written later vouches for.
  int vouched_groups() const { return static_cast<int>(vouched_); }
  int groups() const { return static_cast<int>(groups_.size()); }
  const std::map<std::string, uint64_t>& synced() const { return synced_; }
  uint64_t SyncedSize(const std::string& log_path) const {
    const auto it = synced_.find(std::filesystem::path(log_path).filename());
    return it == synced_.end() ? 0 : it->second;
  }
  WriteQueue* queue() { return queue_.get(); }
  Store* store() { return store_.get(); }
  std::mt19937_64& random() { return random_; }

 private:
  const Shape shape_;
  std::mt19937_64 random_;
  TempDir dir_;
  StoreOptions options_;
  std::unique_ptr<Store> store_;
  std::unique_ptr<WriteQueue> queue_;
  std::vector<Group> groups_;
  std::map<std::string, uint64_t> synced_;
  size_t vouched_ = 0;
  size_t vouched_next_ = 0;
  uint64_t next_key_ = 1;
  int trials_ = 0;
};

}  // namespace vestq
