#include "devices/huge_pages.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "devices/machine.h"

namespace dove::devices {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kMiB = std::int64_t{1} << 20;
constexpr std::int64_t kGiB = std::int64_t{1} << 30;

// 16 GiB on each of two NUMA nodes.
class PlainHost : public Host {
 public:
  Result<Inventory> inventory() override {
    Inventory found;
    found.memory_bytes = 32 * kGiB;
    found.numa = {NumaNode{{0}, 16 * kGiB}, NumaNode{{1}, 16 * kGiB}};
    found.countables = {{"rdma", 2}};
    return found;
  }
  std::int32_t numa_of(const std::string&) const override { return -1; }
  std::string path(const std::string&, const std::string&) const override { return ""; }
};

class HugePagesTest : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/dove_pages.XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    root_ = name;
  }
  void TearDown() override { fs::remove_all(root_); }

  void set(const fs::path& of, const std::string& size, std::int64_t pages) {
    const fs::path directory = root_ / of / ("hugepages-" + size);
    fs::create_directories(directory);
    std::ofstream(directory / "nr_hugepages") << pages << '\n';
    std::ofstream(directory / "nr_overcommit_hugepages") << 4 << '\n';
  }
  void set_all(const std::string& size, std::int64_t pages) {
    set("kernel/mm/hugepages", size, pages);
  }
  void set_node(int node, const std::string& size, std::int64_t pages) {
    set("devices/system/node/node" + std::to_string(node) + "/hugepages", size, pages);
  }

  fs::path root_;
};

TEST_F(HugePagesTest, AreWhatTheKernelHolds) {
  EXPECT_TRUE(find_huge_pages(root_.string()).offered.empty()) << "a kernel without any";
  set_all("2048kB", 512);
  set_all("1048576kB", 3);
  set_all("64kB", 0);
  set_all("3kB", 5);
  set_all("-2048kB", 5);
  fs::create_directories(root_ / "kernel/mm/hugepages/other");
  set_node(0, "2048kB", 500);
  set_node(10, "2048kB", 12);
  set_node(2, "1048576kB", 3);
  const HugePages found = find_huge_pages(root_.string());
  EXPECT_EQ(found.offered,
            (std::vector<Countable>{{"hugepages-1Gi", 3 * kGiB}, {"hugepages-2Mi", 1024 * kMiB}}));
  EXPECT_EQ(found.node_bytes, (std::vector<std::int64_t>{1000 * kMiB, 3 * kGiB, 24 * kMiB}));
}

TEST_F(HugePagesTest, AreCountedAndNoMemoryForOthers) {
  Machine machine(std::make_unique<PlainHost>(), {}, "", "boot");
  set_all("2048kB", 1024);
  set_node(0, "2048kB", 0);
  set_node(1, "2048kB", 1024);
  EXPECT_EQ(machine.inventory()->countables, (std::vector<Countable>{{"rdma", 2}}));
  machine.look_for_huge_pages(root_.string());
  const auto first = machine.inventory();
  EXPECT_EQ(first->countables, (std::vector<Countable>{{"hugepages-2Mi", 2 * kGiB}, {"rdma", 2}}));
  EXPECT_EQ(first->memory_bytes, 30 * kGiB);
  EXPECT_EQ(first->numa[0].memory_bytes, 16 * kGiB);
  EXPECT_EQ(first->numa[1].memory_bytes, 14 * kGiB);
  machine.look_for_huge_pages(root_.string(), {{"hugepages-2Mi", 512 * kMiB}});
  const auto less = machine.inventory();
  EXPECT_EQ(less->countables,
            (std::vector<Countable>{{"hugepages-2Mi", 1536 * kMiB}, {"rdma", 2}}));
  EXPECT_EQ(less->memory_bytes, 30 * kGiB);
  set_all("2048kB", 100);
  EXPECT_EQ(machine.inventory()->countables, (std::vector<Countable>{{"rdma", 2}}));
  set_all("2048kB", 0);
  set_node(1, "2048kB", 0);
  const auto then = machine.inventory();
  EXPECT_EQ(then->countables, (std::vector<Countable>{{"rdma", 2}}));
  EXPECT_EQ(then->memory_bytes, 32 * kGiB);
}

}  // namespace
}  // namespace dove::devices
