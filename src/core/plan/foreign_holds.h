// Foreign holds: what executors run for others on a node, as the plan has it.
//
// Each foreign allocation is a hold until the instant at which it says that it ends. One that says
// none, or should have ended by now, holds without end, as a job of ours does that is over its
// limit. What several hold is free when the last of them has ended. Cores that are kept for others
// later are promised to them.
#pragma once

#include <cstdint>
#include <set>

#include "core/plan/plan.h"

namespace dove::core {

// Until when it holds what it has, as far as is known now.
Instant foreign_end(const State& state, const ForeignAllocation& one);

// Whether an end of one of them is known: then more may be free on the node later.
bool has_foreign_ends(const Node& node);

// Adds a hold for each. REQUIRES: the holds of our own jobs are in the plan, and no promise is.
void add_foreign_holds(const State& state, const Node& node, NodePlan& plan);

// Adds what is kept there for others from a later instant on: cores by id, as a promise has them.
// REQUIRES: the steps of the plan are there.
void add_to_come(const State& state, const Node& node, NodePlan& plan);

// What executors hold on a node beyond an instant, as they said; one that is late since is not
// among them: a promise behind it is late, too, as behind a job of ours.
struct ForeignParts {
  CoreSet cores;
  std::set<std::int32_t> devices;
};
ForeignParts lasting_foreign(const Node& node, Instant at);

// Takes off what is not given back by `from`: what is reserved for the system now, or held by
// executors then.
void keep_open(const State& state, const Node& node, Instant from, FreeBooks& books);

}  // namespace dove::core
