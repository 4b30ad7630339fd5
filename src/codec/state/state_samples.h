// A state with something of everything: for tests of whatever stores or shows states. Pure.
#pragma once

#include "core/state/state.h"

namespace dove::codec {

core::State sample_state();

}  // namespace dove::codec
