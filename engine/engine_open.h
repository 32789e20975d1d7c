// Opening an engine: what memory must know of a store before the first request. Internal to
// engine/.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/base/result.h"
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
};

// Errors: kCorruption (rows that do not decode or are missing), kIo.
Result<StoredRows> ReadStoredRows(const Store& store, uint16_t lanes_of_new_store);
// Counters of every slot into the records, those of live cores into the cores. Errors: as above.
Error RestoreCounters(EngineShared* shared);
// The LEASED range of every lane into its owner's lease table. Errors: as above.
Error RestoreLeases(EngineShared* shared);
// The names of all schedules, with their lanes. Errors: as above.
Error RestoreSchedules(EngineShared* shared);

}  // namespace vestq
