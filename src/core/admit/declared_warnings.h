// What of a declared object has no effect, or contradicts what was declared beside it.
#pragma once

#include <string>
#include <vector>

#include "core/queue/policy.h"
#include "core/state/state.h"

namespace dove::core {

// For the people who declare it, in words. `state` has it in force already. Pure.
std::vector<std::string> declared_warnings(const State& state, const Policies& policies,
                                           const Declared& object);

}  // namespace dove::core
