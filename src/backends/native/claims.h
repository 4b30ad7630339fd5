// Claims: what an agent says that it has seen of the log, and whether this log is still that one
// (api/agent-protocol.md).
//
// A claim without proof is the agent's own word, and no reason to stop. What was reported before
// the log was restored is no claim about this one (docs/decisions/0030-incarnations.md). Loop
// thread only. Include only from .cc files of this part.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "backends/native/agents.h"
#include "protocol/session.h"

namespace dove::backends {

// This log ends before what the agent has seen: `log_head_behind` when that is proven, else
// `claim_not_proven`, which concerns this node only.
std::optional<Error> behind(const Agents& agents, const std::string& node,
                            const protocol::Machine& machine);
// Calls `done`, now or later: `log_rewound` when this log has another record where it ended when
// the agent was told; or that the store could not be asked. REQUIRES: not behind().
void check_chain(Agents& agents, const std::string& node, const protocol::Machine& machine,
                 std::function<void(const std::optional<Error>&)> done);
// Records were lost: the controller must not go on.
bool is_loss(const Error& error);
// Whether this cluster's controllers, of whatever incarnation, told it what it has seen.
bool is_proven(const Agents& agents, const protocol::Machine& machine);

}  // namespace dove::backends
