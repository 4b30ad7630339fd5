// What devices say of themselves, as findings for the controller.
#pragma once

#include <vector>

#include "devices/device_watch.h"
#include "model/health.h"

namespace dove::programs {

// One for each device and check that says more than it did: error numbers of NVIDIA's driver that
// are not the program's own fault, rows that could not be remapped, and devices that are gone.
std::vector<Finding> findings_of(const devices::Sighting& seen);

}  // namespace dove::programs
