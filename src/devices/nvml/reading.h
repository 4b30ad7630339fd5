// What one GPU says of itself through NVML, as the fields that DCGM names.
#pragma once

#include "devices/nvml/library.h"
#include "devices/readings.h"

namespace dove::devices::nvml {

// Adds the values that this GPU and driver know. False when it does not answer any more.
bool read_values(const Library& library, Handle gpu, DeviceSample& sample);

}  // namespace dove::devices::nvml
