// The end of a simulation: no more faults, everything comes out, and nothing is left (SIM-1, SIM-8).
#include "tests/sim/simulation.h"
#include "tests/sim/simulation_model.h"

namespace vestq {

// Faults have stopped: everything must come out.
void Simulation::Drain() {
  world_->Settle();
  CollectAnswers();
  DeleteSchedules();
  // As far as the wall clock ever has been: whatever is to run at a time comes to it.
  NoteWallEnds();
  world_->StepWall(Milliseconds(WallPeakMs(0) - world_->clock().wall_ms) + Seconds(30));
  NoteWallBegins();
  SetLimits();
  ResumeAll();
  lease_for_ = Seconds(30);
  int idle = 0;
  for (int round = 0; round < 2000 && idle < 3 && broken_.empty(); ++round) {
    bool any = false;
    for (const char* queue : kAllQueues) {
      for (;;) {
        auto leased = world_->Lease(queue, 50, Seconds(30),
                                    static_cast<uint16_t>(random_.Below(world_->options().cores)));
        CollectAnswers();
        lease_for_ = Seconds(30);
        if (leased.empty() || !broken_.empty()) break;
        any = true;
        for (const LeasedJob& job : leased) {
          Delivered(job, ++events_);
          if (!broken_.empty()) return;
          const Error error = world_->Complete(job.receipt);
          if (!error.ok()) return Broken("SIM-5: a fresh receipt was refused: " + error.ToString());
          ModelJob* const model = Find(job.receipt.id);
          model->gone = true;
          model->gone_event = ++events_;
          model->has_lease = false;
        }
      }
    }
    world_->Advance(any ? Seconds(1) : Hours(13));  // the longest back-off
    world_->Settle();
    CollectAnswers();
    if (broken_.empty()) CheckRest();
    idle = any ? 0 : idle + 1;
    // Nothing is left but dead letters: they come out as well, one after the other where they share a
    // unique key.
    if (idle == 3 && RedriveAll()) idle = 0;
  }
  if (idle < 3) Broken("SIM-8: the queues do not drain");
}

void Simulation::CheckEnd() {
  CheckWaits();
  for (const char* queue : kAllQueues) {
    const QueueCounts counts = world_->Counts(queue);
    if (counts.ready != 0 || counts.scheduled != 0 || counts.leased != 0 || counts.dead != 0 ||
        counts.waiting != 0 || counts.bytes != 0) {
      return Broken(std::string("SIM-8: after the drain ") + queue + " counts " +
                    std::to_string(counts.ready) + " ready, " + std::to_string(counts.scheduled) +
                    " scheduled, " + std::to_string(counts.leased) + " leased, " +
                    std::to_string(counts.dead) + " dead, " + std::to_string(counts.waiting) +
                    " waiting, " + std::to_string(counts.bytes) + " bytes");
    }
  }
  for (const auto& job : jobs_) {
    if (!job->acknowledged || MayBeGone(*job)) continue;
    const JobState state = world_->State(job->id);
    return Broken("SIM-1: job " + std::to_string(job->id.value()) +
                      " was acknowledged and never came out; its state is " +
                      std::string(JobStateName(state)),
                  job.get());
  }
  CheckGroups();
  for (const std::string& violation : world_->Violations()) return Broken("SIM-8: " + violation);
}

}  // namespace vestq
