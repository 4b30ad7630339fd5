#include "core/state/cores.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/random.h"

namespace dove::core {
namespace {

// One by one: who has none yet comes first, then who has the fewest for its devices.
std::vector<std::int32_t> dealt(NumaDemands demands, std::vector<std::int32_t> free,
                                std::int32_t count) {
  std::vector<std::int32_t> taken(free.size(), 0);
  while (count-- > 0) {
    NumaDemand* next = nullptr;
    const auto is_before = [](const NumaDemand& a, const NumaDemand& b) {
      if ((a.cores == 0) != (b.cores == 0)) return a.cores == 0;
      return (a.cores + 1) * b.devices < (b.cores + 1) * a.devices;
    };
    for (NumaDemand& each : demands) {
      if (free[static_cast<std::size_t>(each.numa_node)] == 0) continue;
      if (next == nullptr || is_before(each, *next)) next = &each;
    }
    if (next == nullptr) return {};  // from other NUMA nodes: not what is tried here
    ++next->cores;
    --free[static_cast<std::size_t>(next->numa_node)];
    ++taken[static_cast<std::size_t>(next->numa_node)];
  }
  return taken;
}

TEST(Cores, AreDealtToDevicesOneByOne) {
  Random random(7);
  int compared = 0;
  for (int round = 0; round < 20'000; ++round) {
    Inventory inventory;
    CoreSet free;
    std::vector<std::int32_t> free_on;
    NumaDemands demands;
    const auto nodes = 2 + static_cast<std::int32_t>(random.below(3));
    for (std::int32_t node = 0; node < nodes; ++node) {
      inventory.numa.emplace_back();
      const auto cores = static_cast<std::int32_t>(random.below(20));
      for (std::int32_t i = 0; i < cores; ++i) {
        inventory.numa.back().cores.insert(node * 100 + i);
        free.insert(node * 100 + i);
      }
      free_on.push_back(cores);
      const auto devices = static_cast<std::int32_t>(random.below(8));
      const auto had = static_cast<std::int32_t>(random.below(4) == 0 ? random.below(5) : 0);
      if (devices > 0) demands.push_back({node, devices, had});
    }
    const auto count = static_cast<std::int32_t>(1 + random.below(40));
    if (count > static_cast<std::int32_t>(free.size())) continue;
    const std::vector<std::int32_t> expected = dealt(demands, free_on, count);
    if (expected.empty()) continue;
    const CoreSet chosen = choose_cores(inventory, free, count, demands);
    ASSERT_EQ(static_cast<std::int32_t>(chosen.size()), count);
    ASSERT_TRUE(free.contains(chosen));
    ASSERT_TRUE(std::ranges::equal(count_cores(inventory, chosen), expected)) << "round " << round;
    ++compared;
  }
  EXPECT_GT(compared, 5'000);
}

}  // namespace
}  // namespace dove::core
