// Side apps: sessions that are submitted along with a job and serve its log directory, by
// `--tensorboard` and `--side APP` of `dove submit` and `dove run`.
//
// Include only from .cc files of this part.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "cli/client/api.h"
#include "cli/command.h"
#include "cli/commands/app_job.h"
#include "jobfiles/jobfile.h"

namespace dove::cli {

std::vector<OptionSpec> side_options();

struct SideApp {
  FoundApp app;
  std::string log_directory;  // may hold %j, %x, %u: of the main job
};

// What the options ask for, checked before anything is submitted. Errors: no_such_app,
// no_log_directory, no_side_of_array.
Result<std::vector<SideApp>> side_apps(Api& api, const Invocation& invocation,
                                       const jobfiles::ParsedJob& main);

// Submits them; what cannot be is a warning, since the main job is on its way.
void submit_sides(Api& api, const std::vector<SideApp>& sides, const jobfiles::ParsedJob& main,
                  const std::string& main_id);

}  // namespace dove::cli
