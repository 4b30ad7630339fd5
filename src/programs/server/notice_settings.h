// --notices of `dove server` and `dove up`: how people are told by mail and webhooks.
#pragma once

#include <vector>

#include "base/result.h"
#include "cli/command.h"
#include "notices/settings.h"
#include "programs/settings.h"

namespace dove::programs {

std::vector<cli::OptionSpec> notice_specs();

// Errors: those of notices::read_settings.
Result<notices::Settings> notice_settings(const Settings& given);

}  // namespace dove::programs
