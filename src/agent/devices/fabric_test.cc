#include "agent/devices/fabric.h"

#include <gtest/gtest.h>

namespace dove::agent {
namespace {

using Names = std::map<std::string, std::string>;

// Four GPUs and four cards, two of each on a socket; card 3 is for storage.
class FabricOfTwoSockets : public testing::Test {
 protected:
  FabricOfTwoSockets() {
    for (std::int32_t i = 0; i < 4; ++i) {
      inventory_.devices.push_back({"gpu", "nvidia", "H100", "", 80, i / 2});
      devices::Card card;
      card.name = "mlx5_" + std::to_string(i);
      card.numa_node = i / 2;
      card.is_active = true;
      card.interfaces = {"ib" + std::to_string(i)};
      fabric_.cards.push_back(card);
    }
    fabric_.paths = {{"PIX", "NODE", "SYS", "SYS"},
                     {"NODE", "PXB", "SYS", "SYS"},
                     {"SYS", "SYS", "PIX", "NODE"},
                     {"SYS", "SYS", "NODE", "PIX"}};
    planes_.storage = {"ib3"};
  }

  Names environment(const std::vector<DeviceGrant>& grants, bool has_peers = true) const {
    return fabric_environment(fabric_, planes_, inventory_, grants, has_peers);
  }

  Inventory inventory_;
  devices::Fabric fabric_;
  Planes planes_;
};

TEST_F(FabricOfTwoSockets, EachDeviceGetsTheNearestCard) {
  const Names near = environment({{0, 1000, {}}, {1, 1000, {}}});
  EXPECT_EQ(near.at("NCCL_IB_HCA"), "=mlx5_0:1,mlx5_1:1");
  EXPECT_EQ(near.at("UCX_NET_DEVICES"), "mlx5_0:1,mlx5_1:1");
  EXPECT_EQ(near.at("NCCL_NET_GDR_LEVEL"), "PXB");
  EXPECT_EQ(environment({{2, 1000, {}}}).at("NCCL_IB_HCA"), "=mlx5_2:1");
}

TEST_F(FabricOfTwoSockets, AnotherPlanesCardIsLeftAlone) {
  const Names other = environment({{3, 1000, {}}});
  EXPECT_EQ(other.at("NCCL_IB_HCA"), "=mlx5_2:1");
  EXPECT_EQ(other.at("DOVE_PLANE_STORAGE"), "ib3");
  planes_.gpu = {"mlx5_1"};
  EXPECT_EQ(environment({{3, 1000, {}}}).at("NCCL_IB_HCA"), "=mlx5_1:1");
  EXPECT_EQ(environment({{3, 1000, {}}}).at("NCCL_NET_GDR_LEVEL"), "PHB") << "not across sockets";
}

TEST_F(FabricOfTwoSockets, TheCardsOfAnAttemptAreItsOwnAndTheNearestOnesComeFirst) {
  const std::vector<DeviceGrant> third = {{2, 1000, {}}};
  const std::vector<std::string> order = cards_by_distance(fabric_, planes_, inventory_, third);
  EXPECT_EQ(order, (std::vector<std::string>{"mlx5_2", "mlx5_0", "mlx5_1"})) << "3 is for storage";
  const std::vector<std::string> own = {"mlx5_1"};
  const Names e = fabric_environment(fabric_, planes_, inventory_, third, true, &own);
  EXPECT_EQ(e.at("NCCL_IB_HCA"), "=mlx5_1:1") << "the nearer ones are others'";
  EXPECT_EQ(e.at("DOVE_NICS"), "mlx5_1");
}

TEST_F(FabricOfTwoSockets, ACardThatIsDownIsNotUsed) {
  fabric_.cards[0].is_active = false;
  EXPECT_EQ(environment({{0, 1000, {}}}).at("NCCL_IB_HCA"), "=mlx5_1:1");
}

TEST_F(FabricOfTwoSockets, WhereNoPathIsKnownSocketsDecide) {
  fabric_.paths.clear();
  EXPECT_EQ(environment({{1, 1000, {}}}).at("NCCL_IB_HCA"), "=mlx5_0:1,mlx5_1:1");
}

TEST_F(FabricOfTwoSockets, AloneOnItsNodeItNeedsNoCard) {
  EXPECT_EQ(environment({{0, 1000, {}}}, false), (Names{{"DOVE_PLANE_STORAGE", "ib3"}}));
}

TEST(Fabric, WithoutCardsInterfacesAreUsed) {
  Planes planes;
  planes.user = {"eth0"};
  planes.gpu = {"eth1"};
  const Names e = fabric_environment({}, planes, {}, {}, true);
  EXPECT_EQ(e.at("NCCL_IB_DISABLE"), "1");
  EXPECT_EQ(e.at("NCCL_SOCKET_IFNAME"), "=eth1");
  EXPECT_EQ(e.at("GLOO_SOCKET_IFNAME"), "eth1");
}

TEST(Fabric, PlanesAreReadOrRefused) {
  const Result<Planes> planes = parse_planes("user=eth0,storage=ib4,gpu=ib0+ib1");
  ASSERT_TRUE(planes.ok());
  EXPECT_EQ(planes->gpu, (std::vector<std::string>{"ib0", "ib1"}));
  EXPECT_TRUE(parse_planes("").ok());
  for (const char* bad : {"ib0", "gpu=", "gpu=ib0,gpu=ib1", "disk=ib0", "gpu=ib0;rm", "gpu=+"}) {
    EXPECT_FALSE(parse_planes(bad).ok()) << bad;
  }
}

}  // namespace
}  // namespace dove::agent
