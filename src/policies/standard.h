// The policies that every program uses unless told otherwise.
#pragma once

#include <string>

#include "core/queue/policy.h"

namespace dove::policies {

// PriorityFifo and BestFit where settings name no others. Lives as long as the program.
const core::Policies& standard_policies();

// What ControllerStarted logs: the passes and policies by name and version.
std::string policy_digest(const core::Policies& policies);

}  // namespace dove::policies
