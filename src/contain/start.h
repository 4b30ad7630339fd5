// What the processes that dove-contain is inside of a container have in common: they start a
// program and tell the shim how it fares (containers/place.h).
#pragma once

#include <sys/types.h>

#include <cstdint>

namespace dove::contain {

// Blocks all signals, and keeps the descriptor on which it tells from its programs.
void hide();
void tell(std::int32_t kind, std::int32_t value);
// Its pid once it executes, in a session of its own; else -1 and errno. `terminal`: descriptor 0 is
// to control the session.
pid_t start(char** argv, bool terminal);

}  // namespace dove::contain
