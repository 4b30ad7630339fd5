#include "containers/network.h"

#include <gtest/gtest.h>

namespace dove::containers {
namespace {

Network two_nodes() { return {7, {{"a", "10.0.0.1", {0, 1}}, {"b", "10.0.0.2", {2}}}, 0}; }

TEST(Network, EveryTaskHasNamesThatAreTheSameOnAllNodes) {
  Network network = two_nodes();
  const std::string hosts = hosts_text(network);
  EXPECT_EQ(hosts,
            "127.0.0.1 localhost\n::1 localhost\n"
            "100.64.0.16 main1 rank0 a\n100.64.0.17 sub1 rank1\n100.64.0.18 sub2 rank2 b\n");
  network.here = 1;
  EXPECT_EQ(hosts_text(network), hosts);
}

TEST(Network, ANodeIsToldItsOwnAddressesAndWhereTheOthersAre) {
  EXPECT_EQ(network_text(two_nodes()),
            "number 7\nlocal 10.0.0.1\nmac 02:64:64:40:00:10\n"
            "address 100.64.0.16\naddress 100.64.0.17\n"
            "peer 100.64.0.18 10.0.0.2 02:64:64:40:00:12\n");
}

TEST(Network, ASessionsTaskKnowsItsPlace) {
  auto second = session_environment(two_nodes(), 2);
  EXPECT_EQ(second["BACKENDAI_CLUSTER_SIZE"], "3");
  EXPECT_EQ(second["BACKENDAI_CLUSTER_HOST"], "sub2");
  EXPECT_EQ(second["BACKENDAI_CLUSTER_HOSTS"], "main1,sub1,sub2");
  EXPECT_EQ(second["BACKENDAI_CLUSTER_ROLE"], "sub");
  EXPECT_EQ(second["BACKENDAI_CLUSTER_IDX"], "2");
  EXPECT_EQ(second["BACKENDAI_CLUSTER_LOCAL_RANK"], "2");
  EXPECT_EQ(second["BACKENDAI_CLUSTER_REPLICAS"], "main:1,sub:2");
  EXPECT_EQ(session_environment(two_nodes(), 0)["BACKENDAI_CLUSTER_IDX"], "1");
}

TEST(Network, RanksCarryOverIntoHigherBytes) {
  EXPECT_EQ(network_address(239), "100.64.0.255");
  EXPECT_EQ(network_address(240), "100.64.1.0");
  EXPECT_EQ(network_address(kNetworkRanks_max - 1), "100.96.0.15");
}

}  // namespace
}  // namespace dove::containers
