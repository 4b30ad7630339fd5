// The id of this boot of the machine: a new one proves that nothing started before it is still
// running.
#pragma once

#include <string>

#include "base/result.h"

namespace dove::agent {

// The kernel's, or DOVE_BOOT_ID of the environment where set: emulated nodes share a kernel.
Result<std::string> boot_id();

}  // namespace dove::agent
