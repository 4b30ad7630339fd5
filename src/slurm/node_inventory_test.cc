#include "slurm/node_inventory.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace dove::slurm {
namespace {

TEST(NodeInventory, AModelIsItsTypeWithoutTheNumber) {
  EXPECT_EQ(model_of("h200_3"), "h200");
  EXPECT_EQ(model_of("h200"), "h200");
  EXPECT_EQ(model_of("mi300_x"), "mi300_x");
  EXPECT_EQ(model_of("_1"), "_1");
  EXPECT_EQ(model_of("a_"), "a_");
  EXPECT_EQ(model_of(""), "");
}

TEST(NodeInventory, CoresAreNumberedThroughTheSockets) {
  NodeSeen node;
  node.sockets = 2;
  node.cores_per_socket = 3;
  node.memory_bytes = 64;
  node.device_types = {"h200_0", "h200_1"};
  const nlohmann::json inventory = inventory_json(node);
  EXPECT_EQ(inventory.at("memory_bytes"), 64);
  ASSERT_EQ(inventory.at("numa").size(), 2u);
  EXPECT_EQ(inventory.at("numa").at(1).at("cores"), nlohmann::json({3, 4, 5}));
  EXPECT_EQ(inventory.at("numa").at(1).at("memory_bytes"), 32);
  ASSERT_EQ(inventory.at("devices").size(), 2u);
  EXPECT_EQ(inventory.at("devices").at(1).at("model"), "h200");
  EXPECT_EQ(inventory.at("devices").at(1).at("numa_node"), -1);
}

// `CoreSpecCount=3` of a real Slurm 22.05 with these sockets: CPUSpecList=3,6-7.
TEST(NodeInventory, CoresThatAreSetAsideAreNoJobs) {
  NodeSeen node;
  node.sockets = 2;
  node.cores_per_socket = 4;
  node.cores_set_aside = 3;
  const nlohmann::json numa = inventory_json(node).at("numa");
  EXPECT_EQ(numa.at(0).at("cores"), nlohmann::json({0, 1, 2}));
  EXPECT_EQ(numa.at(1).at("cores"), nlohmann::json({4, 5}));
}

}  // namespace
}  // namespace dove::slurm
