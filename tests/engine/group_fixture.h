// Building groups, running them in the simulated world, and looking at what they did.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/group_request.h"
#include "engine/handling_request.h"
#include "engine/kv_request.h"
#include "tests/engine/world_fixture.h"

namespace vestq {

// Parameter: cores.
class Group : public ::testing::TestWithParam<int> {
 protected:
  Group() : world_(Options()) { world_.Open(); }

  static WorldOptions Options() { return WorldOf(static_cast<uint16_t>(GetParam()), 8); }
  uint16_t cores() const { return static_cast<uint16_t>(GetParam()); }

  template <typename T>
  static T* Add(GroupRequest* group) {
    group->members.push_back(std::make_unique<T>());
    return static_cast<T*>(group->members.back().get());
  }
  static EnqueueRequest* AddJob(GroupRequest* group, const std::string& queue,
                                const std::string& payload = "p", const std::string& space = "") {
    auto* const job = Add<EnqueueRequest>(group);
    job->queue = queue;
    job->payload = payload;
    job->space = space;
    return job;
  }
  static DataSetRequest* AddSet(GroupRequest* group, const std::string& key,
                                const std::string& value) {
    auto* const set = Add<DataSetRequest>(group);
    set->key = key;
    set->value = value;
    return set;
  }
  static DataGetRequest* AddGet(GroupRequest* group, std::vector<std::string> keys) {
    auto* const get = Add<DataGetRequest>(group);
    get->keys = std::move(keys);
    return get;
  }
  template <typename T>
  static T* AddOf(GroupRequest* group, const Receipt& receipt) {
    auto* const request = Add<T>(group);
    request->receipt = receipt;
    return request;
  }
  void RunGroup(GroupRequest* group, uint16_t core = 0) {
    world_.Run(group, static_cast<uint16_t>(core % cores()));
  }
  // Runs it and says how it ended: "" or "3 LEASELOST the lease ...", the member's place first.
  std::string Outcome(GroupRequest* group, uint16_t core = 0) {
    RunGroup(group, core);
    if (group->error.ok()) return "";
    return (group->failed == GroupRequest::kNone ? "-" : std::to_string(group->failed)) + " " +
           group->error.ToString();
  }
  std::vector<std::string> Values(const DataGetRequest& get) {
    std::vector<std::string> out;
    for (const auto& value : get.values) out.push_back(value ? *value : "(none)");
    return out;
  }
  std::vector<std::string> Get(std::vector<std::string> keys) {
    DataGetRequest get;
    get.keys = std::move(keys);
    world_.Run(&get);
    return Values(get);
  }
  LeasedJob One(const std::string& queue = "q", Duration lease = Seconds(30)) {
    std::vector<LeasedJob> jobs = world_.Lease(queue, 1, lease);
    EXPECT_EQ(jobs.size(), 1u);
    return jobs.empty() ? LeasedJob() : jobs[0];
  }
  // Everything that memory says must be what the disk says.
  void ExpectSound() {
    EXPECT_THAT(world_.discipline_breach(), ::testing::IsEmpty());
    EXPECT_THAT(world_.Violations(), ::testing::IsEmpty());
  }
  void CutAndReopen() {
    world_.PowerCut(CrashMode::kLoseUnsynced);
    world_.Boot(Seconds(1));
    EXPECT_THAT(world_.CheckOffline(), ::testing::IsEmpty());
    world_.Open();
    world_.Settle();
  }

  World world_;
};

}  // namespace vestq
