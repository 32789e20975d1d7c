// A slice of what is void: keys of a queue's earlier lives, or rows of them, with what must be known of
// each job to erase all of it. Runs on a reader's thread; its owner decides again when it is back, since a
// later purge may be known here that the core has not switched to.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/read_pool.h"
#include "keycodec/keys.h"
#include "keycodec/records.h"

namespace vestq {

class QueueRegistry;

class EraseTask : public ReadTask {
 public:
  explicit EraseTask(const QueueRegistry* queues) : queues_(queues) {}
  Error Run(const Store& store) override;

  // Which range: READY or SCHEDULED keys of a lane, or rows of a queue.
  enum class What : uint8_t {
    kReady,
    kScheduled,
    kWaiting,
    kDead,
    kDone,
    kUnique,
    kSpaceOptions,
    kSpaceRates,
  };
  What what = What::kReady;
  LaneId lane;  // kReady, kScheduled
  // All that is in [from, upper) is void, but of SCHEDULED keys, of all queues together.
  std::string from;
  std::string upper;
  size_t max_jobs = 0;
  uint64_t rows_mark = 0;  // the owner's, in its log of changed rows
  // kUnique: only windows of lives below that one; none: all rows.
  std::optional<Incarnation> windows_below;

  struct Found {
    std::string key;
    LaneId lane;
    JobId id;
    keycodec::Zone zone;  // of a SCHEDULED key
    uint32_t flags = 0;   // kFlagParent: others wait for it
    bool has_record = false;
    uint64_t payload_bytes = 0;
    int64_t until_ms = 0;           // of a window
    std::vector<std::string> rows;  // that go with it
    // A unique key's row that names it: to be deleted unless it has changed.
    std::string unique_row;
  };
  std::vector<Found> found;
  std::string next;  // where to go on; empty: there is no more

 private:
  class Records;

  // Adds the key if it is void.
  Error Take(std::string_view key, std::string_view value);
  Error TakeRow(std::string_view key, std::string_view value);
  Error ReadJob(const Store& store, Records* records, Found* job);
  Error ReadParent(const Store& store, Found* job);
  bool IsVoid(const keycodec::Zone& scheduled);

  const QueueRegistry* const queues_;
  // Of the queue last asked about.
  QueueId asked_;
  std::optional<Incarnation> living_;
};

}  // namespace vestq
