// How promises keep a job from starting now.
#pragma once

#include <vector>

#include "core/explain/explain_index.h"
#include "core/state/state.h"
#include "model/reason.h"

namespace dove::core {

// Adds to the causes why a waiting job is not started what promises have to do with it: that what
// is free is kept, or that nothing can be promised to it.
// `available`: the nodes of its pool that jobs can be started on.
void explain_plan(ExplainIndex& index, WhatIf& available, const Job& job, std::vector<Reason>& out);

}  // namespace dove::core
