#include "core/place/node_shape.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "core/state/cluster_fixture.h"

namespace dove::core {
namespace {

constexpr std::int64_t kGiB = std::int64_t{1} << 30;

// sbatch --gres=gpu:G --mem=M GiB -c C, as jobfiles reads it: per node but the cores.
JobSpec sbatch_job(std::int32_t gpus, std::int32_t cores, std::int64_t memory_gib = 0) {
  JobSpec spec = spec_of({.cores = cores});
  spec.groups[0].per_node.gpus = gpus;
  spec.groups[0].per_node.memory_bytes = memory_gib * kGiB;
  return spec;
}

TEST(NodeShape, WhatIsAskedForTheNodeAndForItsTaskIsOne) {
  const JobSpec spec = sbatch_job(1, 8, 16);
  const NodeShape shape = node_shape(spec.groups[0]);
  EXPECT_TRUE(scored_shape(spec));
  EXPECT_EQ(shape.nodes, 1);
  EXPECT_EQ(shape.cores, 8);
  EXPECT_EQ(shape.gpus, 1);
  EXPECT_EQ(shape.memory_bytes, 16 * kGiB);
  // sbatch --gpus-per-task=1 --mem=8G: some of it is the task's, some the node's.
  JobSpec mixed = spec_of({.cores = 2, .gpus = 1});
  mixed.groups[0].per_node.memory_bytes = 8 * kGiB;
  EXPECT_TRUE(scored_shape(mixed));
  EXPECT_EQ(node_shape(mixed.groups[0]).memory_bytes, 8 * kGiB);
}

TEST(NodeShape, TasksThatAreBoundToOneNodeAreAsOne) {
  JobSpec spec = spec_of({.cores = 2, .gpus = 1, .tasks = 8});
  TaskGroup& group = spec.groups[0];
  group.nodes_max = 1;
  EXPECT_TRUE(scored_shape(spec));
  EXPECT_EQ(node_shape(group).nodes, 1);
  EXPECT_EQ(node_shape(group).gpus, 8);
  EXPECT_EQ(node_shape(group).cores, 16);
}

TEST(NodeShape, GangsWithANumberOfTasksForEachNodeAreThatManyNodes) {
  JobSpec spec = sbatch_job(8, 4);
  TaskGroup& group = spec.groups[0];
  group.tasks = 32;
  group.nodes_min = group.nodes_max = 4;
  EXPECT_TRUE(scored_shape(spec));
  EXPECT_EQ(node_shape(group).nodes, 4);
  EXPECT_EQ(node_shape(group).gpus, 8);
  EXPECT_EQ(node_shape(group).cores, 32);
  group.nodes_min = group.nodes_max = 0;
  group.tasks_per_node = 16;
  EXPECT_EQ(node_shape(group).nodes, 2);
  group.tasks_per_node = 20;
  EXPECT_FALSE(scored_shape(spec)) << "twelve are left over";
  group.tasks_per_node = 0;
  group.nodes_min = 2;
  group.nodes_max = 4;
  EXPECT_EQ(scored_shape(spec)->nodes, 2) << "two to four";
  EXPECT_EQ(node_shape(group).nodes, 2) << "at least";
  EXPECT_EQ(node_shape(group).gpus, 8);
}

TEST(NodeShape, WhereTheSplitIsFreeTasksAreExpectedAloneAndScoredTogether) {
  JobSpec spec = spec_of({.cores = 2, .gpus = 1, .tasks = 8});
  TaskGroup& group = spec.groups[0];
  EXPECT_EQ(node_shape(group).nodes, 8);
  EXPECT_EQ(node_shape(group).gpus, 1);
  EXPECT_EQ(scored_shape(spec)->nodes, 1);
  EXPECT_EQ(scored_shape(spec)->gpus, 8);
  EXPECT_EQ(scored_shape(spec)->cores, 16);
  group.nodes_min = 2;
  EXPECT_EQ(scored_shape(spec)->nodes, 2);
  EXPECT_EQ(scored_shape(spec)->gpus, 4);
  group.nodes_min = 3;
  EXPECT_FALSE(scored_shape(spec)) << "nodes of three and of two";
  group.nodes_min = 0;
  spec.spread = Spread::kSpread;
  EXPECT_EQ(scored_shape(spec)->nodes, 8) << "as many as possible";
  group.nodes_max = 4;
  EXPECT_EQ(scored_shape(spec)->nodes, 4);
  EXPECT_EQ(scored_shape(spec)->tasks, 2);
}

TEST(NodeShape, SeveralSharesAreExpectedAloneAndScoredTogether) {
  JobSpec spec = spec_of({.cores = 1});
  TaskGroup& group = spec.groups[0];
  group.per_task.share_milli = 500;
  EXPECT_EQ(scored_shape(spec)->shares, 1);
  group.tasks = group.tasks_per_node = 2;
  EXPECT_EQ(scored_shape(spec)->nodes, 1);
  EXPECT_EQ(scored_shape(spec)->shares, 2);
  EXPECT_EQ(node_shape(group).nodes, 2);
  EXPECT_EQ(node_shape(group).shares, 1);
  EXPECT_EQ(node_shape(group).share_milli, 500);
  group.tasks = group.tasks_per_node = 17;
  EXPECT_FALSE(scored_shape(spec)) << "too many to look at one by one";
  group.tasks = group.tasks_per_node = 1;
  group.per_node.gpus = 1;
  EXPECT_FALSE(scored_shape(spec));
}

TEST(NodeShape, SlicesOfOneProfileAddUpOverTasks) {
  JobSpec spec = spec_of({.cores = 1, .tasks = 2});
  TaskGroup& group = spec.groups[0];
  group.tasks_per_node = 2;
  group.per_task.slice = "1g.10gb";
  group.per_task.slices = 3;
  EXPECT_TRUE(scored_shape(spec));
  EXPECT_EQ(node_shape(group).slices, 6);
  EXPECT_FALSE(node_shape(group).has_devices()) << "the mix leaves them out";
  group.per_node.slice = "1g.10gb";
  group.per_node.slices = 1;
  EXPECT_FALSE(scored_shape(spec));
}

TEST(NodeShape, DevicesOfOneKindAddUp) {
  JobSpec spec = spec_of({.cores = 1, .gpus = 1, .tasks = 2});
  TaskGroup& group = spec.groups[0];
  group.tasks_per_node = 2;
  group.per_node.gpus = 1;
  EXPECT_TRUE(scored_shape(spec));
  EXPECT_EQ(node_shape(group).gpus, 3);
  group.per_node.gpu_model = "H200";
  EXPECT_FALSE(scored_shape(spec)) << "the node's may be others than the tasks'";
  EXPECT_EQ(node_shape(group).gpus, 2);
}

TEST(NodeShape, WhatANodeIsAskedForByItselfLeavesTheShapeAsItIs) {
  JobSpec spec = sbatch_job(1, 1);
  spec.groups[0].per_node.countables = {{"rdma", 2}};
  spec.features = {"ib"};
  spec.nodes_excluded = {"n1"};
  const auto shape = scored_shape(spec);
  ASSERT_TRUE(shape);
  EXPECT_EQ(shape->gpus, 1);
  EXPECT_EQ(shape->nodes, 1);
}

TEST(NodeShape, NodesThatDependOnOneAnotherAreForTheSearch) {
  JobSpec pair = sbatch_job(1, 1);
  pair.groups[0].tasks = pair.groups[0].nodes_min = pair.groups[0].nodes_max = 2;
  ASSERT_TRUE(scored_shape(pair));
  JobSpec same = pair;
  same.features = {"[r1|r2]"};
  EXPECT_FALSE(scored_shape(same)) << "all in one rack";
  JobSpec listed = pair;
  listed.nodes_wanted = {"n1"};
  EXPECT_FALSE(scored_shape(listed)) << "n1 and any other";
  JobSpec alone = sbatch_job(1, 1);
  alone.exclusive = true;
  EXPECT_FALSE(scored_shape(alone));
}

}  // namespace
}  // namespace dove::core
