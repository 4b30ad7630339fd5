// Which machine an agent's settings mean: this one, or an emulated one.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "devices/machine.h"
#include "programs/settings.h"

namespace dove::programs {

// Whether settings say what there is (--inventory, --gpus, --cores, --memory), not the machine.
bool is_emulated(const Settings& given);

// `plugged`: devices of plug-ins, nullptr: none. `data_dir`: of the agent; ids of devices are kept
// there for the life `boot_id`.
Result<std::unique_ptr<devices::Machine>> machine_of(
    const Settings& given, const std::string& data_dir, const std::string& boot_id,
    std::unique_ptr<devices::Accelerators> plugged);

}  // namespace dove::programs
