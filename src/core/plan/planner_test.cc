#include "core/plan/planner.h"

#include <gtest/gtest.h>

#include "core/place/pools_fixture.h"

namespace dove::core {
namespace {

class PlannerTest : public testing::Test {
 protected:
  std::optional<Planned> find(JobId id) {
    pools = pool_indexes(cluster.state);
    return Planner(cluster.state, plan, first_fit, pools).find(cluster.job(id));
  }
  Instant gone(JobId id) { return places_free_at(cluster.state, cluster.job(id)); }

  TestCluster cluster{2, {.gpus = 4}};
  FirstFit first_fit;
  Plan plan;
  PoolIndexes pools;
};

TEST_F(PlannerTest, WhatHasRoomStartsNow) {
  const auto found = find(cluster.submit({.gpus = 4}));
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->start_at, cluster.state.now);
}

TEST_F(PlannerTest, ElseWhenTheFirstNodeHasRoom) {
  cluster.submit_and_start({.gpus = 4, .limit_s = 900}, {1});
  const JobId sooner = cluster.submit_and_start({.gpus = 4, .limit_s = 100}, {2});
  const auto found = find(cluster.submit({.gpus = 1}));
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->start_at, gone(sooner));
  EXPECT_EQ(found->placements.front().node, NodeId(2));
}

TEST_F(PlannerTest, WhatAnExecutorRunsIsPlannedOnWhatItIsLent) {
  Executor slurm{"slurm", "", {"n[1-2]"}, true, {}};
  slurm.runs_jobs = true;
  slurm.lendable = {{{"n[1-2]"}, {2}, -1, -1}};
  cluster.declare(slurm);
  cluster.tell(ExecutorContactChanged{"slurm", ExecutorContact::kAnswering, ""});
  for (const std::uint32_t node : {1, 2}) {
    cluster.submit_and_start({.gpus = 4, .limit_s = 100 * node}, {node});
  }
  JobSpec spec = spec_of({.gpus = 1});
  spec.executor = "slurm";
  const auto found = find(cluster.submit(spec));
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->placements.front().devices.at(0).device, 2);
  spec.groups[0].per_task.gpus = 2;
  EXPECT_FALSE(find(cluster.submit(spec)).has_value()) << "no node lends it two";
}

TEST_F(PlannerTest, AGangWaitsForTheLastOfItsNodes) {
  const JobId later = cluster.submit_and_start({.gpus = 1, .limit_s = 900}, {1});
  cluster.submit_and_start({.gpus = 1, .limit_s = 100}, {2});
  JobSpec gang = spec_of({.gpus = 4, .tasks = 2});
  gang.groups[0].tasks_per_node = 1;
  const auto found = find(cluster.submit(gang));
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->start_at, gone(later));
  EXPECT_EQ(found->placements.size(), 2u);
}

TEST_F(PlannerTest, ThereIsNoPlanBesideJobsWithoutAnEnd) {
  cluster.submit_and_start({.gpus = 1}, {1});
  cluster.submit_and_start({.gpus = 1}, {2});
  EXPECT_FALSE(find(cluster.submit({.gpus = 4})).has_value());
}

TEST_F(PlannerTest, NorByADeadlineThatComesBefore) {
  cluster.submit_and_start({.gpus = 4, .limit_s = 900}, {1});
  cluster.submit_and_start({.gpus = 4, .limit_s = 900}, {2});
  JobSpec spec = spec_of({.gpus = 1, .limit_s = 10});
  spec.deadline = cluster.state.now + seconds(500);
  EXPECT_FALSE(find(cluster.submit(spec)).has_value());
}

TEST_F(PlannerTest, WhatAPreemptedJobHasSavedNeedNotFitBeforeItsDeadline) {
  cluster.submit_and_start({.gpus = 4, .limit_s = 900}, {2});
  JobSpec spec = spec_of({.gpus = 4, .limit_s = 6000, .preempt = Preempt::kCheckpoint});
  spec.deadline = cluster.state.now + seconds(8000);
  const JobId job = cluster.submit(spec);
  cluster.launch(job);
  cluster.start(job);
  cluster.pass(seconds(5000));
  cluster.decided(Stop{job, 1, StopReason::kPreempted, Purpose::kStarvation, {}});
  cluster.leave(job);
  cluster.decided(Requeue{job, StopReason::kPreempted});
  EXPECT_TRUE(find(job).has_value()) << "1000 s are left to do";
}

// Both list one node: for a gang of two it is one of them, for a single task the only one. What was
// learned about the nodes of the first was once used for the second, whose promise the next pass
// withdrew, without an end.
TEST_F(PlannerTest, AListOfSomeNodesIsNotAListOfAllOfThem) {
  cluster.submit_and_start({.gpus = 4, .limit_s = 100}, {1});
  const JobId later = cluster.submit_and_start({.gpus = 4, .limit_s = 900}, {2});
  JobSpec gang = spec_of({.gpus = 1, .tasks = 2});
  gang.nodes_wanted = {cluster.node(2).name};
  gang.groups[0].nodes_min = 2;
  gang.groups[0].nodes_max = 2;
  JobSpec single = spec_of({.gpus = 1});
  single.nodes_wanted = gang.nodes_wanted;
  const JobId both = cluster.submit(gang);
  const JobId one = cluster.submit(single);
  pools = pool_indexes(cluster.state);
  Planner planner(cluster.state, plan, first_fit, pools);
  ASSERT_TRUE(planner.find(cluster.job(both)).has_value());
  const auto found = planner.find(cluster.job(one));
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->placements.front().node, NodeId(2));
  EXPECT_EQ(found->start_at, gone(later));
}

}  // namespace
}  // namespace dove::core
