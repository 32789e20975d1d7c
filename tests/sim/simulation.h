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
#include <string>
#include <utility>
#include <vector>

#include "engine/purge_request.h"
#include "engine/space_request.h"
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
    int64_t from_boot = 0;  // they hold for claims after that
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
    kSpaces
  };
  static std::string OpName(Op op);

  void StartSomething();
  void StartEnqueue(Pending* pending);
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
  void NoteRedrive(bool moves);
  bool RedriveAll();
  bool CancelDead();
  void NoteRevoked(ModelJob* job);
  // simulation_purge.cc
  bool StartPurge(Pending* pending);
  void AnsweredPurge(Pending* pending);
  void NoteUnderPurge(ModelJob* job);
  void NoteWindowsPurged(const PurgeRequest& purge, const Pending& pending, uint64_t event);
  bool MayBePurged(const ModelJob& job, const PurgeRequest& purge) const;
  void CheckPurged(const LeasedJob& leased, uint64_t asked_event, const ModelJob* job);

  // A lease claimed then may have been revoked.
  bool RevokedSince(const ModelJob& job, int64_t claimed_ms) const;

  // simulation_extras.cc
  void Decorate(EnqueueRequest* request, ModelJob* job);
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

  void Cut(Pending* pending);
  // simulation_watch.cc
  void Listen();
  void HearEvents();
  bool StartWaitFor(Pending* pending);
  void AnsweredWaitFor(const Pending& pending);
  void CheckSpaces(const LeaseRequest& request);
  void CheckWaits();

  void Delivered(const LeasedJob& job, uint64_t asked_event);
  void CrashSomehow();
  void Reopen();
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
  std::string broken_;
  uint64_t crashes_ = 0;
  uint64_t deliveries_ = 0;
  uint64_t events_ = 0;  // counts questions and final answers, to order them
  uint64_t history_ = 1469598103934665603ull;
  bool faults_ = true;
};

}  // namespace vestq
