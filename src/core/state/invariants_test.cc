#include "core/state/invariants.h"

#include <gtest/gtest.h>

#include "core/state/cluster_fixture.h"

namespace dove::core {
namespace {

class InvariantsTest : public testing::Test {
 protected:
  InvariantsTest() { cluster.submit_and_start({.cores = 2, .gpus = 1}); }
  Node& node() { return *cluster.state.find_node(NodeId(1)); }
  bool holds() { return !find_broken_invariant(cluster.state).has_value(); }

  TestCluster cluster{1, {.gpus = 2}};
};

TEST_F(InvariantsTest, HoldOfWhatTheFoldLeaves) { EXPECT_TRUE(holds()); }

TEST_F(InvariantsTest, ACoreThatIsFreeAndHeldIsFound) {
  node().cores_free.insert(0);
  EXPECT_FALSE(holds());
}

TEST_F(InvariantsTest, ADeviceThatIsFreeAndHeldIsFound) {
  node().device_free_milli[0] = kWholeDevice_milli;
  EXPECT_FALSE(holds());
}

TEST_F(InvariantsTest, AJobThatItsNodeDoesNotKnowIsFound) {
  node().jobs.clear();
  EXPECT_FALSE(holds());
}

TEST_F(InvariantsTest, UsageThatNobodyHoldsIsFound) {
  ++cluster.state.usage.jobs_running;
  EXPECT_FALSE(holds());
}

}  // namespace
}  // namespace dove::core
