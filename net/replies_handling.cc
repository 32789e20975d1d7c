// Replies to the commands on many jobs and to those that look.
#include "engine/base/check.h"
#include "engine/handling_request.h"
#include "engine/purge_request.h"
#include "net/replies.h"

namespace vestq {
namespace {

void WriteIds(const EnqueueManyRequest& many, RespWriter* w) {
  w->Array(many.ids.size());
  for (JobId id : many.ids) w->BulkNumber(id.value());
}

void WriteWorkers(const WorkersRequest& workers, RespWriter* w) {
  w->Array(2);
  w->Int(static_cast<int64_t>(workers.others));
  w->Array(workers.rows.size());
  for (const auto& [names, row] : workers.rows) {
    w->Map(4);
    w->Bulk("queue");
    w->Bulk(names.first);
    w->Bulk("worker");
    w->Bulk(names.second);
    w->Bulk("leases");
    w->Int(static_cast<int64_t>(row.leases));
    w->Bulk("oldest");
    w->Int(row.oldest.ms());
  }
}

void WritePeek(const PeekRequest& peek, RespWriter* w) {
  w->Array(2);
  w->Bulk(peek.cursor);
  w->Array(peek.jobs.size());
  for (const auto& job : peek.jobs) WriteJob(*job, true, w);
}

}  // namespace

void WriteHandling(const Request& request, RespWriter* w) {
  if (request.kind == RequestKind::kEnqueueMany)
    return WriteIds(static_cast<const EnqueueManyRequest&>(request), w);
  if (request.kind == RequestKind::kWorkers)
    return WriteWorkers(static_cast<const WorkersRequest&>(request), w);
  if (request.kind == RequestKind::kPeek)
    return WritePeek(static_cast<const PeekRequest&>(request), w);
  if (request.kind == RequestKind::kRedrive)
    return w->Int(static_cast<int64_t>(static_cast<const RedriveRequest&>(request).redriven));
  if (request.kind == RequestKind::kPurge)
    return w->Int(static_cast<int64_t>(static_cast<const PurgeRequest&>(request).removed));
  CHECK(false, "a request without a reply");
}

size_t HandlingBytes(const Request& request) {
  constexpr size_t kFrame = 64;
  constexpr size_t kRow = 128;
  if (request.kind == RequestKind::kEnqueueMany)
    return kFrame + static_cast<const EnqueueManyRequest&>(request).ids.size() * 24;
  if (request.kind == RequestKind::kWorkers) {
    size_t bytes = kFrame;
    for (const auto& [names, row] : static_cast<const WorkersRequest&>(request).rows)
      bytes += kRow + names.first.size() + names.second.size();
    return bytes;
  }
  if (request.kind == RequestKind::kPeek) {
    constexpr size_t kJob = 640;
    const auto& peek = static_cast<const PeekRequest&>(request);
    size_t bytes = kFrame + peek.cursor.size();
    for (const auto& job : peek.jobs) bytes += kJob + VariableBytes(*job);
    return bytes;
  }
  return 0;
}

}  // namespace vestq
