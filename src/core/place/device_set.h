// Device sets: which of a node's free devices belong together, by their links, NUMA nodes and
// cores.
//
// Of two sets of equal size the better one is, in this order: the one whose pairs have the larger
// sum of link_worth; that lies on fewer NUMA nodes; that has fewer of these without a free core,
// when cores are asked for; for which fewer cores must come from other NUMA nodes; that leaves the
// larger sum of link_worth among the devices not taken; that leaves more pairs of these on one NUMA
// node; whose ids are lower. Pure; links are as `nvidia-smi topo -m` names them.
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

// Up to so many offers the set found is the best there is; beyond, sets are grown from each device.
constexpr std::size_t kExactOffers_max = 16;

// The best set, ascending. Looks at 2^16 sets at most. REQUIRES: 0 <= count <= offers.size().
DeviceIds closest_devices(const DeviceChoice& choice);

}  // namespace dove::core
