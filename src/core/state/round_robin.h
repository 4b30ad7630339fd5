// Round robin: when State::round_robin, the cursor of each pool, is kept, and which jobs move it
// on.
#pragma once

#include <string_view>

#include "core/state/state.h"

namespace dove::core {

// Whether people may call a policy so: with or without its version, "-" and "_" being the same.
// `full`: as the policy says.
bool is_called(std::string_view full, std::string_view name);

// Whether the settings' placement goes around the nodes: State::round_robin is kept then, and only
// then. Told by the policy's name, since folding knows no policies.
bool is_round_robin(const ClusterSettings& settings);

// Whether jobs like this are placed by any score: one task that asks for cores, memory and plain
// devices, on any node of its pool.
bool is_scored(const JobSpec& spec);
// As is_scored, or without any devices: what scores that learn place.
bool is_plain_task(const JobSpec& spec);

}  // namespace dove::core
