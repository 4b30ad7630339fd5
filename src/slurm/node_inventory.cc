#include "slurm/node_inventory.h"

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>
#include <numeric>
#include <utility>
#include <vector>

namespace dove::slurm {

std::string model_of(std::string_view type) {
  const std::size_t at = type.rfind('_');
  if (at == std::string_view::npos || at == 0 || at + 1 == type.size()) return std::string(type);
  const std::string_view number = type.substr(at + 1);
  const bool is_number =
      std::all_of(number.begin(), number.end(), [](unsigned char c) { return std::isdigit(c); });
  return std::string(is_number ? type.substr(0, at) : type);
}

namespace {

// Slurm sets aside the last core of the last socket, of the one before it, and so on, then their
// last but one (node_mgr.c).
int cores_for_jobs(const NodeSeen& node, int socket) {
  const int turn = node.sockets - 1 - socket;
  const int aside = (node.cores_set_aside - turn + node.sockets - 1) / node.sockets;
  return node.cores_per_socket - std::max(aside, 0);
}

}  // namespace

nlohmann::json inventory_json(const NodeSeen& node) {
  nlohmann::json numa = nlohmann::json::array();
  for (int socket = 0; socket < node.sockets; ++socket) {
    std::vector<int> cores(static_cast<std::size_t>(cores_for_jobs(node, socket)));
    std::iota(cores.begin(), cores.end(), socket * node.cores_per_socket);
    numa.push_back({{"cores", cores}, {"memory_bytes", node.memory_bytes / node.sockets}});
  }
  nlohmann::json devices = nlohmann::json::array();
  for (const std::string& type : node.device_types) {
    devices.push_back({{"kind", "gpu"}, {"model", model_of(type)}, {"numa_node", -1}});
  }
  return {{"numa", std::move(numa)},
          {"devices", std::move(devices)},
          {"memory_bytes", node.memory_bytes}};
}

}  // namespace dove::slurm
