#include "agent/tasks/rendezvous.h"

#include <fmt/format.h>

#include <algorithm>

namespace dove::agent {
namespace {

std::string address_of(const std::string& address) {
  return address.empty() ? "127.0.0.1" : address;
}

std::size_t world_size(const Rendezvous& rendezvous) {
  std::size_t size = 0;
  for (const Rendezvous::Node& node : rendezvous.nodes) size += node.ranks.size();
  return size;
}

// {"cluster":{"worker":["a:p",...]},"task":{"type":"worker","index":i}}; addresses are plain.
std::string tf_config(const Rendezvous& rendezvous, Rank rank) {
  std::vector<std::string> workers(world_size(rendezvous));
  for (const Rendezvous::Node& node : rendezvous.nodes) {
    for (const Rank r : node.ranks) {
      if (r >= workers.size()) continue;
      workers[r] = fmt::format("\"{}:{}\"", node.address, rendezvous.port + 1 + r);
    }
  }
  return fmt::format(R"({{"cluster":{{"worker":[{}]}},"task":{{"type":"worker","index":{}}}}})",
                     fmt::join(workers, ","), rank);
}

}  // namespace

int master_port(AttemptKey key, std::int32_t step) {
  const std::uint64_t mixed =
      key.job.value * 37 + key.attempt * 11 + static_cast<std::uint64_t>(step) * 101;
  return 20'000 + static_cast<int>(mixed % 12'000);
}

Rendezvous rendezvous_of(const LaunchOrder& order) {
  Rendezvous found;
  for (const PeerNode& node : order.nodes) {
    found.nodes.push_back({address_of(node.address), node.ranks});
  }
  found.id = order.key.text();
  found.port = master_port(order.key);
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
  found.port = master_port(order.key, step.step);
  return found;
}

RankVariables rank_variables(const Rendezvous& rendezvous, const RankPlace& place) {
  RankVariables e;
  const std::string master =
      rendezvous.nodes.empty() ? "127.0.0.1" : rendezvous.nodes.front().address;
  const auto here = static_cast<std::size_t>(place.node_rank);
  const std::size_t local_size =
      here < rendezvous.nodes.size() ? rendezvous.nodes[here].ranks.size() : 1;
  e["MASTER_ADDR"] = master;
  e["MASTER_PORT"] = std::to_string(rendezvous.port);
  e["WORLD_SIZE"] = std::to_string(world_size(rendezvous));
  e["RANK"] = std::to_string(place.rank);
  e["LOCAL_RANK"] = std::to_string(place.local_rank);
  e["LOCAL_WORLD_SIZE"] = std::to_string(local_size);
  e["NODE_RANK"] = e["GROUP_RANK"] = std::to_string(place.node_rank);
  e["TF_CONFIG"] = tf_config(rendezvous, place.rank);
  // What `torchrun` reads in place of its flags, one torchrun per node.
  e["PET_NNODES"] = std::to_string(rendezvous.nodes.size());
  e["PET_NODE_RANK"] = std::to_string(place.node_rank);
  e["PET_MASTER_ADDR"] = master;
  e["PET_MASTER_PORT"] = e["MASTER_PORT"];
  e["PET_RDZV_ID"] = rendezvous.id;
  e["PET_RDZV_BACKEND"] = "c10d";
  e["PET_RDZV_ENDPOINT"] = master + ":" + e["MASTER_PORT"];
  return e;
}

std::string given_text(const RankVariables& variables) {
  std::string text;
  for (const auto& [name, value] : variables) {
    text += fmt::format("{}{}={}", text.empty() ? "" : " ", name, value);
  }
  return text;
}

}  // namespace dove::agent
