#include "agent/containers/container_network.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <set>

namespace dove::agent {
namespace {

namespace fs = std::filesystem;

LaunchOrder gang(std::vector<std::pair<std::string, std::vector<Rank>>> nodes) {
  LaunchOrder order;
  order.key = {JobId(41), 1};
  for (auto& [underlay, ranks] : nodes) {
    PeerNode peer;
    peer.name = "n" + std::to_string(order.nodes.size() + 1);
    peer.underlay = underlay;
    peer.ranks = ranks;
    order.nodes.push_back(std::move(peer));
  }
  return order;
}

TEST(ContainerNetwork, FollowsFromTheOrderOnEveryNode) {
  const LaunchOrder order = gang({{"10.0.0.1", {0, 1}}, {"10.0.0.2", {2}}});
  const auto first = network_of(order, "n1");
  const auto second = network_of(order, "n2");
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_EQ((*first)->number, 42u);
  EXPECT_EQ((*second)->number, 42u);
  EXPECT_EQ((*first)->here, 0u);
  EXPECT_EQ((*second)->here, 1u);
  EXPECT_EQ(containers::hosts_text(**first), containers::hosts_text(**second));
}

TEST(ContainerNetwork, NodesWithoutAddressesOfTheirOwnAreRefused) {
  const auto why = [](const LaunchOrder& order) {
    const auto network = network_of(order, "n1");
    return network.ok() ? "" : network.error().message;
  };
  EXPECT_NE(why(gang({{"10.0.0.1", {0}}, {"10.0.0.1", {1}}})).find("another node"),
            std::string::npos);
  EXPECT_NE(why(gang({{"10.0.0.1", {0}}, {"gpu-2", {1}}})).find("'gpu-2'"), std::string::npos);
  EXPECT_EQ(why(gang({{"localhost", {0, 1}}})), "") << "one node needs no address";
}

class NetworksTest : public testing::Test {
 protected:
  NetworksTest() { fs::remove_all(directory); }
  ~NetworksTest() override { fs::remove_all(directory); }
  std::set<std::string> files() const {
    std::set<std::string> names;
    for (const auto& entry : fs::directory_iterator(directory)) {
      names.insert(entry.path().filename().string());
    }
    return names;
  }
  const std::string directory = testing::TempDir() + "networks." + std::to_string(getpid());
  const containers::Network network = {7, {{"a", "10.0.0.1", {0}}}, 0};
};

TEST_F(NetworksTest, OneIsRemovedWithItsLastUser) {
  ContainerNetworks networks(directory);
  networks.use("n/1.1");
  networks.use("n/1.1");
  ASSERT_TRUE(networks.describe("n/1.1", network, "way dv-\n").ok());
  EXPECT_TRUE(networks.is_there("n/1.1"));
  networks.release("n/1.1");
  EXPECT_TRUE(networks.is_there("n/1.1"));
  networks.release("n/1.1");
  EXPECT_EQ(files(), std::set<std::string>{});
}

TEST_F(NetworksTest, WhatNobodyNeedsIsSwept) {
  {
    ContainerNetworks former(directory);
    for (const char* attempt : {"n.1.1", "n.2.1"}) {
      former.use(attempt);
      ASSERT_TRUE(former.describe(attempt, network, "").ok());
    }
    std::ofstream(directory + "/n.2.1.ns").close();
    std::ofstream(directory + "/n.3.1.new").close();
  }
  EXPECT_EQ(files().size(), 4u) << "an agent that ends leaves them to its tasks";
  ContainerNetworks networks(directory);
  networks.sweep([](const std::string& attempt) { return attempt == "n.1.1"; });
  EXPECT_EQ(files(), std::set<std::string>{"n.1.1"});
}

}  // namespace
}  // namespace dove::agent
