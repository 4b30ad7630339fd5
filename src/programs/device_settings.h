// The agent's settings for devices: what brings them, and what holds tasks to theirs.
#pragma once

#include <string>
#include <vector>

#include "agent/devices/device_shares.h"
#include "cli/command.h"
#include "programs/settings.h"

namespace dove::programs {

std::vector<cli::OptionSpec> device_option_specs();

// Without a library at `library_path` shares are held by MPS or by nobody, and that is logged.
agent::ShareOptions share_settings(const Settings& given, const std::string& library_path);

}  // namespace dove::programs
