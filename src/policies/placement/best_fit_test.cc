#include "policies/placement/best_fit.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "base/random.h"
#include "core/place/fit.h"
#include "core/place/place.h"

namespace dove::policies {
namespace {

TEST(BestFit, SharesGoToTheFullestDeviceThenBesideEnoughCores) {
  const Inventory inventory;
  const std::vector<core::DeviceOffer> offers = {
      {0, 0, 900, 4}, {1, 0, 400, 1}, {2, 1, 400, 2}, {3, 1, 400, 2}};
  EXPECT_EQ(BestFit().share_device({inventory, offers, 1, 0}), 1);
  EXPECT_EQ(BestFit().share_device({inventory, offers, 1, 2}), 2);
}

TEST(BestFit, WholeDevicesComeFromTheTightestNumaNode) {
  Inventory inventory;
  inventory.devices.resize(6);
  const std::vector<core::DeviceOffer> offers = {
      {0, 0, 1000, 0}, {1, 0, 1000, 0}, {2, 0, 1000, 0}, {4, 1, 1000, 0}, {5, 1, 1000, 0}};
  const auto chosen = [&](std::int32_t count) {
    return BestFit().whole_devices({inventory, offers, count, 0});
  };
  EXPECT_EQ(chosen(2), (core::DeviceIds{4, 5}));
  EXPECT_EQ(chosen(3), (core::DeviceIds{0, 1, 2}));
  EXPECT_EQ(chosen(4), (core::DeviceIds{0, 1, 2, 4}));
}

TEST(BestFit, SkipNeverPassesANodeThatFits) {
  Random random(1);
  const auto any = [&] {
    return core::NodeFree{static_cast<std::int64_t>(random.below(4)),
                          static_cast<std::int64_t>(random.below(4)),
                          static_cast<std::int64_t>(random.below(4))};
  };
  const BestFit policy;
  for (int i = 0; i < 10'000; ++i) {
    const core::NodeFree from = any();
    const core::NodeFree node = any();
    const core::NodeNeeds needs = any();
    const bool fits = node.gpus_milli >= needs.gpus_milli && node.cores >= needs.cores &&
                      node.memory_bytes >= needs.memory_bytes;
    if (!fits || policy.rank(node) < policy.rank(from)) continue;
    EXPECT_LE(policy.skip(policy.rank(from), needs), policy.rank(node));
  }
}

struct Cluster {
  ById<NodeId, core::Node> nodes;
  core::RankedNodes ranked;
};

Cluster some_cluster(Random& random, const core::PlacementPolicy& policy) {
  Cluster cluster;
  for (std::uint32_t i = 1; i <= 4; ++i) {
    core::Node node;
    node.id = NodeId(i);
    node.name = fmt::format("n{}", i);
    auto inventory = std::make_shared<Inventory>();
    inventory->numa.resize(2);
    for (std::int32_t core = 0; core < 6; ++core) {
      inventory->numa[static_cast<std::size_t>(core % 2)].cores.insert(core);
      if (random.below(3) > 0) node.cores_free.insert(core);
    }
    for (int device = 0; device < 3; ++device) {
      inventory->devices.push_back({"gpu", "", random.below(2) ? "a" : "b", "", 1, device % 2});
      node.device_free_milli.push_back(static_cast<std::int32_t>(random.below(11)) * 100);
    }
    node.inventory = inventory;
    node.memory_free_bytes = static_cast<std::int64_t>(random.below(8));
    cluster.ranked.insert({policy.rank(core::free_of(node)), node.id});
    cluster.nodes.push_back(std::move(node));
  }
  return cluster;
}

TaskGroup some_group(Random& random) {
  TaskGroup group;
  group.tasks = static_cast<std::int32_t>(1 + random.below(5));
  group.per_task.cores = static_cast<std::int32_t>(random.below(3));
  group.per_task.memory_bytes = static_cast<std::int64_t>(random.below(3));
  if (random.below(3) == 0) group.per_task.gpus = 1;
  if (group.per_task.gpus == 0 && random.below(3) == 0) group.per_task.share_milli = 300;
  if (random.below(3) == 0) group.per_task.gpu_model = "A";
  if (random.below(3) == 0) group.per_node.cores = 1;
  if (random.below(2) == 0) {
    group.nodes_min = static_cast<std::int32_t>(
        1 + random.below(static_cast<std::uint64_t>(std::min(group.tasks, 4))));
    group.nodes_max = group.nodes_min + static_cast<std::int32_t>(random.below(2));
  }
  return group;
}

// Whether some numbers of tasks on the nodes fit, by trying all.
bool any_spread_fits(const std::vector<std::int32_t>& room, const TaskGroup& group,
                     std::size_t node, std::int32_t left, std::int32_t used) {
  if (node == room.size()) {
    const std::int32_t most = group.nodes_max > 0 ? group.nodes_max : 1000;
    return left == 0 && used >= group.nodes_min && used <= most;
  }
  for (std::int32_t tasks = 0; tasks <= std::min(room[node], left); ++tasks) {
    if (any_spread_fits(room, group, node + 1, left - tasks, used + (tasks > 0 ? 1 : 0))) {
      return true;
    }
  }
  return false;
}

TEST(BestFit, TheSearchFindsPlacesExactlyWhenThereAreSome) {
  Random random(7);
  const BestFit policy;
  int found_count = 0;
  for (int i = 0; i < 5000; ++i) {
    const Cluster cluster = some_cluster(random, policy);
    JobSpec spec;
    spec.groups = {some_group(random)};
    const TaskGroup& group = spec.groups[0];
    std::vector<std::int32_t> room;
    for (const core::Node& node : cluster.nodes) {
      room.push_back(core::capacity(core::view_of(node), group, policy, group.tasks));
    }
    const auto found = core::find_places({&cluster.ranked, &cluster.nodes}, policy, spec, {});
    EXPECT_EQ(found.has_value(), any_spread_fits(room, group, 0, group.tasks, 0)) << "round " << i;
    if (!found) continue;
    ++found_count;
    std::int32_t tasks = 0;
    for (const Placement& placement : *found)
      tasks += static_cast<std::int32_t>(placement.tasks.size());
    EXPECT_EQ(tasks, group.tasks);
  }
  EXPECT_GT(found_count, 1000);
}

}  // namespace
}  // namespace dove::policies
