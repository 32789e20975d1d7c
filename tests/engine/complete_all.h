// Leasing and completing very many jobs in few steps of the world.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tests/sim/world.h"

namespace vestq {

// Leases and completes so many jobs of the queue, up to a thousand at once. REQUIRES: they are there.
inline void CompleteAll(World* world, const std::string& queue, size_t jobs,
                        const std::string& result = "") {
  constexpr size_t kAtOnce = 1000;
  while (jobs > 0) {
    const auto leased = world->Lease(queue, static_cast<uint32_t>(std::min(jobs, kAtOnce)));
    ASSERT_FALSE(leased.empty());
    jobs -= leased.size();
    std::vector<std::unique_ptr<CompleteRequest>> ends;
    const auto done = std::make_unique<bool[]>(leased.size());
    for (size_t i = 0; i < leased.size(); ++i) {
      ends.push_back(std::make_unique<CompleteRequest>());
      ends[i]->receipt = leased[i].receipt;
      ends[i]->result = result;
      world->Start(ends[i].get(), &done[i]);
    }
    world->Settle();
    for (size_t i = 0; i < ends.size(); ++i) ASSERT_TRUE(done[i] && ends[i]->error.ok());
  }
}

}  // namespace vestq
