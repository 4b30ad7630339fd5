#include "core/place/device_set.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <map>
#include <tuple>

#include "base/random.h"

namespace dove::core {
namespace {

struct Box {
  Inventory inventory;
  std::vector<DeviceOffer> offers;
};

Link link(std::int32_t a, std::int32_t b, const char* kind) { return {a, b, kind}; }

void add_device(Box& box, std::int32_t numa, std::int32_t cores_free = 8) {
  Device device;
  device.numa_node = numa;
  const auto id = static_cast<std::int32_t>(box.inventory.devices.size());
  box.inventory.devices.push_back(device);
  box.offers.push_back({id, numa, kWholeDevice_milli, cores_free});
}

DeviceIds chosen(const Box& box, std::int32_t count, std::int32_t cores = 0) {
  return closest_devices({box.inventory, box.offers, count, cores});
}

using Ids = DeviceIds;

TEST(DeviceSet, LinksAreRankedAsTheMachineIsBuilt) {
  const char* const ascending[] = {"SYS", "NODE", "PHB", "PXB", "PIX", "NV1", "NV2", "NV18"};
  for (std::size_t i = 1; i < std::size(ascending); ++i) {
    EXPECT_LT(link_worth(ascending[i - 1]), link_worth(ascending[i])) << ascending[i];
  }
  EXPECT_EQ(link_worth("something"), link_worth("SYS"));
}

// Pairs of NVLink bridges on a PCIe machine: a pair is a bridge, four are two bridges of a socket.
TEST(DeviceSet, BridgedPairsStayTogether) {
  Box box;
  for (std::int32_t i = 0; i < 8; ++i) add_device(box, i / 4);
  for (std::int32_t i = 0; i < 8; i += 2) box.inventory.links.push_back(link(i, i + 1, "NV4"));
  EXPECT_EQ(chosen(box, 2), (Ids{0, 1}));
  EXPECT_EQ(chosen(box, 4), (Ids{0, 1, 2, 3}));
  box.offers.erase(box.offers.begin());  // 0 is taken
  EXPECT_EQ(chosen(box, 1), (Ids{1}));   // it has lost its partner
  EXPECT_EQ(chosen(box, 2), (Ids{2, 3}));
  EXPECT_EQ(chosen(box, 4), (Ids{4, 5, 6, 7}));
}

// The hybrid cube mesh of a DGX-1: 0 and 3 have two links, 0 and 1 one, 0 and 5 none.
TEST(DeviceSet, DoubleLinksBeforeSingleOnes) {
  Box box;
  for (std::int32_t i = 0; i < 8; ++i) add_device(box, i / 4);
  const std::tuple<int, int, int> links[] = {
      {0, 1, 1}, {0, 2, 1}, {0, 3, 2}, {0, 4, 2}, {1, 2, 2}, {1, 3, 1}, {1, 5, 2}, {2, 3, 2},
      {2, 6, 1}, {3, 7, 1}, {4, 5, 1}, {4, 6, 1}, {4, 7, 2}, {5, 6, 2}, {5, 7, 1}, {6, 7, 2}};
  for (const auto& [a, b, count] : links) {
    box.inventory.links.push_back(link(a, b, count == 1 ? "NV1" : "NV2"));
  }
  EXPECT_EQ(chosen(box, 4), (Ids{0, 1, 2, 3}));
  const Ids pair = chosen(box, 2);
  EXPECT_TRUE(std::any_of(std::begin(links), std::end(links), [&](const auto& l) {
    return l == std::tuple<int, int, int>{pair[0], pair[1], 2};
  }));
}

TEST(DeviceSet, AmongEqualLinksTheOneBesideFreeCores) {
  Box box;
  for (std::int32_t i = 0; i < 4; ++i) add_device(box, 0, 0);
  for (std::int32_t i = 0; i < 4; ++i) add_device(box, 1, 6);
  EXPECT_EQ(chosen(box, 2), (Ids{0, 1}));
  EXPECT_EQ(chosen(box, 2, 4), (Ids{4, 5}));
}

// -- against all sets ----------------------------------------------------------------------------

// The order that the header states, from its words.
using Rank = std::tuple<std::int64_t, std::size_t, std::int64_t, std::int64_t, std::int64_t,
                        std::int64_t, Ids>;

std::int32_t worth_of(const Box& box, const DeviceOffer& a, const DeviceOffer& b) {
  for (const Link& each : box.inventory.links) {
    if ((each.device_a == a.device && each.device_b == b.device) ||
        (each.device_a == b.device && each.device_b == a.device)) {
      return link_worth(each.kind);
    }
  }
  return link_worth(a.numa_node == b.numa_node ? "NODE" : "SYS");
}

using Worths = std::vector<std::vector<std::int32_t>>;  // by position of offers

Worths worths_of(const Box& box) {
  Worths worths;
  for (const DeviceOffer& a : box.offers) {
    std::vector<std::int32_t>& row = worths.emplace_back();
    for (const DeviceOffer& b : box.offers) row.push_back(worth_of(box, a, b));
  }
  return worths;
}

Rank rank_of(const Box& box, const Worths& worths, std::int32_t cores, std::uint32_t set) {
  std::int64_t inside = 0;
  std::int64_t outside = 0;
  std::int64_t pairs_outside = 0;
  std::map<std::int32_t, std::int32_t> cores_of;
  Ids ids;
  for (std::size_t a = 0; a < box.offers.size(); ++a) {
    const DeviceOffer& offer = box.offers[a];
    const bool in = (set >> a & 1) != 0;
    if (in) ids.push_back(offer.device);
    if (in) cores_of[offer.numa_node] = offer.cores_free;
    for (std::size_t b = 0; b < a; ++b) {
      if (in != ((set >> b & 1) != 0)) continue;
      (in ? inside : outside) += worths[a][b];
      if (!in && offer.numa_node == box.offers[b].numa_node) ++pairs_outside;
    }
  }
  std::int64_t bare = 0;
  std::int64_t beside = 0;
  for (const auto& [numa, free] : cores_of) {
    if (cores > 0 && free == 0) ++bare;
    beside += free;
  }
  return {-inside,  cores_of.size(), bare,          std::max<std::int64_t>(cores - beside, 0),
          -outside, -pairs_outside,  std::move(ids)};
}

Ids best_of_all(const Box& box, std::int32_t count, std::int32_t cores) {
  const Worths worths = worths_of(box);
  std::optional<Rank> best;
  for (std::uint32_t set = 0; set < 1u << box.offers.size(); ++set) {
    if (std::popcount(set) != count) continue;
    Rank rank = rank_of(box, worths, cores, set);
    if (!best || rank < *best) best = std::move(rank);
  }
  return std::get<Ids>(*best);
}

// A machine of some make: every pair alike, groups under switches, bridged pairs, or any links.
Box some_box(Random& random, std::int32_t devices, bool all_free) {
  static const char* const kinds[] = {"SYS", "NODE", "PHB", "PXB", "PIX", "NV1", "NV2", "NV4"};
  Box box;
  const auto numas = static_cast<std::int32_t>(1u << random.below(4));
  std::map<std::int32_t, std::int32_t> cores;
  const auto make = random.below(4);
  for (std::int32_t i = 0; i < devices; ++i) {
    const std::int32_t numa =
        make == 3 ? static_cast<std::int32_t>(random.below(static_cast<std::uint64_t>(numas)))
                  : i * numas / devices;
    cores.try_emplace(numa, static_cast<std::int32_t>(random.below(4)));
    add_device(box, numa, cores.at(numa));
  }
  for (std::int32_t a = 0; a < devices; ++a) {
    for (std::int32_t b = a + 1; b < devices; ++b) {
      if (make == 0) box.inventory.links.push_back(link(a, b, "NV18"));
      if (make == 1) box.inventory.links.push_back(link(b, a, a / 4 == b / 4 ? "PIX" : "SYS"));
      if (make == 2 && a / 2 == b / 2) box.inventory.links.push_back(link(a, b, "NV4"));
      if (make == 3) box.inventory.links.push_back(link(a, b, kinds[random.below(8)]));
    }
  }
  std::vector<DeviceOffer> free;
  for (const DeviceOffer& offer : box.offers) {
    if (all_free || random.below(5) > 0) free.push_back(offer);
  }
  if (!free.empty()) box.offers = free;
  return box;
}

TEST(DeviceSet, UpToSixteenItIsTheBestOfAllSets) {
  Random random(4);
  const auto check = [&](std::int32_t devices, bool all_free) {
    const Box box = some_box(random, devices, all_free);
    const auto count =
        all_free ? devices / 2 : static_cast<std::int32_t>(1 + random.below(box.offers.size()));
    const auto cores = static_cast<std::int32_t>(random.below(8));
    ASSERT_EQ(chosen(box, count, cores), best_of_all(box, count, cores))
        << devices << " devices, " << box.offers.size() << " free, " << count << " asked";
  };
  for (int i = 0; i < 1500; ++i) check(static_cast<std::int32_t>(1 + random.below(9)), false);
  for (int i = 0; i < 20; ++i) check(16, false);
  for (int i = 0; i < 8; ++i) check(16, true);
}

// Beyond sixteen the set is grown: never worse than taking the lowest ids.
TEST(DeviceSet, BeyondSixteenItIsNoWorseThanTheLowestIds) {
  Random random(5);
  for (int i = 0; i < 40; ++i) {
    const Box box = some_box(random, 24, false);
    if (box.offers.size() <= kExactOffers_max) continue;
    const auto count = static_cast<std::int32_t>(1 + random.below(8));
    const Ids ids = chosen(box, count);
    ASSERT_EQ(ids.size(), static_cast<std::size_t>(count));
    EXPECT_TRUE(std::is_sorted(ids.begin(), ids.end()));
    std::uint32_t set = 0;
    for (std::size_t at = 0; at < box.offers.size(); ++at) {
      if (std::binary_search(ids.begin(), ids.end(), box.offers[at].device)) set |= 1u << at;
    }
    const Worths worths = worths_of(box);
    EXPECT_LE(rank_of(box, worths, 0, set), rank_of(box, worths, 0, (1u << count) - 1));
  }
}

}  // namespace
}  // namespace dove::core
