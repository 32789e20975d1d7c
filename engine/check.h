// The offline check of a store: do its invariants hold, all of them, everywhere?
//
// Reads the whole store once, in order, and compares what is said twice: a vesting key with the job
// it stands for, a dead letter with its job row, counters with a full count. Changes nothing.
// `vestq check` runs it for people, the simulation after each crash. One thread; REQUIRES that
// nobody writes meanwhile.
//
// Cost: one pass over every key and every job record (payloads are read with their headers). Memory
// is bounded: 56 bytes a job of one lane at a time, at most 112 MiB, whatever the backlog; ten
// million jobs in 16 lanes take 35 MiB, and a lane of more than two million jobs has its vesting
// keys read once more for each further million.
//
// The invariants it names:
//   JOB-1    a live job has exactly one vesting key, a dead one none
//   JOB-2    no vesting key without a job record, and the other way round: a record of a living
//            incarnation has a vesting key or a dead letter, or its job row says where it waits or
//            is kept
//   JOB-3    a vesting key and its value agree with the job's header, or with its job row
//   JOB-4    a job row exists if and only if the job says so, and names a place of that job
//   UNIQUE-1 the row of a unique key is live exactly while an unfinished job holds the key, and names it
//   TIMER-2  a job that EXPIRE would end has a timer for that moment
//   DEAD-1   a dead letter and the job row that names it exist together and agree
//   AFTER-1  a waiting job waits for as many jobs as it has edges to, and for one at least
//   AFTER-2  an edge of a child has its other side at the parent, or word of it is on its way
//   AFTER-3  a job that has edges to children says so, is dead, or word of its end is on its way
//   COUNT-1  a queue's counters, summed over the core slots, equal a full count
//   ID-1     every id is below the stored bound, and of the lane it stands in; every lane exists
//   LEASE-2  no fence is of an epoch that the store has not had yet
//   SCHED-1  a schedule that is not paused has the timer of its next slot
//   QUEUE-1  every queue number in use has its queue row, or that of a dropped queue, and one only
//   LIFE-1   no key is of an incarnation that its queue has not come to yet
//   ERASE-1  while there are void keys, the store says that something is left to erase
//   CODE-1   every key and value decodes
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/result.h"

namespace vestq {

class Store;

struct CheckReport {
  struct Violation {
    std::string invariant;  // "JOB-1"
    std::string text;       // what is wrong, with the job's id or the queue's name
  };
  // Details of the first so many; all are counted.
  static constexpr size_t kViolationsKept = 100;

  uint16_t lanes = 0;
  uint64_t queues = 0;
  uint64_t ready = 0;
  uint64_t scheduled = 0;
  uint64_t leased = 0;
  uint64_t dead = 0;
  uint64_t waiting = 0;
  uint64_t edges = 0;        // between waiting jobs and what they wait for
  uint64_t unique_keys = 0;  // held, by a job or by a window
  uint64_t timers = 0;
  uint64_t payload_bytes = 0;
  uint64_t void_keys =
      0;  // of earlier incarnations and dropped queues, not erased yet: no violation

  std::vector<Violation> violations;
  std::map<std::string, uint64_t> violations_by_invariant;

  bool ok() const { return violations_by_invariant.empty(); }
  void Add(std::string_view invariant, std::string text);
};

// Errors: kIo and kCorruption when the store cannot be read to its end or its settings rows are
// missing; violations are no error. Blocks for as long as reading the store takes.
[[nodiscard]] Result<CheckReport> CheckStore(Store* store);

}  // namespace vestq
