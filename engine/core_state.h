// What a core knows of its queues, spaces, zones and lanes; and of jobs that wait for others. Plain data of
// the core's thread: engine/core_impl.h works on it.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/base/lazy.h"
#include "engine/queue_backlog.h"
#include "engine/queue_life.h"
#include "engine/queue_registry.h"
#include "engine/request.h"
#include "keycodec/keys.h"
#include "keycodec/records.h"
#include "lanes/aged_jobs.h"
#include "lanes/concurrency.h"
#include "lanes/fair_queue.h"
#include "lanes/rate_limit.h"
#include "lanes/ready_window.h"
#include "lanes/space_cursor.h"

namespace vestq {

struct JobsPart;
struct CoreQueue;
struct SpaceProbe;
struct SpaceState;

// Lets an unordered_map of strings be searched by string_view.
struct StringHash {
  using is_transparent = void;
  size_t operator()(std::string_view text) const noexcept {
    return std::hash<std::string_view>{}(text);
  }
};

// The ready jobs of one zone in one lane.
struct LaneZone {
  LaneZone(LaneId l, SpaceState* s, keycodec::Order order, bool complete);
  const LaneId lane;
  SpaceState* const space;
  const keycodec::Order order;  // of its jobs; a queue's order may change when it is empty
  ReadyWindow window;
  bool refilling = false;
  bool fetching = false;
  // Of a queue with `ageing` (core_ageing.cc); null: it has none, or stands by time.
  std::unique_ptr<AgedJobs> aged;
  bool age_look = false;                   // is under way
  MonoTime age_watched = MonoTime::Max();  // its place in Core::Impl::age_due_; Max: it has none
  uint64_t ordinal = 0;                    // the same, of those of one moment
  size_t window_bytes = 0;                 // as counted in its space's bytes
  bool reading() const { return refilling || fetching || age_look; }
  bool has_work() const { return !window.empty() || !window.complete(); }
};

// What a core keeps of a space beside its jobs, whether or not it has any (engine/core_space_options.cc):
// options of its own, how much of its rate is used up, and until when something holds it back. Of the
// empty space, whose options and rate are words of the queue's record, only the last.
struct SpaceTerms {
  CoreQueue* queue = nullptr;
  std::string_view space;  // its key in CoreQueue::terms
  QueueId number;          // of its queue: in another life it is buried
  keycodec::SpaceValue options;
  RateState rate;                         // by `rate_limit`, the one that it was last used with
  RateLimit rate_limit;                   // not limited: nothing is owed
  int64_t rate_row_ms = -1;               // what its row says; -1: it has none
  MonoTime held_until = MonoTime::Max();  // by a pause or the rate, when it was last looked at
  MonoTime timer = MonoTime::Max();       // its place in Core::Impl::space_timers_; Max: none
};

// By time, then by queue and space: an order that a seed repeats.
struct TermsByTime {
  using Entry = std::pair<MonoTime, SpaceTerms*>;
  bool operator()(const Entry& a, const Entry& b) const {
    if (a.first != b.first) return a.first < b.first;
    if (a.second->number != b.second->number) return a.second->number < b.second->number;
    return a.second->space < b.second->space;
  }
};

// A space of a queue as far as this core owns it: one lane for a named space, any number for the
// empty one.
struct SpaceState {
  CoreQueue* queue = nullptr;
  std::string space;
  FairQueue::Handle fair{};
  bool active = false;          // stands in queue->fair
  bool cold = false;            // has work that must be read first
  bool held = false;            // by its limits or a pause: stands in queue->held
  bool fresh = false;           // found by the sweep, and not served since: counts in queue->fresh
  bool looked = false;          // taken in by its name: stands in queue->looked
  SpaceTerms* terms = nullptr;  // null: it has none
  size_t bytes = 0;             // of Core::Impl::space_bytes_
  QueueId
      number;  // of its queue, and the incarnation of its READY keys: in another life it is buried
  Incarnation life;
  std::vector<std::unique_ptr<LaneZone>> zones;
  bool has_work() const;
};

struct CoreQueue {
  QueueRecord* record = nullptr;
  QueueLife life;                   // as this core has switched to it (core_purge.cc)
  keycodec::CounterValue counters;  // of this core's slot
  bool counters_dirty = false;
  bool vanish_watched = false;  // stands in Core::Impl::vanishing_
  // What switches have voided, until it is asked for: by kind, and leases of a dropped queue.
  std::array<int64_t, kKeyKinds> purged{};
  int64_t purged_leases = 0;
  bool notify = false;                       // stands in Core::Impl::notify_
  MonoTime pause_watched = MonoTime::Max();  // its place in Core::Impl::pauses_; Max: it has none
  std::map<std::string, std::unique_ptr<SpaceState>, std::less<>> spaces;
  FairQueue fair;
  // Spaces that are not in memory (core_hidden.cc).
  SpaceCursor cursor;
  size_t fresh = 0;
  uint32_t sweep_zones = 0;         // of its next read
  bool sweep_found = false;         // this sweep has installed a space
  size_t looking = 0;               // LEASEs of one space that were parked at once, at most
  bool asked = false;               // by a LEASE, since room was looked for here
  std::vector<std::string> looked;  // oldest first
  // Limits (core_limits.cc).
  bool counted = false;    // its leases here stand in `slots` and in the record
  Lazy<SpaceSlots> slots;  // of named spaces
  Lazy<std::map<std::string_view, SpaceState*>>
      held;  // by name: with work, of which none may start
  // Of spaces with a row of their own, and those that something holds back for a time. Bounded by
  // limits::kSpaceOptionsMax and by the spaces of which a job has started within their rate's time.
  Lazy<std::map<std::string, SpaceTerms, std::less<>>> terms;
  int64_t space_rows = 0;     // of them, as this core counts
  uint32_t space_weight = 1;  // of the queue's options, as spaces here have it
  int64_t space_rate_micro = -1;
  uint32_t freed = 0;  // leases that ended in this turn, and those of them without a space
  uint32_t freed_unnamed = 0;
  bool unnamed_rose = false;                // in this turn, the empty space's adaptive limit
  MonoTime rate_watched = MonoTime::Max();  // its place in Core::Impl::rate_waits_; Max: none
  int64_t ageing_ms = -1;                   // as its zones know it here; -1: none
  std::unique_ptr<CoreBacklog> backlog;     // null: it has had neither max-jobs nor max-bytes
  size_t cold_spaces = 0;
  uint32_t wakes = 0;     // from other cores, not yet used
  uint32_t new_jobs = 0;  // became ready in this turn, not yet told to anyone
  // Of dead letters (core_retention.cc).
  struct Retention {
    bool known = false;  // a death has been told to the keeper, and it has not found none since
    bool asked = false;  // a word to the keeper is under way
    // The keeper's.
    bool running = false;
    bool again = false;
    bool forgotten = false;  // nothing was dead a moment ago, and every core knows
    int64_t from_ms = 0;     // no dead letter is older
    MonoTime timer = MonoTime::Max();
    std::vector<std::unique_ptr<Request>> parts;  // of the slice under way: JobsPart
    size_t parts_running = 0;
  };
  Lazy<Retention> retention;
  std::map<uint64_t, LeaseRequest*> waiters;  // LEASEs that started here, by wait order
  size_t space_waiters = 0;                   // the same, of those for one space
  // Of spaces that LEASEs of any core wait for (engine/space_probe.h), until there is something.
  struct Wanted {
    std::set<std::pair<uint64_t, SpaceProbe*>> probes;  // by wait order
    uint32_t jobs = 0;  // became ready, no probe has gone home for it
  };
  Lazy<std::map<std::string, Wanted, std::less<>>> wanted;
  std::vector<std::string> wanted_ready;  // those with `jobs`
  struct Parked {
    LeaseRequest* request;
    bool local;
    bool compare;  // it came because nobody had looked here: cores are compared again
  };
  std::vector<Parked> parked;  // LEASEs until a cold read is back
};

// The due times of one lane by one clock: jobs in SCHEDULED, read from a remembered bound.
struct DueScan {
  int64_t next_ms = 0;  // no key that a scan has not found yet lies before this
  int64_t from_ms = 0;  // where the next scan starts: everything before it is gone
  // Of a scan that stopped among keys of one time: the first that it left. Empty: the next scan starts with
  // all of from_ms. So many jobs due in one moment are not waded through again for each slice.
  std::string from_key;
  bool scanning = false;
};

// What a job may have that is not told by its key: the end of its lease must read its header and row
// first. By completion or cancellation; by death.
inline constexpr uint32_t kEndReads = keycodec::kFlagUnique | keycodec::kFlagKeep;
inline constexpr uint32_t kDeathReads =
    keycodec::kFlagJobRow | keycodec::kFlagUnique | keycodec::kFlagExtra;

// Word for a job that waits for others: these of them are complete, or gone.
struct ChildWord {
  std::vector<JobId> parents;
  bool gone = false;
  std::string why;
  std::function<void(bool go_on)> then;
};
struct ChildWords {
  std::vector<ChildWord> list;
  bool reading = false;
};

// A child of `part` that wants to be told of the end of a job. Until the edge is there, an end that comes
// between is noted here.
struct Subscriber {
  JobsPart* part = nullptr;
  std::function<void(bool go_on)> then;
  bool ended = false;
  bool done = false;
  std::string why;
};
struct Subscribers {
  std::vector<Subscriber> list;
  bool reading = false;
};

struct LaneState {
  LaneId id;
  DueScan due[2];     // by keycodec::Clock
  DueScan timers[2];  // the same, of rows `t`
};

}  // namespace vestq
