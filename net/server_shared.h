// What the reactors of one server share.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "net/client_registry.h"
#include "net/server_options.h"

namespace vestq {

class Reactor;

// Counters of one reactor: written by it alone, read by anyone.
struct ReactorStats {
  std::atomic<uint64_t> connections{0};  // open now, those on their way to it included
  std::atomic<uint64_t> commands{0};
  std::atomic<uint64_t> errors{0};
  std::atomic<uint64_t> input_bytes{0};
  std::atomic<uint64_t> output_bytes{0};
  std::atomic<uint64_t> turns{0};
  std::atomic<uint64_t> leases_undone{0};
  std::atomic<uint64_t> closed_slow{0};  // for a limit of net/server_options.h

  // One writer: cheaper than fetch_add.
  static void Add(std::atomic<uint64_t>& counter, uint64_t n) {
    counter.store(counter.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
  }
};

struct ServerShared {
  ServerShared();
  ~ServerShared();

  // Constant once the reactors run.
  Engine* engine = nullptr;
  ServerOptions options;
  std::string address;  // bound
  uint16_t port = 0;
  std::string io_name;
  std::string run_id;  // 40 hexadecimal digits, as Redis has
  int64_t started_ms = 0;
  std::vector<std::unique_ptr<Reactor>> reactors;

  ClientRegistry clients;
  std::atomic<uint64_t> connections_accepted{0};
  std::atomic<uint64_t> connections_rejected{0};
  std::atomic<size_t> groups_held{0};  // bytes of commands between MULTI and the end of EXEC
  std::atomic<bool> stopping{false};
  std::atomic<size_t> running{0};  // reactors that have been started
  std::atomic<size_t> finished{
      0};  // of these, with nothing left to do: they turn on until all are, for each other
};

}  // namespace vestq
