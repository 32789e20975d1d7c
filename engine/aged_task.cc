#include "engine/aged_task.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "engine/store.h"
#include "engine/zone_tasks.h"
#include "keycodec/records.h"

namespace vestq {
namespace {

bool Older(const ReadyJob& a, const ReadyJob& b) {
  return keycodec::ReadyRankLess(keycodec::Order::kTime, a.rank, b.rank);
}

}  // namespace

// Keeps the job if it is one of the oldest. REQUIRES: there is room, or it is older than the youngest.
Error AgedTask::Offer(const keycodec::ReadyRank& rank, std::string_view value) {
  const Result<keycodec::ReadyValue> held = keycodec::DecodeReadyValue(value);
  if (!held.ok()) return held.error();
  if (jobs.size() == max_jobs) {
    std::pop_heap(jobs.begin(), jobs.end(), Older);
    left_ms = std::min(left_ms, jobs.back().rank.time_ms);
    jobs.pop_back();
  }
  ReadyJob& job = jobs.emplace_back();
  job.rank = rank;
  job.flags = held->flags;
  job.attempt = held->attempt;
  std::push_heap(jobs.begin(), jobs.end(), Older);
  return Error::Ok();
}

Error AgedTask::Run(const Store& store) {
  std::string prefix, start;
  keycodec::AppendZonePrefix(lane, zone.queue, zone.incarnation, zone.order, zone.space, &prefix);
  const auto seek_to = [&](uint32_t priority) -> const std::string& {
    start.clear();
    keycodec::AppendReadyKey(lane, zone.queue, zone.incarnation, zone.order, zone.space,
                             {priority, 0, JobId(0)}, &start);
    return start;
  };
  auto it =
      store.NewIterator(Family::kVesting, seek_to(look.from), keycodec::PrefixSuccessor(prefix));
  size_t keys = 0;
  uint32_t priority = 0;  // of the keys that are being looked at
  bool inside = false;
  for (it->Seek(start); it->Valid();) {
    const Result<keycodec::ReadyKey> key = keycodec::DecodeReadyKey(it->key());
    if (!key.ok()) return key.error();
    const keycodec::ReadyRank& rank = key->rank;
    if (!inside || rank.priority != priority) {
      if (keys >= max_keys) {
        next = rank.priority;
        break;
      }
      inside = true;
      priority = rank.priority;
    }
    ++keys;
    const bool full = jobs.size() == max_jobs;
    if (rank.time_ms <= look.until_ms && (!full || rank.time_ms < jobs.front().rank.time_ms)) {
      VESTQ_RETURN_IF_ERROR(Offer(rank, it->value()));
      it->Next();
      continue;
    }
    // What follows in this priority is no older.
    left_ms = std::min(left_ms, rank.time_ms);
    if (priority == UINT32_MAX) break;
    it->Seek(seek_to(priority + 1));
  }
  VESTQ_RETURN_IF_ERROR(it->error());
  it.reset();
  std::sort_heap(jobs.begin(), jobs.end(), Older);
  // A job that was cancelled since its key was seen has none; its owner knows.
  return jobs.empty() ? Error::Ok()
                      : ReadRecords(store, lane, max_bytes, Missing::kIsLeftOut, &jobs);
}

}  // namespace vestq
