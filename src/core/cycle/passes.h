// The passes of the cycle: functions that each start from the state the previous one left.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "core/cycle/indexes.h"
#include "core/cycle/pass.h"
#include "core/queue/policy.h"
#include "core/state/state.h"
#include "model/event.h"

namespace dove::core {

// One decide under way.
struct Cycle {
  State& state;
  Indexes& indexes;
  const Policies& policies;
  bool places = true;  // kPlace is not switched off
  // kPromise has kept what promises it can, and waits for kPlace to try what that opened.
  bool promises_kept = false;
  // When which jobs left places for others, ascending: once it was asked for (kept_room.h).
  std::optional<std::vector<std::pair<Instant, JobId>>> left_by_preempted = std::nullopt;
  std::vector<Decision> decisions = {};

  // Applies the decision and brings the indexes up to date.
  void emit(Decision decision);
};

// The pass that the cycle goes back to; none: on to the next one.
using Back = std::optional<Pass>;

Back expire(Cycle& cycle);
Back maintain_nodes(Cycle& cycle);
Back finish(Cycle& cycle);
Back resolve_dependencies(Cycle& cycle);
Back order(Cycle& cycle);
Back place(Cycle& cycle);
Back promise(Cycle& cycle);
Back preempt(Cycle& cycle);
Back pass_barriers(Cycle& cycle);
Back purge(Cycle& cycle);

}  // namespace dove::core
