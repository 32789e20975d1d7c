// A queue with limits on one core and on several, and LEASEs that wait for it.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tests/engine/world_fixture.h"

namespace vestq {

// Parameter: as CoresOf.
class Limits : public ::testing::TestWithParam<uint16_t> {
 protected:
  Limits() : world_(WorldOfParam(GetParam(), 4)) { world_.Open(); }

  void Set(const std::function<void(QueueSetRequest*)>& with) {
    QueueSetRequest request;
    request.queue = "q";
    with(&request);
    world_.Run(&request, AnyCore());
    ASSERT_TRUE(request.error.ok()) << request.error.ToString();
    world_.Settle();
  }
  void Concurrency(uint32_t limit) {
    Set([limit](QueueSetRequest* r) { r->set.concurrency = limit; });
  }
  void SpaceConcurrency(uint32_t limit) {
    Set([limit](QueueSetRequest* r) { r->set.space_concurrency = limit; });
  }
  void Rate(double rate, uint32_t burst = 1) {
    Set([=](QueueSetRequest* r) {
      r->set.rate_micro = static_cast<uint64_t>(rate * 1e6);
      r->set.burst = burst;
    });
  }
  void NoLimits() {
    Set([](QueueSetRequest* r) {
      r->unset.concurrency = 0;
      r->unset.space_concurrency = 0;
      r->unset.rate_micro = 0;
    });
  }
  // On any core: what they share must hold wherever it is asked.
  uint16_t AnyCore() { return static_cast<uint16_t>(++asked_ % CoresOf(GetParam())); }
  void Enqueue(int jobs, const std::string& space = "") {
    for (int i = 0; i < jobs; ++i) {
      EnqueueRequest request;
      request.queue = "q";
      request.space = space;
      request.payload = "p";
      world_.Run(&request, AnyCore());
      ASSERT_TRUE(request.error.ok()) << request.error.ToString();
    }
    world_.Settle();
  }
  // As many as there are to be had.
  std::vector<LeasedJob> Take(uint32_t count = 1000, Duration lease = Duration(0)) {
    LeaseRequest request;
    request.queues = {"q"};
    request.count = count;
    request.lease = lease;
    world_.Run(&request, AnyCore());
    EXPECT_TRUE(request.error.ok()) << request.error.ToString();
    world_.Settle();
    return std::move(request.jobs);
  }
  void Complete(const LeasedJob& job) {
    CompleteRequest request;
    request.receipt = job.receipt;
    world_.Run(&request, AnyCore());
    EXPECT_TRUE(request.error.ok()) << request.error.ToString();
    world_.Settle();
  }
  void Restart() {
    world_.Kill();
    EXPECT_THAT(world_.CheckOffline(), ::testing::IsEmpty());
    world_.Open();
    world_.Settle();
  }
  // A LEASE that waits, of one space or of all.
  struct Waiter {
    LeaseRequest request;
    bool done = false;
    uint16_t core = 0;
  };
  std::unique_ptr<Waiter> Wait(std::optional<std::string> space = std::nullopt,
                               Duration block = Duration(0)) {
    auto waiter = std::make_unique<Waiter>();
    waiter->request.queues = {"q"};
    waiter->request.wait = true;
    waiter->request.block = block;
    waiter->request.one_space = space.has_value();
    waiter->request.space = space.value_or("");
    waiter->core = AnyCore();
    world_.Start(&waiter->request, &waiter->done, waiter->core);
    world_.Settle();
    return waiter;
  }
  void GiveUp(Waiter* waiter) {
    world_.core(waiter->core)->Abandon(&waiter->request);
    world_.Settle();
    ASSERT_TRUE(waiter->done);
  }
  void Pass(Duration time) {
    world_.Advance(time);
    world_.Settle();
  }

  // Without limits any more: all these jobs run, and nothing is left.
  void Finish(std::map<JobId, std::string>* todo) {
    Pass(Seconds(31));
    for (const LeasedJob& job : Take()) {
      EXPECT_EQ(todo->erase(job.receipt.id), 1u);
      Complete(job);
    }
    EXPECT_THAT(*todo, ::testing::IsEmpty());
    EXPECT_EQ(world_.Counts("q").leased, 0);
    EXPECT_THAT(world_.Violations(), ::testing::IsEmpty());
  }

  World world_;
  uint64_t asked_ = 0;
};

}  // namespace vestq
