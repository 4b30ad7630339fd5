// Jobs whose ranks have fallen silent: what the State records about them, and the consequences.
//
// The controller observes hangs (HangObserved, HangEnded), and the cluster's `on_hang` decides what
// follows. Each hang is a finding on a node: `rank_hang` on the node of the one rank that all
// others wait for, which counts among the node's faults, or else `gang_hang` on the first rank's
// node. Pure; the folds are called by apply only.
#pragma once

#include <string>

#include "core/state/state.h"

namespace dove::core {

// "job 7: rank 2 is silent at step 8 for 600 s, the other 2 wait for it".
std::string hang_text(JobId job, const Hang& hang);

// REQUIRES: the event is about `job`'s current attempt.
void fold_hang(State& state, const Job& job, const HangObserved& event);
// It is over: a rank reported a step, or the attempt has ended. Without a hang nothing changes.
void end_hang(State& state, JobId job);

// Why the active job is to be stopped for it; kNone: there is none, or people decide.
StopReason stop_reason_by_hang(const State& state, const Job& job);

// How long the current attempt got on: until its ranks fell silent, else until now.
Span ran_well(const State& state, const Job& job);

}  // namespace dove::core
