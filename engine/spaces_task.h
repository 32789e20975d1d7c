// A page of a queue's spaces, read from the store: those with ready jobs and those with options of their
// own, in order. The READY keys of a queue stand lane by lane and space by space, so a page is a merge:
// two seeks for each lane and order, one for each space of the page, and the jobs that are counted. Nothing
// of it is asked of memory, so it does not matter which zones are there. Runs on a reader's thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "engine/read_pool.h"
#include "engine/space_request.h"
#include "keycodec/keys.h"

namespace vestq {

class SpacesTask : public ReadTask {
 public:
  Error Run(const Store& store) override;

  QueueId queue;
  Incarnation incarnation;  // of its READY keys
  uint16_t lanes = 0;
  std::optional<std::string> after_space;  // spaces behind this one
  std::optional<std::string> only;         // or just this one
  size_t max_spaces = 0;
  size_t max_jobs = 0;  // counted, of each space

  std::map<std::string, SpacesRequest::Row> spaces;
  bool more = false;  // there are spaces behind them

 private:
  // Where one (lane, order) stands: its next space, none at its end.
  struct Source {
    LaneId lane;
    keycodec::Order order;
    std::optional<std::string> next;
  };
  Error FirstBehind(const Store& store, Source* source, const std::optional<std::string>& behind);
  Error CountJobs(const Store& store, const Source& source, SpacesRequest::Row* row);
  Error ReadOptions(const Store& store, const std::string& space, SpacesRequest::Row* row);

  std::vector<Source> sources_;
};

}  // namespace vestq
