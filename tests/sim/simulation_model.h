// What the simulation (tests/sim/simulation.h) knows of each job and of each question under way.
// Internal to its files.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/sim/simulation.h"

namespace vestq {

inline constexpr std::array<const char*, 3> kSimQueues = {"mail", "thumbs", "sync"};
inline constexpr char kScheduleQueue[] = "clock";  // of schedules' jobs only
inline constexpr std::array<const char*, 4> kAllQueues = {"mail", "thumbs", "sync", kScheduleQueue};

// A group: until its answer, or a look after a crash, nobody knows whether it was carried out.
struct Simulation::ModelGroup {
  enum class Outcome : uint8_t { kOpen, kDone, kNot } outcome = Outcome::kOpen;
  bool seen = false;              // one of its jobs was delivered
  std::vector<std::string> keys;  // it sets all of them
  std::vector<ModelJob*> added;   // by ENQUEUE without a unique key
  // By COMPLETE, and whether its end was unknown before.
  std::vector<std::pair<ModelJob*, bool>> finished;
  std::vector<std::pair<ModelJob*, bool>> tried;  // the same by COMPLETEMANY, which may not
  struct DataChange {
    std::string key;
    DataValues before;
    DataValues after;
  };
  std::vector<DataChange> data;  // that a crash cut
};

struct Simulation::ModelJob {
  std::string payload;
  JobId id;                   // known once answered or delivered
  bool acknowledged = false;  // its ENQUEUE was answered
  bool refused = false;       // with FULL
  bool gone = false;          // COMPLETE or CANCEL answered
  uint64_t gone_event = 0;    // when: a LEASE asked before it may have claimed before it
  bool maybe_gone = false;    // one of those is unanswered
  bool end_unknown = false;   // a COMPLETE or CANCEL was never answered
  bool dead = false;          // a FAIL said so
  bool may_be_dead = false;   // its attempts may be used up
  uint32_t attempts_max = 0;
  uint32_t deliveries = 0;
  uint32_t given_back = 0;  // RELEASEs, answered or not
  // It does not vest before either: engine time; what the wall clock has shown since that event.
  int64_t not_before_ms = 0;
  int64_t not_before_wall_ms = 0;
  uint64_t not_before_event = 0;
  uint64_t asked_event = 0;  // its ENQUEUE
  int64_t asked_ms = 0;      // engine time of that, and of its answer
  int64_t answered_ms = -1;
  int64_t expire_ms = 0;       // EXPIRE; 0: none
  int64_t vests_least_ms = 0;  // engine time of its first vesting at the earliest
  bool vests_known = false;    // it is that, but for the time to its answer
  int64_t expires_wall_ms = 0;
  uint64_t time_event = 0;  // when something was last asked or answered that moves it
  uint64_t delivered_event = 0;
  bool attempts_known = false;
  int64_t lease_ms = 0;  // of its own; 0: none
  std::optional<Backoff> backoff;
  std::optional<int64_t> keep_ms;
  uint32_t attempt = 0;              // of the last delivery
  std::vector<std::string> results;  // any of them may be kept
  int64_t kept_ms = -1;              // how long its result is; -1: not known
  int64_t done_ms = 0;               // engine time at which it was completed at the earliest
  int64_t done_answered_ms = 0;
  bool kept_purged = false;        // what is kept may have been purged
  std::set<std::string> payloads;  // REPLACE may have given it one of these
  uint64_t replaced_event = 0;     // what is asked later sees `payload`, or one of those
  bool replaces = false;           // its ENQUEUE
  bool ageless = false;            // by REPLACE it may be younger
  bool has_lease = false;
  Receipt receipt;             // of the last delivery
  int64_t lease_until_ms = 0;  // boottime; the lease certainly holds until then
  int64_t lease_boot = 0;
  std::string lease_queue;  // of the last delivery
  std::string lease_space;
  int64_t claimed_ms = 0;  // of the last delivery
  int64_t claim_boot = 0;
  int64_t revoked_ms = -1;  // when a REVOKE was last answered, or cut off
  int64_t revoked_boot = 0;
  int64_t moved_ms = -1;  // when a RESCHEDULE was last answered
  int64_t moved_boot = 0;
  uint32_t redrives = 0;    // REDRIVEs that may have been about it: each gives all attempts again
  bool may_move = false;    // one of them was TO another queue: its id may change
  std::set<JobId> old_ids;  // ids it had
  std::string queue;        // that it was enqueued in
  uint64_t purged_event =
      0;                 // a PURGE or DROP of all of it was answered, asked after its ENQUEUE was
  bool dropped = false;  // one of those was a DROP
  std::string type;
  std::string key;  // UNIQUE: queue, space and key; empty: none
  bool window = false;
  uint64_t window_purged_event = 0;  // a PURGE or DROP that ends it was answered; 0: none was
  uint64_t acknowledged_event = 0;
  std::vector<ModelJob*> parents;  // AFTER
  uint64_t cancelled_event = 0;    // when a CANCEL that was answered with 1 was asked; 0: none was
  uint64_t redriven_event = 0;     // when a REDRIVE was last asked
  std::vector<std::string> checkpoints = {""};  // those that the next delivery may bring
  ModelGroup* group = nullptr;                  // that adds it
  uint32_t busy = 0;                            // requests under way for it
  std::vector<std::string> history;
};

struct Simulation::Pending {
  Op op = Op::kEnqueue;
  ModelJob* job = nullptr;
  std::unique_ptr<Request> request;
  bool done = false;
  uint16_t core = 0;
  int64_t asked_ms = 0;  // boottime
  int64_t asked_engine_ms = 0;
  uint64_t asked_event = 0;
  Receipt receipt;
  bool receipt_current = false;
  ModelLimits limits;  // that QUEUE SET sets
  ModelSpace space;    // that SPACE SET sets
  ModelOptions options;
  uint32_t attempt = 0;
  std::string result;
  ModelGroup* group = nullptr;
  // Of a group: its members, but for its own SETs; of COMPLETEMANY one a receipt.
  std::vector<std::unique_ptr<Pending>> parts;
  size_t member = 0;                   // of a part
  std::vector<ModelJob*> many;         // ENQUEUEMANY
  std::vector<std::string> data_keys;  // that nobody else writes meanwhile
  DataValues data_after;               // what they hold if it is carried out
};

}  // namespace vestq
