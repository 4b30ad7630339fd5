#include "agent/tasks/rendezvous.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace dove::agent {
namespace {

std::string address_of(const std::string& address) {
  return address.empty() ? "127.0.0.1" : address;
}

}  // namespace

Rendezvous rendezvous_of(const LaunchOrder& order) {
  Rendezvous found;
  for (const PeerNode& node : order.nodes) {
    found.nodes.push_back({address_of(node.address), node.ranks});
  }
  found.id = order.key.text();
  found.port = master_port(order.key.job, order.key.attempt);
  return found;
}

Rendezvous rendezvous_of(const LaunchOrder& order, const StepOrder& step) {
  Rendezvous found;
  Rank next = 0;
  for (std::size_t i = 0; i < step.nodes.size(); ++i) {
    const auto peer =
        std::find_if(order.nodes.begin(), order.nodes.end(),
                     [&](const PeerNode& node) { return node.name == step.nodes[i]; });
    Rendezvous::Node node;
    node.address = address_of(peer == order.nodes.end() ? "" : peer->address);
    const std::int32_t tasks = i < step.tasks_per_node.size() ? step.tasks_per_node[i] : 0;
    for (std::int32_t k = 0; k < tasks; ++k) node.ranks.push_back(next++);
    found.nodes.push_back(std::move(node));
  }
  found.id = fmt::format("{}.{}", order.key.text(), step.step);
  found.port = master_port(order.key.job, order.key.attempt, step.step);
  return found;
}

}  // namespace dove::agent
