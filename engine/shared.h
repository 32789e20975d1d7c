// What the cores of one engine share. Constant after Engine::Open, or thread-safe itself. Internal
// to engine/.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "engine/engine.h"
#include "engine/engine_clock.h"
#include "engine/event_hub.h"
#include "engine/id_allocator.h"
#include "engine/latency.h"
#include "engine/queue_registry.h"
#include "engine/read_pool.h"
#include "engine/schedule_registry.h"
#include "engine/store.h"
#include "engine/write_queue.h"
#include "engine/writer_thread.h"
#include "lanes/spsc_ring.h"

namespace vestq {

// What cores send each other. `record` and `request` outlive the message.
struct Message {
  enum class Kind : uint8_t {
    kExecute,   // a request for a job this core owns
    kLease,     // a LEASE that wants this core's jobs of `record`
    kExecuted,  // a request is back: carried out, or (LEASE) to go on elsewhere
    kWake,      // there is a job of `record` for one waiter
    kOptions,   // options of `record` have changed
    kLetIn,  // an ENQUEUE that waited in the line of `record` has left it (engine/queue_backlog.h)
    kRoom,   // leases of `record` have ended: what its limits held back may start
    // The way of a group over several cores (engine/core_group.cc); `request` is the group, which is
    // answered only after the last of these that names it.
    kGroupAsk,     // to core 0: wants to be the one group under way
    kGroupGo,      // from core 0: it is
    kGroupFreeze,  // its origin wants this core still
    kGroupFrozen,  // the sender is still: its state is the receiver's until kGroupThaw
    kGroupThaw,    // names no group
    kGroupEnd,     // to core 0: another group may go; names none
    kAbandon,      // a request that waits here is to end; it may be gone by now
  };
  Kind kind;
  Request* request;
  QueueRecord* record;
};
using MessageRing = SpscRing<Message>;

struct EngineShared {
  EngineOptions options;
  uint16_t cores = 1;
  uint16_t lanes = 0;
  uint32_t epoch = 0;
  uint64_t payload_cache_bytes = 0;  // a core
  uint64_t space_bytes_max = 0;      // a core: of spaces with ready jobs and their windows
  std::unique_ptr<Store> store;
  std::unique_ptr<EngineClock> clock;
  std::unique_ptr<WriteQueue> writes;
  std::unique_ptr<QueueRegistry> queues;
  std::unique_ptr<ScheduleRegistry> schedules;
  std::unique_ptr<IdAllocator> ids;
  std::unique_ptr<ReadPool> reads;
  // rings[from * cores + to].
  std::vector<std::unique_ptr<MessageRing>> rings;
  std::vector<std::unique_ptr<Core>> core_list;
  std::unique_ptr<EventHub> events;
  WriterThread* writer = nullptr;          // from four cores on; below, cores write themselves
  std::atomic<uint64_t> leased{0};         // over all cores, against max_leased
  std::atomic<uint64_t> space_options{0};  // spaces with options of their own
  std::atomic<uint64_t> waiting_bytes{0};  // held by ENQUEUEs that wait, against the memory
  std::atomic<uint64_t> space_bytes{0};    // over all cores, about
  LatencyHistogram lease_latency;
  std::atomic<uint64_t> leases_served{0};

  CoreId OwnerOf(LaneId lane) const { return CoreId(static_cast<uint16_t>(lane.value() % cores)); }
  LaneId LaneOf(JobId id) const { return LaneId(static_cast<uint16_t>(id.value() % lanes)); }
  // The core that sees to what is one row range a queue: dead letters, kept results.
  CoreId KeeperOf(const QueueRecord& record) const {
    return CoreId(static_cast<uint16_t>(record.ordinal % cores));
  }
  MessageRing& Ring(CoreId from, CoreId to) {
    return *rings[static_cast<size_t>(from.value()) * cores + to.value()];
  }
  uint64_t PayloadMax() const {
    return std::min<uint64_t>(limits::kPayloadHardMax, options.memory / limits::kMemoryPerPayload);
  }
  // The newest ticket that lets an answer leave, by the durability mode.
  Ticket Answerable() const {
    return options.durability == Durability::kSync ? writes->durable() : writes->written();
  }
};

}  // namespace vestq
