#include "devices/emulated/inventory_file.h"

#include <gtest/gtest.h>

namespace dove::devices::emulated {
namespace {

TEST(InventoryFile, ReadsNumaDevicesLinksAndCountables) {
  const auto found = parse_inventory(R"(
numa: [{cores: 0-3, memory: 8Gi}, {cores: "4-7", memory: 8Gi}]
devices:
  - {count: 2, model: H200, memory: 141Gi, numa_node: 1}
links: [{devices: [0, 1], kind: NV18}]
countables: {rdma: 2, hugepages-2Mi: 1Gi}
)",
                                     "lab.yaml");
  ASSERT_TRUE(found.ok()) << found.error().message;
  EXPECT_EQ(found->numa[1].cores, (CoreSet{4, 5, 6, 7}));
  EXPECT_EQ(found->memory_bytes, std::int64_t{16} << 30);
  ASSERT_EQ(found->devices.size(), 2u);
  EXPECT_EQ(found->devices[1].numa_node, 1);
  EXPECT_EQ(found->devices[1].memory_bytes, std::int64_t{141} << 30);
  EXPECT_EQ(found->links[0].kind, "NV18");
  EXPECT_EQ(found->countables,
            (std::vector<Countable>{{"hugepages-2Mi", std::int64_t{1} << 30}, {"rdma", 2}}));
}

TEST(InventoryFile, ThreadsOfACoreAreNumberedAsTheKernelDoes) {
  const auto found = parse_inventory("cores: 8\nthreads_per_core: 2\n", "lab.yaml");
  ASSERT_TRUE(found.ok()) << found.error().message;
  EXPECT_EQ(found->thread_order, (std::vector<std::int32_t>{0, 4, 1, 5, 2, 6, 3, 7}));
  EXPECT_EQ(found->threads_per_core, 2);
  const auto two = parse_inventory("threads_per_core: 2\nnuma: [{cores: 0-3}, {cores: 4-7}]\n", "");
  ASSERT_TRUE(two.ok()) << two.error().message;
  EXPECT_EQ(two->thread_order, (std::vector<std::int32_t>{0, 2, 1, 3, 4, 6, 5, 7}));
  const auto odd = parse_inventory("cores: 7\nthreads_per_core: 2\n", "lab.yaml");
  ASSERT_FALSE(odd.ok());
  EXPECT_NE(odd.error().message.find("7 cores of a NUMA node are not 2 threads each"),
            std::string::npos);
  EXPECT_NE(odd.error().message.find("lab.yaml:2"), std::string::npos) << odd.error().message;
}

TEST(InventoryFile, NamesThePlaceOfAMistake) {
  const auto typo = parse_inventory("cores: 4\ndevises: []\n", "lab.yaml");
  ASSERT_FALSE(typo.ok());
  EXPECT_EQ(typo.error().field, "lab.yaml:2:1");
  EXPECT_NE(typo.error().message.find("devices"), std::string::npos);
  EXPECT_FALSE(parse_inventory("cores: -1", "a").ok());
  EXPECT_FALSE(parse_inventory("memory: 99999999999Gi", "a").ok());
  EXPECT_FALSE(parse_inventory("devices: [{numa_node: 3}]", "a").ok());
  EXPECT_FALSE(parse_inventory("numa: [{cores: 0-1}, {cores: 1-2}]", "a").ok());
  EXPECT_FALSE(parse_inventory("numa: [{cores: 0-1}, {cores: 2147483647}]", "a").ok());
  EXPECT_FALSE(parse_inventory("links: [{devices: [0, 1]}]", "a").ok());
  EXPECT_FALSE(parse_inventory("devices: [{count: 2, uuid: a}]", "a").ok());
  EXPECT_FALSE(parse_inventory("countables: {hugepages-2Mi: 3Mi}", "a").ok());
  EXPECT_FALSE(parse_inventory("countables: {rdma: 3Mi}", "a").ok());
  // What is no list was taken for none: a node without cores.
  EXPECT_FALSE(parse_inventory("numa: 2", "a").ok());
  EXPECT_FALSE(parse_inventory("numa: []", "a").ok());
  EXPECT_FALSE(parse_inventory("devices: H200", "a").ok());
  EXPECT_FALSE(parse_inventory("devices: [{files: /dev/x}]", "a").ok());
  EXPECT_FALSE(parse_inventory("links: all", "a").ok());
  EXPECT_FALSE(parse_inventory("countables: [rdma]", "a").ok());
  EXPECT_TRUE(parse_inventory("devices:\nlinks:\ncountables:\n", "a").ok());
  // Sums that do not fit, and more than a node can have.
  EXPECT_FALSE(parse_inventory("memory: 5000Ti", "a").ok());
  EXPECT_FALSE(parse_inventory("devices: [{count: 1000}, {count: 25}]", "a").ok());
  EXPECT_FALSE(parse_inventory("[1", "a").ok());
  EXPECT_FALSE(parse_inventory("7", "a").ok());
}

TEST(InventoryFile, DevicesHaveFilesByTheirIds) {
  const std::string text = "devices: [{count: 2, files: ['/dev/x{}', /dev/all]}, {model: L4}]";
  ASSERT_TRUE(parse_inventory(text, "a").ok());
  const auto files = parse_device_files(text);
  ASSERT_EQ(files.size(), 3u);
  EXPECT_EQ(files[1], (std::vector<std::string>{"/dev/x1", "/dev/all"}));
  EXPECT_TRUE(files[2].empty());
}

TEST(InventoryFile, UniformSpreadsOverTwoNumaNodes) {
  const Inventory made = uniform(8, std::int64_t{8} << 30, 4, "H200");
  ASSERT_EQ(made.numa.size(), 2u);
  EXPECT_EQ(made.numa[0].cores.size(), 4u);
  EXPECT_EQ(made.devices[1].numa_node, 0);
  EXPECT_EQ(made.devices[2].numa_node, 1);
}

}  // namespace
}  // namespace dove::devices::emulated
