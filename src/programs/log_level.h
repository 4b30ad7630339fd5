// The setting --log-level of the long-running commands: which lines of the log are written.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "cli/command.h"
#include "programs/settings.h"

namespace dove::programs {

std::vector<cli::OptionSpec> log_level_specs();

// Lines below the level are dropped from now on; `otherwise`: without the setting.
Result<void> set_log_level(const Settings& given, const std::string& otherwise);

}  // namespace dove::programs
