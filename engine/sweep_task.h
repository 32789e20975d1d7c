// A step of a sweep over the spaces of a queue that are not in memory (lanes/space_cursor.h): the next
// zones with ready jobs in the lanes of one core, each with its first jobs; and, when asked, all zones of
// the empty space. From zone to zone by seeks, where Next does not get there: a zone with many jobs costs
// one seek. Runs on a reader's thread (engine/read_pool.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "engine/base/ids.h"
#include "engine/read_pool.h"
#include "keycodec/keys.h"
#include "lanes/ready_window.h"
#include "lanes/space_cursor.h"

namespace vestq {

class SweepTask : public ReadTask {
 public:
  Error Run(const Store& store) override;

  QueueId queue;
  Incarnation incarnation;
  std::vector<LaneId> lanes;  // of the core, as ZonePlace::lane counts them
  bool unnamed = false;       // the zones of the empty space too
  ZonePlace from;             // of named spaces: at it and behind it
  size_t max_zones = 0;       // named ones
  uint64_t max_bytes = 0;     // of records, about; at least one
  uint64_t mark = 0;          // the owner's, in its log of changed jobs
  uint64_t read_id = 0;       // SpaceCursor::read_id

  struct Found {
    ZonePlace place;
    std::vector<ReadyJob> jobs;
    bool all = false;  // the zone has no more
  };
  std::vector<Found> found;
  std::optional<ZonePlace> next;  // where to go on; none: the lanes' end

 private:
  Error ReadUnnamed(const Store& store, uint32_t lane, bool* named);
  Error ReadNamed(const Store& store, uint32_t lane, const ZonePlace* start);
};

}  // namespace vestq
