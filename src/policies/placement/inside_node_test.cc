// What a job gets inside one node: devices and cores that are close to one another.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "base/random.h"
#include "core/place/fit.h"
#include "core/state/books.h"
#include "core/state/cores.h"
#include "policies/placement/best_fit.h"

namespace dove::policies {
namespace {

// A node of `numas` NUMA nodes, each with `cores` cores and `devices` devices, all linked alike.
core::Node make_node(std::int32_t numas, std::int32_t cores, std::int32_t devices) {
  auto inventory = std::make_shared<Inventory>();
  for (std::int32_t numa = 0; numa < numas; ++numa) {
    NumaNode& made = inventory->numa.emplace_back();
    // Hyperthreads: siblings lie beyond all first ones, so ids of a NUMA node have a gap.
    for (std::int32_t i = 0; i < cores; ++i) {
      made.cores.insert(i < cores / 2
                            ? numa * (cores / 2) + i
                            : numas * (cores / 2) + numa * (cores - cores / 2) + i - cores / 2);
    }
    for (std::int32_t i = 0; i < devices; ++i) {
      inventory->devices.push_back({"gpu", "nvidia", "H200", "", std::int64_t{141} << 30, numa});
    }
  }
  for (std::int32_t a = 0; a < numas * devices; ++a) {
    for (std::int32_t b = a + 1; b < numas * devices; ++b) {
      inventory->links.push_back({a, b, "NV18"});
    }
  }
  inventory->memory_bytes = 1000;
  core::Node node;
  node.id = NodeId(1);
  node.inventory = std::move(inventory);
  node.cores_free = core::usable_cores(node);
  node.device_free_milli.assign(node.inventory->devices.size(), kWholeDevice_milli);
  node.memory_free_bytes = 1000;
  return node;
}

Placement place(const core::Node& node, const TaskGroup& group) {
  static const BestFit policy;
  core::FreeBooks books(node);
  EXPECT_GE(core::capacity(books.view(), group, policy, group.tasks), group.tasks);
  Placement placement;
  placement.node = node.id;
  core::grant(books, group, 0, 0, group.tasks, policy, placement);
  return placement;
}

std::int32_t numa_of_core(const Inventory& inventory, std::int32_t core) {
  for (std::size_t i = 0; i < inventory.numa.size(); ++i) {
    const auto& cores = inventory.numa[i].cores;
    if (cores.contains(core)) return static_cast<std::int32_t>(i);
  }
  return -1;
}

std::set<std::int32_t> numas_of_devices(const Inventory& inventory,
                                        const std::vector<DeviceGrant>& devices) {
  std::set<std::int32_t> numas;
  for (const DeviceGrant& grant : devices) {
    numas.insert(inventory.devices[static_cast<std::size_t>(grant.device)].numa_node);
  }
  return numas;
}

std::set<std::int32_t> numas_of_cores(const Inventory& inventory, const CoreSet& cores) {
  std::set<std::int32_t> numas;
  for (std::int32_t core : cores) numas.insert(numa_of_core(inventory, core));
  return numas;
}

// Takes some devices and cores away, as other jobs would.
void use_some(core::Node& node, Random& random) {
  for (std::int32_t& milli : node.device_free_milli) {
    if (random.below(3) == 0) milli = 0;
  }
  CoreSet used;
  for (const std::int32_t core : node.cores_free) {
    if (random.below(3) == 0) used.insert(core);
  }
  node.cores_free -= used;
}

class InsideNodeOf : public testing::TestWithParam<std::int32_t> {};

// One NUMA node that has room for all of it gives all of it; and whatever is given, each NUMA node
// with devices of the job has a core of it when it has a free one and enough cores are asked.
TEST_P(InsideNodeOf, SingleNodeWhereItFitsAndACoreBesideEveryDevice) {
  Random random(static_cast<std::uint64_t>(GetParam()));
  const BestFit policy;
  int single = 0;
  int spread = 0;
  for (int i = 0; i < 1500; ++i) {
    core::Node node = make_node(GetParam(), 8, 4);
    node.declared.cores_reserved = static_cast<std::int32_t>(random.below(3));
    node.cores_free = core::usable_cores(node);
    use_some(node, random);
    const Inventory& inventory = *node.inventory;
    TaskGroup group;
    Request& devices = random.below(2) == 0 ? group.per_task : group.per_node;
    devices.gpus = static_cast<std::int32_t>(1 + random.below(6));
    group.per_task.cores = static_cast<std::int32_t>(1 + random.below(10));
    const core::FreeView before = core::view_of(node);
    if (core::capacity(before, group, policy, 1) == 0) continue;
    const Placement placement = place(node, group);
    const auto of_devices = numas_of_devices(inventory, placement.devices);
    const auto of_cores = numas_of_cores(inventory, placement.cores);

    const core::CoreCounts free = core::count_cores(inventory, node.cores_free);
    bool fits_in_one = false;
    std::int32_t reachable = 0;
    for (std::int32_t numa = 0; numa < GetParam(); ++numa) {
      std::int32_t whole = 0;
      for (std::size_t d = 0; d < inventory.devices.size(); ++d) {
        const bool here = inventory.devices[d].numa_node == numa;
        whole += here && node.device_free_milli[d] == kWholeDevice_milli ? 1 : 0;
      }
      const std::int32_t cores = free[static_cast<std::size_t>(numa)];
      fits_in_one = fits_in_one || (whole >= devices.gpus && cores >= group.per_task.cores);
      reachable += of_devices.contains(numa) && cores > 0 ? 1 : 0;
    }
    if (fits_in_one) {
      ++single;
      EXPECT_EQ(of_devices.size(), 1u);
      EXPECT_EQ(of_cores, of_devices);
    }
    spread += of_devices.size() > 1 ? 1 : 0;
    const std::int32_t covered = std::min(reachable, group.per_task.cores);
    EXPECT_EQ(static_cast<std::int32_t>(of_devices.size()) - covered,
              core::numa_nodes_without_core(inventory, placement));
    EXPECT_EQ(static_cast<std::int32_t>(placement.cores.size()), group.per_task.cores);
    for (std::int32_t core : placement.cores) {
      EXPECT_TRUE(node.cores_free.contains(core));
      EXPECT_GE(core, node.declared.cores_reserved);
    }
  }
  EXPECT_GT(single, 100);
  EXPECT_TRUE(GetParam() == 1 || spread > 100) << spread;
}

TEST_P(InsideNodeOf, ARefusalTakesNothing) {
  Random random(77);
  const BestFit policy;
  for (int i = 0; i < 300; ++i) {
    core::Node node = make_node(GetParam(), 4, 2);
    use_some(node, random);
    core::FreeBooks books(node);
    Request request;
    switch (random.below(3)) {
      case 0:
        request.gpus = static_cast<std::int32_t>(1 + random.below(20));
        break;
      case 1:
        request.share_milli = 700;
        break;
      default:
        request.slice = "4g.71gb";
        request.slices = static_cast<std::int32_t>(1 + random.below(20));
    }
    std::vector<DeviceGrant> out;
    const core::DeviceWish wish{books.cores, 1,
                                random.below(2) == 0 ? Affinity::kSingle : Affinity::kInterleaved};
    if (core::allocate_devices(*node.inventory, books.devices, wish, request, policy, out)) {
      continue;
    }
    EXPECT_TRUE(out.empty());
    EXPECT_TRUE(std::ranges::equal(books.devices.free_milli, node.device_free_milli));
    EXPECT_TRUE(books.devices.slots_taken.empty());
  }
}

// How many of the placement's devices, or of its cores, each NUMA node gives.
core::CoreCounts devices_by_numa(const Inventory& inventory,
                                 const std::vector<DeviceGrant>& devices) {
  core::CoreCounts counts(inventory.numa.size(), 0);
  for (const DeviceGrant& grant : devices) {
    const Device& device = inventory.devices[static_cast<std::size_t>(grant.device)];
    ++counts[static_cast<std::size_t>(device.numa_node)];
  }
  return counts;
}

// No NUMA node that has more to give gave two fewer than another.
void expect_even(const core::CoreCounts& given, const core::CoreCounts& had) {
  for (std::size_t a = 0; a < given.size(); ++a) {
    if (given[a] == had[a]) continue;
    for (std::size_t b = 0; b < given.size(); ++b) EXPECT_LE(given[b], given[a] + 1);
  }
}

// As many NUMA nodes as there can be give as evenly as they can; and as for single ones, each that
// has devices of the job has a core of it when it has a free one and enough cores are asked.
TEST_P(InsideNodeOf, InterleavedLiesEvenlyOverTheNumaNodes) {
  Random random(static_cast<std::uint64_t>(100 + GetParam()));
  const BestFit policy;
  int with_devices = 0;
  for (int i = 0; i < 1000; ++i) {
    core::Node node = make_node(GetParam(), 8, random.below(4) == 0 ? 1 + 16 / GetParam() : 3);
    use_some(node, random);
    const Inventory& inventory = *node.inventory;
    TaskGroup group;
    group.affinity = Affinity::kInterleaved;
    group.per_task.gpus = static_cast<std::int32_t>(random.below(7));
    group.per_task.cores = static_cast<std::int32_t>(1 + random.below(12));
    if (core::capacity(core::view_of(node), group, policy, 1) == 0) continue;
    const Placement placement = place(node, group);
    const core::CoreCounts free_cores = core::count_cores(inventory, node.cores_free);
    if (group.per_task.gpus == 0) {
      expect_even(core::count_cores(inventory, placement.cores), free_cores);
      continue;
    }
    ++with_devices;
    core::CoreCounts free_devices(inventory.numa.size(), 0);
    for (std::size_t d = 0; d < inventory.devices.size(); ++d) {
      const auto numa = static_cast<std::size_t>(inventory.devices[d].numa_node);
      free_devices[numa] += node.device_free_milli[d] == kWholeDevice_milli ? 1 : 0;
    }
    expect_even(devices_by_numa(inventory, placement.devices), free_devices);
    const auto of_devices = numas_of_devices(inventory, placement.devices);
    std::int32_t reachable = 0;
    for (const std::int32_t numa : of_devices) {
      reachable += free_cores[static_cast<std::size_t>(numa)] > 0 ? 1 : 0;
    }
    EXPECT_EQ(
        core::numa_nodes_without_core(inventory, placement),
        static_cast<std::int32_t>(of_devices.size()) - std::min(reachable, group.per_task.cores));
  }
  EXPECT_GT(with_devices, 100);
}

INSTANTIATE_TEST_SUITE_P(NumaNodes, InsideNodeOf, testing::Values(1, 2, 4, 8));

TEST(InsideNode, CoresOfTasksLieBesideTheDevicesOfTheirNode) {
  const core::Node node = make_node(2, 8, 2);
  TaskGroup group;
  group.tasks = 2;
  group.per_node.gpus = 4;  // sbatch --gres=gpu:4 --ntasks=2 --cpus-per-task=3
  group.per_task.cores = 3;
  const Placement placement = place(node, group);
  EXPECT_EQ(core::numa_nodes_without_core(*node.inventory, placement), 0);
  EXPECT_EQ(numas_of_cores(*node.inventory, placement.tasks[0].cores).size(), 2u);
  EXPECT_EQ(core::count_cores(*node.inventory, placement.cores), (core::CoreCounts{3, 3}));
}

TEST(InsideNode, CoresFollowTheDevicesInProportion) {
  core::Node node = make_node(2, 8, 4);
  node.device_free_milli = {1000, 1000, 1000, 0, 1000, 0, 0, 0};
  TaskGroup group;
  group.per_task.gpus = 4;
  group.per_task.cores = 8;
  const Placement placement = place(node, group);
  EXPECT_EQ(core::count_cores(*node.inventory, placement.cores), (core::CoreCounts{6, 2}));
}

TEST(InsideNode, TwoFreeOnOneSideAndFiveOnTheOtherAreNotSplit) {
  core::Node node = make_node(2, 8, 6);
  node.device_free_milli = {1000, 1000, 0, 0, 0, 0, 1000, 1000, 1000, 1000, 1000, 0};
  TaskGroup group;
  group.per_task.gpus = 4;
  group.per_task.cores = 1;
  const Placement placement = place(node, group);
  EXPECT_EQ(numas_of_devices(*node.inventory, placement.devices), (std::set<std::int32_t>{1}));
}

TEST(InsideNode, InterleavedTasksOfOneDeviceGoToTheEmptierNumaNodeInTurn) {
  core::Node node = make_node(2, 8, 4);
  node.device_free_milli = {0, 1000, 1000, 1000, 1000, 1000, 1000, 1000};
  TaskGroup group;
  group.tasks = 3;
  group.affinity = Affinity::kInterleaved;
  group.per_task.gpus = 1;
  group.per_task.cores = 1;
  const Placement placement = place(node, group);
  std::vector<std::int32_t> devices;
  for (const TaskGrant& task : placement.tasks) devices.push_back(task.devices.front().device);
  EXPECT_EQ(devices, (std::vector<std::int32_t>{4, 1, 5}));
  EXPECT_EQ(core::count_cores(*node.inventory, placement.cores), (core::CoreCounts{1, 2}));
}

TEST(InsideNode, InterleavedCoresOfManyTasksAreDealtInTurn) {
  const core::Node node = make_node(4, 8, 1);
  TaskGroup group;
  group.tasks = 8;
  group.affinity = Affinity::kInterleaved;
  group.per_task.cores = 1;
  const Placement placement = place(node, group);
  EXPECT_EQ(core::count_cores(*node.inventory, placement.cores), (core::CoreCounts{2, 2, 2, 2}));
}

TEST(InsideNode, SlicesGoToSlicedDevicesFirstAndNeverBesideAShare) {
  core::Node node = make_node(1, 8, 3);
  node.device_free_milli = {500, 1000, 875};
  node.slots_taken = {0, 0, 0b0100'0000};  // device 0 is shared, 2 has a slice
  TaskGroup group;
  group.tasks = 8;
  group.per_task.slice = "1g.18gb";
  group.per_task.slices = 1;
  const Placement placement = place(node, group);
  ASSERT_EQ(placement.devices.size(), 8u);
  std::int32_t on_sliced = 0;
  for (const DeviceGrant& grant : placement.devices) {
    EXPECT_NE(grant.device, 0);
    EXPECT_EQ(grant.share_milli, 125);
    on_sliced += grant.device == 2 ? 1 : 0;
  }
  EXPECT_EQ(on_sliced, 6);
  group.tasks = 14;
  EXPECT_EQ(core::capacity(core::view_of(node), group, BestFit(), 14), 13);
}

}  // namespace
}  // namespace dove::policies
