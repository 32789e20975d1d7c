// Spaces with ready jobs that are not in memory, and the bound on those that are.
//
// A core keeps spaces and their windows within its share of memory (EngineShared::space_bytes_max). A job
// that becomes ready in a space for which there is no room is only written; its queue then has something
// hidden, and LEASEs find it by sweeps over the queue's READY keys (lanes/space_cursor.h), a read of some
// hundred spaces ahead of need. While something is hidden and memory is short a space is let go of as soon
// as it has had its share of the round: it stands in the store anyway. A queue of which nothing is hidden
// pays a branch.
//
// At a start everything is hidden, and nothing is read until somebody asks for the queue.
//
// HIDDEN-1: a space that is not in memory has no ready job, or its queue's cursor does not know its place
// (CURSOR-1, CURSOR-2). The empty space is in memory or known to be empty, or none of it is in memory: so
// its order over the core's lanes is exact.
// HIDDEN-2: what spaces take of memory is over the bound by no more than one read of each queue that is
// being leased from, and what cannot be let go of: spaces for which a read is under way.
#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "engine/base/check.h"
#include "engine/core_impl.h"
#include "engine/sweep_task.h"

namespace vestq {
namespace {
// Spaces that one read of a sweep brings: few at first, since many queues may each be asked for little.
constexpr uint32_t kFirstZones = 16;
constexpr uint32_t kMostZones = 256;
constexpr size_t kLookedMax = 64;  // and twice the LEASEs of one space that wait or look
// Of a window while memory is short.
constexpr size_t kNarrowWindow = 16;
// Queues that one look for room passes over.
constexpr size_t kRoomSteps = 1024;
constexpr keycodec::Order kOrders[] = {keycodec::Order::kPriority, keycodec::Order::kTime};
}  // namespace

ZonePlace Core::Impl::PlaceOf(LaneId lane, keycodec::Order order, std::string_view space) const {
  return {static_cast<uint32_t>(lane.value() / shared_->cores), order, std::string(space)};
}

// --- Bytes ---

void Core::Impl::CountWindow(LaneZone* zone) {
  const size_t bytes = zone->window.memory_bytes();
  if (bytes == zone->window_bytes) return;
  zone->space->bytes += bytes - zone->window_bytes;
  space_bytes_ += bytes - zone->window_bytes;
  zone->window_bytes = bytes;
}

// The window is about to grow, or may do so again.
void Core::Impl::FitWindow(LaneZone* zone) {
  if (zone->refilling) return;
  zone->window.set_capacity(RoomForSpaces() ? limits::kWindowJobs : kNarrowWindow);
}

// --- What is hidden ---

// At the start: of this queue nothing is known.
void Core::Impl::BeginUnseen(CoreQueue* queue) {
  BeginSweep(queue);
  queue->cursor.LoseUnnamed();
}

void Core::Impl::BeginSweep(CoreQueue* queue) {
  if (queue->cursor.may_find()) return;
  queue->cursor.Begin(queue->fair.virtual_time());
  queue->fair.HoldTime(queue->cursor.tag());
  queue->sweep_found = false;
}

void Core::Impl::EndSweep(CoreQueue* queue) {
  SpaceCursor& cursor = queue->cursor;
  cursor.EndSweep(queue->sweep_found || !queue->fair.empty());
  queue->sweep_found = false;
  queue->fair.HoldTime(cursor.may_find() ? cursor.tag() : UINT64_MAX);
  if (!cursor.hidden()) ForgetLooked(queue, 0);
}

// A job that may start stands at a place that is not in memory.
void Core::Impl::Hide(CoreQueue* queue, const ZonePlace& place) {
  BeginSweep(queue);
  if (place.space.empty()) queue->cursor.LoseUnnamed();
  queue->cursor.Note(place, SpaceCursor::Change::kWork);
}

// The space may have ready jobs in zones that are not in memory.
bool Core::Impl::MayHide(const CoreQueue& queue, std::string_view space) const {
  if (!queue.cursor.hidden()) return false;
  if (space.empty()) return !queue.cursor.unnamed_known();
  const LaneId lane = keycodec::LaneOfSpace(queue.record->name, space, shared_->lanes);
  const auto it = queue.spaces.find(space);
  for (const keycodec::Order order : kOrders) {
    if (queue.cursor.Known(PlaceOf(lane, order, space))) continue;
    if (it == queue.spaces.end()) return true;
    const auto& zones = it->second->zones;
    if (std::none_of(zones.begin(), zones.end(),
                     [order](const auto& zone) { return zone->order == order; }))
      return true;
  }
  return false;
}

// The space of a job that becomes ready; null: its key is all there is of it.
SpaceState* Core::Impl::SpaceForReady(CoreQueue* queue, LaneId lane, std::string_view space,
                                      keycodec::Order order) {
  const bool room = RoomForSpaces();
  if (const auto it = queue->spaces.find(space); it != queue->spaces.end()) {
    if (room || !LetGo(it->second.get(), lane, order)) [[likely]]
      return it->second.get();
    Hide(queue, PlaceOf(lane, order, space));
    PublishHead(queue);
    return nullptr;
  }
  if (queue->cursor.hidden() || !room) [[unlikely]] {
    ZonePlace place = PlaceOf(lane, order, space);
    // While only what is held is hidden, a space is taken in by its name, and read when its turn comes.
    bool by_name = queue->cursor.state() == SpaceCursor::State::kHeldOnly && !place.space.empty();
    if (by_name && queue->cursor.NoteGuess()) {
      BeginSweep(queue);
      by_name = false;
    }
    if (!room || (!by_name && !queue->cursor.Known(place))) {
      Hide(queue, place);
      PublishHead(queue);
      return nullptr;
    }
  }
  return MakeSpace(queue, space);
}

// --- Taken in by name ---

// All of the space's zones come into memory, what may be in the store to be read when its turn comes.
// REQUIRES: it has a name.
void Core::Impl::TakeIn(CoreQueue* queue, SpaceState* space) {
  const LaneId lane = keycodec::LaneOfSpace(queue->record->name, space->space, shared_->lanes);
  for (const keycodec::Order order : kOrders) {
    if (!queue->cursor.Known(PlaceOf(lane, order, space->space))) ZoneOf(space, lane, order);
  }
  SpaceChanged(space);
}

// For a LEASE of one space: its state, with all that it has; null: it has nothing, or is the empty space
// and not known. One that turns out to be empty is kept for a while, so that it is not read again for the
// probe that the LEASE leaves.
SpaceState* Core::Impl::LookUpSpace(CoreQueue* queue, const std::string& space) {
  const auto it = queue->spaces.find(space);
  SpaceState* state = it != queue->spaces.end() ? it->second.get() : nullptr;
  if (space.empty() || !MayHide(*queue, space)) return state;
  if (state == nullptr) {
    MakeRoom(queue);
    state = MakeSpace(queue, space);
  }
  TakeIn(queue, state);
  if (!state->looked) {
    state->looked = true;
    queue->looked.push_back(space);
    const size_t waiting = queue->record->space_waiters.load(std::memory_order_relaxed);
    ForgetLooked(queue, std::max(kLookedMax, 2 * (waiting + queue->looking)));
  }
  return state;
}

void Core::Impl::ForgetLooked(CoreQueue* queue, size_t kept) {
  if (kept == 0) queue->looking = 0;
  while (queue->looked.size() > kept) {
    const std::string space = std::move(queue->looked.front());
    queue->looked.erase(queue->looked.begin());
    const auto it = queue->spaces.find(space);
    if (it == queue->spaces.end()) continue;
    it->second->looked = false;
    MaybeForget(it->second.get());
  }
}

// A space that is not in memory may start a job again. What the sweep has passed is taken in by its name,
// for the next round: a search among all that is held would cost a seek for each.
void Core::Impl::HiddenHasRoom(CoreQueue* queue, std::string_view space) {
  if (!MayHide(*queue, space)) return;
  SpaceCursor& cursor = queue->cursor;
  if (space.empty()) {  // the next read brings it
    ++queue->new_jobs;
    return MarkNotify(queue);
  }
  const LaneId lane = keycodec::LaneOfSpace(queue->record->name, space, shared_->lanes);
  bool passed = !cursor.may_find();
  for (const keycodec::Order order : kOrders) passed |= cursor.Passed(PlaceOf(lane, order, space));
  if (passed) MakeRoom(queue);
  if (passed && RoomForSpaces()) {
    TakeIn(queue, MakeSpace(queue, space));
    if (cursor.NoteLoaded()) BeginSweep(queue);
  } else {
    BeginSweep(queue);
    for (const keycodec::Order order : kOrders)
      cursor.Note(PlaceOf(lane, order, space), SpaceCursor::Change::kWork);
  }
  PublishHead(queue);
  ++queue->new_jobs;
  NoteWanted(queue, space);
  MarkNotify(queue);
}

// What limits held back may start, wherever it stands.
void Core::Impl::HeldMayStart(CoreQueue* queue) {
  if (!queue->cursor.hidden()) return;
  if (queue->cursor.HeldMayStart()) BeginSweep(queue);
  PublishHead(queue);
  ++queue->new_jobs;
  MarkNotify(queue);
}

// --- Sweeps ---

// Goes on with the sweep; false: nothing that may start is hidden (any more).
bool Core::Impl::Sweep(CoreQueue* queue) {
  SpaceCursor& cursor = queue->cursor;
  if (!cursor.may_find()) return false;
  if (cursor.reading()) return true;
  if (cursor.at_end()) {
    EndSweep(queue);
    if (!cursor.may_find()) return false;
  }
  auto task = std::make_unique<SweepTask>();
  task->queue = queue->life.number;
  task->incarnation = queue->life[KeyKind::kReady];
  for (const LaneState& lane : lanes_) task->lanes.push_back(lane.id);
  task->unnamed = !cursor.unnamed_known();
  task->from = cursor.position();
  const uint32_t zones = std::clamp(2 * queue->sweep_zones, kFirstZones, kMostZones);
  queue->sweep_zones = RoomForSpaces() ? zones : kFirstZones;
  task->max_zones = queue->sweep_zones;
  task->max_bytes = RoomForRecords();
  task->mark = jobs_log_.Begin();
  cursor.StartRead();
  task->read_id = cursor.read_id();
  SweepTask* const raw = task.get();
  task->finish = [this, queue, raw](ReadTask*) {
    for (SweepTask::Found& zone : raw->found) {
      for (ReadyJob& job : zone.jobs) {
        if (jobs_log_.Changed(raw->mark, job.rank.id)) job.record = job.row = nullptr;
      }
    }
    jobs_log_.End(raw->mark);
    FinishSweep(queue, raw);
  };
  SubmitRead(std::move(task));
  return true;
}

void Core::Impl::FinishSweep(CoreQueue* queue, SweepTask* task) {
  SpaceCursor& cursor = queue->cursor;
  if (!cursor.reading() || cursor.read_id() != task->read_id) return;  // of a life that is over
  if (!task->error.ok()) {
    cursor.AbandonRead();
    ReadFailed(queue, nullptr, task->error);
    if (shared_->writes->failed()) return;
    retries_.emplace(now() + kReadRetry, [this, queue] {
      ++queue->new_jobs;
      MarkNotify(queue);
    });
    return;
  }
  MakeRoom(queue);
  std::set<ZonePlace> found;  // and out of date
  for (SweepTask::Found& zone : task->found) {
    if (cursor.Touched(zone.place)) {
      found.insert(zone.place);
      zone.jobs.clear();
      zone.all = false;
    }
    Install(queue, zone.place, std::move(zone.jobs), zone.all);
  }
  if (task->unnamed) {
    std::vector<ZonePlace> more;
    cursor.VisitUnnamedWork([&more](const ZonePlace& place) { more.push_back(place); });
    for (const ZonePlace& place : more) Install(queue, place, {}, false);
  }
  cursor.FinishRead(task->next, task->unnamed,
                    [&found](const ZonePlace& place) { return found.contains(place); });
  if (cursor.clean()) EndSweep(queue);  // all that may start is in memory, with its tags
  PublishHead(queue);
  UnparkLeases(queue);
  MarkNotify(queue);
}

// A zone that was found, with its first jobs; without any it is to be read when its turn comes.
void Core::Impl::Install(CoreQueue* queue, const ZonePlace& place, std::vector<ReadyJob> jobs,
                         bool all) {
  const LaneId lane = lanes_[place.lane].id;
  const auto it = queue->spaces.find(place.space);
  SpaceState* space = it != queue->spaces.end() ? it->second.get() : nullptr;
  if (space == nullptr) {
    if (!place.space.empty() && Limited(*queue->record) && HeldByName(queue, place.space)) {
      HoldUntil(queue, place.space, FindTerms(queue, place.space));
      return queue->cursor.PassHeld();
    }
    space = MakeSpace(queue, place.space, true);
    queue->sweep_found = true;
    if (!place.space.empty()) {
      space->fresh = true;
      ++queue->fresh;
    }
  }
  for (const auto& zone : space->zones) {
    if (zone->lane == lane && zone->order == place.order) return;  // memory knows better
  }
  LaneZone* const zone = ZoneOf(space, lane, place.order);
  if (!jobs.empty()) {
    FitWindow(zone);
    zone->window.BeginRefill();
    cached_bytes_ += static_cast<uint64_t>(zone->window.FinishRefill(std::move(jobs), all));
    CountWindow(zone);
  }
  SpaceChanged(space);
}

// --- Letting go ---

bool Core::Impl::Reads(const SpaceState& space) {
  return std::any_of(space.zones.begin(), space.zones.end(),
                     [](const auto& zone) { return zone->reading(); });
}

// A job of the space was claimed while something is hidden. True: its turn is over, and it is in memory no
// longer.
bool Core::Impl::AfterTurn(SpaceState* space) {
  CoreQueue* const queue = space->queue;
  SpaceCursor& cursor = queue->cursor;
  if (space->fresh) {
    space->fresh = false;
    --queue->fresh;
  }
  bool over = false;
  const bool is_short = 2 * space_bytes_ > shared_->space_bytes_max;
  if (is_short && cursor.hidden() && !space->space.empty() && space->has_work() && !space->cold &&
      !Reads(*space)) {
    SpaceChanged(space);
    over = space->held || (cursor.may_find() && queue->fair.tag(space->fair) >= cursor.gate());
    if (over) {
      Release(space);
      PublishHead(queue);
    }
  }
  // The next ones are read before they are needed.
  if (cursor.may_find() && !cursor.at_end() && 2 * queue->fresh < queue->sweep_zones) Sweep(queue);
  return over;
}

// Its jobs stand in the store. REQUIRES: no read is under way for it.
void Core::Impl::Release(SpaceState* space) {
  CoreQueue* const queue = space->queue;
  SpaceCursor& cursor = queue->cursor;
  const bool held = space->held && !space->space.empty();
  std::vector<ZonePlace> places;
  for (const auto& zone : space->zones) {
    if (zone->has_work()) places.push_back(PlaceOf(zone->lane, zone->order, space->space));
  }
  Forget(space);
  for (const ZonePlace& place : places) {
    if (held && cursor.hidden()) {
      cursor.NoteHeld(place);
    } else {
      Hide(queue, place);
    }
  }
}

// There is no room, and a job more would make the space take more: true: it is in memory no longer. One of a
// queue that was asked for since it last came here stays, as does one whose turn in this round is to come.
bool Core::Impl::LetGo(SpaceState* space, LaneId lane, keycodec::Order order) {
  CoreQueue* const queue = space->queue;
  const auto zone = std::find_if(space->zones.begin(), space->zones.end(), [&](const auto& each) {
    return each->lane == lane && each->order == order;
  });
  if (zone != space->zones.end() && !(*zone)->window.at_its_size()) return false;
  if (space->cold || space->looked || Reads(*space)) return false;
  if (std::exchange(queue->asked, false)) return false;
  if (queue->cursor.may_find() && space->active && !space->space.empty() &&
      queue->fair.tag(space->fair) < queue->cursor.gate())
    return false;
  Release(space);
  return true;
}

// Of a queue that nobody has asked for lately, a slice. What has not had its turn is met first when somebody
// asks.
void Core::Impl::ReleaseSome(CoreQueue* queue) {
  std::vector<SpaceState*> spaces;
  for (const auto& [name, space] : queue->spaces) {
    if (spaces.size() == limits::kSliceJobs) break;
    if (!space->cold && !Reads(*space)) spaces.push_back(space.get());
  }
  std::optional<ZonePlace> first;
  for (SpaceState* space : spaces) {
    if (queue->cursor.may_find() && space->active && !space->space.empty() &&
        queue->fair.tag(space->fair) < queue->cursor.gate()) {
      for (const auto& zone : space->zones) {
        ZonePlace place = PlaceOf(zone->lane, zone->order, space->space);
        if (!first || place < *first) first = std::move(place);
      }
    }
    Release(space);
  }
  if (first) queue->cursor.Rewind(*first);
  queue->sweep_zones = 0;
  PublishHead(queue);
}

// Before spaces come into memory for `wanted_by`: those of queues that were not asked for since the last
// look go, if there is no room.
void Core::Impl::MakeRoom(const CoreQueue* wanted_by) {
  for (size_t i = 0; i < std::min(queues_.size(), kRoomSteps) && !RoomForSpaces(); ++i) {
    hand_ = (hand_ + 1) % queues_.size();
    CoreQueue* const queue = queues_[hand_].get();
    if (queue == wanted_by || queue->spaces.empty() || std::exchange(queue->asked, false)) continue;
    if (queue->cursor.reading() || !queue->parked.empty()) continue;
    ReleaseSome(queue);
  }
}

}  // namespace vestq
