// The cores of a placement once an executor has said which ones it holds for it.
//
// The ledger chooses cores, and so does the executor's scheduler, without knowing of each other:
// only those that the executor gave are nobody else's there. So a placement that has not started
// takes these over, as many as it was granted, and who was to have them, waiting for a placeholder
// or promised a place, gets the ones that it leaves. What runs already stays where it is pinned.
// Pure; called by the folds only.
#pragma once

#include "core/state/state.h"

namespace dove::core {

// `given`: what the executor holds by its placeholder `key`. Nothing happens where the placement
// has started or ended, or another executor has said before what it holds. The node's books follow.
void take_given_cores(State& state, const PlaceholderKey& key, const CoreSet& given);

}  // namespace dove::core
