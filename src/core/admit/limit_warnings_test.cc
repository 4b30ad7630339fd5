#include "core/admit/limit_warnings.h"

#include <gtest/gtest.h>

#include "core/state/cluster_fixture.h"

namespace dove::core {
namespace {

TEST(LimitWarnings, CountRunningJobsThatHaveTheirPoolsLimit) {
  TestCluster cluster(2);
  cluster.submit_and_start({.limit_s = 7200});
  cluster.submit_and_start({});
  cluster.pass(seconds(5000));
  cluster.submit_and_start({}, {2});
  cluster.submit({});
  PoolLimits before = pool_limits(cluster.state);
  EXPECT_EQ(before.size(), 2u);
  EXPECT_TRUE(limit_warnings(cluster.state, before).empty());
  Pool debug;
  debug.name = "debug";
  debug.is_default = true;
  debug.nodes = {"*"};
  debug.time_limit_default = seconds(3600);
  cluster.declare(debug);
  EXPECT_EQ(limit_warnings(cluster.state, before),
            std::vector<std::string>{
                "it changes the time limit of running jobs that have none of their own (2); "
                "those that have run for longer are stopped (1)"});
  before = pool_limits(cluster.state);
  debug.time_limit_default = seconds(7200);
  cluster.declare(debug);
  EXPECT_EQ(limit_warnings(cluster.state, before),
            std::vector<std::string>{
                "it changes the time limit of running jobs that have none of their own (2)"});
}

}  // namespace
}  // namespace dove::core
