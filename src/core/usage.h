// What declarations do to usage: which queues jobs count towards, and whether devices are counted
// by model.
//
// Each of these leaves usage, and past use up to now, as counting all jobs anew would. Only apply
// calls them.
#pragma once

#include <string>

#include "core/state.h"

namespace dove::core {

// Counts all usage anew: a pass over all jobs.
void rebuild_usage(State& state);

// After limits or guarantees changed. Passes over jobs only if devices are to be counted by model
// from now on, or no more.
void settle_usage(State& state);

// Declares the queue, or deletes it unless it is the default. Passes over jobs where settle_usage
// does, and if jobs in it, or below it, count towards other queues than before.
void put_queue(State& state, const Queue& queue);
void drop_queue(State& state, const std::string& name);

}  // namespace dove::core
