// An adapter's report about the placeholders that its scheduler holds for us
// (core/state/executors/placeholders.h). Pure.
#pragma once

#include <string>
#include <vector>

#include "core/executors/observation.h"

namespace dove::core {

// What is new of them, and that placements are prepared by them. One is confirmed once the ledger
// has nobody else on the cores that it was given.
void add_placeholders(const State& state, const std::string& executor, const Observation& said,
                      std::vector<Event>& events);

}  // namespace dove::core
