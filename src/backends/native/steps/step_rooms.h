// StepRoom: what a step may take of one node of its job, and what its tasks there get. For
// step_layout.cc. Pure.
#pragma once

#include <optional>
#include <vector>

#include "backends/native/steps/step_layout.h"

namespace dove::backends {

struct StepRoom {
  const Placement* placement = nullptr;
  const Inventory* inventory = nullptr;  // of the node; null: not known
  StepHolding free;                      // devices: only those of the model that was asked for
  bool whole = true;                     // nobody holds anything of it
};

StepRoom whole_room(const core::Node& node, const Placement& placement, const StepRequest& request);
// What other steps have left.
StepRoom room_left(const StepRoom& whole, const StepRequest& request, StepHolding free);

// How many tasks of the step it has room for. `by_cores`: as many as there are cores, where the
// slots of the job are too few.
std::int32_t room_for(const StepRoom& room, const StepRequest& request, bool by_cores);

// How many devices each node of the step gets; empty when there are fewer. `tasks`: on each.
std::vector<std::int32_t> device_counts(const std::vector<StepRoom>& rooms,
                                        const std::vector<std::int32_t>& tasks,
                                        const StepRequest& request);

// The step's part of a node: `tasks` tasks with the first of `devices` devices. Ranks are not set.
// REQUIRES: room_for(room) >= tasks, or overcommit.
StepNode take_room(const StepRoom& room, const StepRequest& request, std::int32_t tasks,
                   std::int32_t devices);

}  // namespace dove::backends
