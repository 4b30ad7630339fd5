// The hash of a State: how two machines, or a log and its fold, are found to agree.
#pragma once

#include <cstdint>

#include "core/state/state.h"

namespace dove::core {

// Digest over everything in State but what is derived from the rest. Equal states give equal
// digests on every machine.
std::uint64_t state_hash(const State& state);

}  // namespace dove::core
