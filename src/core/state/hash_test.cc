#include "core/state/hash.h"

#include <gtest/gtest.h>

#include "core/state/cluster_fixture.h"

namespace dove::core {
namespace {

TEST(StateHash, EqualHistoriesAreEqual) {
  TestCluster one(2, {.gpus = 1});
  TestCluster other(2, {.gpus = 1});
  one.submit_and_start({.gpus = 1});
  EXPECT_NE(state_hash(one.state), state_hash(other.state));
  other.submit_and_start({.gpus = 1});
  EXPECT_EQ(state_hash(one.state), state_hash(other.state));
}

TEST(StateHash, ACopyIsEqualAndWhatIsDerivedDoesNotCount) {
  TestCluster cluster(1);
  cluster.submit();
  State copy = cluster.state;
  copy.changes.follow();
  copy.changes.touch(JobId(1));
  EXPECT_EQ(state_hash(copy), state_hash(cluster.state));
}

TEST(StateHash, WhatAJobHoldsCounts) {
  TestCluster cluster(1);
  const JobId job = cluster.submit();
  const std::uint64_t before = state_hash(cluster.state);
  cluster.tell(JobHeld{job});
  const std::uint64_t held = state_hash(cluster.state);
  EXPECT_NE(held, before);
}

TEST(StateHash, WhatAFormerProgramHashedIsKnownAndIgnoresNewFields) {
  TestCluster cluster(1);
  cluster.state.reservations["spares"].spares_for = 1;
  const std::uint64_t former = state_hash(cluster.state, 1);
  EXPECT_NE(former, state_hash(cluster.state));
  EXPECT_TRUE(has_state_hash(cluster.state, former));
  EXPECT_TRUE(has_state_hash(cluster.state, state_hash(cluster.state)));
  EXPECT_FALSE(has_state_hash(cluster.state, former + 1));
  cluster.state.reservations["spares"].spares_for = 2;
  EXPECT_EQ(state_hash(cluster.state, 1), former);
}

}  // namespace
}  // namespace dove::core
