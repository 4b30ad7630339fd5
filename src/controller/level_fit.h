// Whether a record of the cluster's level can hold what somebody asks for.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "model/event.h"

namespace dove::controller {

// Error: kConflict `level_needed`.
Result<void> check_level(const StampedEvent& event, std::int32_t level);

}  // namespace dove::controller
