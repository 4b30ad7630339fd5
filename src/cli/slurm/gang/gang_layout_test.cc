#include "cli/slurm/gang/gang_layout.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace dove::cli {
namespace {

using nlohmann::json;

// Three nodes of four CPUs: two tasks, two and one.
const std::vector<NodeInSlurm> kNodes{
    {"n0", "a0", "70", 2, 4}, {"n1", "a1", "71", 2, 4}, {"n2", "a2", "72", 1, 4}};

// "n0:2 n1:2", or the error.
std::string laid_out(const json& sizes, const std::vector<std::int64_t>& loads = {0, 0, 0}) {
  std::vector<NodeInSlurm> nodes = kNodes;
  for (std::size_t i = 0; i < nodes.size(); ++i) nodes[i].load = loads[i];
  const Result<std::vector<NodeTasks>> layout = gang_layout(sizes, nodes);
  if (!layout.ok()) return layout.error().message;
  std::string text;
  std::int32_t rank = 0;
  for (const NodeTasks& part : *layout) {
    EXPECT_EQ(part.first_rank, rank) << "ranks fill one node after the other";
    rank += part.tasks;
    text += (text.empty() ? "" : " ") + kNodes[part.node].name + ":" + std::to_string(part.tasks);
  }
  return text;
}

TEST(GangLayout, WhatIsNotSaidIsTheJobs) {
  EXPECT_EQ(laid_out(json::object()), "n0:2 n1:2 n2:1");
  EXPECT_EQ(laid_out({{"tasks", 5}}), "n0:2 n1:2 n2:1");
  EXPECT_EQ(laid_out({{"nodes", 2}}), "n0:2 n1:2");
  EXPECT_EQ(laid_out({{"tasks_per_node", 1}}), "n0:1 n1:1 n2:1");
}

TEST(GangLayout, EachNodeHasATaskThenTheFirstAreFilled) {
  EXPECT_EQ(laid_out({{"tasks", 1}}), "n0:1");
  EXPECT_EQ(laid_out({{"tasks", 2}}), "n0:1 n1:1");
  EXPECT_EQ(laid_out({{"tasks", 7}}), "n0:4 n1:2 n2:1");
  EXPECT_EQ(laid_out({{"tasks", 7}, {"cores_per_task", 2}}), "n0:3 n1:2 n2:2");
  EXPECT_EQ(laid_out({{"tasks", 14}}), "n0:5 n1:5 n2:4") << "more than there is room for";
}

TEST(GangLayout, AStepOfFewNodesGetsThoseWithTheLeastLoad) {
  EXPECT_EQ(laid_out({{"nodes", 1}, {"tasks", 1}}, {1, 0, 0}), "n1:1");
  EXPECT_EQ(laid_out({{"tasks", 1}}, {2, 2, 1}), "n2:1");
  EXPECT_EQ(laid_out({{"tasks", 2}}, {2, 3, 1}), "n0:1 n2:1") << "ranks follow the nodes' order";
  EXPECT_EQ(laid_out({{"tasks", 5}}, {2, 3, 1}), "n0:2 n1:2 n2:1") << "it takes all";
  EXPECT_EQ(laid_out({{"tasks", 1}, {"nodelist", {"n0", "n1"}}}, {1, 0, 0}), "n0:1") << "named";
  EXPECT_EQ(laid_out({{"tasks", 1}, {"relative", 1}}, {0, 1, 0}), "n1:1") << "named";
  EXPECT_EQ(laid_out({{"tasks", 1}, {"exclude", {"n1"}}}, {1, 0, 0}), "n2:1");
}

TEST(GangLayout, NodesAreChosenAmongThoseOfTheJob) {
  EXPECT_EQ(laid_out({{"nodelist", {"n2", "n0"}}}), "n0:2 n2:1");
  EXPECT_EQ(laid_out({{"exclude", {"n1"}}, {"tasks", 2}}), "n0:1 n2:1");
  EXPECT_EQ(laid_out({{"relative", 1}}), "n1:2 n2:1");
}

TEST(GangLayout, WhatTheJobDoesNotHaveIsRefused) {
  EXPECT_NE(laid_out({{"nodes", 4}}).find("asks for 4 nodes"), std::string::npos);
  EXPECT_NE(laid_out({{"relative", 3}}).find("may use 0"), std::string::npos);
  EXPECT_NE(laid_out({{"nodelist", {"n9"}}}).find("\"n9\" is no node"), std::string::npos);
  EXPECT_NE(laid_out({{"tasks", 9}, {"tasks_per_node", 2}}).find("9 tasks"), std::string::npos);
}

}  // namespace
}  // namespace dove::cli
