// The cores of a placement after an executor has reported which ones it holds for it.
//
// The ledger and the executor's scheduler choose cores independently; only the cores that the
// executor gave are certain to belong to nobody else there. A placement that has not started
// therefore takes these over, as many as it was granted. A job that was to have them, because it
// waits for a placeholder or was promised a place, gets the cores that the placement leaves. A
// running job stays where it is pinned. Pure; called by the folds only.
#pragma once

#include "core/state/state.h"

namespace dove::core {

// The job that the ledger has pinned to one of the cores, so that the placement of `key` cannot
// take them over yet; nullptr: none, or the placement has started. REQUIRES: the node is there.
const Job* pinned_job(const State& state, const PlaceholderKey& key, const CoreSet& cores);

// `given`: what the executor holds by its placeholder `key`. Nothing happens where the placement
// has started or ended, or another executor has said before what it holds. The node's books follow.
void take_given_cores(State& state, const PlaceholderKey& key, const CoreSet& given);

}  // namespace dove::core
