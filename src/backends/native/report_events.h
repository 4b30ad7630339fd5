// The events that an agent's report causes in the ledger.
#pragma once

#include <optional>
#include <vector>

#include "core/state/state.h"
#include "model/event.h"
#include "protocol/reports.h"

namespace dove::backends {

// The event that the report of `node` stands for; none when it says what the ledger has already, or
// what is no business of the ledger's (a step's end, progress, shares, warnings).
std::optional<Event> event_of(const protocol::Report& report, const core::State& state,
                              const core::Node& node);

// The attempts of which nothing is left on the node.
std::vector<protocol::AttemptKey> ended_in(const std::vector<protocol::Report>& reports);

}  // namespace dove::backends
