// Who holds a unique key: its row, and the job that the row names. Runs on a reader's thread.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "engine/lookup_task.h"
#include "engine/read_pool.h"
#include "engine/store.h"
#include "keycodec/records.h"

namespace vestq {

class UniqueTask : public ReadTask {
 public:
  UniqueTask(LaneId l, std::string key, const QueueRegistry* queues)
      : lane(l), row_key(std::move(key)), queues_(queues) {}

  Error Run(const Store& store) override {
    std::string bytes;
    const Error got = store.Get(Family::kRows, row_key, &bytes);
    if (got.code() == ErrorCode::kNotFound) return Error::Ok();
    if (!got.ok()) return got;
    Result<keycodec::UniqueValue> decoded = keycodec::DecodeUniqueValue(bytes);
    if (!decoded.ok()) return decoded.error();
    row = *decoded;
    if (!row->live) return Error::Ok();
    holder = std::make_unique<LookupTask>(lane, row->id, queues_);
    return holder->Run(store);
  }

  const LaneId lane;
  const std::string row_key;
  uint64_t rows_mark = 0;  // the owner's, in its logs of changed rows and jobs
  uint64_t jobs_mark = 0;

  std::optional<keycodec::UniqueValue> row;
  std::unique_ptr<LookupTask> holder;  // of a live row

 private:
  const QueueRegistry* const queues_;
};

}  // namespace vestq
