// The queue whose use foreign allocations count towards: an executor's account may stand for a
// queue of ours.
//
// Such a queue, and all queues above it, use what the allocations hold, for share, guarantee and
// limits. Pure; the fold is called by apply only.
#pragma once

#include <string>

#include "core/state/state.h"

namespace dove::core {

// The queue that the executor's account stands for; null: none.
const std::string* queue_of(const State& state, const std::string& executor,
                            const std::string& account);

// Adds what the allocation holds to `usage`, or takes it away.
void add_foreign_use(const State& state, const Node& node, const ForeignAllocation& allocation,
                     Usage& usage, int sign);

// Counts it towards its queue and all above it, whose past use is charged first.
void count_foreign(State& state, const Node& node, const std::string& executor,
                   const ForeignAllocation& allocation, int sign);
// All that the executor runs, or all that any does.
void count_all_foreign(State& state, const std::string& executor, int sign);
void count_all_foreign(State& state, int sign);

}  // namespace dove::core
