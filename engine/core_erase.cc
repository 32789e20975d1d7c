// Erasing what purges and drops have made void, in the background: one slice is read at a time, on a
// reader, and erased in one turn, so nobody is held up; when nothing is left the core sleeps.
//
// A core erases the READY and SCHEDULED keys of its lanes, and of a queue's waiting jobs and windows of
// unique keys those of its lanes; dead letters, kept results, rows of spaces and the unique keys of a dropped queue,
// which a queue has one range of, are the keeper's. READY keys of earlier lives stand together, before
// those that live; SCHEDULED keys of all queues stand together, so one pass is made for all that a round
// is about. Every void key is erased here and nowhere else (ERASE-2): vesting passes over it, a lookup
// does not find it. That begins when every core has switched (engine/core_purge.cc), or at a start.
//
// Each record is read, for its size: `bytes` says what is stored, so it falls as space comes back. A count
// kept apart for leased jobs would save the read and cost every claim.
#include <algorithm>
#include <utility>

#include "engine/base/check.h"
#include "engine/core_impl.h"
#include "engine/erase_task.h"
#include "engine/jobs_part.h"

namespace vestq {
namespace {

constexpr size_t kQueuesARound = 1024;

using What = EraseTask::What;
// The rows of a queue, and the kind they are of.
constexpr std::array<std::pair<What, KeyKind>, 3> kRowsOfKinds = {
    {{What::kWaiting, KeyKind::kWaiting},
     {What::kDead, KeyKind::kDead},
     {What::kDone, KeyKind::kDone}}};

// Those that no purge voids: they go with a dropped queue.
constexpr std::array<What, 3> kRowsOfNoKind = {What::kUnique, What::kSpaceOptions,
                                               What::kSpaceRates};

keycodec::QueueRows RowsOf(What what) {
  switch (what) {
    case What::kWaiting: return keycodec::QueueRows::kWaiting;
    case What::kDead: return keycodec::QueueRows::kDead;
    case What::kDone: return keycodec::QueueRows::kDone;
    case What::kUnique: return keycodec::QueueRows::kUnique;
    case What::kSpaceOptions: return keycodec::QueueRows::kSpaceOptions;
    case What::kSpaceRates: return keycodec::QueueRows::kSpaceRates;
    case What::kReady:
    case What::kScheduled: break;
  }
  CHECK(false, "keys of jobs are no rows");
  return keycodec::QueueRows::kUnique;
}

}  // namespace

// At a start: what the process before has left.
void Core::Impl::BeginErasing() {
  for (const auto& [record, number] : shared_->queues->to_erase()) {
    erasures_.push_back({record, number, kAllKinds});
    if (record == nullptr) unswept_.emplace(number, nullptr);
  }
  EraseNext();
}

void Core::Impl::ErasePart(JobsPart* part) {
  const bool dropped = part->number != QueueId(0);
  const QueueId number = dropped ? part->number : QueueHere(part->from_queue)->life.number;
  RoomOfPurge(part->from_queue);
  erasures_.push_back({dropped ? nullptr : part->from_queue, number, part->kinds});
  EraseNext();
  Executed(part);
}

void Core::Impl::EraseNext() {
  if (erase_running_ || shared_->writes->failed()) return;
  if (erase_round_.empty()) {
    if (erasures_.empty()) return;
    const size_t count = std::min(erasures_.size(), kQueuesARound);
    const auto end = erasures_.begin() + static_cast<ptrdiff_t>(count);
    erase_round_.assign(erasures_.begin(), end);
    erasures_.erase(erasures_.begin(), end);
    erase_item_ = erase_step_ = 0;
    erase_from_.clear();
  }
  erase_running_ = true;
  if (erase_item_ < erase_round_.size() && unswept_.contains(erase_round_[erase_item_].number)) {
    // A start found leases of a dropped queue.
    return SweepDropped(erase_round_[erase_item_].number, 0, [this] {
      erase_running_ = false;
      EraseNext();
    });
  }
  std::unique_ptr<EraseTask> task = NextErase();
  if (task == nullptr) {
    // In the next turn, behind this one's batch: what is added before RunLater runs in the same turn.
    return Later([this] { Later([this] { FinishRound(); }); });
  }
  if (!erase_from_.empty()) task->from = erase_from_;
  task->max_jobs = limits::kSliceJobs;
  task->rows_mark = rows_log_.Begin();
  EraseTask* const raw = task.get();
  task->finish = [this, raw](ReadTask*) { FinishErase(raw); };
  SubmitRead(std::move(task));
}

// The slice to read next; null: the round is over.
std::unique_ptr<EraseTask> Core::Impl::NextErase() {
  for (; erase_item_ < erase_round_.size(); ++erase_item_, erase_step_ = 0) {
    if (auto task = EraseOfQueue()) return task;
  }
  bool any = false;
  for (const Erasure& erasure : erase_round_) any |= Has(erasure.kinds, KeyKind::kScheduled);
  if (!any || erase_step_ >= lanes_.size()) return nullptr;
  auto task = std::make_unique<EraseTask>(shared_->queues.get());
  task->what = What::kScheduled;
  task->lane = lanes_[erase_step_].id;
  keycodec::AppendRangePrefix(task->lane, keycodec::Range::kScheduled, &task->from);
  task->upper = keycodec::PrefixSuccessor(task->from);
  return task;
}

// Of the round's current queue, from its current step on; null: there is nothing more of it.
std::unique_ptr<EraseTask> Core::Impl::EraseOfQueue() {
  const Erasure& erasure = erase_round_[erase_item_];
  const bool dropped = erasure.record == nullptr;
  QueueLife life;
  if (!dropped) {  // as it is here; a start makes nothing of a queue that it has not met
    const CoreQueue* const known = erasure.record->slots[id_.value()].core_queue;
    life = known != nullptr ? known->life : shared_->queues->Life(*erasure.record);
  }
  // Dropped since it was purged: the drop's own erasure takes it all.
  if (!dropped && life.number != erasure.number) return nullptr;
  auto task = std::make_unique<EraseTask>(shared_->queues.get());
  for (; erase_step_ < lanes_.size(); ++erase_step_) {
    if (!Has(erasure.kinds, KeyKind::kReady)) continue;
    task->lane = lanes_[erase_step_].id;
    keycodec::AppendQueuePrefix(task->lane, erasure.number, &task->from);
    if (dropped) {
      task->upper = keycodec::PrefixSuccessor(task->from);
    } else {
      keycodec::AppendLifePrefix(task->lane, erasure.number, life[KeyKind::kReady], &task->upper);
    }
    return task;
  }
  const CoreId keeper = dropped
                            ? CoreId(static_cast<uint16_t>(erasure.number.value() % shared_->cores))
                            : shared_->KeeperOf(*erasure.record);
  for (; erase_step_ < lanes_.size() + kRowsOfKinds.size() + kRowsOfNoKind.size(); ++erase_step_) {
    const size_t i = erase_step_ - lanes_.size();
    const bool of_kind = i < kRowsOfKinds.size();
    const What what = of_kind ? kRowsOfKinds[i].first : kRowsOfNoKind[i - kRowsOfKinds.size()];
    const bool unique = what == What::kUnique;
    // Windows of unique keys go with kept results; a key that is held goes with its job. Rows of spaces go
    // with the queue.
    if (of_kind || unique ? !Has(erasure.kinds, of_kind ? kRowsOfKinds[i].second : KeyKind::kDone)
                          : !dropped)
      continue;
    // A key that was freed may be taken again, by the owner of its lane.
    const bool by_owner = unique ? !dropped : what == What::kWaiting;
    if (!by_owner && keeper != id_) continue;
    task->what = what;
    if (unique && !dropped) task->windows_below = life[KeyKind::kDone];
    keycodec::AppendQueueRowsPrefix(RowsOf(task->what), erasure.number, &task->from);
    if (dropped || unique) {
      task->upper = keycodec::PrefixSuccessor(task->from);
    } else {
      keycodec::AppendQueueRowsPrefix(RowsOf(task->what), erasure.number,
                                      life[kRowsOfKinds[i].second], &task->upper);
    }
    return task;
  }
  return nullptr;
}

void Core::Impl::FinishErase(EraseTask* task) {
  erase_running_ = false;
  if (!task->error.ok()) {
    rows_log_.End(task->rows_mark);
    if (shared_->writes->failed()) return;
    Log("erasing what was purged: " + task->error.ToString());
    retries_.emplace(now() + kReadRetry, [this] { EraseNext(); });
    return;
  }
  EraseVoid(task);
  rows_log_.End(task->rows_mark);
  erase_from_ = task->next;
  if (erase_from_.empty()) ++erase_step_;
  EraseNext();
}

// Windows of unique keys of this core's lanes, that nobody has taken since they were read.
void Core::Impl::EraseWindows(CoreQueue* queue, const EraseTask& task) {
  bool any = false;
  for (const EraseTask::Found& window : task.found) {
    const LaneId lane = shared_->LaneOf(window.id);
    if (shared_->OwnerOf(lane) != id_ || rows_log_.Changed(task.rows_mark, window.key)) continue;
    DeleteRow(window.key);
    DeleteRow(keycodec::TimerKey(lane, keycodec::Clock::kEngine, window.until_ms,
                                 keycodec::TimerKind::kUniqueWindow, window.id));
    any = true;
  }
  if (any && queue != nullptr) WatchVanish(queue);
}

void Core::Impl::EraseVoid(EraseTask* task) {
  if (task->windows_below) {
    return EraseWindows(QueueById(erase_round_[erase_item_].number), *task);
  }
  const bool of_jobs = task->what == What::kReady || task->what == What::kScheduled;
  for (EraseTask::Found& job : task->found) {
    if (task->what == What::kWaiting && shared_->OwnerOf(job.lane) != id_) continue;
    CoreQueue* queue = nullptr;  // null: dropped, nothing is counted of it
    if (task->what == What::kScheduled) {
      if (LivingScheduled(job.zone) != nullptr)
        continue;  // void in a life that is still to come here
      queue = QueueById(job.zone.queue);
    } else {
      queue = QueueById(erase_round_[erase_item_].number);
    }
    if (of_jobs) {
      batch_.SingleDelete(Family::kVesting, job.key);
    } else {
      DeleteRow(job.key);
    }
    if (job.has_record) {
      key_.clear();
      keycodec::AppendJobKey(job.lane, job.id, &key_);
      batch_.SingleDelete(Family::kJob, key_);
      if (queue != nullptr) CountErased(queue, task->what == What::kDead, job.payload_bytes);
    }
    for (const std::string& row : job.rows) DeleteRow(row);
    // Another job may have taken the key since it was read.
    if (!job.unique_row.empty() && !rows_log_.Changed(task->rows_mark, job.unique_row))
      DeleteRow(job.unique_row);
    EndParent(job.id, job.flags, false,
              queue != nullptr ? EndedBy(EventKind::kPurged) : kDroppedWithQueue);
    TouchJob(job.id);
  }
}

void Core::Impl::CountErased(CoreQueue* queue, bool dead, uint64_t payload_bytes) {
  const auto bytes = static_cast<int64_t>(payload_bytes);
  Count(queue, keycodec::Counter::kBytes, -bytes);
  if (dead) Count(queue, keycodec::Counter::kDeadBytes, -bytes);
}

void Core::Impl::FinishRound() {
  if (shared_->writes->failed()) return;
  for (const Erasure& erasure : std::exchange(erase_round_, {}))
    shared_->queues->Erased(erasure.record, erasure.number);
  erase_running_ = false;
  EraseNext();
}

}  // namespace vestq
