#include "agent/attempts/order.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace dove::agent {
namespace {

using Json = nlohmann::json;

Json launch(int nodes, const Json& container) {
  Json peers = Json::array();
  for (int i = 0; i < nodes; ++i) {
    peers.push_back({{"node", "n" + std::to_string(i + 1)},
                     {"address", "10.0.0." + std::to_string(i + 1)},
                     {"node_rank", i},
                     {"ranks", {i}}});
  }
  Json exec{{"command", {"true"}}};
  if (!container.is_null()) exec["container"] = container;
  return {{"order", "launch"},
          {"job", 7},
          {"attempt", 1},
          {"placement", {{"node", 1}, {"tasks", {{{"rank", 0}, {"local_rank", 0}}}}}},
          {"placements", peers},
          {"spec", {{"name", "j"}}},
          {"exec", exec}};
}

LaunchOrder read(const Json& line, bool has_network) {
  Result<LaunchOrder> order = read_launch_order(line, has_network);
  EXPECT_TRUE(order.ok()) << order.error().message;
  return order.ok() ? *order : LaunchOrder{};
}

TEST(Order, ContainersOfOneNodeHaveANetworkOfTheirsWhereItIsOffered) {
  const Json image{{"image", "small"}};
  const LaunchOrder own = read(launch(1, image), true);
  EXPECT_TRUE(own.in_network);
  EXPECT_EQ(own.no_network, "");
  EXPECT_EQ(own.nodes[0].address, "100.64.0.16");
  const LaunchOrder nodes = read(launch(1, image), false);
  EXPECT_FALSE(nodes.in_network);
  EXPECT_NE(nodes.no_network, "") << "which becomes a warning";
  EXPECT_EQ(nodes.nodes[0].address, "10.0.0.1");
}

TEST(Order, SeveralNodesHaveTheNetworkThatTheControllerChose) {
  EXPECT_FALSE(read(launch(2, {{"image", "small"}}), true).in_network);
  EXPECT_NE(read(launch(2, {{"image", "small"}}), true).no_network, "");
  EXPECT_TRUE(read(launch(2, {{"image", "small"}, {"network", "gang"}}), false).in_network);
}

TEST(Order, WhoAsksForANetworkHasIt) {
  const LaunchOrder host = read(launch(1, {{"image", "small"}, {"network", "host"}}), true);
  EXPECT_FALSE(host.in_network);
  EXPECT_EQ(host.no_network, "");
  const LaunchOrder gang = read(launch(1, {{"image", "small"}, {"network", "gang"}}), false);
  EXPECT_TRUE(gang.in_network);
  const LaunchOrder process = read(launch(1, nullptr), true);
  EXPECT_FALSE(process.in_network);
  EXPECT_EQ(process.no_network, "");
}

}  // namespace
}  // namespace dove::agent
