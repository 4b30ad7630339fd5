#include "agent/attempts/order.h"

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>
#include <utility>

#include "containers/network.h"

namespace dove::agent {
namespace {

void give_gang_addresses(std::vector<PeerNode>& nodes) {
  for (PeerNode& node : nodes) {
    if (!node.ranks.empty()) node.address = containers::network_address(node.ranks.front());
  }
}

// Where the job left the choice to us, one node decides for itself; several would have to agree, so
// the controller decided when the job came, if it could (server/job_writes.cc).
void choose_network(LaunchOrder& order) {
  const ContainerSpec& container = order.exec.container;
  if (container.image.empty()) return;
  switch (container.network) {
    case ContainerNetwork::kDefault:
      order.in_network = order.nodes.size() == 1 && order.has_network;
      if (order.nodes.size() > 1) {
        order.no_network =
            "containers have the nodes' own network: when the job was submitted, not all nodes of "
            "the cluster offered a gang network that reaches other nodes (dove nodes NAME); "
            "--container-network says which one is wanted";
      } else if (!order.has_network) {
        order.no_network =
            "containers have the node's own network: it offers no gang network (dove nodes NAME); "
            "--container-network says which one is wanted";
      }
      break;
    case ContainerNetwork::kHost:
      break;
    case ContainerNetwork::kGang:
      order.in_network = true;
      break;
  }
  if (order.in_network) give_gang_addresses(order.nodes);
}

bool is_link_id(const std::string& id) {
  return !id.empty() && std::all_of(id.begin(), id.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '_' || c == '-';
  });
}

}  // namespace

Result<LaunchOrder> read_launch_order(const nlohmann::json& line, bool has_network) {
  TRY_ASSIGN(const protocol::Order head, protocol::read_order(line));
  TRY_ASSIGN(protocol::Launch launch, protocol::read_launch(line));
  LaunchOrder order{std::move(launch), head.key, has_network, false, ""};
  const bool own = order.run_as == RunAs::kAgent || order.run_as == RunAs::kVirtual;
  if (own) order.linux_user.clear();
  choose_network(order);
  return order;
}

Result<void> check(const ExecOrder& order) {
  if (is_link_id(order.id) && !order.program.command.empty()) return {};
  return Error{ErrorKind::kInvalid, "malformed_message", "an exec has an id and a command", "exec"};
}

Result<void> check(const ForwardOrder& order) {
  const bool has_one_target = (order.port == 0) != order.socket.empty();
  if (is_link_id(order.id) && has_one_target && order.port >= 0 && order.port <= 65535) return {};
  return Error{ErrorKind::kInvalid, "malformed_message",
               "a forward has an id, and a port or a socket", "forward"};
}

}  // namespace dove::agent
