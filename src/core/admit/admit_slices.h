// Admission of slices: a job is refused at submission if no device of its pool can be cut into the
// slices that it asks for.
#pragma once

#include <string>

#include "base/result.h"
#include "core/state/state.h"

namespace dove::core {

// Whether the request's slices are well said: a name, a number, nothing beside them.
Result<void> check_slices(const Request& request, const std::string& field);

// Refuses profiles that no device of the pool has, listing those that there are, and more slices on
// a node than any node of the pool can hold when idle. A pool without devices refuses nothing: the
// job waits for some. REQUIRES: the spec's pool exists.
Result<void> check_slices_of_pool(const State& state, const JobSpec& spec);

}  // namespace dove::core
