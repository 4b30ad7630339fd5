#include "core/preempt/victim_limits.h"

#include <gtest/gtest.h>

#include "core/state/cluster_fixture.h"

namespace dove::core {
namespace {

class VictimLimitsTest : public testing::Test {
 protected:
  VictimLimitsTest() {
    UserLimit limit;
    limit.name = "ann";
    limit.limits.gpus_milli = 2000;
    cluster.declare(limit);
    mine = cluster.submit_and_start({.gpus = 2});
    others = cluster.submit_and_start({.gpus = 1, .user = "bob"});
    waiting = cluster.submit({.gpus = 1});
  }
  VictimLimits limits(std::span<const JobId> stopping = {}) {
    const Job& job = cluster.job(waiting);
    return {cluster.state, job, least_amount(*job.spec), stopping};
  }

  TestCluster cluster{1, {.cores = 8, .gpus = 4}};
  JobId mine, others, waiting;
};

TEST_F(VictimLimitsTest, AreMetWhenAJobOfTheSameUserIsGone) {
  VictimLimits it = limits();
  EXPECT_TRUE(it.could_hold());
  EXPECT_FALSE(it.hold());
  EXPECT_FALSE(it.lose(cluster.job(others)));
  EXPECT_TRUE(it.lose(cluster.job(mine)));
  EXPECT_TRUE(it.hold());
  it.regain(cluster.job(mine));
  EXPECT_FALSE(it.hold());
}

TEST_F(VictimLimitsTest, WhatIsBeingStoppedIsGoneAlready) {
  const std::vector<JobId> stopping = {mine};
  EXPECT_TRUE(limits(stopping).hold());
}

}  // namespace
}  // namespace dove::core
