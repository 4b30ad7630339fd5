#include "model/rendezvous.h"

#include <fmt/format.h>

namespace dove {
namespace {

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

int master_port(JobId job, AttemptNumber attempt, std::int32_t step) {
  const std::uint64_t mixed =
      job.value * 37 + attempt * 11 + static_cast<std::uint64_t>(step) * 101;
  return 20'000 + static_cast<int>(mixed % 12'000);
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

}  // namespace dove
