// How declaring and deleting objects changes the State. Called by apply only.
#pragma once

#include "core/state/state.h"

namespace dove::core {

void fold_applied(State& state, const Declared& object);
// What is not there stays so; the default pool and the settings of the cluster stay in any case.
void fold_deleted(State& state, const ObjectDeleted& event);

}  // namespace dove::core
