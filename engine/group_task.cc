#include "engine/group_task.h"

#include <string>

#include "engine/base/check.h"
#include "engine/base/limits.h"
#include "engine/kv_task.h"

namespace vestq {

Error GroupTask::Run(const Store& store) {
  view = std::make_unique<GroupView>(&store, &batch);
  for (Read& read : reads) {
    Error result = read.task->Run(*view);
    if (result.ok() && read.needs_record) {
      const auto* const lookup = static_cast<const LookupTask*>(read.task.get());
      if (!lookup->record) {
        result = Error(ErrorCode::kCorruption,
                       "job " + std::to_string(lookup->id.value()) + " has no record (JOB-2)");
      }
    }
    failed = read.member;
    if (!result.ok()) return result;
    read.task.reset();  // it may hold a large payload
  }
  for (const size_t member : data) {
    failed = member;
    VESTQ_RETURN_IF_ERROR(RunData(group->members[member].get()));
  }
  failed = GroupRequest::kNone;
  return Error::Ok();
}

Error GroupTask::RunData(Request* member) {
  switch (member->kind) {
    case RequestKind::kDataSet: return RunSet(static_cast<DataSetRequest*>(member));
    case RequestKind::kDataDelete: return RunDelete(static_cast<DataDeleteRequest*>(member));
    case RequestKind::kDataGet: return RunGet(static_cast<DataGetRequest*>(member));
    case RequestKind::kDataRange: return RunRange(static_cast<DataRangeRequest*>(member));
    default: CHECK(false, "a request about data");
  }
}

Error GroupTask::RunSet(DataSetRequest* request) {
  request->stored = request->when == DataSetRequest::When::kAlways;
  if (!request->stored) {
    std::string there;
    const Error got = view->Get(Family::kKv, request->key, &there);
    if (!got.ok() && got.code() != ErrorCode::kNotFound) return got;
    request->stored = request->when == DataSetRequest::When::kAbsent
                          ? !got.ok()
                          : got.ok() && there == request->expected;
  }
  if (request->stored) batch.Put(Family::kKv, request->key, request->value);
  return Error::Ok();
}

Error GroupTask::RunDelete(DataDeleteRequest* request) {
  request->deleted = 0;
  std::string there;
  for (const std::string& key : request->keys) {
    const Error got = view->Get(Family::kKv, key, &there);
    if (got.code() == ErrorCode::kNotFound) continue;
    if (!got.ok()) return got;
    batch.Delete(Family::kKv, key);
    ++request->deleted;
  }
  return Error::Ok();
}

Error GroupTask::RunGet(DataGetRequest* request) {
  KvGetTask task;
  task.keys = request->keys;
  task.presence_only = request->form == DataGetRequest::Form::kCount;
  VESTQ_RETURN_IF_ERROR(task.Run(*view));
  size_t bytes = 0;
  for (const auto& value : task.values) bytes += value ? value->size() : 0;
  request->values = std::move(task.values);
  return CountReply(bytes);
}

Error GroupTask::RunRange(DataRangeRequest* request) {
  KvRangeTask task;
  task.prefix = request->prefix;
  task.from_after = request->after;
  task.count = request->count;
  VESTQ_RETURN_IF_ERROR(task.Run(*view));
  size_t bytes = 0;
  for (const auto& [key, value] : task.entries) bytes += 64 + key.size() + value.size();
  request->entries = std::move(task.entries);
  request->more = task.more;
  return CountReply(bytes);
}

// One value alone may be larger, as outside a group.
Error GroupTask::CountReply(size_t bytes) {
  const bool first = reply_bytes_ == 0;
  reply_bytes_ += bytes;
  if (first || reply_bytes_ <= limits::kDataReplyBytes) return Error::Ok();
  return Error(ErrorCode::kTooBig, "the values that this group reads have more than " +
                                       std::to_string(limits::kDataReplyBytes) + " bytes together");
}

}  // namespace vestq
