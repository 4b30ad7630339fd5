// Whether a promise can no longer be kept: its nodes, its parts of them, or its job are not there.
#pragma once

#include "core/cycle/passes.h"

namespace dove::core {

// Silent nodes and executors may come back in time.
bool is_void(Cycle& cycle, JobId id, const PromiseRecord& promise);

}  // namespace dove::core
