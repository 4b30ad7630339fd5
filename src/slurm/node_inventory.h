// A node's inventory from Slurm's configuration, for nodes without an agent of ours.
//
// Pure.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "slurm/observed.h"

namespace dove::slurm {

// The model that a GRES type stands for: "h200" of "h200_3", where each device has a type of its
// own (docs/operate/slurm.md); else the type itself.
std::string model_of(std::string_view type);

// As an agent of ours says it (codec/json.h): a NUMA node for each socket, whose cores are numbered
// through, less those that no job gets (by CoreSpecCount=; which ones CpuSpecList= names is not
// known, only how many), and the devices in the order of their indices. What Slurm does not know
// (the devices' memory, what they are bound to, links) is not in it.
nlohmann::json inventory_json(const NodeSeen& node);

}  // namespace dove::slurm
