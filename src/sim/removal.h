// Removal: a State as it would be were one reason gone that explain gave for a job.
//
// Each kind of reason has one removal; a new kind does not compile without one. The edits touch
// what the reason is about and nothing else; books that no history could lead to are the point.
#pragma once

#include "core/queue/policy.h"
#include "core/state/state.h"
#include "model/reason.h"

namespace dove::sim {

// REQUIRES: the job waits; the reason is one that explain gave for it in this state, or in one that
// differs by removals of others. kAhead is about other jobs, kFragmented, kNoPlan and kPreemption
// are details: they remove nothing.
void remove_reason(core::State& state, JobId job, const Reason& reason);

// Nothing runs on any node, and nobody is there.
void empty_nodes(core::State& state);

}  // namespace dove::sim
