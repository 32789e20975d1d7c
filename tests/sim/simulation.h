// Random jobs, crashes and clocks against a model of what a queue may do.
//
// Clients keep their own history: what was asked, what was answered and when. From that alone the
// model knows what may come next, and a run ends with the sentence that is broken, or with none:
//
//   SIM-1  nothing is lost: a job whose ENQUEUE was answered is delivered, completed, cancelled or
//          dead in the end
//   SIM-2  nothing is invented: what is delivered was enqueued, byte for byte, under the id that
//          was answered
//   SIM-3  no second valid lease: a job is not delivered while an earlier lease certainly holds
//   SIM-4  done is done: a job whose COMPLETE or CANCEL was answered is never delivered again,
//          across any crash
//   SIM-5  a receipt whose job was delivered again, or whose lease is over, is refused
//   SIM-6  attempts: no job is delivered more often than its attempts allow
//   SIM-7  not before its time: a delayed job is not delivered early
//   SIM-9, SIM-10, SIM-15  checkpoints, unique keys, AFTER: simulation_extras.cc
//   SIM-11 a group is carried out whole or not at all, across any crash: simulation_group.cc
//   SIM-12 to SIM-14  WAITFOR, LEASE of one space, events: simulation_watch.cc
//   SIM-16  what was purged: simulation_purge.cc
//   SIM-17  no more run than the limits of a queue and of its spaces allow: simulation_limits.cc,
//           simulation_spaces.cc
//   SIM-18  what SPACES says: simulation_spaces.cc
//   SIM-19  no more stand than its max-jobs and max-bytes allow: simulation_room.cc
//   SIM-23  options of queues and of jobs, pauses, results: simulation_options.cc
//   SIM-24  schedules: simulation_schedules.cc
//   SIM-25  the application's data: simulation_data.cc
//   SIM-22  PEEK and the counters: simulation_look.cc
//   SIM-20, SIM-21  engine time, the wall clock's steps, EXPIRE: simulation_time.cc
//   SIM-8  at rest and after every crash the offline check finds nothing, and everything drains
//
// FAMILY-1 of engine/batch.h is checked for every batch that is written.
//
// First with faults, then without: everything must drain (SIM-8). One seed is one history.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "engine/group_request.h"
#include "engine/kv_request.h"
#include "engine/purge_request.h"
#include "engine/schedule_request.h"
#include "engine/space_request.h"
#include "lanes/backlog.h"
#include "tests/sim/world.h"

namespace vestq {

struct SimulationOptions {
  uint64_t seed = 1;
  size_t steps = 4000;
  bool plant_answer_before_sync = false;
};

class Simulation {
 public:
  explicit Simulation(const SimulationOptions& options);
  ~Simulation();

  // Empty when nothing was wrong; else the broken sentence and what led to it.
  std::string Run();
  // Hash of the history and of the disk: the same seed gives the same.
  uint64_t fingerprint() const;
  uint64_t crashes() const { return crashes_; }
  uint64_t deliveries() const { return deliveries_; }
  uint64_t walks() const { return walks_; }

 private:
  struct ModelJob;
  struct ModelGroup;
  struct ModelLimits {  // of a queue; without a value: none, or not known
    std::optional<uint32_t> concurrency;
    std::optional<uint32_t> space_concurrency;
    std::optional<uint32_t> rate;  // a second
    uint32_t burst = 1;
    std::optional<uint32_t> space_rate;
    uint32_t space_burst = 1;
    std::optional<uint32_t> max_jobs;
    std::optional<uint32_t> max_bytes;
    uint64_t from_event = 0;  // they hold for what is asked after that
    int64_t from_boot = 0;    // they hold for claims after that
    int64_t from_ms = 0;
    int unsettled = 0;  // changes and DROPs under way
  };
  struct ModelSpace {          // options of a space's own
    uint64_t known_event = 0;  // 0: not known
    keycodec::SpaceValue own;  // but for the pause
    bool paused = false;       // for ever; false: not, or not followed
    int64_t from_boot = 0;
    int64_t from_ms = 0;
  };
  struct Starts {  // of jobs of a queue, since the last boot, in order
    int64_t boot = 0;
    std::vector<int64_t> at_ms;
  };
  struct Backoff {  // exp with a cap; else one step or a list
    std::vector<int64_t> steps_ms;
    int64_t cap_ms = 0;
    std::string Text() const;
    std::pair<int64_t, int64_t> Range(uint32_t failures) const;
  };
  struct ModelOptions {  // of a queue; without a value: the default
    bool known = true;
    uint64_t event = 0;  // since when
    int64_t from_boot = 0;
    int64_t from_ms = 0;
    std::optional<Duration> lease;
    std::optional<uint32_t> attempts;
    std::optional<Duration> keep;
    std::optional<Backoff> backoff;
    std::optional<uint64_t> dead_max;
    std::optional<Duration> dead_keep;
    int unsettled = 0;           // changes and DROPs under way
    int pauses = 0;              // the same of PAUSE and RESUME
    int64_t paused_from_ms = 0;  // engine time between which it is certainly paused
    int64_t paused_until_ms = 0;
  };
  struct ModelSchedule {
    bool there = false;
    bool unsettled = false;  // something is asked
    bool unsure = false;     // a crash took the answer
    bool disturbed = true;   // since the last look: changed, or by the wall clock
    bool paused = false;
    bool cron = false;
    bool unique = false;
    int version = 0;  // of its payload: another after each DEL
    int64_t period_ms = 0;
    keycodec::Missed missed = keycodec::Missed::kOnce;
    uint64_t runs_least = 0, runs_most = 0;
    int64_t next_ms = 0;  // this and what follows: at the last look
    uint64_t fired = 0, skipped = 0, passed_over = 0;
  };
  struct Slots {  // jobs of one payload
    std::set<JobId> seen;
    bool closed = false;  // no more of them may come
  };
  using DataValues = std::set<std::optional<std::string>>;
  struct ModelData {  // a key: what it may hold
    DataValues may;
    bool busy = false;
    std::vector<std::string> history;
  };
  // How a job is shown; where two are equal it has stayed where it was.
  struct Stamp {
    JobState state = JobState::kGone;
    std::string queue;
    uint32_t attempt = 0;
    size_t notes = 0;
    uint32_t redrives = 0;
    bool operator==(const Stamp&) const = default;
  };
  struct Walk {  // over the pages of PEEK
    bool on = false;
    bool asked = false;
    bool ended = false;
    std::string queue;
    JobState state = JobState::kReady;
    std::string cursor = "0";
    std::map<JobId, Stamp> before;
    std::map<JobId, uint32_t> times;
  };
  struct Pending;
  enum class Op : uint8_t {
    kEnqueue,
    kLease,
    kComplete,
    kFail,
    kRelease,
    kRenew,
    kCancel,
    kJob,
    kRevoke,
    kPromote,
    kReschedule,
    kCheckpoint,
    kRedrive,
    kGroup,
    kWaitFor,
    kPurge,
    kLimits,
    kSpaceSet,
    kSpaces,
    kPeek,
    kEnqueueMany,
    kData,
    kOptions,
    kPause,
    kSchedule
  };
  static std::string OpName(Op op);

  std::string AnySpaceName();
  void StartSomething();
  bool StartOther(Pending* pending);
  void StartEnqueue(Pending* pending);
  ModelJob* AddJob(EnqueueRequest* request, bool may_be_unique);
  void Acknowledge(ModelJob* job, JobId id, const Pending& pending);
  void StartLease(Pending* pending);
  bool StartOnJob(Pending* pending, Op op);
  void CollectAnswers();
  void Answered(Pending* pending);
  void AnsweredLease(Pending* pending);
  void AnsweredSettle(Pending* pending);
  // simulation_handling.cc
  bool StartHandling(Pending* pending);
  void AnsweredHandling(Pending* pending);
  bool StartRedrive(Pending* pending);
  void NoteRedrive(const ModelJob* only, bool moves);
  void AnsweredRedrive(Pending* pending);
  bool RedriveAll();
  bool CancelDead();
  void NoteRevoked(ModelJob* job);
  // simulation_purge.cc
  bool StartPurge(Pending* pending);
  bool StartPurgeIds(Pending* pending);
  void AnsweredPurgeIds(Pending* pending);
  void AnsweredPurge(Pending* pending);
  void NoteUnderPurge(ModelJob* job);
  void NoteWindowsPurged(const PurgeRequest& purge, const Pending& pending, uint64_t event);
  bool MayBePurged(const ModelJob& job, const PurgeRequest& purge) const;
  void CheckPurged(const LeasedJob& leased, uint64_t asked_event, const ModelJob* job);

  // A lease claimed then may have been revoked.
  bool RevokedSince(const ModelJob& job, int64_t claimed_ms) const;

  // simulation_extras.cc
  void Decorate(EnqueueRequest* request, ModelJob* job, bool may_be_unique);
  bool AnsweredUnique(const Pending& pending);
  bool MayBeFinished(const ModelJob& job) const;
  bool StartCheckpoint(Pending* pending);
  void AnsweredCheckpoint(Pending* pending);
  void CheckExtras(const LeasedJob& leased, ModelJob* job);
  void PickParents(EnqueueRequest* request, ModelJob* job);
  void CheckParents(ModelJob* job);

  // simulation_group.cc
  bool StartGroup(Pending* pending);
  void AnsweredGroup(Pending* pending);
  void NotDone(Pending* part);
  void SettleGroups();
  void ReadGroup(ModelGroup* group);
  void CheckGroups();

  // simulation_limits.cc
  bool StartLimits(Pending* pending);
  void AnsweredLimits(Pending* pending);
  void HoldLimits(const std::string& queue, const ModelLimits& limits);
  void ForgetLimits(const std::string& queue);
  void CutLimits();
  void SetLimits();
  std::unique_ptr<QueueSetRequest> AnyLimits(const std::string& queue, uint32_t least,
                                             ModelLimits* limits);
  void CheckLimits(const LeasedJob& leased, ModelJob* job, int64_t claimed_ms);
  void CheckRate(const std::string& of, uint32_t rate, uint32_t burst, ModelJob* job,
                 int64_t claimed_ms);

  // simulation_spaces.cc
  bool StartSpace(Pending* pending);
  void AnsweredSpace(Pending* pending);
  std::unique_ptr<SpaceSetRequest> AnySpace(const std::string& queue, const std::string& space,
                                            uint32_t least, ModelSpace* model);
  void HoldSpace(const std::string& queue, const std::string& space, const ModelSpace& model);
  void ForgetSpaces(const std::string& queue);
  void SetSpaces();
  static std::string SpaceName(const std::string& queue, const std::string& space);
  void CheckSpaceLimits(const ModelLimits& limits, ModelJob* job, uint32_t of_space,
                        int64_t claimed_ms);
  bool StartSpaces(Pending* pending, const std::string& queue, const std::string& space);
  void AnsweredSpaces(const Pending& pending);

  // simulation_many.cc
  bool StartMany(Pending* pending);
  std::vector<ModelJob*> AddMany(EnqueueManyRequest* request, ModelGroup* group);
  void AnsweredMany(Pending* pending);
  void Together(ModelGroup* group);
  std::unique_ptr<Request> CompleteSome(Pending* pending, size_t member);
  void AnsweredOneOfMany(const CompleteManyRequest& many, size_t place, Pending* part);

  // simulation_data.cc
  bool StartData(Pending* pending);
  std::unique_ptr<Request> AnySet(const std::string& key, DataValues* after);
  void AnsweredData(const Pending& pending);
  void AnsweredSet(const DataSetRequest& request);
  void AnsweredRange(const Pending& pending);
  void SawData(const std::string& key, const std::optional<std::string>& value);
  void CutData(const Pending& pending, ModelGroup* group);
  void NoteData(const std::string& key, const std::string& what);
  void BrokenData(const std::string& key, const std::string& sentence);

  // simulation_options.cc
  Backoff AnyBackoff();
  bool StartOptions(Pending* pending);
  void AnsweredOptions(Pending* pending);
  bool StartPause(Pending* pending);
  void ForgetOptions(const std::string& queue, bool asked);
  void CutOptions();
  void ResumeAll();
  void SetOrder();
  void CheckDeadMax(const std::string& queue, int64_t dead);
  const ModelOptions* OptionsAt(const std::string& queue, int64_t claimed_ms);
  void CheckGranted(const LeasedJob& leased, ModelJob* job, int64_t claimed_ms);
  void TakeAttempts(ModelJob* job, const Pending& pending);
  void CheckRetry(const Pending& pending, const FailRequest& request, ModelJob* job);
  void Completed(ModelJob* job, const Pending& pending);
  bool MustBeKept(const ModelJob& job) const;
  void CheckResult(const std::string& result, const ModelJob& job);
  void CheckKept(const ModelJob& job);
  static void NoteKept(ModelJob* job, const PurgeRequest& purge);

  // simulation_schedules.cc
  bool StartSchedule(Pending* pending);
  void ChooseTiming(ModelSchedule* schedule);
  static void FillSchedule(const ModelSchedule& schedule, ScheduleRequest* request);
  static std::string PayloadOf(const std::string& name, const ModelSchedule& schedule);
  void AnsweredSchedule(const Pending& pending);
  void Deleted(const std::string& name, ModelSchedule* schedule);
  void CutSchedules();
  ModelJob* SlotJob(JobId id, const std::string& payload);
  void CheckSchedules();
  void CheckSchedule(const std::string& name, ModelSchedule* schedule);
  static void Adopt(const keycodec::ScheduleValue& row, ModelSchedule* schedule);
  void CheckSlots(const std::string& who, const keycodec::ScheduleValue& row,
                  const ModelSchedule& before);
  void CalmSchedules();
  void DeleteSchedules();

  // simulation_replace.cc
  void NoteReplace(ModelJob* job);
  bool MayReplace(const std::string& key) const;
  void NotReplaced(const ModelJob* job, const ModelJob* but);
  void AnsweredReplace(const Pending& pending);
  ModelJob* Resolve(JobId id, const std::string& payload);
  static bool PayloadFits(const ModelJob& job, const std::string& payload);

  // simulation_look.cc
  void Look();
  void LookAt(const std::string& queue);
  void CheckShown(const JobRequest& shown, const std::string& queue, JobState state);
  void CheckState(const JobRequest& shown, ModelJob* job, JobState state);
  void Moved(ModelJob* job, JobId id);
  Stamp StampOf(const ModelJob& job, const JobRequest& shown) const;
  void BeginWalk();
  bool StartPage(Pending* pending);
  void AnsweredPage(const Pending& pending);
  void EndWalk();

  // simulation_time.cc
  int64_t EngineMs() const;
  void TakeClock(bool booted);
  void CheckClock();
  void NoteAnswered(const Pending& pending);
  void BootAfter(Duration down);
  void NoteWallBegins();
  void NoteWallEnds();
  void StepWall();
  int64_t WallPeakMs(uint64_t since_event) const;
  int64_t ClaimedMs(const LeasedJob& leased);
  void CheckAge(const LeasedJob& leased, const ModelJob& job, int64_t claimed_engine_ms);
  void VestsAfter(ModelJob* job, Duration delay);
  void VestsAt(ModelJob* job, WallTime at);
  static void VestsAnyTime(ModelJob* job);
  void CheckTime(const ModelJob& job, int64_t claimed_engine_ms);
  void ExpiresAfter(ModelJob* job, const EnqueueRequest& request);
  void ExpiresAnew(ModelJob* job, Duration later);
  bool MayHaveLapsed(const ModelJob& job) const;
  bool MayBeGone(const ModelJob& job) const;
  void CheckExpiry(const LeasedJob& leased, const ModelJob& job, int64_t claimed_engine_ms);

  void CutOff(Pending* pending);

  // simulation_room.cc
  void GiveUpSomething();
  bool AnsweredFull(Pending* pending);
  void Refused(ModelJob* job);
  void CheckRoom(const ModelJob& job, uint64_t asked_event);
  Backlog MostWanted(const std::string& queue) const;
  void CheckRest();
  void NoRoomLimits();

  void Cut(Pending* pending);
  // simulation_watch.cc
  void Listen();
  void HearEvents();
  void HeardLapse(ModelJob* job);
  bool StartWaitFor(Pending* pending);
  void AnsweredWaitFor(const Pending& pending);
  void CheckSpaces(const LeaseRequest& request);
  void CheckWaits();

  void Delivered(const LeasedJob& job, uint64_t asked_event);
  void CrashSomehow();
  void Reopen(bool booted);
  void Drain();
  void CheckEnd();
  void Broken(const std::string& sentence, const ModelJob* job = nullptr);
  void Note(ModelJob* job, const std::string& what);
  ModelJob* Find(JobId id);
  ModelJob* RandomLeased();

  const SimulationOptions options_;
  SimRandom random_;
  std::unique_ptr<World> world_;
  std::shared_ptr<class EventSubscription> subscription_;
  std::vector<std::unique_ptr<ModelJob>> jobs_;
  std::vector<std::unique_ptr<ModelGroup>> groups_;
  std::map<std::string, ModelJob*> by_payload_;
  std::map<JobId, ModelJob*> by_id_;
  std::deque<std::unique_ptr<Pending>> pending_;
  std::map<std::string, ModelLimits> limits_;
  std::map<std::pair<std::string, std::string>, ModelSpace> spaces_;  // by queue and space
  std::map<std::string, uint64_t> drop_asked_;  // when a DROP last was, by queue
  std::map<std::string, Starts> starts_;
  std::map<std::string, ModelData> data_;
  std::map<std::string, ModelOptions> queue_options_;
  std::map<std::string, keycodec::Order> order_;  // of queues, where it is known
  std::set<std::string> loses_dead_;              // queues that may have dropped dead letters
  bool limits_dead_ = false;
  Duration lease_for_;  // FOR of the LEASE that is being answered
  std::map<std::string, ModelSchedule> schedules_;
  std::map<std::string, Slots> slots_;  // by payload
  std::vector<std::string> closing_;  // payloads of schedules that were deleted since the last look
  std::set<std::string> replacing_;   // unique keys for which a REPLACE is under way
  std::map<JobId, Stamp> shown_;      // at the last look
  Walk walk_;
  uint64_t walks_ = 0;
  std::string broken_;
  uint64_t crashes_ = 0;
  uint64_t deliveries_ = 0;
  uint64_t events_ = 0;  // counts questions and final answers, to order them
  uint64_t history_ = 1469598103934665603ull;
  struct Wall {  // what the wall clock showed from then on, beside boottime
    int64_t from_ms = 0;
    int64_t offset_ms = 0;
  };
  std::vector<Wall> walls_;                          // of this boot
  std::vector<std::pair<uint64_t, int64_t>> peaks_;  // what it had come to at each step, by event
  int64_t engine_offset_ms_ = 0;                     // engine time less boottime
  int64_t answered_ms_ = 0;                          // engine time that a boot may not undercut
  int64_t latest_ms_ = 0;                            // nor exceed
  int64_t stepped_by_ms_ = 0;                        // forward, and not told by an answer since
  uint64_t stepped_event_ = 0;
  bool faults_ = true;
};

}  // namespace vestq
