// The only real clock of the system: every other part is handed its instants.
//
// Thread-safe.
#pragma once

#include <cstdint>

namespace dove::telemetry {

// Microseconds since 1970 UTC. May step backwards when the machine's clock is set.
std::int64_t now_us();

// Microseconds since boot, time asleep included. Never decreases; means nothing on another machine.
std::int64_t monotonic_us();

}  // namespace dove::telemetry
