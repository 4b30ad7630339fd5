// How declarations and reports about executors change the State. Called by apply only.
#pragma once

#include <cstdint>
#include <string>

#include "core/state/state.h"

namespace dove::core {

void declare_executor(State& state, const Executor& executor);
// What it ran is not known any more, what it held for us not wanted.
void drop_executor(State& state, const std::string& name);

// A node that joined, came back with another inventory, or was tested: what executors have there
// counts again.
void settle_executors(State& state, Node& node);

// The log is of that level from here on; a lower one changes nothing.
void raise_level(State& state, std::int32_t level);
// Notes on nodes what follows from the level of the log. Their books stay as they are.
void note_level(State& state);

// Reports about nodes or executors that are not declared change nothing.
void fold(State& state, const ForeignAllocationObserved& event);
void fold(State& state, const ForeignAllocationEnded& event);
void fold(State& state, const ExecutorNodeObserved& event);
void fold(State& state, const ExecutorContactChanged& event);
// A refusal ends an attempt that has not begun; what runs goes on.
void fold(State& state, const PlaceholderMoved& event);

}  // namespace dove::core
