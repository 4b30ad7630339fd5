#include "devices/hwloc/hwloc_host.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace dove::devices::hwloc {
namespace {

// libpciaccess keeps what it read for the life of the process. hwloc unloads it, and then nothing
// points there any more: a leak to LeakSanitizer.
[[maybe_unused]] void* const kept = dlopen("libpciaccess.so.0", RTLD_NOW | RTLD_NODELETE);

// A machine of the processors 0 to 3; `nodes`: the set of its NUMA nodes.
std::string machine(const std::string& nodes, const std::string& inside) {
  const std::string sets = " nodeset=\"" + nodes + "\" complete_nodeset=\"" + nodes +
                           "\" allowed_nodeset=\"" + nodes + "\"";
  return "<?xml version=\"1.0\" encoding=\"UTF-8\"?><!DOCTYPE topology SYSTEM \"hwloc2.dtd\">"
         "<topology version=\"2.0\"><object type=\"Machine\" os_index=\"0\" gp_index=\"1\" "
         "cpuset=\"0x0000000f\" complete_cpuset=\"0x0000000f\" allowed_cpuset=\"0x0000000f\"" +
         sets + ">" + inside + "</object></topology>";
}

// Two sockets of two cores; on the first a PCIe switch with two GPUs and, behind a second switch, a
// third; on the other socket a fourth, directly below the host bridge.
std::string two_sockets() {
  const auto pci = [](const std::string& bus_id, int gp) {
    return "<object type=\"PCIDev\" gp_index=\"" + std::to_string(gp) + "\" pci_busid=\"" + bus_id +
           "\" pci_type=\"0302 [10de:2330] [10de:16c1] a1\" pci_link_speed=\"0.0\"/>";
  };
  const auto bridge = [](const std::string& bus_id, const std::string& buses, int gp,
                         const std::string& inside) {
    return "<object type=\"Bridge\" gp_index=\"" + std::to_string(gp) +
           "\" bridge_type=\"1-1\" depth=\"1\" bridge_pci=\"" + buses + "\" pci_busid=\"" + bus_id +
           "\" pci_type=\"0604 [1000:c010] [0000:0000] a0\" pci_link_speed=\"0.0\">" + inside +
           "</object>";
  };
  const auto host = [](const std::string& buses, int gp, const std::string& inside) {
    return "<object type=\"Bridge\" gp_index=\"" + std::to_string(gp) +
           "\" bridge_type=\"0-1\" depth=\"0\" bridge_pci=\"" + buses + "\">" + inside +
           "</object>";
  };
  const auto socket = [](int index, const std::string& set, const std::string& node,
                         const std::string& pus, const std::string& io) {
    const std::string sets = "cpuset=\"" + set + "\" complete_cpuset=\"" + set + "\" nodeset=\"" +
                             node + "\" complete_nodeset=\"" + node + "\"";
    const std::string i = std::to_string(index);
    return "<object type=\"Package\" os_index=\"" + i + "\" gp_index=\"" +
           std::to_string(2 + index) + "\" " + sets + "><object type=\"NUMANode\" os_index=\"" + i +
           "\" gp_index=\"" + std::to_string(4 + index) + "\" " + sets +
           " local_memory=\"1073741824\"/>" + pus + io + "</object>";
  };
  const auto pu = [](int index, const std::string& set, const std::string& node) {
    const std::string sets = "cpuset=\"" + set + "\" complete_cpuset=\"" + set + "\" nodeset=\"" +
                             node + "\" complete_nodeset=\"" + node + "\"";
    return "<object type=\"Core\" os_index=\"" + std::to_string(index) + "\" gp_index=\"" +
           std::to_string(10 + index) + "\" " + sets + "><object type=\"PU\" os_index=\"" +
           std::to_string(index) + "\" gp_index=\"" + std::to_string(20 + index) + "\" " + sets +
           "/></object>";
  };
  const std::string second_switch =
      bridge("0000:14:00.0", "0000:[15-16]", 40,
             bridge("0000:15:00.0", "0000:[16-16]", 41, pci("0000:16:00.0", 42)));
  const std::string first_switch =
      bridge("0000:10:00.0", "0000:[11-16]", 30,
             bridge("0000:11:00.0", "0000:[12-12]", 31, pci("0000:12:00.0", 32)) +
                 bridge("0000:11:01.0", "0000:[13-13]", 33, pci("0000:13:00.0", 34)) +
                 bridge("0000:11:02.0", "0000:[14-16]", 35, second_switch));
  return machine(
      "0x00000003",
      socket(0, "0x00000003", "0x00000001",
             pu(0, "0x00000001", "0x00000001") + pu(1, "0x00000002", "0x00000001"),
             host("0000:[10-16]", 50, first_switch)) +
          socket(1, "0x0000000c", "0x00000002",
                 pu(2, "0x00000004", "0x00000002") + pu(3, "0x00000008", "0x00000002"),
                 host("0000:[80-80]", 51, pci("0000:80:00.0", 52) + pci("0000:80:01.0", 53))));
}

TEST(HwlocHost, FindsCoresAndMemoryOfEachNumaNode) {
  const auto host = HwlocHost::from_xml(two_sockets());
  ASSERT_TRUE(host.ok()) << host.error().message;
  const auto inventory = (*host)->inventory();
  ASSERT_TRUE(inventory.ok());
  ASSERT_EQ(inventory->numa.size(), 2u);
  EXPECT_EQ(inventory->numa[1].cores, (CoreSet{2, 3}));
  EXPECT_EQ(inventory->numa[1].memory_bytes, std::int64_t{1} << 30);
  EXPECT_EQ(inventory->memory_bytes, std::int64_t{2} << 30);
}

// One socket of two cores with two threads each; the kernel numbers the first threads first.
std::string two_threads() {
  const auto object = [](const std::string& type, int index, const std::string& set,
                         const std::string& inside) {
    static int gp = 1;
    return "<object type=\"" + type + "\" os_index=\"" + std::to_string(index) + "\" gp_index=\"" +
           std::to_string(++gp) + "\" cpuset=\"" + set + "\" complete_cpuset=\"" + set +
           "\" nodeset=\"0x00000001\" complete_nodeset=\"0x00000001\"" +
           (type == "NUMANode" ? " local_memory=\"1073741824\"" : "") + ">" + inside + "</object>";
  };
  const std::string cores =
      object("Core", 0, "0x00000005",
             object("PU", 0, "0x00000001", "") + object("PU", 2, "0x00000004", "")) +
      object("Core", 1, "0x0000000a",
             object("PU", 1, "0x00000002", "") + object("PU", 3, "0x00000008", ""));
  return machine("0x00000001", object("Package", 0, "0x0000000f",
                                      object("NUMANode", 0, "0x0000000f", "") + cores));
}

TEST(HwlocHost, SaysWhichThreadsAreOfOneCore) {
  const auto host = HwlocHost::from_xml(two_threads());
  ASSERT_TRUE(host.ok()) << host.error().message;
  const auto inventory = (*host)->inventory();
  ASSERT_TRUE(inventory.ok());
  EXPECT_EQ(inventory->numa[0].cores, (CoreSet{0, 1, 2, 3}));
  EXPECT_EQ(inventory->thread_order, (std::vector<std::int32_t>{0, 2, 1, 3}));
  EXPECT_EQ(inventory->threads_per_core, 2);
  const auto plain = (*HwlocHost::from_xml(two_sockets()))->inventory();
  EXPECT_TRUE(plain->thread_order.empty()) << "each is a core, and they ascend";
}

TEST(HwlocHost, KnowsWhatIsBesideWhat) {
  const auto made = HwlocHost::from_xml(two_sockets());
  ASSERT_TRUE(made.ok()) << made.error().message;
  const HwlocHost& host = **made;
  EXPECT_EQ(host.numa_of("0000:12:00.0"), 0);
  EXPECT_EQ(host.numa_of("0000:80:00.0"), 1);
  EXPECT_EQ(host.numa_of("0000:ff:00.0"), -1);
  EXPECT_EQ(host.path("0000:12:00.0", "0000:13:00.0"), "PIX");
  EXPECT_EQ(host.path("0000:12:00.0", "0000:16:00.0"), "PXB");
  EXPECT_EQ(host.path("0000:80:00.0", "0000:80:01.0"), "PHB");
  EXPECT_EQ(host.path("0000:12:00.0", "0000:80:00.0"), "SYS");
  EXPECT_EQ(host.path("0000:12:00.0", "0000:ff:00.0"), "");
}

TEST(HwlocHost, FindsThisMachine) {
  const auto host = HwlocHost::make();
  ASSERT_TRUE(host.ok()) << host.error().message;
  const auto inventory = (*host)->inventory();
  ASSERT_TRUE(inventory.ok());
  std::size_t cores = 0;
  for (const NumaNode& numa : inventory->numa) cores += numa.cores.size();
  EXPECT_GE(cores, 1u);
  EXPECT_LE(cores, static_cast<std::size_t>(sysconf(_SC_NPROCESSORS_CONF)));
  EXPECT_GT(inventory->memory_bytes, 0);
}

TEST(HwlocHost, WhatIsNoTopologyIsAnError) { EXPECT_FALSE(HwlocHost::from_xml("<topology>").ok()); }

}  // namespace
}  // namespace dove::devices::hwloc
