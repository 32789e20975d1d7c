// What a group of commands must know of the store before it is carried out: read in one go on a reader's
// thread, in the order of the members. The application's data is carried out whole while doing so, since
// nothing in memory depends on it: values are in the members and changes in `batch` when it is back.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "engine/batch.h"
#include "engine/group_request.h"
#include "engine/group_view.h"
#include "engine/kv_request.h"
#include "engine/lookup_task.h"
#include "engine/read_pool.h"

namespace vestq {

class GroupTask : public ReadTask {
 public:
  explicit GroupTask(GroupRequest* g) : group(g) {}
  // An error belongs to member `failed`.
  Error Run(const Store& store) override;

  GroupRequest* const group;
  struct Read {
    size_t member;
    std::unique_ptr<ReadTask> task;  // a LookupTask or a UniqueTask; freed once it has run
    bool needs_record = false;       // a job that is leased has one, or it is corrupt
  };
  std::vector<Read> reads;
  std::vector<size_t> data;  // members about the application's data
  bool reads_store = false;  // else it is run by the core itself
  size_t failed = GroupRequest::kNone;
  Batch batch;  // the group's changes
  std::unique_ptr<GroupView> view;

 private:
  Error RunData(Request* member);
  Error RunSet(DataSetRequest* request);
  Error RunDelete(DataDeleteRequest* request);
  Error RunGet(DataGetRequest* request);
  Error RunRange(DataRangeRequest* request);
  Error CountReply(size_t bytes);

  size_t reply_bytes_ = 0;
};

}  // namespace vestq
