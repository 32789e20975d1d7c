// AFTER, the side of the jobs that others wait for (the parents), and how lanes tell each other of edges.
//
// A word is a row `m` for the lane it is about, put in the batch that it is about. It goes to that lane's
// owner behind the batch (CORE-1), as a JobsPart, and comes back when its effect is as durable as promised;
// the owner deletes the row with the last of its effect. After a crash the owner finds the rows that were
// left, of earlier epochs, and takes them in, perhaps a second time: each effect is one that can be had
// twice (an edge that is put again, an edge that is gone already).
//
// AFTER-2: an edge of a child is answered for: the parent has the same edge (`p`), or a word about it is on
// its way.
// AFTER-3: a job that has `p` edges says so in its value, kFlagParent, or is dead (its edges are looked for),
// or is over and a word to its own lane says that its children are still to be told.
//
// So a COMPLETE of a job that nobody waits for reads and writes nothing for this; one of a parent writes one
// row, and its children are told in slices.
#include <algorithm>
#include <utility>

#include "engine/base/check.h"
#include "engine/core_impl.h"
#include "engine/jobs_part.h"
#include "engine/link_task.h"
#include "engine/lookup_task.h"
#include "engine/zone_tasks.h"

namespace vestq {
namespace {
constexpr size_t kLookups = 16;  // of one word at once
constexpr size_t kOldWordsASlice = 32;
}  // namespace

// --- Words ---

// `then` is called when it has been taken in, and the answers to it.
void Core::Impl::Tell(LaneId to, keycodec::HandoverValue word, std::function<void()> then) {
  auto made = std::make_unique<JobsPart>();
  JobsPart* const part = made.get();
  part->work = JobsPart::Work::kHandover;
  part->owner = shared_->OwnerOf(to);
  part->origin = id_;  // also of one that FailWords ends before it is started
  part->word = std::move(word);
  // Never twice in an epoch, over all cores.
  part->word_key =
      keycodec::HandoverKey(to, shared_->epoch, ++words_made_ * shared_->cores + id_.value());
  value_.clear();
  keycodec::Append(part->word, &value_);
  batch_.Put(Family::kRows, part->word_key, value_);
  part->finished = [this, part, then = std::move(then)] {
    notes_.erase(part);
    then();
  };
  notes_.emplace(part, std::move(made));
  told_.push_back(part);
}

// REQUIRES: the batch that they were put in is submitted (CORE-1).
void Core::Impl::SendWords() {
  for (JobsPart* part : std::exchange(told_, {})) Start(part);
}

void Core::Impl::TakeWord(JobsPart* part) {
  const keycodec::HandoverValue& word = part->word;
  switch (word.kind) {
    case keycodec::HandoverKind::kSubscribe:
      part->complete.clear();
      part->gone.clear();
      return WalkJobs(
          word.jobs.size(), kLookups,
          [this, part](size_t i, WalkStep then) {
            Subscribe(part->word.jobs[i], part, std::move(then));
          },
          [this, part] { AnswerSubscribe(part); });
    case keycodec::HandoverKind::kAnswer:
      return TellChild(word.from, {word.jobs, false, {}, [this, part](bool) { EndWord(part); }});
    case keycodec::HandoverKind::kParentDone:
    case keycodec::HandoverKind::kParentGone: break;
  }
  if (word.jobs.empty()) return TellChildren(part, std::string());
  WalkJobs(
      word.jobs.size(), kLookups,
      [this, part](size_t i, WalkStep then) {
        const keycodec::HandoverValue& end = part->word;
        TellChild(end.jobs[i], {{end.from},
                                end.kind == keycodec::HandoverKind::kParentGone,
                                end.text,
                                std::move(then)});
      },
      [this, part] { EndWord(part); });
}

// The last of its effect is in this turn's batch.
void Core::Impl::EndWord(JobsPart* part) {
  if (!shared_->writes->failed()) batch_.Delete(Family::kRows, part->word_key);
  Executed(part);
}

// What an earlier run has left. Words of this run come by themselves.
void Core::Impl::ReadOldWords(LaneId lane, std::string from) {
  auto task = std::make_unique<OldWordsTask>();
  task->lane = lane;
  task->epoch = shared_->epoch;
  task->from = std::move(from);
  task->max_words = kOldWordsASlice;
  OldWordsTask* const raw = task.get();
  task->finish = [this, lane, raw](ReadTask*) {
    if (!raw->damaged.empty()) Log("a hand-over stays untaken: " + raw->damaged);
    if (!raw->error.ok()) {
      Log("reading hand-overs failed: " + raw->error.ToString());
      if (shared_->writes->failed()) return;
      retries_.emplace(now() + kReadRetry,
                       [this, lane, again = raw->from] { ReadOldWords(lane, again); });
      return;
    }
    auto left = std::make_shared<size_t>(raw->words.size() + 1);
    const auto taken = [this, lane, left, next = raw->next] {
      if (--*left == 0 && !next.empty() && !shared_->writes->failed()) ReadOldWords(lane, next);
    };
    for (auto& [key, word] : raw->words) {
      auto made = std::make_unique<JobsPart>();
      JobsPart* const part = made.get();
      part->work = JobsPart::Work::kHandover;
      part->owner = id_;
      part->word_key = std::move(key);
      part->word = std::move(word);
      part->finished = [this, part, taken] {
        notes_.erase(part);
        taken();
      };
      notes_.emplace(part, std::move(made));
      Start(part);
    }
    taken();
  };
  SubmitRead(std::move(task));
}

// A read for the word failed; it is tried again a little later, unless the store fails before.
void Core::Impl::StallWord(JobsPart* part, std::function<void()> again) {
  if (shared_->writes->failed()) return Executed(part);
  stalled_words_[part] = std::move(again);
  retries_.emplace(now() + kReadRetry, [this, part] {
    const auto found = stalled_words_.find(part);
    const auto go_on = std::move(found->second);
    stalled_words_.erase(found);
    go_on();
  });
}

// The store has failed: nothing comes of any word, and who waits for one must not wait for ever.
void Core::Impl::FailWords() {
  for (JobsPart* part : std::exchange(told_, {})) Executed(part);
  for (const auto& [part, again] : std::exchange(stalled_words_, {})) Executed(part);
  for (auto& [child, words] : std::exchange(child_words_, {})) {
    for (ChildWord& word : words.list) word.then(false);
  }
  for (auto& [parent, subscribers] : std::exchange(subscribers_, {})) {
    for (Subscriber& subscriber : subscribers.list) subscriber.then(false);
  }
}

// --- A child subscribes ---

void Core::Impl::Subscribe(JobId parent, JobsPart* part, std::function<void(bool go_on)> then) {
  if (shared_->writes->failed()) return Later([then = std::move(then)] { then(false); });
  Subscribers& subscribers = subscribers_[parent];
  Subscriber& subscriber = subscribers.list.emplace_back();
  subscriber.part = part;
  subscriber.then = std::move(then);
  if (!subscribers.reading) ReadParent(parent);
}

void Core::Impl::ReadParent(JobId parent) {
  subscribers_[parent].reading = true;
  if (LeaseOf(parent) != nullptr)
    return Later([this, parent] { TakeSubscribers(parent, nullptr); });
  Lookup(parent, [this, parent](const LookupTask* task) { TakeSubscribers(parent, task); });
}

// REQUIRES: `task`, where there is one, shows the job as it stands now (LOOKUP-1).
void Core::Impl::TakeSubscribers(JobId parent, const LookupTask* task) {
  const auto found = subscribers_.find(parent);
  if (found == subscribers_.end() || shared_->writes->failed()) return;  // FailWords sees to them
  Lease* const lease = LeaseOf(parent);
  if (lease == nullptr && task == nullptr) return ReadParent(parent);
  if (lease == nullptr && !task->error.ok()) {
    Log("reading job " + std::to_string(parent.value()) + " failed: " + task->error.ToString());
    retries_.emplace(now() + kReadRetry, [this, parent] { ReadParent(parent); });
    return;
  }
  std::vector<Subscriber> list = std::move(found->second.list);
  subscribers_.erase(found);
  const bool stands =
      lease != nullptr || (task->state != JobState::kGone && task->state != JobState::kDone);
  bool edges = false;
  value_.clear();
  keycodec::Append(keycodec::EdgeValue{}, &value_);
  for (Subscriber& subscriber : list) {
    JobsPart* const part = subscriber.part;
    if (subscriber.ended && !subscriber.done) {
      part->gone.emplace_back(parent, std::move(subscriber.why));
    } else if (subscriber.ended || !stands) {
      part->complete.push_back(parent);
    } else {
      batch_.Put(Family::kRows,
                 keycodec::ParentEdgeKey(shared_->LaneOf(parent), parent, part->word.from), value_);
      edges = true;
    }
  }
  if (edges) MarkParent(parent, lease, task);
  for (Subscriber& subscriber : list) subscriber.then(true);
}

// The job has edges: its value says so from now on (AFTER-3). A key whose value is replaced is deleted and
// put in one batch (FAMILY-1).
void Core::Impl::MarkParent(JobId parent, Lease* lease, const LookupTask* task) {
  const uint32_t flags = lease != nullptr ? lease->flags : task->flags;
  if ((flags & keycodec::kFlagParent) != 0) return;
  TouchJob(parent);
  if (lease != nullptr) {
    key_.clear();
    keycodec::AppendLeasedKey(lease->lane, lease->stored_deadline_ms, lease->id, &key_);
    batch_.SingleDelete(Family::kVesting, key_);
    lease->flags |= keycodec::kFlagParent;
    return PutLeased(*lease);
  }
  const keycodec::JobHeader& header = task->record->header;
  const keycodec::Zone& zone = header.zone;
  const uint32_t marked = flags | keycodec::kFlagParent;
  if (task->state == JobState::kWaiting) {
    keycodec::WaitingValue value = task->waiting;
    value.flags = marked;
    value_.clear();
    keycodec::Append(value, &value_);
    return PutRow(task->row->key, value_);
  }
  if (task->state == JobState::kDead) return;
  Unplace(task);
  if (task->state == JobState::kScheduled) {
    return PutScheduled(QueueById(zone.queue), task->lane, task->scheduled.clock,
                        task->scheduled.time_ms, parent,
                        {marked, task->attempt, zone, task->priority, header.enqueued_ms});
  }
  std::shared_ptr<const std::string> record;
  if (!NeedsJobRow(marked)) record = std::make_shared<const std::string>(task->record_bytes);
  PutReady(QueueById(zone.queue), task->lane, zone.space, zone.order, task->rank,
           {marked, task->attempt}, std::move(record));
}

// Its parents all know of the child now, but for those that are over: of these it is told. The word itself
// comes back when that was taken in.
void Core::Impl::AnswerSubscribe(JobsPart* part) {
  if (shared_->writes->failed()) return Executed(part);
  batch_.Delete(Family::kRows, part->word_key);
  const size_t answers = (part->complete.empty() ? 0 : 1) + part->gone.size();
  if (answers == 0) return Executed(part);
  auto left = std::make_shared<size_t>(answers);
  const auto then = [this, part, left] {
    if (--*left == 0) Executed(part);
  };
  const JobId child = part->word.from;
  const LaneId lane = shared_->LaneOf(child);
  if (!part->complete.empty())
    Tell(lane, {keycodec::HandoverKind::kAnswer, child, part->complete, {}}, then);
  for (auto& [parent, why] : part->gone)
    Tell(lane, {keycodec::HandoverKind::kParentGone, parent, {child}, std::move(why)}, then);
}

// --- A parent ends ---

void Core::Impl::EndParent(JobId id, uint32_t flags, bool done, std::string_view how) {
  const auto found = subscribers_.find(id);
  const bool parent = (flags & keycodec::kFlagParent) != 0;
  if (!parent && found == subscribers_.end()) return;
  std::string why;
  if (!done) {
    why = "job " + std::to_string(id.value()) + ", which it waited for, ";
    why += how;
  }
  if (found != subscribers_.end()) {
    for (Subscriber& subscriber : found->second.list) {
      if (subscriber.ended) continue;
      subscriber.ended = true;
      subscriber.done = done;
      subscriber.why = why;
    }
  }
  if (!parent) return;
  const auto kind =
      done ? keycodec::HandoverKind::kParentDone : keycodec::HandoverKind::kParentGone;
  Tell(shared_->LaneOf(id), {kind, id, {}, std::move(why)}, [] {});
}

std::string_view Core::Impl::EndedBy(EventKind how) {
  if (how == EventKind::kPurged) return "was purged";
  if (how == EventKind::kLapsed) return "expired";
  if (how == EventKind::kDropped) return "was dropped from the dead letters";
  return "was cancelled";
}

// A job is over: its edges go in slices, and with each the words to the lanes of its children. The next
// slice begins when those were taken in.
void Core::Impl::TellChildren(JobsPart* part, std::string from) {
  const JobId parent = part->word.from;
  auto task = std::make_unique<EdgesTask>(shared_->LaneOf(parent), parent);
  task->from = std::move(from);
  task->max_edges = limits::kSliceJobs;
  EdgesTask* const raw = task.get();
  task->finish = [this, part, raw](ReadTask*) {
    if (!raw->error.ok() || shared_->writes->failed()) {
      if (!raw->error.ok()) Log("reading edges failed: " + raw->error.ToString());
      return StallWord(part, [this, part, again = raw->from] { TellChildren(part, again); });
    }
    std::map<LaneId, std::vector<JobId>> by_lane;
    for (const JobId child : raw->children) {
      by_lane[shared_->LaneOf(child)].push_back(child);
      batch_.Delete(Family::kRows, keycodec::ParentEdgeKey(raw->lane, raw->parent, child));
    }
    auto left = std::make_shared<size_t>(by_lane.size());
    const bool last = raw->next.empty();
    for (auto& [lane, children] : by_lane) {
      Tell(lane, {part->word.kind, raw->parent, std::move(children), part->word.text},
           [this, part, left, last, next = raw->next] {
             if (--*left > 0 || last) return;
             if (shared_->writes->failed()) return Executed(part);
             TellChildren(part, next);
           });
    }
    if (last) EndWord(part);
  };
  SubmitRead(std::move(task));
}

}  // namespace vestq
