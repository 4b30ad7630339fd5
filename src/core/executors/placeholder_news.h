// An adapter's report about the placeholders that its scheduler holds for us
// (core/state/executors/placeholders.h). Pure.
#pragma once

#include <string>
#include <vector>

#include "core/executors/observation.h"

namespace dove::core {

// What is new of them, and that placements are prepared by them. What an agent of ours pins waits
// until the ledger has nobody else on the cores that its placeholder was given.
void add_placeholders(const State& state, const std::string& executor, const Observation& said,
                      std::vector<Event>& events);

// The placement that the placeholder is held for; nullptr: its attempt is not the current one.
const Placement* placement_of(const State& state, const PlaceholderKey& key);

}  // namespace dove::core
