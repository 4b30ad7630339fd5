#include "devices/cards.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace dove::devices {
namespace {

namespace fs = std::filesystem;

class Cards : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/dove_cards.XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    root_ = name;
  }
  void TearDown() override { fs::remove_all(root_); }

  void write(const fs::path& path, const std::string& text) {
    fs::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text << '\n';
  }
  // As the kernel lays it out: the card's `device` is a link into the tree of PCI.
  void add_card(const std::string& name, const std::string& bus_id, const std::string& state,
                const std::string& layer, const std::string& interface, const std::string& verbs) {
    const fs::path device = fs::path("devices/pci0000:00") / bus_id;
    const fs::path card = fs::path("class/infiniband") / name;
    write(device / "numa_node", "1");
    fs::create_directories(root_ / device / "net" / interface);
    fs::create_directories(root_ / device / "infiniband_verbs" / verbs);
    write(card / "ports/1/state", state);
    write(card / "ports/1/link_layer", layer);
    fs::create_directory_symlink(root_ / device, root_ / card / "device");
  }

  fs::path root_;
};

TEST_F(Cards, AreWhatTheKernelLists) {
  add_card("mlx5_1", "0000:3b:00.0", "1: DOWN", "Ethernet", "eth1", "uverbs1");
  add_card("mlx5_0", "0000:18:00.0", "4: ACTIVE", "InfiniBand", "ib0", "uverbs0");
  const std::vector<Card> cards = find_cards(root_.string());
  ASSERT_EQ(cards.size(), 2u);
  const Card first{"mlx5_0", "0000:18:00.0", 1,       1,
                   true,     true,           {"ib0"}, {"/dev/infiniband/uverbs0"}};
  EXPECT_EQ(cards[0], first);
  EXPECT_EQ(cards[1].name, "mlx5_1");
  EXPECT_FALSE(cards[1].is_active);
  EXPECT_FALSE(cards[1].is_infiniband);
}

TEST_F(Cards, TheDriverOfDirectStorageHasFiles) {
  EXPECT_TRUE(find_direct_storage(root_.string()).empty());
  write("devices/virtual/nvidia-fs-class/nvidia-fs1/dev", "501:1");
  write("devices/virtual/nvidia-fs-class/nvidia-fs0/dev", "501:0");
  write("devices/virtual/net/lo/mtu", "65536");
  EXPECT_EQ(find_direct_storage(root_.string()),
            (std::vector<std::string>{"/dev/nvidia-fs0", "/dev/nvidia-fs1"}));
}

TEST_F(Cards, NoneIsNoError) { EXPECT_TRUE(find_cards(root_.string()).empty()); }

}  // namespace
}  // namespace dove::devices
