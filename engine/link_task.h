// The reads behind AFTER (engine/core_after.cc, core_links.cc). Each runs on a reader's thread over the
// rows of one job, or of one lane's hand-overs, and never over more than a slice of them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/lookup_task.h"
#include "engine/read_pool.h"
#include "keycodec/keys.h"
#include "keycodec/records.h"

namespace vestq {

// Which of some parents a child still has an edge to, and, if it has any and waits, where it stands; the
// job itself only where it may go on now.
class ChildTask : public ReadTask {
 public:
  ChildTask(LaneId lane, JobId child, const QueueRegistry* queues)
      : job(lane, child, queues), queues_(queues) {}
  Error Run(const Store& store) override;

  std::vector<JobId> parents;  // rising
  bool gone = false;           // one of them is: the job may die
  uint64_t mark = 0;           // the owner's, in its log of changed jobs

  std::vector<JobId> edges;  // of `parents`, rising
  std::optional<keycodec::JobRow> row;
  std::optional<keycodec::WaitingValue> waiting;
  LookupTask job;
  bool job_read = false;

 private:
  const QueueRegistry* const queues_;
};

// Edges of a parent, in the order of its children.
class EdgesTask : public ReadTask {
 public:
  EdgesTask(LaneId l, JobId p) : lane(l), parent(p) {}
  Error Run(const Store& store) override;

  const LaneId lane;
  const JobId parent;
  std::string from;  // empty: all of them
  size_t max_edges = 0;

  std::vector<JobId> children;
  std::string next;  // where to go on; empty: there are no more
};

// Hand-overs for a lane that an earlier run of the store has left.
class OldWordsTask : public ReadTask {
 public:
  Error Run(const Store& store) override;

  LaneId lane;
  uint32_t epoch = 0;  // of this run: those before it
  std::string from;    // empty: all of them
  size_t max_words = 0;

  std::vector<std::pair<std::string, keycodec::HandoverValue>> words;
  std::string damaged;  // what the last one that does not decode is; left where it stands
  std::string next;
};

// How many parents a child has that it would still have to wait for. Reads all of its edges.
Error CountEdges(const Store& store, LaneId lane, JobId child, uint32_t* edges);

}  // namespace vestq
