#include "engine/check_links.h"

#include "engine/check_rows.h"
#include "keycodec/keys.h"

namespace vestq {
namespace {
std::string Name(JobId id) { return "job " + std::to_string(id.value()); }
}  // namespace

Error LinkCheck::Run(uint64_t marked) {
  VESTQ_RETURN_IF_ERROR(ReadWords());
  VESTQ_RETURN_IF_ERROR(CheckWaiting());
  VESTQ_RETURN_IF_ERROR(CheckChildEdges());
  return CheckParentEdges(marked);
}

// What does not decode has been told of by RowCheck, here and below.
Error LinkCheck::ReadWords() {
  return ForEachRow(store_, 'm', [this](std::string_view, std::string_view value) {
    const auto word = keycodec::DecodeHandoverValue(value);
    if (!word.ok()) return;
    switch (word->kind) {
      case keycodec::HandoverKind::kSubscribe:
      case keycodec::HandoverKind::kAnswer:
        for (const JobId parent : word->jobs) told_.emplace(word->from, parent);
        return;
      case keycodec::HandoverKind::kParentDone:
      case keycodec::HandoverKind::kParentGone:
        if (word->jobs.empty()) over_.insert(word->from);
        for (const JobId child : word->jobs) told_.emplace(child, word->from);
        return;
    }
  });
}

Error LinkCheck::CheckWaiting() {
  Error failed;
  const Error error = ForEachRow(store_, 'w', [&](std::string_view key, std::string_view value) {
    const auto row = keycodec::DecodeWaitingKey(key);
    const auto waiting = keycodec::DecodeWaitingValue(value);
    if (!row.ok() || !waiting.ok()) return;
    const auto queue = queues_->find(row->queue);
    if (queue == queues_->end() || queue->second.dropped) return;
    if (!queue->second.Lives(KeyKind::kWaiting, row->incarnation)) {
      unique_holders_ += HoldsUnique(row->id, *waiting);  // until it is erased
      return;
    }
    ++report_->waiting;
    std::string bytes;
    const bool has_row = Has(keycodec::JobRowKey(waiting->lane, row->id), &bytes);
    const auto job_row = keycodec::DecodeJobRow(bytes);
    if (!has_row || !job_row.ok() || job_row->key != key)
      report_->Add("JOB-4", Name(row->id) + " has a waiting row that its job row does not name");
    AgreeRecord(row->id, *waiting);
    std::string prefix;
    keycodec::AppendChildEdgePrefix(waiting->lane, row->id, &prefix);
    const auto it = store_->NewIterator(Family::kRows, prefix, keycodec::PrefixSuccessor(prefix));
    uint32_t edges = 0;
    for (it->Seek(prefix); it->Valid(); it->Next()) ++edges;
    if (!it->error().ok()) failed = it->error();
    if (edges != waiting->pending || edges == 0) {
      report_->Add("AFTER-1", Name(row->id) + " waits for " + std::to_string(waiting->pending) +
                                  " jobs, and has edges to " + std::to_string(edges));
    }
  });
  return error.ok() ? failed : error;
}

// Its record says the same of it, and a unique key is held by it.
void LinkCheck::AgreeRecord(JobId id, const keycodec::WaitingValue& waiting) {
  std::string key;
  keycodec::AppendJobKey(waiting.lane, id, &key);
  std::string record;
  if (!store_->Get(Family::kJob, key, &record).ok()) return;  // JOB-4 has it
  const auto job = keycodec::DecodeJobRecord(record);
  if (!job.ok()) return;
  const keycodec::JobHeader& header = job->header;
  keycodec::Zone zone = header.zone;
  zone.incarnation = waiting.zone.incarnation;
  if (!(zone == waiting.zone) || header.enqueued_ms != waiting.enqueued_ms)
    report_->Add("JOB-3", Name(id) + ": its waiting row does not agree with its header");
  if ((waiting.flags & keycodec::kFlagUnique) == 0) return;
  if (HoldsUnique(id, waiting)) {
    ++unique_holders_;
  } else {
    report_->Add("UNIQUE-1",
                 Name(id) + " should hold its unique key; the key's row does not say so");
  }
}

bool LinkCheck::HoldsUnique(JobId id, const keycodec::WaitingValue& waiting) const {
  if ((waiting.flags & keycodec::kFlagUnique) == 0) return false;
  std::string key;
  keycodec::AppendJobKey(waiting.lane, id, &key);
  std::string record;
  if (!store_->Get(Family::kJob, key, &record).ok()) return false;
  const auto job = keycodec::DecodeJobRecord(record);
  if (!job.ok()) return false;
  const keycodec::JobHeader& header = job->header;
  if (header.unique_key.empty()) return false;
  std::string bytes;
  const bool there =
      Has(keycodec::UniqueKey(header.zone.queue, header.zone.space, header.unique_key), &bytes);
  const auto holder = keycodec::DecodeUniqueValue(bytes);
  return there && holder.ok() && holder->live && holder->id == id;
}

Error LinkCheck::CheckChildEdges() {
  return ForEachRow(store_, 'a', [this](std::string_view key, std::string_view) {
    const auto edge = keycodec::DecodeChildEdgeKey(key);
    if (!edge.ok()) return;
    ++report_->edges;
    std::string bytes;
    const LaneId lane = LaneOf(edge->parent);
    if (Has(keycodec::ParentEdgeKey(lane, edge->parent, edge->child), &bytes)) return;
    if (told_.contains({edge->child, edge->parent})) return;
    report_->Add("AFTER-2", Name(edge->child) + " has an edge to " + Name(edge->parent) +
                                ", which has none to it, and no word is on its way");
  });
}

// Each marked job has found an edge of its own, so equal numbers mean that no others have any.
Error LinkCheck::CheckParentEdges(uint64_t marked) {
  uint64_t in_vesting = 0;
  JobId last;
  const Error error = ForEachRow(store_, 'p', [&](std::string_view key, std::string_view) {
    const auto edge = keycodec::DecodeParentEdgeKey(key);
    if (!edge.ok() || edge->parent == last) return;
    last = edge->parent;
    const Parent where = FindParent(edge->parent);
    in_vesting += where == Parent::kInVesting;
    if (where == Parent::kWrong)
      report_->Add("AFTER-3",
                   Name(edge->parent) + " has edges, is not unfinished, and no word is on its way");
  });
  VESTQ_RETURN_IF_ERROR(error);
  if (in_vesting != marked) {
    report_->Add("AFTER-3", std::to_string(in_vesting) + " jobs have edges, " +
                                std::to_string(marked) + " of them say so");
  }
  return Error::Ok();
}

LinkCheck::Parent LinkCheck::FindParent(JobId parent) {
  if (over_.contains(parent)) return Parent::kElsewhere;
  const LaneId lane = LaneOf(parent);
  std::string key;
  keycodec::AppendJobKey(lane, parent, &key);
  std::string bytes;
  if (!store_->Get(Family::kJob, key, &bytes).ok()) return Parent::kWrong;
  const auto job = keycodec::DecodeJobRecord(bytes);
  if (!job.ok()) return Parent::kElsewhere;
  const keycodec::Zone& zone = job->header.zone;
  const auto queue = queues_->find(zone.queue);
  // Dropped: its erasing will tell its children.
  if (queue == queues_->end() || queue->second.dropped) return Parent::kElsewhere;
  std::string row_bytes;
  if (!Has(keycodec::JobRowKey(lane, parent), &row_bytes)) return Parent::kInVesting;
  const auto row = keycodec::DecodeJobRow(row_bytes);
  if (!row.ok() || row->place == keycodec::Place::kDead) return Parent::kElsewhere;
  if (row->place == keycodec::Place::kVesting) return Parent::kInVesting;
  if (row->place == keycodec::Place::kDone) return Parent::kWrong;
  std::string waiting_bytes;
  if (!Has(row->key, &waiting_bytes)) return Parent::kElsewhere;  // told of already
  const auto waiting = keycodec::DecodeWaitingValue(waiting_bytes);
  const bool says = waiting.ok() && (waiting->flags & keycodec::kFlagParent) != 0;
  return says ? Parent::kElsewhere : Parent::kWrong;
}

}  // namespace vestq
