// The relay machine under all that may happen to it, over many seeds
// (outbox_relay_sim_fixture.hpp).
#include <gtest/gtest.h>

#include <cstdlib>

#include "machines/outbox_relay_sim_fixture.hpp"

namespace drom {
namespace {

using sim::Bug;
using sim::Simulation;

constexpr uint64_t kSeedsOfAShard = 500;
constexpr uint64_t kRepeatEvery = 100;
constexpr int kSeedsToSeeABug = 200;
constexpr uint64_t kRegressions[] = {1};  // seeds that once failed

bool passes(uint64_t seed) {
  Simulation simulation(seed);
  const std::vector<std::string> problems = simulation.run();
  for (const std::string& text : problems)
    ADD_FAILURE() << text << "\nreplay: DROM_SIM_SEED=" << seed
                  << " machines_test --gtest_filter='OutboxRelaySimulation.Replay'";
  if (seed % kRepeatEvery == 0) {
    Simulation again(seed);
    again.run();
    EXPECT_EQ(again.trace(), simulation.trace()) << "seed " << seed << " is not repeatable";
  }
  return !::testing::Test::HasFailure();
}

TEST(OutboxRelaySimulation, Replay) {
  for (const uint64_t seed : kRegressions) passes(seed);
  if (const char* seed = std::getenv("DROM_SIM_SEED")) passes(std::strtoull(seed, nullptr, 10));
}

class OutboxRelaySimulationShard : public ::testing::TestWithParam<uint64_t> {};

TEST_P(OutboxRelaySimulationShard, LosesNothingAndKeepsKeysInOrder) {
  const uint64_t first = GetParam() * kSeedsOfAShard + 1;
  for (uint64_t seed = first; seed < first + kSeedsOfAShard; ++seed)
    if (!passes(seed)) break;
}
INSTANTIATE_TEST_SUITE_P(Seeds, OutboxRelaySimulationShard, ::testing::Range<uint64_t>(0, 10));

TEST(OutboxRelaySimulation, MeetsEveryKindOfTrouble) {
  Simulation::Tally all;
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    Simulation simulation(seed);
    simulation.run();
    const Simulation::Tally& one = simulation.tally();
    all.rows += one.rows;
    all.twice += one.twice;
    all.died += one.died;
    all.parked += one.parked;
    all.purged += one.purged;
    all.stale += one.stale;
    all.expired += one.expired;
    all.orderings.insert(one.orderings.begin(), one.orderings.end());
    all.drift = std::max(all.drift, one.drift);
  }
  EXPECT_GT(all.rows, 2000u);
  EXPECT_GT(all.twice, 0u);
  EXPECT_GT(all.died, 0u);
  EXPECT_GT(all.parked, 0u);
  EXPECT_GT(all.purged, 0u);
  EXPECT_GT(all.stale, 0u);
  EXPECT_GT(all.expired, 0u);
  EXPECT_EQ(all.orderings.size(), 3u);
  EXPECT_EQ(all.drift, sim::kDriftMax);
}

class OutboxRelayPlantedBug : public ::testing::TestWithParam<Bug> {};

TEST_P(OutboxRelayPlantedBug, IsSeen) {
  std::vector<std::string> seen;
  for (uint64_t seed = 1; seed <= kSeedsToSeeABug && seen.empty(); ++seed)
    seen = Simulation(seed, GetParam()).run();
  EXPECT_FALSE(seen.empty());
  if (!seen.empty()) RecordProperty("seen", seen.front());
}
INSTANTIATE_TEST_SUITE_P(Bugs, OutboxRelayPlantedBug,
                         ::testing::Values(Bug::no_fencing, Bug::cursor_by_id, Bug::unordered_retry,
                                           Bug::mark_before_publish, Bug::drop_on_nack,
                                           Bug::lost_last_batch, Bug::purge_unsent,
                                           Bug::total_by_key, Bug::expiry_unread,
                                           Bug::wild_clocks));

}  // namespace
}  // namespace drom
