// Runs the simulation over seeds. A failure prints the command that replays it.
//
//   VESTQ_SIM_SEED=n    only this seed       VESTQ_SIM_SEEDS=n   how many, from seed 1 (or from the given one)
//   VESTQ_SIM_STEPS=n   steps of a run
#include "tests/sim/simulation.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

namespace vestq {
namespace {

uint64_t FromEnvironment(const char* name, uint64_t fallback) {
  const char* const text = std::getenv(name);
  return text == nullptr || *text == '\0' ? fallback : std::strtoull(text, nullptr, 10);
}

std::string Replay(uint64_t seed, size_t steps, const char* test) {
  return "replay with: VESTQ_SIM_SEED=" + std::to_string(seed) +
         " VESTQ_SIM_STEPS=" + std::to_string(steps) +
         " ./build/<preset>/tests/simulation_test --gtest_filter=" + test;
}

TEST(SimulationTest, NothingIsLostOverRandomJobsCrashesAndClocks) {
  const bool one = std::getenv("VESTQ_SIM_SEED") != nullptr;
  const uint64_t first = FromEnvironment("VESTQ_SIM_SEED", 1);
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
  constexpr uint64_t kSeeds = 12;
#else
  constexpr uint64_t kSeeds = 60;
#endif
  const uint64_t seeds = FromEnvironment("VESTQ_SIM_SEEDS", one ? 1 : kSeeds);
  uint64_t crashes = 0, deliveries = 0;
  for (uint64_t seed = first; seed < first + seeds; ++seed) {
    SimulationOptions options;
    options.seed = seed;
    options.steps = static_cast<size_t>(FromEnvironment("VESTQ_SIM_STEPS", 4000));
    Simulation simulation(options);
    const std::string broken = simulation.Run();
    ASSERT_EQ(broken, "") << Replay(seed, options.steps, "SimulationTest.NothingIsLost*");
    crashes += simulation.crashes();
    deliveries += simulation.deliveries();
  }
  std::printf("%llu seeds, %llu crashes, %llu deliveries\n", static_cast<unsigned long long>(seeds),
              static_cast<unsigned long long>(crashes),
              static_cast<unsigned long long>(deliveries));
  if (!one) {
    EXPECT_GT(crashes, seeds);
    EXPECT_GT(deliveries, 50 * seeds);
  }
}

TEST(SimulationTest, TheSameSeedIsTheSameHistory) {
  for (uint64_t seed : {3u, 4u, 5u}) {
    SimulationOptions options;
    options.seed = seed;
    options.steps = 2000;
    uint64_t fingerprints[2];
    for (uint64_t& fingerprint : fingerprints) {
      Simulation simulation(options);
      ASSERT_EQ(simulation.Run(), "");
      fingerprint = simulation.fingerprint();
    }
    EXPECT_EQ(fingerprints[0], fingerprints[1]) << "seed " << seed;
  }
}

// The checker can fail: answers that leave before the sync are found.
TEST(SimulationTest, AnswersBeforeTheSyncAreFound) {
  uint64_t found = 0;
  for (uint64_t seed = 1; seed <= 30 && found == 0; ++seed) {
    SimulationOptions options;
    options.seed = seed;
    options.plant_answer_before_sync = true;
    Simulation simulation(options);
    const std::string broken = simulation.Run();
    if (!broken.empty()) {
      found = seed;
      std::printf("found with seed %llu: %s\n", static_cast<unsigned long long>(seed),
                  broken.c_str());
    }
  }
  EXPECT_GT(found, 0u) << "30 seeds did not find the planted bug";
}

}  // namespace
}  // namespace vestq
