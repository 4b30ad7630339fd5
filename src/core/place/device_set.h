// Device sets: which of a node's free devices belong together, by their links, NUMA nodes and
// cores.
//
// Sets of equal size are compared by these rules, and the first that tells them apart decides. The
// better set
// - has the larger sum of link_worth over its pairs;
// - lies on fewer NUMA nodes;
// - has fewer of these without a free core, when cores are asked for;
// - needs fewer cores from other NUMA nodes;
// - leaves the larger sum of link_worth among the devices not taken;
// - leaves more pairs of these on one NUMA node;
// - has the lower ids.
// Pure; links are as `nvidia-smi topo -m` names them.
//
// An interleaved choice only looks at sets that lie as evenly over the NUMA nodes as the offers
// allow. Among those it prefers sets that also leave an even choice to others; links among what is
// left come after that.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "core/queue/policy.h"

namespace dove::core {

// How close a path of this kind brings two devices; more is closer. NVn counts its n links. Pairs
// without a listed link are worth a NODE on one NUMA node, else a SYS.
std::int32_t link_worth(std::string_view kind);

// Up to this number of offers the set found is the best there is; beyond it, sets are grown from
// each device.
constexpr std::size_t kExactOffers_max = 16;

// The best set, ascending. Looks at 2^16 sets at most. REQUIRES: 0 <= count <= offers.size().
DeviceIds closest_devices(const DeviceChoice& choice);

}  // namespace dove::core
