// Options of single spaces: SPACE SET, and what a core keeps of a space beside its jobs (SpaceTerms).
//
// A named space has one owner: its options, and how much of its rate is used up, are there alone. The
// empty space is spread over all cores, which share its options and its rate as words of the queue's record;
// they are written where the lane of its name would be owned.
//
// Where a space's rate stands is a row of its own, written with each claim of a space that has a rate, and
// erased when nothing is owed any more: so the rate holds over a restart (SPACE-2), and a space that has
// neither jobs nor options nor a debt leaves nothing behind. Of the empty space it is a field of the counters
// row, as the queue's.
//
// A space that is paused, or whose token is not due, is held back as one without a slot is (core_limits.cc);
// a timer, one a space, looks again when that may be over, wherever its LEASEs wait.
#include <algorithm>
#include <utility>

#include "engine/base/check.h"
#include "engine/core_impl.h"
#include "engine/space_request.h"
#include "engine/space_rules.h"

namespace vestq {
namespace {

bool IsLimiting(const keycodec::SpaceValue& options) {
  return options.concurrency || options.rate_micro || options.burst || options.paused_until_ms;
}

keycodec::SpaceValue Changed(const keycodec::SpaceValue& old, const SpaceSetRequest& request,
                             MonoTime now) {
  keycodec::SpaceValue value = old;
  const auto apply = [](auto* option, const auto& set, const auto& unset) {
    if (unset) option->reset();
    if (set) *option = *set;
  };
  apply(&value.concurrency, request.set.concurrency, request.unset.concurrency);
  apply(&value.rate_micro, request.set.rate_micro, request.unset.rate_micro);
  apply(&value.burst, request.set.burst, request.unset.burst);
  apply(&value.weight, request.set.weight, request.unset.weight);
  // A pause that is over says nothing any more.
  if (request.resume || (value.paused_until_ms && *value.paused_until_ms <= now.ms()))
    value.paused_until_ms.reset();
  if (request.pause) {
    value.paused_until_ms = request.pause_for > Duration(0)
                                ? std::min((now + request.pause_for).ms(), limits::kKeyTimeMsMax)
                                : limits::kKeyTimeMsMax;
  }
  return value;
}

// What memory keeps of them; of the empty space, at its owner, a pause that ends by itself.
keycodec::SpaceValue KeptOf(const keycodec::SpaceValue& options, bool unnamed) {
  if (!unnamed) return options;
  keycodec::SpaceValue out;
  if (options.paused_until_ms.value_or(limits::kKeyTimeMsMax) < limits::kKeyTimeMsMax)
    out.paused_until_ms = options.paused_until_ms;
  return out;
}

// When a pause ends by itself; Max: never, or there is none.
MonoTime PauseEnd(const SpaceTerms& terms) {
  const int64_t until_ms = terms.options.paused_until_ms.value_or(limits::kKeyTimeMsMax);
  return until_ms < limits::kKeyTimeMsMax ? MonoTime(until_ms) : MonoTime::Max();
}

}  // namespace

// --- SPACE SET, at the owner ---

// kFull: there are as many as the memory may hold.
Error Core::Impl::RoomForOptions() const {
  const uint64_t most = std::min<uint64_t>(
      limits::kSpaceOptionsMax, shared_->options.memory / limits::kMemoryPerSpaceOptions);
  if (shared_->space_options.load(std::memory_order_relaxed) < most) return Error::Ok();
  return Error(
      ErrorCode::kFull,
      std::to_string(most) +
          " spaces have options of their own, the limit with this memory budget: one a KiB, "
          "at most " +
          std::to_string(limits::kSpaceOptionsMax));
}

void Core::Impl::SetSpace(SpaceSetRequest* request) {
  const Result<QueueRecord*> found = RecordOf(request->queue);
  if (!found.ok()) return Refuse(request, found.error());
  QueueRecord* const record = *found;
  CoreQueue* const queue = QueueHere(record);
  now_stale_ = true;  // a pause runs from now
  const MonoTime at = now();
  const bool unnamed = request->space.empty();
  keycodec::SpaceValue old, value;
  {
    // The empty space's words go with the queue's life: no DROP comes between.
    std::unique_lock<std::mutex> hold;
    if (unnamed) hold = shared_->queues->HoldChanges();
    SwitchLife(queue);
    const SpaceTerms* const terms = unnamed ? nullptr : FindTerms(queue, request->space);
    if (unnamed) {
      old = record->unnamed.Load();
    } else if (terms != nullptr) {
      old = terms->options;
    }
    value = Changed(old, *request, at);
    if (unnamed && value != old) {
      record->unnamed_rate.Change(SpaceRateOf(*record, old), SpaceRateOf(*record, value), at);
      record->unnamed.Store(value);
    }
  }
  if (value == old) return Executed(request);
  if (old.empty() && !unnamed) {
    if (const Error error = RoomForOptions(); !error.ok()) return Refuse(request, error);
  }
  const std::string key = keycodec::SpaceOptionsKey(queue->life.number, request->space);
  if (value.empty()) {
    DeleteRow(key);
    CountSpaceRow(queue, -1);
  } else {
    shared_->queues->EnsureStored(record);  // in this turn: VANISH-1
    std::string bytes;
    keycodec::Append(value, &bytes);
    PutRow(key, bytes);
    if (old.empty()) CountSpaceRow(queue, 1);
  }
  MarkLimited(record, value);
  if (!unnamed) {
    if (old.empty() != value.empty()) {
      const uint64_t one = 1;
      value.empty() ? shared_->space_options.fetch_sub(one) : shared_->space_options.fetch_add(one);
    }
  }
  SpaceTerms* const terms = TermsOf(queue, request->space);
  terms->options = KeptOf(value, unnamed);
  WatchTerms(terms);
  if (unnamed) {
    ForgetTerms(terms);
  } else {
    SpaceOptionsChanged(queue, request->space);
  }
  // What all cores share of it; or its slots are to be counted from now on, which all cores do or none.
  if (unnamed || (value.concurrency && !queue->counted)) {
    OptionsChanged(record);
    for (uint16_t core = 0; core < shared_->cores; ++core) {
      if (CoreId(core) != id_)
        Send(CoreId(core), Message{Message::Kind::kOptions, nullptr, record});
    }
  }
  Executed(request);
}

// Those of a named space.
void Core::Impl::SpaceOptionsChanged(CoreQueue* queue, std::string_view space) {
  SpaceTerms* const terms = FindTerms(queue, space);
  if (terms->rate_row_ms >= 0 && !SpaceRateOf(*queue->record, terms, false).limited())
    DropSpaceRate(terms);
  if (SpaceState* const state = StateOf(queue, space); state != nullptr) {
    Weigh(state);
    state->held ? SpaceHasRoom(queue, space) : SpaceChanged(state);
    MarkNotify(queue);
  } else if (!HeldByName(queue, space)) {
    HiddenHasRoom(queue, space);
  }
  ForgetTerms(terms);
}

void Core::Impl::MarkLimited(QueueRecord* record, const keycodec::SpaceValue& options) {
  if (options.concurrency) record->settings.counts_spaces.store(true, std::memory_order_release);
  if (IsLimiting(options)) record->settings.limited.store(true, std::memory_order_release);
}

// --- At a start ---

void Core::Impl::RestoreSpace(QueueRecord* record, std::string_view space,
                              const keycodec::SpaceValue& options) {
  CoreQueue* const queue = QueueHere(record);
  CountSpaceRow(queue, 1);
  MarkLimited(record, options);
  const bool unnamed = space.empty();
  if (unnamed) {
    record->unnamed.Store(options);
  } else {
    shared_->space_options.fetch_add(1, std::memory_order_relaxed);
  }
  SpaceTerms* const terms = TermsOf(queue, space);
  terms->options = KeptOf(options, unnamed);
  WatchTerms(terms);
  ForgetTerms(terms);
}

bool Core::Impl::RestoreSpaceRate(QueueRecord* record, std::string_view space, int64_t until_ms) {
  CoreQueue* const queue = QueueHere(record);
  const SpaceTerms* const known = FindTerms(queue, space);
  const RateLimit limit = SpaceRateOf(*record, known, false);
  const MonoTime at = shared_->clock->Now();
  if (!limit.limited() || until_ms <= at.ms()) return false;
  SpaceTerms* const terms = TermsOf(queue, space);
  terms->rate = RateState::Restored(limit, MonoTime(until_ms), at);
  terms->rate_limit = limit;
  terms->rate_row_ms = until_ms;
  CountSpaceRow(queue, 1);
  WatchTerms(terms);
  return true;
}

// --- What is kept of a space ---

SpaceTerms* Core::Impl::FindTerms(CoreQueue* queue, std::string_view space) const {
  if (queue->terms.empty()) return nullptr;
  const auto it = queue->terms->find(space);
  return it == queue->terms->end() ? nullptr : &it->second;
}

SpaceTerms* Core::Impl::TermsOf(CoreQueue* queue, std::string_view space) {
  if (SpaceTerms* const terms = FindTerms(queue, space); terms != nullptr) return terms;
  const auto it = queue->terms->emplace(std::string(space), SpaceTerms()).first;
  SpaceTerms* const terms = &it->second;
  terms->queue = queue;
  terms->space = it->first;
  terms->number = queue->life.number;
  if (SpaceState* const state = StateOf(queue, space); state != nullptr) state->terms = terms;
  return terms;
}

SpaceState* Core::Impl::StateOf(CoreQueue* queue, std::string_view space) const {
  const auto it = queue->spaces.find(space);
  return it == queue->spaces.end() ? nullptr : it->second.get();
}

// If there is nothing in it any more.
void Core::Impl::ForgetTerms(SpaceTerms* terms) {
  if (!terms->options.empty() || terms->rate_row_ms >= 0 || terms->held_until < MonoTime::Max())
    return;
  if (terms->timer < MonoTime::Max()) space_timers_.erase({terms->timer, terms});
  CoreQueue* const queue = terms->queue;
  if (SpaceState* const state = StateOf(queue, terms->space); state != nullptr)
    state->terms = nullptr;
  queue->terms->erase(queue->terms->find(terms->space));
}

// The queue was dropped. They are let go of in slices (BuryMore); their rows are erased with the queue's.
void Core::Impl::LeaveTerms(CoreQueue* queue) {
  CountSpaceRow(queue, -queue->space_rows);
  if (!queue->terms.empty()) terms_graveyard_.push_back(std::exchange(*queue->terms, {}));
}

void Core::Impl::CountSpaceRow(CoreQueue* queue, int64_t delta) {
  queue->space_rows += delta;
  queue->record->space_rows.fetch_add(delta, std::memory_order_relaxed);
  if (delta < 0) WatchVanish(queue);
}

// --- The rate of a named space ---

// What is used up of that limit now: a change counts from when it is first looked at, which grants no span
// more than the bursts of both settings (RATE-1).
RateState Core::Impl::UsedRate(SpaceTerms* terms, const RateLimit& limit) const {
  if (terms == nullptr || !terms->rate_limit.limited()) return RateState();
  terms->rate.Change(terms->rate_limit, limit, now_);
  terms->rate_limit = limit;
  return terms->rate;
}

// One of its jobs starts. REQUIRES: it may.
void Core::Impl::StartOfNamed(SpaceState* space, const RateLimit& limit) {
  CoreQueue* const queue = space->queue;
  SpaceTerms* const terms = space->terms != nullptr ? space->terms : TermsOf(queue, space->space);
  RateState state = UsedRate(terms, limit);
  state.Start(limit, now());
  terms->rate = state;
  terms->rate_limit = limit;
  if (terms->rate_row_ms < 0) CountSpaceRow(queue, 1);
  terms->rate_row_ms = state.ToStore().ms();
  value_.clear();
  keycodec::Append(keycodec::SpaceRateValue{terms->rate_row_ms}, &value_);
  batch_.Put(Family::kRows, keycodec::SpaceRateKey(terms->number, terms->space), value_);
  WatchTerms(terms);
}

void Core::Impl::DropSpaceRate(SpaceTerms* terms) {
  terms->rate = RateState();
  terms->rate_limit = RateLimit();
  if (std::exchange(terms->rate_row_ms, -1) < 0) return;
  batch_.Delete(Family::kRows, keycodec::SpaceRateKey(terms->number, terms->space));
  CountSpaceRow(terms->queue, -1);
}

// --- Timers ---

// It has work and is held back: until when, if time alone ends that.
void Core::Impl::HoldUntil(CoreQueue* queue, std::string_view space, SpaceTerms* terms) {
  const QueueRecord& record = *queue->record;
  const bool unnamed = space.empty();
  MonoTime until(0);
  if (const int64_t paused_ms = PausedUntilMs(record, terms, unnamed); paused_ms > now_.ms())
    until = paused_ms < limits::kKeyTimeMsMax ? MonoTime(paused_ms) : MonoTime::Max();
  if (const RateLimit rate = SpaceRateOf(record, terms, unnamed); rate.limited()) {
    const RateState used = unnamed ? record.unnamed_rate.Load() : UsedRate(terms, rate);
    if (!used.MayStart(rate, now_)) until = std::max(until, used.DueAt(rate, now_));
  }
  if (until == MonoTime(0)) until = MonoTime::Max();  // for want of a slot
  if (terms == nullptr && until == MonoTime::Max()) return;
  if (terms == nullptr) terms = TermsOf(queue, space);
  terms->held_until = until;
  WatchTerms(terms);
}

// One that is too early looks again then.
void Core::Impl::WatchTerms(SpaceTerms* terms) {
  MonoTime next = std::min(terms->held_until, PauseEnd(*terms));
  if (terms->rate_row_ms >= 0) next = std::min(next, MonoTime(terms->rate_row_ms));
  if (next >= terms->timer || shared_->writes->failed()) return;
  if (terms->timer < MonoTime::Max()) space_timers_.erase({terms->timer, terms});
  terms->timer = next;
  space_timers_.emplace(next, terms);
}

void Core::Impl::EndSpaceTimers() {
  for (size_t i = 0; i < limits::kSliceJobs; ++i) {
    if (space_timers_.empty() || space_timers_.begin()->first > now_) return;
    SpaceTerms* const terms = space_timers_.begin()->second;
    space_timers_.erase(space_timers_.begin());
    terms->timer = MonoTime::Max();
    CoreQueue* const queue = terms->queue;
    if (terms->number != queue->life.number) continue;  // buried
    if (terms->rate_row_ms >= 0 && terms->rate_row_ms <= now_.ms()) DropSpaceRate(terms);
    if (terms->held_until <= now_) {
      terms->held_until = MonoTime::Max();
      SpaceHasRoom(queue, terms->space);  // may be held again
    }
    if (PauseEnd(*terms) <= now_) {
      // It is as an option that nobody has set, and keeps neither a row nor the queue.
      auto made = std::make_unique<SpaceSetRequest>();
      SpaceSetRequest* const forget = made.get();
      notes_.emplace(forget, std::move(made));
      forget->queue = queue->record->name;
      forget->space = terms->space;
      forget->context = this;
      forget->done = [](Request* r, void* core) { static_cast<Impl*>(core)->notes_.erase(r); };
      Start(forget);  // carried out at once, which looks at the rest too
      continue;
    }
    WatchTerms(terms);
    ForgetTerms(terms);
  }
}

// --- What the queue says of all its spaces has changed ---

void Core::Impl::Weigh(SpaceState* space) {
  CoreQueue* const queue = space->queue;
  const uint32_t weight = WeightOf(*queue->record, space->terms, space->space.empty());
  if (queue->fair.weight(space->fair) != weight) queue->fair.SetWeight(space->fair, weight);
}

// In slices, behind that one; null: from the first.
void Core::Impl::WeighSpaces(CoreQueue* queue, const std::string* behind) {
  auto it = behind == nullptr ? queue->spaces.begin() : queue->spaces.upper_bound(*behind);
  std::string last;
  for (size_t i = 0; it != queue->spaces.end(); ++it) {
    if (i++ == limits::kSliceJobs) return Later([this, queue, last] { WeighSpaces(queue, &last); });
    last = it->first;
    Weigh(it->second.get());
  }
}

// Debts to a limit that is no more are forgotten.
void Core::Impl::ReviewRates(CoreQueue* queue, const std::string* behind) {
  if (queue->terms.empty()) return;
  auto it = behind == nullptr ? queue->terms->begin() : queue->terms->upper_bound(*behind);
  std::string last;
  for (size_t i = 0; it != queue->terms->end();) {
    if (i++ == limits::kSliceJobs) return Later([this, queue, last] { ReviewRates(queue, &last); });
    last = it->first;
    SpaceTerms* const terms = &(it++)->second;
    if (terms->rate_row_ms < 0 || SpaceRateOf(*queue->record, terms, false).limited()) continue;
    DropSpaceRate(terms);
    ForgetTerms(terms);
  }
}

void Core::Impl::SpaceDefaultsChanged(CoreQueue* queue) {
  const QueueSettings& settings = queue->record->settings;
  const auto weight = static_cast<uint32_t>(
      std::max<int64_t>(1, settings.space_weight.load(std::memory_order_relaxed)));
  const int64_t rate = settings.space_rate_micro.load(std::memory_order_relaxed);
  if (std::exchange(queue->space_weight, weight) != weight) {
    WeighSpaces(queue, nullptr);
  } else if (SpaceState* const unnamed = StateOf(queue, {}); unnamed != nullptr) {
    Weigh(unnamed);
  }
  if (std::exchange(queue->space_rate_micro, rate) != rate) ReviewRates(queue, nullptr);
}

}  // namespace vestq
