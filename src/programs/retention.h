// How long what is over is kept: the log by the server, output and images by agents.
//
// The settings of `dove server` and `dove agent`; `dove up` has those of both. What a file or a
// flag does not say is as the defaults of controller::ControllerOptions, agent::FinishedLimits and
// containers::ImageStoreOptions say.
#pragma once

#include <vector>

#include "agent/attempts/finished.h"
#include "base/result.h"
#include "cli/command.h"
#include "programs/server/server_runtime.h"
#include "programs/settings.h"

namespace dove::programs {

// log-days, log-records.
std::vector<cli::OptionSpec> log_retention_specs();
Result<LogRetention> log_retention(const Settings& given);

// output-days, output-max.
std::vector<cli::OptionSpec> output_retention_specs();
Result<agent::FinishedLimits> output_retention(const Settings& given);
// As flags of `dove agent`: those that were given.
std::vector<std::string> output_retention_flags(const Settings& given);

}  // namespace dove::programs
