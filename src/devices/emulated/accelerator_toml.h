// Accelerators as Backend.AI's mock plug-in describes them (mock-accelerator.toml): devices only.
//
//   slot_name = "cuda"                  # the family: cuda, rocm, or another name
//   devices = [{ mother_uuid = "…", model_name = "CUDA GPU", numa_node = 0, memory_size = "40G",
//                subproc_count = 108, is_mig_device = false }]
//
// Parts of one device (is_mig_device, the same mother_uuid) are that device, with the memory of all
// of them: slices are cut as jobs ask for them, not in advance. [attributes] and [formats] are for
// Backend.AI's own display and have no effect.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "model/node.h"

namespace dove::devices::emulated {

// Errors carry `name` and the line. At most 1 MiB.
Result<std::vector<Device>> parse_accelerator_toml(const std::string& text,
                                                   const std::string& name);

}  // namespace dove::devices::emulated
