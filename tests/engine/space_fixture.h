// Single spaces of a queue, on one core and on several: their options, and what SPACES says of them.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "engine/purge_request.h"
#include "engine/space_request.h"
#include "engine/watch_request.h"
#include "tests/engine/limits_fixture.h"

namespace vestq {

class SpaceLimits : public Limits {
 protected:
  Error TrySet(const std::string& space, const std::function<void(SpaceSetRequest*)>& with) {
    SpaceSetRequest request;
    request.queue = "q";
    request.space = space;
    with(&request);
    world_.Run(&request, AnyCore());
    world_.Settle();
    return request.error;
  }
  void SetSpace(const std::string& space, const std::function<void(SpaceSetRequest*)>& with) {
    const Error error = TrySet(space, with);
    ASSERT_TRUE(error.ok()) << error.ToString();
  }
  void Own(const std::string& space, uint32_t concurrency) {
    SetSpace(space, [=](SpaceSetRequest* r) { r->set.concurrency = concurrency; });
  }
  void OwnRate(const std::string& space, double rate, uint32_t burst = 1) {
    SetSpace(space, [=](SpaceSetRequest* r) {
      r->set.rate_micro = static_cast<uint64_t>(rate * 1e6);
      r->set.burst = burst;
    });
  }
  void Pause(const std::string& space, Duration span = Duration(0)) {
    SetSpace(space, [=](SpaceSetRequest* r) {
      r->pause = true;
      r->pause_for = span;
    });
  }
  void Resume(const std::string& space) {
    SetSpace(space, [](SpaceSetRequest* r) { r->resume = true; });
  }
  void UnsetAll(const std::string& space) {
    SetSpace(space, [](SpaceSetRequest* r) {
      r->unset.concurrency = 0;
      r->unset.rate_micro = 0;
      r->unset.burst = 0;
      r->unset.weight = 0;
      r->resume = true;
    });
  }
  SpacesRequest::Row Info(const std::string& space) {
    SpacesRequest request;
    request.queue = "q";
    request.one_space = true;
    request.space = space;
    world_.Run(&request, AnyCore());
    EXPECT_TRUE(request.error.ok()) << request.error.ToString();
    EXPECT_THAT(request.spaces, ::testing::SizeIs(1));
    return request.spaces[space];
  }
  // All of them, in pages.
  std::vector<std::string> Listed(uint32_t count = 100) {
    std::vector<std::string> out;
    std::string cursor = "0";
    do {
      SpacesRequest request;
      request.queue = "q";
      request.count = count;
      request.cursor = cursor;
      world_.Run(&request, AnyCore());
      EXPECT_TRUE(request.error.ok()) << request.error.ToString();
      EXPECT_LE(request.spaces.size(), count);
      for (const auto& [space, row] : request.spaces) out.push_back(space);
      cursor = request.cursor;
    } while (cursor != "0");
    EXPECT_TRUE(std::is_sorted(out.begin(), out.end()));
    return out;
  }
  bool QueueIsThere() {
    QueueInfoRequest request;
    request.queue = "q";
    world_.Run(&request, AnyCore());
    return request.error.ok();
  }
  std::map<std::string, int> TakenBySpace() {
    std::map<std::string, int> out;
    for (const LeasedJob& job : Take()) ++out[job.space];
    return out;
  }
};

}  // namespace vestq
