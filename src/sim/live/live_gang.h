// LiveGang: the nodes and jobs of a trace of gangs as the live scheduler takes them.
#pragma once

#include <cstdint>
#include <memory>

#include "model/job.h"
#include "model/node.h"

namespace dove::sim {

// A node with `gpus` equal GPUs.
std::shared_ptr<const Inventory> live_node(std::int64_t gpus);

// A job of `gpus` GPUs: on one node if one of `gpus_per_node` holds it, else on whole ones and the
// remainder on one more.
JobSpec live_gang(std::int64_t gpus, std::int64_t gpus_per_node);

}  // namespace dove::sim
