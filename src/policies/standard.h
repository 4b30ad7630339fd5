// The policies that every program uses unless told otherwise.
#pragma once

#include "core/policy.h"

namespace dove::policies {

// PriorityFifo and BestFit. Lives as long as the program.
const core::Policies& standard_policies();

}  // namespace dove::policies
