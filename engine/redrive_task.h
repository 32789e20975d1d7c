// A job that may be dead, and who holds the unique key that it would take again. Runs on a reader's
// thread.
#pragma once

#include <cstdint>
#include <optional>

#include "engine/link_task.h"
#include "engine/lookup_task.h"
#include "engine/read_pool.h"
#include "engine/unique_task.h"

namespace vestq {

class RedriveTask : public ReadTask {
 public:
  // `keeps_key`: it stays in its queue, so it must have its key.
  RedriveTask(LaneId lane, JobId id, bool keeps_key, const QueueRegistry* queues)
      : job(lane, id, queues), keeps_key_(keeps_key), queues_(queues) {}

  Error Run(const Store& store) override {
    VESTQ_RETURN_IF_ERROR(job.Run(store));
    if (job.state != JobState::kDead) return Error::Ok();
    VESTQ_RETURN_IF_ERROR(CountEdges(store, job.lane, job.id, &parents));
    if (!keeps_key_) return Error::Ok();
    const keycodec::JobHeader& header = job.record->header;
    if ((header.flags & keycodec::kFlagUnique) == 0) return Error::Ok();
    unique.emplace(job.lane,
                   keycodec::UniqueKey(header.zone.queue, header.zone.space, header.unique_key),
                   queues_);
    return unique->Run(store);
  }

  LookupTask job;
  uint32_t parents = 0;              // that it would wait for again: those that have not ended
  std::optional<UniqueTask> unique;  // of a dead job that has a key
  uint64_t jobs_mark = 0;            // the owner's, in its logs of changed jobs and rows
  uint64_t rows_mark = 0;

 private:
  const bool keeps_key_;
  const QueueRegistry* const queues_;
};

}  // namespace vestq
