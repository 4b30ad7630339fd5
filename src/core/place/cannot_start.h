// What keeps a job from ever starting, by what the nodes of its pool are: in one sentence for each
// group, naming what was asked and what there is.
//
// Looks at the nodes as they would be when empty, connected and not drained; so what it says is
// true until nodes join or change. It does not find everything: what several limits do together is
// left to explain. Pure; looks at as many nodes as the job needs, at all only when it finds too
// few.
#pragma once

#include <string>
#include <vector>

#include "core/state/state.h"

namespace dove::core {

// "needs 1 A100; pool default has none (it has 4 H200)". Empty: it may start some day.
// REQUIRES: the pool exists.
std::vector<std::string> cannot_start(const State& state, const JobSpec& spec);

// "both nodes of pool default are drained (test)", when all that could hold the job are; else "".
std::string all_drained(const State& state, const JobSpec& spec);

}  // namespace dove::core
