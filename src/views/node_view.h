// A node as the API shows it.
//
// Pure. Include only from .cc files: it brings nlohmann/json_fwd.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "core/state/state.h"

namespace dove::views {

// GET /v1/nodes/{name}.
nlohmann::json node_json(const core::State& state, const core::Node& node);
// GET /v1/nodes?brief=1: what a map of every device shows. `use`: how busy its devices are, in
// hundredths of a percent, by number; those that are not there were not measured.
nlohmann::json node_brief_json(const core::State& state, const core::Node& node,
                               const std::map<std::int32_t, std::int32_t>& use);
// The node's name, or "node 7" for one that the state does not have.
std::string node_name(const core::State& state, NodeId id);

}  // namespace dove::views
