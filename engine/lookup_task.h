// Finding a job that is not in memory, from its id: the header tells its first key, a job row tells
// where it went since (ARCHITECTURE.md, "From id to key"). Runs on a reader's thread.
#pragma once

#include <optional>
#include <string>

#include "engine/queue_life.h"
#include "engine/read_pool.h"
#include "engine/request.h"
#include "keycodec/keys.h"
#include "keycodec/records.h"

namespace vestq {

class QueueRegistry;

class LookupTask : public ReadTask {
 public:
  LookupTask(LaneId job_lane, JobId job, const QueueRegistry* queues)
      : lane(job_lane), id(job), queues_(queues) {}
  Error Run(const Store& store) override;

  const LaneId lane;
  const JobId id;

  // What was found. Without a record there is no such job, or it is done and kept (kDone). One that was
  // purged or dropped and not erased yet has a record and is kGone; so has one that is leased.
  std::string record_bytes;
  std::optional<keycodec::JobRecord> record;  // payload points into record_bytes
  std::optional<keycodec::JobRow> row;
  JobState state = JobState::kGone;
  keycodec::ScheduledKey scheduled;  // kScheduled
  keycodec::ReadyRank rank;          // kReady
  uint32_t flags = 0;                // kDead: kFlagParent alone
  uint32_t attempt = 0;
  uint32_t priority = 0;
  keycodec::DeadValue dead;        // kDead
  MonoTime ended;                  // kDead, kDone: when it died or was completed
  keycodec::DoneValue done;        // kDone
  keycodec::WaitingValue waiting;  // kWaiting
  // The queue that was found, and its life at that moment (none: it was dropped): its owner must see the
  // same one (Core::Impl::OfAnotherLife).
  std::optional<QueueId> queue;
  std::optional<QueueLife> life;

 private:
  Error FindScheduled(const Store& store, const std::string& key);
  Error FindReady(const Store& store, const keycodec::ReadyRank& where);
  Error FindDead(const Store& store, const std::string& key);
  Error FindDone(const Store& store, const std::string& key);
  Error FindWaiting(const Store& store, const std::string& key);

  const QueueRegistry* const queues_;
};

}  // namespace vestq
