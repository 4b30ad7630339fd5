#include "core/place/candidates.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "core/queue/policies_fixture.h"
#include "core/state/cluster_fixture.h"

namespace dove::core {
namespace {

TEST(Candidates, FeaturesAndNamesDecideWhichNodesAreAllowed) {
  TestCluster cluster(2);
  NodeDeclaration fast;
  fast.name = "n1";
  fast.features = {"fast"};
  cluster.declare(fast);
  JobSpec spec = spec_of({});
  EXPECT_TRUE(allows(spec, cluster.node(2)));
  spec.features = {"fast"};
  EXPECT_TRUE(allows(spec, cluster.node(1)));
  EXPECT_FALSE(allows(spec, cluster.node(2)));
  spec.nodes_excluded = {"n[1-3]"};
  EXPECT_FALSE(allows(spec, cluster.node(1)));
}

TEST(Candidates, OneOfSeveralFeaturesIsEnough) {
  TestCluster cluster(3);
  for (const auto& [name, features] :
       std::map<std::string, std::vector<std::string>>{{"n1", {"a100", "ib"}}, {"n2", {"h100"}}}) {
    NodeDeclaration node;
    node.name = name;
    node.features = features;
    cluster.declare(node);
  }
  JobSpec spec = spec_of({});
  spec.features = {"h100|a100"};
  EXPECT_TRUE(allows(spec, cluster.node(1)));
  EXPECT_TRUE(allows(spec, cluster.node(2)));
  EXPECT_FALSE(allows(spec, cluster.node(3)));
  spec.features.push_back("ib|nvlink");
  EXPECT_TRUE(allows(spec, cluster.node(1)));
  EXPECT_FALSE(allows(spec, cluster.node(2)));
}

TEST(Candidates, AnExecutorThatDoesNotAnswerMayDoSoAgain) {
  TestCluster cluster(2);
  cluster.declare(Executor{"slurm", "", {"n1"}, true, {}});
  JobSpec spec = spec_of({});
  spec.executor = "slurm";
  EXPECT_FALSE(allows(spec, cluster.node(1)));
  EXPECT_TRUE(may_allow(spec, cluster.node(1)));
  EXPECT_FALSE(may_allow(spec, cluster.node(2))) << "it does not have that one";
  cluster.tell(ExecutorContactChanged{"slurm", ExecutorContact::kAnswering, ""});
  EXPECT_TRUE(allows(spec, cluster.node(1)));
  cluster.tell(ExecutorNodeObserved{"slurm", NodeId(1), ExecutorNodeState::kDown, "", {}});
  EXPECT_FALSE(may_allow(spec, cluster.node(1)));
}

TEST(Candidates, LabelsOfOneUserDrawNearAndKeepApart) {
  TestCluster cluster(2);
  JobSpec server = spec_of({});
  server.label = "db";
  const JobId id = cluster.submit(server);
  cluster.launch(id, {1});
  JobSpec near = spec_of({});
  near.near_labels = {"db"};
  EXPECT_TRUE(labels_allow(near, cluster.node(1), cluster.state.jobs));
  EXPECT_FALSE(labels_allow(near, cluster.node(2), cluster.state.jobs));
  JobSpec apart = spec_of({});
  apart.apart_labels = {"db"};
  EXPECT_FALSE(labels_allow(apart, cluster.node(1), cluster.state.jobs));
  apart.user = "bob";  // labels are the user's own
  EXPECT_TRUE(labels_allow(apart, cluster.node(1), cluster.state.jobs));
}

TEST(Candidates, ANodeCanHelpWhenItHasRoomForOneTask) {
  TestCluster cluster(1, {.cores = 2});
  EXPECT_TRUE(could_help(cluster.node(1), FirstFit(), spec_of({.cores = 2, .tasks = 8})));
  EXPECT_FALSE(could_help(cluster.node(1), FirstFit(), spec_of({.cores = 3})));
}

TEST(Candidates, NoRoomLastsUntilSomethingIsFreedForPlainJobsOnly) {
  EXPECT_TRUE(search_is_monotone(spec_of({.gpus = 1, .tasks = 4})));
  JobSpec near = spec_of({});
  near.near_labels = {"db"};  // a job that starts may open the way
  EXPECT_FALSE(search_is_monotone(near));
  JobSpec sbatch = spec_of({.tasks = 2});
  sbatch.groups[0].per_node.gpus = 2;
  EXPECT_TRUE(search_is_monotone(sbatch)) << "--gpus-per-node=2";
  sbatch.groups[0].per_task.gpus = 1;  // which devices the node's part leaves to them is a choice
  EXPECT_FALSE(search_is_monotone(sbatch));
}

}  // namespace
}  // namespace dove::core
