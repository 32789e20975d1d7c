// What most tests of the engine begin with: a world of some cores and lanes, and a job in its queue `q`.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>

#include "tests/sim/world.h"

namespace vestq {

inline WorldOptions WorldOf(uint16_t cores, uint16_t lanes = 7, uint64_t seed = 1) {
  WorldOptions options;
  options.cores = cores;
  options.lanes = lanes;
  options.seed = seed;
  return options;
}

// A test's parameter: so many cores; kFewSpaces more: also with room for two spaces a core, so that ready jobs
// of others are found in the store (engine/core_hidden.cc).
inline constexpr uint16_t kFewSpaces = 100;
inline uint16_t CoresOf(uint16_t param) { return param % kFewSpaces; }
inline WorldOptions WorldOfParam(uint16_t param, uint16_t lanes = 7, uint64_t seed = 1) {
  WorldOptions options = WorldOf(CoresOf(param), lanes, seed);
  if (param >= kFewSpaces) options.space_memory = uint64_t{1800} * options.cores;
  return options;
}

// Sets the rest of a request.
template <typename T>
using Setter = std::function<void(T*)>;

// Enqueues a job, asked for at that core, and expects that it is taken.
inline JobId PutJob(World* world, const Setter<EnqueueRequest>& set = {}, uint16_t core = 1) {
  EnqueueRequest request;
  request.queue = "q";
  request.payload = "p";
  if (set) set(&request);
  world->Run(&request, core);
  EXPECT_TRUE(request.error.ok()) << request.error.ToString();
  return request.id;
}

// That many steps, then a kill (even seeds) or a power cut, the offline check, and a start with another number
// of cores.
inline void CrashAndOpen(World* world, uint64_t seed, uint64_t steps) {
  for (uint64_t step = 0; step < steps; ++step) world->Step();
  if (seed % 2 == 0) {
    world->Kill();
  } else {
    world->PowerCut(CrashMode::kTorn);
    world->Boot(Seconds(1));
  }
  EXPECT_THAT(world->CheckOffline(), ::testing::IsEmpty()) << seed;
  world->set_cores(static_cast<uint16_t>(1 + seed % 3));
  world->Open();
}

}  // namespace vestq
