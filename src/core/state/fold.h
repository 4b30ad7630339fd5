// The part of the fold that events and decisions share: state changes of jobs, attempts and
// placements.
#pragma once

#include "core/state/state.h"

namespace dove::core {

// The job's current attempt, while it is active.
Attempt* current_attempt(Job& job);
PlacementRecord* find_placement(Attempt& attempt, NodeId node);

void set_stage(State& state, Attempt& attempt, Stage stage);
// Raises the stage by what the placements have reached.
void advance_stage(State& state, Attempt& attempt);

// What the placement held is free. REQUIRES: it has not ended.
void end_placement(State& state, Job& job, PlacementRecord& record);
// All that our agent held there has ended with it: the node is lost, was rebooted, or is gone.
void lose_placements(State& state, Node& node);

// How often in a row the job will have been requeued by what was not its own doing: nodes and shims
// that were lost, launches that failed, ranks that hung. An attempt that got on for kProgress
// begins the count anew.
std::int32_t requeues_after(const State& state, const Job& job, StopReason reason);
constexpr Span kProgress = seconds(600);

// A rank ends once: later reports of its end are ignored.
void add_exit(Attempt& attempt, const TaskExit& exit);

void avoid(Job& job, NodeId node);
void set_contact(State& state, Node& node, Contact contact);

}  // namespace dove::core
