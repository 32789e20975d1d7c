// Opening an engine: what memory must know of a store before the first request. Internal to
// engine/.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/base/result.h"
#include "engine/batch.h"
#include "engine/shared.h"
#include "keycodec/records.h"

namespace vestq {

// Rows read before there is a clock or a registry.
struct StoredRows {
  bool fresh = false;  // a new store
  uint16_t lanes = 0;
  uint32_t epoch = 0;
  uint64_t next_id = 1;
  std::vector<keycodec::ClockValue> clocks;
  std::vector<std::pair<std::string, keycodec::QueueValue>> queues;
  std::vector<QueueId> dropped;  // and not wholly erased
  uint64_t next_queue = 1;       // the least number that no queue has had, unless `queues` say more
  bool erasing = false;          // something purged may be left to erase
};

// Errors: kCorruption (rows that do not decode or are missing), kIo.
Result<StoredRows> ReadStoredRows(const Store& store, uint16_t lanes_of_new_store);
// Counters of every slot into the cores, without what was purged since they were written. Those of slots
// that no core has any more go into the first core's; the rows are changed by *batch. Errors: as above.
Error RestoreCounters(EngineShared* shared, const StoredRows& rows, Batch* batch);
// The LEASED range of every lane into its owner's lease table. Errors: as above.
Error RestoreLeases(EngineShared* shared);
// The names of all schedules, with their lanes. Errors: as above.
Error RestoreSchedules(EngineShared* shared);
// Options and rates of single spaces, into their owners. A rate that is free again goes: *batch. REQUIRES:
// the queues are restored. Errors: as above.
Error RestoreSpaces(EngineShared* shared, Batch* batch);

}  // namespace vestq
