// The inside of a core (engine/core.h): its queues, windows, leases and the turn. Internal to
// engine/; the functions are spread over the files core*.cc by what they serve, as the comments in the
// class say. Everything here belongs to the core's thread.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "engine/batch.h"
#include "engine/change_log.h"
#include "engine/core.h"
#include "engine/core_state.h"
#include "engine/event_hub.h"
#include "engine/handling_request.h"
#include "engine/queue_life.h"
#include "engine/shared.h"
#include "engine/timer_task.h"
#include "keycodec/keys.h"
#include "keycodec/records.h"
#include "lanes/adaptive_spaces.h"
#include "lanes/sleep_gate.h"
#include "lease/lease_table.h"

namespace vestq {

class EraseTask;
class LookupTask;
class RedriveTask;
class PeekTask;
struct JobsPart;
class ChildTask;
class RefillTask;
class UniqueTask;
class KvGetTask;
struct PurgeRequest;
struct DataSetRequest;
struct DataDeleteRequest;
struct DataGetRequest;
struct DataRangeRequest;
struct ScheduleRequest;
struct GroupRequest;
class GroupTask;
class GroupView;
struct SpaceProbe;
struct WaitForRequest;
struct EventsRequest;
struct QueueInfoRequest;
class AgedTask;
struct SpaceSetRequest;
struct SpacesRequest;
class FetchTask;
class SweepTask;
class DueTask;

// The kind of key that stands for a job in that state. REQUIRES: one that has a kind.
KeyKind KindOf(JobState state);

// What counts a job that ends so. CANCEL and PURGE are counted together.
inline keycodec::Counter CounterOfEnd(EventKind how) {
  if (how == EventKind::kCompleted) return keycodec::Counter::kCompleted;
  if (how == EventKind::kLapsed) return keycodec::Counter::kLapsed;
  if (how == EventKind::kDropped) return keycodec::Counter::kDropped;
  return keycodec::Counter::kCancelled;
}

// Of a parent whose queue was dropped, for those that wait for it.
inline constexpr std::string_view kDroppedWithQueue = "was dropped with its queue";

// How long after a read that failed it is tried again.
inline constexpr Duration kReadRetry = Seconds(1);

class Core::Impl {
 public:
  Impl(EngineShared* shared, CoreId id);

  // --- core.cc: routing and the turn ---
  void Start(Request* request);
  void DropStream(Stream* stream);
  bool Turn();
  Duration UntilDue() const;
  bool PrepareSleep();
  void EndSleep();
  void Wake();  // any thread

  // --- recovery, before the first turn (engine_open.cc) ---
  void RestoreLease(const Lease& lease);
  void RestoreCounters(QueueRecord* record, const keycodec::CounterValue& value);
  void RestoreSpace(QueueRecord* record, std::string_view space,
                    const keycodec::SpaceValue& options);
  // False: the row says nothing any more and is to go.
  bool RestoreSpaceRate(QueueRecord* record, std::string_view space, int64_t until_ms);
  void BeginRecovery(bool empty_store);

 private:
  friend class Core;

  // core.cc
  static CoreId Target(const EngineShared& shared, const Request& request, CoreId self);
  static bool Exclusive(const Request& request);
  void Dispatch(Request* request);
  void Execute(Request* request);
  void PumpStream(Stream* stream);
  void Executed(Request* request);  // carried out, here, by its owner
  void Arrived(Request* request);   // carried out, back at its origin
  void Send(CoreId to, const Message& message);
  void FlushOutbox();
  bool HandleMessages();
  void HandleMessage(const Message& message);
  bool HandleReads();
  void SubmitTurn();
  bool CompleteAnswers();
  void AppendCounters(Batch* batch);
  void WriteBehind();
  bool HasWork() const;
  void FailEverything();
  void SetFailure(Request* request) const;
  void SendExecuted();
  MonoTime now();

  // queues
  CoreQueue* QueueHere(QueueRecord* record);
  CoreQueue* QueueById(QueueId id);
  Lease* LeaseOf(JobId id);
  Result<QueueRecord*> RecordOf(std::string_view name);
  bool KnowsQueue(std::string_view name) const;
  SpaceState* MakeSpace(CoreQueue* queue, std::string_view space, bool by_sweep = false);
  LaneZone* ZoneOf(SpaceState* space, LaneId lane, keycodec::Order order);
  void Count(CoreQueue* queue, keycodec::Counter counter, int64_t delta);
  // After anything that changed what the space can offer.
  void SpaceChanged(SpaceState* space);
  void MaybeForget(SpaceState* space);
  void Forget(SpaceState* space);
  void PublishHead(CoreQueue* queue);
  void AlignTags(CoreQueue* queue);
  void CatchUp(CoreQueue* queue);
  void MarkNotify(CoreQueue* queue);

  // core_kv.cc
  static CoreId OwnerOfData(const EngineShared& shared, std::string_view key);
  void ReadData(std::vector<std::string> keys, bool presence_only,
                std::function<void(KvGetTask*)> then);
  void NoteData(const std::string& key, const std::string* value);
  void PutData(const std::string& key, const std::string& value);
  void SetData(DataSetRequest* request);
  void DeleteData(DataDeleteRequest* request);
  void GetData(DataGetRequest* request);
  void RangeData(DataRangeRequest* request);

  // core_options.cc
  void SetQueue(QueueSetRequest* request);
  void ApplyOptions(QueueSetRequest* request, QueueRecord* record);
  int64_t JobsOf(QueueRecord* record);
  void OptionsChanged(QueueRecord* record);
  bool Paused(const QueueRecord& record) const;
  void WatchPause(CoreQueue* queue);
  void EndPauses();

  // core_purge.cc
  void Purge(PurgeRequest* request);
  void SendSwitches(PurgeRequest* request, QueueRecord* record, KeyKinds kinds, QueueId dropped);
  void Switched(PurgeRequest* request, QueueRecord* record, QueueId dropped);
  void ToAllCores(QueueRecord* record, const std::function<void(JobsPart*)>& fill,
                  std::function<void()> then, std::function<void()> failure = {});
  void SwitchPart(JobsPart* part);
  void SwitchLife(CoreQueue* queue);
  void LeaveNumber(CoreQueue* queue, QueueId old);
  void SwitchAllLives();
  bool OfAnotherLife(const LookupTask& task);
  CoreQueue* LivingScheduled(const keycodec::Zone& zone);
  void Bury(CoreQueue* queue);
  bool Buried(const SpaceState& space) const;
  void BuryMore();
  void SweepDropped(QueueId number, uint32_t place, std::function<void()> then);
  void EraseDropped(Lease* lease);

  // core_purge_walk.cc
  void PurgeWalk(PurgeRequest* request, QueueRecord* record);
  void PurgeSlice(PurgeRequest* request, QueueRecord* record, std::string from);
  void PurgeIds(PurgeRequest* request, QueueRecord* record, const std::vector<JobId>& ids,
                std::function<void()> then);
  void PurgeEverywhere(PurgeRequest* request, QueueRecord* record, JobState state);
  bool SumParts(PurgeRequest* request);
  void RemovePart(JobsPart* part);
  void RemoveOne(JobsPart* part, const LookupTask* task);
  void RemoveLeasesPart(JobsPart* part, uint32_t place);
  void EraseLeasedJob(Lease* lease, const LookupTask* read, EventKind how);
  void EraseKept(const LookupTask& task);
  void RemoveWindowsPart(JobsPart* part, std::string from);

  // core_erase.cc
  void BeginErasing();
  void ErasePart(JobsPart* part);
  void EraseNext();
  std::unique_ptr<EraseTask> NextErase();
  std::unique_ptr<EraseTask> EraseOfQueue();
  void FinishErase(EraseTask* task);
  void EraseVoid(EraseTask* task);
  void EraseWindows(CoreQueue* queue, const EraseTask& task);
  void CountErased(CoreQueue* queue, bool dead, uint64_t payload_bytes);
  void FinishRound();

  // core_vanish.cc
  bool NothingIn(const QueueRecord& record) const;
  void WatchVanish(CoreQueue* queue);
  void VanishDue();
  void ConsiderVanish(CoreQueue* queue);
  void AskToVanish(CoreQueue* queue);
  void VanishPart(JobsPart* part);

  // core_ageing.cc
  void AgeingChanged(CoreQueue* queue);
  void AgeSpaces(CoreQueue* queue, const std::string& from);
  void SetAgeing(LaneZone* zone);
  void NoteReady(LaneZone* zone, int64_t time_ms);
  void WatchAge(LaneZone* zone);
  void UnwatchAge(LaneZone* zone);
  bool MayLookAtAged() const;
  void LookAtAged();
  void StartAgeLook(LaneZone* zone);
  void FinishAgeLook(LaneZone* zone, AgedTask* task);
  void AgeLookFailed(LaneZone* zone, const Error& error);
  bool OldestAged(SpaceState* space, LaneZone** best);
  static const ReadyJob& FirstJob(const LaneZone& zone) {
    return zone.aged && !zone.aged->empty() ? zone.aged->Front() : zone.window.Front();
  }
  ReadyJob TakeFirst(LaneZone* zone);
  // It is ready no longer: neither here nor there.
  void ForgetReady(LaneZone* zone, const keycodec::ReadyRank& rank);
  // core_hidden.cc
  ZonePlace PlaceOf(LaneId lane, keycodec::Order order, std::string_view space) const;
  bool RoomForSpaces() const { return space_bytes_ < shared_->space_bytes_max; }
  void CountWindow(LaneZone* zone);
  void FitWindow(LaneZone* zone);
  SpaceState* SpaceForReady(CoreQueue* queue, LaneId lane, std::string_view space,
                            keycodec::Order order);
  void BeginUnseen(CoreQueue* queue);
  void BeginSweep(CoreQueue* queue);
  void EndSweep(CoreQueue* queue);
  void Hide(CoreQueue* queue, const ZonePlace& place);
  bool MayHide(const CoreQueue& queue, std::string_view space) const;
  void TakeIn(CoreQueue* queue, SpaceState* space);
  SpaceState* LookUpSpace(CoreQueue* queue, const std::string& space);
  void ForgetLooked(CoreQueue* queue, size_t kept);
  void HiddenHasRoom(CoreQueue* queue, std::string_view space);
  void HeldMayStart(CoreQueue* queue);
  bool Sweep(CoreQueue* queue);
  void FinishSweep(CoreQueue* queue, SweepTask* task);
  void Install(CoreQueue* queue, const ZonePlace& place, std::vector<ReadyJob> jobs, bool all);
  bool AfterTurn(SpaceState* space);
  static bool Reads(const SpaceState& space);
  void Release(SpaceState* space);
  bool LetGo(SpaceState* space, LaneId lane, keycodec::Order order);
  void ReleaseSome(CoreQueue* queue);
  void MakeRoom(const CoreQueue* wanted_by);

  // core_limits.cc
  enum class Taken : uint8_t { kSlot, kSpaceIsFull, kQueueIsFull };
  static bool Limited(const QueueRecord& record) {
    return record.settings.limited.load(std::memory_order_relaxed);
  }
  void LimitsChanged(CoreQueue* queue);
  void LookAtHeld(CoreQueue* queue, const std::string* behind);
  void BeginLimits();
  bool Closed(const CoreQueue& queue) const;
  bool Held(const SpaceState* space) const {
    return HeldBy(*space->queue, space->space, space->terms);
  }
  bool HeldByName(CoreQueue* queue, std::string_view space) const {
    return HeldBy(*queue, space, FindTerms(queue, space));
  }
  bool HeldBy(const CoreQueue& queue, std::string_view space, SpaceTerms* terms) const;
  void ShowHeld(SpaceState* space, bool held);
  Taken TakeSlot(CoreQueue* queue, SpaceState* space);
  void LeaseOver(CoreQueue* queue, std::string_view space);
  void RoomHere(CoreQueue* queue);
  void GiveLater(CoreQueue* queue, uint32_t slots, uint32_t unnamed);
  void SpaceHasRoom(CoreQueue* queue, std::string_view space);
  void GiveSlots();
  void WakeFor(CoreQueue* queue, uint32_t slots);
  void NoteRate(CoreQueue* queue, keycodec::Counter counter, const SharedRateState& rate);
  void ShowIfHeld(CoreQueue* queue, std::string_view space);
  void WatchRate(CoreQueue* queue);
  void EndRateWaits();

  // core_adaptive.cc
  uint32_t SlotsOf(const CoreQueue& queue, std::string_view space, const SpaceTerms* terms) const;
  void NoteStart(CoreQueue* queue, SpaceState* space);
  // What became of a lease that is about to end: an adaptive limit goes by it.
  void Learn(CoreQueue* queue, const Lease& lease, bool success) {
    if (queue->counted) [[unlikely]]
      LearnFrom(queue, lease, success);
  }
  void LearnFrom(CoreQueue* queue, const Lease& lease, bool success);
  void WakeForRise(CoreQueue* queue);
  void ShowAdaptive(SpacesRequest* request, CoreQueue* queue) const;

  // core_backlog.cc
  static Backlog Standing(const CoreQueue& queue);
  static Backlog Occupied(const CoreQueue& queue);
  void CountBacklog(CoreQueue* queue);
  void CountPart(JobsPart* part);
  void CountEverywhere(QueueRecord* record, std::function<void()> then,
                       std::function<void()> failure);
  void RoomChanged(CoreQueue* queue);
  void GiveRoom();
  void Withhold(CoreQueue* queue, const Backlog& gone);
  void RoomOfPurge(QueueRecord* record);
  bool TakeRoom(CoreQueue* queue, const Backlog& want, const Backlog& room = Backlog());
  static Backlog WantOf(const EnqueueManyRequest& request);
  static Error NoRoomError(const CoreQueue& queue, const Backlog& want);
  void NoRoom(CoreQueue* queue, Request* request, EnqueueRequest* job, const Backlog& want);
  void RefuseFull(QueueBacklog* backlog, Request* request, const Error& error);
  void LetIn(QueueRecord* record);
  void LetInHere(Request* request, QueueRecord* record);
  std::unique_ptr<EnqueueWait> EndEnqueueWait(Request* request);
  void GiveUpWait(EnqueueWait* wait);
  void ExpireEnqueueWaits();
  bool AbandonEnqueue(const Request* request);
  void FailEnqueueWaits();

  // core_space_options.cc
  void SetSpace(SpaceSetRequest* request);
  Error RoomForOptions() const;
  void SpaceOptionsChanged(CoreQueue* queue, std::string_view space);
  SpaceTerms* FindTerms(CoreQueue* queue, std::string_view space) const;
  SpaceTerms* TermsOf(CoreQueue* queue, std::string_view space);
  SpaceState* StateOf(CoreQueue* queue, std::string_view space) const;
  void ForgetTerms(SpaceTerms* terms);
  void LeaveTerms(CoreQueue* queue);
  void CountSpaceRow(CoreQueue* queue, int64_t delta);
  void MarkLimited(QueueRecord* record, const keycodec::SpaceValue& options);
  RateState UsedRate(SpaceTerms* terms, const RateLimit& limit) const;
  void StartOfNamed(SpaceState* space, const RateLimit& limit);
  void DropSpaceRate(SpaceTerms* terms);
  void HoldUntil(CoreQueue* queue, std::string_view space, SpaceTerms* terms);
  void WatchTerms(SpaceTerms* terms);
  void EndSpaceTimers();
  void Weigh(SpaceState* space);
  void WeighSpaces(CoreQueue* queue, const std::string* behind);
  void SpaceDefaultsChanged(CoreQueue* queue);
  void ReviewRates(CoreQueue* queue, const std::string* behind);

  // core_spaces.cc
  void Spaces(SpacesRequest* request);
  void ReadSpaces(SpacesRequest* request, QueueRecord* record);
  void SpacesSlice(SpacesRequest* request, QueueRecord* record);

  // core_enqueue.cc
  void Enqueue(EnqueueRequest* request, const Backlog& room = Backlog());
  LaneId LaneForJob(const EnqueueRequest& request) const;
  static std::string_view FixesLane(const EnqueueRequest& request);
  Result<keycodec::JobHeader> MakeHeader(const CoreQueue& queue, const EnqueueRequest& request);
  Error AddJob(CoreQueue* queue, LaneId lane, EnqueueRequest* request);
  void PutJob(CoreQueue* queue, LaneId lane, JobId id, keycodec::JobHeader header,
              std::string_view payload, const keycodec::ReadyValue& start);
  JobId NewJobId(LaneId lane);
  // Puts the READY key, counts, and shows the job to the window.
  void PutReady(CoreQueue* queue, LaneId lane, std::string_view space, keycodec::Order order,
                const keycodec::ReadyRank& rank, const keycodec::ReadyValue& value,
                std::shared_ptr<const std::string> record);
  static void AppendReadyKey(const CoreQueue& queue, LaneId lane, std::string_view space,
                             keycodec::Order order, const keycodec::ReadyRank& rank,
                             std::string* key);
  void PutScheduled(CoreQueue* queue, LaneId lane, keycodec::Clock clock, int64_t time_ms, JobId id,
                    keycodec::ScheduledValue value);

  // core_after.cc: the child's side of AFTER
  bool Issued(JobId id, uint64_t bound) const;
  Error CheckAfter(EnqueueRequest* request, size_t jobs) const;
  void AddWaiting(LaneId lane, JobId id, const keycodec::JobHeader& header,
                  EnqueueRequest* request);
  void PutWaiting(LaneId lane, JobId id, const keycodec::WaitingValue& value, keycodec::JobRow row);
  void EndEnqueue(Request* request, const std::shared_ptr<Subscriptions>& subscriptions);
  void AnswerGroup(GroupRequest* request);
  void TellChild(JobId child, ChildWord word);
  void ReadChild(JobId child);
  void TakeWords(JobId child, size_t count, const ChildTask& task);
  void LetGo(const LookupTask& job);
  void DieWaiting(const LookupTask& job, std::string why);

  // core_links.cc: the parent's side, and the words between lanes
  void Tell(LaneId to, keycodec::HandoverValue word, std::function<void()> then);
  void SendWords();
  void TakeWord(JobsPart* part);
  void EndWord(JobsPart* part);
  void Subscribe(JobId parent, JobsPart* part, std::function<void(bool go_on)> then);
  void ReadParent(JobId parent);
  void TakeSubscribers(JobId parent, const LookupTask* task);
  void MarkParent(JobId parent, Lease* lease, const LookupTask* task);
  void AnswerSubscribe(JobsPart* part);
  void TellChildren(JobsPart* part, std::string from);
  // The job is over: complete, or gone (`how`: "was cancelled"), in this turn's batch. Those that wait
  // for it are told afterwards. `flags`: as its value has them; without kFlagParent nobody waits for it.
  // Called by its owner for every end of an unfinished or dead job.
  void EndParent(JobId id, uint32_t flags, bool done, std::string_view how);
  static std::string_view EndedBy(EventKind how);
  void ReadOldWords(LaneId lane, std::string from);
  void StallWord(JobsPart* part, std::function<void()> again);
  void FailWords();

  // core_unique.cc
  void EnqueueUnique(CoreQueue* queue, EnqueueRequest* request, const Backlog& room);
  void FindHolder(CoreQueue* queue, const EnqueueRequest* request,
                  std::function<void(const UniqueTask*)> then);
  bool AddUnique(CoreQueue* queue, EnqueueRequest* request, const UniqueTask* task,
                 const Backlog& room, Backlog* want);
  void ReplaceJob(CoreQueue* queue, EnqueueRequest* request, const UniqueTask& task);
  bool HoldsWindow(const CoreQueue& queue, const keycodec::UniqueValue& row);
  void ForgetWindow(LaneId lane, const keycodec::UniqueValue& row);
  void HoldUniqueKey(const keycodec::JobHeader& header, JobId id);
  void FreeUniqueKey(LaneId lane, const keycodec::JobHeader& header, JobId id, bool done);
  void EndUniqueWindow(const TimerTask::Hit& hit);

  // core_schedules.cc
  void Schedule(ScheduleRequest* request);
  void PassOn(CoreId to, Request* request);
  void CarryTo(LaneId lane, ScheduleRequest* request);
  void BeginChange(ScheduleRequest* request);
  void EndChange(ScheduleRequest* request);
  void ReadSchedule(ScheduleRequest* request);
  void ChangeSchedule(ScheduleRequest* request, std::optional<keycodec::ScheduleValue> row);
  Error SetSchedule(const ScheduleRequest& request, const keycodec::ScheduleValue* old);
  Error ResumeSchedule(LaneId lane, const std::string& name, keycodec::ScheduleValue* row);
  void PutSchedule(LaneId lane, const std::string& name, const keycodec::ScheduleValue& value);
  void DropSlotTimer(LaneId lane, const std::string& name, const keycodec::ScheduleValue& value);
  void GetSchedule(ScheduleRequest* request);
  void ListSchedules(ScheduleRequest* request);
  bool OwnsSchedule(std::string_view name) const;
  WallTime WallNow() const;
  void Log(std::string_view line) const;

  // core_slots.cc
  struct DueSlot;
  void FireSlot(const TimerTask::Hit& hit);
  void FireUnique(CoreQueue* queue, std::shared_ptr<DueSlot> slot);
  void SlotRefused(DueSlot* slot, uint32_t jobs, const Error& error);
  void BookNext(DueSlot* slot);
  void RunSchedule(ScheduleRequest* request, LaneId lane, const keycodec::ScheduleValue& schedule);
  void ForgetSchedules();
  void LookForStep(WallTime wall);
  void RecheckSlots(LaneState* lane, std::string from_key);
  void RecheckSlot(const TimerTask::Hit& hit);

  // core_timers.cc
  void PutRow(const std::string& key, std::string_view value);
  void DeleteRow(const std::string& key);
  void PutTimer(LaneId lane, keycodec::Clock clock, int64_t time_ms, const std::string& key,
                std::string row);
  void NoteTimer(LaneId lane, keycodec::Clock clock, int64_t time_ms);
  void FireTimers(WallTime wall);
  void FinishTimers(LaneState* lane, TimerTask* task);
  void FireTimer(const TimerTask::Hit& hit);
  void PutExpiry(LaneId lane, const keycodec::JobHeader& header, JobId id);
  void DropExpiry(LaneId lane, const keycodec::JobHeader& header, const keycodec::JobRow* row,
                  JobId id);
  bool HasLapsed(const keycodec::JobHeader& header, const keycodec::JobRow* row);
  void Lapse(const TimerTask::Hit& hit);
  void KeepResult(const Lease& lease, const LookupTask& found, Duration keep, std::string result);
  void EndKept(const TimerTask::Hit& hit);

  // core_lease.cc
  void StartLease(LeaseRequest* request);
  void ContinueLease(LeaseRequest* request);
  enum class LeaseStep : uint8_t { kDone, kEmpty, kParked };
  LeaseStep LeaseHere(CoreQueue* queue, LeaseRequest* request, bool local);
  void LeaseForOther(Request* request, QueueRecord* record);
  SpaceState* PickSpace(CoreQueue* queue, LaneZone** zone);
  SpaceState* PickOneSpace(CoreQueue* queue, const std::string& name, LaneZone** zone, bool* cold);
  LaneZone* FirstZone(SpaceState* space);
  void SetAside(SpaceState* space);
  CoreId NextCore(const QueueRecord& record, const LeaseRequest& request) const;
  static Duration QueueLease(const QueueRecord& record);
  void PutLeased(const Lease& lease);
  bool LeasesAreFull(LeaseRequest* request) const;
  void Claim(CoreQueue* queue, LaneZone* zone, LeaseRequest* request);
  bool DropLapsed(LaneZone* zone);
  void FinishLease(LeaseRequest* request);
  bool AnyHead(const LeaseRequest& request, bool closed_too) const;
  CoreId BestCore(const QueueRecord& record, const LeaseRequest& request) const;
  void UnparkLeases(CoreQueue* queue);

  // core_waiting.cc
  void Register(LeaseRequest* request);
  void Unregister(LeaseRequest* request);
  void ShowWaiters(CoreQueue* queue);
  void ServeWaiters();
  void TellOthers();
  void WakeOne(QueueRecord* record);
  void PassOnWake(QueueRecord* record);
  void ExpireWaits();
  void AbandonLease(LeaseRequest* request);

  // core_space.cc
  void ArmProbes(LeaseRequest* request);
  void SendOut(SpaceProbe* probe);
  void DropProbes(LeaseRequest* request);
  void Probe(SpaceProbe* probe);
  void SendHome(SpaceProbe* probe);
  void ProbeBack(SpaceProbe* probe);
  bool AbandonProbe(const Request* probe);
  bool SpaceMayHave(CoreQueue* queue, const std::string& space) const;
  void NoteWanted(CoreQueue* queue, std::string_view space);
  void ServeWanted(CoreQueue* queue);
  void FireWanted(CoreQueue* queue, const std::string& space, uint32_t jobs);
  void LookAtWanted(CoreQueue* queue);
  void ForgetWanted();

  // core_watch.cc
  void Abandon(Request* request);
  void AbandonAt(CoreId owner, Request* request);
  void AbandonHere(Request* request);
  void WaitFor(WaitForRequest* request);
  void LookForEnd(JobId id);
  void EndFound(JobId id, const LookupTask* task);
  void EndWaitFor(WaitForRequest* request);
  void ServeWatches();
  void LookAtAllWatched();
  void FailWatches();
  void QueueInfo(QueueInfoRequest* request);

  // core_events.cc
  // What has just happened to a job, for whoever listens.
  void Emit(EventKind kind, const CoreQueue* queue, JobId id, uint32_t attempt,
            std::string_view worker = {}, std::string_view reason = {}) {
    if (shared_->events->listening()) [[unlikely]]
      NoteEvent(kind, queue, id, attempt, worker, reason);
  }
  void Emit(EventKind kind, const Lease& lease, std::string_view reason = {}) {
    if (shared_->events->listening()) [[unlikely]]
      NoteEvent(kind, QueueById(lease.queue), lease.id, lease.attempt, lease.worker, reason);
  }
  void NoteEvent(EventKind kind, const CoreQueue* queue, JobId id, uint32_t attempt,
                 std::string_view worker, std::string_view reason, uint64_t jobs = 0);
  void EmitMoved(EventKind kind, const LookupTask* task);
  // One event for all that a PURGE or DROP has made void (`command`).
  void EmitPurged(QueueRecord* record, uint64_t jobs, std::string_view command);
  void SubmitEvents();
  bool EventsDue() const;
  void PublishEvents();
  void Events(EventsRequest* request);
  void ServeEvents();
  void EndEvents();

  // core_settle.cc
  void Renew(RenewRequest* request);
  void Checkpoint(CheckpointRequest* request, const LookupTask* read);
  static Duration QueueKeep(const QueueRecord& record);
  void Complete(CompleteRequest* request);
  void EndExtras(const Lease& lease, const LookupTask& read, bool done);
  void Fail(FailRequest* request, const LookupTask* read);
  void Release(ReleaseRequest* request, const LookupTask* read);
  bool ExpireLeases();
  void ExpireAfterRead(Lease* lease);
  void MakeDead(Lease* lease, std::string reason, std::string last_error, const LookupTask* read);
  void BackToReady(Lease* lease, uint32_t attempt);
  void ToRetry(Lease* lease, uint32_t attempt, uint32_t priority, Duration delay,
               std::string last_error, const LookupTask* read);
  void EraseLeased(Lease* lease, CoreQueue* queue);
  // `how` is the event that says it: kCompleted, kCancelled, kPurged.
  void EraseJob(Lease* lease, CoreQueue* queue, EventKind how);
  Lease* LiveLease(const Receipt& receipt);
  static Error LeaseLostError(const Receipt& receipt);

  // core_lookup.cc
  void Lookup(JobId id, std::function<void(const LookupTask*)> then);
  void TouchJob(JobId id);
  void Refuse(Request* request, const Error& error);
  void Cancel(CancelRequest* request);
  void CancelLeased(CancelRequest* request, Lease* lease, const LookupTask* read);
  // The same: kCancelled, kPurged, kLapsed, kDropped.
  void EraseFound(const LookupTask* task, EventKind how);
  void Describe(JobRequest* request);
  void DescribeFound(JobRequest* request, const LookupTask* task);
  void DescribeDone(JobRequest* request, const LookupTask* task);

  // core_many.cc
  void EnqueueMany(EnqueueManyRequest* request, const Backlog& room = Backlog());
  void Workers(WorkersRequest* request);
  void WorkersSlice(WorkersRequest* request);
  // Runs it in the next turn.
  void Later(std::function<void()> work) { later_.push_back(std::move(work)); }
  bool RunLater();
  // Goes on with the request at another core, behind this turn's batch.
  void Forward(Request* request, CoreId to) { forwarded_.emplace_back(request, to); }

  // core_group.cc: a group's way, and what a core does while it is frozen
  void Group(GroupRequest* request);
  uint64_t CoresOf(const Request& member) const;
  std::unique_ptr<GroupTask> PlanReads(GroupRequest* request, bool frozen);
  struct GroupPlan;
  void PlanMember(GroupPlan* plan, size_t i);
  void PlanLease(GroupPlan* plan, size_t i, const Receipt& receipt);
  void PlanCancel(GroupPlan* plan, size_t i, JobId id);
  void AskToGo(GroupRequest* request);
  void GroupAsked(GroupRequest* request);
  void GroupEnded();
  void GrantNext();
  void GroupGo(GroupRequest* request);
  void GroupFrozen(GroupRequest* request);
  bool Freeze();
  bool StayFrozen();
  void AllFrozen(GroupRequest* request);
  void EndGroup(std::unique_ptr<GroupTask> task);
  void Thawed();

  // core_group_run.cc: at the origin, with the state of all owners in hand
  struct GroupRun;
  Impl* Neighbour(CoreId core);
  Impl* OwnerOfMember(const Request& member);
  void RunGroup(GroupTask* task);
  void HoldClocks(const GroupRequest& request, bool hold);
  Error CheckMember(GroupRun* run, const GroupTask& task, Request* member);
  Error CheckCancel(GroupRun* run, const GroupTask& task, JobId id);
  Error CheckRoom(GroupRun* run, CoreQueue* queue, const EnqueueRequest& job, Backlog want);
  Error TakeGroupRoom(GroupRun* run);
  void LevelRoom(const GroupRequest& group, const GroupRun& run);
  void NoteLeaves(GroupRun* run, const Request& member, const Receipt& receipt);
  Error CheckEnqueue(GroupRun* run, const Request* member, EnqueueRequest* job, size_t jobs);
  Error CheckReceipt(GroupRun* run, const Receipt& receipt, bool ends);
  Error RunMember(GroupTask* task, Request* member);
  Error RunOne(GroupTask* task, Request* member);
  void NoteGroupData(const Batch& batch);
  void SubmitGroup(GroupTask* task);
  // A read that a request waits for: within a group at once, through the group's view.
  void ReadFor(std::unique_ptr<ReadTask> task);

  // core_peek.cc
  struct Walk;
  using WalkStep = std::function<void(bool go_on)>;
  void WalkJobs(size_t items, size_t window, std::function<void(size_t i, WalkStep then)> one,
                std::function<void()> finished);
  void WalkOn(const std::shared_ptr<Walk>& walk);
  void DoPart(JobsPart* part);
  void DescribePart(JobsPart* part);
  bool DescribeOne(JobsPart* part, size_t i, uint64_t* bytes, const LookupTask* task);
  void Peek(PeekRequest* request);
  Error StartPeek(PeekRequest* request);
  void PeekLeases(PeekRequest* request);
  void DescribePage(PeekRequest* request);
  void FinishPeek(PeekRequest* request);

  // core_redrive.cc
  void Redrive(RedriveRequest* request);
  void RedriveSlice(RedriveRequest* request, std::string from);
  void RedriveParts(RedriveRequest* request, const std::vector<JobId>& ids, std::string next);
  void RedriveFinished(RedriveRequest* request, std::string next);
  void RedrivePart(JobsPart* part);
  void LookForRedrive(JobsPart* part, size_t i, WalkStep then);
  Error RedriveOne(JobsPart* part, size_t i, const RedriveTask& task);
  bool TiedToItsId(const JobsPart& part, const RedriveTask& task) const;
  struct Vesting {
    keycodec::Clock clock = keycodec::Clock::kEngine;
    int64_t time_ms = 0;  // 0: at once
  };
  Vesting VestsAgain(const LookupTask& job, int64_t vest_ms);
  Error RedriveFound(const JobsPart& part, Vesting vests, const RedriveTask& found);
  Error HandOver(const JobsPart& part, LaneId lane, Vesting vests, const LookupTask* task);
  void NotePart(JobsPart* part);

  // core_retention.cc
  void NoteDeath(CoreQueue* queue);
  void AskKeeper(CoreQueue* queue);
  void KeepPart(JobsPart* part);
  void BeginKeeping();
  void KeepNext();
  void KeepNoMore(CoreQueue* queue);
  void FinishKeep(CoreQueue* queue, PeekTask* task);
  void DropOver(CoreQueue* queue, int64_t last_ms);
  void RetryKeep(CoreQueue* queue, const Error& error);
  void LookAgainAt(CoreQueue* queue, MonoTime when);
  void ForgetDeaths(CoreQueue* queue);
  void ForgetPart(JobsPart* part);
  void DropPart(JobsPart* part);

  // core_handling.cc
  void Revoke(RevokeRequest* request);
  void Promote(PromoteRequest* request);
  void PromoteFound(PromoteRequest* request, const LookupTask* task);
  void Reschedule(RescheduleRequest* request);
  void RescheduleFound(RescheduleRequest* request, const LookupTask* task);
  // The job's SCHEDULED or READY key goes, and what memory knows of it.
  void Unplace(const LookupTask* task);
  // It stands anew: by `clock` at `time_ms`, or ready (time_ms 0). A job row tells where.
  void PlaceAnew(const LookupTask* task, keycodec::Clock clock, int64_t time_ms, uint32_t priority);
  void PlaceJob(LaneId lane, JobId id, const keycodec::JobHeader& header, uint32_t flags,
                keycodec::JobRow row, keycodec::Clock clock, int64_t time_ms);
  static Error NotMovable(JobId id, JobState state);

  // core_vesting.cc
  void StartRefill(LaneZone* zone);
  void ForgetOldRows(uint64_t mark, std::vector<ReadyJob>* jobs);
  void FinishRefill(LaneZone* zone, RefillTask* task);
  void StartFetch(LaneZone* zone);
  void FinishFetch(LaneZone* zone, FetchTask* task);
  void FinishDueScan(LaneState* lane, DueTask* task);
  void Thaw(SpaceState* space);
  uint64_t RoomForRecords() const;
  void ReadFailed(CoreQueue* queue, SpaceState* space, const Error& error);
  void VestDue(WallTime wall);
  void NoteScheduled(LaneState* lane, keycodec::Clock clock, int64_t time_ms);
  void SubmitRead(std::unique_ptr<ReadTask> task);
  LaneState* LaneHere(LaneId id);

  EngineShared* const shared_;
  const CoreId id_;
  const bool alone_;  // the only core

  // The turn.
  MonoTime now_;
  bool now_stale_ = true;
  Batch batch_;
  std::string key_, value_;                             // scratch
  std::vector<Request*> executed_;                      // this turn, waiting for its ticket
  std::deque<Request*> awaiting_;                       // answered once their ticket is durable
  Ticket first_awaited_;                                // the least of theirs
  std::vector<std::pair<Request*, CoreId>> forwarded_;  // the same, to go on elsewhere
  std::vector<std::function<void()>> later_;            // work that is cut into slices
  std::vector<Request*> answers_;
  std::vector<Request*> refused_;  // answered without having been carried out
  std::vector<CoreQueue*> dirty_;  // counters changed this turn
  Ticket last_ticket_;
  bool write_busy_ = false;
  std::vector<std::deque<Message>> outbox_;  // by core; leaves after the batch is submitted
  SleepGate gate_;
  void (*wake_)(void*) = nullptr;
  void* wake_context_ = nullptr;

  // A group over several cores, or one that reads: this core, or the origin for it, holds still.
  bool frozen_ = false;                    // what others may touch is not touched by this thread
  GroupRequest* freeze_for_ = nullptr;     // freeze at the end of the turn
  GroupRequest* group_ = nullptr;          // the one that started here and is being carried out
  const ReadTask* group_read_ = nullptr;   // what it waits for
  const GroupView* group_view_ = nullptr;  // set while a member is carried out here
  bool in_group_ = false;                  // a member is just being carried out, for this core
  uint64_t renewals_seen_ = 0;             // of the registry: all queues here have followed
  bool clock_held_ = false;                // now() stands: all of a group is at one moment
  std::vector<Message> held_messages_;
  std::vector<std::unique_ptr<ReadTask>> held_results_;
  std::vector<Request*> held_requests_;
  std::vector<Stream*> held_streams_;
  std::vector<LeaseRequest*> held_abandons_;
  std::vector<std::pair<CoreId, Request*>> held_ends_;  // of other waits; they may be gone by then
  // Core 0's: which group may freeze cores, one at a time.
  bool group_under_way_ = false;
  std::deque<GroupRequest*> groups_waiting_;

  // Jobs.
  std::vector<std::unique_ptr<CoreQueue>> queues_;
  std::unordered_map<QueueId, CoreQueue*> queues_by_id_;
  std::unordered_map<std::string, QueueRecord*, StringHash, std::equal_to<>> names_;
  std::vector<LaneState> lanes_;
  size_t next_lane_ = 0;  // of this turn's jobs without a space
  IdAllocator::Block ids_;
  LeaseTable leases_;
  AdaptiveSpaces adaptive_;
  uint64_t claims_ = 0;
  uint64_t random_ = 0;
  uint64_t cached_bytes_ = 0;       // of records held by windows
  uint64_t space_bytes_ = 0;        // of spaces and their windows
  uint64_t space_bytes_shown_ = 0;  // as counted in EngineShared::space_bytes
  size_t hand_ = 0;                 // in queues_: where room is looked for next
  std::vector<CoreQueue*> notify_;  // waiters may have something to take
  std::vector<CoreQueue*> tell_;    // other cores' waiters may

  // Waiting LEASEs that started here.
  uint64_t wait_counter_ = 0;
  int serving_ = 0;                            // how deep in ServeWaiters
  std::map<uint64_t, LeaseRequest*> waiting_;  // all of them, by wait order
  std::map<std::pair<MonoTime, uint64_t>, LeaseRequest*> wait_timers_;

  // Of queues with max-jobs or max-bytes: those whose backlog has changed here in this turn; and ENQUEUEs of
  // this core that wait for room, one that was let in until its word has come.
  std::vector<CoreQueue*> room_changed_;
  std::unordered_map<const Request*, std::unique_ptr<EnqueueWait>> enqueue_waits_;
  std::map<std::pair<MonoTime, uint64_t>, EnqueueWait*> enqueue_timers_;  // by time and order

  std::set<std::pair<MonoTime, CoreQueue*>> pauses_;            // that end by themselves
  std::set<std::pair<MonoTime, CoreQueue*>> rate_waits_;        // until the next token is due
  std::set<TermsByTime::Entry, TermsByTime> space_timers_;      // of spaces held, or with a row
  std::map<std::pair<MonoTime, uint64_t>, LaneZone*> age_due_;  // when a look is worth its while
  uint64_t zones_made_ = 0;
  int age_looks_ = 0;                                       // under way
  std::vector<CoreQueue*> freed_;                           // with slots to give back
  std::multimap<MonoTime, std::function<void()>> retries_;  // of reads that failed

  // What was changed while reads are under way that found it.
  ChangeLog<JobId> jobs_log_;
  ChangeLog<std::string> rows_log_;
  std::unordered_map<std::string, uint32_t> data_wanted_;  // keys that reads under way ask for
  ChangeLog<std::string, std::optional<std::string>> data_log_;  // and what is there now
  // WAITFORs for jobs of this core.
  std::map<JobId, std::vector<WaitForRequest*>> watched_;
  std::set<const Request*> watches_;  // the same, to find one that may be gone
  std::set<std::pair<MonoTime, WaitForRequest*>> watch_timers_;
  std::vector<JobId> touched_watches_;  // changed in this turn
  // Probes: of this core's LEASEs, and those of any core that stand here.
  std::map<const Request*, std::unique_ptr<SpaceProbe>> probes_;
  std::map<const Request*, SpaceProbe*> probes_here_;
  // Events of this turn; those that are not durable yet, by ticket; EVENTS that wait here.
  std::vector<JobEvent> turn_events_;
  struct Unpublished {
    Ticket ticket;
    uint64_t missed = 0;  // lost before them
    std::vector<JobEvent> events;
  };
  std::deque<Unpublished> unpublished_;
  size_t event_bytes_ = 0;  // of both
  uint64_t events_lost_ = 0;
  std::vector<EventsRequest*> event_readers_;
  // Words to other cores that nobody else keeps (engine/jobs_part.h), until they are back.
  std::map<Request*, std::unique_ptr<Request>> notes_;
  // AFTER: words of this turn that leave behind its batch, what has come for jobs of this core, and words
  // that wait for another try of a read.
  std::vector<JobsPart*> told_;
  uint64_t words_made_ = 0;
  std::unordered_map<JobId, Subscribers> subscribers_;
  std::unordered_map<JobId, ChildWords> child_words_;
  std::map<JobsPart*, std::function<void()>> stalled_words_;
  // Lives that are over: spaces that are being let go of, in slices, and those that a read is under way
  // for; numbers of dropped queues that may still have leases here.
  std::deque<std::map<std::string, std::unique_ptr<SpaceState>, std::less<>>> graveyard_;
  std::vector<std::unique_ptr<SpaceState>> read_graves_;
  std::deque<std::map<std::string, SpaceTerms, std::less<>>> terms_graveyard_;
  // Of those that were counted then, the queue: their slots are given back one by one.
  std::map<QueueId, CoreQueue*> unswept_;
  // Erasing what is void: those to come, and the round under way, at a step of one of them.
  struct Erasure {
    QueueRecord* record = nullptr;  // null: dropped
    QueueId number;
    KeyKinds kinds = 0;
  };
  std::deque<Erasure> erasures_;
  std::vector<Erasure> erase_round_;
  size_t erase_item_ = 0;
  size_t erase_step_ = 0;
  std::string erase_from_;  // where the step goes on; empty: at its beginning
  bool erase_running_ = false;
  // Queues that may vanish, by when that is to be looked at.
  std::map<std::pair<MonoTime, uint32_t>, CoreQueue*> vanishing_;  // by time and ordinal

  std::vector<QueueRecord*> to_keep_;  // at a start: whose dead letters are still to be looked at

  // Schedules: those that a change is under way for, with the changes that wait for it; and those
  // deleted in this turn.
  std::unordered_map<std::string, std::vector<ScheduleRequest*>> changing_;
  std::vector<std::string> gone_schedules_;
  WallTime latest_wall_ = WallTime::Max();  // of the last turn
  std::optional<int64_t> wall_ahead_ms_;    // of engine time, as a clock row has it
  bool clock_stepped_ = false;              // a clock row is to tell of it
  std::vector<std::unique_ptr<ReadTask>> results_;
  std::vector<std::unique_ptr<ReadTask>> reads_;  // of this turn, submitted behind its batch
};

// The way from a core to its inside, for the files of engine/ that set it up.
struct CoreAccess {
  static Core::Impl* Of(Core* core) { return core->impl_.get(); }
};

}  // namespace vestq
