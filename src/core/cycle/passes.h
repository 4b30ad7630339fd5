// The passes of the cycle, each a function of the state as the former ones left it.
#pragma once

#include <vector>

#include "core/cycle/derived.h"
#include "core/queue/policy.h"
#include "core/state/state.h"
#include "model/event.h"

namespace dove::core {

// One decide under way.
struct Cycle {
  State& state;
  const Policies& policies;
  bool places = true;          // kPlace is not switched off
  bool makes_promises = true;  // nor is kBackfill
  std::vector<Decision> decisions = {};

  // Applies the decision and brings the indexes up to date.
  void emit(Decision decision);
};

void expire(Cycle& cycle);
void tend(Cycle& cycle);
void finish(Cycle& cycle);
void resolve_dependencies(Cycle& cycle);
void order(Cycle& cycle);
void place(Cycle& cycle);
void preempt(Cycle& cycle);
void pass_barriers(Cycle& cycle);
void retain(Cycle& cycle);

}  // namespace dove::core
