// Whether a boot may be declared, armed, and used for a token. Pure. Errors name the remedy.
#pragma once

#include "base/result.h"
#include "core/state/state.h"
#include "model/event.h"

namespace dove::core {

// Error: kConflict level_needed for a BootConfig; other objects pass.
Result<void> check_boot(const State& state, const Declared& object);
// Errors: kConflict level_needed; kNotFound no_boot_config; kConflict boot_not_armed, of one that
// is taken back.
Result<void> check_boot(const State& state, const BootArmed& event);
// Errors: those of may_boot() (core/state/boot/boots.h). When two ask at once, one is refused.
Result<void> check_boot(const State& state, const BootTokenIssued& event);

}  // namespace dove::core
