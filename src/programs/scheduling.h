// How a cluster orders and places its jobs, as a setting of `dove server` and `dove up`.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/command.h"
#include "programs/settings.h"

namespace dove::programs {

// --scheduling.
std::vector<cli::OptionSpec> scheduling_specs();
// None where it is not given: then it stays as declared.
Result<std::optional<std::string>> scheduling_option(const Settings& given);

}  // namespace dove::programs
