// Parts of a declared object that have no effect, or contradict what was declared beside it.
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
