// What CLIENT LIST and INFO know of the connections: one record each, shared between the reactor
// that owns the connection and whoever lists it. The mutex guards the map and the names, which
// change rarely; what changes with each command is atomic, written by the owner only.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "engine/base/ids.h"

namespace vestq {

struct ClientRecord {
  // Constant after construction.
  uint64_t id = 0;
  CoreId core;
  std::string address;
  std::string local_address;
  int fd = -1;
  int64_t connected_ms = 0;

  // The owner's.
  std::atomic<int64_t> last_ms{0};
  std::atomic<const char*> last_command{"NULL"};  // a literal
  std::atomic<bool> blocked{false};               // in a waiting LEASE
  std::atomic<bool> listening{false};             // to events
  std::atomic<uint8_t> resp{2};
  std::atomic<uint64_t> input_bytes{0};
  std::atomic<uint64_t> output_bytes{0};
  std::atomic<uint64_t> commands{0};

  // Guarded by the registry's mutex.
  std::string name;
  std::string library;
  std::string library_version;
};

class ClientRegistry {
 public:
  uint64_t NextId() { return next_id_.fetch_add(1, std::memory_order_relaxed); }

  void Add(const std::shared_ptr<ClientRecord>& record) {
    const std::lock_guard lock(mutex_);
    clients_[record->id] = record;
  }
  void Remove(uint64_t id) {
    const std::lock_guard lock(mutex_);
    clients_.erase(id);
  }
  // nullptr: no such client.
  std::shared_ptr<ClientRecord> Find(uint64_t id) const {
    const std::lock_guard lock(mutex_);
    const auto found = clients_.find(id);
    return found == clients_.end() ? nullptr : found->second;
  }
  std::vector<std::shared_ptr<ClientRecord>> All() const {
    const std::lock_guard lock(mutex_);
    std::vector<std::shared_ptr<ClientRecord>> all;
    all.reserve(clients_.size());
    for (const auto& [id, record] : clients_) all.push_back(record);
    return all;
  }
  size_t size() const {
    const std::lock_guard lock(mutex_);
    return clients_.size();
  }
  // Sets one of the record's guarded strings.
  void Set(ClientRecord* record, std::string ClientRecord::*field, std::string value) const {
    const std::lock_guard lock(mutex_);
    record->*field = std::move(value);
  }
  std::string Get(const ClientRecord& record, std::string ClientRecord::*field) const {
    const std::lock_guard lock(mutex_);
    return record.*field;
  }

 private:
  mutable std::mutex mutex_;
  std::map<uint64_t, std::shared_ptr<ClientRecord>> clients_;
  std::atomic<uint64_t> next_id_{1};
};

}  // namespace vestq
