// Fabric: the network cards over which a task reaches its peers, storage and users.
//
// The cards nearest to a task's devices are named in the variables of NCCL and UCX, so that traffic
// does not cross sockets unnecessarily. Planes that administrators declare keep storage, users and
// the gang's own traffic on separate interfaces. Variables that a job sets itself are left alone.
//
// Sources: NCCL 2.x environment variables (NCCL_IB_HCA, NCCL_IB_DISABLE, NCCL_SOCKET_IFNAME,
// NCCL_NET_GDR_LEVEL); UCX_NET_DEVICES; GLOO_SOCKET_IFNAME.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "devices/cards.h"
#include "model/node.h"
#include "model/placement.h"

namespace dove::agent {

// Interfaces ("eth0") or cards ("mlx5_0") for each kind of traffic; empty: not declared.
struct Planes {
  std::vector<std::string> user;
  std::vector<std::string> storage;
  std::vector<std::string> gpu;
};

// "user=eth0,storage=ib4+ib5,gpu=ib0+ib1". Errors name what is wrong.
Result<Planes> parse_planes(const std::string& text);

// The countable by which jobs ask for cards of their own.
inline constexpr std::string_view kCards = "nics";

// The names of the cards that gangs may use (of the gpu plane if there is one, else of no other;
// active), those nearest to some of the devices first.
std::vector<std::string> cards_by_distance(const devices::Fabric& fabric, const Planes& planes,
                                           const Inventory& inventory,
                                           const std::vector<DeviceGrant>& grants);

// The ones among them that tasks with these devices use, as indices of fabric.cards, ascending: the
// nearest to some of the devices. `own`: the names of the attempt's own cards; null: it shares all.
std::vector<std::size_t> cards_for(const devices::Fabric& fabric, const Planes& planes,
                                   const Inventory& inventory,
                                   const std::vector<DeviceGrant>& grants,
                                   const std::vector<std::string>* own = nullptr);

// What a task with these devices finds in its environment; `has_peers`: on other nodes; `own`: as
// above.
std::map<std::string, std::string> fabric_environment(
    const devices::Fabric& fabric, const Planes& planes, const Inventory& inventory,
    const std::vector<DeviceGrant>& grants, bool has_peers,
    const std::vector<std::string>* own = nullptr);

}  // namespace dove::agent
