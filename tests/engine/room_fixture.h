// A queue with max-jobs or max-bytes on one core and on several, and ENQUEUEs that wait for room.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/handling_request.h"
#include "engine/purge_request.h"
#include "tests/engine/world_fixture.h"

namespace vestq {

// Parameter: cores.
class Room : public ::testing::TestWithParam<uint16_t> {
 protected:
  Room() : world_(WorldOf(GetParam())) { world_.Open(); }

  // On any core: what they share must hold wherever it is asked.
  uint16_t AnyCore() { return static_cast<uint16_t>(++asked_ % GetParam()); }
  void Set(const Setter<QueueSetRequest>& with) {
    QueueSetRequest request;
    request.queue = "q";
    with(&request);
    world_.Run(&request, AnyCore());
    ASSERT_TRUE(request.error.ok()) << request.error.ToString();
  }
  void MaxJobs(uint64_t most) {
    Set([most](QueueSetRequest* r) { r->set.max_jobs = most; });
  }
  void MaxBytes(uint64_t most) {
    Set([most](QueueSetRequest* r) { r->set.max_bytes = most; });
  }
  void NoLimits() {
    Set([](QueueSetRequest* r) {
      r->unset.max_jobs = 0;
      r->unset.max_bytes = 0;
    });
  }
  Error Enqueue(const Setter<EnqueueRequest>& with = {}) {
    EnqueueRequest request;
    request.queue = "q";
    request.payload = "p";
    if (with) with(&request);
    world_.Run(&request, AnyCore());
    last_ = request.id;
    return request.error;
  }
  static Setter<EnqueueRequest> Bytes(size_t bytes) {
    return [bytes](EnqueueRequest* r) { r->payload.assign(bytes, 'x'); };
  }
  // How many of so many are taken.
  int Fill(int jobs, const Setter<EnqueueRequest>& with = {}) {
    int taken = 0;
    for (int i = 0; i < jobs; ++i) taken += Enqueue(with).ok() ? 1 : 0;
    return taken;
  }
  Error Many(size_t jobs, size_t bytes = 1) {
    EnqueueManyRequest request;
    request.job.queue = "q";
    request.payloads.assign(jobs, std::string(bytes, 'x'));
    world_.Run(&request, AnyCore());
    return request.error;
  }
  std::vector<LeasedJob> Take(uint32_t count = 1000, Duration lease = Duration(0)) {
    return world_.Lease("q", count, lease, AnyCore());
  }
  void Complete(const LeasedJob& job) {
    const Error error = world_.Complete(job.receipt, AnyCore());
    EXPECT_TRUE(error.ok()) << error.ToString();
  }
  void Kill(const LeasedJob& job) {
    FailRequest request;
    request.receipt = job.receipt;
    request.to_dead = true;
    world_.Run(&request, AnyCore());
    EXPECT_TRUE(request.error.ok()) << request.error.ToString();
  }
  uint64_t Purge(const Setter<PurgeRequest>& with = {}) {
    PurgeRequest request;
    request.queue = "q";
    if (with) with(&request);
    world_.Run(&request, AnyCore());
    EXPECT_TRUE(request.error.ok()) << request.error.ToString();
    return request.removed;
  }
  Result<uint64_t> Redrive(const Setter<RedriveRequest>& with = {}) {
    RedriveRequest request;
    request.queue = "q";
    if (with) with(&request);
    world_.Run(&request, AnyCore());
    if (!request.error.ok()) return request.error;
    return request.redriven;
  }
  // BACKLOG-2.
  void ExpectExact(const std::string& queue = "q") {
    const QueueCounts counts = world_.Counts(queue);
    EXPECT_EQ(counts.held_jobs, counts.ready + counts.scheduled + counts.leased + counts.waiting);
    EXPECT_EQ(counts.held_bytes, counts.unfinished_bytes);
  }
  void Restart() {
    world_.Kill();
    EXPECT_THAT(world_.CheckOffline(), ::testing::IsEmpty());
    world_.Open();
    world_.Settle();
    ExpectExact();
  }
  void Pass(Duration time) {
    world_.Advance(time);
    world_.Settle();
  }

  // An ENQUEUE that may wait.
  struct Waiter {
    EnqueueRequest request;
    bool done = false;
    uint16_t core = 0;
    bool refused() const { return done && request.error.code() == ErrorCode::kFull; }
    bool taken() const { return done && request.error.ok(); }
  };
  std::unique_ptr<Waiter> Wait(const Setter<EnqueueRequest>& with = {}, Stream* stream = nullptr) {
    auto waiter = std::make_unique<Waiter>();
    waiter->request.queue = "q";
    waiter->request.payload = "w";
    waiter->request.wait = Seconds(60);
    if (with) with(&waiter->request);
    waiter->core = AnyCore();
    world_.Start(&waiter->request, &waiter->done, waiter->core, stream);
    world_.Settle();
    return waiter;
  }

  World world_;
  uint64_t asked_ = 0;
  JobId last_;
};

}  // namespace vestq
