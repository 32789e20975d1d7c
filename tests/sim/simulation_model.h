// What the simulation (tests/sim/simulation.h) knows of each job and of each question under way.
// Internal to its files.
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/sim/simulation.h"

namespace vestq {

// A group: until its answer, or a look after a crash, nobody knows whether it was carried out.
struct Simulation::ModelGroup {
  enum class Outcome : uint8_t { kOpen, kDone, kNot } outcome = Outcome::kOpen;
  bool seen = false;              // one of its jobs was delivered
  std::vector<std::string> keys;  // it sets all of them
  std::vector<ModelJob*> added;   // by ENQUEUE without a unique key
  // By COMPLETE, and whether its end was unknown before.
  std::vector<std::pair<ModelJob*, bool>> finished;
};

struct Simulation::ModelJob {
  std::string payload;
  JobId id;                   // known once answered or delivered
  bool acknowledged = false;  // its ENQUEUE was answered
  bool gone = false;          // COMPLETE or CANCEL answered
  uint64_t gone_event = 0;    // when: a LEASE asked before it may have claimed before it
  bool maybe_gone = false;    // one of those is unanswered
  bool end_unknown = false;   // a COMPLETE or CANCEL was never answered
  bool dead = false;          // a FAIL said so
  bool may_be_dead = false;   // its attempts may be used up
  uint32_t attempts_max = 0;
  uint32_t deliveries = 0;
  uint32_t given_back = 0;  // RELEASEs, answered or not
  WallTime not_before;      // engine time has the same pace here
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
  int64_t asked_ms = 0;
  uint64_t asked_event = 0;
  Receipt receipt;
  bool receipt_current = false;
  ModelLimits limits;  // that QUEUE SET sets
  ModelSpace space;    // that SPACE SET sets
  ModelGroup* group = nullptr;
  std::vector<std::unique_ptr<Pending>> parts;  // of a group: its members, but for the SETs
};

}  // namespace vestq
