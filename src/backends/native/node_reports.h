// What agents report of their nodes, not of placements: findings, tests, remedies.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "base/result.h"
#include "core/state/state.h"
#include "model/event.h"

namespace dove::backends {

bool is_node_report(const std::string& kind);

// A node, or the way from it to another, failed what is tried before tasks start.
Event read_preflight_failure(const nlohmann::json& item, const core::State& state, NodeId node);

// The event that one entry of a report's "events" stands for; none when it says what the ledger has
// already. REQUIRES: is_node_report of its kind.
Result<std::optional<Event>> read_node_report(const nlohmann::json& item, const core::Node& node);

}  // namespace dove::backends
