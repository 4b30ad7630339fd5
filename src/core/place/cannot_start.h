// Why a job can never start on the nodes of its pool: one sentence for each group, with what was
// asked for and what exists.
//
// It considers the nodes as if they were empty, connected and not drained, so the answer stays true
// until nodes join or change. It does not find everything: the combined effect of several limits is
// left to explain. Pure. It examines as many nodes as the job needs, and all of them only if it
// finds too few.
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
