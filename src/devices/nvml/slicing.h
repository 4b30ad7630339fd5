// Cutting one GPU into slices (MIG: GPU instances with one compute instance each) through NVML.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "devices/accelerators.h"
#include "devices/nvml/library.h"
#include "model/placement.h"

namespace dove::devices::nvml {

// Whether the GPU is in the mode in which it has slices; false when it cannot be.
bool is_mig(const Library& library, Handle gpu);

// As Accelerators::arrange; the names are UUIDs ("MIG-…"). Instances that somebody made at a place
// that is wanted, with its processors, serve as they are. `capabilities`: the driver's folder in
// /proc that says which files open the slices of this GPU.
Result<CutSlices> arrange_slices(const Library& library, Handle gpu,
                                 const std::vector<SlicePlace>& places,
                                 const std::string& capabilities);

}  // namespace dove::devices::nvml
