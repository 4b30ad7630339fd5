#include "cli/slurm/node_json.h"

#include <gtest/gtest.h>

namespace dove::cli {
namespace {

NodeView node() {
  NodeView node;
  node.name = "n1";
  node.state = "ready";
  node.cores = node.cores_free = 8;
  node.memory_bytes = node.memory_free_bytes = 4LL << 30;
  node.gpus = 2;
  node.gpus_free_milli = 2000;
  return node;
}

nlohmann::json shown(const NodeView& node) {
  return nodes_json({{node.name, {node, {"main", "night"}}}})["nodes"][0];
}

TEST(NodeJson, OneThatIsInUse) {
  NodeView used = node();
  used.cores_free = 5;
  used.memory_free_bytes = 1LL << 30;
  used.gpus_free_milli = 1500;  // half of one is shared
  const nlohmann::json json = shown(used);
  EXPECT_EQ(json["state"], "mixed");
  EXPECT_EQ(json["alloc_cpus"], 3);
  EXPECT_EQ(json["idle_cpus"], 5);
  EXPECT_EQ(json["alloc_memory"], 3072);
  EXPECT_EQ(json["gres"], "gpu:2");
  EXPECT_EQ(json["gres_used"], "gpu:1");
  EXPECT_EQ(json["tres"], "cpu=8,mem=4096M,gres/gpu=2");
  EXPECT_EQ(json["tres_used"], "cpu=3,mem=3072M,gres/gpu=1");
  EXPECT_EQ(json["partitions"], (std::vector<std::string>{"main", "night"}));
}

TEST(NodeJson, StatesAreSlurmsWordsAndFlags) {
  EXPECT_EQ(shown(node())["state"], "idle");
  NodeView full = node();
  full.cores_free = 0;
  EXPECT_EQ(shown(full)["state"], "allocated");
  NodeView draining = full;
  draining.state = "draining";
  draining.drain_reason = "bad fan";
  EXPECT_EQ(shown(draining)["state"], "allocated");
  EXPECT_EQ(shown(draining)["state_flags"], (std::vector<std::string>{"DRAIN"}));
  EXPECT_EQ(shown(draining)["reason"], "bad fan");
  NodeView lost = node();
  lost.state = "lost";
  EXPECT_EQ(shown(lost)["state"], "down");
  EXPECT_EQ(shown(lost)["state_flags"], (std::vector<std::string>{"NOT_RESPONDING"}));
}

}  // namespace
}  // namespace dove::cli
