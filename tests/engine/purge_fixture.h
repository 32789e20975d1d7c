// What the tests of PURGE and QUEUE DROP share: a queue `q` on several cores.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "engine/purge_request.h"
#include "tests/engine/world_fixture.h"

namespace vestq {

inline constexpr uint16_t kCores = 3;

inline WorldOptions Options(uint64_t seed = 1) { return WorldOf(kCores, 7, seed); }

class QueueOnCores : public ::testing::Test {
 protected:
  QueueOnCores() : world_(Options()) { world_.Open(); }

  JobId Put(const std::function<void(EnqueueRequest*)>& set = [](EnqueueRequest*) {}) {
    EnqueueRequest request;
    request.queue = "q";
    request.payload = "payload";
    set(&request);
    world_.Run(&request, static_cast<uint16_t>(++puts_ % kCores));
    EXPECT_TRUE(request.error.ok()) << request.error.text();
    added_ = request.added;
    return request.id;
  }
  // They died by `why`: what became of the job that they waited for.
  void ExpectDead(const std::vector<JobId>& children, const std::string& why) {
    for (const JobId child : children) {
      JobRequest job;
      job.id = child;
      world_.Run(&job);
      EXPECT_EQ(job.state, JobState::kDead);
      EXPECT_THAT(job.reason, ::testing::HasSubstr("which it waited for, " + why));
    }
  }
  // Nothing is wrong, and nothing is left to erase.
  void ExpectClean() {
    world_.Settle();
    EXPECT_THAT(world_.Violations(), ::testing::IsEmpty());
    EXPECT_EQ(world_.last_report().void_keys, 0u);
    EXPECT_EQ(world_.discipline_breach(), "");
  }

  World world_;
  Error error_;
  bool added_ = true;
  uint64_t puts_ = 0;
};

}  // namespace vestq
