// Consequences of a log that continues from a backup (docs/decisions/0030-incarnations.md).
//
// Numbers that were assigned after the backup are not assigned again. Jobs from before it wait
// until no node can hold an attempt of theirs that the log does not know; such attempts are
// adopted. Pure; part of the fold.
#pragma once

#include <optional>

#include "core/state/state.h"

namespace dove::core {

// REQUIRES: the batch's instant is that of the last one before the restore, its term the first one
// of the incarnation.
void fold_restored(State& state, const ClusterRestored& event);

// A node was heard of, or counts as lost: when it was the last one, jobs of before may start, a
// grace and a fence later. Nodes that joined after the backup have been refused by then.
void node_settled(State& state);

// An agent holds an attempt that the log does not know. After a restore the job goes on with it, if
// it is known and has not ended; what it holds there is not known, and so no part of the books: its
// node takes nothing new meanwhile (kUnknownWork_check). Else nothing is changed.
void adopt(State& state, const UnknownTaskObserved& event);
bool adopts(const State& state, const UnknownTaskObserved& event);

// The number of the job's next attempt: higher than all that may have been given before a restore.
AttemptNumber next_attempt(const State& state, const Job& job);

// The job waits for nodes that have not been heard of since the restore, until then at the latest;
// none: it does not.
std::optional<Instant> awaits_nodes_until(const State& state, const Job& job);

// Its amounts are not known: it was adopted.
bool is_adopted(const Placement& placement);

// The finding of a node that holds work the restored log does not know, or knows no amounts of.
inline constexpr char kUnknownWork_check[] = "unknown_work";

}  // namespace dove::core
