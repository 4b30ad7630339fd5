// Nodes as Slurm 22.05 writes them with --json (openapi v0.0.38): the members that programs read.
//
// Pure. Include only from .cc files of this part.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/client/views.h"

namespace dove::cli {

struct NodeInPartitions {
  NodeView node;
  std::vector<std::string> partitions;
};

// Which program answers, as each of Slurm's answers begins.
nlohmann::json slurm_meta(const char* plugin, const char* name);

// sinfo --json; by the names of the nodes.
nlohmann::json nodes_json(const std::map<std::string, NodeInPartitions>& nodes);

}  // namespace dove::cli
