#include "cli/slurm/node_json.h"

#include <fmt/format.h>

namespace dove::cli {
namespace {

using nlohmann::json;

constexpr int kMebibyte_shift = 20;

std::string gpu_gres(std::int64_t count) { return count == 0 ? "" : fmt::format("gpu:{}", count); }

std::string tres_text(std::int64_t cores, std::int64_t memory_mib, std::int64_t gpus) {
  std::string text = fmt::format("cpu={}", cores);
  if (memory_mib > 0) text += fmt::format(",mem={}M", memory_mib);
  if (gpus > 0) text += fmt::format(",gres/gpu={}", gpus);
  return text;
}

// What the node is besides its state: "drained" is idle or down, and no longer in use.
struct StateWords {
  std::string state;
  json flags = json::array();
};

StateWords state_words(const NodeView& node) {
  StateWords words;
  if (!node.up()) return {"down", json::array({"NOT_RESPONDING"})};
  words.state = !node.busy() ? "idle" : node.cores_free == 0 ? "allocated" : "mixed";
  if (node.state != "ready") words.flags.push_back("DRAIN");
  return words;
}

json node_json(const NodeInPartitions& one) {
  const NodeView& node = one.node;
  const StateWords words = state_words(node);
  const std::int64_t memory = node.memory_bytes >> kMebibyte_shift;
  const std::int64_t memory_free = node.memory_free_bytes >> kMebibyte_shift;
  const std::int64_t used = node.cores - node.cores_free;
  // One that is shared is in use.
  const std::int64_t gpus_used = node.gpus - node.gpus_free_milli / 1000;
  std::string features;
  for (const std::string& name : node.features) features += (features.empty() ? "" : ",") + name;
  return {{"name", node.name},
          {"hostname", node.name},
          {"address", node.address},
          {"state", words.state},
          {"state_flags", words.flags},
          {"partitions", one.partitions},
          {"reason", node.drain_reason},
          {"features", features},
          {"active_features", features},
          {"cpus", node.cores},
          {"alloc_cpus", used},
          {"idle_cpus", node.cores_free},
          {"boards", 1},
          {"sockets", 1},
          {"cores", node.cores},
          {"threads", 1},
          {"real_memory", memory},
          {"alloc_memory", memory - memory_free},
          {"free_memory", memory_free},
          {"temporary_disk", 0},
          {"weight", 1},
          {"gres", gpu_gres(node.gpus)},
          {"gres_used", gpu_gres(gpus_used)},
          {"tres", tres_text(node.cores, memory, node.gpus)},
          {"tres_used", tres_text(used, memory - memory_free, gpus_used)}};
}

}  // namespace

json slurm_meta(const char* plugin, const char* name) {
  return {{"plugin", {{"type", plugin}, {"name", name}}},
          {"Slurm",
           {{"version", {{"major", 22}, {"minor", 5}, {"micro", 8}}}, {"release", "22.05.8"}}}};
}

json nodes_json(const std::map<std::string, NodeInPartitions>& nodes) {
  json list = json::array();
  for (const auto& [name, one] : nodes) list.push_back(node_json(one));
  return {{"meta", slurm_meta("openapi/v0.0.38", "Slurm OpenAPI v0.0.38")},
          {"errors", json::array()},
          {"nodes", std::move(list)}};
}

}  // namespace dove::cli
