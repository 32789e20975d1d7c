// Options of queues: changing them, and what a core does when they have changed.
#include <algorithm>

#include "engine/base/check.h"
#include "engine/core_impl.h"
#include "engine/space_rules.h"

namespace vestq {

void Core::Impl::SetQueue(QueueSetRequest* request) {
  // What is paused is there; so this is another name.
  if (request->resume && !KnowsQueue(request->queue)) {
    return Refuse(request,
                  Error(ErrorCode::kNotFound, "there is no queue '" + request->queue + "'"));
  }
  const Result<QueueRecord*> found = RecordOf(request->queue);
  if (!found.ok()) return Refuse(request, found.error());
  QueueRecord* const record = *found;
  if (!request->set.max_jobs && !request->set.max_bytes) return ApplyOptions(request, record);
  // Every core counts what stands there before any goes by the limit: so it holds from the beginning.
  CountEverywhere(
      record, [this, request, record] { ApplyOptions(request, record); },
      [this, request] { Refuse(request, shared_->writes->failure()); });
}

void Core::Impl::ApplyOptions(QueueSetRequest* request, QueueRecord* record) {
  if (request->set.order || request->unset.order) {
    const keycodec::Order order = request->set.order.value_or(keycodec::Order::kPriority);
    const int64_t jobs = order == record->order() ? 0 : JobsOf(record);
    if (jobs > 0) {
      return Refuse(request, Error(ErrorCode::kBusy,
                                   "queue '" + record->name + "' has " + std::to_string(jobs) +
                                       " jobs, order changes only while it has none"));
    }
  }
  now_stale_ = true;  // a pause runs from now
  const MonoTime until =
      request->pause_for > Duration(0) ? now() + request->pause_for : MonoTime::Max();
  const Ticket ticket = shared_->queues->Set(record, [&](QueueOptions* options) {
    const auto apply = [](auto* option, const auto& set, const auto& unset) {
      if (unset) option->reset();
      if (set) *option = *set;
    };
    apply(&options->lease, request->set.lease, request->unset.lease);
    apply(&options->attempts, request->set.attempts, request->unset.attempts);
    apply(&options->backoff, request->set.backoff, request->unset.backoff);
    apply(&options->keep, request->set.keep, request->unset.keep);
    apply(&options->order, request->set.order, request->unset.order);
    apply(&options->dead_keep, request->set.dead_keep, request->unset.dead_keep);
    apply(&options->dead_max, request->set.dead_max, request->unset.dead_max);
    apply(&options->concurrency, request->set.concurrency, request->unset.concurrency);
    apply(&options->space_concurrency, request->set.space_concurrency,
          request->unset.space_concurrency);
    apply(&options->adaptive, request->set.adaptive, request->unset.adaptive);
    const RateLimit before = RateOf(options->rate_micro, options->burst);
    apply(&options->rate_micro, request->set.rate_micro, request->unset.rate_micro);
    apply(&options->burst, request->set.burst, request->unset.burst);
    apply(&options->ageing, request->set.ageing, request->unset.ageing);
    record->rate.Change(before, RateOf(options->rate_micro, options->burst), now());
    apply(&options->space_weight, request->set.space_weight, request->unset.space_weight);
    const auto of_unnamed = [&] {
      const keycodec::SpaceValue own = record->unnamed.Load();
      return RateOf(own.rate_micro ? own.rate_micro : options->space_rate_micro,
                    own.burst ? own.burst : options->space_burst);
    };
    const RateLimit unnamed = of_unnamed();
    apply(&options->space_rate_micro, request->set.space_rate_micro,
          request->unset.space_rate_micro);
    apply(&options->space_burst, request->set.space_burst, request->unset.space_burst);
    record->unnamed_rate.Change(unnamed, of_unnamed(), now());
    apply(&options->max_jobs, request->set.max_jobs, request->unset.max_jobs);
    apply(&options->max_bytes, request->set.max_bytes, request->unset.max_bytes);
    if (request->pause) options->paused_until = until;
    if (request->resume) options->paused_until.reset();
  });
  request->ticket = std::max(request->ticket, ticket);
  WatchVanish(QueueHere(record));
  OptionsChanged(record);
  if (QueueHere(record)->backlog != nullptr)
    RoomChanged(QueueHere(record));  // who waits may fit now
  for (uint16_t core = 0; core < shared_->cores; ++core) {
    if (CoreId(core) != id_) Send(CoreId(core), Message{Message::Kind::kOptions, nullptr, record});
  }
  Executed(request);
}

// Its jobs in any state but done, this turn's included.
int64_t Core::Impl::JobsOf(QueueRecord* record) {
  using keycodec::Counter;
  const keycodec::CounterValue& here = QueueHere(record)->counters;
  int64_t jobs = 0;
  for (const Counter counter : {Counter::kReady, Counter::kScheduled, Counter::kLeased,
                                Counter::kDead, Counter::kWaiting}) {
    const int64_t shown = record->slots[id_.value()].counters[static_cast<size_t>(counter)].load(
        std::memory_order_relaxed);
    jobs += record->Total(counter, shared_->cores) - shown + here[counter];
  }
  return jobs;
}

// Other cores see at once whether there is something to lease here, and who waits here looks again.
void Core::Impl::OptionsChanged(QueueRecord* record) {
  CoreQueue* const queue = QueueHere(record);
  SpaceDefaultsChanged(queue);
  if (Limited(*record)) LimitsChanged(queue);
  AgeingChanged(queue);
  PublishHead(queue);
  WatchPause(queue);
  if (record->Total(keycodec::Counter::kDead, shared_->cores) > 0) AskKeeper(queue);
  ++queue->new_jobs;
  LookAtWanted(queue);
  MarkNotify(queue);
}

bool Core::Impl::Paused(const QueueRecord& record) const {
  const int64_t until_ms = record.settings.paused_until_ms.load(std::memory_order_acquire);
  return until_ms >= 0 && (until_ms >= limits::kKeyTimeMsMax || until_ms > now_.ms());
}

// A pause that ends by itself: its end is as if the queue were resumed then.
void Core::Impl::WatchPause(CoreQueue* queue) {
  if (queue->pause_watched < MonoTime::Max()) pauses_.erase({queue->pause_watched, queue});
  queue->pause_watched = MonoTime::Max();
  const int64_t until_ms = queue->record->settings.paused_until_ms.load(std::memory_order_relaxed);
  if (!Paused(*queue->record) || until_ms >= limits::kKeyTimeMsMax) return;
  queue->pause_watched = MonoTime(until_ms);
  pauses_.emplace(queue->pause_watched, queue);
}

void Core::Impl::EndPauses() {
  while (!pauses_.empty() && pauses_.begin()->first <= now_)
    OptionsChanged(pauses_.begin()->second->record);
}

}  // namespace vestq
