// The values of a job's secrets, for an agent that is to start its tasks. Loop thread only.
#pragma once

#include "backends/native/agents.h"

namespace dove::backends {

// Answers with them, if the attempt has a placement on the caller's node that is not over. They
// stand in no order, so neither the log nor the agent's records hold them.
void give_secrets(Agents& agents, CallPtr call);

}  // namespace dove::backends
