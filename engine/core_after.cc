// AFTER, the side of the job that waits (the child). It stands in a row of its own, `w`, with the number of
// its parents that are not complete, and has an edge row, `a`, to each of them. Its parents' owners learn of
// it by word (core_links.cc), and by word it learns of their ends.
//
// AFTER-1: `pending` of a waiting job is the number of its edges. A word takes edges away and lowers
// `pending` by as many, in one batch; one that finds no edge has been taken in before and changes nothing.
// At 0 the job becomes ready, or scheduled.
#include <algorithm>
#include <utility>

#include "engine/base/check.h"
#include "engine/core_impl.h"
#include "engine/group_request.h"
#include "engine/jobs_part.h"
#include "engine/link_task.h"
#include "engine/lookup_task.h"
#include "engine/zone_tasks.h"

namespace vestq {
namespace {
// Edges that one read of a child looks for, about.
constexpr size_t kEdgesARead = 1024;
}  // namespace

// --- ENQUEUE ---

// Below the stored bound of ids, and not one that this core has yet to give.
bool Core::Impl::Issued(JobId id, uint64_t bound) const {
  const uint64_t n = id.value() / shared_->lanes;
  if (n == 0 || id.value() > limits::kJobIdMax) return false;
  if (n >= ids_.next && n < ids_.end) return false;
  return n < bound;
}

// Each parent once, of so many jobs that wait for all of them. Errors: kRange (too many), kNotFound (never enqueued). So a job never waits for itself,
// and on one core never in a circle: its parents are older.
Error Core::Impl::CheckAfter(EnqueueRequest* request, size_t jobs) const {
  std::vector<JobId>& after = request->after;
  std::sort(after.begin(), after.end());
  after.erase(std::unique(after.begin(), after.end()), after.end());
  if (after.size() * jobs > limits::kAfterMax) {
    const std::string most = std::to_string(limits::kAfterMax);
    const std::string names = std::to_string(after.size());
    return Error(ErrorCode::kRange,
                 jobs == 1 ? "AFTER names " + names + " jobs, at most " + most + " are possible"
                           : "AFTER: " + std::to_string(jobs) + " jobs that wait for " + names +
                                 " each are more than " + most + " edges");
  }
  const uint64_t bound = shared_->ids->bound();
  for (const JobId parent : after) {
    if (!Issued(parent, bound)) {
      return Error(ErrorCode::kNotFound,
                   "AFTER: there has never been a job " + std::to_string(parent.value()));
    }
  }
  return Error::Ok();
}

// The job's record, its waiting row, its edges, and word for each lane of a parent: one batch.
void Core::Impl::AddWaiting(LaneId lane, JobId id, const keycodec::JobHeader& header,
                            EnqueueRequest* request) {
  key_.clear();
  keycodec::AppendJobKey(lane, id, &key_);
  value_.clear();
  keycodec::AppendJobRecord(header, request->payload, &value_);
  batch_.Put(Family::kJob, key_, value_);
  keycodec::WaitingValue value;
  value.flags = header.flags;
  value.zone = header.zone;
  value.lane = lane;
  value.priority = header.priority;
  value.enqueued_ms = header.enqueued_ms;
  value.clock = header.clock;
  value.vests_ms = header.vests_ms;
  value.pending = static_cast<uint32_t>(request->after.size());
  keycodec::JobRow row;
  row.priority = header.priority;
  PutWaiting(lane, id, value, std::move(row));

  value_.clear();
  keycodec::Append(keycodec::EdgeValue{}, &value_);
  std::map<LaneId, std::vector<JobId>> by_lane;
  for (const JobId parent : request->after) {
    batch_.Put(Family::kRows, keycodec::ChildEdgeKey(lane, id, parent), value_);
    by_lane[shared_->LaneOf(parent)].push_back(parent);
  }
  if (request->subscriptions == nullptr) request->subscriptions = std::make_shared<Subscriptions>();
  for (const auto& [to, parents] : by_lane) {
    for (size_t at = 0; at < parents.size(); at += limits::kSliceJobs) {
      keycodec::HandoverValue word{keycodec::HandoverKind::kSubscribe, id, {}, {}};
      const auto first = parents.begin() + static_cast<ptrdiff_t>(at);
      const size_t count = std::min(limits::kSliceJobs, parents.size() - at);
      word.jobs.assign(first, first + static_cast<ptrdiff_t>(count));
      ++request->subscriptions->left;
      Tell(to, std::move(word), [subscriptions = request->subscriptions] {
        if (--subscriptions->left == 0 && subscriptions->then) subscriptions->then();
      });
    }
  }
}

// The job waits from now on. `row` has what is to stay known of it.
void Core::Impl::PutWaiting(LaneId lane, JobId id, const keycodec::WaitingValue& value,
                            keycodec::JobRow row) {
  CoreQueue* const queue = QueueById(value.zone.queue);
  keycodec::WaitingValue placed = value;
  placed.zone.incarnation = queue->life[KeyKind::kWaiting];  // LIFE-1
  row.place = keycodec::Place::kWaiting;
  row.key = keycodec::WaitingKey(placed.zone.queue, placed.zone.incarnation, id);
  value_.clear();
  keycodec::Append(placed, &value_);
  PutRow(row.key, value_);
  value_.clear();
  keycodec::Append(row, &value_);
  PutRow(keycodec::JobRowKey(lane, id), value_);
  Count(queue, keycodec::Counter::kWaiting, 1);
  TouchJob(id);
}

// The answer leaves once every parent's owner knows of the job (or has said that it need not wait): what is
// done to a parent afterwards is done to a parent.
void Core::Impl::EndEnqueue(Request* request, const std::shared_ptr<Subscriptions>& subscriptions) {
  // A member of a group is carried out at once (GROUP-3): the group waits, AnswerGroup.
  if (in_group_ || subscriptions == nullptr || subscriptions->left == 0) return Executed(request);
  subscriptions->then = [this, request] { Executed(request); };
}

// The same for a group that was carried out here. REQUIRES: its owners are frozen, or this core.
void Core::Impl::AnswerGroup(GroupRequest* request) {
  std::vector<std::pair<Impl*, Subscriptions*>> wait;
  for (const auto& member : request->members) {
    const EnqueueRequest* job = nullptr;
    if (member->kind == RequestKind::kEnqueue) job = static_cast<EnqueueRequest*>(member.get());
    if (member->kind == RequestKind::kEnqueueMany)
      job = &static_cast<EnqueueManyRequest*>(member.get())->job;
    if (job == nullptr || job->subscriptions == nullptr || job->subscriptions->left == 0) continue;
    wait.emplace_back(OwnerOfMember(*member), job->subscriptions.get());
  }
  if (wait.empty() || !request->error.ok()) return Executed(request);
  request->untold = static_cast<uint32_t>(wait.size());
  for (const auto& [owner, subscriptions] : wait) {
    subscriptions->then = [owner, request] {
      if (request->untold.fetch_sub(1) == 1) owner->Executed(request);
    };
  }
}

// --- Word of parents ---

void Core::Impl::TellChild(JobId child, ChildWord word) {
  ChildWords& words = child_words_[child];
  words.list.push_back(std::move(word));
  if (!words.reading) ReadChild(child);
}

// One read at a time for a child, of as many words as have come: ten thousand parents that end together
// cost a few of them.
void Core::Impl::ReadChild(JobId child) {
  ChildWords& words = child_words_[child];
  words.reading = true;
  auto task = std::make_unique<ChildTask>(shared_->LaneOf(child), child, shared_->queues.get());
  size_t count = 0;
  for (const ChildWord& word : words.list) {
    if (count > 0 && task->parents.size() + word.parents.size() > kEdgesARead) break;
    ++count;
    task->gone |= word.gone;
    task->parents.insert(task->parents.end(), word.parents.begin(), word.parents.end());
  }
  std::sort(task->parents.begin(), task->parents.end());
  task->parents.erase(std::unique(task->parents.begin(), task->parents.end()), task->parents.end());
  task->mark = jobs_log_.Begin();
  ChildTask* const raw = task.get();
  task->finish = [this, child, count, raw](ReadTask*) {
    const bool changed = jobs_log_.Changed(raw->mark, child) || OfAnotherLife(raw->job);
    jobs_log_.End(raw->mark);
    if (shared_->writes->failed()) return;  // FailWords sees to those who wait
    if (changed) return ReadChild(child);
    if (!raw->error.ok()) {
      Log("reading what job " + std::to_string(child.value()) +
          " waits for failed: " + raw->error.ToString());
      retries_.emplace(now() + kReadRetry, [this, child] { ReadChild(child); });
      return;
    }
    TakeWords(child, count, *raw);
  };
  SubmitRead(std::move(task));
}

void Core::Impl::TakeWords(JobId child, size_t count, const ChildTask& task) {
  for (const JobId parent : task.edges)
    batch_.Delete(Family::kRows, keycodec::ChildEdgeKey(task.job.lane, child, parent));
  if (!task.edges.empty()) TouchJob(child);

  const auto found = child_words_.find(child);
  std::vector<ChildWord> list = std::move(found->second.list);
  const auto rest = list.begin() + static_cast<ptrdiff_t>(count);
  const std::string* why = nullptr;
  for (auto word = list.begin(); word != rest && why == nullptr; ++word) {
    const bool waited = std::any_of(word->parents.begin(), word->parents.end(), [&](JobId parent) {
      return std::binary_search(task.edges.begin(), task.edges.end(), parent);
    });
    if (word->gone && waited) why = &word->why;
  }
  if (task.waiting) {
    if (task.job_read && task.job.state != JobState::kWaiting) {
      Log("job " + std::to_string(child.value()) + " waits and has no record (JOB-2)");
    } else if (why != nullptr) {
      DieWaiting(task.job, *why);
    } else if (task.edges.size() >= task.waiting->pending) {
      LetGo(task.job);
    } else {
      keycodec::WaitingValue value = *task.waiting;
      value.pending -= static_cast<uint32_t>(task.edges.size());
      value_.clear();
      keycodec::Append(value, &value_);
      PutRow(task.row->key, value_);
    }
  }

  found->second.reading = false;
  found->second.list.assign(std::make_move_iterator(rest), std::make_move_iterator(list.end()));
  list.erase(rest, list.end());
  if (found->second.list.empty()) {
    child_words_.erase(found);
  } else {
    ReadChild(child);
  }
  for (ChildWord& word : list) word.then(true);
}

// Nothing keeps the job any more: it becomes ready, or is scheduled where its time has not come.
void Core::Impl::LetGo(const LookupTask& job) {
  const keycodec::JobHeader& header = job.record->header;
  const keycodec::WaitingValue& value = job.waiting;
  const keycodec::Zone& zone = header.zone;
  CoreQueue* const queue = QueueById(zone.queue);
  DeleteRow(job.row->key);
  Count(queue, keycodec::Counter::kWaiting, -1);
  TouchJob(job.id);
  now_stale_ = true;
  const int64_t now_ms =
      value.clock == keycodec::Clock::kEngine ? now().ms() : shared_->clock->Wall().ms();
  const bool later = value.vests_ms > now_ms;
  if (!later) Emit(EventKind::kReady, queue, job.id, job.attempt);
  keycodec::JobRow row = *job.row;
  row.priority = value.priority;
  // Whether its place follows from its header alone.
  bool follows = (value.flags & keycodec::kFlagJobRow) == 0 &&
                 (later || zone.order == keycodec::Order::kPriority);
  if ((value.flags & keycodec::kFlagExpire) != 0) {
    if (later) {
      PutExpiry(job.lane, header, job.id);
    } else {  // EXPIRE counts from now, its first vesting
      follows = false;
      row.expires_ms = std::min(now().ms() + header.expire_ms, limits::kKeyTimeMsMax);
      PutTimer(job.lane, keycodec::Clock::kEngine, row.expires_ms,
               keycodec::TimerKey(job.lane, keycodec::Clock::kEngine, row.expires_ms,
                                  keycodec::TimerKind::kExpire, job.id),
               {});
    }
  }
  if (!follows) {
    return PlaceJob(job.lane, job.id, header, value.flags, std::move(row), value.clock,
                    later ? value.vests_ms : 0);
  }
  DeleteRow(keycodec::JobRowKey(job.lane, job.id));
  if (!later) {
    return PutReady(queue, job.lane, zone.space, zone.order,
                    {value.priority, value.enqueued_ms, job.id}, {value.flags, job.attempt},
                    std::make_shared<const std::string>(job.record_bytes));
  }
  PutScheduled(queue, job.lane, value.clock, value.vests_ms, job.id,
               {value.flags, job.attempt, zone, value.priority, value.enqueued_ms});
}

// A parent will never be complete: a dead letter. Edges to other parents stay, a REDRIVE waits for those.
void Core::Impl::DieWaiting(const LookupTask& job, std::string why) {
  const keycodec::JobHeader& header = job.record->header;
  CoreQueue* const queue = QueueById(header.zone.queue);
  DeleteRow(job.row->key);
  if ((job.flags & keycodec::kFlagUnique) != 0) FreeUniqueKey(job.lane, header, job.id, false);
  keycodec::DeadValue dead;
  const Incarnation incarnation = queue->life[KeyKind::kDead];
  dead.zone = header.zone;
  dead.zone.incarnation = incarnation;
  dead.lane = job.lane;
  dead.attempt = job.attempt;
  dead.attempts_max = header.attempts_max;
  dead.priority = job.priority;
  dead.enqueued_ms = header.enqueued_ms;
  dead.died_wall_ms = std::max<int64_t>(0, shared_->clock->Wall().ms());
  dead.payload_bytes = static_cast<uint32_t>(job.record->payload.size());
  dead.reason = std::move(why);
  dead.last_error = job.row->last_error;
  dead.type = header.type;
  keycodec::JobRow row = *job.row;
  row.place = keycodec::Place::kDead;
  row.key = keycodec::DeadKey(header.zone.queue, incarnation, now().ms(), job.id);
  value_.clear();
  keycodec::Append(dead, &value_);
  PutRow(row.key, value_);
  value_.clear();
  keycodec::Append(row, &value_);
  PutRow(keycodec::JobRowKey(job.lane, job.id), value_);
  Count(queue, keycodec::Counter::kWaiting, -1);
  Count(queue, keycodec::Counter::kDead, 1);
  Count(queue, keycodec::Counter::kDied, 1);
  Count(queue, keycodec::Counter::kDeadBytes, dead.payload_bytes);
  Emit(EventKind::kDead, queue, job.id, job.attempt, {}, dead.reason);
  NoteDeath(queue);
  TouchJob(job.id);
}

}  // namespace vestq
