#include "engine/link_task.h"

#include "engine/queue_registry.h"
#include "engine/store.h"

namespace vestq {

Error ChildTask::Run(const Store& store) {
  edges.clear();
  std::string bytes;
  for (const JobId parent : parents) {
    const Error got =
        store.Get(Family::kRows, keycodec::ChildEdgeKey(job.lane, job.id, parent), &bytes);
    if (got.ok()) edges.push_back(parent);
    if (!got.ok() && got.code() != ErrorCode::kNotFound) return got;
  }
  if (edges.empty()) return Error::Ok();
  Error got = store.Get(Family::kRows, keycodec::JobRowKey(job.lane, job.id), &bytes);
  if (got.code() == ErrorCode::kNotFound) return Error::Ok();
  if (!got.ok()) return got;
  Result<keycodec::JobRow> decoded_row = keycodec::DecodeJobRow(bytes);
  if (!decoded_row.ok()) return decoded_row.error();
  row = std::move(*decoded_row);
  if (row->place != keycodec::Place::kWaiting) return Error::Ok();
  const Result<keycodec::WaitingRowKey> where = keycodec::DecodeWaitingKey(row->key);
  if (!where.ok()) return where.error();
  job.queue = where->queue;
  job.life = queues_->LifeOf(where->queue);
  // Purged or dropped: it waits for nothing any more.
  if (!job.life || where->incarnation != (*job.life)[KeyKind::kWaiting]) return Error::Ok();
  got = store.Get(Family::kRows, row->key, &bytes);
  // It has gone on between the two reads: its owner knows, and looks again.
  if (got.code() == ErrorCode::kNotFound) return Error::Ok();
  if (!got.ok()) return got;
  Result<keycodec::WaitingValue> decoded = keycodec::DecodeWaitingValue(bytes);
  if (!decoded.ok()) return decoded.error();
  waiting = std::move(*decoded);
  if (!gone && edges.size() < waiting->pending) return Error::Ok();
  const uint64_t version = job.life->version;
  VESTQ_RETURN_IF_ERROR(job.Run(store));
  // Purged or dropped between the two reads: then the row was living in the one and void in the other.
  const bool other_life = !job.life || job.life->version != version;
  if (job.state != JobState::kWaiting && other_life) waiting.reset();
  return Error::Ok();
}

Error EdgesTask::Run(const Store& store) {
  std::string prefix;
  keycodec::AppendParentEdgePrefix(lane, parent, &prefix);
  if (from.empty()) from = prefix;
  const auto it = store.NewIterator(Family::kRows, from, keycodec::PrefixSuccessor(prefix));
  for (it->Seek(from); it->Valid(); it->Next()) {
    if (children.size() == max_edges) {
      next.assign(it->key());
      break;
    }
    const Result<keycodec::EdgeRowKey> edge = keycodec::DecodeParentEdgeKey(it->key());
    if (!edge.ok()) return edge.error();
    children.push_back(edge->child);
  }
  return it->error();
}

Error OldWordsTask::Run(const Store& store) {
  std::string prefix;
  keycodec::AppendHandoverPrefix(lane, &prefix);
  if (from.empty()) from = prefix;
  const auto it = store.NewIterator(Family::kRows, from, keycodec::HandoverKey(lane, epoch, 0));
  for (it->Seek(from); it->Valid(); it->Next()) {
    if (words.size() == max_words) {
      next.assign(it->key());
      break;
    }
    Result<keycodec::HandoverValue> word = keycodec::DecodeHandoverValue(it->value());
    if (!word.ok()) {
      damaged = word.error().ToString();
      continue;
    }
    words.emplace_back(it->key(), std::move(*word));
  }
  return it->error();
}

Error CountEdges(const Store& store, LaneId lane, JobId child, uint32_t* edges) {
  std::string prefix;
  keycodec::AppendChildEdgePrefix(lane, child, &prefix);
  const auto it = store.NewIterator(Family::kRows, prefix, keycodec::PrefixSuccessor(prefix));
  *edges = 0;
  for (it->Seek(prefix); it->Valid(); it->Next()) ++*edges;
  return it->error();
}

}  // namespace vestq
