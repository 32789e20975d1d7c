// What the tests of AFTER share: jobs that wait for others, on one and several cores.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tests/engine/world_fixture.h"

namespace vestq {

class After : public ::testing::TestWithParam<uint16_t> {
 protected:
  After() : world_(Cores(GetParam())) { world_.Open(); }

  static WorldOptions Cores(uint16_t cores) { return WorldOf(cores); }
  uint16_t Any() { return static_cast<uint16_t>(turn_++ % GetParam()); }
  JobId Put(const std::string& queue, const std::vector<JobId>& after = {},
            const std::function<void(EnqueueRequest*)>& set = {}) {
    EnqueueRequest request;
    request.queue = queue;
    request.payload = "x";
    request.after = after;
    if (set) set(&request);
    world_.Run(&request, Any());
    error_ = request.error;
    added_ = request.added;
    holder_ = request.holder_state;
    return request.id;
  }
  Receipt Take(const std::string& queue) {
    const auto jobs = world_.Lease(queue, 1, Duration(0), Any());
    return jobs.empty() ? Receipt{} : jobs[0].receipt;
  }
  void Finish(const std::string& queue) {
    EXPECT_TRUE(world_.Complete(Take(queue), Any()).ok());
    world_.Settle();
  }
  void Cancel(JobId id) {
    CancelRequest cancel;
    cancel.id = id;
    world_.Run(&cancel, Any());
    EXPECT_TRUE(cancel.cancelled);
    world_.Settle();
  }
  void FailDead(const Receipt& receipt) {
    FailRequest fail;
    fail.receipt = receipt;
    fail.to_dead = true;
    fail.reason = "bad";
    world_.Run(&fail, Any());
    EXPECT_TRUE(fail.dead);
    world_.Settle();
  }
  uint64_t Redrive(JobId id, const std::string& queue, const std::string& to = "") {
    RedriveRequest redrive;
    redrive.queue = queue;
    redrive.id = id;
    redrive.to = to;
    world_.Run(&redrive, Any());
    error_ = redrive.error;
    return redrive.redriven;
  }
  JobRequest& Job(JobId id) {
    job_ = std::make_unique<JobRequest>();
    job_->id = id;
    world_.Run(job_.get(), Any());
    return *job_;
  }
  JobState State(JobId id) { return Job(id).state; }
  void ExpectSound() {
    EXPECT_THAT(world_.Violations(), ::testing::IsEmpty());
    EXPECT_EQ(world_.discipline_breach(), "");
  }
  void ExpectNoEdges() {
    ExpectSound();
    EXPECT_EQ(world_.last_report().edges, 0u);
  }

  World world_;
  Error error_;
  bool added_ = false;
  JobState holder_ = JobState::kGone;
  size_t turn_ = 0;
  std::unique_ptr<JobRequest> job_;
};

}  // namespace vestq
