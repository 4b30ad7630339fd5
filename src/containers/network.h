// Network: what a gang's tasks see instead of the machine's network.
//
// One network namespace per attempt and node, which dove-contain makes with the first of its
// containers and the runner removes after the last. In it are loopback and, where a gang has
// several nodes, one VXLAN device that leads to the gang's other nodes and nowhere else. Every task
// has an address that follows from its rank, so nobody hands them out, and names for it in
// /etc/hosts. Neighbours are written down, not asked for: nothing is broadcast.
//
// Sources: RFC 7348 (VXLAN), RFC 6598 (100.64.0.0/10). Values; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace dove::containers {

struct NetworkNode {
  std::string name;
  std::string underlay;  // the address by which the machines reach each other
  std::vector<std::uint32_t> ranks;
};

struct Network {
  std::uint32_t number = 0;        // of the VXLAN: 1 to 2^24 - 1, one gang's on all of its nodes
  std::vector<NetworkNode> nodes;  // every one with at least one rank
  std::size_t here = 0;            // index in `nodes`
};

inline constexpr std::uint32_t kNetworkRanks_max = 1U << 21;

// Where the task of that rank is reached: 100.64.0.16 + rank.
std::string network_address(std::uint32_t rank);

// "main1" for rank 0, "sub1" for rank 1, and so on, as session-style clusters name them.
std::string network_host(std::uint32_t rank);

// /etc/hosts of every container: the names above, "rank0", …, and each node's name for its first
// task.
std::string hosts_text(const Network& network);

// What programs written for session-style clusters read: BACKENDAI_CLUSTER_SIZE, _HOST, _HOSTS,
// _ROLE, _IDX (from 1, within the role), _LOCAL_RANK (from 0, of all), _REPLICAS. Source: the
// user's guide of Backend.AI, "Cluster session".
std::map<std::string, std::string> session_environment(const Network& network, std::uint32_t rank);

// As dove-contain reads it, a line each: "number N", "local UNDERLAY", "mac LLADDR", "address
// ADDRESS" of each task here, "peer ADDRESS UNDERLAY LLADDR" of each elsewhere. Without peers there
// is no device.
std::string network_text(const Network& network);

}  // namespace dove::containers
