// The part of the check that looks at one lane: its vesting keys, job records and job rows, joined
// by id. Internal to engine/check.cc.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "engine/base/ids.h"
#include "engine/base/result.h"
#include "engine/check.h"
#include "engine/queue_life.h"
#include "engine/store.h"
#include "keycodec/keys.h"
#include "keycodec/records.h"

namespace vestq {

// A full count of one queue, to be held against its counters.
struct QueueTally {
  std::string name;
  QueueLife life;
  bool dropped = false;  // all its keys are void
  int64_t ready = 0, scheduled = 0, leased = 0, dead = 0, waiting = 0, done = 0, bytes = 0;
  int64_t dead_bytes = 0;  // of `bytes`, of dead letters

  bool Lives(KeyKind kind, Incarnation of) const { return !dropped && life[kind] == of; }
};
using QueueTallies = std::unordered_map<QueueId, QueueTally>;

class LaneCheck {
 public:
  struct Bounds {
    uint16_t lanes = 0;
    uint64_t ids = 0;    // first n that was never given
    uint64_t epoch = 0;  // starts of the store
  };
  // Vesting keys held at a time; fewer in tests.
  static constexpr size_t kEntriesMax = size_t{2} << 20;

  LaneCheck(const Store* store, Bounds bounds, LaneId lane, QueueTallies* queues,
            CheckReport* report, size_t entries_max = kEntriesMax)
      : store_(store),
        bounds_(bounds),
        lane_(lane),
        queues_(queues),
        report_(report),
        entries_max_(entries_max) {}

  Error Run();
  // Job rows that say a job is dead, all of whose dead letters exist.
  uint64_t dead_rows() const { return dead_rows_; }
  // Jobs that hold a unique key, all of whose rows name them; those that were purged and whose rows still
  // name them count, too.
  uint64_t unique_holders() const { return unique_holders_; }
  // Jobs in the vesting family that say that others wait for them, all of which have edges.
  uint64_t parents() const { return parents_; }

 private:
  enum class State : uint8_t { kReady, kScheduled, kLeased };
  // What a vesting key says, without its strings.
  struct Entry {
    uint64_t id = 0;
    uint64_t space_hash = 0;
    int64_t time_ms = 0;      // of the READY rank, or of the SCHEDULED key
    int64_t enqueued_ms = 0;  // READY: of the rank, which in order time is the vesting time
    QueueId queue;
    Incarnation incarnation;
    uint32_t priority = 0;
    uint32_t flags = 0;
    State state = State::kReady;
    keycodec::Clock clock = keycodec::Clock::kEngine;
    keycodec::Order order = keycodec::Order::kPriority;
    bool is_void = false;  // purged or dropped
  };
  struct Job {
    keycodec::JobHeader header;
    uint64_t payload_bytes = 0;
    bool living = false;
  };

  Error Gather(uint64_t from);
  Result<Entry> Decode(keycodec::Range range, std::string_view key, std::string_view value);
  void Note(const Entry& entry);
  static bool IsVoid(const QueueTally& queue, const Entry& entry);
  void MakeRoom();
  Error Join(uint64_t from);
  void JoinOne(uint64_t id, const Entry* entries, size_t count, const Job* job,
               const keycodec::JobRow* row);
  void Agree(const Entry& entry, const Job& job, const keycodec::JobRow* row);
  void AgreeFlags(const Entry& entry, const Job& job, const keycodec::JobRow* row);
  void AgreeParent(const Entry& entry);
  bool HoldsUnique(const Entry& entry, const Job& job);
  void AgreeExpiry(const Entry& entry, const Job& job, const keycodec::JobRow* row);
  void AgreePlace(const Entry& entry, const Job& job, const keycodec::JobRow* row);
  void AgreeElsewhere(uint64_t id, const keycodec::JobRow& row);
  void AgreeDead(uint64_t id, const Job& job, const keycodec::JobRow& row);
  Job DecodeJob(std::string_view key, std::string_view value);
  // The queue's tally; nullptr, after the report is told, when it has no row.
  QueueTally* Find(QueueId queue, const std::string& who);
  // Whether a key of that kind lives; one that is void is counted.
  bool Lives(const QueueTally& queue, KeyKind kind, Incarnation incarnation,
             const std::string& who);
  void CheckId(JobId id);
  std::string Key(uint64_t id, bool row) const;

  const Store* const store_;
  const Bounds bounds_;
  const LaneId lane_;
  QueueTallies* const queues_;
  CheckReport* const report_;
  const size_t entries_max_;

  std::vector<Entry> entries_;
  uint64_t upper_ = 0;       // ids from here on are left for the next round
  bool first_round_ = true;  // counts and complains; later rounds only gather
  uint64_t dead_rows_ = 0;
  uint64_t unique_holders_ = 0;
  uint64_t parents_ = 0;
};

}  // namespace vestq
